// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP
import SIPAgent

/// Two agents on one network without servers: Alice (10.0.0.1) and Bob (10.0.0.2).
final class Pair {
    let network = Network()
    let alice: AgentNode
    let bob: AgentNode

    init(seed: UInt64 = 1, configure: (inout UserAgentConfiguration) -> Void = { _ in }) {
        alice = AgentNode(network, 1, seed: seed, configure: configure)
        bob = AgentNode(network, 2, seed: seed, configure: configure)
    }

    var bobURI: URI { .sip(SIPURI(user: "bob", host: .address(bob.address.ip), port: bob.address.port)) }

    /// Alice calls; Bob has not answered.
    func call(offer: [UInt8]? = sdpBytes) throws -> SessionID {
        let id = try alice.agent.invite(from: nil, to: bobURI, offer: offer, now: network.now)
        alice.drain()
        return id
    }

    /// Bob's side of the last call.
    var incoming: SessionID? { bob.incoming.last?.0 }

    /// Alice calls, Bob answers, the ACK arrives.
    func establish(offer: [UInt8]? = sdpBytes) throws -> (alice: SessionID, bob: SessionID) {
        let id = try call(offer: offer)
        let before = bob.incoming.count
        network.run(atMost: .seconds(40)) { bob.incoming.count > before }
        let other = try required(incoming)
        bob.agent.ring(other, now: network.now)
        bob.agent.accept(other, answer: sdpBytes, now: network.now)
        bob.drain()
        network.run(atMost: .seconds(40)) { bob.confirmed > 0 && alice.answered.count > 0 }
        return (id, other)
    }

    func on(_ node: AgentNode, _ command: (UserAgent, MonotonicTime) -> Void) {
        command(node.agent, network.now)
        node.drain()
    }

    /// Runs until every tail is over; whether nothing is left.
    func settles(within interval: Interval = .seconds(140)) -> Bool {
        network.run(atMost: interval) { alice.isEmpty && bob.isEmpty }
    }
}

struct Missing: Error {}
func required<Value>(_ value: Value?) throws -> Value {
    guard let value else { throw Missing() }
    return value
}

/// One agent (10.0.0.1) and one scripted peer (10.0.0.9), which may play a server or a phone.
final class Scene {
    let network = Network()
    let phone: AgentNode
    let peer: ScriptedPeer
    private(set) var account: AccountID?

    /// - Parameter onLoopback: both on 127.0.0.1, with ports 5061 and 5069.
    init(seed: UInt64 = 1, onLoopback: Bool = false, configure: (inout UserAgentConfiguration) -> Void = { _ in }) {
        phone = AgentNode(
            network, 1, at: onLoopback ? SocketAddress(.loopbackV4, 5061) : nil, seed: seed, configure: configure)
        peer = ScriptedPeer(network, 9, at: onLoopback ? SocketAddress(.loopbackV4, 5069) : nil)
    }

    var peerURI: URI { .sip(SIPURI(user: "peer", host: .address(peer.address.ip), port: peer.address.port)) }
    var phoneURI: String { "sip:1001@\(phone.address)" }

    /// An account at the peer, which plays the server.
    @discardableResult
    func addAccount(
        registers: Bool = true, expires: Int = 600, directCalls: DirectCalls = .accept, transport: TransportProtocol? = nil,
        password: String = "secret", realm: String? = nil, retry: RetryPolicy = RetryPolicy(), proxy: SIPURI? = nil,
        domain: Host? = nil
    ) -> AccountID {
        var home = SIPURI(user: "1001", host: .address(peer.address.ip))
        home.port = peer.address.port
        if let domain { home = SIPURI(user: "1001", host: domain) }
        let id = phone.agent.addAccount(
            AccountConfiguration(
                addressOfRecord: home, displayName: "Alice", proxy: proxy,
                credentials: [Credential(realm: realm, username: "1001", password: .init(password))], registers: registers,
                expires: expires, transport: transport, directCalls: directCalls, retryPolicy: retry), now: network.now)
        account = id
        phone.drain()
        return id
    }

    /// The peer's INVITE; the phone's session.
    func incoming(
        callID: String = "call-1", headers: [String] = [], body: String = sdpOffer, fromTag: String = "peer"
    ) throws -> SessionID {
        let before = phone.incoming.count
        peer.send(
            "INVITE", phoneURI, to: phone, callID: callID, fromTag: fromTag, headers: headers,
            type: body.isEmpty ? nil : "application/sdp", body: body)
        network.run(.milliseconds(30))
        guard phone.incoming.count > before else { throw Missing() }
        return try required(phone.incoming.last?.0)
    }

    /// The peer calls, the phone answers, the peer acknowledges; the phone's session and its tag.
    func answeredIncoming(callID: String = "call-1", headers: [String] = []) throws -> (id: SessionID, tag: String) {
        let id = try incoming(callID: callID, headers: headers)
        on { $0.accept(id, answer: sdpBytes, now: $1) }
        network.run(.milliseconds(30))
        let tag = try required(peer.responses(.invite).last { $0.statusCode == 200 }?.to.tag)
        peer.send("ACK", phoneURI, to: phone, callID: callID, toTag: tag)
        network.run(.milliseconds(30))
        return (id, tag)
    }

    /// The phone calls the peer; the INVITE as the peer got it.
    func outgoing(offer: [UInt8]? = sdpBytes, account: AccountID? = nil, to uri: URI? = nil) throws -> (id: SessionID, invite: SIPMessage) {
        let before = peer.requests(.invite).count
        let id = try phone.agent.invite(from: account, to: uri ?? peerURI, offer: offer, now: network.now)
        phone.drain()
        network.run(.milliseconds(30))
        guard peer.requests(.invite).count > before else { throw Missing() }
        return (id, try required(peer.requests(.invite).last))
    }

    /// The phone calls, the peer answers with 200.
    func answeredOutgoing(account: AccountID? = nil, headers: [(HeaderName, String)] = []) throws -> (id: SessionID, invite: SIPMessage) {
        let (id, invite) = try outgoing(account: account)
        peer.respond(200, to: invite, contact: peer.contact, headers: headers, body: sdpOffer)
        network.run(.milliseconds(30))
        return (id, invite)
    }

    func on(_ command: (UserAgent, MonotonicTime) -> Void) {
        command(phone.agent, network.now)
        phone.drain()
    }

    func settles(within interval: Interval = .seconds(140)) -> Bool {
        network.run(atMost: interval) { phone.isEmpty }
    }
}
