// SPDX-License-Identifier: Apache-2.0
//
// The character classes of RFC 3261 §25.1, as two words of bits each.

/// A set of ASCII characters; octets above 127 are in none.
struct CharacterClass: Sendable {
    let low: UInt64
    let high: UInt64

    @inline(__always) func has(_ byte: UInt8) -> Bool {
        let bits = byte < 64 ? low : high
        return byte < 128 && bits >> UInt64(byte & 63) & 1 == 1
    }

    /// token = 1*(alphanum / "-" / "." / "!" / "%" / "*" / "_" / "+" / "`" / "'" / "~")
    @inline(__always) static var token: Self { Self(low: 0x3ff_6ca2_0000_0000, high: 0x47ff_ffff_87ff_fffe) }
    /// What follows the first letter of a scheme.
    @inline(__always) static var scheme: Self { Self(low: 0x3ff_6800_0000_0000, high: 0x7ff_fffe_07ff_fffe) }
    /// Letters, digits, "-", "." and (leniently) "_".
    @inline(__always) static var host: Self { Self(low: 0x3ff_6000_0000_0000, high: 0x7ff_fffe_87ff_fffe) }
    /// unreserved / user-unreserved
    @inline(__always) static var user: Self { Self(low: 0xabff_ffd2_0000_0000, high: 0x47ff_fffe_87ff_fffe) }
    /// The former, ":" before a password, "%" of an escape and what is leniently taken.
    @inline(__always) static var userLenient: Self { Self(low: 0xafff_fffa_0000_0000, high: 0x7fff_ffff_c7ff_fffe) }
    /// unreserved / "&" / "=" / "+" / "$" / ","
    @inline(__always) static var password: Self { Self(low: 0x23ff_7fd2_0000_0000, high: 0x47ff_fffe_87ff_fffe) }
    /// param-unreserved / unreserved
    @inline(__always) static var uriParameter: Self { Self(low: 0x7ff_efd2_0000_0000, high: 0x47ff_fffe_afff_fffe) }
    /// hnv-unreserved / unreserved
    @inline(__always) static var uriHeader: Self { Self(low: 0x87ff_ef92_0000_0000, high: 0x47ff_fffe_afff_fffe) }
    /// word
    @inline(__always) static var word: Self { Self(low: 0xd7ff_efa6_0000_0000, high: 0x6fff_ffff_bfff_ffff) }
    /// token / "[" / "]" / ":": an unquoted gen-value
    @inline(__always) static var genericValue: Self { Self(low: 0x7ff_6ca2_0000_0000, high: 0x47ff_ffff_afff_fffe) }
    /// Visible characters but "<", ">" and quotation marks.
    @inline(__always) static var uri: Self { Self(low: 0xafff_fffa_0000_0000, high: 0x7fff_ffff_ffff_ffff) }
}

/// Whether an octet ends an unquoted parameter value: blank, control, comma, semicolon, quotation mark.
@inline(__always) func endsParameterValue(_ byte: UInt8) -> Bool {
    byte < 64 && (0xf7ff_effa_0000_0000 as UInt64) >> UInt64(byte) & 1 == 0
}

/// SP, HT, or part of a fold: inside a field value CR and LF are always part of a fold.
@inline(__always) func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0d || byte == 0x0a
}

@inline(__always) func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

@inline(__always) func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- 0x61 < 26 }

extension String {
    /// ASCII letters in lower case, everything else as it is.
    package var asciiLowercased: String {
        guard utf8.contains(where: { $0 &- 0x41 < 26 }) else { return self }
        return String(decoding: utf8.map { $0 &- 0x41 < 26 ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
