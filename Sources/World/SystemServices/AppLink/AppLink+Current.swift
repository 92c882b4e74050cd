// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import Foundation
import Synchronization

extension AppLink {
    /// The link of the app whose code runs: set by a test around its app's code, and around each callback.
    @TaskLocal package static var local: AppLink?

    private static let process = Mutex<AppLink?>(nil)

    /// The link that a new object of the API modules belongs to. Where there is none yet, one to the session's service is made.
    package static var current: AppLink {
        if let local { return local }
        return process.withLock { link in
            if let link { return link }
            let made = opened()
            link = made
            return made
        }
    }

    /// Makes `link` the one of the whole process, for code that runs outside of every task and callback; nil: the session's service again.
    package static func setProcess(_ link: AppLink?) { process.withLock { $0 = link } }

    /// A link to the session's service; without one it is not reachable, and says so in each answer.
    private static func opened() -> AppLink {
        let link = AppLink(.ofThisProcess)
        SocketConnection.keep(link, at: SocketConnection.usualPath)
        return link
    }

    /// Calls the app on its queue (nil: main) with this link as the current one.
    package func deliver(on queue: DispatchQueue?, _ work: @escaping @Sendable () -> Void) {
        deliveries.began()
        (queue ?? .main).async { [self] in
            AppLink.$local.withValue(self) { work() }
            deliveries.ended()
        }
    }
}

/// Counts what was handed to queues and is not done: where it is zero, the app's callbacks have all returned.
package final class Deliveries: Sendable {
    private struct Content {
        var open = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let content = Mutex(Content())

    package init() {}

    package func began() { content.withLock { $0.open += 1 } }

    package func ended() {
        let ready = content.withLock { content in
            content.open -= 1
            guard content.open == 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { content.waiting = [] }
            return content.waiting
        }
        for continuation in ready { continuation.resume() }
    }

    /// Until every callback has returned, those included that a callback brought about.
    package func settled() async {
        await withCheckedContinuation { continuation in
            let isIdle = content.withLock { content in
                if content.open > 0 { content.waiting.append(continuation) }
                return content.open == 0
            }
            if isIdle { continuation.resume() }
        }
    }
}

extension AppDescriptor {
    /// The running program: `HANDSET_APP` as its bundle identifier, else the program's name. The service sets that, and `HANDSET_LAUNCHED`, for
    /// what it starts.
    package static var ofThisProcess: AppDescriptor {
        let environment = ProcessInfo.processInfo.environment
        let name = ProcessInfo.processInfo.processName
        var descriptor = AppDescriptor(
            bundle: environment["HANDSET_APP"] ?? Bundle.main.bundleIdentifier ?? "local.\(name)",
            displayName: environment["HANDSET_APP_NAME"] ?? name)
        descriptor.isForeground = environment["HANDSET_LAUNCHED"] != "background"
        return descriptor
    }
}

extension UUIDValue {
    package init(_ uuid: UUID) {
        let b = uuid.uuid
        let octets = [b.0, b.1, b.2, b.3, b.4, b.5, b.6, b.7, b.8, b.9, b.10, b.11, b.12, b.13, b.14, b.15]
        self.init(
            high: octets.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }, low: octets.suffix(8).reduce(0) { $0 << 8 | UInt64($1) })
    }
}

extension UUID {
    package init(_ value: UUIDValue) {
        let o = value.octets
        self.init(
            uuid: (o[0], o[1], o[2], o[3], o[4], o[5], o[6], o[7], o[8], o[9], o[10], o[11], o[12], o[13], o[14], o[15]))
    }
}

extension WallTime {
    package init(_ date: Date) { self.init(secondsSince1970: date.timeIntervalSince1970) }
}

extension Date {
    package init(_ time: WallTime) { self.init(timeIntervalSince1970: time.secondsSince1970) }
}
