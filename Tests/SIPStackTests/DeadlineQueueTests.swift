// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIPAgent
import Testing

@Suite("Deadline queue") struct DeadlineQueueTests {
    @Test("Equal deadlines fire in the order of arming")
    func orderOfArming() {
        var queue = DeadlineQueue<Int>()
        for number in 0..<50 { _ = queue.arm(.zero + .milliseconds(Int64(number % 5)), number) }
        var fired: [Int] = []
        while let number = queue.popDue(at: .zero + .seconds(1)) { fired.append(number) }
        let expected = (0..<50).sorted { ($0 % 5, $0) < ($1 % 5, $1) }
        #expect(fired == expected)
        #expect(queue.count == 0)
    }

    @Test("A cancelled timer is gone, and its handle stays harmless when the place is used again")
    func cancelling() {
        var queue = DeadlineQueue<String>()
        let first = queue.arm(.zero + .seconds(1), "first")
        let removed = queue.cancel(first)
        #expect(removed)
        #expect(queue.count == 0)
        let second = queue.arm(.zero + .seconds(2), "second")
        let removedAgain = queue.cancel(first)
        #expect(!removedAgain)
        let early = queue.popDue(at: .zero + .seconds(1))
        #expect(early == nil)
        let due = queue.popDue(at: .zero + .seconds(2))
        #expect(due == "second")
        let removedLate = queue.cancel(second)
        #expect(!removedLate)
    }

    @Test("Ten thousand random armings and cancellings come out as a sorted list would give them")
    func againstASortedList() {
        let random = seeded(7)
        var queue = DeadlineQueue<Int>()
        var model: [(deadline: MonotonicTime, number: Int, handle: TimerHandle)] = []
        for number in 0..<10_000 {
            if random.integer(in: 0...3) == 0, !model.isEmpty {
                let victim = model.remove(at: random.integer(in: 0...(model.count - 1)))
                let removed = queue.cancel(victim.handle)
                #expect(removed)
            } else {
                let deadline = MonotonicTime(nanoseconds: Int64(random.integer(in: 0...500)))
                model.append((deadline, number, queue.arm(deadline, number)))
            }
            if number % 97 == 0 {
                let now = MonotonicTime(nanoseconds: Int64(random.integer(in: 0...100)))
                let due = model.filter { $0.deadline <= now }.sorted { ($0.deadline, $0.number) < ($1.deadline, $1.number) }
                model.removeAll { $0.deadline <= now }
                for expected in due {
                    let number = queue.popDue(at: now)
                    #expect(number == expected.number)
                }
                let more = queue.popDue(at: now)
                #expect(more == nil)
            }
            #expect(queue.count == model.count)
        }
    }
}
