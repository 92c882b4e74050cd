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

        func sampleCount(of payload: Span<UInt8>) -> Int? { 2 * payload.count }

        func decode(_ payload: Span<UInt8>, into samples: inout MutableSpan<Int16>) -> Int {
            Self.decode(payload, into: &samples, &state, &values)
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
