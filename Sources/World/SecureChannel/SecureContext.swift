// SPDX-License-Identifier: Apache-2.0
//
// What connections with the same settings have in common: authorities, our certificate and key, versions.

import COpenSSL
import Crypto
import Essentials
import SIPAgent

/// Settings made ready for connections. Files are read once, when it is made. Belongs to one isolation, like its channels.
@safe public final class SecureContext {
    public enum Role: Sendable, Hashable {
        case client
        case server
    }

    public let role: Role
    public let limits: SecureLimits
    let settings: TLSSettings
    let pointer: OpaquePointer
    public internal(set) var counters = Counters<SecureCounter>()

    /// For connections that we open.
    public convenience init(client settings: TLSSettings, limits: SecureLimits = SecureLimits()) throws(SecureChannelError) {
        try self.init(.client, settings, limits)
        if settings.verifiesCertificate, settings.pin == nil { try load(settings.trust) }
        if let identity = settings.identity { try load(identity) }
    }

    /// For connections that come to us.
    public convenience init(server settings: TLSServerSettings, limits: SecureLimits = SecureLimits()) throws(SecureChannelError) {
        let asks = settings.clientTrust != nil
        let common = TLSSettings(
            trust: settings.clientTrust ?? .system, identity: settings.identity, verifiesCertificate: asks, versions: settings.versions)
        try self.init(.server, common, limits)
        if let trust = settings.clientTrust { try load(trust) }
        try load(settings.identity)
    }

    private init(_ role: Role, _ settings: TLSSettings, _ limits: SecureLimits) throws(SecureChannelError) {
        self.role = role
        self.settings = settings
        self.limits = limits
        LibraryErrors.clear()
        guard let pointer = unsafe SSL_CTX_new(role == .client ? TLS_client_method() : TLS_server_method()) else {
            throw SecureChannelError(.library, "TLS cannot be started: \(Self.words()).", context: "TLS")
        }
        unsafe self.pointer = pointer
        let (lowest, highest) = (Self.number(settings.versions.lowerBound), Self.number(settings.versions.upperBound))
        guard unsafe openssl_set_versions(pointer, lowest, highest) == 1 else {
            throw SecureChannelError(.library, "The versions of TLS are not available: \(Self.words()).", context: "TLS")
        }
        // Renegotiation (RFC 5246 §7.4.1.1) lets a peer make us work for nothing, and is not needed.
        unsafe openssl_set_options(pointer)
        unsafe SSL_CTX_set_security_level(pointer, 2)
        unsafe openssl_set_certificate_list_limit(pointer, limits.chainOctets)
        unsafe SSL_CTX_set_verify_depth(pointer, Int32(clamping: limits.chainLength))
        // A connection is opened anew with a whole handshake: what is kept of sessions would skip the check of the certificate.
        unsafe openssl_set_session_cache(pointer, 0)
        unsafe SSL_CTX_set_num_tickets(pointer, 0)
        unsafe openssl_set_modes(pointer, Self.modes)
        // Nobody may be asked for the password of a key at the terminal.
        unsafe SSL_CTX_set_default_passwd_cb(pointer, noPassword)
        let asks = role == .client || settings.verifiesCertificate
        let mode = !asks ? SSL_VERIFY_NONE : role == .client ? SSL_VERIFY_PEER : SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT
        unsafe SSL_CTX_set_verify(pointer, mode, nil)
        unsafe SSL_CTX_set_cert_verify_callback(pointer, verifyCertificate, nil)
    }

    deinit { unsafe SSL_CTX_free(pointer) }

    /// Buffers are given back while nothing flows: an idle connection is to be small.
    private static let modes =
        Int(SSL_MODE_ENABLE_PARTIAL_WRITE) | Int(SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER) | Int(SSL_MODE_RELEASE_BUFFERS)

    private static func number(_ version: TLSVersion) -> Int32 {
        switch version {
        case .v1_2: TLS1_2_VERSION
        case .v1_3: TLS1_3_VERSION
        }
    }

    private static func words() -> String { LibraryErrors.take()?.words ?? "unknown reason" }

    // MARK: Authorities

    private func load(_ trust: TLSTrust) throws(SecureChannelError) {
        LibraryErrors.clear()
        switch trust {
        case .system:
            guard unsafe SSL_CTX_set_default_verify_paths(pointer) == 1 else {
                throw SecureChannelError(
                    .authorities, "The system's certificates cannot be read: \(Self.words()).", context: "system")
            }
        case .file(let path):
            guard unsafe SSL_CTX_load_verify_file(pointer, path) == 1 else {
                throw SecureChannelError(
                    .authorities, "\(path) holds no certificates that can be read: \(Self.words()).", context: path)
            }
        case .certificates(let pem):
            var certificates = unsafe PEMReader.certificates(in: pem)[...]
            guard unsafe !certificates.isEmpty, let store = unsafe SSL_CTX_get_cert_store(pointer) else {
                throw SecureChannelError(.authorities, "The text holds no certificates that can be read.", context: "PEM text")
            }
            while let certificate = unsafe certificates.popFirst() {
                _ = unsafe X509_STORE_add_cert(store, certificate)
                unsafe X509_free(certificate)
            }
        }
    }

    // MARK: Our certificate

    private func load(_ identity: TLSIdentity) throws(SecureChannelError) {
        LibraryErrors.clear()
        let (certificate, key): (String, String)
        switch identity {
        case .files(let certificatePath, let keyPath):
            (certificate, key) = (certificatePath, keyPath)
            guard unsafe SSL_CTX_use_certificate_chain_file(pointer, certificatePath) == 1 else {
                throw SecureChannelError(
                    .certificate, "\(certificatePath) holds no certificate that can be used: \(Self.words()).", context: certificatePath)
            }
            guard unsafe SSL_CTX_use_PrivateKey_file(pointer, keyPath, SSL_FILETYPE_PEM) == 1 else { throw Self.keyError(keyPath) }
        case .pem(let certificatePEM, let keyPEM):
            (certificate, key) = ("PEM text", "PEM text")
            try load(chain: certificatePEM)
            guard let own = unsafe PEMReader.key(in: keyPEM) else { throw Self.keyError(key) }
            defer { unsafe EVP_PKEY_free(own) }
            guard unsafe SSL_CTX_use_PrivateKey(pointer, own) == 1 else { throw Self.keyError(key) }
        }
        guard unsafe SSL_CTX_check_private_key(pointer) == 1 else {
            throw SecureChannelError(.mismatch, "The key in \(key) does not belong to the certificate in \(certificate).", context: key)
        }
    }

    private func load(chain pem: [UInt8]) throws(SecureChannelError) {
        var certificates = unsafe PEMReader.certificates(in: pem)[...]
        guard let own = unsafe certificates.popFirst() else {
            throw SecureChannelError(.certificate, "The text holds no certificate that can be used.", context: "PEM text")
        }
        let used = unsafe SSL_CTX_use_certificate(pointer, own) == 1
        unsafe X509_free(own)
        while let certificate = unsafe certificates.popFirst() {
            if unsafe openssl_add_chain_certificate(pointer, certificate) != 1 { unsafe X509_free(certificate) }
        }
        guard used else {
            throw SecureChannelError(.certificate, "The certificate cannot be used: \(Self.words()).", context: "PEM text")
        }
    }

    private static func keyError(_ place: String) -> SecureChannelError {
        let entry = LibraryErrors.take()
        // OpenSSL says "bad password read" or "interrupted or cancelled" for a key that it has no password for.
        let isEncrypted = entry.map { $0.words.contains("password") || $0.words.contains("cancelled") } ?? false
        return SecureChannelError(
            .key,
            isEncrypted
                ? "The key in \(place) is encrypted; it must be without a password."
                : "\(place) holds no key that can be used: \(entry?.words ?? "unknown reason").", context: place)
    }
}

/// OpenSSL's `pem_password_cb`: there is no password.
private func noPassword(
    _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int32, _ isWriting: Int32, _ argument: UnsafeMutableRawPointer?
) -> Int32 { 0 }

/// Certificates and keys from PEM text. What it gives is the caller's to free.
enum PEMReader {
    @unsafe static func certificates(in pem: [UInt8]) -> [OpaquePointer] {
        var found = unsafe [OpaquePointer]()
        unsafe pem.withUnsafeBytes { bytes in
            guard let bio = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return }
            defer { unsafe BIO_free(bio) }
            while unsafe found.count < 4096, let certificate = unsafe PEM_read_bio_X509(bio, nil, noPassword, nil) {
                unsafe found.append(certificate)
            }
        }
        LibraryErrors.clear()
        return unsafe found
    }

    @unsafe static func key(in pem: Secret) -> OpaquePointer? {
        unsafe pem.reveal { text in
            unsafe text.withUnsafeBytes { bytes in
                guard let bio = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
                defer { unsafe BIO_free(bio) }
                return unsafe PEM_read_bio_PrivateKey(bio, nil, noPassword, nil)
            }
        }
    }
}
