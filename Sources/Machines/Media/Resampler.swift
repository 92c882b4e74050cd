// SPDX-License-Identifier: Apache-2.0
//
// Change of the sample rate by up/down, windowed sinc in polyphase form. Whole numbers only, so that every machine gives
// the same samples: taps of 14 fractional bits, sums in 32 bits (the taps of a phase add up to less than 2 in magnitude).
//
//     input  x x x x x x x x …            output n lies at input time n · down / up:
//               └─taps─┘                  its whole part chooses the inputs, its fraction the phase

/// The taps for one pair of rates; immutable and shared by all streams.
package final class ResamplerFilter: Sendable {
    package let inputRate: Int
    package let outputRate: Int
    package let up: Int
    package let down: Int
    /// Inputs that one output is made of.
    package let tapsPerPhase: Int
    /// Phase after phase, each in the order of the inputs (oldest first).
    fileprivate let taps: [Int16]

    /// For rates of 1...384000; others are taken as the nearest.
    package init(from inputRate: Int, to outputRate: Int) {
        let inputRate = min(max(inputRate, 1), 384_000)
        let outputRate = min(max(outputRate, 1), 384_000)
        self.inputRate = inputRate
        self.outputRate = outputRate
        let divisor = Self.greatestCommonDivisor(inputRate, outputRate)
        up = outputRate / divisor
        down = inputRate / divisor
        // A lower output rate needs a lower cutoff, so a longer filter.
        let wanted = inputRate > outputRate ? 48 * inputRate / outputRate : 48
        tapsPerPhase = (min(wanted, 1024) + 7) / 8 * 8
        taps = Self.design(up: up, perPhase: tapsPerPhase, ratio: Double(outputRate) / Double(inputRate))
    }

    private static func greatestCommonDivisor(_ first: Int, _ second: Int) -> Int {
        var (first, second) = (first, second)
        while second != 0 { (first, second) = (second, first % second) }
        return max(first, 1)
    }

    private static func design(up: Int, perPhase: Int, ratio: Double) -> [Int16] {
        let length = up * perPhase
        // On a tap, not between two: the delay is a whole number of samples, so that going up and down again gives back
        // what went in, sample by sample.
        let center = Double(length / 2)
        // Cutoff as a share of the upsampled rate: a little below half of the lower rate.
        let cutoff = 0.5 * min(1, ratio) * 0.94 / Double(up)
        let beta = 7.0
        let scale = 1 / Mathematics.bessel0(beta)
        var prototype = [Double](repeating: 0, count: length)
        for index in 0..<length {
            let offset = Double(index) - center
            let angle = 2 * Double.pi * cutoff * offset
            let sinc = offset.magnitude < 1e-9 ? 1 : Mathematics.sine(angle) / angle
            let place = offset / (center + 1)
            let window = Mathematics.bessel0(beta * max(0, 1 - place * place).squareRoot()) * scale
            prototype[index] = sinc * window
        }
        var taps = [Int16](repeating: 0, count: length)
        for phase in 0..<up {
            var sum = 0.0
            for tap in 0..<perPhase { sum += prototype[phase + tap * up] }
            for tap in 0..<perPhase {
                let value = prototype[phase + tap * up] / sum * 16384
                taps[phase * perPhase + perPhase - 1 - tap] = Int16(clamping: Int(value.rounded()))
            }
        }
        return taps
    }
}

/// Changes the sample rate of one stream of samples; keeps what the filter still needs.
package struct Resampler {
    package let filter: ResamplerFilter
    /// History, then what came since.
    private var buffer: [Int16]
    private var filled: Int
    /// The newest input of the next output, as an index of `buffer`, and its phase.
    private var position: Int
    private var phase = 0

    package init(_ filter: ResamplerFilter) {
        self.filter = filter
        filled = filter.tapsPerPhase - 1
        position = filled
        buffer = [Int16](repeating: 0, count: filled + max(480, filter.inputRate / 50))
    }

    /// How many inputs must be given so that `count` outputs can be made.
    package func inputNeeded(for count: Int) -> Int {
        guard count > 0 else { return 0 }
        return max(0, position + (phase + (count - 1) * filter.down) / filter.up + 1 - filled)
    }

    /// Takes all of `input` and gives as many outputs as can be made of it, at most what `output` holds from `offset` on.
    package mutating func process(_ input: Span<Int16>, into output: inout [Int16], at offset: Int = 0) -> Int {
        while buffer.count < filled + input.count { buffer.append(0) }
        Samples.copy(input, to: &buffer, at: filled)
        filled += input.count
        var place = Place(position: position, phase: phase)
        let made = Self.produce(filter, buffer, filled, &place, into: &output, at: offset)
        // What the next output needs moves to the front.
        let first = min(place.position, filled) + 1 - filter.tapsPerPhase
        if first > 0 {
            Samples.moveToFront(&buffer, from: first, count: filled - first)
            filled -= first
            place.position -= first
        }
        position = place.position
        phase = place.phase
        return made
    }

    /// The same for the part `range` of an array.
    package mutating func process(_ input: [Int16], _ range: Range<Int>, into output: inout [Int16], at offset: Int = 0) -> Int {
        guard range.lowerBound >= 0, range.upperBound <= input.count else { return 0 }
        return process(input.span.extracting(range), into: &output, at: offset)
    }

    /// All of `samples` at another rate; what the filter delays is taken off in front.
    package static func converted(_ samples: [Int16], from rate: Int, to outputRate: Int) -> [Int16] {
        guard rate != outputRate, rate > 0, outputRate > 0 else { return samples }
        let filter = ResamplerFilter(from: rate, to: outputRate)
        var resampler = Resampler(filter)
        let lead = filter.tapsPerPhase / 2 * outputRate / rate
        let count = samples.count * outputRate / rate
        var result = [Int16](repeating: 0, count: count + lead)
        var made = 0
        var first = 0
        let all = samples + [Int16](repeating: 0, count: filter.tapsPerPhase)
        while first < all.count, made < result.count {
            let end = min(all.count, first + 4096)
            made += resampler.process(all, first..<end, into: &result, at: made)
            first = end
        }
        return Array(result[lead...])
    }

    private struct Place {
        var position: Int
        var phase: Int
    }

    private static func produce(
        _ filter: ResamplerFilter, _ buffer: [Int16], _ filled: Int, _ place: inout Place, into output: inout [Int16],
        at offset: Int
    ) -> Int {
        let taps = filter.taps
        let allTaps = taps.span
        let samples = buffer.span
        var output = output.mutableSpan
        let width = filter.tapsPerPhase
        let (whole, rest) = filter.down.quotientAndRemainder(dividingBy: filter.up)
        let up = filter.up
        var (position, phase, made) = (place.position, place.phase, 0)
        while position < filled, offset + made < output.count {
            let sum = Samples.dot(
                samples.extracting(position + 1 - width..<position + 1),
                allTaps.extracting(phase * width..<phase * width + width))
            output[offset + made] = Int16(clamping: (sum &+ 8192) &>> 14)
            made += 1
            position += whole
            phase += rest
            if phase >= up {
                phase -= up
                position += 1
            }
        }
        place = Place(position: position, phase: phase)
        return made
    }
}
