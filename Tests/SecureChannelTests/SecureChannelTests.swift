// SPDX-License-Identifier: Apache-2.0

import Crypto
import Essentials
import Foundation
import SIPAgent
import SecureChannel
import TestCertificates
import Testing

/// One authority for the suite: making keys takes most of the time.
private let shared = Result { try TestAuthority() }

@Suite struct SecureChannelTests {
    let authority: TestAuthority
    var trust: TLSTrust { .file(authority.file) }

    init() throws { authority = try shared.get() }

    private func pair(
        _ names: [String], validity: TestAuthority.Validity = .now, settings change: (inout TLSSettings) -> Void = { _ in },
        server changeServer: (inout TLSServerSettings) -> Void = { _ in }, limits: SecureLimits = SecureLimits(),
        name: String? = "example.net"
    ) throws -> Pair {
        let certified = try authority.certify(names, validity: validity)
        var settings = TLSSettings(trust: trust)
        change(&settings)
        var serverSettings = TLSServerSettings(identity: TLSIdentity(certified))
        changeServer(&serverSettings)
        return try Pair(
            SecureContext(client: settings, limits: limits), SecureContext(server: serverSettings, limits: limits), name: name)
    }

    // MARK: What works

    @Test(arguments: TLSVersion.allCases, [1, 100, Int.max])
    func `octets go both ways, cut anywhere, in both versions`(version: TLSVersion, size: Int) throws {
        let pair = try pair(["DNS:example.net"], settings: { $0.versions = version...version })
        pair.client.send(Array("REGISTER".utf8))
        pair.run(pieces: size)
        pair.server.send(Array("200 OK".utf8))
        pair.run(pieces: size)
        #expect(pair.received == Array("REGISTER".utf8))
        #expect(pair.answered == Array("200 OK".utf8))
        let session = try #require(pair.clientSession)
        #expect(session.version == (version == .v1_2 ? "TLSv1.2" : "TLSv1.3"))
        #expect(session.isVerified)
        #expect(session.certificate?.names == ["DNS:example.net", "CN:test"])
        #expect(session.certificate?.issuer == "CN=Test Authority,O=Handset")
        #expect(pair.client.nextDeadline == nil, "nothing is waited for once it is open")
    }

    @Test func `a megabyte at once arrives whole`() throws {
        let pair = try pair(["DNS:example.net"])
        pair.run()
        let octets = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        pair.client.send(octets)
        pair.run()
        #expect(pair.received == octets)
    }

    @Test func `good-bye is said and heard`() throws {
        let pair = try pair(["DNS:example.net"])
        pair.run()
        pair.client.send(Array("last".utf8))
        pair.client.close()
        pair.run()
        #expect(pair.received == Array("last".utf8))
        guard case .closed(nil)? = pair.serverEvents.last, case .closed(nil)? = pair.clientEvents.last else {
            Issue.record("closed in good order")
            return
        }
    }

    @Test func `the versions that both sides have decide, and without one in common there is no connection`() throws {
        let newer = try pair(["DNS:example.net"], server: { $0.versions = .v1_3 ... .v1_3 })
        newer.run()
        #expect(newer.clientSession?.version == "TLSv1.3")
        let apart = try pair(["DNS:example.net"], settings: { $0.versions = .v1_2 ... .v1_2 }, server: { $0.versions = .v1_3 ... .v1_3 })
        apart.run()
        #expect(apart.clientFailure?.reason == .refused, "\(String(describing: apart.clientFailure))")
        #expect(apart.serverFailure?.reason == .protocolError)
    }

    // MARK: Names

    @Test(arguments: [
        (["DNS:example.net"], "example.net"), (["DNS:EXAMPLE.net"], "Example.NET"), (["URI:sip:example.net"], "example.net"),
        (["URI:sip:example.net", "DNS:other.example"], "example.net"), (["DNS:a.example", "DNS:example.net"], "example.net"),
        (["IP:192.0.2.1"], "192.0.2.1"), (["IP:2001:db8::1"], "2001:db8::1"), (["URI:sip:192.0.2.1"], "192.0.2.1"),
    ])
    func `the configured name is in the certificate`(names: [String], expected: String) throws {
        let pair = try pair(names, name: expected)
        pair.run()
        #expect(pair.clientSession != nil, "\(String(describing: pair.clientFailure))")
    }

    @Test(arguments: [
        // A wildcard stands for nothing (RFC 5922 §7.2), nor does a name stand for what is below it.
        (["DNS:*.example.net"], "sip.example.net"), (["DNS:example.net"], "sip.example.net"), (["DNS:other.example"], "example.net"),
        // A DNS name does not count beside a sip URI (§7.1), a sips URI and one with a user are no domains.
        (["URI:sip:other.example", "DNS:example.net"], "example.net"), (["URI:sips:example.net"], "example.net"),
        (["URI:sip:alice@example.net"], "example.net"), (["URI:https:example.net"], "example.net"),
        (["IP:192.0.2.1"], "192.0.2.2"), (["DNS:192.0.2.9"], "192.0.2.1"), (["DNS:example.net"], "192.0.2.1"),
        (["email:admin@example.net"], "example.net"),
    ])
    func `a certificate for other names is refused, and both are told`(names: [String], expected: String) throws {
        let pair = try pair(names, name: expected)
        pair.run()
        #expect(pair.clientSession == nil)
        let failure = try #require(pair.clientFailure)
        #expect(failure.reason == .wrongName)
        #expect(failure.expected == expected)
        #expect(failure.certificate?.notAfter.hasSuffix("UTC") == true)
        #expect(pair.serverFailure?.reason == .refused, "the server hears an alert")
    }

    @Test func `the common name counts only where there is no alternative name`() throws {
        for (names, isAccepted) in [([], true), (["DNS:other.example"], false), (["email:admin@example.net"], false)] {
            let certified = try authority.certify(names, commonName: "example.net")
            let pair = try Pair(
                SecureContext(client: TLSSettings(trust: trust)),
                SecureContext(server: TLSServerSettings(identity: TLSIdentity(certified))))
            pair.run()
            #expect((pair.clientSession != nil) == isAccepted, "\(names)")
        }
    }

    @Test func `without a name nobody is trusted`() throws {
        let pair = try pair(["DNS:example.net"], name: nil)
        pair.run()
        #expect(pair.clientFailure?.reason == .wrongName)
    }

    @Test func `a name of the account's own choice goes before the configured one`() throws {
        let pair = try pair(["DNS:edge.example"], settings: { $0.serverName = "edge.example" })
        pair.run()
        #expect(pair.clientSession != nil)
    }

    // MARK: Trust

    @Test(arguments: [(TestAuthority.Validity.past, TLSFailure.Reason.expired), (.future, .notYetValid)])
    func `a certificate out of its time is refused`(validity: TestAuthority.Validity, reason: TLSFailure.Reason) throws {
        let pair = try pair(["DNS:example.net"], validity: validity)
        pair.run()
        #expect(pair.clientFailure?.reason == reason)
        #expect(pair.clientFailure?.certificate?.names.first == "DNS:example.net")
    }

    @Test func `the system's authorities do not vouch for ours`() throws {
        let pair = try pair(["DNS:example.net"], settings: { $0.trust = .system })
        pair.run()
        #expect(pair.clientFailure?.reason == .unknownIssuer)
        #expect(pair.clientFailure?.certificate?.issuer == "CN=Test Authority,O=Handset")
    }

    @Test func `a certificate that vouches for itself is told apart`() throws {
        let certified = try authority.selfSigned(["DNS:example.net"])
        let server = try SecureContext(server: TLSServerSettings(identity: TLSIdentity(certified)))
        let refused = try Pair(SecureContext(client: TLSSettings(trust: trust)), server)
        refused.run()
        #expect(refused.clientFailure?.reason == .selfSigned)
        let trusted = try Pair(SecureContext(client: TLSSettings(trust: .file(certified.certificate))), server)
        trusted.run()
        #expect(trusted.clientSession?.isVerified == true, "it is among those that are trusted")
    }

    @Test func `the pinned key is trusted, whoever vouches for it, and no other`() throws {
        let certified = try authority.selfSigned(["DNS:whatever.example"])
        let other = try authority.certify(["DNS:example.net"])
        let pin = try #require(CertificatePin(TestAuthority.pin(of: certified.certificate)))
        let settings = TLSSettings(trust: trust, pin: pin)
        let right = try Pair(SecureContext(client: settings), SecureContext(server: TLSServerSettings(identity: TLSIdentity(certified))))
        right.run()
        #expect(right.clientSession?.certificate?.pin == pin)
        let wrong = try Pair(SecureContext(client: settings), SecureContext(server: TLSServerSettings(identity: TLSIdentity(other))))
        wrong.run()
        #expect(wrong.clientFailure?.reason == .wrongPin)
        #expect(wrong.clientFailure?.expected == pin.description)
        #expect(wrong.clientFailure?.certificate?.pin?.description == (try TestAuthority.pin(of: other.certificate)))
    }

    @Test func `a pin does not make an expired certificate good`() throws {
        let certified = try authority.certify(["DNS:example.net"], validity: .past)
        let pin = CertificatePin(try TestAuthority.pin(of: certified.certificate))
        let pair = try Pair(
            SecureContext(client: TLSSettings(pin: pin)), SecureContext(server: TLSServerSettings(identity: TLSIdentity(certified))))
        pair.run()
        #expect(pair.clientFailure?.reason == .expired)
    }

    @Test func `switched off, everything is taken and what was found is told`() throws {
        let pair = try pair(["DNS:other.example"], validity: .past, settings: { $0.verifiesCertificate = false })
        pair.run()
        let session = try #require(pair.clientSession)
        #expect(!session.isVerified)
        #expect(session.certificate?.names.first == "DNS:other.example")
    }

    @Test func `certificates and keys may be given as text`() throws {
        let certified = try authority.certify(["DNS:example.net"])
        func text(_ path: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))) }
        let identity = TLSIdentity.pem(certificate: try text(certified.certificate), key: Secret(utf8: try text(certified.key)))
        let pair = try Pair(
            SecureContext(client: TLSSettings(trust: .certificates(pem: try text(authority.file)))),
            SecureContext(server: TLSServerSettings(identity: identity)))
        pair.run()
        #expect(pair.clientSession != nil)
        #expect(!"\(identity)".contains("PRIVATE KEY"))
    }

    // MARK: Certificates of clients

    @Test(arguments: TLSVersion.allCases)
    func `a server that asks for a certificate gets it, and refuses who has none`(version: TLSVersion) throws {
        let own = try authority.certify([], commonName: "alice")
        let known = try pair(
            ["DNS:example.net"],
            settings: {
                $0.identity = TLSIdentity(own)
                $0.versions = version...version
            }, server: { $0.clientTrust = trust })
        known.run()
        #expect(known.serverSession?.certificate?.subject == "CN=alice")
        #expect(known.serverSession?.isVerified == true)
        let unknown = try pair(["DNS:example.net"], settings: { $0.versions = version...version }, server: { $0.clientTrust = trust })
        unknown.run()
        #expect(unknown.serverFailure?.reason == .badCertificate)
        #expect(unknown.clientFailure?.reason == .refused, "\(String(describing: unknown.clientFailure))")
    }

    @Test func `a client's certificate of a strange authority is refused`() throws {
        let stranger = try authority.selfSigned(["DNS:alice"])
        let context = try SecureContext(client: TLSSettings(trust: trust, identity: TLSIdentity(stranger)))
        let certified = try authority.certify(["DNS:example.net"])
        let server = try SecureContext(server: TLSServerSettings(identity: TLSIdentity(certified), clientTrust: trust))
        let pair = try Pair(context, server)
        pair.run()
        #expect(pair.serverFailure?.reason == .selfSigned)
    }
}
