// SPDX-License-Identifier: Apache-2.0
//
// Readiness of file descriptors: epoll on Linux, kqueue on Apple (not compiled here), chosen in the C target.

import CPosix

/// What a watched descriptor can do now.
public struct Readiness: OptionSet, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    public static let readable = Readiness(rawValue: 1)
    public static let writable = Readiness(rawValue: 2)
    /// An error or hang-up is pending. Told whether asked for or not.
    public static let failed = Readiness(rawValue: 4)
}

/// The system's readiness queue with a wake-up that may come from any thread.
struct Poller: ~Copyable {
    private let descriptor: Int32
    let wakeUp: cposix_signal
    private var events = [cposix_event](repeating: cposix_event(), count: 128)

    /// Token 0 is the wake-up's own.
    private static let wakeToken: UInt64 = 0

    init() throws(NetworkError) {
        let descriptor = cposix_poller_open()
        guard descriptor >= 0 else { throw NetworkError(errno: -descriptor, context: "an event loop") }
        var signal = cposix_signal()
        let opened = unsafe cposix_signal_open(&signal)
        guard opened == 0 else {
            cposix_close(descriptor)
            throw NetworkError(errno: -opened, context: "an event loop")
        }
        self.descriptor = descriptor
        wakeUp = signal
        cposix_poller_watch(descriptor, signal.reader, Self.wakeToken, Readiness.readable.rawValue, 0)
    }

    deinit {
        cposix_close(descriptor)
        cposix_signal_close(wakeUp)
    }

    /// Watches `fd`; `token` is not 0. Returns 0 or an errno.
    func watch(_ fd: Int32, token: UInt64, for interest: Readiness, isKnown: Bool) -> Int32 {
        -cposix_poller_watch(descriptor, fd, token, interest.rawValue, isKnown ? 1 : 0)
    }

    func forget(_ fd: Int32) { cposix_poller_forget(descriptor, fd) }

    /// Waits at most `milliseconds` (nil: until something happens) and hands out how many events there are.
    mutating func wait(milliseconds: Int32?) -> Int {
        let count = unsafe events.withUnsafeMutableBufferPointer {
            unsafe cposix_poller_wait(descriptor, $0.baseAddress, Int32($0.count), milliseconds ?? -1)
        }
        return Int(max(0, count))
    }

    /// The n-th event of the last wait; nil for a wake-up, which is taken by this.
    func event(_ index: Int) -> (token: UInt64, readiness: Readiness)? {
        let event = events[index]
        guard event.token != Self.wakeToken else {
            cposix_signal_clear(wakeUp)
            return nil
        }
        return (event.token, Readiness(rawValue: event.readiness))
    }
}
