// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A queue of fixed size between two threads: one only pushes, the other only pops; neither ever waits.
///
/// `@unchecked Sendable`: a slot belongs to the producer while it is outside `head..<tail` and to the consumer inside;
/// the release of one index by its owner is what hands slots over.
@safe
package final class SPSCRing<Element: Sendable>: @unchecked Sendable {
    private let slots: UnsafeMutablePointer<Element>
    private let capacity: Int
    /// The next to pop. Written by the consumer.
    private let head = Atomic<Int>(0)
    /// The next to push. Written by the producer.
    private let tail = Atomic<Int>(0)

    /// `capacity` is a power of two.
    package init(capacity: Int) {
        precondition(capacity > 0 && capacity & (capacity - 1) == 0)
        self.capacity = capacity
        unsafe slots = .allocate(capacity: capacity)
    }

    deinit {
        while pop() != nil {}
        unsafe slots.deallocate()
    }

    /// Producer: whether there is room.
    package var hasRoom: Bool { tail.load(ordering: .relaxed) - head.load(ordering: .acquiring) < capacity }

    /// Producer: false if it is full.
    package func push(_ element: Element) -> Bool {
        let position = tail.load(ordering: .relaxed)
        guard position - head.load(ordering: .acquiring) < capacity else { return false }
        unsafe (slots + (position & (capacity - 1))).initialize(to: element)
        tail.store(position + 1, ordering: .releasing)
        return true
    }

    /// Consumer: nil if it is empty.
    package func pop() -> Element? {
        let position = head.load(ordering: .relaxed)
        guard position < tail.load(ordering: .acquiring) else { return nil }
        let element = unsafe (slots + (position & (capacity - 1))).move()
        head.store(position + 1, ordering: .releasing)
        return element
    }

    /// Consumer: whether there is nothing to pop.
    package var isEmpty: Bool { head.load(ordering: .relaxed) == tail.load(ordering: .acquiring) }
}
