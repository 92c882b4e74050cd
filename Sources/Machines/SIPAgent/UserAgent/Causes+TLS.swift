// SPDX-License-Identifier: Apache-2.0
//
// Causes of connections with TLS that did not come about: what was expected, and what was found.

import Essentials
import SIP

extension Causes {
    /// For a registration or a call that TLS kept from its server.
    static func secure(_ failure: TLSFailure, more: [Cause.Evidence] = []) -> Cause {
        let (code, sentence) = text(failure)
        return Cause(code, sentence, evidence: more + evidence(failure))
    }

    private static func text(_ failure: TLSFailure) -> (String, String) {
        let expected = failure.expected.map(printable) ?? "no name"
        let found = names(failure.certificate)
        let certificate = failure.certificate
        switch failure.reason {
        case .wrongName: return ("tls.wrong-name", "The server's certificate is for \(found), not for \(expected).")
        case .expired: return ("tls.expired", "The server's certificate was valid until \(certificate?.notAfter ?? "some time ago").")
        case .notYetValid:
            return ("tls.not-yet-valid", "The server's certificate is not valid before \(certificate?.notBefore ?? "some later time").")
        case .unknownIssuer:
            return ("tls.unknown-issuer", "The server's certificate is from \(issuer(certificate)), who is not trusted.")
        case .selfSigned:
            return ("tls.self-signed", "The server's certificate is vouched for by nobody but itself, and is not among the trusted ones.")
        case .wrongPin: return ("tls.wrong-pin", "The server has another key than the one that is pinned.")
        case .badCertificate: return ("tls.bad-certificate", "The server's certificate cannot be accepted.")
        case .refused: return ("tls.refused", "The server refused the secure connection.")
        case .protocolError: return ("tls.protocol", "The server does not speak TLS as it should.")
        case .timedOut: return ("tls.timed-out", "The secure connection to the server was not set up in time.")
        case .limit: return ("tls.limit", "The secure connection went beyond a limit of this phone.")
        case .unusableSettings: return ("tls.settings", "This phone's own certificates cannot be used.")
        }
    }

    private static func evidence(_ failure: TLSFailure) -> [Cause.Evidence] {
        var evidence: [Cause.Evidence] = []
        if let expected = failure.expected { evidence.append(.init("expected", printable(expected))) }
        if let certificate = failure.certificate {
            evidence.append(.init("found", names(certificate)))
            evidence.append(.init("issuer", printable(certificate.issuer)))
            evidence.append(.init("valid", certificate.notBefore + " to " + certificate.notAfter))
            if let pin = certificate.pin { evidence.append(.init("key", pin.description)) }
        }
        if !failure.detail.isEmpty { evidence.append(.init("tls", printable(failure.detail))) }
        return evidence
    }

    /// The first names of a certificate.
    private static func names(_ certificate: CertificateSummary?) -> String {
        guard let certificate, !certificate.names.isEmpty else { return "no name" }
        let shown = certificate.names.prefix(6).map(printable).joined(separator: ", ")
        return certificate.names.count > 6 ? shown + ", …" : shown
    }

    private static func issuer(_ certificate: CertificateSummary?) -> String {
        guard let issuer = certificate?.issuer, !issuer.isEmpty else { return "somebody unknown" }
        return printable(issuer)
    }

    /// A request for a `sips` URI came without TLS.
    static func insecureRequest(_ request: SIPMessage, _ source: MessageSource) -> Cause {
        Cause(
            "call.refused.not-secure", "Something on the way sent a request for a sips address without TLS; it was refused.", status: 403,
            evidence: [
                .init("request", printable("\(request.method.rawValue) \(request.requestURI)")),
                .init("source", "\(source.transport.rawValue) \(source.remote)"), .init("from", printable("\(request.from.uri)")),
            ])
    }

    /// Comes with each registration of an account that trusts anybody.
    static func unverified(_ account: AccountConfiguration) -> Cause {
        Cause(
            "tls.not-verified", "The certificates of this account's server are not checked: others may listen in and change what is said.",
            evidence: [.init("account", "\(account.addressOfRecord)")])
    }
}
