// SPDX-License-Identifier: Apache-2.0

import Essentials

/// At most one deadline a call or transfer, the earliest first; equal ones in the order in which they were armed. Empty for
/// healthy calls.
struct Deadlines<ID: Equatable> {
    private var deadlines: [(time: MonotonicTime, id: ID)] = []

    var isEmpty: Bool { deadlines.isEmpty }

    var next: MonotonicTime? { deadlines.first?.time }

    func isArmed(_ id: ID) -> Bool { deadlines.contains { $0.id == id } }

    mutating func arm(_ id: ID, at time: MonotonicTime) {
        disarm(id)
        let index = deadlines.firstIndex { $0.time > time } ?? deadlines.count
        deadlines.insert((time, id), at: index)
    }

    mutating func disarm(_ id: ID) { deadlines.removeAll { $0.id == id } }

    mutating func popDue(at now: MonotonicTime) -> ID? {
        guard let first = deadlines.first, first.time <= now else { return nil }
        deadlines.removeFirst()
        return first.id
    }
}
