// SPDX-License-Identifier: Apache-2.0
//
// The payload of telephone-event, RFC 4733 §2.3:
//
//      0                   1                   2                   3
//     |     event     |E|R| volume    |          duration             |

/// One report about a telephone event: a key, mostly.
public struct TelephoneEvent: Sendable, Hashable {
    /// 0...9 the digits, 10 `*`, 11 `#`, 12...15 `A`...`D`, 16 flash; others are tones and signals of no use here.
    public var code: UInt8
    /// This is one of the packets that close the event.
    public var isEnd: Bool
    /// Power in −dBm0, 0...63.
    public var volume: UInt8
    /// Since the event's timestamp, in timestamp units.
    public var duration: UInt16

    public static let size = 4

    public init(code: UInt8, isEnd: Bool, volume: UInt8 = 10, duration: UInt16) {
        self.code = code
        self.isEnd = isEnd
        self.volume = min(volume, 63)
        self.duration = duration
    }

    /// Reads the first event of the payload that lies at `range` of `bytes`.
    public init(parsing bytes: Span<UInt8>, at range: Range<Int>) throws(RTPError) {
        guard range.count >= Self.size, range.lowerBound >= 0, range.upperBound <= bytes.count else {
            throw RTPError(.malformedEvent, at: range.lowerBound)
        }
        let start = range.lowerBound
        code = bytes[start]
        isEnd = bytes[start + 1] & 0x80 != 0
        volume = bytes[start + 1] & 0x3f
        duration = bytes.readUInt16(at: start + 2)
    }

    /// The payload.
    public var serialized: [UInt8] {
        [code, (isEnd ? 0x80 : 0) | volume, UInt8(truncatingIfNeeded: duration >> 8), UInt8(truncatingIfNeeded: duration)]
    }

    /// The key of this event; nil: it is none.
    public var digit: Character? { Self.digit(ofCode: code) }

    public static func digit(ofCode code: UInt8) -> Character? {
        switch code {
        case 0...9: Character(Unicode.Scalar(48 + code))
        case 10: "*"
        case 11: "#"
        case 12...15: Character(Unicode.Scalar(65 + code - 12))
        default: nil
        }
    }

    /// The event code of a key, letters in either case; nil: the character is none.
    public static func code(ofDigit digit: Character) -> UInt8? {
        guard let ascii = digit.asciiValue else { return nil }
        switch ascii {
        case 48...57: return ascii - 48
        case UInt8(ascii: "*"): return 10
        case UInt8(ascii: "#"): return 11
        case 65...68: return ascii - 65 + 12
        case 97...100: return ascii - 97 + 12
        default: return nil
        }
    }
}
