// SPDX-License-Identifier: Apache-2.0
//
// Hanging up in every state: over for the user at once, the right message, nothing left in the end.

import Essentials
import SIP
import SIPAgent
import Testing

@Suite struct HangUpTests {
    @Test func whileTheNameIsBeingLookedUpNothingIsSent() throws {
        let scene = Scene()
        let uri = URI.sip(SIPURI(user: "x", host: .name("slow.example")))
        let id = try scene.phone.agent.invite(from: nil, to: uri, offer: sdpBytes, now: scene.network.now)
        scene.phone.drain()
        scene.on { $0.hangUp(id, now: $1) }
        #expect(scene.phone.ends.count == 1 && scene.phone.isEmpty)
        scene.network.run(.seconds(40))
        #expect(scene.phone.sent.isEmpty)
        #expect(scene.phone.ends.count == 1)
    }

    @Test func whileNobodyHasAnsweredTheInviteEndsByItsTimer() throws {
        let scene = Scene()
        let (id, _) = try scene.outgoing()
        scene.on { $0.hangUp(id, now: $1) }
        #expect(scene.phone.ends.map(\.cause.code) == ["call.hung-up"])
        scene.network.run(.seconds(40))
        #expect(scene.peer.requests(.cancel).isEmpty && scene.phone.isEmpty)
    }

    @Test func aRingingCallIsRefused603AndACauseMayNameAnotherStatus() throws {
        let scene = Scene()
        let first = try scene.incoming(callID: "a")
        scene.on { $0.hangUp(first, now: $1) }
        let second = try scene.incoming(callID: "b")
        scene.on { $0.hangUp(second, cause: Cause("call.refused-busy", "Busy.", status: 486), now: $1) }
        scene.network.run(.milliseconds(50))
        #expect(Set(scene.peer.responses(.invite).map(\.statusCode)) == [603, 486])
        for response in scene.peer.responses(.invite) where response.statusCode > 199 {
            scene.peer.send(
                "ACK", scene.phoneURI, to: scene.phone, callID: response.callID, toTag: response.to.tag, branch: response.topVia.branch)
        }
        #expect(scene.settles())
    }

    @Test("§15: an answered call without ACK yet is ended by BYE only after the ACK")
    func beforeTheACK() throws {
        let scene = Scene()
        let id = try scene.incoming()
        scene.on { $0.accept(id, answer: sdpBytes, now: $1) }
        scene.on { $0.hangUp(id, now: $1) }
        #expect(scene.phone.ends.count == 1)
        scene.network.run(.seconds(3))
        #expect(scene.peer.requests(.bye).isEmpty)
        let tag = try #require(scene.peer.responses(.invite).last?.to.tag)
        scene.peer.send("ACK", scene.phoneURI, to: scene.phone, toTag: tag)
        scene.network.run(.milliseconds(50))
        #expect(scene.peer.requests(.bye).count == 1)
        #expect(scene.phone.confirmed == 0)
        scene.peer.respond(200, to: try #require(scene.peer.requests(.bye).last))
        #expect(scene.settles())
    }

    @Test func anAnsweredLateOfferIsAcknowledgedAndEnded() throws {
        let scene = Scene()
        let (id, invite) = try scene.outgoing(offer: nil)
        scene.peer.respond(200, to: invite, contact: scene.peer.contact, body: sdpOffer)
        scene.network.run(.milliseconds(50))
        #expect(scene.phone.answered.count == 1 && scene.peer.requests(.ack).isEmpty)
        scene.on { $0.hangUp(id, now: $1) }
        scene.network.run(.milliseconds(50))
        #expect(scene.peer.requests(.ack).count == 1 && scene.peer.requests(.bye).count == 1)
        scene.peer.respond(200, to: try #require(scene.peer.requests(.bye).last))
        #expect(scene.settles())
    }

    @Test func withAReinviteOfThePeerWaitingItGets487AndThenBYE() throws {
        let scene = Scene()
        let (id, tag) = try scene.answeredIncoming()
        scene.peer.send("INVITE", scene.phoneURI, to: scene.phone, toTag: tag, sequence: 2, type: "application/sdp", body: sdpOffer)
        scene.network.run(.milliseconds(50))
        scene.on { $0.hangUp(id, now: $1) }
        scene.network.run(.milliseconds(50))
        #expect(scene.peer.responses(.invite).last?.statusCode == 487)
        #expect(scene.peer.requests(.bye).count == 1)
    }

    @Test("BYE before the ACK: the 200 is not repeated any more, the call is over")
    func byeBeforeACK() throws {
        let scene = Scene()
        let id = try scene.incoming()
        scene.on { $0.accept(id, answer: sdpBytes, now: $1) }
        scene.network.run(.milliseconds(50))
        let tag = try #require(scene.peer.responses(.invite).last?.to.tag)
        scene.peer.send("BYE", scene.phoneURI, to: scene.phone, toTag: tag, sequence: 2)
        scene.network.run(.milliseconds(50))
        #expect(scene.peer.responses(.bye).map(\.statusCode) == [200])
        #expect(scene.phone.ends.map(\.cause.code) == ["call.remote-hung-up"])
        let count = scene.peer.responses(.invite).count
        scene.network.run(.seconds(60))
        #expect(scene.peer.responses(.invite).count == count)
        #expect(scene.phone.agent.sessionCount == 0 && scene.phone.agent.timerCount == 0)
    }

    @Test("BYE in the early dialog: 200, and 487 to the INVITE")
    func earlyBye() throws {
        let scene = Scene()
        let id = try scene.incoming()
        scene.on { $0.ring(id, now: $1) }
        scene.network.run(.milliseconds(50))
        let tag = try #require(scene.peer.responses(.invite).last?.to.tag)
        scene.peer.send("BYE", scene.phoneURI, to: scene.phone, toTag: tag, sequence: 2)
        scene.network.run(.milliseconds(50))
        #expect(scene.peer.responses(.bye).map(\.statusCode) == [200])
        #expect(scene.peer.responses(.invite).last?.statusCode == 487)
        #expect(scene.phone.ends.count == 1)
    }

    @Test("a peer that vanished: hanging up is immediate, and the BYE ends by its own timer")
    func vanishedPeer() throws {
        let scene = Scene()
        let (id, _) = try scene.answeredOutgoing()
        scene.network.loses = { _ in true }
        scene.on { $0.hangUp(id, now: $1) }
        #expect(scene.phone.ends.count == 1)
        #expect(scene.phone.agent.sessionCount == 1)
        #expect(scene.settles(within: .seconds(34)))
    }

    @Test("a proxy of the route is dead: after some seconds the BYE goes straight to the other side")
    func deadRoute() throws {
        let scene = Scene()
        let (id, _) = try scene.answeredOutgoing(headers: [(.recordRoute, "<sip:10.0.0.77;lr>")])
        scene.on { $0.hangUp(id, now: $1) }
        #expect(scene.phone.ends.map(\.cause.code) == ["call.hung-up"])
        scene.network.run(.seconds(3))
        #expect(scene.peer.requests(.bye).isEmpty)
        scene.network.run(.seconds(2))
        let bye = try required(scene.peer.requests(.bye).first)
        #expect(bye.values(.route).isEmpty && "\(bye.requestURI)" == "sip:peer@10.0.0.9:5060")
        scene.peer.respond(200, to: bye)
        #expect(scene.settles(within: .seconds(34)))
        #expect(scene.phone.warnings.isEmpty && scene.phone.agent.counters[.byeDetours] == 1)
    }

    @Test("neither the route nor the other side answers the BYE: whoever hung up is told, and nothing stays")
    func lostBye() throws {
        for route in [[], [(HeaderName.recordRoute, "<sip:10.0.0.77;lr>")]] {
            let scene = Scene()
            let (id, _) = try scene.answeredOutgoing(headers: route)
            scene.network.loses = { _ in true }
            scene.on { $0.hangUp(id, now: $1) }
            #expect(scene.settles(within: .seconds(40)))
            #expect(scene.phone.warnings.map(\.code) == ["call.bye-unanswered"])
            #expect(scene.phone.ends.count == 1 && scene.phone.agent.counters[.byeDetours] == route.count)
        }
    }

    @Test("hanging up twice, or what is already over, changes nothing")
    func twice() throws {
        let scene = Scene()
        let (id, _) = try scene.answeredOutgoing()
        scene.on { $0.hangUp(id, now: $1) }
        scene.on { $0.hangUp(id, now: $1) }
        scene.on { $0.reject(id, status: 486, now: $1) }
        scene.on { $0.accept(id, answer: nil, now: $1) }
        scene.on { $0.reinvite(id, offer: sdpBytes, now: $1) }
        scene.network.run(.milliseconds(100))
        #expect(scene.phone.ends.count == 1 && scene.peer.requests(.bye).count == 1)
    }

    @Test("an INVITE that rings too long is taken back, or refused 480")
    func ringLimits() throws {
        let out = Scene { $0.ringLimit = .seconds(20) }
        let (_, invite) = try out.outgoing()
        out.peer.respond(180, to: invite, contact: out.peer.contact)
        out.network.run(.seconds(21))
        #expect(out.phone.ends.map(\.cause.code) == ["call.unanswered"])
        #expect(out.peer.requests(.cancel).count >= 1)
        let into = Scene { $0.ringLimit = .seconds(20) }
        _ = try into.incoming()
        into.network.run(.seconds(21))
        #expect(into.phone.ends.map(\.cause.code) == ["call.unanswered"])
        #expect(into.peer.responses(.invite).last?.statusCode == 480)
    }

    @Test("an incoming INVITE with Expires is given up when it has run out")
    func inviteExpires() throws {
        let scene = Scene()
        _ = try scene.incoming(headers: ["Expires: 5"])
        scene.network.run(.seconds(6))
        #expect(scene.phone.ends.count == 1)
    }

    @Test("shutting down ends calls and registrations in good order, then stops")
    func shutDown() throws {
        let scene = Scene()
        RegistrationTests.serve(scene)
        let account = scene.addAccount()
        scene.network.run(.seconds(1))
        let (_, _) = try scene.answeredOutgoing(account: account)
        _ = try scene.incoming(callID: "other")
        let register = scene.peer.onMessage
        scene.peer.onMessage = { [weak scene] message in
            if message.isRequest, message.method == .bye { scene?.peer.respond(200, to: message) }
            register?(message)
        }
        scene.on { $0.shutDown(now: $1) }
        scene.network.run(.milliseconds(200))
        #expect(scene.peer.requests(.bye).count == 1)
        #expect(scene.peer.responses(.invite).last?.statusCode == 480)
        #expect(scene.peer.requests(.register).last?.expires == 0)
        #expect(scene.phone.states.last == .unregistered)
        #expect(scene.phone.hasStopped)
        #expect(scene.phone.ends.map(\.cause.code) == ["call.shut-down", "call.shut-down"])
        #expect(throws: AgentError.self) {
            _ = try scene.phone.agent.invite(from: nil, to: scene.peerURI, offer: nil, now: scene.network.now)
        }
        let count = scene.phone.events.count
        scene.network.run(.seconds(200))
        #expect(scene.phone.events.count == count, "nothing after stopped")
        #expect(scene.phone.agent.timerCount == 0)
    }

    @Test("a dead network does not keep the phone from stopping")
    func shutDownWithoutNetwork() throws {
        let scene = Scene()
        RegistrationTests.serve(scene)
        let account = scene.addAccount()
        scene.network.run(.seconds(1))
        _ = try scene.answeredOutgoing(account: account)
        scene.network.loses = { _ in true }
        scene.on { $0.shutDown(now: $1) }
        scene.network.run(.seconds(2))
        #expect(scene.phone.hasStopped)
        #expect(scene.phone.warnings.map(\.code) == ["call.bye-unanswered"], "told before it stops")
        #expect(scene.phone.agent.sessionCount == 0 && scene.phone.agent.timerCount == 0)
    }
}
