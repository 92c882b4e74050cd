// SPDX-License-Identifier: Apache-2.0
//
// Our re-INVITE without an offer (RFC 3261 §14.1): the other side offers, our ACK answers.

import Essentials
import PhoneCore
import SIP
import SIPAgent
import Testing

@Suite struct RequestedOfferTests {
    /// Answers an INVITE without an offer with `offer`, and one with an offer as it should be.
    private func answering(_ scene: Scene, _ offer: String?) {
        scene.peer.onRequest = { [unowned peer = scene.peer] request in
            guard request.method == .invite else { return }
            if request.body.isEmpty { return peer.respond(200, to: request, sdp: offer) }
            peer.respond(200, to: request, sdp: sdp(direction: request.sdpDirection == "sendonly" ? "recvonly" : nil, version: 8))
        }
    }

    @Test func theOtherSidesOfferIsAnsweredInTheACK() throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        answering(scene, sdp(port: 7600, formats: "8", version: 2))
        try scene.phone.on { try $0.requestOffer(id, now: $1) }
        scene.bench.run(.milliseconds(100))
        let invite = try required(scene.peer.requests(.invite).last)
        let ack = try required(scene.peer.requests(.ack).last)
        #expect(invite.body.isEmpty && ack.cseq.number == invite.cseq.number)
        #expect(String(decoding: ack.body, as: UTF8.self).contains("m=audio"))
        #expect(scene.phone.stream?.remote?.port == 7600 && scene.phone.stream?.codec.name == "PCMA")
        // A copy of the 2xx gets the same ACK.
        let acks = scene.peer.requests(.ack).count
        scene.peer.respond(200, to: invite, sdp: sdp(port: 7600, formats: "8", version: 2))
        scene.bench.run(.milliseconds(100))
        #expect(scene.peer.requests(.ack).count == acks + 1 && scene.peer.requests(.ack).last?.body == ack.body)
        #expect(scene.phone.holdFailures.isEmpty && scene.comesToRest())
    }

    @Test func itWaitsForAHoldThatIsUnderWay() throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        answering(scene, sdp(port: 7600, version: 9))
        try scene.phone.on { try $0.hold(id, now: $1) }
        try scene.phone.on { try $0.requestOffer(id, now: $1) }
        scene.bench.run(.milliseconds(200))
        #expect(scene.peer.requests(.invite).suffix(2).map(\.body.isEmpty) == [false, true])
        // We still hold, so the answer says so.
        #expect(scene.peer.requests(.ack).last?.sdpDirection == "sendonly" && scene.phone.holds == ["local true"])
        #expect(scene.comesToRest())
    }

    @Test func withoutAnOfferInTheAnswerNothingChanges() throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        answering(scene, nil)
        try scene.phone.on { try $0.requestOffer(id, now: $1) }
        scene.bench.run(.milliseconds(100))
        #expect(scene.peer.requests(.ack).count == 2 && scene.phone.holdFailures.count == 1)
        #expect(scene.phone.core.state(of: id) == .confirmed && scene.phone.stream?.sends == true && scene.comesToRest())
    }

    @Test func anOfferThatCannotBeUsedIsAnsweredAndEndsTheCall() throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        answering(scene, sdp(formats: "3", version: 2))
        try scene.phone.on { try $0.requestOffer(id, now: $1) }
        scene.bench.run(.milliseconds(100))
        #expect(scene.peer.requests(.ack).last?.body.isEmpty == false && scene.peer.requests(.bye).count == 1)
        #expect(scene.phone.core.state(of: id) == .disconnected && scene.comesToRest())
    }

    @Test func aRefusalLeavesTheCallAsItWas() throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        scene.peerAnswers { $0.method == .invite ? 488 : 200 }
        try scene.phone.on { try $0.requestOffer(id, now: $1) }
        scene.bench.run(.milliseconds(100))
        #expect(scene.phone.holdFailures.map(\.status) == [488] && scene.phone.core.state(of: id) == .confirmed)
        #expect(refusal { try scene.phone.on { try $0.requestOffer(CallID(rawValue: 99), now: $1) } } == .noSuchCall)
        #expect(scene.comesToRest())
    }
}
