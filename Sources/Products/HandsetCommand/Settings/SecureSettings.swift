// SPDX-License-Identifier: Apache-2.0

import SIP
import SIPAgent

/// The options about TLS: `--ca`, `--pin`, `--insecure`, `--cert` and `--key`.
package struct SecureSettings: Sendable {
    /// The authorities to trust in the place of the system's.
    package var authorities: String?
    package var pin: CertificatePin?
    package var trustsAnybody: Bool
    /// The versions that are offered.
    package var versions: ClosedRange<TLSVersion>
    /// Our certificate: shown to a server that asks for one, and where we listen.
    package var identity: TLSIdentity?

    package init(_ invocation: Invocation) throws(CommandFailure) {
        authorities = invocation.value("--ca")
        trustsAnybody = invocation.has("--insecure")
        versions =
            switch invocation.value("--tls-version") {
            case "1.2": .v1_2 ... .v1_2
            case "1.3": .v1_3 ... .v1_3
            default: .v1_2 ... .v1_3
            }
        if let text = invocation.value("--pin") {
            guard let value = CertificatePin(text) else {
                throw .usage("--pin takes the SHA-256 of the server's public key, 64 hexadecimal digits.")
            }
            pin = value
        }
        switch (invocation.value("--cert"), invocation.value("--key")) {
        case (let certificate?, let key?): identity = .files(certificate: certificate, key: key)
        case (nil, nil): identity = nil
        case (_?, nil): throw .usage("--cert needs --key.")
        case (nil, _?): throw .usage("--key needs --cert.")
        }
        if trustsAnybody, pin != nil || authorities != nil { throw .usage("--insecure cannot go with --ca or --pin.") }
        try checkFiles()
    }

    /// Throws if a file cannot be read, before anybody is called.
    private func checkFiles() throws(CommandFailure) {
        do {
            if let authorities { try TextFile.checkReadable(authorities) }
            if case .files(let certificate, let key)? = identity {
                try TextFile.checkReadable(certificate)
                try TextFile.checkReadable(key)
            }
        } catch { throw .failed("\(error).") }
    }

    /// For connections that we open.
    package var client: TLSSettings {
        TLSSettings(
            trust: authorities.map { .file($0) } ?? .system, pin: pin, identity: identity, verifiesCertificate: !trustsAnybody,
            versions: versions)
    }

    /// For listeners.
    package func server(_ transports: [TransportProtocol]) throws(CommandFailure) -> TLSServerSettings? {
        guard let secure = transports.first(where: \.isSecure) else { return nil }
        guard let identity else { throw .usage("--listen \(secure.rawValue) needs --cert and --key.") }
        return TLSServerSettings(identity: identity)
    }
}
