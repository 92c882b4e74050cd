// SPDX-License-Identifier: Apache-2.0
//
// UPDATE both ways (RFC 3311), the session timer refreshed by it (RFC 4028), and who is connected (RFC 4916).

import Essentials
import SIP
import SIPAgent
import Testing

@Suite struct UpdateTests {
    private func update(
        _ scene: Scene, tag: String?, sequence: UInt32 = 2, headers: [String] = [], body: String = "", callID: String = "call-1"
    ) {
        scene.peer.send(
            "UPDATE", scene.phoneURI, to: scene.phone, callID: callID, toTag: tag, sequence: sequence,
            headers: headers + ["Contact: <sip:moved@10.0.0.9:5090>"], type: body.isEmpty ? nil : "application/sdp", body: body)
        scene.network.run(.milliseconds(30))
    }

    @Test func anUPDATEWithoutAnOfferMovesTheTarget() throws {
        let scene = Scene()
        let (id, tag) = try scene.answeredIncoming()
        update(scene, tag: tag)
        let answer = try required(scene.peer.responses(.update).last)
        #expect(answer.statusCode == 200 && answer.contacts.count == 1 && answer.allow.contains("UPDATE"))
        #expect(scene.phone.refreshes.count == 1)
        scene.on { $0.hangUp(id, now: $1) }
        scene.network.run(.milliseconds(30))
        #expect(scene.phone.sent(.bye).last.map { "\($0.requestURI)" } == "sip:moved@10.0.0.9:5090")
        #expect(scene.settles())
    }

    @Test func anOfferIsAnsweredByTheUser() throws {
        let scene = Scene()
        let (id, tag) = try scene.answeredIncoming()
        update(scene, tag: tag, body: sdpOffer)
        #expect(scene.peer.responses(.update).isEmpty)
        #expect(scene.phone.updateOffers.map { Array($0.body) } == [sdpBytes])
        // Another one before the answer: RFC 3311 §5.2.
        update(scene, tag: tag, sequence: 3, body: sdpOffer)
        let early = try required(scene.peer.responses(.update).last)
        #expect(early.statusCode == 500 && (0...10).contains(Int(early.first(.retryAfter) ?? "") ?? -1))
        scene.on { $0.answerUpdate(id, status: 200, answer: sdpBytes, now: $1) }
        scene.network.run(.milliseconds(30))
        let answer = try required(scene.peer.responses(.update).last)
        #expect(answer.statusCode == 200 && Array(answer.body) == sdpBytes && answer.cseq.number == 2)
        // Refused, and the call goes on.
        update(scene, tag: tag, sequence: 4, body: sdpOffer)
        scene.on { $0.answerUpdate(id, status: 488, answer: nil, now: $1) }
        scene.network.run(.milliseconds(30))
        #expect(scene.peer.responses(.update).last?.statusCode == 488)
        #expect(scene.phone.ends.isEmpty)
        scene.on { $0.hangUp(id, now: $1) }
        #expect(scene.settles())
    }

    @Test func anOfferThatCrossesOursIsAnswered491() throws {
        let scene = Scene()
        let (id, tag) = try scene.answeredIncoming()
        scene.on { $0.reinvite(id, offer: sdpBytes, now: $1) }
        update(scene, tag: tag, body: sdpOffer)
        #expect(scene.peer.responses(.update).last?.statusCode == 491)
        // Without an offer there is nothing to cross.
        update(scene, tag: tag, sequence: 3)
        #expect(scene.peer.responses(.update).last?.statusCode == 200)
        scene.on { $0.hangUp(id, now: $1) }
        #expect(scene.settles(within: .seconds(200)))
    }

    /// Before the answer: the INVITE's own offer is still open.
    @Test func anEarlyOfferIsAnswered500AsTheCalledAnd491AsTheCallingSide() throws {
        let scene = Scene()
        let id = try scene.incoming()
        scene.on { $0.ring(id, now: $1) }
        scene.network.run(.milliseconds(30))
        update(scene, tag: scene.peer.responses(.invite).last?.to.tag, body: sdpOffer)
        #expect(scene.peer.responses(.update).last?.statusCode == 500)
        scene.on { $0.reject(id, status: 486, now: $1) }
        let (other, invite) = try scene.outgoing()
        scene.peer.respond(180, to: invite, contact: scene.peer.contact)
        scene.network.run(.milliseconds(30))
        update(scene, tag: invite.from.tag, sequence: 1, body: sdpOffer, callID: invite.callID)
        #expect(scene.peer.responses(.update).last?.statusCode == 491)
        update(scene, tag: invite.from.tag, sequence: 2, callID: invite.callID)
        #expect(scene.peer.responses(.update).last?.statusCode == 200)
        scene.on { $0.hangUp(other, now: $1) }
        scene.network.run(.milliseconds(30))
        scene.peer.respond(487, to: invite)
        #expect(scene.settles(within: .seconds(200)))
    }

    /// Offer and answer were exchanged reliably before the answer: UPDATE changes the session both ways.
    @Test func anEarlySessionIsChangedByUPDATE() throws {
        let scene = Scene()
        scene.peer.onMessage = { [unowned scene] in
            if $0.isRequest, $0.method == .prack || $0.method == .update {
                scene.peer.respond(200, to: $0, body: $0.method == .update ? sdpOffer : nil)
            }
        }
        let (id, invite) = try scene.outgoing()
        scene.on { #expect($0.update(id, offer: sdpBytes, now: $1) == false) }
        scene.peer.respond(
            183, to: invite, contact: scene.peer.contact,
            headers: [(.require, "100rel"), (.rseq, "1"), (.allow, "INVITE, PRACK, UPDATE")], body: sdpOffer)
        scene.network.run(.milliseconds(50))
        scene.on { #expect($0.update(id, offer: sdpBytes, now: $1) == true) }
        scene.network.run(.milliseconds(50))
        let ours = try required(scene.peer.requests(.update).last)
        #expect(ours.to.tag == "peer" && Array(ours.body) == sdpBytes && ours.contacts.count == 1)
        #expect(ours.cseq.number == invite.cseq.number + 2)
        #expect(scene.phone.reinviteAnswers == 1)
        update(scene, tag: invite.from.tag, sequence: 1, body: sdpOffer, callID: invite.callID)
        #expect(scene.phone.updateOffers.count == 1)
        scene.on { $0.answerUpdate(id, status: 200, answer: sdpBytes, now: $1) }
        scene.network.run(.milliseconds(50))
        #expect(scene.peer.responses(.update).last?.statusCode == 200)
        // The dialog of the 200 counts on.
        scene.peer.respond(200, to: invite, contact: scene.peer.contact)
        scene.network.run(.milliseconds(50))
        scene.on { $0.hangUp(id, now: $1) }
        scene.network.run(.milliseconds(30))
        let bye = try required(scene.peer.requests(.bye).last)
        #expect(bye.cseq.number == invite.cseq.number + 3)
        scene.peer.respond(200, to: bye)
        #expect(scene.settles(within: .seconds(200)))
    }

    /// RFC 4028 §7.4: where the peer allows it, the refresh needs no description.
    @Test func theSessionIsRefreshedByUPDATEWhereThePeerAllowsIt() throws {
        let scene = Scene()
        let allow: [(HeaderName, String)] = [
            (.allow, "INVITE,ACK , BYE,update"), (.require, "timer"), (.sessionExpires, "90;refresher=uac"),
        ]
        let (id, _) = try scene.answeredOutgoing(headers: allow)
        scene.peer.onMessage = { [unowned scene] in
            if $0.isRequest, $0.method == .update {
                scene.peer.respond(200, to: $0, contact: scene.peer.contact, headers: [(.sessionExpires, "90;refresher=uac")])
            }
        }
        scene.network.run(.seconds(200))
        let updates = scene.peer.requests(.update)
        #expect(updates.count == 4)
        #expect(updates.allSatisfy { $0.body.isEmpty && $0.first(.sessionExpires) == "90;refresher=uac" && $0.contacts.count == 1 })
        #expect(scene.peer.requests(.invite).count == 1)
        #expect(scene.phone.ends.isEmpty)
        scene.on { $0.hangUp(id, now: $1) }
        #expect(scene.settles())
    }

    @Test(arguments: [405, 501, 403])
    func aPeerThatRefusesUPDATEIsRefreshedByINVITE(status: Int) throws {
        let scene = Scene()
        let allow: [(HeaderName, String)] = [
            (.allow, "INVITE, ACK, BYE, UPDATE"), (.require, "timer"), (.sessionExpires, "90;refresher=uac"),
        ]
        let (id, _) = try scene.answeredOutgoing(headers: allow)
        scene.phone.onEvent = { [unowned scene] event in
            if case .refreshDue = event { scene.phone.agent.reinvite(id, offer: sdpBytes, now: scene.network.now) }
        }
        scene.peer.onMessage = { [unowned scene] message in
            guard message.isRequest else { return }
            if message.method == .update { scene.peer.respond(status, to: message) }
            if message.method == .invite {
                scene.peer.respond(200, to: message, contact: scene.peer.contact, headers: allow, body: sdpOffer)
            }
        }
        scene.network.run(.seconds(200))
        #expect(scene.peer.requests(.update).count == 1)
        #expect(scene.peer.requests(.invite).count == 5)
        #expect(scene.phone.ends.isEmpty)
        scene.on { $0.hangUp(id, now: $1) }
        #expect(scene.settles())
    }

    @Test(arguments: [481, 408])
    func aPeerThatDoesNotKnowTheCallEndsIt(status: Int) throws {
        let scene = Scene()
        let allow: [(HeaderName, String)] = [(.allow, "UPDATE"), (.require, "timer"), (.sessionExpires, "90;refresher=uac")]
        _ = try scene.answeredOutgoing(headers: allow)
        scene.peer.onMessage = { [unowned scene] in if $0.isRequest, $0.method == .update { scene.peer.respond(status, to: $0) } }
        scene.network.run(.seconds(50))
        #expect(scene.phone.ends.map(\.cause.code) == ["call.dialog-lost"])
        #expect(scene.settles())
    }

    /// RFC 4916 §4.4.1: from then on our requests name the new one.
    @Test func anotherIdentityIsTakenUp() throws {
        let scene = Scene()
        let (id, tag) = try scene.answeredIncoming()
        let text = [
            "UPDATE \(scene.phoneURI) SIP/2.0", "Via: SIP/2.0/UDP \(scene.peer.address);branch=z9hG4bKu", "Max-Forwards: 70",
            "From: \"Carol\" <sip:carol@10.0.0.9>;tag=peer", "To: <sip:1001@\(scene.phone.address)>;tag=\(tag)", "Call-ID: call-1",
            "CSeq: 2 UPDATE", "Contact: <\(scene.peer.contact)>", "Content-Length: 0", "", "",
        ]
        scene.peer.sendRaw(Array(text.joined(separator: "\r\n").utf8), to: scene.phone)
        scene.network.run(.milliseconds(30))
        #expect(scene.phone.refreshes.last?.from.displayName == "Carol")
        scene.on { $0.hangUp(id, now: $1) }
        scene.network.run(.milliseconds(30))
        let bye = try required(scene.peer.requests(.bye).last)
        #expect(bye.to.uri == (try URI("sip:carol@10.0.0.9")) && bye.to.tag == "peer")
        #expect(scene.settles(within: .seconds(200)))
    }
}
