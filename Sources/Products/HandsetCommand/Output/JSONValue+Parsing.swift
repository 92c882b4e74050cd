// SPDX-License-Identifier: Apache-2.0

/// Where and why a text is not JSON.
package struct JSONError: Error, Sendable, Equatable {
    package var reason: String
    /// Octets before the place.
    package var offset: Int
}

extension JSONValue {
    /// Reads one value and nothing after it; at most 32 levels deep.
    package init(parsing text: String) throws(JSONError) {
        var reader = JSONReader(bytes: Array(text.utf8))
        self = try reader.value(depth: 0)
        reader.skipSpace()
        guard reader.position == reader.bytes.count else { throw reader.error("text after the value") }
    }
}

private struct JSONReader {
    let bytes: [UInt8]
    var position = 0

    static let deepest = 32

    func error(_ reason: String) -> JSONError { JSONError(reason: reason, offset: position) }

    func peek() -> UInt8? { position < bytes.count ? bytes[position] : nil }

    mutating func skipSpace() {
        while let byte = peek(), byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d { position += 1 }
    }

    mutating func take(_ wanted: UInt8) -> Bool {
        skipSpace()
        guard peek() == wanted else { return false }
        position += 1
        return true
    }

    mutating func value(depth: Int) throws(JSONError) -> JSONValue {
        guard depth < Self.deepest else { throw error("too deep") }
        skipSpace()
        switch peek() {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case nil: throw error("nothing where a value should be")
        default: return try number()
        }
    }

    private mutating func word(_ text: String, _ value: JSONValue) throws(JSONError) -> JSONValue {
        guard bytes[position...].starts(with: text.utf8) else { throw error("not a value") }
        position += text.utf8.count
        return value
    }

    private mutating func object(depth: Int) throws(JSONError) -> JSONValue {
        position += 1
        var members: [JSONValue.Member] = []
        if take(UInt8(ascii: "}")) { return .object(members) }
        repeat {
            skipSpace()
            guard peek() == UInt8(ascii: "\"") else { throw error("a member needs a name in quotes") }
            let name = try string()
            guard take(UInt8(ascii: ":")) else { throw error("no colon after a member's name") }
            guard !members.contains(where: { $0.name == name }) else { throw error("the member \"\(name)\" stands twice") }
            members.append(JSONValue.Member(name, try value(depth: depth + 1)))
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "}")) else { throw error("an object does not end") }
        return .object(members)
    }

    private mutating func array(depth: Int) throws(JSONError) -> JSONValue {
        position += 1
        var values: [JSONValue] = []
        if take(UInt8(ascii: "]")) { return .array(values) }
        repeat { values.append(try value(depth: depth + 1)) } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "]")) else { throw error("an array does not end") }
        return .array(values)
    }

    private mutating func number() throws(JSONError) -> JSONValue {
        let start = position
        while let byte = peek(), (0x30...0x39).contains(byte) || "+-.eE".utf8.contains(byte) { position += 1 }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if let value = Int64(text), !text.hasPrefix("+") { return .integer(value) }
        guard let first = text.utf8.first, first == 0x2d || (0x30...0x39).contains(first), let value = Double(text), value.isFinite else {
            position = start
            throw error("not a value")
        }
        return .decimal(value)
    }

    private mutating func string() throws(JSONError) -> String {
        position += 1
        var result: [UInt8] = []
        while let byte = peek() {
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let text = String(validating: result, as: UTF8.self) else { throw error("not UTF-8") }
                return text
            case UInt8(ascii: "\\"): result += Array(String(try escape()).utf8)
            case 0..<0x20: throw error("a control character in a string")
            default: result.append(byte)
            }
        }
        throw error("a string does not end")
    }

    private mutating func escape() throws(JSONError) -> Unicode.Scalar {
        guard let byte = peek() else { throw error("a string does not end") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""): return "\""
        case UInt8(ascii: "\\"): return "\\"
        case UInt8(ascii: "/"): return "/"
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try unicodeEscape()
        default: throw error("an unknown escape")
        }
    }

    private mutating func unicodeEscape() throws(JSONError) -> Unicode.Scalar {
        let first = try hexadecimal()
        guard (0xd800...0xdbff).contains(first) else {
            guard let scalar = Unicode.Scalar(first) else { throw error("half a surrogate pair") }
            return scalar
        }
        guard bytes[position...].starts(with: "\\u".utf8) else { throw error("half a surrogate pair") }
        position += 2
        let second = try hexadecimal()
        guard (0xdc00...0xdfff).contains(second), let scalar = Unicode.Scalar(0x10000 + (first - 0xd800) << 10 + (second - 0xdc00)) else {
            throw error("half a surrogate pair")
        }
        return scalar
    }

    private mutating func hexadecimal() throws(JSONError) -> UInt32 {
        let digits = bytes[position...].prefix(4)
        guard digits.count == 4, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
            let value = UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw error("\\u needs four hexadecimal digits") }
        position += 4
        return value
    }
}
