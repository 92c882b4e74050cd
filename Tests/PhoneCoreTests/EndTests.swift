// SPDX-License-Identifier: Apache-2.0
//
// The end of a call in each state, vanished peers, limits, failing sockets, shutting down.

import Essentials
import Media
import PhoneCore
import SIP
import SIPAgent
import Testing

@Suite struct HangUpTests {
    private func hangUp(_ scene: Scene, _ id: CallID) throws {
        try scene.phone.on { try $0.hangUp(id, now: $1) }
        // Over for the user at once.
        #expect(scene.phone.core.state(of: id) == .disconnected)
        #expect(scene.phone.ends.map(\.id) == [id])
        #expect(scene.phone.ends.first?.end.cause.code == "call.hung-up")
        #expect(scene.phone.ends.first?.end.isByRemote == false)
    }

    @Test func beforeTheInviteLeftNothingIsSent() throws {
        let scene = Scene()
        scene.phone.answersMedia = false
        let id = try scene.phone.call(scene.target)
        try hangUp(scene, id)
        guard case .openStream(let port, _)? = scene.phone.media.first else { throw Missing() }
        scene.phone.give(.streamOpened(port, rtp: SocketAddress(host(1), 4000)))
        scene.phone.give(.statistics(port, .init()))
        scene.bench.run(.seconds(1))
        #expect(scene.bench.log.isEmpty)
        #expect(scene.comesToRest())
    }

    @Test func whileItRingsThereACancelGoesOut() throws {
        let scene = Scene()
        let (id, invite) = try scene.calling()
        scene.peer.respond(180, to: invite)
        scene.bench.run(.milliseconds(30))
        try hangUp(scene, id)
        scene.bench.run(.milliseconds(30))
        #expect(scene.peer.requests(.cancel).count == 1)
        scene.peer.respond(200, to: try required(scene.peer.requests(.cancel).first))
        scene.peer.respond(487, to: invite)
        #expect(scene.comesToRest())
        #expect(scene.phone.ends.count == 1)
    }

    @Test func a200ThatCrossesTheCancelIsAcknowledgedAndEnded() throws {
        let scene = Scene()
        let (id, invite) = try scene.calling()
        scene.peer.respond(180, to: invite)
        scene.bench.run(.milliseconds(30))
        scene.peer.respond(200, to: invite, sdp: sdp())
        try hangUp(scene, id)
        scene.bench.run(.milliseconds(60))
        #expect(scene.peer.requests(.ack).count == 1)
        #expect(scene.peer.requests(.bye).count == 1)
        #expect(scene.phone.states.filter { $0.hasPrefix("confirmed") }.isEmpty)
        #expect(scene.comesToRest())
    }

    @Test func whileItRingsHereWeDecline() throws {
        let scene = Scene()
        let id = try scene.ringing()
        try hangUp(scene, id)
        scene.bench.run(.milliseconds(30))
        #expect(scene.bench.statuses(by: scene.phone, .invite) == [180, 603])
        scene.peer.send("ACK", to: scene.phone, toTag: scene.tag)
        #expect(scene.comesToRest())
    }

    @Test func beforeTheACKTheByeWaitsForIt() throws {
        let scene = Scene()
        let id = try scene.ringing()
        try scene.phone.on { try $0.answer(id, now: $1) }
        scene.bench.run(.milliseconds(15))
        try hangUp(scene, id)
        scene.bench.run(.milliseconds(100))
        #expect(scene.peer.requests(.bye).isEmpty)
        scene.peer.send("ACK", to: scene.phone, toTag: scene.tag)
        scene.bench.run(.milliseconds(30))
        #expect(scene.peer.requests(.bye).count == 1)
        #expect(scene.comesToRest())
    }

    @Test func anEstablishedCallIsEndedByByeAndAPeerThatIsSilentDoesNotMatter() throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        try hangUp(scene, id)
        scene.bench.run(.seconds(100))
        #expect(scene.peer.requests(.bye).count > 5)
        #expect(scene.phone.isClean && scene.phone.core.agent.isAtRest)
        #expect(scene.phone.ends.count == 1)
    }

    @Test func duringAChangeTheByeGoesOut() throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        try scene.phone.on { try $0.hold(id, now: $1) }
        scene.bench.run(.milliseconds(15))
        try hangUp(scene, id)
        scene.bench.run(.milliseconds(30))
        #expect(scene.peer.requests(.bye).count == 1)
        scene.peer.respond(200, to: try required(scene.peer.requests(.invite).last), sdp: sdp(direction: "recvonly", version: 2))
        #expect(scene.comesToRest())
        #expect(scene.phone.holds.isEmpty)
    }

    @Test func bothHangUpInTheSameMoment() throws {
        let pair = Pair()
        let (alice, bob) = try pair.establish()
        try pair.alice.on { try $0.hangUp(alice, now: $1) }
        try pair.bob.on { try $0.hangUp(bob, now: $1) }
        #expect(pair.settles())
        #expect(pair.alice.ends.count == 1 && pair.bob.ends.count == 1)
    }
}

@Suite struct SilenceTests {
    private func make(_ limit: Interval = .seconds(60)) throws -> (Scene, CallID, PortID) {
        let scene = Scene { $0.silenceLimit = limit }
        let (id, _) = try scene.established()
        return (scene, id, try scene.phone.port(id))
    }

    @Test func aVanishedPeerIsNoticedAndTheCallEnded() throws {
        let (scene, id, port) = try make()
        scene.bench.run(.seconds(5))
        scene.phone.give(.streamSilent(port, .seconds(5)))
        scene.bench.run(.seconds(54))
        #expect(scene.phone.core.state(of: id) == .confirmed)
        scene.bench.run(.seconds(2))
        let end = try required(scene.phone.ends.first?.end)
        #expect(end.cause.code == "media.peer.vanished")
        #expect(end.cause.evidence.first?.value == "60")
        #expect(!end.isByRemote && end.wasEstablished)
        #expect(scene.peer.requests(.bye).count >= 1)
        #expect(scene.comesToRest())
    }

    @Test func packetsThatComeAgainSaveTheCall() throws {
        let (scene, id, port) = try make()
        scene.phone.give(.streamSilent(port, .seconds(5)))
        scene.bench.run(.seconds(50))
        scene.phone.give(.streamResumed(port))
        scene.bench.run(.seconds(100))
        #expect(scene.phone.core.state(of: id) == .confirmed)
        #expect(scene.comesToRest())
    }

    /// The engine tells of a gap once: one that begins while it rings counts from the answer on.
    @Test func aPeerThatNeverSendsIsNoticedAlthoughTheGapBeganBeforeTheAnswer() throws {
        let scene = Scene()
        let (id, invite) = try scene.calling()
        scene.peer.respond(180, to: invite)
        scene.bench.run(.seconds(6))
        scene.phone.give(.streamSilent(try scene.phone.port(id), .seconds(5)))
        scene.bench.run(.seconds(80))
        #expect(scene.phone.core.state(of: id) == .early)
        scene.peer.respond(200, to: invite, sdp: sdp())
        scene.bench.run(.seconds(59))
        #expect(scene.phone.core.state(of: id) == .confirmed)
        scene.bench.run(.seconds(2))
        #expect(scene.phone.ends.first?.end.cause.code == "media.peer.vanished")
        #expect(scene.comesToRest())
    }

    @Test(arguments: [true, false])
    func onHoldSilenceIsNoSign(local: Bool) throws {
        let scene = Scene()
        let id = try scene.answered()
        let port = try scene.phone.port(id)
        // Before and during the hold.
        scene.phone.give(.streamSilent(port, .seconds(5)))
        if local {
            scene.peer.onRequest = { request in
                if request.method == .invite {
                    scene.peer.respond(
                        200, to: request, sdp: sdp(direction: request.sdpDirection == "sendonly" ? "recvonly" : "sendrecv", version: 2))
                }
            }
            try scene.phone.on { try $0.hold(id, now: $1) }
        } else {
            // A peer that holds with `sendonly` may play music, and may not.
            try scene.reinvite(sdp(direction: "sendonly", version: 2), sequence: 2)
            scene.phone.give(.streamSilent(port, .seconds(5)))
        }
        scene.bench.run(.seconds(600))
        #expect(scene.phone.core.state(of: id) == .confirmed)
        // After the hold it counts again, from then on.
        if local { try scene.phone.on { try $0.resume(id, now: $1) } } else { try scene.reinvite(sdp(version: 3), sequence: 3) }
        scene.bench.run(.seconds(5))
        if local { scene.phone.give(.streamSilent(port, .seconds(5))) }
        scene.bench.run(.seconds(50))
        #expect(scene.phone.core.state(of: id) == .confirmed)
        scene.bench.run(.seconds(10))
        #expect(scene.phone.ends.first?.end.cause.code == "media.peer.vanished")
        #expect(scene.comesToRest())
    }

    @Test func withoutALimitNothingIsEnded() throws {
        let (scene, id, port) = try make(.zero)
        scene.phone.give(.streamSilent(port, .seconds(5)))
        scene.bench.run(.seconds(3600))
        #expect(scene.phone.core.state(of: id) == .confirmed)
        #expect(scene.comesToRest())
    }
}

@Suite struct LimitTests {
    @Test func oneCallMoreThanAllowedIsRefused() throws {
        let scene = Scene { $0.maximumCalls = 2 }
        _ = try scene.ringing(callID: "one")
        _ = try scene.calling()
        #expect(refusal { _ = try scene.phone.call(scene.target) } == .limit)
        scene.peer.send("INVITE", to: scene.phone, callID: "three", body: sdp())
        scene.bench.run(.milliseconds(30))
        let answers = scene.peer.responses(.invite).filter { $0.callID == "three" }
        #expect(answers.map(\.statusCode) == [486])
        #expect(scene.phone.incoming.count == 1)
        #expect(scene.phone.warnings.map(\.cause.code) == ["call.refused.limit"])
        #expect(scene.comesToRest())
    }

    @Test func theLimitOfThePhoneCountsAlsoWhereItIsHigherThanTheAgents() throws {
        let scene = Scene {
            $0.agent.maximumCalls = 1
            $0.maximumCalls = 3
        }
        for name in ["one", "two", "three"] { _ = try scene.ringing(callID: name) }
        #expect(scene.phone.core.callCount == 3)
        #expect(scene.comesToRest())
    }

    @Test func anOutgoingCallWithoutASocketEndsWith500() throws {
        let scene = Scene()
        scene.phone.socketFailure = "no ports left"
        let id = try scene.phone.call(scene.target)
        scene.bench.run(.milliseconds(30))
        #expect(scene.phone.states == ["calling 0", "disconnected 500 Server Internal Error"])
        #expect(scene.phone.ends.first?.id == id)
        #expect(scene.phone.ends.first?.end.cause.code == "media.no-socket")
        #expect(scene.phone.ends.first?.end.cause.evidence.first?.value == "no ports left")
        #expect(scene.bench.log.isEmpty)
        #expect(scene.phone.finalStatistics == [id])
        #expect(scene.comesToRest())
    }

    @Test func anIncomingCallWithoutASocketIsAnswered500AndNeverRings() throws {
        let scene = Scene()
        scene.phone.socketFailure = "no ports left"
        scene.peer.send("INVITE", to: scene.phone, body: sdp())
        scene.bench.run(.milliseconds(30))
        #expect(scene.bench.statuses(by: scene.phone, .invite) == [500])
        #expect(scene.phone.states.isEmpty && scene.phone.ends.isEmpty)
        #expect(scene.phone.warnings.map(\.cause.code) == ["media.no-socket"])
        scene.peer.send("ACK", to: scene.phone, toTag: scene.peer.responses(.invite).last?.to.tag)
        #expect(scene.comesToRest())
    }

    @Test func anINVITEThatCannotBeSentEndsTheCall() throws {
        let scene = Scene()
        let account = try scene.addAccount()
        scene.phone.answersMedia = false
        let id = try scene.phone.call("1002", from: account)
        try scene.phone.on { try $0.removeAccount(account, now: $1) }
        guard case .openStream(let port, _)? = scene.phone.media.first else { throw Missing() }
        scene.phone.give(.streamOpened(port, rtp: SocketAddress(host(1), 4000)))
        scene.phone.give(.statistics(port, .init()))
        #expect(scene.phone.ends.map(\.id) == [id])
        #expect(scene.phone.ends.first?.end.cause.code == "call.not-sent")
        #expect(scene.phone.isClean)
    }

    @Test func mediaEventsOfNoCallAreNothing() throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        let stray = PortID(rawValue: 4711)
        let before = scene.phone.events.count
        for event in [
            MediaEvent.streamOpened(stray, rtp: SocketAddress(host(1), 1)), .streamFailed(stray, reason: ""),
            .sourceLocked(stray, SocketAddress(host(1), 1)),
            .digitReceived(stray, "1", milliseconds: 1, inBand: false), .digitSent(stray, "1", milliseconds: 1, inBand: false),
            .streamSilent(stray, .seconds(1)), .streamResumed(stray), .remoteLeft(stray), .statistics(stray, .init()),
        ] { scene.phone.give(event) }
        #expect(scene.phone.events.count == before)
        // A socket that is told twice changes nothing either.
        scene.phone.give(.streamOpened(try scene.phone.port(id), rtp: SocketAddress(host(1), 4002)))
        #expect(scene.phone.core.state(of: id) == .confirmed)
        #expect(scene.comesToRest())
    }
}

@Suite struct ShutDownTests {
    @Test func everyCallIsEndedByWhatFitsItsPhase() throws {
        let scene = Scene()
        let (inviting, first) = try scene.calling()
        scene.peer.respond(180, to: first)
        scene.bench.run(.milliseconds(30))
        let (established, second) = try scene.calling()
        scene.peer.respond(200, to: second, sdp: sdp())
        scene.bench.run(.milliseconds(30))
        let ringing = try scene.ringing()
        scene.phone.answersMedia = false
        let opening = try scene.phone.call(scene.target)
        guard case .openStream(let port, _)? = scene.phone.media.last else { throw Missing() }
        scene.phone.answersMedia = true
        scene.peer.onRequest = { request in
            switch request.method {
            case .bye: scene.peer.respond(200, to: request)
            case .cancel:
                scene.peer.respond(200, to: request)
                scene.peer.respond(487, to: first)
            default: break
            }
        }
        scene.phone.on { $0.shutDown(now: $1) }
        #expect(Set(scene.phone.ends.map(\.id)) == [inviting, established, ringing, opening])
        #expect(scene.phone.ends.allSatisfy { $0.end.cause.code == "call.shut-down" && !$0.end.isByRemote })
        scene.bench.run(.milliseconds(30))
        // Not declined for all devices: this one goes away.
        #expect(scene.peer.responses(.invite).last?.statusCode == 480)
        scene.peer.send("ACK", to: scene.phone, toTag: scene.tag)
        scene.bench.run(.milliseconds(100))
        #expect(scene.peer.requests(.bye).count == 1)
        #expect(scene.peer.requests(.cancel).count == 1)
        scene.phone.give(.statistics(port, .init()))
        #expect(scene.bench.run(atMost: .seconds(3)) { scene.phone.hasStopped })
        guard case .stopped? = scene.phone.events.last else { throw Missing() }
        #expect(scene.phone.isClean)
    }

    @Test func theLastStatisticsComeBeforeTheEnd() throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        scene.peerAnswers { _ in 200 }
        scene.phone.answersMedia = false
        let port = try scene.phone.port(id)
        scene.phone.on { $0.shutDown(now: $1) }
        scene.bench.run(.milliseconds(100))
        #expect(!scene.phone.hasStopped)
        scene.phone.give(.statistics(port, .init()))
        #expect(scene.phone.finalStatistics == [id])
        #expect(scene.phone.hasStopped)
    }

    @Test func aMediaWorldThatIsDeadDoesNotHoldItUp() throws {
        let scene = Scene()
        _ = try scene.established()
        scene.peerAnswers { _ in 200 }
        scene.phone.answersMedia = false
        scene.phone.on { $0.shutDown(now: $1) }
        #expect(scene.bench.run(atMost: .seconds(2)) { scene.phone.hasStopped })
        #expect(scene.phone.core.isQuiet)
    }

    @Test func aPeerThatIsDeadDoesNotHoldItUp() throws {
        let scene = Scene()
        _ = try scene.established()
        scene.phone.on { $0.shutDown(now: $1) }
        #expect(scene.bench.run(atMost: .seconds(3)) { scene.phone.hasStopped })
        #expect(scene.phone.isClean)
    }

    @Test func afterwardsNothingCanBeBegun() throws {
        let scene = Scene()
        let account = try scene.addAccount()
        scene.phone.on { $0.shutDown(now: $1) }
        scene.phone.on { $0.shutDown(now: $1) }
        #expect(refusal { _ = try scene.phone.call(scene.target) } == .stopping)
        #expect(refusal { try scene.addAccount() } == .stopping)
        #expect(refusal { try scene.phone.on { try $0.register(account, now: $1) } } == .stopping)
        scene.peer.send("INVITE", to: scene.phone, body: sdp())
        scene.bench.run(.seconds(3))
        #expect(scene.phone.incoming.isEmpty)
        #expect(scene.phone.events.filter { if case .stopped = $0 { true } else { false } }.count == 1)
        #expect(scene.phone.core.isQuiet)
    }
}
