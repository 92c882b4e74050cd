// SPDX-License-Identifier: Apache-2.0

import Crypto
import Essentials
import SIP
import SIPAgent
import Testing

/// TLS as the agent sees it: which settings and name go with a connection, Contact without a listener, causes.
@Suite struct SecureTests {
    private final class Desk {
        let agent: UserAgent
        var now = MonotonicTime.zero
        var sent: [(flow: FlowID, message: SIPMessage)] = []
        var connects: [(flow: FlowID, transport: TransportProtocol, to: SocketAddress, name: String?, tls: TLSSettings?, path: String?)] =
            []
        var states: [RegistrationState] = []
        var warnings: [Cause] = []
        var ends: [SessionEnd] = []

        init(listensToTCP: Bool = false) {
            agent = UserAgent(configuration: UserAgentConfiguration(), cryptography: NoHash(), random: RandomSource(Counting()))
            handle(.listening(FlowID(rawValue: 1), .udp, local: SocketAddress(.v4(0xc000_0201), 5060)))
            if listensToTCP { handle(.listening(FlowID(rawValue: 3), .tcp, local: SocketAddress(.v4(0xc000_0201), 5060))) }
        }

        func handle(_ input: TransportInput) {
            agent.handle(input, now: now)
            drain()
        }

        func drain() {
            while let effect = agent.nextEffect() {
                switch effect {
                case .transport(.send(let octets, let flow, _)):
                    if let message = try? SIPMessage(parsing: octets) { sent.append((flow, message)) }
                case .transport(.connect(let flow, let transport, let to, let name, let tls, let path)):
                    connects.append((flow, transport, to, name, tls, path))
                case .transport(.close), .resolve, .checkNetwork: break
                case .event(.registration(_, let state)): states.append(state)
                case .event(.warning(let cause)): warnings.append(cause)
                case .event(.ended(_, let end)): ends.append(end)
                case .event: break
                }
            }
        }

        func add(_ address: String, proxy: String? = nil, _ change: (inout AccountConfiguration) -> Void = { _ in }) throws -> AccountID {
            var account = AccountConfiguration(
                addressOfRecord: try #require(URI(address).sip), proxy: try proxy.flatMap { try URI($0).sip })
            account.transport = .tls
            change(&account)
            let id = agent.addAccount(account, now: now)
            drain()
            return id
        }

        func connected(_ flow: FlowID) { handle(.connected(flow, local: SocketAddress(.v4(0xc000_0201), 40_000))) }

        func answer(_ message: SIPMessage, _ flow: FlowID, status: Int = 200) {
            var response = message.makeResponse(status: status, toTag: "server")
            for contact in message.contacts { response.add(.contact, contact.description) }
            handle(.received(response.build().bytes, flow, from: SecureTests.server))
        }
    }

    private struct Counting: RandomNumberGenerator {
        var state: UInt64 = 1
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state
        }
    }

    private struct NoHash: Cryptography {
        func hash(_ algorithm: HashAlgorithm, _ bytes: [UInt8]) -> [UInt8] { [UInt8](repeating: 0, count: algorithm.length) }
    }

    fileprivate static let server = SocketAddress(.v4(0xc000_0264), 5061)

    @Test func `an account over TLS needs no listener: it connects, then names the connection in Via and Contact`() throws {
        let desk = Desk()
        _ = try desk.add("sip:alice@example.net", proxy: "sip:192.0.2.100:5061;transport=tls;lr")
        #expect(desk.sent.isEmpty, "nothing can be written before the connection is up")
        let connect = try #require(desk.connects.first)
        #expect(connect.transport == .tls && connect.to == Self.server)
        #expect(connect.name == "example.net", "the configured domain, where the proxy is numeric")
        #expect(connect.tls == TLSSettings(), "verified by default")
        desk.connected(connect.flow)
        let register = try #require(desk.sent.first)
        #expect(register.flow == connect.flow)
        #expect(register.message.topVia.transport == .tls)
        #expect(register.message.first(.contact)?.hasPrefix("<sip:alice@192.0.2.1:40000;transport=tls>") == true)
        desk.answer(register.message, register.flow)
        guard case .registered? = desk.states.last else {
            Issue.record("\(desk.states)")
            return
        }
        #expect(desk.warnings.isEmpty)
    }

    @Test func `3665-2.1-F1.sip: a sips account registers over TLS with a sips Contact`() throws {
        let desk = Desk()
        _ = try desk.add("sips:bob@192.0.2.100") { $0.transport = nil }
        let connect = try #require(desk.connects.first)
        #expect(connect.transport == .tls && connect.to == Self.server && connect.name == "192.0.2.100")
        desk.connected(connect.flow)
        let register = try #require(desk.sent.first?.message)
        #expect(register.requestURI.description == "sips:192.0.2.100")
        #expect(register.from.uri.description == "sips:bob@192.0.2.100")
        #expect(register.first(.contact)?.hasPrefix("<sips:bob@192.0.2.1:40000>") == true, "\(register.first(.contact) ?? "")")
    }

    @Test(arguments: ["udp", "sctp"]) func `sips over a transport without TLS is refused in plain words`(transport: String) throws {
        let desk = Desk()
        _ = try desk.add("sips:bob@192.0.2.100", proxy: "sips:192.0.2.100;transport=\(transport)") { $0.transport = nil }
        guard transport == "udp" else {
            // A transport that we do not know is left aside: TLS is used.
            #expect(desk.connects.first?.transport == .tls)
            return
        }
        #expect(desk.sent.isEmpty && desk.connects.isEmpty)
        guard case .failed(let cause, _)? = desk.states.last else {
            Issue.record("\(desk.states)")
            return
        }
        #expect(cause.code == "registration.not-secure")
    }

    @Test func `accounts with different TLS settings never share a connection, equal ones do`() throws {
        let desk = Desk()
        let proxy = "sip:192.0.2.100:5061;transport=tls;lr"
        _ = try desk.add("sip:alice@example.net", proxy: proxy)
        _ = try desk.add("sip:bob@example.net", proxy: proxy)
        #expect(desk.connects.count == 1, "the same name and settings")
        _ = try desk.add("sip:carol@example.net", proxy: proxy) { $0.tls.verifiesCertificate = false }
        _ = try desk.add("sip:dave@example.net", proxy: proxy) { $0.tls.trust = .file("own.pem") }
        _ = try desk.add("sip:erin@example.org", proxy: proxy)
        #expect(desk.connects.count == 4)
        #expect(desk.connects.map(\.name) == ["example.net", "example.net", "example.net", "example.org"])
        #expect(desk.connects.map { $0.tls?.verifiesCertificate } == [true, false, true, true])
        desk.connected(desk.connects[0].flow)
        #expect(desk.sent.map { $0.message.from.uri.sip?.user } == ["alice", "bob"], "both leave when the connection is up")
    }

    @Test(arguments: TLSFailure.Reason.allCases) func `each failure of a handshake has its own cause, with what was expected and found`(
        reason: TLSFailure.Reason
    ) throws {
        let desk = Desk()
        _ = try desk.add("sip:alice@example.net", proxy: "sip:192.0.2.100:5061;transport=tls;lr")
        let found = CertificateSummary(
            names: ["DNS:other.example"], subject: "CN=other", issuer: "CN=Somebody", notBefore: "2020-01-01 00:00:00 UTC",
            notAfter: "2021-01-01 00:00:00 UTC")
        let failure = TLSFailure(reason, expected: "example.net", certificate: found, detail: "words")
        desk.handle(.closed(try #require(desk.connects.first).flow, .secure(failure)))
        guard case .failed(let cause, let retryAfter)? = desk.states.last else {
            Issue.record("\(desk.states)")
            return
        }
        #expect(cause.code == "tls." + reason.rawValue)
        #expect(retryAfter != nil, "the server may be repaired")
        let evidence = Dictionary(uniqueKeysWithValues: cause.evidence.map { ($0.name, $0.value) })
        #expect(evidence["expected"] == "example.net" && evidence["found"] == "DNS:other.example" && evidence["issuer"] == "CN=Somebody")
        #expect(evidence["valid"] == "2020-01-01 00:00:00 UTC to 2021-01-01 00:00:00 UTC" && evidence["tls"] == "words")
        if reason == .wrongName { #expect(cause.sentence.contains("other.example") && cause.sentence.contains("example.net")) }
    }

    @Test func `an account that trusts anybody says so with each registration`() throws {
        let desk = Desk()
        let account = try desk.add("sip:alice@example.net", proxy: "sip:192.0.2.100:5061;transport=tls;lr") {
            $0.tls.verifiesCertificate = false
        }
        let flow = try #require(desk.connects.first).flow
        desk.connected(flow)
        for count in 1...3 {
            desk.answer(try #require(desk.sent.last?.message), flow)
            #expect(desk.warnings.map(\.code) == Array(repeating: "tls.not-verified", count: count))
            desk.agent.register(account, now: desk.now)
            desk.drain()
        }
    }

    @Test func `a call over TLS fails with the cause of the handshake`() throws {
        let desk = Desk()
        let account = try desk.add("sip:alice@example.net", proxy: "sip:192.0.2.100:5061;transport=tls;lr") { $0.registers = false }
        _ = try desk.agent.invite(
            from: account, to: try URI("sip:bob@example.net"), offer: Array("v=0\r\n".utf8), now: desk.now)
        desk.drain()
        desk.handle(.closed(try #require(desk.connects.first).flow, .secure(TLSFailure(.expired, expected: "example.net"))))
        #expect(desk.ends.first?.cause.code == "tls.expired")
        #expect(desk.agent.requestCount == 0)
    }

    @Test func `a call that is given up while the connection is opened leaves nothing`() throws {
        let desk = Desk()
        let account = try desk.add("sip:alice@example.net", proxy: "sip:192.0.2.100:5061;transport=tls;lr") { $0.registers = false }
        let call = try desk.agent.invite(
            from: account, to: try URI("sip:bob@example.net"), offer: Array("v=0\r\n".utf8), now: desk.now)
        desk.drain()
        desk.agent.hangUp(call, now: desk.now)
        desk.drain()
        #expect(desk.ends.count == 1)
        desk.connected(try #require(desk.connects.first).flow)
        #expect(desk.sent.isEmpty)
        #expect(desk.agent.requestCount == 0)
    }

    @Test func `accounts with different WebSocket resources never share a connection, equal ones do`() throws {
        let desk = Desk()
        for (user, path) in [("alice", "/one"), ("bob", "/two"), ("carol", "/one"), ("dave", nil)] {
            _ = try desk.add("sip:\(user)@example.net", proxy: "sip:192.0.2.100;transport=ws;lr") { account in
                account.transport = .ws
                account.webSocketPath = path
            }
        }
        #expect(desk.connects.map(\.path) == ["/one", "/two", nil])
        #expect(desk.connects.allSatisfy { $0.to == SocketAddress(Self.server.ip, 80) })
    }

    @Test func `what TLS agreed on is told with the registration`() throws {
        let desk = Desk()
        let id = try desk.add("sip:alice@example.net", proxy: "sip:192.0.2.100:5061;transport=tls;lr")
        let agreement = TLSAgreement(version: "TLSv1.3", cipher: "TLS_AES_256_GCM_SHA384")
        let flow = try #require(desk.connects.first).flow
        desk.handle(.connected(flow, local: SocketAddress(.v4(0xc000_0201), 40_000), tls: agreement))
        #expect(desk.agent.registrationDetail(of: id)?.tls == nil)
        let register = try #require(desk.sent.first)
        desk.answer(register.message, register.flow)
        #expect(desk.agent.registrationDetail(of: id)?.tls == agreement)
    }

    @Test(arguments: ["INVITE sips:", "OPTIONS SIPS:", "INVITE sip:"]) func `a request for a sips address that came without TLS is refused`(
        start: String
    ) throws {
        let desk = Desk()
        let method = start.prefix { $0 != " " }
        for branch in 0..<2 {
            let text = """
                \(start)alice@192.0.2.1:5060 SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.100:5061;branch=z9hG4bK\(branch)\r\nMax-Forwards: 70\r\n\
                From: <sips:bob@example.net>;tag=1\r\nTo: <sips:alice@example.net>\r\nCall-ID: a\(branch)\r\nCSeq: 1 \(method)\r\n\
                Contact: <sips:bob@192.0.2.100:5061>\r\nContent-Length: 0\r\n\r\n
                """
            desk.handle(.received(Array(text.utf8), FlowID(rawValue: 1), from: Self.server))
        }
        guard start != "INVITE sip:" else {
            #expect(desk.warnings.isEmpty && desk.sent.allSatisfy { $0.message.statusCode != 403 })
            return
        }
        #expect(desk.sent.map(\.message.statusCode) == [403, 403])
        #expect(desk.agent.counters[.sipsWithoutTLS] == 2)
        #expect(desk.warnings.map(\.code) == ["call.refused.not-secure"], "one a minute")
    }

    @Test func `an account over TCP needs no listener either`() throws {
        let desk = Desk()
        _ = try desk.add("sip:alice@example.net", proxy: "sip:192.0.2.100;transport=tcp;lr") { $0.transport = .tcp }
        let connect = try #require(desk.connects.first)
        #expect(connect.tls == nil)
        desk.connected(connect.flow)
        #expect(desk.sent.first?.message.first(.contact)?.hasPrefix("<sip:alice@192.0.2.1:40000;transport=tcp>") == true)
        let listening = Desk(listensToTCP: true)
        _ = try listening.add("sip:alice@example.net", proxy: "sip:192.0.2.100;transport=tcp;lr") { $0.transport = .tcp }
        listening.connected(try #require(listening.connects.first).flow)
        #expect(listening.sent.first?.message.first(.contact)?.hasPrefix("<sip:alice@192.0.2.1:5060;transport=tcp>") == true)
    }

    @Test func `a server's answer in the clear does not pass for one of a TLS account's server`() throws {
        let desk = Desk(listensToTCP: true)
        _ = try desk.add("sip:alice@example.net", proxy: "sip:192.0.2.100:5061;transport=tls;lr")
        desk.connected(try #require(desk.connects.first).flow)
        desk.handle(
            .accepted(
                FlowID(rawValue: 5), listener: FlowID(rawValue: 3), local: SocketAddress(.v4(0xc000_0201), 5060),
                remote: SocketAddress(.v4(0xc000_0264), 33_000)))
        let invite = """
            INVITE sip:alice@192.0.2.1:5060;transport=tcp SIP/2.0\r\nVia: SIP/2.0/TCP 192.0.2.100:33000;branch=z9hG4bKa\r\n\
            Max-Forwards: 70\r\nFrom: <sip:mallory@example.net>;tag=1\r\nTo: <sip:alice@example.net>\r\nCall-ID: a\r\nCSeq: 1 INVITE\r\n\
            Contact: <sip:mallory@192.0.2.100:33000;transport=tcp>\r\nContent-Length: 0\r\n\r\n
            """
        desk.handle(.received(Array(invite.utf8), FlowID(rawValue: 5), from: SocketAddress(.v4(0xc000_0264), 33_000)))
        #expect(desk.sent.last?.message.statusCode == 403, "anybody on the way may write in the clear")
    }
}
