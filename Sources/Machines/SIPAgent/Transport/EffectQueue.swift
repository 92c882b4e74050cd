// SPDX-License-Identifier: Apache-2.0

/// First in, first out; what is taken out is let go at once, and the memory is used again when the queue is empty.
package struct EffectQueue<Element> {
    private var items: [Element?] = []
    private var head = 0

    package init() {}

    package var isEmpty: Bool { head == items.count }
    package var count: Int { items.count - head }

    package mutating func append(_ element: Element) { items.append(element) }

    package mutating func popFirst() -> Element? {
        guard head < items.count else { return nil }
        let element = items[head]
        items[head] = nil
        head += 1
        if head == items.count {
            items.removeAll(keepingCapacity: items.capacity <= 256)
            head = 0
        }
        return element
    }
}
