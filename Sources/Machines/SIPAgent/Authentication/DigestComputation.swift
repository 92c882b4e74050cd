// SPDX-License-Identifier: Apache-2.0
//
// The digest of RFC 7616 §3.4 with the algorithms of RFC 8760, and the older form without qop (RFC 2069, RFC 3261 §22.4).
//
//   A1 = username ":" realm ":" password            -sess: H(A1) ":" nonce ":" cnonce
//   A2 = method ":" digest-uri                      auth-int: … ":" H(body)
//   response = H( H(A1) ":" nonce [":" nc ":" cnonce ":" qop] ":" H(A2) )

import Crypto
import SIP

/// The algorithms that digest authentication may name.
public struct DigestAlgorithm: Sendable, Hashable {
    public var hash: HashAlgorithm
    /// One of the `-sess` forms.
    public var isSession: Bool

    public init(_ hash: HashAlgorithm, isSession: Bool = false) {
        self.hash = hash
        self.isSession = isSession
    }

    /// Reads the token, in any case of letters; nil for one that is not supported (`AKAv1-MD5`).
    public init?(token: String) {
        switch token.lowercased() {
        case "md5": self.init(.md5)
        case "md5-sess": self.init(.md5, isSession: true)
        case "sha-256": self.init(.sha256)
        case "sha-256-sess": self.init(.sha256, isSession: true)
        case "sha-512-256": self.init(.sha512_256)
        case "sha-512-256-sess": self.init(.sha512_256, isSession: true)
        default: return nil
        }
    }

    /// As it is written in a header field.
    public var token: String {
        switch (hash, isSession) {
        case (.md5, false): "MD5"
        case (.md5, true): "MD5-sess"
        // No algorithm of digest authentication (RFC 8760 §2.1); never chosen, since no token leads to it.
        case (.sha1, _): "SHA-1"
        case (.sha256, false): "SHA-256"
        case (.sha256, true): "SHA-256-sess"
        case (.sha512_256, false): "SHA-512-256"
        case (.sha512_256, true): "SHA-512-256-sess"
        }
    }
}

/// The quality of protection (RFC 7616 §3.3).
public enum DigestProtection: String, Sendable, Hashable {
    case auth
    case authInt = "auth-int"
}

/// What a digest protects: method, Request-URI as it stands in the request line, and (for auth-int) the body.
public struct DigestRequest: Sendable {
    public var method: Method
    public var uri: String
    public var body: [UInt8]

    public init(method: Method, uri: String, body: [UInt8] = []) {
        self.method = method
        self.uri = uri
        self.body = body
    }
}

/// Computes digests.
public struct DigestComputation: Sendable {
    public let cryptography: any Cryptography

    public init(_ cryptography: any Cryptography) { self.cryptography = cryptography }

    /// H(username ":" realm ":" password) in hexadecimal: as good as the password within the realm, so kept as secret.
    public func passwordHash(_ algorithm: HashAlgorithm, username: String, realm: String, password: Secret) -> Secret {
        var text = Array(username.utf8)
        text.append(UInt8(ascii: ":"))
        text.append(contentsOf: realm.utf8)
        text.append(UInt8(ascii: ":"))
        password.reveal { text.append(contentsOf: $0) }
        return Secret(cryptography.hexHash(algorithm, text))
    }

    /// H(username ":" realm), what `userhash=true` sends for the name (RFC 7616 §3.4.4).
    public func userHash(_ algorithm: HashAlgorithm, username: String, realm: String) -> String {
        cryptography.hexHash(algorithm, Array((username + ":" + realm).utf8))
    }

    /// The `response` parameter. `nonceCount` is the text of eight digits that is sent.
    public func response(
        _ algorithm: DigestAlgorithm, passwordHash: Secret, nonce: String, request: DigestRequest,
        protection: DigestProtection?, nonceCount: String, clientNonce: String
    ) -> String {
        var keyed = passwordHash.reveal { $0 }
        if algorithm.isSession {
            append(nonce, to: &keyed)
            append(clientNonce, to: &keyed)
            keyed = Array(cryptography.hexHash(algorithm.hash, keyed).utf8)
        }
        var second = Array(request.method.rawValue.utf8)
        append(request.uri, to: &second)
        if protection == .authInt { append(cryptography.hexHash(algorithm.hash, request.body), to: &second) }
        append(nonce, to: &keyed)
        if let protection {
            append(nonceCount, to: &keyed)
            append(clientNonce, to: &keyed)
            append(protection.rawValue, to: &keyed)
        }
        append(cryptography.hexHash(algorithm.hash, second), to: &keyed)
        return cryptography.hexHash(algorithm.hash, keyed)
    }

    private func append(_ part: String, to text: inout [UInt8]) {
        text.append(UInt8(ascii: ":"))
        text.append(contentsOf: part.utf8)
    }
}

/// `count` as eight hexadecimal digits.
func nonceCountText(_ count: UInt32) -> String {
    hexadecimal((0..<4).map { UInt8(truncatingIfNeeded: count >> (24 - 8 * $0)) })
}
