// SPDX-License-Identifier: Apache-2.0

import Essentials
import PhoneCore
import SIP
import SIPAgent

/// One phone (10.0.0.1) and one scripted peer (10.0.0.9).
final class Scene {
    let bench = Bench()
    let phone: PhoneNode
    let peer: ScriptedPeer
    /// Of the last incoming call: the phone's tag.
    var tag: String?

    init(configure: (inout PhoneConfiguration) -> Void = { _ in }) {
        phone = PhoneNode(bench, 1, configure: configure)
        peer = ScriptedPeer(bench)
    }

    var target: String { "sip:peer@\(peer.address)" }

    @discardableResult
    func addAccount(_ change: (inout AccountConfiguration) -> Void = { _ in }) throws -> AccountID {
        var account = AccountConfiguration(
            addressOfRecord: SIPURI(user: "1001", host: .address(peer.address.ip)), registers: false, directCalls: .accept)
        change(&account)
        return try phone.on { try $0.addAccount(account, now: $1) }
    }

    /// The phone calls; the INVITE is at the peer.
    func calling(_ target: String? = nil, from account: AccountID? = nil) throws -> (id: CallID, invite: SIPMessage) {
        let before = peer.requests(.invite).count
        let id = try phone.call(target ?? self.target, from: account)
        bench.run(.milliseconds(30))
        guard peer.requests(.invite).count > before else { throw Missing() }
        return (id, try required(peer.requests(.invite).last))
    }

    /// The phone calls, the peer answers.
    func established(_ answer: String = sdp()) throws -> (id: CallID, invite: SIPMessage) {
        let (id, invite) = try calling()
        peer.respond(200, to: invite, sdp: answer)
        bench.run(.milliseconds(30))
        guard phone.core.state(of: id) == .confirmed else { throw Missing() }
        tag = invite.from.tag
        return (id, invite)
    }

    /// The peer calls; it rings.
    func ringing(_ offer: String = sdp(), callID: String = "call-1", headers: [String] = [], from: String? = nil) throws -> CallID {
        let before = phone.incoming.count
        peer.send("INVITE", to: phone, callID: callID, from: from, headers: headers, body: offer)
        bench.run(.milliseconds(30))
        guard phone.incoming.count > before else { throw Missing() }
        tag = peer.responses(.invite).last { $0.statusCode == 180 }?.to.tag
        return try required(phone.incoming.last?.id)
    }

    /// The peer calls, the phone answers, the ACK has come.
    func answered(_ offer: String = sdp(), ack: String = "", callID: String = "call-1") throws -> CallID {
        let id = try ringing(offer, callID: callID)
        try phone.on { try $0.answer(id, now: $1) }
        bench.run(.milliseconds(30))
        peer.send("ACK", to: phone, callID: callID, toTag: tag, body: ack)
        bench.run(.milliseconds(30))
        guard phone.core.state(of: id) == .confirmed else { throw Missing() }
        return id
    }

    /// The peer's re-INVITE in a call that it made, or got (`invite`); gives the final answer, and acknowledges a 2xx.
    @discardableResult
    func reinvite(_ offer: String, sequence: UInt32, of invite: SIPMessage? = nil, ack: String = "") throws -> SIPMessage {
        let callID = invite?.callID ?? "call-1"
        peer.send("INVITE", to: phone, callID: callID, toTag: tag, sequence: sequence, body: offer)
        bench.run(.milliseconds(30))
        let answer = try required(
            peer.responses(.invite).last { $0.cseq.number == sequence && $0.callID == callID && $0.statusCode >= 200 })
        if answer.statusCode < 300 { peer.send("ACK", to: phone, callID: callID, toTag: tag, sequence: sequence, body: ack) }
        bench.run(.milliseconds(30))
        return answer
    }

    /// Answers what the phone asks from now on with this.
    func peerAnswers(_ answer: @escaping (SIPMessage) -> Int) {
        peer.onRequest = { [self] request in
            guard request.method != .ack else { return }
            peer.respond(answer(request), to: request)
        }
    }

    /// The phone hangs up what is left, and everything comes to rest.
    func comesToRest() -> Bool {
        peer.onRequest = { [self] request in
            if request.method == .bye || request.method == .cancel { peer.respond(200, to: request) }
        }
        for id in (1...20).map({ CallID(rawValue: $0) }) { try? phone.on { try $0.hangUp(id, now: $1) } }
        return bench.run(atMost: .seconds(200)) { phone.isClean && phone.core.agent.isAtRest }
    }
}

/// Two phones joined directly: Alice (10.0.0.1) and Bob (10.0.0.2).
final class Pair {
    let bench = Bench()
    let alice: PhoneNode
    let bob: PhoneNode

    init(configure: (inout PhoneConfiguration) -> Void = { _ in }) {
        alice = PhoneNode(bench, 1, configure: configure)
        bob = PhoneNode(bench, 2, configure: configure)
    }

    func ring() throws -> (alice: CallID, bob: CallID) {
        let before = bob.incoming.count
        let id = try alice.call("sip:bob@\(bob.address)")
        guard bench.run(atMost: .seconds(40), until: { bob.incoming.count > before }) else { throw Missing() }
        bench.run(.milliseconds(30))
        return (id, try required(bob.incoming.last?.id))
    }

    func establish() throws -> (alice: CallID, bob: CallID) {
        let ids = try ring()
        try bob.on { try $0.answer(ids.bob, now: $1) }
        bench.run(.milliseconds(100))
        guard alice.core.state(of: ids.alice) == .confirmed, bob.core.state(of: ids.bob) == .confirmed else { throw Missing() }
        return ids
    }

    func settles() -> Bool {
        bench.run(atMost: .seconds(200)) {
            alice.isClean && bob.isClean && alice.core.agent.isAtRest && bob.core.agent.isAtRest
        }
    }
}

extension UserAgent {
    /// Nothing is held for any call or request.
    var isAtRest: Bool { sessionCount == 0 && dialogCount == 0 && requestCount == 0 && residueCount == 0 && unansweredCount == 0 }
}

/// The code of the `PhoneError` that `body` throws; nil if it throws none.
func refusal(_ body: () throws -> Void) -> PhoneError.Code? {
    do {
        try body()
        return nil
    } catch {
        return (error as? PhoneError)?.code
    }
}
