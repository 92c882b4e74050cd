// SPDX-License-Identifier: Apache-2.0
//
// Packet loss concealment by waveform repetition. When samples are missing, the last pitch period goes on, is held for
// 10 ms and then fades out over 50 ms; when real samples come again, both are crossfaded for 4 ms:
//
//     history ……∿∿∿∿∿|∿∿∿|        ∿ = pitch period, found by correlation of the last 15 ms
//     concealed        |∿∿∿|∿∿∿|∿∿∿… gain 1 … 0
//     real again                 ╲╱∿∿∿
//
// Where what comes after the gap is there already, the gap is bridged from both sides: the period goes on from before and
// is bent so that it meets what follows in phase, what follows goes on backwards, and one fades into the other:
//
//     history ∿∿∿∿|∿∿∿∿∿∿╲╱∿∿∿∿∿|∿∿∿∿ future
//
// (In the spirit of ITU-T G.711 appendix I; the method here is our own.)

struct Concealer {
    /// Samples a second.
    let rate: Int
    /// The last samples given out.
    private(set) var history: [Int16]
    /// One pitch period, its end bent so that it flows into its beginning.
    private var cycle: [Int16]
    private var period = 0
    private var place = 0
    /// Samples concealed since the loss began; 0: nothing is missing.
    private(set) var concealed = 0
    private var overlap: [Int16]
    /// The way from before over a gap and beyond, for a gap that is bridged.
    private(set) var forward: [Int16]

    init(rate: Int) {
        self.rate = rate
        history = [Int16](repeating: 0, count: rate * 40 / 1000)
        cycle = [Int16](repeating: 0, count: rate * 20 / 1000)
        overlap = [Int16](repeating: 0, count: rate * 4 / 1000)
        forward = [Int16](repeating: 0, count: rate * 100 / 1000)
    }

    var isActive: Bool { concealed > 0 }

    mutating func reset() {
        Samples.clear(&history)
        concealed = 0
    }

    /// Remembers samples that were given out, real or concealed.
    mutating func remember(_ samples: [Int16], at offset: Int, count: Int) {
        let kept = min(count, history.count)
        guard kept > 0, offset >= 0, offset + count <= samples.count else { return }
        Samples.moveToFront(&history, from: kept, count: history.count - kept)
        Samples.copy(samples, offset + count - kept..<offset + count, to: &history, at: history.count - kept)
    }

    /// Fills `count` samples from `offset` on in place of what is missing.
    mutating func conceal(into samples: inout [Int16], at offset: Int, count: Int) {
        if concealed == 0 { begin() }
        for index in 0..<count where offset + index < samples.count {
            samples[offset + index] = Int16(truncatingIfNeeded: (Int(cycle[place]) * gain(concealed + index)) >> 12)
            place += 1
            if place >= period { place = 0 }
        }
        concealed += count
    }

    /// Of 4096, `age` samples from the last real one.
    private func gain(_ age: Int) -> Int {
        let fade = rate * 50 / 1000
        let age = age - rate / 100
        return age <= 0 ? 4096 : max(0, 4096 - age * 4096 / fade)
    }

    /// Lets `end` crossfade although nothing was concealed here: what follows does not continue what was given out.
    mutating func expectJoint() {
        guard concealed == 0 else { return }
        begin()
        concealed = 1
    }

    /// Crossfades the concealment into the real samples that begin at `offset`, and ends it.
    mutating func end(into samples: inout [Int16], at offset: Int, count: Int) {
        guard concealed > 0 else { return }
        let length = min(overlap.count, count)
        if length > 0, offset >= 0, offset + length <= samples.count {
            Self.conceal(&self, length)
            for index in 0..<length {
                let old = Int(overlap[index]) * (length - index)
                let new = Int(samples[offset + index]) * index
                samples[offset + index] = Int16(truncatingIfNeeded: (old + new) / length)
            }
        }
        concealed = 0
    }

    /// The longest gap that `bridge` fills.
    var longestBridge: Int { forward.count - rate * 30 / 1000 }

    /// The way on from before a gap of `count` samples, at most `longestBridge`, as if nothing came after it. A codec whose
    /// state has to go on takes the first `count` of `forward`; `bridge` follows.
    mutating func extend(_ count: Int) {
        let before = concealed
        var way = forward
        forward = []
        conceal(into: &way, at: 0, count: min(count + rate * 25 / 1000, way.count))
        forward = way
        concealed = max(before, 1)
    }

    /// Fills the gap of `count` samples from `offset` on, `extend` having gone before; behind it lie `after` real samples.
    mutating func bridge(into samples: inout [Int16], at offset: Int, count: Int, after: Int) {
        let first = concealed
        concealed = 0
        guard count > 0, offset + count + after <= samples.count else { return }
        let length = min(after, rate * 8 / 1000)
        let future = offset + count
        let turn = Self.meet(forward, count, samples, future, length, period: period, step: max(1, rate / 16000))
        let back = backwardPeriod(samples, future, after)
        Self.mix(
            forward, bentTo: count + turn.shift, into: &samples, offset, count, period: back,
            inPhase: turn.correlation > 0.4, fade: rate * 50 / 1000, hold: rate / 100 + max(0, rate / 100 - first))
    }

    private func backwardPeriod(_ samples: [Int16], _ future: Int, _ after: Int) -> Int {
        let length = rate * 6 / 1000
        let shortest = rate * 5 / 2000
        guard after >= 2 * shortest + length else { return max(1, min(period, after)) }
        let found = WaveformMatch.bestLag(
            samples.span.extracting(future..<future + after), at: 0, length: length, lags: shortest...min(after - length, rate * 15 / 1000),
            step: max(1, rate / 16000), backwards: false)
        return found.lag
    }

    /// How far before or behind its end the way from before is most like what follows.
    private static func meet(
        _ forward: [Int16], _ count: Int, _ samples: [Int16], _ future: Int, _ length: Int, period: Int, step: Int
    ) -> (shift: Int, correlation: Double) {
        let (forward, samples) = (forward.span, samples.span)
        guard length > 0 else { return (0, 0) }
        let template = samples.extracting(future..<future + length)
        var best = (shift: 0, correlation: -1.0, score: -2.0)
        // No more than a fifth of the gap: the pitch does not change faster.
        let reach = min(period / 2, count / 5)
        var shift = -reach
        while shift <= reach {
            let start = count + shift
            if start >= 0, start + length <= forward.count {
                let value = WaveformMatch.sums(template, forward.extracting(start..<start + length)).correlation
                let score = value - 0.1 * Double(shift.magnitude) / Double(max(period, 1))
                if score > best.score { best = (shift, value, score) }
            }
            shift += step
        }
        return (best.shift, best.correlation)
    }

    private static func mix(
        _ forward: [Int16], bentTo end: Int, into samples: inout [Int16], _ offset: Int, _ count: Int, period: Int,
        inPhase: Bool, fade: Int, hold: Int
    ) {
        let forward = forward.span
        var samples = samples.mutableSpan
        let future = offset + count
        for index in 0..<count {
            // Where the bent way is, in 1/256 of a sample.
            let at = index * end * 256 / count
            let (whole, part) = (at >> 8, Int32(at & 255))
            let here = Int32(forward[min(whole, forward.count - 1)])
            let next = Int32(forward[min(whole + 1, forward.count - 1)])
            let before = here + ((next - here) * part) >> 8
            let distance = count - index
            let turns = (distance + period - 1) / period
            let behind = Int32(samples[min(future + turns * period - distance, samples.count - 1)])
            var share = Double(index + 1) / Double(count + 1)
            var other = 1 - share
            if !inPhase {
                share = share.squareRoot()
                other = other.squareRoot()
            }
            let weight = share * min(1, max(0, 1 - Double(distance - hold) / Double(fade)))
            samples[offset + index] = Int16(clamping: Int((Double(before) * other + Double(behind) * weight).rounded()))
        }
    }

    private static func conceal(_ concealer: inout Concealer, _ count: Int) {
        var tail = concealer.overlap
        concealer.overlap = []
        concealer.conceal(into: &tail, at: 0, count: count)
        concealer.overlap = tail
    }

    private mutating func begin() {
        let length = rate * 15 / 1000
        period =
            WaveformMatch.bestLag(
                history.span, at: history.count - length, length: length, lags: rate * 5 / 1000...rate * 15 / 1000,
                step: max(1, rate / 16000), backwards: true
            ).lag
        place = 0
        let start = history.count - period
        let bend = max(1, period / 4)
        for index in 0..<period { cycle[index] = history[start + index] }
        for index in 0..<bend {
            let end = period - bend + index
            let own = Int(cycle[end]) * (bend - index)
            let before = Int(history[start - bend + index]) * index
            cycle[end] = Int16(truncatingIfNeeded: (own + before) / bend)
        }
    }
}
