// SPDX-License-Identifier: Apache-2.0

import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// SIGINT, SIGTERM and SIGHUP as values: the first asks for an end in good order, the third ends at once. SIGHUP, that the
/// terminal is gone, is left ignored where it was: `nohup` means it.
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

    /// How long a signal waits for somebody to take it up: a session that is just being opened. A subcommand that knows no
    /// signals, such as `parse` waiting for standard input or an open that waits for a pipe, is ended then.
    private static let patience: useconds_t = 500_000

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
            if continuations.isEmpty {
                usleep(patience)
                if readers.withLock({ $0.continuations.isEmpty }) { _exit(128 + number) }
            }
        }
    }

    /// Asked once, before any thread exists.
    private static let hangUpIsIgnored: Bool = {
        let before = signal(SIGHUP, SIG_DFL)
        let isIgnored = unsafe unsafeBitCast(before, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
        if isIgnored { signal(SIGHUP, SIG_IGN) }
        return isIgnored
    }()

    private static var signals: sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        unsafe sigaddset(&set, SIGINT)
        unsafe sigaddset(&set, SIGTERM)
        if !hangUpIsIgnored { unsafe sigaddset(&set, SIGHUP) }
        return set
    }
}
