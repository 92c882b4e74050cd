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

    /// Date and time of day in UTC as they stand in names of files: `20261130T152236Z`.
    package static func stamp() -> String {
        var (seconds, parts) = unsafe (time(nil), tm())
        _ = unsafe gmtime_r(&seconds, &parts)
        func two(_ number: Int32) -> String { (number < 10 ? "0" : "") + "\(number)" }
        let date = unsafe "\(Int(parts.tm_year) + 1900)" + two(parts.tm_mon + 1) + two(parts.tm_mday)
        return unsafe date + "T" + two(parts.tm_hour) + two(parts.tm_min) + two(parts.tm_sec) + "Z"
    }
}
