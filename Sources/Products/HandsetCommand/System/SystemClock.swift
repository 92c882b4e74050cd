// SPDX-License-Identifier: Apache-2.0

import Essentials

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The system's monotonic clock: the same for every process of the machine, so that their events can be put in order.
package enum SystemClock {
    @Sendable package static func now() -> MonotonicTime {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
    }
}
