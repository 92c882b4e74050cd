// SPDX-License-Identifier: Apache-2.0
//
// From one server of a domain to the next and back (RFC 3263 §4.3).

import Crypto
import Essentials
import SIP
import SIPAgent
import Testing

/// A phone with an account at example.net, whose SRV records name two servers: 10.0.0.9 first, then 10.0.0.8.
private final class TwoServers {
    let network = Network()
    let phone: AgentNode
    let first: ScriptedPeer
    let second: ScriptedPeer
    /// Nothing goes to or comes from these.
    var down: Set<SocketAddress> = []
    let account: AccountID

    init(expires: Int = 600, retry: RetryPolicy = RetryPolicy(), configure: (inout UserAgentConfiguration) -> Void = { _ in }) {
        phone = AgentNode(network, 1, configure: configure)
        first = ScriptedPeer(network, 9)
        second = ScriptedPeer(network, 8)
        func srv(_ priority: UInt16, _ target: String) -> DNSRecord {
            DNSRecord(.srv(priority: priority, weight: 1, port: 5060, target: target), timeToLive: 3600)
        }
        phone.zone["_sip._udp.example.net"] = [srv(1, "a.example.net"), srv(2, "b.example.net")]
        phone.zone["a.example.net"] = [DNSRecord(.address(ip(9)), timeToLive: 3600)]
        phone.zone["b.example.net"] = [DNSRecord(.address(ip(8)), timeToLive: 3600)]
        account = phone.agent.addAccount(
            AccountConfiguration(
                addressOfRecord: SIPURI(user: "1001", host: .name("example.net")),
                credentials: [Credential(username: "1001", password: .init("secret"))], registers: false, expires: expires,
                retryPolicy: retry), now: network.now)
        network.loses = { [weak self] packet in
            self?.down.contains(packet.to) == true || self?.down.contains(packet.from) == true
        }
        for peer in [first, second] { serve(peer) }
    }

    /// REGISTER is granted.
    func serve(_ peer: ScriptedPeer, expires: Int = 600) {
        peer.onMessage = { [weak peer] message in
            guard let peer, message.isRequest, message.method == .register else { return }
            peer.respond(200, to: message, headers: [(.contact, "<\(message.contacts[0].uri)>;expires=\(expires)")])
        }
    }

    func register() {
        phone.agent.register(account, now: network.now)
        phone.drain()
    }

    func invite() throws -> SessionID {
        let target = URI.sip(SIPURI(user: "bob", host: .name("example.net")))
        let id = try phone.agent.invite(from: account, to: target, offer: sdpBytes, now: network.now)
        phone.drain()
        return id
    }

    var server: SocketAddress? { phone.agent.registrationDetail(of: account)?.server }
}

@Suite struct FailoverTests {
    @Test("B-022: a server that is silent is left after 4 s for the next one, with a new branch")
    func silentServer() throws {
        let bench = TwoServers()
        bench.down = [bench.first.address]
        bench.register()
        bench.network.run(.seconds(3))
        #expect(bench.second.requests(.register).isEmpty)
        bench.network.run(.seconds(2))
        let moved = try required(bench.second.requests(.register).first)
        #expect(bench.server == bench.second.address)
        let before = try required(bench.phone.sent(.register).first)
        #expect(moved.topVia.branch != before.topVia.branch)
        #expect(moved.callID == before.callID && moved.cseq == before.cseq)
        #expect(bench.phone.agent.counters[.targetsGivenUp] == 1)
        let sends = bench.phone.sent(.register).count
        bench.network.run(.seconds(30))
        #expect(bench.phone.sent(.register).count == sends, "the silent one is not asked any more")
    }

    @Test func `a target that cannot be reached is left at once`() throws {
        let bench = TwoServers()
        bench.register()
        bench.network.run(.milliseconds(20))
        bench.phone.agent.handle(.sendFailed(FlowID(rawValue: 1), to: bench.first.address, .refused), now: bench.network.now)
        bench.phone.drain()
        bench.network.run(.milliseconds(50))
        #expect(bench.second.requests(.register).count == 1)
    }

    @Test func `503 leads to the next server, and Retry-After says when the first is asked again`() throws {
        let bench = TwoServers(expires: 60)
        bench.first.onMessage = { [weak bench] message in
            bench?.first.respond(503, to: message, headers: [(.retryAfter, "100")])
        }
        bench.serve(bench.second, expires: 60)
        bench.register()
        bench.network.run(.seconds(1))
        #expect(bench.server == bench.second.address)
        #expect(bench.first.requests(.register).count == 1)
        bench.serve(bench.first, expires: 60)
        bench.network.run(.seconds(95))
        #expect(bench.first.requests(.register).count == 1)
        bench.network.run(.seconds(40))
        #expect(bench.server == bench.first.address, "back at the preferred one")
        #expect(bench.phone.states.filter { if case .failed = $0 { true } else { false } }.isEmpty)
    }

    @Test func `a call finds the second server, and the first one's late answer is ended`() throws {
        let bench = TwoServers()
        // What the first one says is lost; what it hears is not.
        bench.network.loses = { [weak bench] packet in packet.from == bench?.first.address }
        _ = try bench.invite()
        bench.network.run(.seconds(5))
        let early = try required(bench.first.requests(.invite).first)
        let invite = try required(bench.second.requests(.invite).first)
        #expect(invite.callID == early.callID && invite.topVia.branch != early.topVia.branch)
        bench.second.respond(200, to: invite, tag: "second", contact: bench.second.contact, body: sdpOffer)
        bench.network.run(.seconds(1))
        #expect(bench.phone.answered.count == 1)
        bench.network.loses = { _ in false }
        bench.first.respond(200, to: early, tag: "first", contact: bench.first.contact, body: sdpOffer)
        bench.network.run(.seconds(1))
        #expect(bench.first.requests(.ack).count == 1 && !bench.first.requests(.bye).isEmpty)
        #expect(bench.phone.answered.count == 1 && bench.phone.ends.isEmpty)
        #expect(bench.second.requests(.bye).isEmpty)
    }

    @Test func `an INVITE that was left gets its CANCEL as soon as the server says something`() throws {
        let bench = TwoServers()
        bench.network.loses = { [weak bench] packet in packet.from == bench?.first.address }
        _ = try bench.invite()
        bench.network.run(.seconds(5))
        let early = try required(bench.first.requests(.invite).first)
        bench.network.loses = { _ in false }
        bench.first.respond(180, to: early, tag: "first", contact: bench.first.contact)
        bench.network.run(.milliseconds(100))
        #expect(bench.first.requests(.cancel).count == 1)
        #expect(bench.phone.progress.isEmpty)
    }

    @Test func `a call that rings is left with its server`() throws {
        let bench = TwoServers()
        _ = try bench.invite()
        bench.network.run(.milliseconds(100))
        let invite = try required(bench.first.requests(.invite).first)
        bench.first.respond(180, to: invite, contact: bench.first.contact)
        bench.network.run(.seconds(60))
        #expect(bench.second.requests(.invite).isEmpty)
        #expect(bench.phone.ends.isEmpty)
    }

    @Test func `hanging up while servers are tried ends everything`() throws {
        let bench = TwoServers()
        bench.down = [bench.first.address, bench.second.address]
        let id = try bench.invite()
        bench.network.run(.seconds(6))
        bench.phone.agent.hangUp(id, now: bench.network.now)
        bench.phone.drain()
        #expect(bench.phone.ends.map(\.cause.code) == ["call.hung-up"])
        bench.network.run(atMost: .seconds(140)) { bench.phone.isEmpty }
        #expect(bench.phone.isEmpty)
    }

    @Test func `where no server answers the last one has its full time, and the reason is told`() throws {
        let bench = TwoServers(retry: .none)
        bench.down = [bench.first.address, bench.second.address]
        bench.register()
        bench.network.run(.seconds(35))
        #expect(bench.phone.states == [.registering])
        bench.network.run(.seconds(2))
        guard case .failed(let cause, nil) = bench.phone.states.last else {
            Issue.record("not failed: \(bench.phone.states)")
            return
        }
        #expect(cause.code == "registration.no-response")
    }

    @Test func `the registration goes back to the preferred server when that is well again`() throws {
        let bench = TwoServers(expires: 60)
        for peer in [bench.first, bench.second] { bench.serve(peer, expires: 60) }
        bench.down = [bench.first.address]
        bench.register()
        bench.network.run(.seconds(5))
        #expect(bench.server == bench.second.address)
        bench.down = []
        bench.network.run(.seconds(70))
        #expect(bench.server == bench.first.address)
        let count = bench.second.requests(.register).count
        bench.network.run(.seconds(300))
        #expect(bench.second.requests(.register).count == count, "and it stays there")
    }

    @Test func `requests of a dialog go to the server that has it, though another is preferred`() throws {
        let bench = TwoServers()
        bench.down = [bench.first.address]
        let id = try bench.invite()
        bench.network.run(.seconds(5))
        let invite = try required(bench.second.requests(.invite).first)
        bench.second.respond(
            200, to: invite, contact: bench.second.contact, headers: [(.recordRoute, "<sip:example.net;lr>")], body: sdpOffer)
        bench.network.run(.milliseconds(100))
        #expect(bench.second.requests(.ack).count == 1)
        bench.down = []
        bench.network.run(.seconds(200))
        bench.phone.agent.hangUp(id, now: bench.network.now)
        bench.phone.drain()
        bench.network.run(.milliseconds(100))
        #expect(bench.second.requests(.bye).count == 1 && bench.first.requests(.bye).isEmpty)
    }

    @Test func `credentials are made anew for the next server`() throws {
        let bench = TwoServers()
        bench.first.onMessage = { [weak bench] message in
            guard let bench, message.method == .register else { return }
            if message.first(.authorization) == nil {
                let value = "Digest realm=\"example.net\", nonce=\"one\", qop=\"auth\", algorithm=MD5"
                bench.first.respond(401, to: message, headers: [(.wwwAuthenticate, value)])
            } else {
                bench.first.respond(503, to: message)
            }
        }
        bench.second.onMessage = { [weak bench] message in
            guard let bench, message.method == .register else { return }
            if message.first(.authorization)?.contains("nonce=\"two\"") == true {
                bench.second.respond(200, to: message, headers: [(.contact, "<\(message.contacts[0].uri)>;expires=600")])
            } else {
                let value = "Digest realm=\"example.net\", nonce=\"two\", qop=\"auth\", algorithm=MD5"
                bench.second.respond(401, to: message, headers: [(.wwwAuthenticate, value)])
            }
        }
        bench.register()
        bench.network.run(.seconds(1))
        #expect(bench.server == bench.second.address, "\(bench.phone.states)")
    }

    @Test(
        "why a name led nowhere is told apart",
        arguments: [
            (DNSResult.absent(nameExists: false, timeToLive: 30), "no-such-name"), (.failed("time-out"), "no-name-server"),
            (DNSResult.none, "no-records"),
        ])
    func names(result: DNSResult, code: String) throws {
        let bench = TwoServers(retry: .none)
        bench.phone.zone = [:]
        bench.phone.otherwise = result
        bench.register()
        bench.network.run(.seconds(1))
        guard case .failed(let cause, _) = bench.phone.states.last else {
            Issue.record("not failed: \(bench.phone.states)")
            return
        }
        #expect(cause.code == "registration.not-located." + code)
        _ = try bench.invite()
        bench.network.run(.seconds(1))
        #expect(bench.phone.ends.map(\.cause.code) == ["call.not-located." + code])
        #expect(bench.phone.ends[0].cause.evidence.last?.value.contains("example.net") == true)
    }
}
