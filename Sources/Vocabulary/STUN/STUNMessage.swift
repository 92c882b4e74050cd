// SPDX-License-Identifier: Apache-2.0
//
// A STUN message (RFC 8489 §5). Nothing is read outside the datagram, and what a peer got wrong is an error, never a trap.
//
//      0 0 │ type (14) │ length (16) │ magic cookie 0x2112a442 (32) │ transaction (96) │ attributes: type, length, value, padding …

import Essentials

/// The method of a message: binding, or one of an extension (RFC 8489 §18.2).
public struct STUNMethod: RawRepresentable, Sendable, Hashable {
    /// 0...0xff: more would not fit beside other protocols on one port (RFC 8489 §18.2, RFC 7983 §7).
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue & 0xff }
    public static let binding = STUNMethod(rawValue: 1)
}

/// The 96 random bits that join a response to its request.
public struct STUNTransactionID: Sendable, Hashable {
    public var high: UInt32
    public var low: UInt64

    public init(high: UInt32, low: UInt64) {
        self.high = high
        self.low = low
    }

    public init(random: RandomSource) { self.init(high: UInt32(truncatingIfNeeded: random.next()), low: random.next()) }
}

/// A message as it was received.
public struct STUNMessage: Sendable, Hashable {
    /// The class of a message (§5): the bits C1 and C0.
    public enum Kind: UInt16, Sendable, Hashable {
        case request = 0
        case indication = 1
        case success = 2
        case failure = 3
    }

    public let method: STUNMethod
    public let kind: Kind
    public let transaction: STUNTransactionID
    /// In order. What stands behind MESSAGE-INTEGRITY is left out, because nothing vouches for it (§14.5).
    public let attributes: [STUNAttribute]
    /// A FINGERPRINT stood at the end, and it was right.
    public let hasFingerprint: Bool
    /// The whole message, and where MESSAGE-INTEGRITY begins in it.
    let bytes: [UInt8]
    let integrityOffset: Int?

    static let magicCookie: UInt32 = 0x2112_a442
    static let headerOctets = 20

    /// Whether a datagram on a port that STUN shares with another protocol is to be read as STUN (§6.3, RFC 7983 §7): the
    /// first two bits and the magic cookie say so.
    public static func isSTUN(_ bytes: [UInt8]) -> Bool {
        bytes.count >= headerOctets && bytes[0] < 4 && bytes[4] == 0x21 && bytes[5] == 0x12 && bytes[6] == 0xa4 && bytes[7] == 0x42
    }

    /// Reads one datagram.
    public init(parsing bytes: [UInt8], limits: STUNLimits = .default) throws(STUNError) {
        guard bytes.count >= Self.headerOctets else { throw STUNError(.truncated, at: bytes.count) }
        guard bytes.count <= limits.octets else { throw STUNError(.tooLarge, at: limits.octets) }
        guard Self.isSTUN(bytes) else { throw STUNError(.notSTUN, at: bytes[0] < 4 ? 4 : 0) }
        let length = Int(bytes.u16(at: 2))
        guard length % 4 == 0, Self.headerOctets + length == bytes.count else { throw STUNError(.badLength, at: 2) }
        let type = bytes.u16(at: 0)
        // …M7, C1, M6…M4, C0, M3…M0: the class lies between the bits of the method.
        method = STUNMethod(rawValue: (type & 0x3e00) >> 2 | (type & 0xe0) >> 1 | type & 0xf)
        kind = Kind(rawValue: (type & 0x100) >> 7 | (type & 0x10) >> 4) ?? .request
        transaction = STUNTransactionID(
            high: bytes.u32(at: 8), low: UInt64(bytes.u32(at: 12)) << 32 | UInt64(bytes.u32(at: 16)))
        self.bytes = bytes
        let found = try Self.attributes(bytes, limits)
        (attributes, integrityOffset, hasFingerprint) = (found.list, found.integrity, found.hasFingerprint)
    }

    private static func attributes(
        _ bytes: [UInt8], _ limits: STUNLimits
    ) throws(STUNError) -> (list: [STUNAttribute], integrity: Int?, hasFingerprint: Bool) {
        var list: [STUNAttribute] = []
        var integrity: Int?
        var hasFingerprint = false
        var offset = headerOctets
        var count = 0
        while offset < bytes.count {
            guard !hasFingerprint else { throw STUNError(.badFingerprint, at: offset) }
            guard offset + 4 <= bytes.count else { throw STUNError(.attributeOverrun, at: offset) }
            let type = STUNAttributeType(rawValue: bytes.u16(at: offset))
            let length = Int(bytes.u16(at: offset + 2))
            let end = offset + 4 + (length + 3) / 4 * 4
            guard end <= bytes.count else { throw STUNError(.attributeOverrun, at: offset + 2) }
            count += 1
            guard count <= limits.attributes else { throw STUNError(.tooLarge, at: offset) }
            let value = Array(bytes[offset + 4..<offset + 4 + length])
            guard isWellFormed(type, value) else { throw STUNError(.badAttribute, at: offset) }
            if type == .fingerprint {
                let expected = Fingerprint.value(of: bytes[..<offset])
                guard value.u32(at: 0) == expected else { throw STUNError(.badFingerprint, at: offset) }
                hasFingerprint = true
            } else if integrity == nil {
                if type == .messageIntegrity { integrity = offset }
                list.append(STUNAttribute(type, value))
            }
            offset = end
        }
        return (list, integrity, hasFingerprint)
    }

    /// Whether the value can be what the type says, so that whoever reads it later needs no check (CVE-2021-37706).
    private static func isWellFormed(_ type: STUNAttributeType, _ value: [UInt8]) -> Bool {
        switch type {
        case .mappedAddress, .xorMappedAddress:
            return value.count == 8 && value[1] == 1 || value.count == 20 && value[1] == 2
        case .errorCode:
            return value.count >= 4 && value.count <= 4 + textOctets && (3...6).contains(value[2] & 7) && value[3] < 100
        case .messageIntegrity: return value.count == 20
        case .fingerprint, .priority: return value.count == 4
        case .iceControlled, .iceControlling: return value.count == 8
        case .useCandidate: return value.isEmpty
        case .unknownAttributes: return value.count % 2 == 0
        case .username: return value.count <= 512
        case .realm, .nonce, .software: return value.count <= textOctets
        default: return true
        }
    }

    /// REALM, NONCE, SOFTWARE and the reason of ERROR-CODE: fewer than 128 characters, at most 763 octets.
    private static let textOctets = 763

    // MARK: Values

    /// The value of the first attribute of that type.
    public func value(_ type: STUNAttributeType) -> [UInt8]? { attributes.first { $0.type == type }?.value }

    private func text(_ type: STUNAttributeType) -> String? { value(type).map { String(decoding: $0, as: UTF8.self) } }

    public var username: String? { text(.username) }
    public var realm: String? { text(.realm) }
    public var nonce: String? { text(.nonce) }
    public var software: String? { text(.software) }

    /// Where the request came from as the server saw it: XOR-MAPPED-ADDRESS, else MAPPED-ADDRESS of old servers (§14.1, §14.2).
    public var mappedAddress: SocketAddress? {
        if let value = value(.xorMappedAddress) { return Self.address(value, mask: transaction) }
        return value(.mappedAddress).flatMap { Self.address($0, mask: nil) }
    }

    private static func address(_ value: [UInt8], mask: STUNTransactionID?) -> SocketAddress? {
        guard value.count >= 8 else { return nil }
        let key = mask.map(Self.mask) ?? [UInt8](repeating: 0, count: 16)
        guard let ip = IPAddress(octets: zip(value[4...], key).map { $0 ^ $1 }) else { return nil }
        let port = value.u16(at: 2) ^ (mask == nil ? 0 : UInt16(magicCookie >> 16))
        return SocketAddress(ip, port)
    }

    /// What an XOR-MAPPED-ADDRESS is masked with: the cookie and the transaction.
    static func mask(_ transaction: STUNTransactionID) -> [UInt8] {
        var octets: [UInt8] = []
        octets.append(u32: magicCookie)
        octets.append(u32: transaction.high)
        octets.append(u32: UInt32(truncatingIfNeeded: transaction.low >> 32))
        octets.append(u32: UInt32(truncatingIfNeeded: transaction.low))
        return octets
    }

    /// Why the request was refused.
    public var errorCode: STUNErrorCode? {
        guard let value = value(.errorCode), value.count >= 4 else { return nil }
        return STUNErrorCode(Int(value[2] & 7) * 100 + Int(value[3]), String(decoding: value[4...], as: UTF8.self))
    }

    /// The types that the server did not understand.
    public var unknownAttributes: [STUNAttributeType] {
        guard let value = value(.unknownAttributes) else { return [] }
        return stride(from: 0, to: value.count - 1, by: 2).map { STUNAttributeType(rawValue: value.u16(at: $0)) }
    }

    /// The types in this message that a receiver must understand and that are not `known`, each once and in order (§6.3.1).
    public func notUnderstood(known: [STUNAttributeType] = []) -> [STUNAttributeType] {
        var types: [STUNAttributeType] = []
        for attribute in attributes where attribute.type.mustBeUnderstood {
            let type = attribute.type
            if !STUNAttributeType.ofBinding.contains(type), !known.contains(type), !types.contains(type) { types.append(type) }
        }
        return types
    }
}

extension Array<UInt8> {
    /// Big-endian; the caller has checked the end.
    func u16(at offset: Int) -> UInt16 { UInt16(self[offset]) << 8 | UInt16(self[offset + 1]) }
    func u32(at offset: Int) -> UInt32 { UInt32(u16(at: offset)) << 16 | UInt32(u16(at: offset + 2)) }

    mutating func append(u16 value: UInt16) {
        append(UInt8(truncatingIfNeeded: value >> 8))
        append(UInt8(truncatingIfNeeded: value))
    }

    mutating func append(u32 value: UInt32) {
        append(u16: UInt16(truncatingIfNeeded: value >> 16))
        append(u16: UInt16(truncatingIfNeeded: value))
    }
}
