// SPDX-License-Identifier: Apache-2.0

/// The hash functions that SIP digest authentication may name (RFC 7616 §3.3, RFC 8760 §2.2).
public enum HashAlgorithm: Sendable, Hashable, CaseIterable {
    case md5
    case sha256
    case sha512_256

    /// Octets of a hash value.
    public var length: Int { self == .md5 ? 16 : 32 }
}

/// What the machines need of a cryptographic library. The world implements it (`CryptoOpenSSL`); machines are handed it.
public protocol Cryptography: Sendable {
    /// The hash of `bytes`.
    func hash(_ algorithm: HashAlgorithm, _ bytes: [UInt8]) -> [UInt8]
}

extension Cryptography {
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
