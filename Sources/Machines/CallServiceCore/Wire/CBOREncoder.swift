// SPDX-License-Identifier: Apache-2.0

/// Where an item is put together: a tree of nodes which containers fill while values encode themselves.
private final class Node {
    enum Content {
        case nothing
        case leaf(CBOR)
        case array([Node])
        case map([(key: String, node: Node)])
    }
    var content = Content.nothing

    var item: CBOR {
        switch content {
        case .nothing: .null
        case .leaf(let item): item
        case .array(let nodes): .array(nodes.map(\.item))
        case .map(let entries): .map(entries.map { CBOR.Entry(key: $0.key, value: $0.node.item) })
        }
    }

    func child(_ key: String) -> Node {
        let node = Node()
        if case .map(var entries) = content {
            entries.append((key, node))
            content = .map(entries)
        } else {
            content = .map([(key, node)])
        }
        return node
    }

    func next() -> Node {
        let node = Node()
        if case .array(var nodes) = content {
            nodes.append(node)
            content = .array(nodes)
        } else {
            content = .array([node])
        }
        return node
    }

    func openMap() { if case .map = content {} else { content = .map([]) } }
    func openArray() { if case .array = content {} else { content = .array([]) } }

    func put(_ value: some Encodable, path: [any CodingKey]) throws {
        switch value {
        case let octets as Octets: content = .leaf(.octets(octets.bytes))
        case let uuid as UUIDValue: content = .leaf(.octets(uuid.octets))
        default: try value.encode(to: CBOREncoder(node: self, codingPath: path))
        }
    }
}

/// Encodes a value into one item; structures become maps, whose keys are the names of their fields.
struct CBOREncoder: Encoder {
    fileprivate let node: Node
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    static func encode(_ value: some Encodable) throws -> CBOR {
        let node = Node()
        try node.put(value, path: [])
        return node.item
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        node.openMap()
        return KeyedEncodingContainer(Keyed<Key>(node: node, codingPath: codingPath))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        node.openArray()
        return Unkeyed(node: node, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { Single(node: node, codingPath: codingPath) }

    fileprivate static func integer(_ value: some BinaryInteger) -> CBOR {
        value >= 0 ? .unsigned(UInt64(clamping: value)) : .negative(UInt64(clamping: -1 - value))
    }
}

private struct Single: SingleValueEncodingContainer {
    let node: Node
    let codingPath: [any CodingKey]

    func encodeNil() { node.content = .leaf(.null) }
    func encode(_ value: Bool) { node.content = .leaf(.bool(value)) }
    func encode(_ value: String) { node.content = .leaf(.text(value)) }
    func encode(_ value: Double) { node.content = .leaf(.double(value.bitPattern)) }
    func encode(_ value: Float) { encode(Double(value)) }
    func encode(_ value: Int) { node.content = .leaf(CBOREncoder.integer(value)) }
    func encode(_ value: Int8) { node.content = .leaf(CBOREncoder.integer(value)) }
    func encode(_ value: Int16) { node.content = .leaf(CBOREncoder.integer(value)) }
    func encode(_ value: Int32) { node.content = .leaf(CBOREncoder.integer(value)) }
    func encode(_ value: Int64) { node.content = .leaf(CBOREncoder.integer(value)) }
    func encode(_ value: UInt) { node.content = .leaf(CBOREncoder.integer(value)) }
    func encode(_ value: UInt8) { node.content = .leaf(CBOREncoder.integer(value)) }
    func encode(_ value: UInt16) { node.content = .leaf(CBOREncoder.integer(value)) }
    func encode(_ value: UInt32) { node.content = .leaf(CBOREncoder.integer(value)) }
    func encode(_ value: UInt64) { node.content = .leaf(CBOREncoder.integer(value)) }
    func encode(_ value: some Encodable) throws { try node.put(value, path: codingPath) }
}

private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let node: Node
    let codingPath: [any CodingKey]

    private func single(_ key: Key) -> Single { Single(node: node.child(key.stringValue), codingPath: codingPath + [key]) }

    func encodeNil(forKey key: Key) { single(key).encodeNil() }
    func encode(_ value: Bool, forKey key: Key) { single(key).encode(value) }
    func encode(_ value: String, forKey key: Key) { single(key).encode(value) }
    func encode(_ value: Double, forKey key: Key) { single(key).encode(value) }
    func encode(_ value: Float, forKey key: Key) { single(key).encode(value) }
    func encode(_ value: Int, forKey key: Key) { single(key).encode(value) }
    func encode(_ value: Int8, forKey key: Key) { single(key).encode(value) }
    func encode(_ value: Int16, forKey key: Key) { single(key).encode(value) }
    func encode(_ value: Int32, forKey key: Key) { single(key).encode(value) }
    func encode(_ value: Int64, forKey key: Key) { single(key).encode(value) }
    func encode(_ value: UInt, forKey key: Key) { single(key).encode(value) }
    func encode(_ value: UInt8, forKey key: Key) { single(key).encode(value) }
    func encode(_ value: UInt16, forKey key: Key) { single(key).encode(value) }
    func encode(_ value: UInt32, forKey key: Key) { single(key).encode(value) }
    func encode(_ value: UInt64, forKey key: Key) { single(key).encode(value) }
    func encode(_ value: some Encodable, forKey key: Key) throws { try single(key).encode(value) }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<Nested> {
        CBOREncoder(node: node.child(key.stringValue), codingPath: codingPath + [key]).container(keyedBy: type)
    }
    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        CBOREncoder(node: node.child(key.stringValue), codingPath: codingPath + [key]).unkeyedContainer()
    }
    func superEncoder() -> any Encoder { CBOREncoder(node: node.child("super"), codingPath: codingPath) }
    func superEncoder(forKey key: Key) -> any Encoder { CBOREncoder(node: node.child(key.stringValue), codingPath: codingPath + [key]) }
}

private struct Unkeyed: UnkeyedEncodingContainer {
    let node: Node
    let codingPath: [any CodingKey]
    var count: Int { if case .array(let nodes) = node.content { nodes.count } else { 0 } }

    private func single() -> Single { Single(node: node.next(), codingPath: codingPath) }

    func encodeNil() { single().encodeNil() }
    func encode(_ value: Bool) { single().encode(value) }
    func encode(_ value: String) { single().encode(value) }
    func encode(_ value: Double) { single().encode(value) }
    func encode(_ value: Float) { single().encode(value) }
    func encode(_ value: Int) { single().encode(value) }
    func encode(_ value: Int8) { single().encode(value) }
    func encode(_ value: Int16) { single().encode(value) }
    func encode(_ value: Int32) { single().encode(value) }
    func encode(_ value: Int64) { single().encode(value) }
    func encode(_ value: UInt) { single().encode(value) }
    func encode(_ value: UInt8) { single().encode(value) }
    func encode(_ value: UInt16) { single().encode(value) }
    func encode(_ value: UInt32) { single().encode(value) }
    func encode(_ value: UInt64) { single().encode(value) }
    func encode(_ value: some Encodable) throws { try single().encode(value) }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        CBOREncoder(node: node.next(), codingPath: codingPath).container(keyedBy: type)
    }
    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        CBOREncoder(node: node.next(), codingPath: codingPath).unkeyedContainer()
    }
    func superEncoder() -> any Encoder { CBOREncoder(node: node.next(), codingPath: codingPath) }
}
