// SPDX-License-Identifier: Apache-2.0

/// The hash functions that SIP digest authentication may name (RFC 7616 §3.3, RFC 8760 §2.2), and SHA-1, which STUN
/// (RFC 8489 §14.5) and WebSocket (RFC 6455 §4.2.2) prescribe.
public enum HashAlgorithm: Sendable, Hashable, CaseIterable {
    case md5
    case sha1
    case sha256
    case sha512_256

    /// Octets of a hash value.
    public var length: Int {
        switch self {
        case .md5: 16
        case .sha1: 20
        case .sha256, .sha512_256: 32
        }
    }

    /// Octets that the function takes in at once (FIPS 180-4 §1): HMAC fills its key up to them.
    public var blockLength: Int { self == .sha512_256 ? 128 : 64 }
}

/// What the machines need of a cryptographic library. The world implements it (`CryptoOpenSSL`); machines are handed it.
public protocol Cryptography: Sendable {
    /// The hash of `bytes`.
    func hash(_ algorithm: HashAlgorithm, _ bytes: [UInt8]) -> [UInt8]

    /// HMAC (RFC 2104) of `bytes` with that hash function; as long as a hash value.
    func hmac(_ algorithm: HashAlgorithm, key: Secret, _ bytes: [UInt8]) -> [UInt8]
}

extension Cryptography {
    /// HMAC made of two hashes (RFC 2104 §2), for implementations that bring none of their own.
    public func hmac(_ algorithm: HashAlgorithm, key: Secret, _ bytes: [UInt8]) -> [UInt8] {
        var block = key.reveal { $0.count > algorithm.blockLength ? hash(algorithm, $0) : $0 }
        block += [UInt8](repeating: 0, count: max(0, algorithm.blockLength - block.count))
        let inner = hash(algorithm, block.map { $0 ^ 0x36 } + bytes)
        return hash(algorithm, block.map { $0 ^ 0x5c } + inner)
    }

    /// The hash of `bytes` as lower-case hexadecimal, as digest authentication writes it.
    public func hexHash(_ algorithm: HashAlgorithm, _ bytes: [UInt8]) -> String {
        hexadecimal(hash(algorithm, bytes))
    }
}

/// `bytes` as lower-case hexadecimal.
public func hexadecimal(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count * 2)
    for byte in bytes {
        text.append(digits[Int(byte >> 4)])
        text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
}

/// Whether two authentication codes are equal, in a time that does not tell where they differ.
public func isEqualInConstantTime(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Bool {
    guard left.count == right.count else { return false }
    return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
}
