// SPDX-License-Identifier: Apache-2.0
//
// The hashes of SIP digest authentication (RFC 7616, RFC 8760), SHA-1 and HMAC (RFC 2104) by OpenSSL 3.

import COpenSSL
import Crypto
import Synchronization

/// Hashes by OpenSSL. Made once and handed to every machine; may be called from any thread.
///
/// OpenSSL takes about 2 ms to wake up, so nothing of it is touched before the first hash is asked for: a phone that
/// only answers OPTIONS never pays for it. The methods are fetched once and one context is used again and again.
public final class OpenSSLCryptography: Cryptography {
    private let digests = Mutex(Digests())

    public init() {}

    /// The hash of `bytes`. Where the library refuses the algorithm (MD5 under a FIPS provider), the result is random
    /// octets of the right length: a hash that never equals any other, so that nothing is let in by it.
    public func hash(_ algorithm: HashAlgorithm, _ bytes: [UInt8]) -> [UInt8] {
        if let value = digests.withLock({ $0.hash(algorithm, bytes) }) { return value }
        var random = SecureRandom()
        return (0..<algorithm.length).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    }

    /// HMAC by the library; where it refuses the algorithm, random octets of the right length, as for `hash`.
    public func hmac(_ algorithm: HashAlgorithm, key: Secret, _ bytes: [UInt8]) -> [UInt8] {
        let name =
            switch algorithm {
            case .md5: "MD5"
            case .sha1: "SHA1"
            case .sha256: "SHA256"
            case .sha512_256: "SHA512-256"
            }
        var value = [UInt8](repeating: 0, count: algorithm.length)
        let length = key.reveal { key in
            unsafe value.withUnsafeMutableBufferPointer { output in
                var written = 0
                let result = unsafe EVP_Q_mac(
                    nil, "HMAC", nil, name, nil, key, key.count, bytes, bytes.count, output.baseAddress, output.count, &written)
                return unsafe result == nil ? 0 : written
            }
        }
        if length == algorithm.length { return value }
        var random = SecureRandom()
        return (0..<algorithm.length).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    }

    /// Whether the library offers the algorithm.
    public func supports(_ algorithm: HashAlgorithm) -> Bool {
        digests.withLock { $0.hash(algorithm, []) != nil }
    }
}

/// The fetched methods and the one context. Owned by the lock above.
@safe private struct Digests: ~Copyable {
    private var context: OpaquePointer?
    private var md5: OpaquePointer?
    private var sha1: OpaquePointer?
    private var sha256: OpaquePointer?
    private var sha512_256: OpaquePointer?

    init() {}

    deinit {
        unsafe EVP_MD_CTX_free(context)
        unsafe EVP_MD_free(md5)
        unsafe EVP_MD_free(sha1)
        unsafe EVP_MD_free(sha256)
        unsafe EVP_MD_free(sha512_256)
    }

    private mutating func method(_ algorithm: HashAlgorithm) -> OpaquePointer? {
        switch algorithm {
        case .md5:
            if unsafe md5 == nil { unsafe md5 = EVP_MD_fetch(nil, "MD5", nil) }
            return unsafe md5
        case .sha1:
            if unsafe sha1 == nil { unsafe sha1 = EVP_MD_fetch(nil, "SHA1", nil) }
            return unsafe sha1
        case .sha256:
            if unsafe sha256 == nil { unsafe sha256 = EVP_MD_fetch(nil, "SHA256", nil) }
            return unsafe sha256
        case .sha512_256:
            if unsafe sha512_256 == nil { unsafe sha512_256 = EVP_MD_fetch(nil, "SHA512-256", nil) }
            return unsafe sha512_256
        }
    }

    mutating func hash(_ algorithm: HashAlgorithm, _ bytes: [UInt8]) -> [UInt8]? {
        guard let method = unsafe method(algorithm) else { return nil }
        if unsafe context == nil { unsafe context = EVP_MD_CTX_new() }
        guard let context = unsafe context else { return nil }
        var value = [UInt8](repeating: 0, count: algorithm.length)
        let done = unsafe bytes.withUnsafeBytes { input in
            unsafe value.withUnsafeMutableBufferPointer { output in
                unsafe EVP_DigestInit_ex2(context, method, nil) == 1
                    && EVP_DigestUpdate(context, input.baseAddress, input.count) == 1
                    && EVP_DigestFinal_ex(context, output.baseAddress, nil) == 1
            }
        }
        return done ? value : nil
    }
}
