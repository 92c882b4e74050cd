// SPDX-License-Identifier: Apache-2.0

import Essentials

/// At most one deadline a call, the earliest first; equal ones in the order in which they were armed. Empty for healthy calls.
struct CallDeadlines {
    private var deadlines: [(time: MonotonicTime, call: CallID)] = []

    var next: MonotonicTime? { deadlines.first?.time }

    func isArmed(_ call: CallID) -> Bool { deadlines.contains { $0.call == call } }

    mutating func arm(_ call: CallID, at time: MonotonicTime) {
        disarm(call)
        let index = deadlines.firstIndex { $0.time > time } ?? deadlines.count
        deadlines.insert((time, call), at: index)
    }

    mutating func disarm(_ call: CallID) { deadlines.removeAll { $0.call == call } }

    mutating func popDue(at now: MonotonicTime) -> CallID? {
        guard let first = deadlines.first, first.time <= now else { return nil }
        deadlines.removeFirst()
        return first.call
    }
}
