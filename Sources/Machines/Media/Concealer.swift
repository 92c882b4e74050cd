// SPDX-License-Identifier: Apache-2.0
//
// Packet loss concealment by waveform repetition. When samples are missing, the last pitch period goes on, is held for
// 10 ms and then fades out over 50 ms; when real samples come again, both are crossfaded for 4 ms:
//
//     history ……∿∿∿∿∿|∿∿∿|        ∿ = pitch period, found by correlation of the last 15 ms
//     concealed        |∿∿∿|∿∿∿|∿∿∿… gain 1 … 0
//     real again                 ╲╱∿∿∿
//
// (In the spirit of ITU-T G.711 appendix I, without its delay; the method here is our own.)

struct Concealer {
    /// Samples a second.
    let rate: Int
    /// The last samples given out.
    private var history: [Int16]
    /// One pitch period, its end bent so that it flows into its beginning.
    private var cycle: [Int16]
    private var period = 0
    private var place = 0
    /// Samples concealed since the loss began; 0: nothing is missing.
    private(set) var concealed = 0
    private var overlap: [Int16]

    init(rate: Int) {
        self.rate = rate
        history = [Int16](repeating: 0, count: rate * 40 / 1000)
        cycle = [Int16](repeating: 0, count: rate * 20 / 1000)
        overlap = [Int16](repeating: 0, count: rate * 4 / 1000)
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
        let hold = rate / 100
        let fade = rate * 50 / 1000
        for index in 0..<count where offset + index < samples.count {
            let age = concealed + index - hold
            let gain = age <= 0 ? 4096 : max(0, 4096 - age * 4096 / fade)
            samples[offset + index] = Int16(truncatingIfNeeded: (Int(cycle[place]) * gain) >> 12)
            place += 1
            if place >= period { place = 0 }
        }
        concealed += count
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

    private static func conceal(_ concealer: inout Concealer, _ count: Int) {
        var tail = concealer.overlap
        concealer.overlap = []
        concealer.conceal(into: &tail, at: 0, count: count)
        concealer.overlap = tail
    }

    private mutating func begin() {
        period = Self.pitch(of: history, rate: rate)
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

    /// The lag, 5...15 ms, at which the last 15 ms are most like what was before them.
    private static func pitch(of history: [Int16], rate: Int) -> Int {
        let history = history.span
        let length = rate * 15 / 1000
        let shortest = rate * 5 / 1000
        let longest = rate * 15 / 1000
        let step = max(1, rate / 16000)
        let template = history.extracting(history.count - length..<history.count)
        var best = (lag: longest, score: 0.0)
        var lag = shortest
        while lag <= longest {
            let start = history.count - length - lag
            guard start >= 0 else { break }
            let (product, energy) = compare(template, history.extracting(start..<start + length))
            // Shorter lags win a tie: a multiple of the pitch is no better than the pitch.
            let score = product > 0 ? product * product / (energy + 1) * (1 - Double(lag) / Double(longest) * 0.02) : 0
            if score > best.score { best = (lag, score) }
            lag += step
        }
        return best.lag
    }

    private static func compare(_ first: Span<Int16>, _ second: Span<Int16>) -> (product: Double, energy: Double) {
        // Scaled by 1/8 so that 15 ms at any rate stay within 32 bits times 2⁹.
        var product: Int64 = 0
        var energy: Int64 = 0
        var start = 0
        while start < first.count {
            let end = min(start + 64, first.count)
            let (left, right) = (first.extracting(start..<end), second.extracting(start..<end))
            var (partProduct, partEnergy): (Int32, Int32) = (0, 0)
            for index in 0..<min(left.count, right.count) {
                let (a, b) = (Int32(left[index]) &>> 3, Int32(right[index]) &>> 3)
                partProduct &+= a &* b
                partEnergy &+= b &* b
            }
            product += Int64(partProduct)
            energy += Int64(partEnergy)
            start = end
        }
        return (Double(product), Double(energy))
    }
}
