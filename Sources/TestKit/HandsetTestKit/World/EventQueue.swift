// SPDX-License-Identifier: Apache-2.0

import Essentials

/// What is to happen in the world, earliest first; equal times in the order in which they were asked for.
struct EventQueue {
    private struct Entry {
        var time: MonotonicTime
        var sequence: UInt64
        var action: () -> Void
        func comes(before other: Entry) -> Bool { (time, sequence) < (other.time, other.sequence) }
    }

    private var heap: [Entry] = []
    private var sequence: UInt64 = 0

    var count: Int { heap.count }
    var next: MonotonicTime? { heap.first?.time }

    mutating func insert(at time: MonotonicTime, _ action: @escaping () -> Void) {
        sequence += 1
        heap.append(Entry(time: time, sequence: sequence, action: action))
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].comes(before: heap[parent]) else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    mutating func removeFirst() -> (time: MonotonicTime, action: () -> Void)? {
        guard let first = heap.first else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            sink()
        }
        return (first.time, first.action)
    }

    private mutating func sink() {
        var parent = 0
        while true {
            var child = 2 * parent + 1
            guard child < heap.count else { return }
            if child + 1 < heap.count, heap[child + 1].comes(before: heap[child]) { child += 1 }
            guard heap[child].comes(before: heap[parent]) else { return }
            heap.swapAt(child, parent)
            parent = child
        }
    }
}
