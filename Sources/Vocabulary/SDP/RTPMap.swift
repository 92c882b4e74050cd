// SPDX-License-Identifier: Apache-2.0

/// What a payload type number means (RFC 8866 §6.6): `opus/48000/2`.
public struct RTPMap: Sendable, Hashable {
    /// As written; compare without case (`isNamed`).
    public var name: String
    /// Hz.
    public var clockRate: Int
    /// As written, or 1.
    public var channels: Int

    public init(_ name: String, _ clockRate: Int, _ channels: Int = 1) {
        self.name = name
        self.clockRate = clockRate
        self.channels = channels
    }

    public func isNamed(_ other: String) -> Bool { equalIgnoringCase(name, other) }

    /// The same encoding, clock rate and channel count.
    public func matches(_ other: RTPMap) -> Bool {
        isNamed(other.name) && clockRate == other.clockRate && channels == other.channels
    }

    /// Reads the value of an rtpmap attribute: `96 opus/48000/2`; nil where it is not readable.
    public static func parse(_ value: String) -> (payloadType: UInt8, map: RTPMap)? {
        let (number, rest) = splitAtSpace(value)
        guard let payloadType = UInt8(number), payloadType <= 127 else { return nil }
        let octets = rest.utf8
        guard let nameEnd = octets.firstIndex(of: 0x2f), nameEnd > octets.startIndex else { return nil }
        let rateStart = octets.index(after: nameEnd)
        let rateEnd = octets[rateStart...].firstIndex(of: 0x2f) ?? octets.endIndex
        guard let clockRate = leadingNumber(rest[rateStart..<rateEnd]), (1...1_000_000).contains(clockRate) else { return nil }
        var channels = 1
        if rateEnd < octets.endIndex {
            let start = octets.index(after: rateEnd)
            let end = octets[start...].firstIndex(of: 0x2f) ?? octets.endIndex
            if let count = leadingNumber(rest[start..<end]), (1...255).contains(count) { channels = count }
        }
        return (payloadType, RTPMap(String(rest[..<nameEnd]), clockRate, channels))
    }

    /// The number before the first space.
    private static func leadingNumber(_ text: Substring) -> Int? {
        Int(text[..<(text.utf8.firstIndex(of: 0x20) ?? text.endIndex)])
    }

    /// The static types of RFC 3551 §6, tables 4 and 5; nil for reserved, unassigned and dynamic numbers.
    public static func staticType(_ payloadType: UInt8) -> RTPMap? {
        switch payloadType {
        case 0: RTPMap("PCMU", 8000)
        case 3: RTPMap("GSM", 8000)
        case 4: RTPMap("G723", 8000)
        case 5: RTPMap("DVI4", 8000)
        case 6: RTPMap("DVI4", 16_000)
        case 7: RTPMap("LPC", 8000)
        case 8: RTPMap("PCMA", 8000)
        case 9: RTPMap("G722", 8000)
        case 10: RTPMap("L16", 44_100, 2)
        case 11: RTPMap("L16", 44_100)
        case 12: RTPMap("QCELP", 8000)
        case 13: RTPMap("CN", 8000)
        case 14: RTPMap("MPA", 90_000)
        case 15: RTPMap("G728", 8000)
        case 16: RTPMap("DVI4", 11_025)
        case 17: RTPMap("DVI4", 22_050)
        case 18: RTPMap("G729", 8000)
        case 25: RTPMap("CelB", 90_000)
        case 26: RTPMap("JPEG", 90_000)
        case 28: RTPMap("nv", 90_000)
        case 31: RTPMap("H261", 90_000)
        case 32: RTPMap("MPV", 90_000)
        case 33: RTPMap("MP2T", 90_000)
        case 34: RTPMap("H263", 90_000)
        default: nil
        }
    }
}

/// ASCII comparison without case.
func equalIgnoringCase(_ left: String, _ right: String) -> Bool {
    guard left.utf8.count == right.utf8.count else { return false }
    for (a, b) in zip(left.utf8, right.utf8) {
        let lowerA = a >= 65 && a <= 90 ? a | 32 : a
        let lowerB = b >= 65 && b <= 90 ? b | 32 : b
        guard lowerA == lowerB else { return false }
    }
    return true
}
