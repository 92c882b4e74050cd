// SPDX-License-Identifier: Apache-2.0
//
// The small readers of the SDP parser. Positions are indices into the body; an empty field has equal bounds.

extension SDPParser {
    @inline(__always)
    func text(_ start: Int, _ end: Int) -> String { String(decoding: bytes[start..<end], as: UTF8.self) }

    /// `IN` nearly always.
    @inline(__always)
    func networkTypeText(_ start: Int, _ end: Int) -> String {
        end - start == 2 && bytes[start] == UInt8(ascii: "I") && bytes[start + 1] == UInt8(ascii: "N")
            ? "IN" : text(start, end)
    }

    /// `IP4` or `IP6` nearly always.
    @inline(__always)
    func addressTypeText(_ start: Int, _ end: Int) -> String {
        if end - start == 3, bytes[start] == UInt8(ascii: "I"), bytes[start + 1] == UInt8(ascii: "P") {
            if bytes[start + 2] == UInt8(ascii: "4") { return "IP4" }
            if bytes[start + 2] == UInt8(ascii: "6") { return "IP6" }
        }
        return text(start, end)
    }

    /// The end of the field that begins at `start`: the next space or `end`.
    @inline(__always)
    func fieldEnd(_ start: Int, _ end: Int) -> Int {
        var position = start
        while position < end, bytes[position] != UInt8(ascii: " "), bytes[position] != 9 { position += 1 }
        return position
    }

    /// The first octet from `start` on that is no space, or `end`.
    @inline(__always)
    func nextField(_ start: Int, _ end: Int) -> Int {
        var position = start
        while position < end, bytes[position] == UInt8(ascii: " ") || bytes[position] == 9 { position += 1 }
        return position
    }

    /// A decimal number without sign; nil for anything else, or for more than 64 bits hold.
    @inline(__always)
    func number(_ start: Int, _ end: Int) -> UInt64? {
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
    func areTokenBytes(_ start: Int, _ end: Int) -> Bool {
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
