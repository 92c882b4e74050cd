// SPDX-License-Identifier: Apache-2.0
//
// ITU-T G.711, both laws: 8000 samples a second, one octet each. A code is sign, three bits of segment, four bits of step:
//
//     µ-law: all bits inverted; magnitude + 33 (14-bit scale) has its leading one at segment + 5
//     A-law: every other bit inverted (0x55); segments 0 and 1 have the same step

/// ITU-T G.711: `PCMU` or `PCMA`.
public struct G711: AudioCodec {
    public enum Law: Sendable, Hashable { case mu, a }

    public let law: Law
    public init(_ law: Law) { self.law = law }

    public var name: String { law == .mu ? "PCMU" : "PCMA" }
    public var clockRate: Int { 8000 }
    public var sampleRate: Int { 8000 }
    /// ITU-T G.113 appendix I: G.711 with packet loss concealment.
    public var impairment: (equipment: Double, robustness: Double) { (0, 25.1) }

    public func makeEncoder(_ negotiated: NegotiatedCodec) -> any AudioEncoder { Encoder(law) }
    public func makeDecoder(_ negotiated: NegotiatedCodec) -> any AudioDecoder { Decoder(law) }

    final class Encoder: AudioEncoder {
        private let law: Law
        init(_ law: Law) { self.law = law }

        func encode(_ samples: Span<Int16>, into payload: inout MutableSpan<UInt8>) -> Int {
            let count = min(samples.count, payload.count)
            switch law {
            case .mu: for index in 0..<count { payload[index] = G711.encodeMu(samples[index]) }
            case .a: for index in 0..<count { payload[index] = G711.encodeA(samples[index]) }
            }
            return count
        }

        func reset() {}
    }

    final class Decoder: AudioDecoder {
        private let table: [Int16]
        init(_ law: Law) { table = law == .mu ? G711.muTable : G711.aTable }

        func sampleCount(of payload: Span<UInt8>) -> Int? { payload.count }

        func decode(_ payload: Span<UInt8>, into samples: inout MutableSpan<Int16>) -> Int {
            Self.expand(payload, by: table, into: &samples)
        }

        private static func expand(
            _ payload: Span<UInt8>, by table: [Int16], into samples: inout MutableSpan<Int16>
        ) -> Int {
            let table = table.span
            let count = min(payload.count, samples.count)
            for index in 0..<count { samples[index] = table[Int(payload[index])] }
            return count
        }

        func reset() {}
    }

    /// The 256 samples of the µ-law codes.
    public static let muTable: [Int16] = (0..<256).map { decodeMu(UInt8($0)) }
    /// The 256 samples of the A-law codes.
    public static let aTable: [Int16] = (0..<256).map { decodeA(UInt8($0)) }

    static func decodeMu(_ code: UInt8) -> Int16 {
        let bits = ~code
        let segment = Int16(bits >> 4 & 7)
        let magnitude = ((Int16(bits & 15) << 3 + 132) << segment) - 132
        return bits & 0x80 != 0 ? -magnitude : magnitude
    }

    static func decodeA(_ code: UInt8) -> Int16 {
        let bits = code ^ 0x55
        let segment = Int16(bits >> 4 & 7)
        let step = Int16(bits & 15) << 4
        let magnitude = segment == 0 ? step + 8 : (step + 0x108) << (segment - 1)
        return bits & 0x80 != 0 ? magnitude : -magnitude
    }

    @inline(__always) static func encodeMu(_ sample: Int16) -> UInt8 {
        let wide = Int32(sample)
        let magnitude = UInt32(min(wide < 0 ? -wide : wide, 32635)) &+ 132
        let segment = UInt32(24 &- magnitude.leadingZeroBitCount)
        let step = magnitude &>> (segment &+ 3) & 15
        return ~UInt8(truncatingIfNeeded: (wide < 0 ? 0x80 : 0) | segment &<< 4 | step)
    }

    @inline(__always) static func encodeA(_ sample: Int16) -> UInt8 {
        let wide = Int32(sample)
        let magnitude = UInt32(wide < 0 ? ~wide : wide)
        let sign: UInt32 = wide < 0 ? 0 : 0x80
        guard magnitude >= 256 else { return UInt8(truncatingIfNeeded: sign | magnitude &>> 4) ^ 0x55 }
        let segment = UInt32(24 &- magnitude.leadingZeroBitCount)
        return UInt8(truncatingIfNeeded: sign | segment &<< 4 | magnitude &>> (segment &+ 3) & 15) ^ 0x55
    }
}
