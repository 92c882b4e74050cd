// SPDX-License-Identifier: Apache-2.0

import Essentials

/// Deadlines with a key each, earliest first; equal times come out in order of insertion.
///
/// Nothing is taken out before its time: the owner finds out by the key whether the deadline still means anything.
struct DeadlineHeap<Key> {
    private struct Entry {
        var time: MonotonicTime
        var sequence: UInt64
        var key: Key
        static func < (left: Entry, right: Entry) -> Bool { (left.time, left.sequence) < (right.time, right.sequence) }
    }

    private var entries: [Entry] = []
    private var sequence: UInt64 = 0

    var next: MonotonicTime? { entries.first?.time }
    var isEmpty: Bool { entries.isEmpty }

    mutating func insert(_ key: Key, at time: MonotonicTime) {
        sequence += 1
        entries.append(Entry(time: time, sequence: sequence, key: key))
        var child = entries.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard entries[child] < entries[parent] else { break }
            entries.swapAt(child, parent)
            child = parent
        }
    }

    /// The key of the earliest deadline if it is not after `time`.
    mutating func pop(until time: MonotonicTime) -> Key? {
        guard let first = entries.first, first.time <= time else { return nil }
        let last = entries.removeLast()
        guard !entries.isEmpty else { return first.key }
        entries[0] = last
        var parent = 0
        while true {
            var child = 2 * parent + 1
            guard child < entries.count else { break }
            if child + 1 < entries.count, entries[child + 1] < entries[child] { child += 1 }
            guard entries[child] < entries[parent] else { break }
            entries.swapAt(child, parent)
            parent = child
        }
        return first.key
    }
}
