// SPDX-License-Identifier: Apache-2.0
//
// The loop's clock stands still while the machine is suspended; another clock of the system goes on. Their difference
// is the time slept.

import Essentials

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// How long the machine has been suspended.
public enum SuspendClock {
    /// The time suspended since the machine was started; grows only while it sleeps.
    public static var suspended: Interval {
        #if canImport(Glibc)
            return read(CLOCK_BOOTTIME) - read(CLOCK_MONOTONIC)
        #else
            return read(CLOCK_MONOTONIC) - read(CLOCK_UPTIME_RAW)
        #endif
    }

    private static func read(_ clock: clockid_t) -> Interval {
        var time = timespec()
        _ = unsafe clock_gettime(clock, &time)
        return Interval(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
