// SPDX-License-Identifier: Apache-2.0
//
// The small readers of the SDP parser. Positions are indices into the body; an empty field has equal bounds.

extension SDPParser {
    /// A copy of a range as text; what is no UTF-8 is replaced (U+FFFD).
    @inline(__always)
    func text(_ bytes: Span<UInt8>, _ start: Int, _ end: Int) -> String {
        // The pointer lives only in the closure, and `extracting` checked the bounds.
        unsafe bytes.extracting(start..<end).withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// The first octet from `start` on that is less than 16 (a line end or another control), or the count.
    @inline(__always)
    func firstControl(_ bytes: Span<UInt8>, from start: Int) -> Int {
        var position = start
        let count = bytes.count
        while count - position >= 8 {
            // Eight octets at once; `position + 8 <= count` holds.
            let word = unsafe UInt64(
                littleEndian: bytes.bytes.unsafeLoadUnaligned(fromByteOffset: position, as: UInt64.self))
            // The lowest octet below 16 is the lowest that keeps its top bit here.
            let below = (word &- 0x1010_1010_1010_1010) & ~word & 0x8080_8080_8080_8080
            if below != 0 { return position + below.trailingZeroBitCount / 8 }
            position += 8
        }
        while position < count, bytes[position] >= 16 { position += 1 }
        return position
    }

    /// `audio` mostly.
    @inline(__always)
    func mediaTypeText(_ bytes: Span<UInt8>, _ start: Int, _ end: Int) -> String {
        matches(bytes, start, end, "audio") ? "audio" : text(bytes, start, end)
    }

    /// `RTP/AVP` mostly.
    @inline(__always)
    func protocolText(_ bytes: Span<UInt8>, _ start: Int, _ end: Int) -> String {
        matches(bytes, start, end, "RTP/AVP") ? "RTP/AVP" : text(bytes, start, end)
    }

    @inline(__always)
    private func matches(_ bytes: Span<UInt8>, _ start: Int, _ end: Int, _ literal: StaticString) -> Bool {
        guard end - start == literal.utf8CodeUnitCount else { return false }
        return literal.withUTF8Buffer { buffer in
            for index in 0..<buffer.count where unsafe buffer[index] != bytes[start + index] { return false }
            return true
        }
    }

    /// A payload type number mostly: its text is not made anew.
    @inline(__always)
    func formatText(_ bytes: Span<UInt8>, _ start: Int, _ end: Int) -> String {
        guard end - start <= 3, bytes[start] != UInt8(ascii: "0") || end - start == 1,
            let number = number(bytes, start, end), number < 128
        else { return text(bytes, start, end) }
        return Self.numbers[Int(number)]
    }

    private static let numbers: [String] = (0..<128).map { String($0) }

    /// The name of an attribute whose octets make this number; nil for a less usual one.
    @inline(__always)
    func knownName(_ word: UInt64) -> String? {
        switch word {
        case 0x7274_706d_6170: "rtpmap"
        case 0x666d_7470: "fmtp"
        case 0x7074_696d_65: "ptime"
        case 0x7365_6e64_7265_6376: "sendrecv"
        case 0x7365_6e64_6f6e_6c79: "sendonly"
        case 0x7265_6376_6f6e_6c79: "recvonly"
        case 0x696e_6163_7469_7665: "inactive"
        case 0x7274_6370: "rtcp"
        case 0x7274_6370_2d66_62: "rtcp-fb"
        case 0x7274_6370_2d6d_7578: "rtcp-mux"
        case 0x6578_746d_6170: "extmap"
        case 0x6372_7970_746f: "crypto"
        case 0x7373_7263: "ssrc"
        case 0x6d69_64: "mid"
        default: nil
        }
    }

    /// `IN` nearly always.
    @inline(__always)
    func networkTypeText(_ bytes: Span<UInt8>, _ start: Int, _ end: Int) -> String {
        end - start == 2 && bytes[start] == UInt8(ascii: "I") && bytes[start + 1] == UInt8(ascii: "N")
            ? "IN" : text(bytes, start, end)
    }

    /// `IP4` or `IP6` nearly always.
    @inline(__always)
    func addressTypeText(_ bytes: Span<UInt8>, _ start: Int, _ end: Int) -> String {
        if end - start == 3, bytes[start] == UInt8(ascii: "I"), bytes[start + 1] == UInt8(ascii: "P") {
            if bytes[start + 2] == UInt8(ascii: "4") { return "IP4" }
            if bytes[start + 2] == UInt8(ascii: "6") { return "IP6" }
        }
        return text(bytes, start, end)
    }

    /// The end of the field that begins at `start`: the next space or `end`.
    @inline(__always)
    func fieldEnd(_ bytes: Span<UInt8>, _ start: Int, _ end: Int) -> Int {
        var position = start
        while position < end, bytes[position] != UInt8(ascii: " "), bytes[position] != 9 { position += 1 }
        return position
    }

    /// The first octet from `start` on that is no space, or `end`.
    @inline(__always)
    func nextField(_ bytes: Span<UInt8>, _ start: Int, _ end: Int) -> Int {
        var position = start
        while position < end, bytes[position] == UInt8(ascii: " ") || bytes[position] == 9 { position += 1 }
        return position
    }

    /// A decimal number without sign; nil for anything else, or for more than 64 bits hold.
    @inline(__always)
    func number(_ bytes: Span<UInt8>, _ start: Int, _ end: Int) -> UInt64? {
        guard start < end, end - start <= 19 else { return nil }
        var value: UInt64 = 0
        for position in start..<end {
            let digit = bytes[position] &- UInt8(ascii: "0")
            guard digit <= 9 else { return nil }
            value = value &* 10 &+ UInt64(digit)
        }
        return value
    }

    /// Visible ASCII; the set of RFC 8866 `token` is smaller, but no more is needed for safety.
    @inline(__always)
    func isTokenByte(_ byte: UInt8) -> Bool { byte > 32 && byte < 127 }

    @inline(__always)
    func areTokenBytes(_ bytes: Span<UInt8>, _ start: Int, _ end: Int) -> Bool {
        for position in start..<end where !isTokenByte(bytes[position]) { return false }
        return true
    }

    @inline(__always)
    func checkToken(_ start: Int, _ end: Int) throws(SDPError) {
        guard end - start <= limits.tokenOctets else {
            throw SDPError(.tokenTooLong, "a name has more than \(limits.tokenOctets) octets", offset: start)
        }
    }
}
