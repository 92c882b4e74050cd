// SPDX-License-Identifier: Apache-2.0
//
// How alike two parts of a signal are, and where one goes on best: what concealment and stretching are built on.

enum WaveformMatch {
    /// Sums of products, at 1/8 of the amplitude so that blocks stay within 32 bits.
    struct Sums {
        var product: Double
        var first: Double
        var second: Double

        /// −1...1; 0 for silence.
        var correlation: Double {
            let scale = first * second
            return scale > 0 ? product / scale.squareRoot() : 0
        }
    }

    static func sums(_ first: Span<Int16>, _ second: Span<Int16>) -> Sums {
        let count = min(first.count, second.count)
        var (product, energy, other): (Int64, Int64, Int64) = (0, 0, 0)
        var start = 0
        while start < count {
            let end = min(start + 64, count)
            let (left, right) = (first.extracting(start..<end), second.extracting(start..<end))
            var (partProduct, partFirst, partSecond): (Int32, Int32, Int32) = (0, 0, 0)
            for index in 0..<min(left.count, right.count) {
                let (a, b) = (Int32(left[index]) &>> 3, Int32(right[index]) &>> 3)
                partProduct &+= a &* b
                partFirst &+= a &* a
                partSecond &+= b &* b
            }
            product += Int64(partProduct)
            energy += Int64(partFirst)
            other += Int64(partSecond)
            start = end
        }
        return Sums(product: Double(product), first: Double(energy), second: Double(other))
    }

    /// The place in `lags` where `samples` from `place − lag` (backwards) or `place + lag` on is most like the `length`
    /// samples from `place` on. Shorter lags win a tie: a multiple of the pitch is no better than the pitch.
    static func bestLag(
        _ samples: Span<Int16>, at place: Int, length: Int, lags: ClosedRange<Int>, step: Int, backwards: Bool
    ) -> (lag: Int, correlation: Double) {
        var best = (lag: lags.lowerBound, correlation: -1.0, score: -2.0)
        guard place >= 0, length > 0, place + length <= samples.count else { return (best.lag, -1) }
        let template = samples.extracting(place..<place + length)
        var lag = lags.lowerBound
        while lag <= lags.upperBound {
            let start = backwards ? place - lag : place + lag
            if start < 0 || start + length > samples.count { break }
            let value = sums(template, samples.extracting(start..<start + length)).correlation
            let score = value * (1 - Double(lag) / Double(lags.upperBound) * 0.02)
            if score > best.score { best = (lag, value, score) }
            lag += step
        }
        return (best.lag, best.correlation)
    }

    /// `target[offset + i]` goes from itself to `source[from + i]` over `length` samples.
    static func fade(_ target: inout [Int16], at offset: Int, into source: [Int16], from: Int, length: Int) {
        guard length > 0, offset >= 0, from >= 0, offset + length <= target.count, from + length <= source.count else { return }
        let source = source.span
        var target = target.mutableSpan
        for index in 0..<length {
            let old = Int32(target[offset + index]) &* Int32(length &- index)
            let new = Int32(source[from + index]) &* Int32(index)
            target[offset + index] = Int16(truncatingIfNeeded: (old &+ new) / Int32(length))
        }
    }
}
