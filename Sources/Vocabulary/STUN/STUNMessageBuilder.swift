// SPDX-License-Identifier: Apache-2.0

import Crypto
import Essentials

/// Writes one message: attributes in the order in which they are added, then MESSAGE-INTEGRITY and FINGERPRINT if wanted
/// (RFC 8489 §5, §14).
public struct STUNMessageBuilder: Sendable {
    public let method: STUNMethod
    public let kind: STUNMessage.Kind
    public let transaction: STUNTransactionID
    private var body: [UInt8] = []

    public init(_ kind: STUNMessage.Kind, _ method: STUNMethod = .binding, transaction: STUNTransactionID) {
        self.kind = kind
        self.method = method
        self.transaction = transaction
    }

    /// Adds an attribute. A value of more than 763 octets is cut: no attribute may be longer.
    public mutating func add(_ type: STUNAttributeType, _ value: some Collection<UInt8>) {
        let value = value.prefix(763)
        body.append(u16: type.rawValue)
        body.append(u16: UInt16(value.count))
        body.append(contentsOf: value)
        while body.count % 4 != 0 { body.append(0) }
    }

    public mutating func add(_ type: STUNAttributeType, _ text: String) { add(type, Array(text.utf8)) }

    /// XOR-MAPPED-ADDRESS (§14.2).
    public mutating func addMapped(_ address: SocketAddress) {
        var value: [UInt8] = [0, address.ip.isV6 ? 2 : 1]
        value.append(u16: address.port ^ UInt16(STUNMessage.magicCookie >> 16))
        value += zip(address.ip.octets, STUNMessage.mask(transaction)).map { $0 ^ $1 }
        add(.xorMappedAddress, value)
    }

    /// ERROR-CODE (§14.8).
    public mutating func add(_ error: STUNErrorCode) {
        let code = min(max(error.code, 300), 699)
        add(.errorCode, [0, 0, UInt8(code / 100), UInt8(code % 100)] + Array(error.reason.utf8))
    }

    /// UNKNOWN-ATTRIBUTES (§14.13).
    public mutating func add(unknown types: [STUNAttributeType]) {
        var value: [UInt8] = []
        for type in types { value.append(u16: type.rawValue) }
        add(.unknownAttributes, value)
    }

    /// The octets of the message.
    ///
    /// - Parameters:
    ///   - key: signs the message with MESSAGE-INTEGRITY; see `STUNCredential.key`.
    ///   - fingerprint: adds FINGERPRINT, by which STUN is told from what shares the port.
    public func build(signedWith key: (Secret, any Cryptography)? = nil, fingerprint: Bool = false) -> [UInt8] {
        var body = body
        if let (key, cryptography) = key {
            let code = cryptography.hmac(.sha1, key: key, header(bodyOctets: body.count + 24) + body)
            body.append(u16: STUNAttributeType.messageIntegrity.rawValue)
            body.append(u16: 20)
            body += code
        }
        guard fingerprint else { return header(bodyOctets: body.count) + body }
        var bytes = header(bodyOctets: body.count + 8) + body
        let value = Fingerprint.value(of: bytes[...])
        bytes.append(u16: STUNAttributeType.fingerprint.rawValue)
        bytes.append(u16: 4)
        bytes.append(u32: value)
        return bytes
    }

    private func header(bodyOctets: Int) -> [UInt8] {
        let method = self.method.rawValue
        let type =
            (method & 0xf80) << 2 | (method & 0x70) << 1 | method & 0xf | (kind.rawValue & 2) << 7 | (kind.rawValue & 1) << 4
        var bytes: [UInt8] = []
        bytes.reserveCapacity(STUNMessage.headerOctets + bodyOctets)
        bytes.append(u16: type)
        bytes.append(u16: UInt16(truncatingIfNeeded: bodyOctets))
        bytes += STUNMessage.mask(transaction)
        return bytes
    }
}

/// FINGERPRINT (RFC 8489 §14.7): CRC-32 (ITU V.42, polynomial 0x04c11db7 with reversed bits) of what stands before it, XOR “STUN”.
enum Fingerprint {
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xedb8_8320 : value >> 1 }
    }

    static func value(of bytes: ArraySlice<UInt8>) -> UInt32 {
        let sum = bytes.reduce(UInt32.max) { $0 >> 8 ^ table[Int(($0 ^ UInt32($1)) & 0xff)] }
        return ~sum ^ 0x5354_554e
    }
}
