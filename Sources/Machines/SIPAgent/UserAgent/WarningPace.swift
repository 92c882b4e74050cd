// SPDX-License-Identifier: Apache-2.0

import Essentials

/// Lets a warning through at most once in an interval, so that a flood from outside does not become one of warnings.
struct WarningPace {
    private let interval: Interval
    private var next: MonotonicTime?

    init(_ interval: Interval) { self.interval = interval }

    /// Whether a warning may be given now; counts as given.
    mutating func admits(_ now: MonotonicTime) -> Bool {
        if let next, now < next { return false }
        next = now + interval
        return true
    }
}
