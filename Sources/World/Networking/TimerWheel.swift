// SPDX-License-Identifier: Apache-2.0
//
// A hashed timer wheel: 4096 slots of one tick (1 ms), so that arming and cancelling cost the same however many timers
// there are. A slot is a doubly linked ring through flat arrays; nodes 0..<4096 are the heads of the slots and node 4096
// heads the timers that are due now.
//
//      slot 0 ──▶ a ──▶ b ──▶ (slot 0)        a.tick ≡ b.tick ≡ 0 (mod 4096): the tick tells the round
//      slot 1 ──▶ (slot 1)                    empty; its bit in `occupied` is 0
//      due    ──▶ c ──▶ (due)                 taken out by `popDue`

/// Names one timer; a stale one is harmless.
public struct TimerToken: Sendable, Hashable {
    var index: Int32
    var generation: UInt32
}

struct TimerWheel {
    typealias Handler = () -> Void

    static let slots: Int32 = 4096
    private static let due: Int32 = 4096
    private static let first: Int32 = 4097

    private var next: [Int32]
    private var previous: [Int32]
    private var ticks: [Int64] = []
    private var generations: [UInt32] = []
    private var handlers: [Handler?] = []
    private var free: [Int32] = []
    private var occupied = [UInt64](repeating: 0, count: Int(slots / 64))

    /// Every timer of this tick and before has been moved to the due ones.
    private(set) var currentTick: Int64
    /// Timers that are armed or due.
    private(set) var count = 0

    init(startingAt tick: Int64) {
        currentTick = tick
        next = Array(0..<Self.first)
        previous = Array(0..<Self.first)
    }

    /// Arms a timer for `tick`, or for the next tick if that has passed.
    mutating func add(at tick: Int64, _ handler: @escaping Handler) -> TimerToken {
        let tick = max(tick, currentTick + 1)
        let node: Int
        if let index = free.popLast() {
            node = Int(index)
            ticks[node] = tick
            handlers[node] = handler
        } else {
            node = ticks.count
            ticks.append(tick)
            generations.append(0)
            handlers.append(handler)
            next.append(0)
            previous.append(0)
        }
        count += 1
        let slot = Self.slot(tick)
        link(Int32(node) + Self.first, before: slot)
        occupied[Int(slot >> 6)] |= 1 << UInt64(slot & 63)
        return TimerToken(index: Int32(node), generation: generations[node])
    }

    /// Takes the timer away; false if it has fired or been cancelled.
    @discardableResult
    mutating func cancel(_ token: TimerToken) -> Bool {
        let node = Int(token.index)
        guard node >= 0, node < ticks.count, generations[node] == token.generation, handlers[node] != nil else { return false }
        unlink(token.index + Self.first)
        clearIfEmpty(Self.slot(ticks[node]))
        release(node)
        return true
    }

    /// The tick of the next slot that holds anything: nothing fires before it. nil if no timer is armed.
    var nextTick: Int64? {
        guard count > 0 else { return nil }
        let start = Int32(truncatingIfNeeded: (currentTick + 1) & Int64(Self.slots - 1))
        var word = Int(start >> 6)
        var bits = occupied[word] & (~0 << UInt64(start & 63))
        for _ in 0...occupied.count {
            if bits != 0 {
                let slot = Int32(word * 64 + bits.trailingZeroBitCount)
                return currentTick + 1 + Int64((slot - start) & (Self.slots - 1))
            }
            word = (word + 1) % occupied.count
            bits = occupied[word]
        }
        return nil
    }

    /// Goes to the next slot that holds anything, at most to `limit`, and moves what is due there to the due timers.
    /// False once there is nothing more up to `limit`.
    mutating func step(limit: Int64) -> Bool {
        guard let tick = nextTick, tick <= limit else {
            currentTick = max(currentTick, limit)
            return false
        }
        currentTick = tick
        let slot = Self.slot(tick)
        var node = next[Int(slot)]
        while node != slot {
            let following = next[Int(node)]
            if ticks[Int(node - Self.first)] <= tick {
                unlink(node)
                link(node, before: Self.due)
            }
            node = following
        }
        clearIfEmpty(slot)
        return true
    }

    /// Whether a timer is due and not yet taken.
    var hasDue: Bool { next[Int(Self.due)] != Self.due }

    /// The handler of the next due timer, in the order they were armed.
    mutating func popDue() -> Handler? {
        let node = next[Int(Self.due)]
        guard node != Self.due else { return nil }
        unlink(node)
        let index = Int(node - Self.first)
        let handler = handlers[index]
        release(index)
        return handler
    }

    private static func slot(_ tick: Int64) -> Int32 { Int32(truncatingIfNeeded: tick & Int64(slots - 1)) }

    private mutating func release(_ node: Int) {
        handlers[node] = nil
        generations[node] &+= 1
        free.append(Int32(node))
        count -= 1
    }

    private mutating func link(_ node: Int32, before head: Int32) {
        let last = previous[Int(head)]
        next[Int(last)] = node
        previous[Int(node)] = last
        next[Int(node)] = head
        previous[Int(head)] = node
    }

    private mutating func unlink(_ node: Int32) {
        let before = previous[Int(node)]
        let after = next[Int(node)]
        next[Int(before)] = after
        previous[Int(after)] = before
    }

    private mutating func clearIfEmpty(_ slot: Int32) {
        if next[Int(slot)] == slot { occupied[Int(slot >> 6)] &= ~(1 << UInt64(slot & 63)) }
    }
}
