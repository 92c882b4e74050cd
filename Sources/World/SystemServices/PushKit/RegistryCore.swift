// SPDX-License-Identifier: Apache-2.0

import AppLink
import CallServiceCore
import Foundation
import Synchronization

/// What of a registry is called from other threads.
final class RegistryCore: @unchecked Sendable {
    /// Set by the default of the oldest delegate method: the app wrote none.
    final class Mark: Sendable {
        private let isSet = Atomic(false)
        func mark() { isSet.store(true, ordering: .relaxed) }
        var isMarked: Bool { isSet.load(ordering: .relaxed) }
    }

    /// The tokens of the app: they outlive a registry.
    final class Tokens: Sendable {
        let byType = Mutex<[PKPushType: Data]>([:])
    }

    private struct Content {
        weak var registry: PKPushRegistry?
        weak var delegate: (any PKPushRegistryDelegate)?
        var types: Set<PKPushType>?
    }

    @TaskLocal static var metDefault: Mark?

    private let link: AppLink
    private let queue: DispatchQueue?
    private let tokens: Tokens
    private let content = Mutex(Content())

    init(link: AppLink, queue: DispatchQueue?) {
        self.link = link
        self.queue = queue
        tokens = link.part { Tokens() }
    }

    func start(_ registry: PKPushRegistry) {
        let box = SendableBox(registry)
        content.withLock { $0.registry = box.value }
    }

    var delegate: (any PKPushRegistryDelegate)? {
        get { content.withLock { SendableBox($0.delegate) }.value }
        set {
            let box = SendableBox(newValue)
            let types = content.withLock { content in
                content.delegate = box.value
                return content.types
            }
            if let types { register(types, hasDelegate: newValue != nil) }
        }
    }

    var types: Set<PKPushType>? {
        get { content.withLock { $0.types } }
        set {
            let hasDelegate = content.withLock { content in
                content.types = newValue
                return content.delegate != nil
            }
            link.handle(.push) { [weak self] in self?.receive($0) }
            register(newValue ?? [], hasDelegate: hasDelegate)
        }
    }

    private func register(_ types: Set<PKPushType>, hasDelegate: Bool) {
        link.send(.registerPush(types: types.map(\.rawValue).sorted(), hasDelegate: hasDelegate))
    }

    func token(_ type: PKPushType) -> Data? { tokens.byType.withLock { $0[type] } }

    func released() {
        guard content.withLock({ $0.types }) != nil else { return }
        link.handle(.push, by: nil)
        link.send(.pushRegistryReleased)
    }

    private func call(
        _ work: @escaping @Sendable (PKPushRegistry, any PKPushRegistryDelegate) -> Void, missing: @escaping @Sendable () -> Void
    ) {
        link.deliver(on: queue) { [self] in
            let found = SendableBox(
                content.withLock { content -> (PKPushRegistry, any PKPushRegistryDelegate)? in
                    guard let registry = content.registry, let delegate = content.delegate else { return nil }
                    return (registry, delegate)
                })
            if let (registry, delegate) = found.value { work(registry, delegate) } else { missing() }
        }
    }

    private func receive(_ message: ServiceMessage) {
        switch message {
        case .pushToken(let name, let octets):
            let (type, token) = (PKPushType(rawValue: name), Data(octets.bytes))
            tokens.byType.withLock { $0[type] = token }
            call { registry, delegate in
                delegate.pushRegistry(registry, didUpdate: PKPushCredentials(type: type, token: token), for: type)
            } missing: {
            }
        case .pushTokenInvalidated(let name):
            let type = PKPushType(rawValue: name)
            tokens.byType.withLock { $0[type] = nil }
            call { registry, delegate in
                delegate.pushRegistry(registry, didInvalidatePushTokenFor: type)
            } missing: {
            }
        case .push(let number, let name, let payload, let mustReport):
            receive(push: number, PKPushType(rawValue: name), payload, mustReport: mustReport)
        default: break
        }
    }

    private func receive(push number: UInt64, _ type: PKPushType, _ octets: Octets, mustReport: Bool) {
        call { [link] registry, delegate in
            let object = try? JSONSerialization.jsonObject(with: Data(octets.bytes))
            let payload = PKPushPayload(type: type, dictionaryPayload: object as? [String: Any] ?? [:])
            let mark = Mark()
            let completion: @Sendable () -> Void = { link.send(.pushCompleted(number)) }
            Self.$metDefault.withValue(mark) {
                if type == .voIP {
                    delegate.pushRegistry(
                        registry, didReceiveIncomingVoIPPushWith: payload, metadata: PKVoIPPushMetadata(mustReport: mustReport),
                        withCompletionHandler: completion)
                } else {
                    delegate.pushRegistry(registry, didReceiveIncomingPushWith: payload, for: type, completion: completion)
                }
            }
            link.send(.pushHandlerReturned(number, isImplemented: !mark.isMarked))
        } missing: { [link] in
            link.send(.pushHandlerReturned(number, isImplemented: false))
        }
    }
}
