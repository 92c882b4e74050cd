// SPDX-License-Identifier: Apache-2.0

import Essentials
import Foundation
import Networking
import Synchronization

/// A loop with a thread for one test, stopped and joined at its end.
func withLoop(_ body: (EventLoop) throws -> Void) throws {
    let loop = try EventLoop(name: "test")
    defer {
        loop.stop()
        loop.join()
    }
    try body(loop)
}

/// What handlers on a loop tell the test thread, which waits for it with a limit.
final class Inbox<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])
    private let semaphore = DispatchSemaphore(value: 0)

    func put(_ value: Value) {
        values.withLock { $0.append(value) }
        semaphore.signal()
    }

    /// The next value; nil if none came for ten seconds.
    func take(seconds: Double = 10) -> Value? {
        guard semaphore.wait(timeout: .now() + seconds) == .success else { return nil }
        return values.withLock { $0.removeFirst() }
    }
}

extension EventLoop {
    /// Runs `body` on the loop and waits for what it gives.
    func sync<Value: Sendable>(_ body: @escaping @Sendable () -> Value) -> Value {
        let inbox = Inbox<Value>()
        execute { inbox.put(body()) }
        guard let value = inbox.take() else { fatalError("the loop does not answer") }
        return value
    }
}

/// Carries a value that belongs to the loop through a closure that is sent there.
struct OnLoop<Value>: @unchecked Sendable {
    var value: Value
}

let loopbackV4 = SocketAddress(.loopbackV4, 0)
let loopbackV6 = SocketAddress(.loopbackV6, 0)
