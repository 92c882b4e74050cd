// SPDX-License-Identifier: Apache-2.0
//
// Octets to text and back: folds, quoting (RFC 3261 §25.1 quoted-string) and percent escapes (§19.1.2).

enum Text {
    /// The value with each fold as one space.
    static func unfolded(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var out: [UInt8] = []
        out.reserveCapacity(bytes.count)
        var inFold = false
        for byte in bytes {
            if byte == 0x0d || byte == 0x0a {
                if !inFold {
                    while let last = out.last, last == 0x20 || last == 0x09 { out.removeLast() }
                    out.append(0x20)
                }
                inFold = true
            } else if inFold, byte == 0x20 || byte == 0x09 {
                continue
            } else {
                inFold = false
                out.append(byte)
            }
        }
        return out
    }

    /// The text of a value; folds become spaces.
    static func string(_ bytes: ArraySlice<UInt8>) -> String {
        bytes.contains(0x0d) || bytes.contains(0x0a)
            ? String(decoding: unfolded(bytes), as: UTF8.self) : String(decoding: bytes, as: UTF8.self)
    }

    /// The inside of a quoted string with its escapes resolved.
    static func unquoted(_ bytes: ArraySlice<UInt8>) -> String {
        guard bytes.contains(0x5c) || bytes.contains(0x0d) else { return String(decoding: bytes, as: UTF8.self) }
        var out: [UInt8] = []
        var escaped = false
        for byte in unfolded(bytes) {
            if !escaped, byte == 0x5c {
                escaped = true
            } else {
                out.append(byte)
                escaped = false
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// `text` as a quoted string. Nothing in it can end the string or the line.
    static func quoted(_ text: String) -> String {
        var out: [UInt8] = [0x22]
        for byte in text.utf8 {
            switch byte {
            case 0x0d, 0x0a: out.append(0x20)
            case 0x22, 0x5c, 0x00..<0x20, 0x7f:
                if byte != 0x09 { out.append(0x5c) }
                out.append(byte)
            default: out.append(byte)
            }
        }
        out.append(0x22)
        return String(decoding: out, as: UTF8.self)
    }

    /// Percent escapes resolved once. Octets that then are no UTF-8 become replacement characters.
    static func unescaped(_ text: some Collection<UInt8>) -> String {
        var out: [UInt8] = []
        var iterator = text.makeIterator()
        while let byte = iterator.next() {
            guard byte == 0x25 else {
                out.append(byte)
                continue
            }
            guard let high = iterator.next().flatMap(hexValue), let low = iterator.next().flatMap(hexValue) else { break }
            out.append(high << 4 | low)
        }
        return String(decoding: out, as: UTF8.self)
    }

    private static func hexValue(_ byte: UInt8) -> UInt8? {
        Grammar.isHex(byte) ? (isDigit(byte) ? byte &- 0x30 : (byte | 0x20) &- 0x57) : nil
    }

    /// `text` with everything escaped that is not in `allowed`.
    static func escaped(_ text: some Collection<UInt8>, _ allowed: CharacterClass) -> String {
        if text.allSatisfy(allowed.has) { return String(decoding: text, as: UTF8.self) }
        let digits = Array("0123456789ABCDEF".utf8)
        var out: [UInt8] = []
        for byte in text {
            if allowed.has(byte) {
                out.append(byte)
            } else {
                out += [0x25, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// `text` with everything that could end a line, or that cannot be seen, as a space or replacement character.
    static func visible(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: { isInvisible($0) }) else { return text }
        var out = ""
        for scalar in text.unicodeScalars {
            out.unicodeScalars.append(isInvisible(scalar) ? "\u{fffd}" : scalar)
        }
        return out
    }

    /// Controls, and the scalars that turn the direction of text around (they make a caller's name read as another).
    static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7f..<0xa0, 0x200e, 0x200f, 0x2028...0x202e, 0x2066...0x2069: true
        default: false
        }
    }

    static func isToken(_ text: String) -> Bool { !text.isEmpty && text.utf8.allSatisfy(CharacterClass.token.has) }
}
