// SPDX-License-Identifier: Apache-2.0
//
// Whom we trust, and who we are, on connections with TLS (RFC 3261 §26.3, RFC 5922). Values; the world does the work.

import Crypto
import Essentials

/// The versions of TLS. Older ones (RFC 8996) are never used.
public enum TLSVersion: Int, Sendable, Hashable, Comparable, CaseIterable {
    /// RFC 5246.
    case v1_2
    /// RFC 8446.
    case v1_3

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// What both sides of a connection agreed on, in the library's words (OpenSSL's).
public struct TLSAgreement: Sendable, Hashable {
    /// `TLSv1.2` or `TLSv1.3`.
    public var version: String
    /// The cipher suite, such as `TLS_AES_256_GCM_SHA384`.
    public var cipher: String

    public init(version: String, cipher: String) {
        self.version = version
        self.cipher = cipher
    }
}

/// How a certificate and its key are given: PEM, the own certificate first, then those up to the root.
public enum TLSIdentity: Sendable, Hashable {
    /// Paths of two files; the key is not encrypted.
    case files(certificate: String, key: String)
    case pem(certificate: [UInt8], key: Secret)
}

/// Which authorities may vouch for a certificate.
public enum TLSTrust: Sendable, Hashable {
    /// Those that the system trusts.
    case system
    /// Those in a PEM file, and no others.
    case file(String)
    /// Those in this PEM text, and no others.
    case certificates(pem: [UInt8])
}

/// The SHA-256 of a public key (`SubjectPublicKeyInfo` in DER, as RFC 7469 §2.4 has it): whoever has the key is the server.
///
/// A certificate that is renewed with the same key keeps its pin. `openssl x509 -in CERT -pubkey -noout |
/// openssl pkey -pubin -outform der | sha256sum` prints it.
public struct CertificatePin: Sendable, Hashable, CustomStringConvertible {
    /// 32 octets.
    public let octets: [UInt8]

    /// nil unless there are 32 octets.
    public init?(octets: [UInt8]) {
        guard octets.count == 32 else { return nil }
        self.octets = octets
    }

    /// Reads 64 hexadecimal digits; colons and spaces between them are left aside.
    public init?(_ text: String) {
        var octets: [UInt8] = []
        var half: UInt8?
        for byte in text.utf8 where byte != 0x3a && byte != 0x20 {
            let digit: UInt8
            switch byte {
            case 0x30...0x39: digit = byte - 0x30
            case 0x41...0x46: digit = byte - 0x37
            case 0x61...0x66: digit = byte - 0x57
            default: return nil
            }
            if let high = half {
                octets.append(high << 4 | digit)
                half = nil
            } else {
                half = digit
            }
        }
        guard half == nil else { return nil }
        self.init(octets: octets)
    }

    /// 64 lower-case hexadecimal digits.
    public var description: String {
        octets.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

/// How an account's connections with TLS are made. The default verifies the server's certificate by the system's
/// authorities and the configured domain (RFC 5922).
public struct TLSSettings: Sendable, Hashable {
    public var trust: TLSTrust
    /// The one key to trust, in the place of authorities and names; dates count all the same.
    public var pin: CertificatePin?
    /// Our certificate, shown to a server that asks for one; nil: none.
    public var identity: TLSIdentity?
    /// The name that the certificate must cover and that SNI (RFC 6066 §3) says; nil: the configured domain or proxy.
    public var serverName: String?
    /// False trusts anybody: whoever stands between can read and change everything. A warning comes with each registration.
    public var verifiesCertificate: Bool
    /// Which versions are offered.
    public var versions: ClosedRange<TLSVersion>

    public init(
        trust: TLSTrust = .system, pin: CertificatePin? = nil, identity: TLSIdentity? = nil, serverName: String? = nil,
        verifiesCertificate: Bool = true, versions: ClosedRange<TLSVersion> = .v1_2 ... .v1_3
    ) {
        self.trust = trust
        self.pin = pin
        self.identity = identity
        self.serverName = serverName
        self.verifiesCertificate = verifiesCertificate
        self.versions = versions
    }
}

/// How a listener speaks TLS.
public struct TLSServerSettings: Sendable, Hashable {
    /// The certificate that is shown to whoever connects.
    public var identity: TLSIdentity
    /// Who vouches for the certificates of those who connect, who must have one then; nil: none is asked for.
    public var clientTrust: TLSTrust?
    public var versions: ClosedRange<TLSVersion>

    public init(
        identity: TLSIdentity, clientTrust: TLSTrust? = nil, versions: ClosedRange<TLSVersion> = .v1_2 ... .v1_3
    ) {
        self.identity = identity
        self.clientTrust = clientTrust
        self.versions = versions
    }
}

/// Stands for one set of `TLSSettings` of a stack: connections are shared only where it is the same.
public struct TLSProfile: Sendable, Hashable {
    let index: UInt32

    /// Of what belongs to no account: `StackConfiguration.tls`.
    public static let standard = TLSProfile(index: 0)
}
