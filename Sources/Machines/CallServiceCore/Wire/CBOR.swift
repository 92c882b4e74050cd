// SPDX-License-Identifier: Apache-2.0
//
// RFC 8949 §3: initial octet = major type (3 bits) and additional information (5 bits). What is written is definite in length and in the
// shortest form; what is read may be longer, but is definite as well.

/// One data item.
enum CBOR: Hashable, Sendable {
    case unsigned(UInt64)
    /// -1 - value.
    case negative(UInt64)
    case octets([UInt8])
    case text(String)
    case array([CBOR])
    /// Keys are text, in the order in which they were written.
    case map([Entry])
    case bool(Bool)
    case null
    case double(UInt64)

    struct Entry: Hashable, Sendable {
        var key: String
        var value: CBOR
    }
}

/// What a message may hold; beyond it the message is refused.
public struct WireLimits: Hashable, Sendable {
    /// Octets of one message. An icon is the largest thing in one.
    public var messageLength = 1 << 20
    /// Arrays and maps inside one another.
    public var nesting = 16
    /// Items in one message, at any depth.
    public var items = 100_000

    public init() {}
}

/// Why a message was refused.
public enum WireError: String, Error, Hashable, Sendable, CaseIterable {
    case tooLong = "wire.too-long"
    case tooDeep = "wire.too-deep"
    case tooManyItems = "wire.too-many-items"
    case truncated = "wire.truncated"
    case trailingOctets = "wire.trailing-octets"
    /// A form that is not used here: indefinite length, tags, simple values, keys that are no text.
    case unsupported = "wire.unsupported"
    case badText = "wire.bad-text"
    /// No message of that kind, or one whose fields are missing or of another type.
    case badMessage = "wire.bad-message"
}

extension CBOR {
    func write(to output: inout [UInt8]) {
        switch self {
        case .unsigned(let value): Self.head(0, value, &output)
        case .negative(let value): Self.head(1, value, &output)
        case .octets(let bytes):
            Self.head(2, UInt64(bytes.count), &output)
            output += bytes
        case .text(let text): Self.write(text, to: &output)
        case .array(let items):
            Self.head(4, UInt64(items.count), &output)
            for item in items { item.write(to: &output) }
        case .map(let entries):
            Self.head(5, UInt64(entries.count), &output)
            for entry in entries {
                Self.write(entry.key, to: &output)
                entry.value.write(to: &output)
            }
        case .bool(let value): output.append(value ? 0xf5 : 0xf4)
        case .null: output.append(0xf6)
        case .double(let bits):
            output.append(0xfb)
            for shift in stride(from: 56, through: 0, by: -8) { output.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift))) }
        }
    }

    private static func write(_ text: String, to output: inout [UInt8]) {
        head(3, UInt64(text.utf8.count), &output)
        output += Array(text.utf8)
    }

    private static func head(_ major: UInt8, _ value: UInt64, _ output: inout [UInt8]) {
        let type = major << 5
        let length: Int
        switch value {
        case ..<24:
            output.append(type | UInt8(value))
            return
        case ..<0x100:
            output.append(type | 24)
            length = 1
        case ..<0x1_0000:
            output.append(type | 25)
            length = 2
        case ..<0x1_0000_0000:
            output.append(type | 26)
            length = 4
        default:
            output.append(type | 27)
            length = 8
        }
        for place in stride(from: length - 1, through: 0, by: -1) { output.append(UInt8(truncatingIfNeeded: value >> UInt64(8 * place))) }
    }
}

/// Reads one item and nothing behind it.
struct CBORReader {
    private let bytes: [UInt8]
    private var index = 0
    private var itemsLeft: Int
    private let limits: WireLimits

    static func read(_ bytes: [UInt8], limits: WireLimits) throws(WireError) -> CBOR {
        guard bytes.count <= limits.messageLength else { throw .tooLong }
        var reader = CBORReader(bytes: bytes, itemsLeft: limits.items, limits: limits)
        let item = try reader.item(depth: 0)
        guard reader.index == bytes.count else { throw .trailingOctets }
        return item
    }

    private init(bytes: [UInt8], itemsLeft: Int, limits: WireLimits) {
        self.bytes = bytes
        self.itemsLeft = itemsLeft
        self.limits = limits
    }

    private mutating func item(depth: Int) throws(WireError) -> CBOR {
        guard itemsLeft > 0 else { throw .tooManyItems }
        itemsLeft -= 1
        let (major, info) = try initial()
        if major == 7 { return try simple(info) }
        let value = try argument(info)
        switch major {
        case 0: return .unsigned(value)
        case 1: return .negative(value)
        case 2: return .octets(try take(value))
        case 3: return .text(try text(value))
        case 4:
            guard depth < limits.nesting else { throw .tooDeep }
            guard value <= UInt64(itemsLeft) else { throw .tooManyItems }
            var items: [CBOR] = []
            for _ in 0..<Int(value) { items.append(try item(depth: depth + 1)) }
            return .array(items)
        case 5:
            guard depth < limits.nesting else { throw .tooDeep }
            guard value <= UInt64(itemsLeft) / 2 else { throw .tooManyItems }
            var entries: [CBOR.Entry] = []
            for _ in 0..<Int(value) {
                guard case .text(let key) = try item(depth: depth + 1) else { throw .unsupported }
                entries.append(.init(key: key, value: try item(depth: depth + 1)))
            }
            return .map(entries)
        default: throw .unsupported
        }
    }

    private mutating func initial() throws(WireError) -> (major: UInt8, info: UInt8) {
        guard index < bytes.count else { throw .truncated }
        defer { index += 1 }
        return (bytes[index] >> 5, bytes[index] & 31)
    }

    private mutating func argument(_ info: UInt8) throws(WireError) -> UInt64 {
        guard info >= 24 else { return UInt64(info) }
        guard info <= 27 else { throw .unsupported }
        return try take(UInt64(1 << (info - 24))).reduce(0) { $0 << 8 | UInt64($1) }
    }

    private mutating func take(_ count: UInt64) throws(WireError) -> [UInt8] {
        guard count <= UInt64(bytes.count - index) else { throw .truncated }
        defer { index += Int(count) }
        return Array(bytes[index..<(index + Int(count))])
    }

    private mutating func text(_ count: UInt64) throws(WireError) -> String {
        guard let text = String(validating: try take(count), as: UTF8.self) else { throw .badText }
        return text
    }

    private mutating func simple(_ info: UInt8) throws(WireError) -> CBOR {
        switch info {
        case 20: return .bool(false)
        case 21: return .bool(true)
        case 22: return .null
        case 27: return .double(try take(8).reduce(0) { $0 << 8 | UInt64($1) })
        default: throw .unsupported
        }
    }
}
