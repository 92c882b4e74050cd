// SPDX-License-Identifier: Apache-2.0

import Essentials

/// Looks into a push payload: is it a JSON object (RFC 8259), and what stands at its top.
struct JSONText {
    /// The members at the top: name, and the text where the value is a string.
    private(set) var members: [(name: String, text: String?)] = []

    private let bytes: [UInt8]
    private var index = 0
    private static let nesting = 32

    /// nil: no JSON object, or one nested deeper than 32.
    init?(_ bytes: [UInt8]) {
        self.bytes = bytes
        skipSpace()
        guard readTop() else { return nil }
        skipSpace()
        guard index == bytes.count else { return nil }
    }

    subscript(name: String) -> String? { members.first { $0.name == name }?.text }

    private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        index += 1
        return true
    }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d { index += 1 }
    }

    private mutating func readTop() -> Bool {
        guard take(UInt8(ascii: "{")) else { return false }
        skipSpace()
        if take(UInt8(ascii: "}")) { return true }
        while true {
            skipSpace()
            guard let name = string() else { return false }
            skipSpace()
            guard take(UInt8(ascii: ":")) else { return false }
            skipSpace()
            if next == UInt8(ascii: "\"") {
                guard let text = string() else { return false }
                members.append((name, text))
            } else {
                guard value(depth: 1) else { return false }
                members.append((name, nil))
            }
            skipSpace()
            if take(UInt8(ascii: "}")) { return true }
            guard take(UInt8(ascii: ",")) else { return false }
        }
    }

    private mutating func value(depth: Int) -> Bool {
        guard depth < Self.nesting else { return false }
        switch next {
        case UInt8(ascii: "{"): return list(close: UInt8(ascii: "}"), hasNames: true, depth: depth)
        case UInt8(ascii: "["): return list(close: UInt8(ascii: "]"), hasNames: false, depth: depth)
        case UInt8(ascii: "\""): return string() != nil
        case UInt8(ascii: "t"): return word("true")
        case UInt8(ascii: "f"): return word("false")
        case UInt8(ascii: "n"): return word("null")
        default: return number()
        }
    }

    private mutating func list(close: UInt8, hasNames: Bool, depth: Int) -> Bool {
        index += 1
        skipSpace()
        if take(close) { return true }
        while true {
            skipSpace()
            if hasNames {
                guard string() != nil else { return false }
                skipSpace()
                guard take(UInt8(ascii: ":")) else { return false }
                skipSpace()
            }
            guard value(depth: depth + 1) else { return false }
            skipSpace()
            if take(close) { return true }
            guard take(UInt8(ascii: ",")) else { return false }
        }
    }

    private mutating func word(_ text: StaticString) -> Bool {
        for byte in "\(text)".utf8 { guard take(byte) else { return false } }
        return true
    }

    private mutating func digits() -> Int {
        let start = index
        while let byte = next, byte >= 0x30, byte <= 0x39 { index += 1 }
        return index - start
    }

    private mutating func number() -> Bool {
        _ = take(UInt8(ascii: "-"))
        if take(UInt8(ascii: "0")) {} else if digits() == 0 { return false }
        if take(UInt8(ascii: ".")) { guard digits() > 0 else { return false } }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            guard digits() > 0 else { return false }
        }
        return true
    }

    private mutating func string() -> String? {
        guard take(UInt8(ascii: "\"")) else { return nil }
        var text: [UInt8] = []
        while let byte = next {
            index += 1
            switch byte {
            case UInt8(ascii: "\""): return String(validating: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = escape() else { return nil }
                text += escaped
            case ..<0x20: return nil
            default: text.append(byte)
            }
        }
        return nil
    }

    private mutating func escape() -> [UInt8]? {
        guard let byte = next else { return nil }
        index += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
        case UInt8(ascii: "b"): return [8]
        case UInt8(ascii: "f"): return [12]
        case UInt8(ascii: "n"): return [10]
        case UInt8(ascii: "r"): return [13]
        case UInt8(ascii: "t"): return [9]
        case UInt8(ascii: "u"): return unicode()
        default: return nil
        }
    }

    private mutating func unicode() -> [UInt8]? {
        guard let first = unit() else { return nil }
        var units = [first]
        if first & 0xfc00 == 0xd800 {
            guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")), let second = unit(), second & 0xfc00 == 0xdc00 else { return nil }
            units.append(second)
        }
        return String(validating: units, as: UTF16.self).map { Array($0.utf8) }
    }

    private mutating func unit() -> UInt16? {
        guard index + 4 <= bytes.count else { return nil }
        var value: UInt16 = 0
        for byte in bytes[index..<(index + 4)] {
            guard let digit = hexDigitValue(byte) else { return nil }
            value = value << 4 | UInt16(digit)
        }
        index += 4
        return value
    }
}
