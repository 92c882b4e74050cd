// SPDX-License-Identifier: Apache-2.0
//
// TLS at the face: a phone and the embedded server on loopback, in real time.

import Essentials
import Handset
import SIP
import SIPServer
import TestCertificates
import Testing

@Suite struct SecurePhoneTests {
    /// A server with TLS whose certificate is the test's, and a phone.
    private func scene(_ names: [String]) async throws -> (authority: TestAuthority, server: Server, port: UInt16, phone: Phone) {
        let authority = try TestAuthority()
        let certified = try authority.certify(names)
        var configuration = ServerConfiguration(domains: ["example.net"])
        configuration.authenticatesRegistrations = false
        configuration.authenticatesCalls = false
        let local = SocketAddress(.loopbackV4, 0)
        let identity = TLSIdentity.files(certificate: certified.certificate, key: certified.key)
        let server = try await Server(
            ServerSettings(
                configuration: configuration, listeners: [.init(.tls, local, tls: TLSServerSettings(identity: identity))], services: []))
        let port = try #require(await server.listening.first).address.port
        // No listener for TLS: it is not needed.
        let phone = try await Phone(PhoneSettings(listeners: [.init(.udp, local)]))
        return (authority, server, port, phone)
    }

    private func outcome(_ phone: Phone, _ configuration: AccountConfiguration) async throws -> RegistrationState? {
        let account = try await phone.addAccount(configuration)
        for await state in account.registration {
            if case .registering = state { continue }
            try await account.remove()
            return state
        }
        return nil
    }

    @Test(.timeLimit(.minutes(1))) func aCertificateThatNobodyKnownVouchesForCannotBeReachedUnlessItIsNamed() async throws {
        let (authority, server, port, phone) = try await scene(["DNS:example.net"])
        var configuration = try AccountConfiguration("sip:alice@example.net", proxy: "sip:127.0.0.1:\(port);transport=tls;lr")
        guard case .failed(let cause, _)? = try await outcome(phone, configuration) else {
            Issue.record("TLS without verification was reached by default")
            return
        }
        #expect(cause.code == "tls.unknown-issuer")
        configuration.tls.trust = .file(authority.file)
        guard case .registered? = try await outcome(phone, configuration) else {
            Issue.record("not registered")
            return
        }
        await phone.stop()
        await server.stop()
    }

    @Test(.timeLimit(.minutes(1))) func theDomainDecidesNotTheAddress() async throws {
        let (authority, server, port, phone) = try await scene(["DNS:other.example", "IP:127.0.0.1"])
        var configuration = try AccountConfiguration("sip:alice@example.net", proxy: "sip:127.0.0.1:\(port);transport=tls;lr")
        configuration.tls.trust = .file(authority.file)
        guard case .failed(let cause, _)? = try await outcome(phone, configuration) else {
            Issue.record("registered at somebody else's server")
            return
        }
        #expect(cause.code == "tls.wrong-name")
        #expect(cause.sentence.contains("other.example") && cause.sentence.contains("example.net"))
        await phone.stop()
        await server.stop()
    }
}
