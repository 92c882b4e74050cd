// SPDX-License-Identifier: Apache-2.0
//
// Who calls and how the call came; calls that answer themselves; offer and answer before the answer of a person.

import Essentials
import PhoneCore
import SIP
import SIPAgent
import Testing

@Suite struct CallerTests {
    private let asserting = [
        "P-Asserted-Identity: \"Reception\" <sip:+15551000@example.net>", "Privacy: id",
        "Diversion: <sip:1003@example.net>;reason=no-answer",
        "History-Info: <sip:1003@example.net>;index=1, <sip:1001@example.net?Reason=SIP%3Bcause%3D302>;index=1.1;rc=1",
    ]

    /// The peer is the account's server: located for a registration or a call before.
    private func withServer(_ scene: Scene, _ change: (inout AccountConfiguration) -> Void = { _ in }) throws {
        let account = try scene.addAccount(change)
        let (id, invite) = try scene.calling("1002", from: account)
        scene.peer.respond(486, to: invite)
        scene.bench.run(.milliseconds(50))
        #expect(scene.phone.ends.last?.id == id)
    }

    @Test func theServersWordIsShownAndTheWayOfTheCall() throws {
        let scene = Scene()
        try withServer(scene)
        _ = try scene.ringing(headers: asserting)
        let identity = try required(scene.phone.incoming.last?.call.identity)
        #expect(identity.asserted?.displayName == "Reception")
        #expect(identity.asserted.map { "\($0.uri)" } == "sip:+15551000@example.net")
        #expect(identity.isAnonymous)
        #expect(identity.diversions.map { "\($0.by.uri) \($0.reason ?? "")" } == ["sip:1003@example.net no-answer"])
        #expect(identity.history.map { "\($0.index) \($0.target.uri)" } == ["1 sip:1003@example.net", "1.1 sip:1001@example.net"])
        #expect(identity.history.last?.reason?.cause == 302)
        #expect(scene.phone.notices.contains("identity \"Reception\" <sip:+15551000@example.net>"))
        #expect(scene.comesToRest())
    }

    /// Anybody can write the field; only the account's own server is believed.
    @Test(arguments: ["direct", "distrusted"])
    func nobodyElseIsBelieved(who: String) throws {
        let scene = Scene()
        if who == "distrusted" { try withServer(scene) { $0.calls.trustsServer = false } }
        _ = try scene.ringing(headers: asserting)
        let identity = try required(scene.phone.incoming.last?.call.identity)
        #expect(identity.asserted == nil)
        #expect(identity.claimed.displayName == "A Peer")
        #expect(scene.comesToRest())
    }

    @Test func anOlderServersWordIsUnderstoodToo() throws {
        let scene = Scene()
        try withServer(scene)
        _ = try scene.ringing(headers: ["Remote-Party-ID: \"Bob\" <sip:2000@example.net>;party=calling;privacy=full"])
        let identity = try required(scene.phone.incoming.last?.call.identity)
        #expect(identity.asserted.map { "\($0)" } == "\"Bob\" <sip:2000@example.net>")
        #expect(identity.isAnonymous)
        #expect(scene.comesToRest())
    }

    @Test func aPlainCallHasNothingToSay() throws {
        let scene = Scene()
        _ = try scene.ringing()
        #expect(scene.phone.incoming.last?.call.identity == nil)
        #expect(scene.phone.notices.isEmpty)
        #expect(scene.comesToRest())
    }

    @Test func whoIsConnectedIsToldWhenItChanges() throws {
        let scene = Scene()
        let id = try scene.answered()
        scene.peer.send(
            "UPDATE", to: scene.phone, toTag: scene.tag, sequence: 2, from: "\"Carol\" <sip:carol@\(scene.peer.address)>")
        scene.bench.run(.milliseconds(30))
        #expect(scene.phone.notices == ["identity \"Carol\" <sip:carol@10.0.0.9:5060>"])
        scene.peer.send(
            "UPDATE", to: scene.phone, toTag: scene.tag, sequence: 3, from: "\"Carol\" <sip:carol@\(scene.peer.address)>")
        scene.bench.run(.milliseconds(30))
        #expect(scene.phone.notices.count == 1)
        // Another port is no other person.
        scene.peer.send("UPDATE", to: scene.phone, toTag: scene.tag, sequence: 4, from: "<sip:carol@\(scene.peer.address.ip):5099>")
        scene.bench.run(.milliseconds(30))
        #expect(scene.phone.notices.count == 1)
        #expect(scene.phone.core.state(of: id) == .confirmed)
        #expect(scene.comesToRest())
    }
}

@Suite struct AutoAnswerTests {
    private static let wishes: [(header: String, field: String)] = [
        ("Answer-Mode: Auto", "Answer-Mode"), ("Priv-Answer-Mode: auto;require", "Priv-Answer-Mode"),
        ("Call-Info: <sip:10.0.0.9>;answer-after=0", "Call-Info"), ("Alert-Info: <http://x>;info=alert-autoanswer", "Alert-Info"),
        ("Alert-Info: Auto Answer", "Alert-Info"), ("Alert-Info: <http://x>;info=RingAnswer", "Alert-Info"),
    ]

    @Test(arguments: wishes)
    func aCallAnswersItselfWhereThatIsAllowed(header: String, field: String) throws {
        let scene = Scene { $0.autoAnswer = .any }
        scene.peer.send("INVITE", to: scene.phone, headers: [header], body: sdp())
        scene.bench.run(.milliseconds(50))
        let answer = try required(scene.peer.responses(.invite).last)
        #expect(answer.statusCode == 200 && answer.first("Answer-Mode") == "Auto")
        #expect(scene.phone.notices == ["autoanswer \(field) true"])
        #expect(scene.comesToRest())
    }

    @Test(arguments: [AutoAnswer.off, .trusted])
    func byDefaultAndFromStrangersItRings(setting: AutoAnswer) throws {
        let scene = Scene { $0.autoAnswer = setting }
        let id = try scene.ringing(headers: ["Answer-Mode: Auto"])
        scene.bench.run(.seconds(5))
        #expect(scene.phone.core.state(of: id) == .incoming)
        #expect(scene.phone.notices == ["autoanswer Answer-Mode false"])
        #expect(scene.comesToRest())
    }

    /// RFC 5373 §4.4.
    @Test func whoInsistsIsRefusedWhereItIsNotAllowed() throws {
        let scene = Scene()
        scene.peer.send("INVITE", to: scene.phone, headers: ["Answer-Mode: Auto;require"], body: sdp())
        scene.bench.run(.milliseconds(50))
        #expect(scene.peer.responses(.invite).last?.statusCode == 403)
        #expect(scene.phone.warnings.map(\.cause.code) == ["call.refused.auto-answer"])
        #expect(scene.comesToRest())
    }

    @Test func itRingsAsLongAsTheCallerSays() throws {
        let scene = Scene { $0.autoAnswer = .any }
        let id = try scene.ringing(headers: ["Call-Info: <sip:x>;answer-after=3"])
        scene.bench.run(.milliseconds(2900))
        #expect(scene.phone.core.state(of: id) == .incoming)
        scene.bench.run(.milliseconds(200))
        #expect(scene.phone.core.state(of: id) == .connecting)
        #expect(scene.comesToRest())
    }

    @Test func aCallThatWaitsDoesNotAnswerItself() throws {
        let scene = Scene { $0.autoAnswer = .any }
        _ = try scene.answered(callID: "call-1")
        let second = try scene.ringing(callID: "call-2", headers: ["Answer-Mode: Auto"])
        scene.bench.run(.seconds(1))
        #expect(scene.phone.core.state(of: second) == .incoming)
        #expect(scene.comesToRest())
    }

    @Test(arguments: [
        "Answer-Mode: Manual", "Answer-Mode: ", "Call-Info: <sip:x>;answer-after=-1", "Alert-Info: <urn:alert:tone:internal>",
    ])
    func whatAsksForNothingRings(header: String) throws {
        let scene = Scene { $0.autoAnswer = .any }
        let id = try scene.ringing(headers: [header])
        scene.bench.run(.seconds(1))
        #expect(scene.phone.core.state(of: id) == .incoming)
        #expect(scene.phone.notices.isEmpty)
        #expect(scene.comesToRest())
    }
}

@Suite struct EarlyExchangeTests {
    @Test func aCallWithoutAnOfferThatIsToldReliablyIsAgreedWhileItRings() throws {
        let scene = Scene()
        scene.peer.send("INVITE", to: scene.phone, headers: ["Require: 100rel"])
        scene.bench.run(.milliseconds(30))
        let ringing = try required(scene.peer.responses(.invite).last)
        #expect(ringing.statusCode == 180 && ringing.sdpText.contains("m=audio 4002"))
        let id = try required(scene.phone.incoming.last?.id)
        try scene.phone.on { try $0.answer(id, now: $1) }
        scene.bench.run(.milliseconds(30))
        #expect(!scene.peer.responses(.invite).contains { $0.statusCode == 200 })
        scene.peer.send(
            "PRACK", to: scene.phone, toTag: ringing.to.tag, sequence: 2, headers: ["RAck: \(ringing.first(.rseq) ?? "") 1 INVITE"],
            body: sdp(port: 7600))
        scene.bench.run(.milliseconds(30))
        let success = try required(scene.peer.responses(.invite).last)
        #expect(success.statusCode == 200 && success.body.isEmpty)
        scene.peer.send("ACK", to: scene.phone, toTag: ringing.to.tag)
        scene.bench.run(.milliseconds(30))
        #expect(scene.phone.core.state(of: id) == .confirmed)
        #expect(scene.phone.stream?.remote?.port == 7600)
        #expect(scene.comesToRest())
    }

    @Test(arguments: ["", sdp(formats: "18")])
    func aPRACKWithoutAUsableAnswerEndsTheCall(answer: String) throws {
        let scene = Scene()
        scene.peer.send("INVITE", to: scene.phone, headers: ["Require: 100rel"])
        scene.bench.run(.milliseconds(30))
        let ringing = try required(scene.peer.responses(.invite).last)
        scene.peer.send(
            "PRACK", to: scene.phone, toTag: ringing.to.tag, sequence: 2, headers: ["RAck: \(ringing.first(.rseq) ?? "") 1 INVITE"],
            body: answer)
        scene.bench.run(.milliseconds(30))
        #expect(scene.peer.responses(.invite).last.map { $0.statusCode >= 400 } == true)
        #expect(scene.phone.ends.map(\.end.cause.code) == ["media.answer.unusable"])
        #expect(scene.comesToRest())
    }

    @Test func anUPDATEChangesTheSession() throws {
        let scene = Scene()
        let id = try scene.answered()
        scene.peer.send("UPDATE", to: scene.phone, toTag: scene.tag, sequence: 2, body: sdp(port: 7700, direction: "sendonly", version: 2))
        scene.bench.run(.milliseconds(30))
        let answer = try required(scene.peer.responses(.update).last)
        #expect(answer.statusCode == 200 && answer.sdpDirection == "recvonly")
        #expect(scene.phone.stream?.remote?.port == 7700)
        #expect(scene.phone.holds == ["remote true"])
        scene.peer.send("UPDATE", to: scene.phone, toTag: scene.tag, sequence: 3, body: sdp(formats: "18", version: 3))
        scene.bench.run(.milliseconds(30))
        #expect(scene.peer.responses(.update).last?.statusCode == 488)
        #expect(scene.phone.core.state(of: id) == .confirmed)
        #expect(scene.phone.stream?.remote?.port == 7700)
        #expect(scene.comesToRest())
    }

    @Test func aLateOfferInAReliable183IsAgreedBeforeTheAnswer() throws {
        let scene = Scene()
        var options = CallOptions()
        options.isLateOffer = true
        let id = try scene.phone.call(scene.target, options: options)
        scene.bench.run(.milliseconds(30))
        let invite = try required(scene.peer.requests(.invite).last)
        scene.peer.onRequest = { request in if request.method == .prack { scene.peer.respond(200, to: request) } }
        scene.peer.respond(183, to: invite, sdp: sdp(port: 7800), headers: [(.require, "100rel"), (.rseq, "1")])
        scene.bench.run(.milliseconds(30))
        #expect(scene.peer.requests(.prack).last?.sdpText.contains("m=audio 4002") == true)
        #expect(scene.phone.stream?.remote?.port == 7800)
        scene.peer.respond(200, to: invite)
        scene.bench.run(.milliseconds(30))
        #expect(scene.peer.requests(.ack).last?.body.isEmpty == true)
        #expect(scene.phone.core.state(of: id) == .confirmed)
        #expect(scene.phone.stream?.remote?.port == 7800)
        #expect(scene.comesToRest())
    }

    /// Two of our own phones, everything reliable.
    @Test(arguments: [false, true])
    func twoPhonesThatRingReliablyAgree(isLate: Bool) throws {
        let pair = Pair { $0.agent.reliableProgress = .whenSupported }
        var options = CallOptions()
        options.isLateOffer = isLate
        let id = try pair.alice.call("sip:bob@\(pair.bob.address)", options: options)
        pair.bench.run(.milliseconds(200))
        #expect(pair.bench.sent(by: pair.alice, .prack).count == 1)
        #expect(pair.bench.statuses(by: pair.bob, .prack) == [200])
        let bob = try required(pair.bob.incoming.last?.id)
        try pair.bob.on { try $0.answer(bob, now: $1) }
        pair.bench.run(.milliseconds(200))
        #expect(pair.alice.core.state(of: id) == .confirmed && pair.bob.core.state(of: bob) == .confirmed)
        #expect(pair.alice.stream?.remote?.ip == pair.bob.address.ip && pair.bob.stream?.remote?.ip == pair.alice.address.ip)
        try pair.bob.on { try $0.hangUp(bob, now: $1) }
        #expect(pair.settles())
    }

    @Test func anINVITEWithItsOfferIsSmall() throws {
        let scene = Scene()
        let (_, invite) = try scene.calling()
        #expect(invite.bytes.count < 1000)
        #expect(scene.comesToRest())
    }
}
