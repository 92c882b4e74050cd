// SPDX-License-Identifier: Apache-2.0
//
// Timers of a machine in virtual time: an indexed binary heap.
//
//   heap:  [ (deadline, serial, slot), … ]   smallest (deadline, serial) first: equal deadlines come in order of arming
//   slots: [ position in the heap, generation ]   so that a timer can be taken out in O(log n), and nothing stays behind

import Essentials

/// A timer that was armed in a `DeadlineQueue`; stays harmless after the timer fired or was cancelled.
package struct TimerHandle: Hashable, Sendable {
    fileprivate var slot: UInt32
    fileprivate var generation: UInt32
}

/// Deadlines with what they stand for, drained in order of time.
///
/// Deterministic: equal deadlines fire in the order in which they were armed. Arming and cancelling cost O(log n);
/// a cancelled timer leaves the queue at once.
package struct DeadlineQueue<Payload> {
    private struct Entry {
        var deadline: MonotonicTime
        var serial: UInt64
        var slot: UInt32
        var payload: Payload

        func isBefore(_ other: Entry) -> Bool {
            deadline != other.deadline ? deadline < other.deadline : serial < other.serial
        }
    }

    private struct Slot {
        var position: Int32
        var generation: UInt32
    }

    private var heap: [Entry] = []
    private var slots: [Slot] = []
    private var freeSlots: [UInt32] = []
    private var nextSerial: UInt64 = 0

    package init() {}

    /// How many timers wait.
    package var count: Int { heap.count }

    /// The earliest deadline.
    package var first: MonotonicTime? { heap.first?.deadline }

    /// Arms a timer for `deadline`.
    package mutating func arm(_ deadline: MonotonicTime, _ payload: Payload) -> TimerHandle {
        let slot: UInt32
        if let free = freeSlots.popLast() {
            slot = free
        } else {
            slot = UInt32(truncatingIfNeeded: slots.count)
            slots.append(Slot(position: -1, generation: 0))
        }
        nextSerial &+= 1
        heap.append(Entry(deadline: deadline, serial: nextSerial, slot: slot, payload: payload))
        slots[Int(slot)].position = Int32(truncatingIfNeeded: heap.count - 1)
        siftUp(heap.count - 1)
        return TimerHandle(slot: slot, generation: slots[Int(slot)].generation)
    }

    /// Takes the timer out; false if it fired or was cancelled before.
    @discardableResult
    package mutating func cancel(_ handle: TimerHandle) -> Bool {
        let slot = Int(handle.slot)
        guard slot < slots.count, slots[slot].generation == handle.generation, slots[slot].position >= 0 else { return false }
        removeEntry(at: Int(slots[slot].position))
        return true
    }

    /// Takes out and gives the earliest timer whose deadline is not after `now`.
    package mutating func popDue(at now: MonotonicTime) -> Payload? {
        guard let earliest = heap.first, earliest.deadline <= now else { return nil }
        removeEntry(at: 0)
        return earliest.payload
    }

    /// Moves every deadline that `moves` says later by `interval`.
    package mutating func postpone(by interval: Interval, where moves: (Payload) -> Bool = { _ in true }) {
        for index in heap.indices where moves(heap[index].payload) { heap[index].deadline = heap[index].deadline + interval }
        for parent in stride(from: heap.count / 2 - 1, through: 0, by: -1) { siftDown(parent) }
    }

    private mutating func removeEntry(at position: Int) {
        let slot = heap[position].slot
        slots[Int(slot)].position = -1
        slots[Int(slot)].generation &+= 1
        freeSlots.append(slot)
        let last = heap.count - 1
        if position == last {
            heap.removeLast()
            return
        }
        heap[position] = heap[last]
        heap.removeLast()
        slots[Int(heap[position].slot)].position = Int32(truncatingIfNeeded: position)
        siftDown(position)
        siftUp(position)
    }

    private mutating func exchange(_ one: Int, _ other: Int) {
        heap.swapAt(one, other)
        slots[Int(heap[one].slot)].position = Int32(truncatingIfNeeded: one)
        slots[Int(heap[other].slot)].position = Int32(truncatingIfNeeded: other)
    }

    private mutating func siftUp(_ start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].isBefore(heap[parent]) else { return }
            exchange(child, parent)
            child = parent
        }
    }

    private mutating func siftDown(_ start: Int) {
        var parent = start
        while true {
            var smallest = parent
            let left = 2 * parent + 1
            if left < heap.count, heap[left].isBefore(heap[smallest]) { smallest = left }
            if left + 1 < heap.count, heap[left + 1].isBefore(heap[smallest]) { smallest = left + 1 }
            guard smallest != parent else { return }
            exchange(parent, smallest)
            parent = smallest
        }
    }
}
