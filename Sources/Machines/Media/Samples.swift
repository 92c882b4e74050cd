// SPDX-License-Identifier: Apache-2.0
//
// The loops over samples, in one place: plain loops over spans, which the compiler turns into vector code. They take whole
// arrays `inout`, because a span of a property may not outlive the expression it stands in. None allocates.

package enum Samples {
    /// Copies all of `source` to `target` from `offset` on, as far as it fits.
    package static func copy(_ source: Span<Int16>, to target: inout [Int16], at offset: Int = 0) {
        var target = target.mutableSpan
        guard offset >= 0, offset < target.count else { return }
        let count = min(source.count, target.count - offset)
        for index in 0..<count { target[offset + index] = source[index] }
    }

    package static func copy(_ source: [Int16], to target: inout [Int16], at offset: Int = 0) {
        copy(source.span, to: &target, at: offset)
    }

    /// Moves `count` samples that begin at `source` to the front.
    package static func moveToFront(_ samples: inout [Int16], from source: Int, count: Int) {
        guard source > 0, count > 0, source + count <= samples.count else { return }
        var samples = samples.mutableSpan
        for index in 0..<count { samples[index] = samples[source + index] }
    }

    /// Copies the part `range` of `source`.
    package static func copy(_ source: [Int16], _ range: Range<Int>, to target: inout [Int16], at offset: Int = 0) {
        guard range.lowerBound >= 0, range.upperBound <= source.count else { return }
        copy(source.span.extracting(range), to: &target, at: offset)
    }

    package static func clear(_ samples: inout [Int16]) {
        var samples = samples.mutableSpan
        for index in 0..<samples.count { samples[index] = 0 }
    }

    /// Largest magnitude among `count` samples from `offset` on.
    package static func peak(_ samples: [Int16], at offset: Int, count: Int) -> Int32 {
        let samples = samples.span
        guard offset >= 0, count >= 0, offset + count <= samples.count else { return 0 }
        var peak: Int32 = 0
        let part = samples.extracting(offset..<offset + count)
        for index in 0..<part.count {
            let value = Int32(part[index])
            peak = max(peak, max(value, 0 &- value))
        }
        return peak
    }

    /// The sum of squares, in units of 2⁴.
    package static func power(_ samples: Span<Int16>) -> Int64 {
        var power: Int64 = 0
        var start = 0
        while start < samples.count {
            let end = min(start + 16, samples.count)
            var part: Int32 = 0
            for index in start..<end {
                let value = Int32(samples[index]) &>> 2
                part &+= value &* value
            }
            power &+= Int64(part)
            start = end
        }
        return power
    }

    package static func power(_ samples: [Int16]) -> Int64 { power(samples.span) }

    /// The mean level in dB below full scale, −96...0; −96 for silence.
    package static func level(_ samples: [Int16]) -> Double {
        guard !samples.isEmpty else { return -96 }
        return level(power: Double(power(samples.span)) / Double(samples.count))
    }

    /// The level, −96...0 dB below full scale, of a mean power as `power` gives it.
    package static func level(power: Double) -> Double {
        guard power > 0 else { return -96 }
        return min(max(Mathematics.decibels(amplitude: power) / 2 - 78.2678, -96), 0)
    }

    /// Multiplies by `factor`/4096, saturating.
    package static func scale(_ samples: inout [Int16], by factor: Int32) {
        var samples = samples.mutableSpan
        for index in 0..<samples.count { samples[index] = Int16(clamping: (Int32(samples[index]) &* factor) &>> 12) }
    }

    /// Puts `source` into every second sample of `pair`, from `channel` on.
    package static func interleave(_ source: [Int16], channel: Int, into pair: inout [Int16]) {
        let source = source.span
        var pair = pair.mutableSpan
        let count = min(source.count, pair.count / 2)
        for index in 0..<count { pair[2 * index + channel] = source[index] }
    }

    /// Adds `source` to the sums.
    package static func add(_ source: [Int16], to sums: inout [Int32]) {
        let source = source.span
        var sums = sums.mutableSpan
        for index in 0..<min(source.count, sums.count) { sums[index] &+= Int32(source[index]) }
    }

    /// Takes the sums over, saturating, and clears them.
    package static func take(_ sums: inout [Int32], into target: inout [Int16]) {
        var sums = sums.mutableSpan
        var target = target.mutableSpan
        for index in 0..<min(sums.count, target.count) {
            target[index] = Int16(clamping: sums[index])
            sums[index] = 0
        }
    }

    /// The sum of products of two equally long parts.
    @inline(__always) package static func dot(_ first: Span<Int16>, _ second: Span<Int16>) -> Int32 {
        var sum: Int32 = 0
        for index in 0..<min(first.count, second.count) { sum &+= Int32(first[index]) &* Int32(second[index]) }
        return sum
    }
}
