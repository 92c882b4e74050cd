// SPDX-License-Identifier: Apache-2.0
//
// Is the certificate the right one? Called by OpenSSL in the middle of a handshake, in the place of its own check, so that what
// was found is known when it is refused, and the other side gets the right alert.
//
//   pin set:   the key is the pinned one? ─► dates
//   else:      chain to an authority, dates, use ─► the name (RFC 5922 §7)
//   verification off: everything passes, and is told

import COpenSSL
import Essentials
import SIPAgent

/// OpenSSL's `cert_verify_callback`: 1 goes on, 0 ends the handshake.
func verifyCertificate(_ store: OpaquePointer?, _ argument: UnsafeMutableRawPointer?) -> Int32 {
    guard let store = unsafe store, let ssl = unsafe X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()),
        let owner = unsafe SSL_get_ex_data(OpaquePointer(ssl), 0)
    else { return 0 }
    let channel = unsafe Unmanaged<SecureChannel>.fromOpaque(owner).takeUnretainedValue()
    return unsafe channel.check(store) ? 1 : 0
}

extension SecureChannel {
    /// Judges the certificate that OpenSSL holds in `store`; notes what it says, and why it is refused.
    @unsafe func check(_ store: OpaquePointer) -> Bool {
        guard let certificate = unsafe X509_STORE_CTX_get0_cert(store) else {
            unsafe X509_STORE_CTX_set_error(store, X509_V_ERR_UNSPECIFIED)
            return false
        }
        let names = unsafe CertificateNames(certificate)
        let summary = unsafe CertificateSummary(certificate, names)
        note(summary)
        guard context.settings.verifiesCertificate else {
            unsafe X509_STORE_CTX_set_error(store, X509_V_OK)
            return true
        }
        let failure =
            if let pin = context.settings.pin {
                unsafe check(pin, certificate, summary)
            } else {
                unsafe checkChain(store, names, summary)
            }
        guard let failure else {
            unsafe X509_STORE_CTX_set_error(store, X509_V_OK)
            return true
        }
        note(failure)
        unsafe X509_STORE_CTX_set_error(store, Self.alertCode(failure.reason))
        return false
    }

    @unsafe private func check(_ pin: CertificatePin, _ certificate: OpaquePointer, _ summary: CertificateSummary) -> TLSFailure? {
        guard summary.pin == pin else { return TLSFailure(.wrongPin, expected: pin.description, certificate: summary) }
        if unsafe X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0 { return TLSFailure(.notYetValid, certificate: summary) }
        if unsafe X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0 { return TLSFailure(.expired, certificate: summary) }
        return nil
    }

    @unsafe private func checkChain(_ store: OpaquePointer, _ names: CertificateNames, _ summary: CertificateSummary) -> TLSFailure? {
        if unsafe X509_verify_cert(store) != 1 {
            let code = unsafe X509_STORE_CTX_get_error(store)
            let words = unsafe X509_verify_cert_error_string(Int(code)).map { unsafe String(cString: $0) } ?? "error \(code)"
            return TLSFailure(Self.reason(code), expected: expectedName, certificate: summary, detail: words)
        }
        // A client has no name that we would know: that an authority of ours vouches for it is enough.
        guard context.role == .client else { return nil }
        guard let expectedName, names.cover(expectedName) else {
            return TLSFailure(.wrongName, expected: expectedName, certificate: summary)
        }
        return nil
    }

    private static func reason(_ code: Int32) -> TLSFailure.Reason {
        switch code {
        case X509_V_ERR_CERT_HAS_EXPIRED: .expired
        case X509_V_ERR_CERT_NOT_YET_VALID: .notYetValid
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT: .selfSigned
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_CERT_UNTRUSTED:
            .unknownIssuer
        default: .badCertificate
        }
    }

    /// The error that makes OpenSSL send the fitting alert (RFC 8446 §6.2).
    private static func alertCode(_ reason: TLSFailure.Reason) -> Int32 {
        switch reason {
        case .expired: X509_V_ERR_CERT_HAS_EXPIRED
        case .notYetValid: X509_V_ERR_CERT_NOT_YET_VALID
        case .unknownIssuer: X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY
        case .selfSigned: X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT
        case .wrongName: X509_V_ERR_HOSTNAME_MISMATCH
        default: X509_V_ERR_CERT_REJECTED
        }
    }
}

extension CertificateSummary {
    @unsafe init(_ certificate: OpaquePointer, _ names: CertificateNames) {
        unsafe self.init(
            names: names.texts, subject: Self.text(X509_get_subject_name(certificate)),
            issuer: Self.text(X509_get_issuer_name(certificate)), notBefore: Self.time(X509_get0_notBefore(certificate)),
            notAfter: Self.time(X509_get0_notAfter(certificate)), pin: Self.pin(certificate))
    }

    /// `CN=example.net,O=Example` as RFC 2253 writes it; control characters are escaped.
    @unsafe private static func text(_ name: OpaquePointer?) -> String {
        guard let name = unsafe name, let bio = unsafe BIO_new(BIO_s_mem()) else { return "" }
        defer { unsafe BIO_free(bio) }
        guard unsafe openssl_print_name(bio, name) >= 0 else { return "" }
        var octets = [UInt8](repeating: 0, count: 512)
        let count = unsafe octets.withUnsafeMutableBytes { unsafe BIO_read(bio, $0.baseAddress, Int32($0.count)) }
        return String(decoding: octets.prefix(max(0, Int(count))), as: UTF8.self)
    }

    @unsafe private static func time(_ time: UnsafePointer<ASN1_TIME>?) -> String {
        var parts = [Int32](repeating: 0, count: 6)
        guard unsafe openssl_time(time, &parts) == 1 else { return "unknown" }
        let texts = parts.map { ($0 < 10 ? "0" : "") + String($0) }
        return "\(texts[0])-\(texts[1])-\(texts[2]) \(texts[3]):\(texts[4]):\(texts[5]) UTC"
    }

    @unsafe private static func pin(_ certificate: OpaquePointer) -> CertificatePin? {
        var encoded: UnsafeMutablePointer<UInt8>?
        let count = unsafe i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &encoded)
        defer { unsafe CRYPTO_free(encoded, #fileID, #line) }
        guard count > 0, let start = unsafe encoded else { return nil }
        var hash = [UInt8](repeating: 0, count: 32)
        let done = unsafe hash.withUnsafeMutableBufferPointer {
            unsafe EVP_Digest(start, Int(count), $0.baseAddress, nil, EVP_sha256(), nil)
        }
        return done == 1 ? CertificatePin(octets: hash) : nil
    }
}
