// SPDX-License-Identifier: Apache-2.0

/// Reads a value out of one item. What does not fit throws `WireError.badMessage`; fields that are not known are passed over.
struct CBORDecoder: Decoder {
    let item: CBOR
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    static func decode<Value: Decodable>(_ type: Value.Type, from item: CBOR) throws(WireError) -> Value {
        do { return try value(type, item, []) } catch { throw (error as? WireError) ?? .badMessage }
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .map(let entries) = item else { throw WireError.badMessage }
        return KeyedDecodingContainer(Keyed<Key>(entries: entries, codingPath: codingPath))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let items) = item else { throw WireError.badMessage }
        return Unkeyed(items: items, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { Single(item: item, codingPath: codingPath) }

    fileprivate static func value<Value: Decodable>(_ type: Value.Type, _ item: CBOR, _ path: [any CodingKey]) throws -> Value {
        if type == Octets.self {
            guard case .octets(let bytes) = item, let value = Octets(bytes) as? Value else { throw WireError.badMessage }
            return value
        }
        if type == UUIDValue.self {
            guard case .octets(let bytes) = item, let value = UUIDValue(octets: bytes) as? Value else { throw WireError.badMessage }
            return value
        }
        return try Value(from: CBORDecoder(item: item, codingPath: path))
    }
}

private struct Single: SingleValueDecodingContainer {
    let item: CBOR
    let codingPath: [any CodingKey]

    private func integer<Value: FixedWidthInteger>() throws -> Value {
        switch item {
        case .unsigned(let value):
            guard let result = Value(exactly: value) else { throw WireError.badMessage }
            return result
        case .negative(let value):
            guard let size = Int64(exactly: value), let result = Value(exactly: -1 - size) else { throw WireError.badMessage }
            return result
        default: throw WireError.badMessage
        }
    }

    func decodeNil() -> Bool { item == .null }
    func decode(_ type: Bool.Type) throws -> Bool {
        guard case .bool(let value) = item else { throw WireError.badMessage }
        return value
    }
    func decode(_ type: String.Type) throws -> String {
        guard case .text(let value) = item else { throw WireError.badMessage }
        return value
    }
    func decode(_ type: Double.Type) throws -> Double {
        guard case .double(let bits) = item else { throw WireError.badMessage }
        return Double(bitPattern: bits)
    }
    func decode(_ type: Float.Type) throws -> Float { Float(try decode(Double.self)) }
    func decode(_ type: Int.Type) throws -> Int { try integer() }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
    func decode(_ type: UInt.Type) throws -> UInt { try integer() }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try CBORDecoder.value(type, item, codingPath) }
}

private struct Keyed<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let entries: [CBOR.Entry]
    let codingPath: [any CodingKey]

    var allKeys: [Key] { entries.compactMap { Key(stringValue: $0.key) } }
    func contains(_ key: Key) -> Bool { entries.contains { $0.key == key.stringValue } }

    private func item(_ key: Key) throws -> CBOR {
        guard let entry = entries.first(where: { $0.key == key.stringValue }) else { throw WireError.badMessage }
        return entry.value
    }
    private func single(_ key: Key) throws -> Single { Single(item: try item(key), codingPath: codingPath + [key]) }

    func decodeNil(forKey key: Key) throws -> Bool { try item(key) == .null }
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try single(key).decode(type) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try single(key).decode(type) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try single(key).decode(type) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try single(key).decode(type) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try single(key).decode(type) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try single(key).decode(type) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try single(key).decode(type) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try single(key).decode(type) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try single(key).decode(type) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try single(key).decode(type) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try single(key).decode(type) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try single(key).decode(type) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try single(key).decode(type) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try single(key).decode(type) }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value { try single(key).decode(type) }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) throws -> KeyedDecodingContainer<Nested> {
        try CBORDecoder(item: item(key), codingPath: codingPath + [key]).container(keyedBy: type)
    }
    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try CBORDecoder(item: item(key), codingPath: codingPath + [key]).unkeyedContainer()
    }
    func superDecoder() throws -> any Decoder { throw WireError.badMessage }
    func superDecoder(forKey key: Key) throws -> any Decoder { CBORDecoder(item: try item(key), codingPath: codingPath + [key]) }
}

private struct Unkeyed: UnkeyedDecodingContainer {
    let items: [CBOR]
    let codingPath: [any CodingKey]
    var currentIndex = 0
    var count: Int? { items.count }
    var isAtEnd: Bool { currentIndex >= items.count }

    init(items: [CBOR], codingPath: [any CodingKey]) {
        self.items = items
        self.codingPath = codingPath
    }

    private mutating func next() throws -> Single {
        guard currentIndex < items.count else { throw WireError.badMessage }
        defer { currentIndex += 1 }
        return Single(item: items[currentIndex], codingPath: codingPath)
    }

    mutating func decodeNil() throws -> Bool {
        guard currentIndex < items.count, items[currentIndex] == .null else { return false }
        currentIndex += 1
        return true
    }
    mutating func decode(_ type: Bool.Type) throws -> Bool { try next().decode(type) }
    mutating func decode(_ type: String.Type) throws -> String { try next().decode(type) }
    mutating func decode(_ type: Double.Type) throws -> Double { try next().decode(type) }
    mutating func decode(_ type: Float.Type) throws -> Float { try next().decode(type) }
    mutating func decode(_ type: Int.Type) throws -> Int { try next().decode(type) }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try next().decode(type) }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try next().decode(type) }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try next().decode(type) }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try next().decode(type) }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try next().decode(type) }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try next().decode(type) }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try next().decode(type) }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try next().decode(type) }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try next().decode(type) }
    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try next().decode(type) }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested> {
        try CBORDecoder(item: next().item, codingPath: codingPath).container(keyedBy: type)
    }
    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try CBORDecoder(item: next().item, codingPath: codingPath).unkeyedContainer()
    }
    mutating func superDecoder() throws -> any Decoder { throw WireError.badMessage }
}
