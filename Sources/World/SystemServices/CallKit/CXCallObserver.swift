// SPDX-License-Identifier: Apache-2.0

import AppLink
import CallServiceCore
import Foundation
import Synchronization

/// Hears of each change of each call of the system.
public protocol CXCallObserverDelegate: NSObjectProtocol {
    func callObserver(_ callObserver: CXCallObserver, callChanged call: CXCall)
}

/// The calls of the whole system, other apps' and cellular ones too, without names or addresses.
public class CXCallObserver: NSObject {
    private let core: ObserverCore

    public override init() {
        core = ObserverCore(link: AppLink.current)
        super.init()
        core.start(self)
    }

    deinit { core.stop() }

    /// The calls there are now. The first time it waits for the service.
    public var calls: [CXCall] { core.link.calls.map { CXCall($0) } }

    /// The delegate is held weakly. Without a queue it is called on the main one.
    public func setDelegate(_ delegate: (any CXCallObserverDelegate)?, queue: DispatchQueue?) {
        core.setDelegate(delegate, queue: queue)
    }
}

/// What of an observer is called from other threads.
private final class ObserverCore: @unchecked Sendable {
    private struct Content {
        weak var observer: CXCallObserver?
        weak var delegate: (any CXCallObserverDelegate)?
        var queue: DispatchQueue?
        var token = 0
    }

    let link: AppLink
    private let content = Mutex(Content())

    init(link: AppLink) { self.link = link }

    func start(_ observer: CXCallObserver) {
        let box = SendableBox(observer)
        content.withLock { $0.observer = box.value }
        let token = link.observe { [weak self] in self?.changed($0) }
        content.withLock { $0.token = token }
    }

    func stop() { link.stopObserving(content.withLock { $0.token }) }

    func setDelegate(_ delegate: (any CXCallObserverDelegate)?, queue: DispatchQueue?) {
        let box = SendableBox(delegate)
        content.withLock { content in
            content.delegate = box.value
            content.queue = queue
        }
    }

    private func changed(_ call: CallSnapshot) {
        let (isWatched, queue) = content.withLock { ($0.delegate != nil, $0.queue) }
        guard isWatched else { return }
        link.deliver(on: queue) { [self] in
            let found = SendableBox(
                content.withLock { content -> (CXCallObserver, any CXCallObserverDelegate)? in
                    guard let observer = content.observer, let delegate = content.delegate else { return nil }
                    return (observer, delegate)
                })
            if let (observer, delegate) = found.value { delegate.callObserver(observer, callChanged: CXCall(call)) }
        }
    }
}
