// SPDX-License-Identifier: Apache-2.0
//
// Why a connection with TLS did not come about, with what was expected and what was found.

import Essentials

/// What a certificate says of itself.
public struct CertificateSummary: Sendable, Hashable {
    /// The names it stands for, with their kind: `URI:sip:example.net`, `DNS:example.net`, `IP:192.0.2.1`, `CN:example.net`.
    public var names: [String]
    public var subject: String
    public var issuer: String
    /// `2026-11-30 07:22:00 UTC`.
    public var notBefore: String
    public var notAfter: String
    /// Of its public key.
    public var pin: CertificatePin?

    public init(
        names: [String], subject: String, issuer: String, notBefore: String, notAfter: String, pin: CertificatePin? = nil
    ) {
        self.names = names
        self.subject = subject
        self.issuer = issuer
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.pin = pin
    }
}

/// A handshake that failed, or a secured connection that broke.
public struct TLSFailure: Error, Sendable, Hashable {
    public enum Reason: String, Sendable, Hashable, CaseIterable {
        /// The certificate is for other names.
        case wrongName = "wrong-name"
        case expired
        case notYetValid = "not-yet-valid"
        /// Nobody whom we trust vouches for it.
        case unknownIssuer = "unknown-issuer"
        /// It vouches for itself, and is not among those we trust.
        case selfSigned = "self-signed"
        /// Another key than the pinned one.
        case wrongPin = "wrong-pin"
        /// Something else is wrong with the certificate: a weak key, a wrong use, a chain that is too long.
        case badCertificate = "bad-certificate"
        /// The other side broke the handshake off: with an alert, or by hanging up.
        case refused
        /// What came was no TLS, or broken.
        case protocolError = "protocol"
        /// The handshake took too long.
        case timedOut = "timed-out"
        /// A limit of ours (`SecureLimits`).
        case limit
        /// Our own certificate, key or authorities cannot be used.
        case unusableSettings = "settings"
    }

    public var reason: Reason
    /// The name, or the pin, that was expected.
    public var expected: String?
    /// What was found.
    public var certificate: CertificateSummary?
    /// In the words of the library or of the other side.
    public var detail: String

    public init(_ reason: Reason, expected: String? = nil, certificate: CertificateSummary? = nil, detail: String = "") {
        self.reason = reason
        self.expected = expected
        self.certificate = certificate
        self.detail = detail
    }
}

extension TLSFailure {
    /// For the evidence of a cause: reason and detail in one line.
    var text: String {
        let words =
            switch reason {
            case .wrongName: "the certificate is for other names"
            case .expired: "the certificate has expired"
            case .notYetValid: "the certificate is not valid yet"
            case .unknownIssuer: "nobody trusted vouches for the certificate"
            case .selfSigned: "the certificate vouches for itself"
            case .wrongPin: "the certificate has another key than the pinned one"
            case .badCertificate: "the certificate cannot be accepted"
            case .refused: "the other side refused the secure connection"
            case .protocolError: "what came was no proper TLS"
            case .timedOut: "the secure connection was not set up in time"
            case .limit: "a limit of this phone was reached"
            case .unusableSettings: "the certificates of this phone cannot be used"
            }
        return detail.isEmpty ? words : words + ": " + detail
    }
}
