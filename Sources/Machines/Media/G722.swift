// SPDX-License-Identifier: Apache-2.0
//
// ITU-T G.722 at 64 kbit/s (RFC 3551 §4.5.2): 16000 samples a second, one octet for two of them. Two bands, each coded by
// ADPCM; the RTP clock says 8000 for historical reasons.
//
//     samples ─ QMF ┬─ low  ─(−)─ 6 bits ─┬─ octet   H H L L L L L L
//                   │        predictor ◁──┘
//                   └─ high ─(−)─ 2 bits ─ …         decoder: the same backwards
//
// Names of steps (QUANTL, INVQAL, …) are those of the Recommendation, clauses 5 and 6.

/// ITU-T G.722: `G722`.
public struct G722: AudioCodec {
    public init() {}

    public var name: String { "G722" }
    public var clockRate: Int { 8000 }
    public var sampleRate: Int { 16_000 }
    /// Taken as G.711 with packet loss concealment: the narrow band E-model knows no better.
    public var impairment: (equipment: Double, robustness: Double) { (0, 25.1) }

    public func makeEncoder(_ negotiated: NegotiatedCodec) -> any AudioEncoder { Encoder() }
    public func makeDecoder(_ negotiated: NegotiatedCodec) -> any AudioDecoder { Decoder() }

    final class Encoder: AudioEncoder {
        private var state = State()
        private var values = G722Filter.silence

        func encode(_ samples: Span<Int16>, into payload: inout MutableSpan<UInt8>) -> Int {
            Self.encode(samples, into: &payload, &state, &values)
        }

        private static func encode(
            _ samples: Span<Int16>, into payload: inout MutableSpan<UInt8>, _ state: inout State,
            _ values: inout [Int32]
        ) -> Int {
            let count = min(samples.count / 2, payload.count)
            var (low, high) = (state.low, state.high)
            var values = values.mutableSpan
            var place = state.place
            for index in 0..<count {
                place = G722Filter.advance(place)
                G722Filter.put(Int32(samples[2 * index]), Int32(samples[2 * index + 1]), at: place, &values)
                let first = G722Filter.forward(values.span, place)
                let second = G722Filter.backward(values.span, G722Filter.second + place)
                let lowCode = low.encodeLow((second &+ first) >> 14)
                let highCode = high.encodeHigh((second &- first) >> 14)
                payload[index] = UInt8(truncatingIfNeeded: highCode << 6 | lowCode)
            }
            (state.low, state.high, state.place) = (low, high, place)
            return count
        }

        func reset() {
            state = State()
            values = G722Filter.silence
        }
    }

    final class Decoder: AudioDecoder {
        private var state = State()
        private var values = G722Filter.silence
        /// The last samples given out, and the filter that splits what stands in for lost ones.
        private var tail = [Int16](repeating: 0, count: 2 * G722Filter.taps)
        private var analysis = G722Filter.silence

        func sampleCount(of payload: Span<UInt8>) -> Int? { 2 * payload.count }

        func decode(_ payload: Span<UInt8>, into samples: inout MutableSpan<Int16>) -> Int {
            let made = Self.decode(payload, into: &samples, &state, &values)
            if made >= tail.count { for index in tail.indices { tail[index] = samples[made - tail.count + index] } }
            return made
        }

        /// Codes what stands in for lost samples, and decodes it, so that the predictors go on. Both filters together are 22
        /// samples late: what is coded is so much ahead of what is heard.
        func follow(_ samples: Span<Int16>, count: Int) {
            let count = min(count, samples.count)
            guard count >= tail.count else { return }
            let ahead = samples.count >= count + 22 ? 22 : 0
            Self.follow(samples, ahead, count, tail, &state, &values, &analysis)
            for index in tail.indices { tail[index] = samples[count - tail.count + index] }
        }

        private static func follow(
            _ samples: Span<Int16>, _ ahead: Int, _ count: Int, _ tail: [Int16], _ state: inout State, _ values: inout [Int32],
            _ analysis: inout [Int32]
        ) {
            var (low, high, place) = (state.low, state.high, state.place)
            var values = values.mutableSpan
            var analysis = analysis.mutableSpan
            var split = 0
            func sample(_ index: Int) -> Int32 { Int32(index < 0 ? tail[tail.count + index] : samples[index]) }
            for index in -G722Filter.taps..<count / 2 {
                let at = ahead + 2 * index
                split = G722Filter.advance(split)
                G722Filter.put(sample(at), sample(at + 1), at: split, &analysis)
                guard index >= 0 else { continue }
                let first = G722Filter.forward(analysis.span, split)
                let second = G722Filter.backward(analysis.span, G722Filter.second + split)
                // Coder and decoder have the same state: one finds the code, the other takes it.
                var (lowCoder, highCoder) = (low, high)
                let lowSample = low.decodeLow(lowCoder.encodeLow((second &+ first) >> 14))
                let highSample = high.decodeHigh(highCoder.encodeHigh((second &- first) >> 14))
                place = G722Filter.advance(place)
                G722Filter.put(lowSample &+ highSample, lowSample &- highSample, at: place, &values)
            }
            (state.low, state.high, state.place) = (low, high, place)
        }

        private static func decode(
            _ payload: Span<UInt8>, into samples: inout MutableSpan<Int16>, _ state: inout State,
            _ values: inout [Int32]
        ) -> Int {
            let count = min(payload.count, samples.count / 2)
            var (low, high) = (state.low, state.high)
            var values = values.mutableSpan
            var place = state.place
            for index in 0..<count {
                let code = Int(payload[index])
                let lowSample = low.decodeLow(code & 0x3f)
                let highSample = high.decodeHigh(code >> 6)
                place = G722Filter.advance(place)
                G722Filter.put(lowSample &+ highSample, lowSample &- highSample, at: place, &values)
                let first = G722Filter.backward(values.span, G722Filter.second + place) >> 11
                let second = G722Filter.forward(values.span, place) >> 11
                samples[2 * index] = Int16(clamping: first)
                samples[2 * index + 1] = Int16(clamping: second)
            }
            (state.low, state.high, state.place) = (low, high, place)
            return 2 * count
        }

        func reset() {
            state = State()
            values = G722Filter.silence
        }
    }

    /// Of one direction: the two bands, and where the filter is.
    private struct State {
        var low = G722Band(.low)
        var high = G722Band(.high)
        var place = 0
    }
}

/// The quadrature mirror filter: its 24 coefficients are symmetric, so each of the two phases has the same twelve, one of
/// them in reverse. Each value is kept twice, so that the last twelve of a phase lie in a row from behind `place` on.
enum G722Filter {
    static let taps = 12
    /// Where the values of the second phase begin.
    static let second = 2 * taps
    static var silence: [Int32] { [Int32](repeating: 0, count: 4 * taps) }

    @inline(__always) static func advance(_ place: Int) -> Int { place + 1 >= taps ? 0 : place + 1 }

    @inline(__always) static func put(
        _ first: Int32, _ other: Int32, at place: Int, _ values: inout MutableSpan<Int32>
    ) {
        values[place] = first
        values[place + taps] = first
        values[second + place] = other
        values[second + place + taps] = other
    }

    @inline(__always) static func forward(_ values: Span<Int32>, _ place: Int) -> Int32 {
        let row = values.extracting(place + 1..<place + 1 + taps)
        let old = row[0] &* 3 &- row[1] &* 11 &+ row[2] &* 12 &+ row[3] &* 32
        let middle = row[6] &* 3876 &- row[4] &* 210 &+ row[5] &* 951 &- row[7] &* 805
        return old &+ middle &+ row[8] &* 362 &- row[9] &* 156 &+ row[10] &* 53 &- row[11] &* 11
    }

    @inline(__always) static func backward(_ values: Span<Int32>, _ place: Int) -> Int32 {
        let row = values.extracting(place + 1..<place + 1 + taps)
        let old = row[1] &* 53 &- row[0] &* 11 &- row[2] &* 156 &+ row[3] &* 362
        let middle = row[5] &* 3876 &- row[4] &* 805 &+ row[6] &* 951 &- row[7] &* 210
        return old &+ middle &+ row[8] &* 32 &+ row[9] &* 12 &- row[10] &* 11 &+ row[11] &* 3
    }
}
