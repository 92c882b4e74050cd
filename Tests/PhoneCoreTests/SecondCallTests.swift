// SPDX-License-Identifier: Apache-2.0
//
// A second call while one is up; what the caller hears; a call that goes on through a gateway; an offer that comes late.

import Essentials
import Media
import PhoneCore
import SIP
import SIPAgent
import Testing

@Suite struct SecondCallTests {
    /// The peer agrees to every change and answers every other request with 200.
    private func agreeable(_ scene: Scene) {
        scene.peer.onRequest = { request in
            guard request.method != .ack else { return }
            let body =
                request.method == .invite ? sdp(direction: request.sdpDirection == "sendonly" ? "recvonly" : "sendrecv", version: 2) : nil
            scene.peer.respond(200, to: request, sdp: body)
        }
    }

    private func isHeld(_ scene: Scene, _ id: CallID) throws -> Bool {
        let port = try scene.phone.port(id)
        let last = scene.phone.media.compactMap { command -> StreamConfiguration? in
            if case .configureStream(port, let configuration) = command { configuration } else { nil }
        }.last
        return try !required(last).receives
    }

    @Test func aSecondCallWaitsAndIsAnsweredWithTheFirstOnHold() throws {
        let scene = Scene()
        agreeable(scene)
        let first = try scene.answered(callID: "call-1")
        let second = try scene.ringing(callID: "call-2")
        #expect(scene.phone.incoming.map(\.call.isWaiting) == [false, true])
        #expect(scene.phone.notices == ["waiting"])
        try scene.phone.on { try $0.answerHolding(second, now: $1) }
        scene.bench.run(.milliseconds(50))
        scene.peer.send("ACK", to: scene.phone, callID: "call-2", toTag: scene.tag)
        scene.bench.run(.milliseconds(50))
        #expect(scene.phone.core.state(of: second) == .confirmed)
        #expect(try isHeld(scene, first))
        #expect(try !isHeld(scene, second))
        #expect(scene.phone.holds == ["local true"])
        // Back and forth.
        try scene.phone.on { try $0.swap(to: nil, now: $1) }
        scene.bench.run(.milliseconds(100))
        #expect(try !isHeld(scene, first))
        #expect(try isHeld(scene, second))
        try scene.phone.on { try $0.swap(to: second, now: $1) }
        scene.bench.run(.milliseconds(100))
        #expect(try isHeld(scene, first))
        #expect(try !isHeld(scene, second))
        #expect(refusal { try scene.phone.on { try $0.swap(to: second, now: $1) } } == .wrongState)
        #expect(scene.comesToRest())
    }

    @Test func aSecondCallIsAnsweredAndTheFirstEnds() throws {
        let scene = Scene()
        agreeable(scene)
        let first = try scene.answered(callID: "call-1")
        #expect(refusal { try scene.phone.on { try $0.answerEnding(first, now: $1) } } == .wrongState)
        let second = try scene.ringing(callID: "call-2")
        try scene.phone.on { try $0.answerEnding(second, now: $1) }
        scene.bench.run(.milliseconds(50))
        #expect(scene.phone.ends.map(\.id) == [first])
        #expect(scene.phone.ends.first?.end.cause.code == "call.hung-up")
        #expect(scene.peer.requests(.bye).count == 1)
        #expect(scene.phone.core.state(of: second) == .connecting)
        #expect(scene.comesToRest())
    }

    @Test func nothingIsSwappedWhereNothingIsHeld() throws {
        let scene = Scene()
        _ = try scene.answered()
        #expect(refusal { try scene.phone.on { try $0.swap(to: nil, now: $1) } } == .wrongState)
        #expect(scene.comesToRest())
    }

    @Test(arguments: ["phone", "account", "limit"])
    func aLineThatIsBusyRefusesASecondCall(setting: String) throws {
        let scene = Scene { $0.refusesSecondCall = setting == "phone" }
        try scene.addAccount {
            if setting == "account" { $0.calls.refusesSecondCall = true }
            if setting == "limit" { $0.calls.maximumCalls = 1 }
        }
        _ = try scene.answered(callID: "call-1")
        scene.peer.send("INVITE", to: scene.phone, callID: "call-2", body: sdp())
        scene.bench.run(.milliseconds(30))
        #expect(scene.peer.responses(.invite).last?.statusCode == 486)
        #expect(scene.phone.incoming.count == 1)
        #expect(scene.phone.warnings.map(\.cause.code) == ["call.refused.busy"])
        #expect(scene.comesToRest())
    }

    @Test func anAccountMaySayOtherwiseThanThePhone() throws {
        let scene = Scene { $0.refusesSecondCall = true }
        try scene.addAccount { $0.calls.refusesSecondCall = false }
        _ = try scene.answered(callID: "call-1")
        _ = try scene.ringing(callID: "call-2")
        #expect(scene.phone.incoming.count == 2)
        #expect(scene.comesToRest())
    }
}

@Suite struct RingbackTests {
    @Test func theCallerHearsALocalToneUntilSoundArrives() throws {
        let scene = Scene()
        let (id, invite) = try scene.calling()
        scene.peer.respond(183, to: invite, sdp: sdp())
        scene.bench.run(.milliseconds(30))
        #expect(scene.phone.notices == [])
        scene.peer.respond(180, to: invite)
        scene.bench.run(.milliseconds(30))
        #expect(scene.phone.notices == ["ringback local"])
        scene.phone.give(.sourceLocked(try scene.phone.port(id), SocketAddress(host(9), 7000)))
        #expect(scene.phone.notices == ["ringback local", "ringback early"])
        // 180 after that changes nothing while sound arrives.
        scene.peer.respond(180, to: invite)
        scene.bench.run(.milliseconds(30))
        scene.phone.give(.streamSilent(try scene.phone.port(id), .seconds(5)))
        #expect(scene.phone.notices.last == "ringback local")
        scene.phone.give(.streamResumed(try scene.phone.port(id)))
        scene.peer.respond(200, to: invite, sdp: sdp())
        scene.bench.run(.milliseconds(30))
        #expect(scene.phone.notices == ["local", "early", "local", "early", "off"].map { "ringback \($0)" })
        #expect(scene.comesToRest())
    }

    @Test func soundThatIsNotMeantToBeHeardLeavesTheLocalTone() throws {
        let scene = Scene()
        let (id, invite) = try scene.calling()
        scene.peer.respond(180, to: invite, sdp: sdp(), headers: [("P-Early-Media", "inactive")])
        scene.bench.run(.milliseconds(30))
        scene.phone.give(.sourceLocked(try scene.phone.port(id), SocketAddress(host(9), 7000)))
        #expect(scene.phone.notices == ["ringback local"])
        scene.peer.respond(183, to: invite, sdp: sdp(), headers: [("P-Early-Media", "sendonly, gated")])
        scene.bench.run(.milliseconds(30))
        #expect(scene.phone.notices == ["ringback local", "ringback early"])
        scene.peer.respond(486, to: invite)
        scene.bench.run(.milliseconds(30))
        #expect(scene.phone.notices.last == "ringback off")
        #expect(scene.comesToRest())
    }

    /// Of two early dialogs the one whose sound arrives is heard; the one that answers is taken.
    @Test func theEarlyDialogWithSoundIsHeardAndTheAnswerSwitches() throws {
        let scene = Scene()
        let (id, invite) = try scene.calling()
        scene.peer.respond(183, to: invite, tag: "one", sdp: sdp(port: 7100))
        scene.peer.respond(183, to: invite, tag: "two", sdp: sdp(port: 7200))
        scene.bench.run(.milliseconds(30))
        #expect(scene.phone.stream?.remote?.port == 7200)
        scene.phone.give(.sourceLocked(try scene.phone.port(id), SocketAddress(host(9), 7100)))
        #expect(scene.phone.stream?.remote?.port == 7100)
        // A third one does not take over from what is heard.
        scene.peer.respond(183, to: invite, tag: "three", sdp: sdp(port: 7300))
        scene.bench.run(.milliseconds(30))
        #expect(scene.phone.stream?.remote?.port == 7100)
        scene.peer.respond(200, to: invite, tag: "two", sdp: sdp(port: 7200))
        scene.bench.run(.milliseconds(30))
        #expect(scene.phone.stream?.remote?.port == 7200)
        #expect(scene.phone.core.state(of: id) == .confirmed)
        #expect(scene.comesToRest())
    }
}

@Suite struct GatewayTests {
    private func scene() throws -> (Scene, AccountID) {
        let scene = Scene()
        let account = try scene.addAccount {
            $0.calls.gateway = PSTNGateway(domain: .address(scene.peer.address.ip), port: 5060)
            $0.addressOfRecord.host = .address(scene.peer.address.ip)
        }
        return (scene, account)
    }

    @Test(arguments: [404, 480, 503, 604])
    func aCallThatFailsOverIPGoesOnAsTheSameCall(status: Int) throws {
        let (scene, account) = try scene()
        let (id, invite) = try scene.calling("+1 555-1234", from: account)
        scene.peer.respond(180, to: invite)
        scene.peer.respond(status, to: invite)
        scene.bench.run(.milliseconds(50))
        let second = try required(scene.peer.requests(.invite).last)
        #expect(second.callID != invite.callID)
        #expect("\(second.requestURI)" == "sip:+15551234@10.0.0.9:5060")
        #expect(!second.sdpText.isEmpty)
        scene.peer.respond(200, to: second, sdp: sdp())
        scene.bench.run(.milliseconds(50))
        #expect(scene.phone.core.state(of: id) == .confirmed)
        #expect(scene.phone.notices.filter { $0.hasPrefix("continued") } == ["continued sip:+15551234@10.0.0.9:5060"])
        #expect(scene.phone.states.filter { $0.hasPrefix("disconnected") }.isEmpty)
        // One stream, opened once and configured for what was agreed once.
        #expect(scene.phone.media.filter { if case .openStream = $0 { true } else { false } }.count == 1)
        #expect(scene.phone.mediaEvents.count == 1)
        #expect(scene.comesToRest())
        #expect(scene.phone.media.filter { if case .closePort = $0 { true } else { false } }.count == 1)
        #expect(scene.phone.ends.count == 1)
    }

    @Test(arguments: [486, 603, 403])
    func whoIsBusyOrDeclinesIsNotCalledAgain(status: Int) throws {
        let (scene, account) = try scene()
        let (_, invite) = try scene.calling("5551234", from: account)
        scene.peer.respond(status, to: invite)
        scene.bench.run(.milliseconds(50))
        #expect(scene.peer.requests(.invite).count == 1)
        #expect(scene.phone.ends.count == 1)
        #expect(scene.comesToRest())
    }

    @Test func theGatewaysFailureIsTheEnd() throws {
        let (scene, account) = try scene()
        let (_, invite) = try scene.calling("5551234", from: account)
        scene.peer.respond(404, to: invite)
        scene.bench.run(.milliseconds(50))
        scene.peer.respond(503, to: try required(scene.peer.requests(.invite).last))
        scene.bench.run(.milliseconds(50))
        #expect(scene.peer.requests(.invite).count == 2)
        #expect(scene.phone.ends.map(\.end.cause.status) == [503])
        #expect(scene.comesToRest())
    }

    @Test func aCallThatIsHungUpStaysEnded() throws {
        let (scene, account) = try scene()
        let (id, invite) = try scene.calling("5551234", from: account)
        scene.peer.respond(180, to: invite)
        scene.bench.run(.milliseconds(50))
        try scene.phone.on { try $0.hangUp(id, now: $1) }
        scene.bench.run(.milliseconds(50))
        #expect(scene.peer.requests(.invite).count == 1)
        #expect(scene.comesToRest())
    }
}

@Suite struct LateOfferTests {
    private func calling(_ scene: Scene) throws -> (CallID, SIPMessage) {
        var options = CallOptions()
        options.isLateOffer = true
        let id = try scene.phone.call(scene.target, options: options)
        scene.bench.run(.milliseconds(30))
        return (id, try required(scene.peer.requests(.invite).last))
    }

    @Test func theOfferIn200IsAnsweredInTheACK() throws {
        let scene = Scene()
        let (id, invite) = try calling(scene)
        #expect(invite.body.isEmpty)
        scene.peer.respond(200, to: invite, sdp: sdp(port: 7400, formats: "8"))
        scene.bench.run(.milliseconds(30))
        let ack = try required(scene.peer.requests(.ack).last)
        #expect(ack.sdpText.contains("m=audio 4002 RTP/AVP 8"))
        #expect(scene.phone.stream?.remote?.port == 7400)
        #expect(scene.phone.stream?.codec.name == "PCMA")
        #expect(scene.phone.core.state(of: id) == .confirmed)
        #expect(scene.comesToRest())
    }

    /// RFC 3261 §13.2.2.4: a valid answer in the ACK, then BYE.
    @Test(arguments: [sdp(formats: "18"), sdp(profile: "RTP/SAVP")])
    func anOfferThatCannotBeUsedIsAnsweredWithNothingAndEnded(offer: String) throws {
        let scene = Scene()
        let (_, invite) = try calling(scene)
        scene.peer.respond(200, to: invite, sdp: offer)
        scene.bench.run(.milliseconds(30))
        let ack = try required(scene.peer.requests(.ack).last)
        #expect(ack.sdpText.contains("m=audio 0 RTP/"))
        #expect(scene.peer.requests(.bye).count == 1)
        #expect(scene.phone.ends.first?.end.cause.code == "media.answer.unusable")
        #expect(scene.comesToRest())
    }

    @Test func a200WithoutAnOfferIsEnded() throws {
        let scene = Scene()
        let (_, invite) = try calling(scene)
        scene.peer.respond(200, to: invite)
        scene.bench.run(.milliseconds(30))
        #expect(scene.peer.requests(.ack).count == 1)
        #expect(scene.peer.requests(.bye).count == 1)
        #expect(scene.phone.ends.first?.end.cause.code == "media.answer.unusable")
        #expect(scene.comesToRest())
    }

    @Test func twoPhonesAgreeThroughALateOffer() throws {
        let pair = Pair()
        var options = CallOptions()
        options.isLateOffer = true
        let id = try pair.alice.call("sip:bob@\(pair.bob.address)", options: options)
        pair.bench.run(.milliseconds(100))
        let bob = try required(pair.bob.incoming.last?.id)
        try pair.bob.on { try $0.answer(bob, now: $1) }
        pair.bench.run(.milliseconds(100))
        #expect(pair.alice.core.state(of: id) == .confirmed)
        #expect(pair.bob.core.state(of: bob) == .confirmed)
        #expect(pair.alice.stream?.remote?.ip == pair.bob.address.ip)
        #expect(pair.bob.stream?.remote?.ip == pair.alice.address.ip)
        try pair.alice.on { try $0.hangUp(id, now: $1) }
        #expect(pair.settles())
    }
}

@Suite struct ClosedStreamTests {
    /// RFC 3264 §8.2: the call goes on without sound, and an offer opens the line again.
    @Test func aLineThatThePeerClosesIsLikeAHold() throws {
        let scene = Scene()
        let id = try scene.answered()
        let closed = try scene.reinvite(sdp(port: 0, version: 2), sequence: 2)
        #expect(closed.statusCode == 200)
        #expect(closed.sdpText.contains("m=audio 0 "))
        #expect(scene.phone.stream?.sends == false && scene.phone.stream?.receives == false)
        #expect(scene.phone.holds == ["remote true"])
        scene.bench.run(.seconds(300))
        #expect(scene.phone.core.state(of: id) == .confirmed)
        let opened = try scene.reinvite(sdp(version: 3), sequence: 3)
        #expect(opened.statusCode == 200)
        #expect(scene.phone.stream?.sends == true && scene.phone.stream?.receives == true)
        #expect(scene.phone.holds == ["remote true", "remote false"])
        #expect(scene.comesToRest())
    }

    /// A peer that said good-bye in RTCP is given the time of a silence, no more.
    @Test func aGoodbyeInRTCPStartsTheSilence() throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        let port = try scene.phone.port(id)
        scene.phone.give(.remoteLeft(port))
        scene.bench.run(.seconds(59))
        #expect(scene.phone.core.state(of: id) == .confirmed)
        scene.bench.run(.seconds(2))
        #expect(scene.phone.ends.first?.end.cause.code == "media.peer.vanished")
        #expect(scene.comesToRest())
    }

    @Test func packetsAfterAGoodbyeSaveTheCall() throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        let port = try scene.phone.port(id)
        scene.phone.give(.remoteLeft(port))
        scene.phone.give(.streamResumed(port))
        scene.bench.run(.seconds(100))
        #expect(scene.phone.core.state(of: id) == .confirmed)
        #expect(scene.comesToRest())
    }

    /// What was offered and what we have stand side by side.
    @Test func aCodecMismatchHasItsEvidence() throws {
        let scene = Scene()
        scene.peer.send("INVITE", to: scene.phone, body: sdp(formats: "18 4") + "a=rtpmap:18 G729/8000\r\n")
        scene.bench.run(.milliseconds(30))
        let refusal = try required(scene.peer.responses(.invite).last)
        #expect(refusal.statusCode == 488 && refusal.warnings.first?.code == 305)
        let cause = try required(scene.phone.warnings.first?.cause)
        #expect(cause.evidence.map { "\($0.name)=\($0.value)" }.suffix(2) == ["offered=G729, G723", "ours=PCMU, PCMA"])
        let (_, invite) = try scene.calling()
        scene.peer.respond(488, to: invite, headers: [(.warning, "305 gateway \"G729 only\"")])
        scene.bench.run(.milliseconds(30))
        let end = try required(scene.phone.ends.last?.end.cause)
        #expect(end.code == "call.incompatible")
        #expect(end.evidence.last == .init("offered", "PCMU, PCMA"))
        #expect(end.evidence.contains { $0.name == "Warning" && $0.value.contains("G729 only") })
        #expect(scene.comesToRest())
    }

    @Test func nothingHeardAtAllIsToldOnceWithTheAddresses() throws {
        let scene = Scene()
        let (id, _) = try scene.established(sdp(port: 7500))
        let port = try scene.phone.port(id)
        scene.phone.give(.streamSilent(port, .seconds(5)))
        scene.phone.give(.streamSilent(port, .seconds(9)))
        let cause = try required(scene.phone.warnings.first?.cause)
        #expect(scene.phone.warnings.count == 1)
        #expect(cause.code == "media.nothing-received")
        #expect(cause.evidence.map(\.name) == ["local.media", "remote.media", "remote.signalling"])
        #expect(cause.evidence.map(\.value).last == "10.0.0.9:5060")
        #expect(cause.evidence.map(\.value)[1] == "10.0.0.9:7500")
        #expect(scene.comesToRest())
    }

    @Test func aStreamThatWasHeardIsNotSaidToBeSilentFromTheStart() throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        let port = try scene.phone.port(id)
        scene.phone.give(.sourceLocked(port, SocketAddress(host(9), 7000)))
        scene.phone.give(.streamSilent(port, .seconds(5)))
        #expect(scene.phone.warnings.isEmpty)
        #expect(scene.comesToRest())
    }
}
