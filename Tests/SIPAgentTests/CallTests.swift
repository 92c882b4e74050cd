// SPDX-License-Identifier: Apache-2.0
//
// Whole calls between two agents, without and with loss.

import Essentials
import SIP
import SIPAgent
import Testing

@Suite struct CallTests {
    @Test func aCallIsRungAnsweredHeldResumedAndEndedAndNothingIsLeft() throws {
        let pair = Pair()
        let (alice, bob) = try pair.establish()
        #expect(pair.alice.progress.map(\.statusCode) == [180])
        #expect(pair.alice.answered.count == 1 && pair.bob.confirmed == 1)
        #expect(pair.bob.incoming.first?.1.remote.uri.sip?.host == .address(pair.alice.address.ip))
        pair.bob.onEvent = { event in
            if case .reinvited(let id, _) = event { pair.on(pair.bob) { $0.answerReinvite(id, status: 200, answer: sdpBytes, now: $1) } }
        }
        for round in 1...2 {
            pair.on(pair.alice) { $0.reinvite(alice, offer: sdpBytes, now: $1) }
            pair.network.run(.seconds(1))
            #expect(pair.alice.reinviteAnswers == round && pair.bob.confirmed == 1 + round)
        }
        pair.on(pair.bob) { $0.hangUp(bob, now: $1) }
        #expect(pair.bob.ends.map(\.byRemote) == [false])
        pair.network.run(.milliseconds(100))
        #expect(pair.alice.ends.map(\.cause.code) == ["call.remote-hung-up"])
        #expect(pair.alice.ends.first?.wasEstablished == true && pair.alice.ends.first?.byRemote == true)
        #expect(pair.alice.agent.sessionCount == 0 && pair.bob.agent.sessionCount == 0)
        #expect(pair.alice.agent.dialogCount == 0 && pair.bob.agent.dialogCount == 0)
        #expect(pair.alice.agent.timerCount == 0 && pair.bob.agent.timerCount == 0)
        #expect(pair.settles())
    }

    @Test(arguments: [486, 603, 480, 404])
    func aRefusedCallEndsWithItsCauseOnBothSides(status: Int) throws {
        let pair = Pair()
        _ = try pair.call()
        pair.network.run(.milliseconds(50))
        let bob = try required(pair.incoming)
        pair.on(pair.bob) { $0.reject(bob, status: status, now: $1) }
        pair.network.run(.milliseconds(50))
        let codes = [486: "call.busy", 603: "call.declined", 480: "call.unavailable", 404: "call.not-found"]
        #expect(pair.alice.ends.map(\.cause.code) == [codes[status] ?? ""])
        #expect(pair.alice.ends.first?.cause.status == status)
        #expect(pair.alice.ends.first?.wasEstablished == false)
        #expect(pair.bob.ends.map(\.cause.status) == [status])
        #expect(pair.settles())
    }

    @Test func aCallerWhoGivesUpIsSeenAsCancelled() throws {
        let pair = Pair()
        let id = try pair.call()
        pair.network.run(.milliseconds(50))
        pair.on(pair.bob) { $0.ring(pair.incoming ?? SessionID(rawValue: 0), now: $1) }
        pair.network.run(.milliseconds(50))
        pair.on(pair.alice) { $0.hangUp(id, now: $1) }
        #expect(pair.alice.ends.count == 1)
        pair.network.run(.milliseconds(100))
        #expect(pair.bob.ends.map(\.cause.code) == ["call.cancelled"])
        #expect(pair.bob.sentStatuses(.invite).last == 487)
        #expect(pair.bob.sentStatuses(.cancel) == [200])
        #expect(pair.settles())
    }

    @Test("B-051: an INVITE without an offer gets it in the 200, and the ACK brings the answer")
    func lateOffer() throws {
        let pair = Pair()
        pair.alice.onEvent = { event in
            if case .answered(let id, let message) = event {
                #expect(message.body(ofType: "application", "sdp") == sdpBytes)
                pair.on(pair.alice) { $0.acknowledge(id, answer: sdpBytes, now: $1) }
            }
        }
        let (alice, _) = try pair.establish(offer: nil)
        let ack = try required(pair.alice.sent(.ack).last)
        #expect(Array(ack.body) == sdpBytes)
        #expect(pair.bob.confirmed == 1)
        pair.on(pair.alice) { $0.hangUp(alice, now: $1) }
        #expect(pair.settles())
    }

    @Test("B-052: a late offer whose ACK has no answer is ended with BYE at once")
    func lateOfferWithoutAnswer() throws {
        let scene = Scene()
        let id = try scene.incoming(body: "")
        scene.on { $0.accept(id, answer: sdpBytes, now: $1) }
        scene.network.run(.milliseconds(30))
        let tag = try #require(scene.peer.responses(.invite).last?.to.tag)
        scene.peer.send("ACK", scene.phoneURI, to: scene.phone, toTag: tag)
        scene.network.run(.milliseconds(50))
        #expect(scene.peer.requests(.bye).count == 1)
        #expect(scene.phone.ends.map(\.cause.code) == ["call.no-media-answer"])
        #expect(scene.phone.confirmed == 0)
    }

    @Test("3665-3.6-F5, F12: the answer of a late offer reaches the user with the ACK")
    func lateOfferAnswered() throws {
        let scene = Scene()
        let id = try scene.incoming(body: "")
        scene.on { $0.accept(id, answer: sdpBytes, now: $1) }
        scene.network.run(.milliseconds(30))
        let tag = try #require(scene.peer.responses(.invite).last?.to.tag)
        scene.peer.send("ACK", scene.phoneURI, to: scene.phone, toTag: tag, type: "application/sdp", body: sdpOffer)
        scene.network.run(.milliseconds(50))
        guard case .confirmed(_, let message?) = scene.phone.events.last else {
            Issue.record("not confirmed")
            return
        }
        #expect(message.body(ofType: "application", "sdp") == sdpBytes)
    }

    @Test("both sides hold at once: glare, and both changes are made in the end", arguments: 1...8)
    func glareOfBothSides(seed: Int) throws {
        let pair = Pair(seed: UInt64(seed))
        let (alice, bob) = try pair.establish()
        for node in [pair.alice, pair.bob] {
            node.onEvent = { event in
                pair.network.later(.zero) {
                    switch event {
                    case .reinvited(let id, _): pair.on(node) { $0.answerReinvite(id, status: 200, answer: sdpBytes, now: $1) }
                    case .reinviteDue(let id): pair.on(node) { $0.reinvite(id, offer: sdpBytes, now: $1) }
                    default: break
                    }
                }
            }
        }
        pair.on(pair.alice) { $0.reinvite(alice, offer: sdpBytes, now: $1) }
        pair.on(pair.bob) { $0.reinvite(bob, offer: sdpBytes, now: $1) }
        pair.network.run(.seconds(30))
        #expect(pair.alice.reinviteFailures.first?.0.code == "call.change-glare")
        #expect(pair.alice.reinviteAnswers == 1 && pair.bob.reinviteAnswers == 1)
        pair.on(pair.alice) { $0.hangUp(alice, now: $1) }
        #expect(pair.settles())
    }

    @Test("V-023: hold, resume, hold in a burst: one answer for each re-INVITE, overlapping ones refused")
    func fastHolds() throws {
        let scene = Scene()
        let (id, tag) = try scene.answeredIncoming()
        for sequence in 2...6 {
            scene.peer.send(
                "INVITE", scene.phoneURI, to: scene.phone, toTag: tag, sequence: UInt32(sequence), type: "application/sdp", body: sdpOffer)
        }
        scene.network.run(.milliseconds(100))
        #expect(scene.phone.reinvited.count == 1)
        scene.on { $0.answerReinvite(id, status: 200, answer: sdpBytes, now: $1) }
        scene.network.run(.milliseconds(100))
        let finals = scene.peer.responses(.invite).filter { $0.statusCode >= 200 && $0.cseq.number >= 2 }
        #expect(Dictionary(grouping: finals, by: \.cseq.number).count == 5)
        #expect(finals.filter { $0.statusCode == 200 }.count == 1)
        #expect(finals.filter { $0.statusCode == 500 }.count == 4)
    }

    @Test("B-048: a re-INVITE while BYE is under way: BYE wins, nothing breaks")
    func reinviteDuringBye() throws {
        let scene = Scene()
        let (id, tag) = try scene.answeredIncoming()
        scene.on { $0.hangUp(id, now: $1) }
        scene.peer.send(
            "INVITE", scene.phoneURI, to: scene.phone, toTag: tag, sequence: 2, headers: ["Session-Expires: 1800;refresher=uas"],
            type: "application/sdp", body: sdpOffer)
        scene.network.run(.milliseconds(50))
        #expect(scene.peer.responses(.invite).last?.statusCode == 481)
        scene.peer.respond(200, to: try #require(scene.peer.requests(.bye).last))
        #expect(scene.settles())
    }

    @Test("BYE of both sides at once is answered 200 or 481 and ends the call once on each side")
    func crossingByes() throws {
        let pair = Pair()
        let (alice, bob) = try pair.establish()
        pair.on(pair.alice) { $0.hangUp(alice, now: $1) }
        pair.on(pair.bob) { $0.hangUp(bob, now: $1) }
        #expect(pair.settles())
        #expect(pair.alice.ends.count == 1 && pair.bob.ends.count == 1)
        #expect(pair.alice.sentStatuses(.bye) == [200] && pair.bob.sentStatuses(.bye) == [200])
    }

    @Test("calls come about, are held and end over links that lose packets", arguments: [0, 5, 20], 1...40)
    func lossyCalls(percent: Int, seed: Int) throws {
        let pair = Pair(seed: UInt64(seed))
        var dice = SplitMix64(seed: UInt64(seed &* 31 &+ percent))
        pair.network.loses = { _ in Int(dice.next() % 100) < percent }
        pair.network.delay = .milliseconds(30)
        for node in [pair.alice, pair.bob] {
            node.onEvent = { event in
                pair.network.later(.zero) {
                    switch event {
                    case .incoming(let id, _):
                        pair.on(node) { $0.ring(id, now: $1) }
                        pair.on(node) { $0.accept(id, answer: sdpBytes, now: $1) }
                    case .reinvited(let id, _): pair.on(node) { $0.answerReinvite(id, status: 200, answer: sdpBytes, now: $1) }
                    case .reinviteDue(let id): pair.on(node) { $0.reinvite(id, offer: sdpBytes, now: $1) }
                    default: break
                    }
                }
            }
        }
        let id = try pair.call()
        pair.network.run(atMost: .seconds(40)) { !pair.alice.answered.isEmpty }
        #expect(pair.alice.answered.count == 1)
        pair.on(pair.alice) { $0.reinvite(id, offer: sdpBytes, now: $1) }
        pair.network.run(atMost: .seconds(60)) { pair.alice.reinviteAnswers == 1 }
        pair.on(pair.alice) { $0.hangUp(id, now: $1) }
        #expect(pair.settles())
        #expect(pair.alice.ends.count == 1 && pair.bob.ends.count == 1)
        if percent <= 5 { #expect(pair.alice.reinviteAnswers == 1) }
        #expect(pair.alice.agent.timerCount == 0 && pair.bob.agent.timerCount == 0)
    }

    @Test("the same seed gives the same bytes")
    func determinism() throws {
        func trace() throws -> [[UInt8]] {
            let pair = Pair(seed: 7)
            var dice = SplitMix64(seed: 99)
            pair.network.loses = { _ in dice.next() % 10 == 0 }
            let (alice, _) = try pair.establish()
            pair.on(pair.alice) { $0.hangUp(alice, now: $1) }
            pair.network.run(.seconds(100))
            return pair.network.log.map(\.packet.bytes)
        }
        let one = try trace()
        #expect(one.count >= 6)
        #expect(try trace() == one)
    }

    @Test func infoCarriesDTMFBothWays() throws {
        let pair = Pair()
        let (alice, bob) = try pair.establish()
        pair.on(pair.alice) {
            $0.sendInfo(alice, contentType: "application/dtmf-relay", body: Array("Signal=5\r\nDuration=160\r\n".utf8), now: $1)
        }
        pair.on(pair.bob) { $0.sendInfo(bob, contentType: "application/dtmf", body: Array("7".utf8), now: $1) }
        pair.network.run(.milliseconds(100))
        #expect(pair.bob.infos.map(\.0) == ["application/dtmf-relay"])
        #expect(pair.alice.infos.map(\.1) == [Array("7".utf8)])
        #expect(pair.alice.infoAnswers == [200] && pair.bob.infoAnswers == [200])
        pair.on(pair.alice) { $0.hangUp(alice, now: $1) }
        pair.network.run(.milliseconds(100))
        pair.on(pair.bob) { $0.sendInfo(bob, contentType: "application/dtmf", body: [55], now: $1) }
        #expect(pair.bob.infoAnswers == [200])
    }

    @Test(
        "B-060: what comes by INFO is answered as it deserves",
        arguments: [
            ("application/dtmf-relay", "Signal=1\r\n", [], 200, 1), ("application/dtmf", "1", [], 200, 1),
            ("", "", [], 200, 0), ("application/dtmf-relay", "Signal=1\r\n", ["Info-Package: infinite-jest"], 469, 0),
            ("text/plain", "hello", [], 415, 0),
        ] as [(String, String, [String], Int, Int)])
    func infoBodies(type: String, body: String, headers: [String], status: Int, events: Int) throws {
        let scene = Scene()
        let (_, tag) = try scene.answeredIncoming()
        scene.peer.send(
            "INFO", scene.phoneURI, to: scene.phone, toTag: tag, sequence: 2, headers: headers, type: type.isEmpty ? nil : type, body: body)
        scene.network.run(.milliseconds(50))
        #expect(scene.peer.responses(.info).map(\.statusCode) == [status])
        #expect(scene.phone.infos.count == events)
    }
}
