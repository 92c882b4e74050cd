// SPDX-License-Identifier: Apache-2.0
//
// Dialogs: the rows B-033…B-044 of the cases, seen by a scripted peer.

import Essentials
import SIP
import SIPAgent
import Testing

@Suite struct DialogTests {
    @Test("B-033: 180 with tag A, then 183 with tag B are two early dialogs")
    func twoEarlyDialogs() throws {
        let scene = Scene()
        let (id, invite) = try scene.outgoing()
        scene.peer.respond(180, to: invite, tag: "A", contact: scene.peer.contact)
        scene.peer.respond(183, to: invite, tag: "B", contact: "sip:other@10.0.0.9:5070", body: sdpOffer)
        scene.network.run(.milliseconds(50))
        #expect(scene.phone.progress.map { $0.to.tag } == ["A", "B"])
        #expect(scene.phone.agent.dialogCount == 2)
        scene.peer.respond(183, to: invite, tag: "B", contact: "sip:other@10.0.0.9:5070")
        scene.network.run(.milliseconds(50))
        #expect(scene.phone.agent.dialogCount == 2)
        scene.on { $0.hangUp(id, now: $1) }
        scene.network.run(.milliseconds(50))
        scene.peer.respond(487, to: invite)
        #expect(scene.settles())
    }

    @Test("B-034: 180 with tag A, 200 with tag B: ACK and BYE carry tag B and go to the Contact of the 200")
    func tagOfTheSuccess() throws {
        let scene = Scene()
        let (id, invite) = try scene.outgoing()
        scene.peer.respond(180, to: invite, tag: "A", contact: "sip:a@10.0.0.9")
        scene.network.run(.milliseconds(50))
        scene.peer.respond(200, to: invite, tag: "B", contact: "sip:b@10.0.0.9:5060", body: sdpOffer)
        scene.network.run(.milliseconds(50))
        let ack = try #require(scene.peer.requests(.ack).last)
        #expect(ack.to.tag == "B" && ack.requestURI.sip?.user == "b")
        #expect(scene.phone.agent.dialogCount == 1)
        scene.on { $0.hangUp(id, now: $1) }
        scene.network.run(.milliseconds(50))
        let bye = try #require(scene.peer.requests(.bye).last)
        #expect(bye.to.tag == "B" && bye.requestURI.sip?.user == "b")
        #expect(bye.cseq.number == invite.cseq.number + 1)
        scene.peer.respond(200, to: bye)
        #expect(scene.settles())
    }

    @Test("§13.2.2.4: a second fork that answers too gets its ACK, then BYE")
    func secondFork() throws {
        let scene = Scene()
        let (_, invite) = try scene.outgoing()
        scene.peer.respond(200, to: invite, tag: "B", contact: scene.peer.contact, body: sdpOffer)
        scene.network.run(.milliseconds(50))
        scene.peer.respond(200, to: invite, tag: "C", contact: scene.peer.contact, body: sdpOffer)
        scene.network.run(.milliseconds(50))
        #expect(scene.peer.requests(.ack).map { $0.to.tag } == ["B", "C"])
        #expect(scene.peer.requests(.bye).map { $0.to.tag } == ["C"])
        #expect(scene.phone.answered.count == 1 && scene.phone.ends.isEmpty)
        #expect(scene.phone.agent.counters[.extraFork] == 1)
    }

    @Test("B-035: 180 and 200 without any To tag make a call all the same")
    func noTag() throws {
        let scene = Scene()
        let (id, invite) = try scene.outgoing()
        scene.peer.respond(180, to: invite, tag: nil)
        scene.peer.respond(200, to: invite, tag: nil, contact: scene.peer.contact, body: sdpOffer)
        scene.network.run(.milliseconds(50))
        #expect(scene.phone.answered.count == 1)
        let ack = try #require(scene.peer.requests(.ack).last)
        #expect(ack.to.tag == nil)
        scene.on { $0.hangUp(id, now: $1) }
        scene.network.run(.milliseconds(50))
        let bye = try #require(scene.peer.requests(.bye).last)
        #expect(bye.to.tag == nil)
        scene.peer.respond(200, to: bye, tag: nil)
        #expect(scene.settles())
    }

    @Test("B-036: CANCEL crosses the 200: the 200 is acknowledged, then BYE")
    func cancelCrossesSuccess() throws {
        let scene = Scene()
        let (id, invite) = try scene.outgoing()
        scene.peer.respond(180, to: invite, contact: scene.peer.contact)
        scene.network.run(.milliseconds(30))
        scene.peer.respond(200, to: invite, contact: scene.peer.contact, body: sdpOffer)
        scene.on { $0.hangUp(id, now: $1) }
        #expect(scene.phone.ends.map(\.cause.code) == ["call.hung-up"], "over for the user at once")
        scene.network.run(.milliseconds(50))
        #expect(scene.peer.requests(.cancel).count == 1)
        #expect(scene.peer.requests(.ack).count == 1)
        #expect(scene.peer.requests(.bye).count == 1)
        #expect(scene.phone.answered.isEmpty)
        scene.peer.respond(200, to: try #require(scene.peer.requests(.bye).last))
        scene.peer.respond(200, to: try #require(scene.peer.requests(.cancel).last))
        #expect(scene.settles())
    }

    @Test("B-037: CANCEL waits for a provisional response; one that comes after it changes nothing")
    func cancelWaits() throws {
        let scene = Scene()
        let (id, invite) = try scene.outgoing()
        scene.on { $0.hangUp(id, now: $1) }
        scene.network.run(.milliseconds(50))
        #expect(scene.peer.requests(.cancel).isEmpty)
        scene.peer.respond(100, to: invite, tag: nil)
        scene.network.run(.milliseconds(50))
        let cancel = try #require(scene.peer.requests(.cancel).last)
        #expect(cancel.topVia.branch == invite.topVia.branch && cancel.cseq.number == invite.cseq.number)
        scene.peer.respond(180, to: invite, contact: scene.peer.contact)
        scene.network.run(.milliseconds(50))
        #expect(scene.phone.progress.isEmpty && scene.phone.answered.isEmpty)
        scene.peer.respond(200, to: cancel)
        scene.peer.respond(487, to: invite)
        scene.network.run(.milliseconds(50))
        #expect(scene.phone.ends.count == 1 && scene.peer.requests(.ack).count == 1)
        #expect(scene.settles())
    }

    @Test("B-037: a peer that answers CANCEL but never the INVITE is given up after 64*T1")
    func cancelWithoutFinal() throws {
        let scene = Scene()
        let (id, invite) = try scene.outgoing()
        scene.peer.respond(180, to: invite, contact: scene.peer.contact)
        scene.network.run(.milliseconds(50))
        scene.on { $0.hangUp(id, now: $1) }
        scene.network.run(.milliseconds(50))
        scene.peer.respond(200, to: try #require(scene.peer.requests(.cancel).last))
        #expect(scene.phone.agent.sessionCount == 1)
        #expect(scene.settles(within: .seconds(40)))
    }

    @Test("B-038: each copy of the 200 gets the ACK again")
    func ackForEachCopy() throws {
        let scene = Scene()
        let (id, invite) = try scene.answeredOutgoing()
        for _ in 0..<3 {
            scene.peer.respond(200, to: invite, contact: scene.peer.contact, body: sdpOffer)
            scene.network.run(.milliseconds(50))
        }
        let acks = scene.peer.requests(.ack)
        #expect(acks.count == 4)
        #expect(Set(acks.map(\.bytes)).count == 1, "the same ACK")
        #expect(scene.phone.answered.count == 1)
        scene.on { $0.hangUp(id, now: $1) }
        scene.network.run(.milliseconds(50))
        scene.peer.respond(200, to: try #require(scene.peer.requests(.bye).last))
        scene.network.run(.milliseconds(50))
        #expect(scene.phone.agent.sessionCount == 0)
        scene.peer.respond(200, to: invite, contact: scene.peer.contact, body: sdpOffer)
        scene.network.run(.milliseconds(50))
        #expect(scene.peer.requests(.ack).count == 5, "also after the end of the call")
        #expect(scene.settles())
    }

    @Test("B-039: without ACK the 200 is repeated for 64*T1, then BYE")
    func noACK() throws {
        let scene = Scene()
        let id = try scene.incoming()
        scene.on { $0.accept(id, answer: sdpBytes, now: $1) }
        scene.network.run(.seconds(31))
        #expect(scene.phone.ends.isEmpty)
        let copies = scene.peer.responses(.invite).filter { $0.statusCode == 200 }
        #expect(copies.count == 10, "T1 doubling to T2: 0, .5, 1.5, 3.5, 7.5, 11.5 … 27.5")
        #expect(Set(copies.map(\.bytes)).count == 1)
        scene.network.run(.milliseconds(1200))
        #expect(scene.peer.requests(.bye).count == 1)
        #expect(scene.phone.ends.map(\.cause.code) == ["call.no-ack"])
        #expect(scene.phone.agent.counters[.missingACK] == 1)
        scene.peer.respond(200, to: try #require(scene.peer.requests(.bye).last))
        #expect(scene.settles())
    }

    @Test("B-040: a second INVITE while the first is unanswered gets 500 with Retry-After 0–10")
    func overlappingInvite() throws {
        let scene = Scene()
        let (_, tag) = try scene.answeredIncoming()
        scene.peer.send("INVITE", scene.phoneURI, to: scene.phone, toTag: tag, sequence: 2, type: "application/sdp", body: sdpOffer)
        scene.network.run(.milliseconds(50))
        #expect(scene.phone.reinvited.count == 1)
        scene.peer.send("INVITE", scene.phoneURI, to: scene.phone, toTag: tag, sequence: 3, type: "application/sdp", body: sdpOffer)
        scene.network.run(.milliseconds(50))
        let refusal = try #require(scene.peer.responses(.invite).last)
        #expect(refusal.statusCode == 500 && refusal.cseq.number == 3)
        #expect((0...10).contains(try #require(refusal.first(.retryAfter).flatMap { Int($0) })))
        #expect(scene.phone.reinvited.count == 1)
    }

    @Test("B-040: an INVITE while ours is pending gets 491")
    func glare() throws {
        let scene = Scene()
        let (id, tag) = try scene.answeredIncoming()
        scene.on { $0.reinvite(id, offer: sdpBytes, now: $1) }
        scene.network.run(.milliseconds(50))
        #expect(scene.peer.requests(.invite).count == 1)
        scene.peer.send("INVITE", scene.phoneURI, to: scene.phone, toTag: tag, sequence: 2, type: "application/sdp", body: sdpOffer)
        scene.network.run(.milliseconds(50))
        #expect(scene.peer.responses(.invite).last?.statusCode == 491)
        #expect(scene.phone.reinvited.isEmpty)
    }

    @Test("B-041: after 491 the owner of the Call-ID waits 2.1–4 s, the other 0–2 s, in steps of 10 ms", arguments: 1...12)
    func glareWaits(seed: Int) throws {
        for isOwner in [true, false] {
            let scene = Scene(seed: UInt64(seed))
            let id = isOwner ? try scene.answeredOutgoing().id : try scene.answeredIncoming().id
            scene.on { $0.reinvite(id, offer: sdpBytes, now: $1) }
            scene.network.run(.milliseconds(50))
            scene.peer.respond(491, to: try #require(scene.peer.requests(.invite).last))
            scene.network.run(.milliseconds(10))
            let start = scene.network.now
            #expect(scene.phone.reinviteFailures.map(\.1) == [true])
            #expect(scene.phone.reinviteFailures.first?.0.code == "call.change-glare")
            #expect(scene.network.run(atMost: .seconds(5)) { scene.phone.reinviteDue == 1 })
            let wait = (scene.network.now - start).milliseconds
            #expect(isOwner ? (2100...4000).contains(wait) : (0...2000).contains(wait), "\(wait)")
            #expect(wait.truncatingRemainder(dividingBy: 10) == 0)
            #expect(scene.phone.ends.isEmpty)
        }
    }

    @Test("B-042: a next hop without lr is a strict router: it is the Request-URI, the target goes last into Route")
    func strictRouter() throws {
        let scene = Scene()
        let (_, _) = try scene.answeredOutgoing(headers: [
            (.recordRoute, "<sip:p2.example;lr>"), (.recordRoute, "<sip:p1@10.0.0.9:5060>"),
        ])
        let ack = try #require(scene.peer.requests(.ack).last)
        #expect(ack.requestURI.description == "sip:p1@10.0.0.9:5060")
        #expect(ack.routes.map(\.uri.description) == ["sip:p2.example;lr", scene.peer.contact])
    }

    @Test("B-043, B-044: with loose routers the Request-URI is the Contact, and the caller reverses Record-Route")
    func looseRoutersOfTheCaller() throws {
        let scene = Scene()
        let (id, _) = try scene.answeredOutgoing(headers: [
            (.recordRoute, "<sip:ss2@10.0.0.99;lr>, <sip:ss1@10.0.0.9:5060;lr>")
        ])
        for method in [Method.ack, .bye] {
            if method == .bye {
                scene.on { $0.hangUp(id, now: $1) }
                scene.network.run(.milliseconds(50))
            }
            let request = try #require(scene.peer.requests(method).last)
            #expect(request.requestURI.description == scene.peer.contact)
            #expect(request.routes.map { $0.uri.sip?.user } == ["ss1", "ss2"])
        }
    }

    @Test("B-044, 3665-3.2-F6: the callee keeps the order of Record-Route and copies it into its responses")
    func routesOfTheCallee() throws {
        let scene = Scene()
        let (id, _) = try scene.answeredIncoming(headers: [
            "Record-Route: <sip:ss2@10.0.0.9:5060;lr>, <sip:ss1@10.0.0.98;lr>"
        ])
        let success = try #require(scene.peer.responses(.invite).last)
        #expect(success.recordRoutes.map { $0.uri.sip?.user } == ["ss2", "ss1"])
        scene.on { $0.hangUp(id, now: $1) }
        scene.network.run(.milliseconds(50))
        let bye = try #require(scene.peer.requests(.bye).last)
        #expect(bye.routes.map { $0.uri.sip?.user } == ["ss2", "ss1"])
        #expect(bye.requestURI.description == scene.peer.contact)
    }

    @Test("3665-3.7-F9: a re-INVITE with another Contact moves the remote target")
    func targetRefresh() throws {
        let scene = Scene()
        let (id, tag) = try scene.answeredIncoming()
        scene.peer.send(
            "INVITE", scene.phoneURI, to: scene.phone, toTag: tag, sequence: 2, type: "application/sdp", body: sdpOffer,
            contact: "sip:moved@10.0.0.9:5060")
        scene.network.run(.milliseconds(50))
        scene.on { $0.answerReinvite(id, status: 200, answer: sdpBytes, now: $1) }
        scene.network.run(.milliseconds(50))
        scene.peer.send("ACK", scene.phoneURI, to: scene.phone, toTag: tag, sequence: 2)
        scene.network.run(.milliseconds(50))
        scene.on { $0.hangUp(id, now: $1) }
        scene.network.run(.milliseconds(50))
        #expect(scene.peer.requests(.bye).last?.requestURI.sip?.user == "moved")
    }

    @Test("§12.2.2: a lower sequence number is answered 500, an unknown dialog 481")
    func sequenceAndDialog() throws {
        let scene = Scene()
        let id = try scene.incoming()
        scene.on { $0.accept(id, answer: sdpBytes, now: $1) }
        scene.network.run(.milliseconds(30))
        let tag = try #require(scene.peer.responses(.invite).last?.to.tag)
        scene.peer.send("ACK", scene.phoneURI, to: scene.phone, toTag: tag)
        scene.peer.send("INFO", scene.phoneURI, to: scene.phone, toTag: tag, sequence: 0)
        scene.network.run(.milliseconds(50))
        #expect(scene.peer.responses(.info).last?.statusCode == 500)
        for (call, from, to) in [("call-1", "peer", "wrong"), ("call-1", "wrong", tag), ("wrong", "peer", tag)] {
            scene.peer.send("BYE", scene.phoneURI, to: scene.phone, callID: call, fromTag: from, toTag: to, sequence: 9)
            scene.network.run(.milliseconds(50))
            #expect(scene.peer.responses(.bye).last?.statusCode == 481)
        }
        #expect(scene.phone.ends.isEmpty)
        #expect(scene.phone.agent.counters[.unknownDialog] == 3)
    }

    @Test(
        "B-020: only 408, 481 and silence to a re-INVITE end the call",
        arguments: [(408, true), (481, true), (488, false), (503, false), (403, false), (415, false), (600, false)])
    func failedReinvite(status: Int, ends: Bool) throws {
        let scene = Scene()
        let (id, _) = try scene.answeredOutgoing()
        scene.on { $0.reinvite(id, offer: sdpBytes, now: $1) }
        scene.network.run(.milliseconds(50))
        scene.peer.respond(status, to: try #require(scene.peer.requests(.invite).last))
        scene.network.run(.milliseconds(50))
        #expect(scene.phone.ends.map(\.cause.code) == (ends ? ["call.dialog-lost"] : []))
        #expect(scene.phone.reinviteFailures.map(\.1) == (ends ? [] : [false]))
        #expect(scene.peer.requests(.bye).count == (ends ? 1 : 0))
    }

    @Test("a re-INVITE that nobody answers ends the call")
    func silentReinvite() throws {
        let scene = Scene()
        let (id, _) = try scene.answeredOutgoing()
        scene.on { $0.reinvite(id, offer: sdpBytes, now: $1) }
        scene.network.run(.seconds(33))
        #expect(scene.phone.ends.map(\.cause.code) == ["call.no-response"])
        #expect(scene.settles())
    }

    @Test("B-020: TCP closes while a re-INVITE is pending: the call goes on, and the next request opens a connection")
    func connectionLostDuringReinvite() throws {
        let scene = Scene()
        scene.peer.transport = .tcp
        var uri = SIPURI(user: "peer", host: .address(scene.peer.address.ip), port: 5060)
        uri.transport = .tcp
        let (id, invite) = try { () -> (SessionID, SIPMessage) in
            let id = try scene.phone.agent.invite(from: nil, to: .sip(uri), offer: sdpBytes, now: scene.network.now)
            scene.phone.drain()
            scene.network.run(.milliseconds(100))
            return (id, try required(scene.peer.requests(.invite).last))
        }()
        scene.peer.respond(200, to: invite, contact: scene.peer.contact, body: sdpOffer)
        scene.network.run(.milliseconds(100))
        #expect(scene.phone.answered.count == 1 && scene.peer.connections == 1)
        scene.on { $0.reinvite(id, offer: sdpBytes, now: $1) }
        scene.network.run(.milliseconds(50))
        #expect(scene.peer.requests(.invite).count == 2)
        scene.phone.disconnected(from: scene.peer.address, .reset, now: scene.network.now)
        scene.network.run(.seconds(40))
        #expect(scene.phone.ends.isEmpty)
        #expect(scene.phone.reinviteFailures.map(\.1) == [false])
        scene.on { $0.hangUp(id, now: $1) }
        scene.network.run(.milliseconds(100))
        #expect(scene.peer.connections == 2)
        scene.peer.respond(200, to: try #require(scene.peer.requests(.bye).last))
        #expect(scene.settles())
    }

    @Test("a re-INVITE asked for while one is in progress is due when the way is free")
    func queuedReinvite() throws {
        let scene = Scene()
        let (id, _) = try scene.answeredOutgoing()
        scene.on { $0.reinvite(id, offer: sdpBytes, now: $1) }
        scene.on { $0.reinvite(id, offer: sdpBytes, now: $1) }
        scene.network.run(.milliseconds(50))
        #expect(scene.peer.requests(.invite).count == 2)
        #expect(scene.phone.reinviteFailures.map(\.0.code) == ["call.change-pending"])
        #expect(scene.phone.reinviteDue == 0)
        scene.peer.respond(200, to: try #require(scene.peer.requests(.invite).last), contact: scene.peer.contact, body: sdpOffer)
        scene.network.run(.milliseconds(50))
        #expect(scene.phone.reinviteAnswers == 1 && scene.phone.reinviteDue == 1)
        #expect(scene.peer.requests(.ack).last?.cseq.number == scene.peer.requests(.invite).last?.cseq.number)
    }

    @Test("500 with Retry-After to a re-INVITE is tried again, but not for ever")
    func retriesAreBounded() throws {
        let scene = Scene()
        let (id, _) = try scene.answeredOutgoing()
        scene.peer.onMessage = { [weak scene] message in
            guard message.isRequest, message.method == .invite else { return }
            scene?.peer.respond(500, to: message, headers: [(.retryAfter, "1")])
        }
        scene.phone.onEvent = { [weak scene] event in
            guard let scene, case .reinviteDue(let id) = event else { return }
            scene.network.later(.milliseconds(1)) { scene.on { $0.reinvite(id, offer: sdpBytes, now: $1) } }
        }
        scene.on { $0.reinvite(id, offer: sdpBytes, now: $1) }
        scene.network.run(.seconds(60))
        #expect(scene.peer.requests(.invite).count == 1 + 5)
        #expect(scene.phone.reinviteFailures.map(\.1) == [true, true, true, true, false])
        #expect(scene.phone.ends.isEmpty)
    }
}
