// SPDX-License-Identifier: Apache-2.0

import Media
import Synchronization

/// The ways between a program port and the loop: what is to be said one way, what was heard the other.
///
/// `@unchecked Sendable`: the loop writes `speech` and reads `hearing`, the media thread the other way round; samples belong to
/// the writer while they are outside `head..<tail` and to the reader inside.
@safe
final class ProgramRing: ProgramLink, @unchecked Sendable {
    let rate: Int
    private let speech: SampleRing
    private let hearing: SampleRing
    /// Everything before this place is to be thrown away.
    private let flushPlace = Atomic<Int>(0)
    private let flushed = Atomic<UInt64>(0)
    private let closed = Atomic<Bool>(false)
    private let missed = Atomic<Int>(0)

    /// Room for `limit` samples of speech and for a second of hearing.
    init(rate: Int, limit: Int) {
        self.rate = rate
        speech = SampleRing(capacity: limit)
        hearing = SampleRing(capacity: rate)
    }

    // MARK: Media thread

    func hear(_ samples: Span<Int16>) {
        if !hearing.push(samples) { missed.wrappingAdd(samples.count, ordering: .relaxed) }
    }

    func speak(_ count: Int, into samples: inout [Int16]) -> Int {
        let skipped = speech.skip(to: flushPlace.load(ordering: .acquiring))
        if skipped > 0 { flushed.wrappingAdd(UInt64(skipped), ordering: .releasing) }
        return speech.pop(count, into: &samples)
    }

    func close() { closed.store(true, ordering: .releasing) }

    // MARK: Loop

    /// False: there is no room, which the session's limit prevents.
    func say(_ samples: [Int16]) -> Bool { speech.push(samples.span) }

    /// Throws away what was given to `say` so far, at the next tick.
    func flush() { flushPlace.store(speech.end, ordering: .releasing) }

    /// Samples that left it since the beginning: played and thrown away.
    var progress: (spoken: UInt64, flushed: UInt64) {
        // The flushed ones are counted after they left: never more than those.
        let thrown = flushed.load(ordering: .acquiring)
        return (UInt64(speech.start) - min(thrown, UInt64(speech.start)), thrown)
    }

    /// What was heard, a piece at a time into `samples`; 0: nothing more.
    func takeHeard(into samples: inout [Int16]) -> Int { hearing.pop(samples.count, into: &samples) }

    /// Samples that were heard and found no room since the last call.
    func takeMissed() -> Int { missed.exchange(0, ordering: .relaxed) }
}

/// Samples from one thread to another; neither waits.
///
/// `@unchecked Sendable`: as `SPSCRing`, a slot belongs to the producer outside `head..<tail` and to the consumer inside.
@safe
final class SampleRing: @unchecked Sendable {
    private let slots: UnsafeMutablePointer<Int16>
    private let capacity: Int
    private let head = Atomic<Int>(0)
    private let tail = Atomic<Int>(0)

    /// `capacity` is rounded up to a power of two. Memory is used as far as it is filled.
    init(capacity: Int) {
        var size = 1 << 10
        while size < capacity, size < 1 << 26 { size <<= 1 }
        self.capacity = size
        unsafe slots = .allocate(capacity: size)
    }

    deinit { unsafe slots.deallocate() }

    var start: Int { head.load(ordering: .acquiring) }
    var end: Int { tail.load(ordering: .acquiring) }

    /// Producer: all or nothing.
    func push(_ samples: Span<Int16>) -> Bool {
        let position = tail.load(ordering: .relaxed)
        guard position + samples.count - head.load(ordering: .acquiring) <= capacity else { return false }
        for index in samples.indices { unsafe slots[(position + index) & (capacity - 1)] = samples[index] }
        tail.store(position + samples.count, ordering: .releasing)
        return true
    }

    /// Consumer: up to `count` samples to the front of `samples`.
    func pop(_ count: Int, into samples: inout [Int16]) -> Int {
        let position = head.load(ordering: .relaxed)
        let there = min(count, samples.count, tail.load(ordering: .acquiring) - position)
        guard there > 0 else { return 0 }
        var target = samples.mutableSpan
        for index in 0..<there { target[index] = unsafe slots[(position + index) & (capacity - 1)] }
        head.store(position + there, ordering: .releasing)
        return there
    }

    /// Consumer: drops what lies before `place`; how much.
    func skip(to place: Int) -> Int {
        let position = head.load(ordering: .relaxed)
        let end = min(place, tail.load(ordering: .acquiring))
        guard end > position else { return 0 }
        head.store(end, ordering: .releasing)
        return end - position
    }
}
