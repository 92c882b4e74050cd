// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// SIGINT and SIGTERM as values: the first asks for an end in good order, the second ends at once.
package enum Interruption {
    /// Call before any thread exists: the threads to come inherit the mask, so that only `wait` sees the signals.
    package static func block() {
        signal(SIGPIPE, SIG_IGN)
        var set = signals
        unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// The signals' numbers as they come. Needs `block` before.
    package static func stream() -> AsyncStream<Int32> {
        let (stream, continuation) = AsyncStream<Int32>.makeStream()
        BackgroundThread.start {
            while true {
                var set = signals
                var number: Int32 = 0
                guard unsafe sigwait(&set, &number) == 0 else { continue }
                continuation.yield(number)
            }
        }
        return stream
    }

    private static var signals: sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        unsafe sigaddset(&set, SIGINT)
        unsafe sigaddset(&set, SIGTERM)
        return set
    }
}
