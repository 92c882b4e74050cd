// SPDX-License-Identifier: Apache-2.0

import Crypto
import Essentials
import HandsetTestKit
import SIP
import SIPAgent
import SIPServer
import Testing

/// A world with one server and scripted peers: what every test here starts from.
final class ServerBench {
    let world: SimulatedWorld
    let server: SimulatedServer
    let domain = "example.test"
    private var peers: [String: ScriptedPeer] = [:]
    private var registrations: [String: UInt32] = [:]

    /// `open`: nobody is asked for a password.
    init(seed: UInt64 = 1, open: Bool = true, configure: (inout ServerConfiguration) -> Void = { _ in }) {
        world = SimulatedWorld(seed: seed, trace: .signalling)
        server = world.addServer("server", domain: "example.test", users: ["alice": "a-secret", "bob": "b-secret"]) {
            $0.authenticatesRegistrations = !open
            $0.authenticatesCalls = !open
            configure(&$0)
        }
    }

    func peer(_ name: String, behind nat: SimulatedNAT? = nil) -> ScriptedPeer {
        if let peer = peers[name] { return peer }
        let peer = world.addPeer(name, behind: nat)
        peers[name] = peer
        return peer
    }

    var address: SocketAddress { server.address }
    var users: [String] { ["alice", "bob"] }

    // MARK: Registration

    func registerRequest(
        _ peer: ScriptedPeer, _ user: String, contacts: [String], expires: String? = nil, callID: String? = nil, cseq: UInt32? = nil
    ) -> MessageBuilder {
        let callID = callID ?? "reg-\(peer.host.name)"
        let number = cseq ?? (registrations[callID] ?? 0) + 1
        registrations[callID] = number
        var request = peer.request(
            .register, "sip:\(domain)", from: "<sip:\(user)@\(domain)>;tag=r", to: "<sip:\(user)@\(domain)>", callID: callID,
            cseq: number)
        for contact in contacts { request.add(.contact, contact) }
        if let expires { request.add(.expires, expires) }
        return request
    }

    /// Registers and gives the answer.
    @discardableResult
    func register(
        _ peer: ScriptedPeer, _ user: String, contacts: [String], expires: String? = nil, callID: String? = nil, cseq: UInt32? = nil
    ) throws -> SIPMessage {
        try exchange(
            peer, registerRequest(peer, user, contacts: contacts, expires: expires, callID: callID, cseq: cseq))
    }

    /// Registers the peer at its own address.
    func registerHere(_ peer: ScriptedPeer, _ user: String, q: String? = nil) throws {
        let q = q.map { ";q=\($0)" } ?? ""
        let answer = try register(peer, user, contacts: ["<sip:\(user)@\(peer.address)>\(q)"])
        try #require(answer.statusCode == 200)
    }

    func contacts(_ response: SIPMessage) -> [String] { response.contacts.map { "\($0.uri)" } }

    // MARK: Any request

    /// Sends and waits for the final answer.
    func exchange(_ peer: ScriptedPeer, _ request: MessageBuilder) throws -> SIPMessage {
        let seen = peer.received.count
        peer.send(request, to: address)
        world.run(within: .seconds(5)) { peer.received.dropFirst(seen).contains { !$0.message.isRequest && $0.message.statusCode >= 200 } }
        return try #require(
            peer.received.dropFirst(seen).first { !$0.message.isRequest && $0.message.statusCode >= 200 }?.message,
            "no answer; seed \(world.seed)")
    }

    /// An INVITE of `caller` to `user` of our domain.
    func invite(_ caller: ScriptedPeer, _ user: String, from: String = "<sip:carol@elsewhere.test>;tag=c", callID: String = "call")
        -> MessageBuilder
    {
        var invite = caller.request(
            .invite, "sip:\(user)@\(domain)", from: from, to: "<sip:\(user)@\(domain)>", callID: callID, cseq: 1)
        invite.add(.contact, "<sip:carol@\(caller.address)>")
        return invite
    }

    /// The ACK that a user agent sends for a non-2xx final response, so that the server's transaction ends.
    func acknowledgeFailures(_ caller: ScriptedPeer) {
        caller.react = { [unowned self, unowned caller] message, _ in
            guard !message.isRequest, message.cseq.method == .invite, message.statusCode >= 300 else { return }
            var ack = MessageBuilder(request: .ack, uri: .sip(SIPURI(user: "x", host: .name(self.domain))))
            ack.add(.via, message.topVia.description)
            ack.add(.maxForwards, "70")
            ack.add(.from, message.from.description)
            ack.add(.to, message.to.description)
            ack.add(.callID, message.callID)
            ack.add(.cseq, "\(message.cseq.number) ACK")
            caller.send(ack, to: self.address)
        }
    }

    func statuses(_ peer: ScriptedPeer) -> [Int] {
        peer.received.filter { !$0.message.isRequest && $0.message.cseq.method == .invite }.map(\.message.statusCode)
    }

    func finals(_ peer: ScriptedPeer) -> [Int] { statuses(peer).filter { $0 >= 200 } }

    func requests(_ peer: ScriptedPeer, _ method: SIP.Method) -> [SIPMessage] {
        peer.received.map(\.message).filter { $0.isRequest && $0.method == method }
    }
}

/// A called phone of few words: what it does with an INVITE, a CANCEL, a BYE.
extension ScriptedPeer {
    /// Answers each INVITE with these responses, each after its time; a CANCEL with 200 and 487.
    func answersInvites(_ steps: [(after: Interval, status: Int)], tag: String? = nil, honoursCancel: Bool = true) {
        var seen: [String] = []
        var finished: [String] = []
        var invites: [String: SIPMessage] = [:]
        let tag = tag ?? host.name
        react = { [unowned self] message, source in
            guard message.isRequest else { return }
            let branch = message.topVia.branch ?? ""
            switch message.method {
            case .invite:
                guard !seen.contains(branch) else { return }
                seen.append(branch)
                invites[branch] = message
                for step in steps {
                    self.later(step.after) {
                        guard !finished.contains(branch) else { return }
                        if step.status >= 200 { finished.append(branch) }
                        self.answer(message, step.status, tag: tag, to: source) {
                            $0.add(.contact, "<sip:\(self.host.name)@\(self.address)>")
                        }
                    }
                }
            case .cancel where honoursCancel:
                self.answer(message, 200, tag: tag, to: source)
                guard let invite = invites[branch], !finished.contains(branch) else { return }
                finished.append(branch)
                self.answer(invite, 487, tag: tag, to: source)
            case .bye, .info, .options: self.answer(message, 200, tag: tag, to: source)
            default: break
            }
        }
    }

    private func later(_ interval: Interval, _ action: @escaping () -> Void) { schedule(after: interval, action) }
}
