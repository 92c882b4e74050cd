// SPDX-License-Identifier: Apache-2.0

import Essentials

/// Notices that the machine slept: asked whenever the phone runs, since nobody tells it.
package struct SleepWatch {
    /// Shorter sleeps are left aside: the two clocks are not read in one moment.
    package static let threshold = Interval.seconds(2)

    private let suspended: () -> Interval
    private var seen: Interval

    /// - Parameter suspended: the time that the machine has slept in all.
    package init(_ suspended: @escaping () -> Interval) {
        self.suspended = suspended
        seen = suspended()
    }

    /// How long the machine slept since it was last asked; nil: it did not.
    package mutating func slept() -> Interval? {
        let now = suspended()
        let interval = now - seen
        guard interval >= Self.threshold else { return nil }
        seen = now
        return interval
    }
}
