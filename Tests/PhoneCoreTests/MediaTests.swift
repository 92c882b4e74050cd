// SPDX-License-Identifier: Apache-2.0
//
// What each negotiation makes of the stream: RFC 3264 through RFC 3261 §13 and §14, as the media engine is told it.

import Essentials
import Media
import PhoneCore
import SIP
import SIPAgent
import Testing

@Suite struct MediaTests {
    private func remote(_ scene: Scene) -> String? { scene.phone.stream?.remote?.description }

    @Test func weAreReadyToReceiveFromTheOfferOn() throws {
        let scene = Scene()
        _ = try scene.calling()
        let early = try required(scene.phone.stream)
        #expect(early.receives && !early.sends)
        #expect(early.remote == nil)
        #expect(early.receivable.map(\.name).contains("PCMU") && early.receivable.map(\.name).contains("PCMA"))
        #expect(early.receiveEventPayloadTypes == [101])
        // Nothing is agreed yet, so nothing is told.
        #expect(scene.phone.mediaEvents.isEmpty)
        #expect(scene.comesToRest())
    }

    @Test func theAnswerIn200SetsTheStream() throws {
        let scene = Scene()
        _ = try scene.established(sdp(port: 7100, formats: "8", events: true))
        let stream = try required(scene.phone.stream)
        #expect(stream.remote == SocketAddress(host(9), 7100))
        #expect(stream.remoteRTCP == SocketAddress(host(9), 7101))
        #expect(stream.codec.name == "PCMA")
        #expect(stream.sendEventPayloadType == 101)
        #expect(stream.sends && stream.receives)
        let told = try required(scene.phone.mediaEvents.last)
        #expect(told.codec == stream.codec && told.sends && told.receives && told.hasTelephoneEvent && !told.isSecured)
        #expect(scene.phone.mediaEvents.count == 1)
        #expect(scene.comesToRest())
    }

    @Test func earlyMediaPlaysFromThe183On() throws {
        let scene = Scene()
        let (_, invite) = try scene.calling()
        scene.peer.respond(183, to: invite, sdp: sdp(port: 7200))
        scene.bench.run(.milliseconds(30))
        #expect(remote(scene) == "10.0.0.9:7200")
        #expect(scene.phone.stream?.receives == true)
        #expect(scene.phone.states.last == "early 183 Session Progress")
        // The same dialog says it again, and the 200 the same: nothing changes.
        let told = scene.phone.mediaEvents.count
        scene.peer.respond(183, to: invite, sdp: sdp(port: 7200))
        scene.bench.run(.milliseconds(30))
        scene.peer.respond(200, to: invite, sdp: sdp(port: 7200))
        scene.bench.run(.milliseconds(30))
        #expect(scene.phone.mediaEvents.count == told)
        #expect(scene.phone.states.last == "confirmed 200 OK")
        #expect(scene.comesToRest())
    }

    @Test func eachForkIsHeardAndTheOneThatAnswersStays() throws {
        let scene = Scene()
        let (id, invite) = try scene.calling()
        scene.peer.respond(183, to: invite, tag: "a", sdp: sdp(port: 7000, formats: "0"))
        scene.bench.run(.milliseconds(30))
        #expect(remote(scene) == "10.0.0.9:7000")
        scene.peer.respond(183, to: invite, tag: "b", sdp: sdp(port: 8000, formats: "8"))
        scene.bench.run(.milliseconds(30))
        #expect(remote(scene) == "10.0.0.9:8000")
        #expect(scene.phone.stream?.codec.name == "PCMA")
        scene.peer.respond(200, to: invite, tag: "a", sdp: sdp(port: 7000, formats: "0"))
        scene.bench.run(.milliseconds(30))
        #expect(remote(scene) == "10.0.0.9:7000")
        #expect(scene.phone.stream?.codec.name == "PCMU")
        // The other fork answers too: it is acknowledged and ended, the call stays.
        scene.peer.respond(200, to: invite, tag: "b", sdp: sdp(port: 8000, formats: "8"))
        scene.bench.run(.milliseconds(30))
        #expect(scene.peer.requests(.bye).map(\.to.tag) == ["b"])
        #expect(scene.phone.core.state(of: id) == .confirmed)
        #expect(remote(scene) == "10.0.0.9:7000")
        #expect(scene.comesToRest())
    }

    @Test func aForkThatSpeaksAgainIsHeardAgain() throws {
        let scene = Scene()
        let (_, invite) = try scene.calling()
        for (tag, port) in [("a", 7000), ("b", 8000), ("a", 7000)] as [(String, UInt16)] {
            scene.peer.respond(183, to: invite, tag: tag, sdp: sdp(port: port))
            scene.bench.run(.milliseconds(30))
            #expect(remote(scene) == "10.0.0.9:\(port)")
        }
        #expect(scene.comesToRest())
    }

    /// RFC 3261 §13.2.1: the answer may stand in the provisional response only. Of two forks, each has its own.
    @Test(arguments: ["a", "b"])
    func a200WithoutADescriptionTakesThatOfIts183(tag: String) throws {
        let scene = Scene()
        let (id, invite) = try scene.calling()
        scene.peer.respond(183, to: invite, tag: "a", sdp: sdp(port: 7000))
        scene.peer.respond(183, to: invite, tag: "b", sdp: sdp(port: 8000))
        scene.bench.run(.milliseconds(30))
        scene.peer.respond(200, to: invite, tag: tag)
        scene.bench.run(.milliseconds(30))
        #expect(scene.phone.core.state(of: id) == .confirmed)
        #expect(remote(scene) == (tag == "a" ? "10.0.0.9:7000" : "10.0.0.9:8000"))
        // The exchange is complete: the peer may offer anew.
        scene.tag = invite.from.tag
        scene.peer.send(
            "INVITE", to: scene.phone, callID: invite.callID, toTag: invite.from.tag, fromTag: tag, sequence: 5,
            body: sdp(direction: "sendonly", version: 2))
        scene.bench.run(.milliseconds(30))
        let answer = try required(scene.peer.responses(.invite).last)
        #expect(answer.statusCode == 200)
        #expect(answer.sdpDirection == "recvonly")
        scene.peer.send("ACK", to: scene.phone, callID: invite.callID, toTag: invite.from.tag, fromTag: tag, sequence: 5)
        #expect(scene.comesToRest())
    }

    @Test(
        arguments: [
            ("", "sdp.mismatch"), ("v=0\r\nnonsense", nil), (sdp(port: 0), nil), (sdp(formats: "96"), nil), (sdp(at: "224.0.0.1"), nil),
        ] as [(String, String?)])
    func anAnswerThatCannotBeUsedEndsTheCallInGoodOrder(body: String, code: String?) throws {
        let scene = Scene()
        let (id, invite) = try scene.calling()
        scene.peer.respond(200, to: invite, sdp: body.isEmpty ? nil : body)
        scene.bench.run(.milliseconds(30))
        #expect(scene.phone.core.state(of: id) == .disconnected)
        #expect(scene.peer.requests(.ack).count == 1)
        #expect(scene.peer.requests(.bye).count == 1)
        let end = try required(scene.phone.ends.first?.end)
        #expect(end.cause.code == "media.answer.unusable")
        #expect(!body.isEmpty || !end.cause.sentence.contains(".."))
        #expect(!end.isByRemote)
        #expect(end.cause.evidence.first?.name == "sdp.error")
        #expect(scene.comesToRest())
    }

    @Test func anUnusableEarlyDescriptionIsNotTheEnd() throws {
        let scene = Scene()
        let (id, invite) = try scene.calling()
        scene.peer.respond(183, to: invite, sdp: "v=0\r\nnonsense")
        scene.bench.run(.milliseconds(30))
        #expect(scene.phone.core.state(of: id) == .early)
        scene.peer.respond(200, to: invite, sdp: sdp())
        scene.bench.run(.milliseconds(30))
        #expect(scene.phone.core.state(of: id) == .confirmed)
        #expect(scene.comesToRest())
    }

    // MARK: Incoming

    @Test func theStreamOfAnIncomingCallStartsWithTheAnswer() throws {
        let scene = Scene()
        let id = try scene.ringing(sdp(port: 7300, formats: "8 0"))
        #expect(scene.phone.configurations.isEmpty)
        try scene.phone.on { try $0.answer(id, now: $1) }
        #expect(remote(scene) == "10.0.0.9:7300")
        #expect(scene.phone.stream?.codec.name == "PCMA")
        scene.bench.run(.milliseconds(30))
        let answer = try required(scene.peer.responses(.invite).last)
        #expect(answer.sdpText.contains("m=audio 4002 RTP/AVP 8 0"))
        scene.peer.send("ACK", to: scene.phone, toTag: scene.tag)
        #expect(scene.comesToRest())
    }

    @Test func anInviteWithoutAnOfferGetsOneIn200AndItsAnswerInTheACK() throws {
        let scene = Scene()
        let id = try scene.ringing("")
        try scene.phone.on { try $0.answer(id, now: $1) }
        // We made the offer: ready to receive before the answer comes, and silent till then.
        #expect(scene.phone.stream?.receives == true)
        #expect(scene.phone.stream?.sends == false)
        scene.bench.run(.milliseconds(30))
        let offer = try required(scene.peer.responses(.invite).last)
        #expect(offer.statusCode == 200 && offer.sdpText.contains("m=audio 4002 RTP/AVP"))
        #expect(scene.phone.mediaEvents.isEmpty)
        scene.peer.send("ACK", to: scene.phone, toTag: scene.tag, body: sdp(port: 7400))
        scene.bench.run(.milliseconds(30))
        #expect(scene.phone.states.last == "confirmed 200 OK")
        #expect(remote(scene) == "10.0.0.9:7400")
        #expect(scene.phone.stream?.sends == true)
        #expect(scene.comesToRest())
    }

    @Test(arguments: ["", "v=0\r\nnonsense", sdp(port: 0)])
    func anACKWithoutAUsableAnswerEndsTheCall(ack: String) throws {
        let scene = Scene()
        let id = try scene.ringing("")
        try scene.phone.on { try $0.answer(id, now: $1) }
        scene.bench.run(.milliseconds(30))
        scene.peer.send("ACK", to: scene.phone, toTag: scene.tag, body: ack)
        scene.bench.run(.milliseconds(30))
        #expect(scene.phone.core.state(of: id) == .disconnected)
        #expect(scene.peer.requests(.bye).count == 1)
        let code = scene.phone.ends.first?.end.cause.code
        #expect(code == (ack.isEmpty ? "call.no-media-answer" : "media.answer.unusable"))
        #expect(scene.comesToRest())
    }

    @Test func aReinviteWithoutAnOfferIsOfferedAndAnsweredInTheACK() throws {
        let scene = Scene()
        let (id, invite) = try scene.established()
        let offer = try scene.reinvite("", sequence: 7, of: invite, ack: sdp(port: 7500, version: 2))
        #expect(offer.statusCode == 200)
        #expect(offer.sdpText.contains("m=audio 4002"))
        #expect(remote(scene) == "10.0.0.9:7500")
        #expect(scene.phone.core.state(of: id) == .confirmed)
        // And the phone can still change the call.
        scene.peer.onRequest = { if $0.method == .invite { scene.peer.respond(200, to: $0, sdp: sdp(direction: "recvonly", version: 3)) } }
        try scene.phone.on { try $0.hold(id, now: $1) }
        scene.bench.run(.milliseconds(50))
        #expect(scene.phone.holds == ["local true"])
        #expect(scene.comesToRest())
    }

    @Test(arguments: [
        (sdp(profile: "RTP/SAVP"), 488), (sdp(profile: "UDP/TLS/RTP/SAVPF"), 488), (sdp(formats: "96"), 488),
        (sdp().replacing("m=audio", with: "m=video"), 488), ("v=0\r\nnonsense", 400), (sdp(at: "255.255.255.255"), 488),
    ])
    func anOfferThatCannotBeAnsweredNeverRings(offer: String, status: Int) throws {
        let scene = Scene()
        scene.peer.send("INVITE", to: scene.phone, body: offer)
        scene.bench.run(.milliseconds(30))
        #expect(scene.bench.statuses(by: scene.phone, .invite) == [status])
        #expect(scene.phone.states.isEmpty && scene.phone.ends.isEmpty)
        #expect(scene.phone.media.isEmpty)
        #expect(scene.phone.warnings.map(\.cause.code) == ["call.refused.media"])
        #expect(scene.phone.warnings.first?.cause.status == status)
        scene.peer.send("ACK", to: scene.phone, toTag: scene.peer.responses(.invite).last?.to.tag)
        #expect(scene.comesToRest())
    }

    @Test(arguments: [sdp(profile: "RTP/SAVP", version: 2), sdp(formats: "96", version: 2), "v=0\r\nnonsense"])
    func aChangeThatCannotBeTakenLeavesTheCallAsItWas(offer: String) throws {
        let scene = Scene()
        let (id, invite) = try scene.established()
        let before = scene.phone.stream
        let answer = try scene.reinvite(offer, sequence: 7, of: invite)
        #expect(answer.statusCode == (offer.contains("nonsense") ? 400 : 488))
        scene.peer.send("ACK", to: scene.phone, callID: invite.callID, toTag: scene.tag, sequence: 7)
        #expect(scene.phone.stream == before)
        #expect(scene.phone.core.state(of: id) == .confirmed)
        #expect(scene.phone.warnings.map(\.cause.code) == ["call.change.refused"])
        #expect(scene.phone.warnings.first?.id == id)
        // What was agreed counts on: our next offer names the codec in use first, and is understood.
        scene.peer.onRequest = { if $0.method == .invite { scene.peer.respond(200, to: $0, sdp: sdp(direction: "recvonly", version: 3)) } }
        try scene.phone.on { try $0.hold(id, now: $1) }
        scene.bench.run(.milliseconds(50))
        #expect(scene.phone.holds == ["local true"])
        #expect(scene.peer.requests(.invite).last?.sdpText.contains("m=audio 4002 RTP/AVP 0 ") == true)
        #expect(scene.comesToRest())
    }

    @Test func thePeerMayMoveItsMedia() throws {
        let scene = Scene()
        let (_, invite) = try scene.established()
        try scene.reinvite(sdp(port: 9000, at: "10.0.0.10", version: 2), sequence: 7, of: invite)
        #expect(remote(scene) == "10.0.0.10:9000")
        #expect(scene.phone.mediaEvents.count == 2)
        #expect(scene.phone.holds.isEmpty)
        #expect(scene.comesToRest())
    }

    @Test func theSourceOfThePeerAndItsStatisticsAreTold() throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        let port = try scene.phone.port(id)
        scene.phone.give(.sourceLocked(port, SocketAddress(host(9), 7000)))
        try scene.phone.on { core, _ in try core.requestStatistics(id) }
        guard case .reportStatistics(port)? = scene.phone.media.last else { throw Missing() }
        var figures = StreamStatistics()
        figures.packetsReceived = 7
        scene.phone.give(.statistics(port, figures))
        let told = scene.phone.events.contains { if case .statistics(id, figures, isFinal: false) = $0 { true } else { false } }
        #expect(told)
        #expect(scene.phone.events.contains { if case .mediaSource(id, SocketAddress(host(9), 7000)) = $0 { true } else { false } })
        #expect(scene.comesToRest())
    }
}
