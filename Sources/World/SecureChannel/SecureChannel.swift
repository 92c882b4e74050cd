// SPDX-License-Identifier: Apache-2.0
//
// One connection with TLS, without the connection: what the network brings goes in, what it is to carry comes out.
//
//      send(plain) ──►┌───────────────┐──► takeOutput()     (to the network)
//   receive(octets) ──►│ SecureChannel │──► nextEvent()      (established, received, closed)
//       advance(to:) ──►└───────────────┘──► nextDeadline    (of the handshake)
//
//   idle ─start─► handshaking ─done─► open ─close─► closing ─peer's close_notify─► closed
//                     └─ refused, broken, too slow ─► closed

import COpenSSL
import Essentials
import SIPAgent

/// TLS 1.2 or 1.3 (RFC 5246, RFC 8446) between octets and octets. Not Sendable: it belongs to one isolation.
///
/// Change one thing, then drain `nextEvent()` and `takeOutput()`, then wait until `nextDeadline` or the next input.
@safe public final class SecureChannel {
    /// What was agreed on, for evidence.
    public struct Session: Sendable, Hashable {
        /// `TLSv1.3`.
        public var version: String
        /// `TLS_AES_256_GCM_SHA384`.
        public var cipher: String
        /// The other side's certificate; nil: it showed none.
        public var certificate: CertificateSummary?
        /// Whether the certificate was judged; false where verification is switched off, or none was asked for.
        public var isVerified: Bool
    }

    public enum Event: Sendable {
        case established(Session)
        case received([UInt8])
        /// Nothing more comes or goes. nil: in good order. What `takeOutput` still gives is to be sent.
        case closed(TLSFailure?)
    }

    public enum State: Sendable, Hashable {
        case idle
        case handshaking
        case open
        /// `close` was called.
        case closing
        case closed
    }

    public private(set) var state = State.idle
    /// The name that the certificate must cover; of a client.
    public let expectedName: String?
    let context: SecureContext
    private let ssl: OpaquePointer
    /// What came from the network, and what is to go there. The SSL object owns both.
    private let input: OpaquePointer
    private let output: OpaquePointer
    private var events: [Event] = []
    /// What the application gave before the handshake was done.
    private var waiting: [UInt8] = []
    private var handshakeOctets = 0
    private var deadline: MonotonicTime?
    private var certificate: CertificateSummary?
    private var certificateFailure: TLSFailure?

    /// - Parameter name: of a client: the domain, or numeric address, that the certificate must cover; a domain is also told to
    ///   the server (SNI).
    /// - Throws: `SecureChannelError` when the library has no room.
    public init(_ context: SecureContext, name: String? = nil) throws(SecureChannelError) {
        self.context = context
        expectedName = context.settings.serverName ?? name
        guard let ssl = unsafe SSL_new(context.pointer), let input = unsafe BIO_new(BIO_s_mem()),
            let output = unsafe BIO_new(BIO_s_mem())
        else { throw SecureChannelError(.library, "There is no room for another TLS connection.", context: "TLS") }
        unsafe self.ssl = ssl
        unsafe self.input = input
        unsafe self.output = output
        unsafe SSL_set_bio(ssl, input, output)
        unsafe SSL_set_ex_data(ssl, 0, Unmanaged.passUnretained(self).toOpaque())
        switch context.role {
        case .client:
            unsafe SSL_set_connect_state(ssl)
            if let expectedName, IPAddress(expectedName) == nil { _ = unsafe openssl_set_server_name(ssl, expectedName) }
        case .server: unsafe SSL_set_accept_state(ssl)
        }
    }

    deinit { unsafe SSL_free(ssl) }

    // MARK: In

    /// Begins the handshake.
    public func start(now: MonotonicTime) {
        guard state == .idle else { return }
        context.counters.increment(.started)
        state = .handshaking
        deadline = now + context.limits.handshakeTime
        step()
    }

    /// Octets from the network, cut anywhere.
    public func receive(_ octets: [UInt8]) {
        guard state != .closed, state != .idle, !octets.isEmpty else { return }
        if state == .handshaking {
            handshakeOctets += octets.count
            guard handshakeOctets <= context.limits.handshakeOctets else {
                context.counters.increment(.handshakeOctetsLimit)
                return end(TLSFailure(.limit, expected: expectedName, certificate: certificate, detail: "the handshake is too long"))
            }
        }
        let count = unsafe octets.withUnsafeBytes { unsafe BIO_write(input, $0.baseAddress, Int32(clamping: $0.count)) }
        guard Int(count) == octets.count else {
            return end(TLSFailure(.limit, expected: expectedName, certificate: certificate, detail: "no room for what came"))
        }
        step()
    }

    /// The network's connection has ended: whatever was not said is not said any more.
    public func receiveEnd() {
        switch state {
        case .idle, .closed: break
        case .handshaking:
            context.counters.increment(.abandoned)
            end(
                TLSFailure(
                    .refused, expected: expectedName, certificate: certificate,
                    detail: "the other side ended the connection during the handshake"))
        case .open, .closing: end(nil)
        }
    }

    /// Octets of the application; they wait while the handshake lasts.
    public func send(_ octets: [UInt8]) {
        guard !octets.isEmpty else { return }
        switch state {
        case .idle, .handshaking:
            guard waiting.count + octets.count <= context.limits.waitingOctets else {
                context.counters.increment(.waitingOctetsLimit)
                return end(TLSFailure(.limit, expected: expectedName, detail: "too much waits for the handshake"))
            }
            waiting.append(contentsOf: octets)
        case .open: encrypt(octets)
        case .closing, .closed: break
        }
    }

    /// Says good-bye (close_notify); what was given to be sent comes out before it.
    public func close() {
        switch state {
        case .idle, .handshaking:
            end(nil)
        case .open:
            state = .closing
            LibraryErrors.clear()
            _ = unsafe SSL_shutdown(ssl)
        case .closing, .closed: break
        }
    }

    /// When `advance` is to be called; nil once the handshake is over.
    public var nextDeadline: MonotonicTime? { deadline }

    /// Time has come to `now`: a handshake that takes too long ends.
    public func advance(to now: MonotonicTime) {
        guard let deadline, deadline <= now, state == .handshaking else { return }
        context.counters.increment(.timedOut)
        end(TLSFailure(.timedOut, expected: expectedName, certificate: certificate, detail: "the handshake was not finished in time"))
    }

    // MARK: Out

    public func nextEvent() -> Event? { events.isEmpty ? nil : events.removeFirst() }

    /// What is to go to the network now.
    public func takeOutput() -> [UInt8] {
        let count = unsafe openssl_pending(output)
        guard count > 0 else { return [] }
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            let read = unsafe BIO_read(output, buffer.baseAddress, Int32(clamping: count))
            initialized = max(0, Int(read))
        }
    }

    // MARK: Certificates

    func note(_ summary: CertificateSummary) { certificate = summary }

    func note(_ failure: TLSFailure) { certificateFailure = failure }

    // MARK: Steps

    private func step() {
        LibraryErrors.clear()
        if state == .handshaking {
            let result = unsafe SSL_do_handshake(ssl)
            guard result == 1 else { return handleResult(result) }
            establish()
        }
        if state == .open || state == .closing { read() }
    }

    private func establish() {
        context.counters.increment(.established)
        state = .open
        deadline = nil
        let version = unsafe SSL_get_version(ssl).map { unsafe String(cString: $0) } ?? "TLS"
        let cipher = unsafe SSL_CIPHER_get_name(SSL_get_current_cipher(ssl)).map { unsafe String(cString: $0) } ?? "unknown"
        let isVerified = context.settings.verifiesCertificate && certificate != nil
        events.append(.established(Session(version: version, cipher: cipher, certificate: certificate, isVerified: isVerified)))
        let first = waiting
        waiting = []
        if !first.isEmpty { encrypt(first) }
    }

    private func encrypt(_ octets: [UInt8]) {
        var rest = octets[...]
        while !rest.isEmpty {
            LibraryErrors.clear()
            var written = 0
            let result = unsafe rest.withUnsafeBytes { unsafe SSL_write_ex(ssl, $0.baseAddress, $0.count, &written) }
            guard result == 1, written > 0 else { return handleResult(result) }
            context.counters.increment(.octetsEncrypted, by: UInt64(written))
            rest = rest.dropFirst(written)
        }
    }

    private func read() {
        while state == .open || state == .closing {
            var result: Int32 = 0
            let octets = unsafe [UInt8](unsafeUninitializedCapacity: 16_384) { buffer, initialized in
                var count = 0
                result = unsafe SSL_read_ex(ssl, buffer.baseAddress, buffer.count, &count)
                initialized = result == 1 ? count : 0
            }
            guard result == 1, !octets.isEmpty else { return handleResult(result) }
            context.counters.increment(.octetsDecrypted, by: UInt64(octets.count))
            if state == .open { events.append(.received(octets)) }
        }
    }

    /// What a call of the library that did not succeed means.
    private func handleResult(_ result: Int32) {
        switch unsafe SSL_get_error(ssl, result) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return
        case SSL_ERROR_ZERO_RETURN:
            if state == .open { _ = unsafe SSL_shutdown(ssl) }
            end(nil)
        default: end(failure())
        }
    }

    private func failure() -> TLSFailure {
        let error = LibraryErrors.take()
        if let certificateFailure {
            context.counters.increment(.refusedCertificates)
            return certificateFailure
        }
        // An alert of the other side has the reason 1000 + its number (RFC 8446 §6).
        if let error, (1000..<1256).contains(error.reason) {
            context.counters.increment(.refusedByPeer)
            return TLSFailure(
                .refused, expected: expectedName, certificate: certificate, detail: "\(error.words) (alert \(error.reason - 1000))")
        }
        if let error, error.reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE {
            context.counters.increment(.refusedCertificates)
            return TLSFailure(.badCertificate, detail: "the other side showed no certificate")
        }
        context.counters.increment(.protocolErrors)
        return TLSFailure(
            .protocolError, expected: expectedName, certificate: certificate, detail: error?.words ?? "unknown reason")
    }

    private func end(_ failure: TLSFailure?) {
        guard state != .closed else { return }
        state = .closed
        deadline = nil
        waiting = []
        events.append(.closed(failure))
    }
}
