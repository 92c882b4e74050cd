// SPDX-License-Identifier: Apache-2.0
//
// Hold and resume from either side (RFC 3261 §14, RFC 3264 §8.4), glare, and what fails.

import Essentials
import PhoneCore
import SIP
import SIPAgent
import Testing

@Suite struct HoldTests {
    private func changesAnswered(_ scene: Scene, _ direction: @escaping (SIPMessage) -> String) {
        scene.peer.onRequest = { request in
            if request.method == .invite { scene.peer.respond(200, to: request, sdp: sdp(direction: direction(request), version: 9)) }
        }
    }

    @Test func weHoldAndResume() throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        changesAnswered(scene) { $0.sdpDirection == "sendonly" ? "recvonly" : "sendrecv" }
        try scene.phone.on { try $0.hold(id, now: $1) }
        // Our sound stops at once, before the peer knows.
        #expect(scene.phone.stream?.sends == false && scene.phone.stream?.receives == false)
        scene.bench.run(.milliseconds(50))
        #expect(scene.peer.requests(.invite).last?.sdpDirection == "sendonly")
        #expect(scene.phone.holds == ["local true"])
        try scene.phone.on { try $0.hold(id, now: $1) }
        try scene.phone.on { try $0.resume(id, now: $1) }
        #expect(scene.phone.stream?.sends == false)
        scene.bench.run(.milliseconds(50))
        #expect(scene.peer.requests(.invite).last?.sdpDirection == "sendrecv")
        #expect(scene.peer.requests(.invite).count == 3)
        #expect(scene.phone.stream?.sends == true && scene.phone.stream?.receives == true)
        #expect(scene.phone.holds == ["local true", "local false"])
        #expect(scene.comesToRest())
    }

    @Test func theOtherSideHoldsAndResumes() throws {
        let pair = Pair()
        let (alice, _) = try pair.establish()
        try pair.alice.on { try $0.hold(alice, now: $1) }
        pair.bench.run(.milliseconds(100))
        #expect(pair.alice.holds == ["local true"])
        #expect(pair.bob.holds == ["remote true"])
        #expect(pair.bob.stream?.sends == false && pair.bob.stream?.receives == true)
        try pair.alice.on { try $0.resume(alice, now: $1) }
        pair.bench.run(.milliseconds(100))
        #expect(pair.bob.holds == ["remote true", "remote false"])
        #expect(pair.bob.stream?.sends == true && pair.bob.stream?.receives == true)
        try pair.alice.on { try $0.hangUp(alice, now: $1) }
        #expect(pair.settles())
    }

    /// B-049: an offer `sendonly` is answered `recvonly`, never `sendrecv`.
    @Test(arguments: [
        ("sendonly", "recvonly", false, true), ("recvonly", "sendonly", true, false), ("inactive", "inactive", false, false),
        ("sendrecv", "sendrecv", true, true),
    ])
    func anOfferIsAnsweredWithADirectionThatFits(offer: String, answer: String, sends: Bool, receives: Bool) throws {
        let scene = Scene()
        _ = try scene.answered()
        let response = try scene.reinvite(sdp(direction: offer, version: 2), sequence: 2)
        #expect(response.sdpDirection == answer)
        #expect(scene.phone.stream?.sends == sends && scene.phone.stream?.receives == receives)
        #expect(scene.phone.holds == (offer == "sendonly" || offer == "inactive" ? ["remote true"] : []))
        #expect(scene.comesToRest())
    }

    /// RFC 2543 hold: the address 0.0.0.0.
    @Test func anUnspecifiedAddressIsAHoldToo() throws {
        let scene = Scene()
        _ = try scene.answered()
        let response = try scene.reinvite(sdp(at: "0.0.0.0", version: 2), sequence: 2)
        #expect(response.statusCode == 200)
        #expect(scene.phone.holds == ["remote true"])
        #expect(scene.phone.stream?.sends == false)
        #expect(scene.phone.stream?.remote == nil)
        try scene.reinvite(sdp(version: 3), sequence: 3)
        #expect(scene.phone.holds == ["remote true", "remote false"])
        #expect(scene.phone.stream?.sends == true)
        #expect(scene.phone.stream?.remote == SocketAddress(host(9), 7000))
        #expect(scene.comesToRest())
    }

    /// B-050: both hold; each resumes in turn, in either order.
    @Test(arguments: [true, false])
    func bothHoldAndBothResume(peerFirst: Bool) throws {
        let scene = Scene()
        let id = try scene.answered()
        changesAnswered(scene) { $0.sdpDirection == "sendonly" ? "recvonly" : "sendrecv" }
        try scene.phone.on { try $0.hold(id, now: $1) }
        scene.bench.run(.milliseconds(50))
        #expect(try scene.reinvite(sdp(direction: "sendonly", version: 2), sequence: 2).sdpDirection == "inactive")
        #expect(scene.phone.holds == ["local true", "remote true"])
        if peerFirst {
            // A sendrecv offer while we hold is answered sendonly.
            #expect(try scene.reinvite(sdp(version: 3), sequence: 3).sdpDirection == "sendonly")
            #expect(scene.phone.stream?.sends == false)
            try scene.phone.on { try $0.resume(id, now: $1) }
            scene.bench.run(.milliseconds(50))
        } else {
            changesAnswered(scene) { _ in "sendonly" }
            try scene.phone.on { try $0.resume(id, now: $1) }
            scene.bench.run(.milliseconds(50))
            #expect(scene.phone.stream?.sends == false)
            #expect(try scene.reinvite(sdp(version: 3), sequence: 3).sdpDirection == "sendrecv")
        }
        #expect(Set(scene.phone.holds.suffix(2)) == ["local false", "remote false"])
        #expect(scene.phone.holds.count == 4)
        #expect(scene.phone.stream?.sends == true && scene.phone.stream?.receives == true)
        #expect(scene.comesToRest())
    }

    @Test(arguments: [488, 403, 500, 603])
    func aRefusedHoldLeavesTheCallAsItWas(status: Int) throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        scene.peerAnswers { _ in status }
        try scene.phone.on { try $0.hold(id, now: $1) }
        scene.bench.run(.milliseconds(50))
        #expect(scene.phone.holdFailures.map(\.code) == ["call.change-refused"])
        #expect(scene.phone.holdFailures.first?.status == status)
        #expect(scene.phone.holds.isEmpty)
        #expect(scene.phone.stream?.sends == true && scene.phone.stream?.receives == true)
        #expect(scene.phone.core.state(of: id) == .confirmed)
        // It may be tried again.
        changesAnswered(scene) { _ in "recvonly" }
        try scene.phone.on { try $0.hold(id, now: $1) }
        scene.bench.run(.milliseconds(50))
        #expect(scene.phone.holds == ["local true"])
        #expect(scene.comesToRest())
    }

    @Test(arguments: ["", sdp(port: 0, version: 9), "v=0\r\nnonsense"])
    func aHoldAnsweredWithNonsenseFails(answer: String) throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        scene.peer.onRequest = { if $0.method == .invite { scene.peer.respond(200, to: $0, sdp: answer.isEmpty ? nil : answer) } }
        try scene.phone.on { try $0.hold(id, now: $1) }
        scene.bench.run(.milliseconds(50))
        #expect(scene.phone.holdFailures.map(\.code) == ["call.change.unusable"])
        #expect(scene.phone.stream?.sends == true)
        #expect(scene.phone.core.state(of: id) == .confirmed)
        #expect(scene.comesToRest())
    }

    @Test(arguments: [408, 481])
    func aHoldThatFindsNoDialogEndsTheCall(status: Int) throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        scene.peerAnswers { $0.method == .invite ? status : 200 }
        try scene.phone.on { try $0.hold(id, now: $1) }
        scene.bench.run(.milliseconds(50))
        #expect(scene.phone.core.state(of: id) == .disconnected)
        #expect(scene.phone.ends.first?.end.cause.code == "call.dialog-lost")
        #expect(scene.comesToRest())
    }

    @Test func glareIsTriedAgainAndEndsInTheHold() throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        var refusals = 2
        scene.peer.onRequest = { request in
            guard request.method == .invite else { return }
            refusals -= 1
            if refusals >= 0 {
                scene.peer.respond(491, to: request)
            } else {
                scene.peer.respond(200, to: request, sdp: sdp(direction: "recvonly", version: 9))
            }
        }
        try scene.phone.on { try $0.hold(id, now: $1) }
        scene.bench.run(.milliseconds(50))
        #expect(scene.phone.holds.isEmpty && scene.phone.holdFailures.isEmpty)
        // While it waits our sound stays off.
        #expect(scene.phone.stream?.sends == false)
        scene.bench.run(.seconds(10))
        #expect(scene.phone.holds == ["local true"])
        #expect(scene.peer.requests(.invite).count == 4)
        #expect(scene.comesToRest())
    }

    @Test func aHoldTakenBackWhileItWaitsIsNotSentAgain() throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        scene.peerAnswers { _ in 491 }
        try scene.phone.on { try $0.hold(id, now: $1) }
        scene.bench.run(.milliseconds(50))
        try scene.phone.on { try $0.resume(id, now: $1) }
        scene.bench.run(.seconds(10))
        #expect(scene.peer.requests(.invite).count == 2)
        #expect(scene.phone.holds.isEmpty && scene.phone.holdFailures.isEmpty)
        // And the sound is back.
        #expect(scene.phone.stream?.sends == true && scene.phone.stream?.receives == true)
        #expect(scene.comesToRest())
    }

    /// The change that waits may come about by the peer's own offer: our answer holds already.
    @Test func aHoldThatWaitsComesWithOurAnswerToThePeersOffer() throws {
        let scene = Scene()
        let (id, invite) = try scene.established()
        scene.peerAnswers { _ in 491 }
        try scene.phone.on { try $0.hold(id, now: $1) }
        scene.bench.run(.milliseconds(50))
        #expect(try scene.reinvite(sdp(port: 7800, version: 2), sequence: 7, of: invite).sdpDirection == "sendonly")
        #expect(scene.phone.holds == ["local true"])
        scene.bench.run(.seconds(10))
        // Nothing is left to ask for.
        #expect(scene.peer.requests(.invite).count == 2)
        #expect(scene.phone.holds == ["local true"])
        #expect(scene.comesToRest())
    }

    @Test func bothHoldInTheSameMoment() throws {
        let pair = Pair()
        let (alice, bob) = try pair.establish()
        try pair.alice.on { try $0.hold(alice, now: $1) }
        try pair.bob.on { try $0.hold(bob, now: $1) }
        pair.bench.run(.seconds(20))
        #expect(Set(pair.alice.holds) == ["local true", "remote true"])
        #expect(Set(pair.bob.holds) == ["local true", "remote true"])
        try pair.alice.on { try $0.resume(alice, now: $1) }
        try pair.bob.on { try $0.resume(bob, now: $1) }
        pair.bench.run(.seconds(20))
        for node in [pair.alice, pair.bob] {
            #expect(node.holds.count == 4)
            #expect(node.stream?.sends == true && node.stream?.receives == true)
        }
        try pair.bob.on { try $0.hangUp(bob, now: $1) }
        #expect(pair.settles())
    }

    @Test func aHoldWhileThePeersChangeIsServedWaitsForItsACK() throws {
        let scene = Scene()
        let (id, invite) = try scene.established()
        scene.peer.send(
            "INVITE", to: scene.phone, callID: invite.callID, toTag: invite.from.tag, sequence: 7, body: sdp(port: 7900, version: 2))
        scene.bench.run(.milliseconds(30))
        try scene.phone.on { try $0.hold(id, now: $1) }
        scene.bench.run(.milliseconds(30))
        #expect(scene.peer.requests(.invite).count == 1)
        changesAnswered(scene) { _ in "recvonly" }
        scene.peer.send("ACK", to: scene.phone, callID: invite.callID, toTag: invite.from.tag, sequence: 7)
        scene.bench.run(.milliseconds(100))
        #expect(scene.peer.requests(.invite).count == 2)
        #expect(scene.phone.holds == ["local true"])
        #expect(scene.comesToRest())
    }

    @Test func anAnswerThatHoldsFromTheStartIsTold() throws {
        let scene = Scene()
        _ = try scene.established(sdp(direction: "inactive"))
        #expect(scene.phone.holds == ["remote true"])
        #expect(scene.phone.stream?.sends == false)
        #expect(scene.comesToRest())
    }
}
