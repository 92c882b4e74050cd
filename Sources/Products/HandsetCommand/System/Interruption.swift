// SPDX-License-Identifier: Apache-2.0

import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// SIGINT and SIGTERM as values: the first asks for an end in good order, the third ends at once.
package enum Interruption {
    private static let readers = Mutex<(count: Int, continuations: [AsyncStream<Int32>.Continuation])>((0, []))

    /// Call before any thread exists: the threads to come inherit the mask, so that only `wait` sees the signals.
    package static func block() {
        signal(SIGPIPE, SIG_IGN)
        var set = signals
        unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// The signals' numbers from now on, and those that came before. Needs `block`, and a thread in `wait`.
    package static func stream() -> AsyncStream<Int32> {
        let (stream, continuation) = AsyncStream<Int32>.makeStream()
        let earlier = readers.withLock { state in
            state.continuations.append(continuation)
            return state.count
        }
        for _ in 0..<earlier { continuation.yield(SIGTERM) }
        return stream
    }

    /// Waits for signals as long as the process lives, and hands them to the streams. The third ends the process: whoever
    /// asks three times does not want to wait.
    package static func wait() -> Never {
        while true {
            var set = signals
            var number: Int32 = 0
            guard unsafe sigwait(&set, &number) == 0 else { continue }
            let (count, continuations) = readers.withLock { state in
                state.count += 1
                return (state.count, state.continuations)
            }
            if count >= 3 { _exit(128 + number) }
            for continuation in continuations { continuation.yield(number) }
        }
    }

    private static var signals: sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        unsafe sigaddset(&set, SIGINT)
        unsafe sigaddset(&set, SIGTERM)
        return set
    }
}
