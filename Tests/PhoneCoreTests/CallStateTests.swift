// SPDX-License-Identifier: Apache-2.0
//
// The states of a call with status and reason, both ways; who calls; 180 at once.

import Essentials
import PhoneCore
import SIP
import SIPAgent
import Testing

@Suite struct CallStateTests {
    @Test func anOutgoingCallGoesThroughItsStates() throws {
        let scene = Scene()
        let (id, invite) = try scene.calling()
        #expect(scene.phone.core.state(of: id) == .calling)
        scene.peer.respond(100, to: invite)
        scene.bench.run(.milliseconds(20))
        #expect(scene.phone.core.state(of: id) == .calling)
        scene.peer.respond(180, to: invite)
        scene.bench.run(.milliseconds(20))
        #expect(scene.phone.core.state(of: id) == .early)
        scene.peer.respond(200, to: invite, reason: "Fine", sdp: sdp())
        scene.bench.run(.seconds(5))
        #expect(scene.phone.core.state(of: id) == .confirmed)
        scene.tag = invite.from.tag
        scene.peer.send("BYE", to: scene.phone, callID: invite.callID, toTag: invite.from.tag)
        scene.bench.run(.milliseconds(20))
        #expect(scene.phone.core.state(of: id) == .disconnected)
        #expect(
            scene.phone.states == [
                "calling 0", "early 180 Ringing", "connecting 200 Fine", "confirmed 200 Fine", "disconnected 200 Fine",
            ])
        let end = try required(scene.phone.ends.first?.end)
        #expect(end.isByRemote && end.wasEstablished)
        #expect(end.cause.code == "call.remote-hung-up")
        #expect(end.duration >= .seconds(4) && end.duration <= .seconds(6))
        #expect(scene.comesToRest())
    }

    @Test func anIncomingCallGoesThroughItsStates() throws {
        let scene = Scene()
        let id = try scene.ringing()
        #expect(scene.phone.core.state(of: id) == .incoming)
        #expect(scene.bench.statuses(by: scene.phone, .invite) == [180])
        try scene.phone.on { try $0.answer(id, now: $1) }
        #expect(scene.phone.core.state(of: id) == .connecting)
        scene.bench.run(.milliseconds(30))
        scene.peer.send("ACK", to: scene.phone, toTag: scene.tag)
        scene.bench.run(.milliseconds(30))
        #expect(scene.phone.core.state(of: id) == .confirmed)
        scene.peer.send("BYE", to: scene.phone, toTag: scene.tag, sequence: 2)
        scene.bench.run(.milliseconds(30))
        #expect(scene.phone.states == ["incoming 180 Ringing", "connecting 200 OK", "confirmed 200 OK", "disconnected 200 OK"])
        #expect(scene.bench.statuses(by: scene.phone, .bye) == [200])
        #expect(scene.comesToRest())
    }

    @Test(arguments: [
        (486, "Busy Here", "call.busy"), (603, "No Thanks", "call.declined"), (404, "Not Found", "call.not-found"),
        (480, "Away", "call.unavailable"), (488, "Not Acceptable Here", "call.incompatible"), (500, "Oops", "call.server-failure"),
        (302, "Moved Temporarily", "call.redirected"),
    ])
    func aRefusedCallTellsTheStatusAndTheReasonOfThePeer(status: Int, reason: String, code: String) throws {
        let scene = Scene()
        let (id, invite) = try scene.calling()
        scene.peer.respond(status, to: invite, reason: reason)
        scene.bench.run(.milliseconds(30))
        #expect(scene.phone.states == ["calling 0", "disconnected \(status) \(reason)"])
        let end = try required(scene.phone.ends.first)
        #expect(end.id == id && end.end.isByRemote && !end.end.wasEstablished && end.end.duration == .zero)
        #expect(end.end.cause.code == code)
        #expect(end.end.cause.status == status)
        #expect(scene.comesToRest())
    }

    @Test func aCallThatNobodyAnswersEnds() throws {
        let scene = Scene()
        scene.bench.loses = { $0.method == .invite }
        let id = try scene.phone.call(scene.target)
        scene.bench.run(.seconds(60))
        #expect(scene.phone.ends.map(\.id) == [id])
        #expect(scene.phone.ends.first?.end.cause.code == "call.no-response")
        #expect(scene.phone.states.last == "disconnected 408 Request Timeout")
        #expect(scene.comesToRest())
    }

    @Test func aRingingPhoneThatNobodyTakesEnds() throws {
        let scene = Scene { $0.agent.ringLimit = .seconds(20) }
        let id = try scene.ringing()
        scene.bench.run(.seconds(21))
        #expect(scene.bench.statuses(by: scene.phone, .invite).prefix(2) == [180, 480])
        #expect(scene.phone.ends.map(\.id) == [id])
        #expect(scene.phone.states.last == "disconnected 480 Temporarily Unavailable")
        scene.peer.send("ACK", to: scene.phone, toTag: scene.tag)
        #expect(scene.comesToRest())
    }

    @Test func aCallTakenBackEndsOnceAndAnswersBoth() throws {
        let scene = Scene()
        scene.peer.send("INVITE", to: scene.phone, body: sdp(), branch: "z9hG4bKx")
        scene.bench.run(.milliseconds(30))
        scene.peer.send("CANCEL", to: scene.phone, branch: "z9hG4bKx")
        scene.bench.run(.milliseconds(30))
        #expect(scene.bench.statuses(by: scene.phone, .invite) == [180, 487])
        #expect(scene.bench.statuses(by: scene.phone, .cancel) == [200])
        #expect(scene.phone.states == ["incoming 180 Ringing", "disconnected 487 Request Terminated"])
        #expect(scene.phone.ends.first?.end.isByRemote == true)
        #expect(scene.comesToRest())
    }

    /// The application must not be told of the end of a call that it never heard of.
    @Test func aCallTakenBackBeforeItRangIsNoCall() throws {
        let scene = Scene()
        scene.phone.answersMedia = false
        scene.peer.send("INVITE", to: scene.phone, body: sdp(), branch: "z9hG4bKx")
        scene.bench.run(.milliseconds(30))
        scene.peer.send("CANCEL", to: scene.phone, branch: "z9hG4bKx")
        scene.bench.run(.milliseconds(30))
        #expect(scene.phone.states.isEmpty)
        #expect(scene.phone.ends.isEmpty)
        #expect(scene.phone.warnings.map(\.cause.code) == ["call.cancelled"])
        #expect(scene.bench.statuses(by: scene.phone, .invite) == [487])
        // The socket that was being opened comes, and is closed again.
        guard case .openStream(let port, _)? = scene.phone.media.first else { throw Missing() }
        scene.phone.give(.streamOpened(port, rtp: SocketAddress(host(1), 4000)))
        scene.phone.give(.statistics(port, .init()))
        #expect(scene.phone.finalStatistics.isEmpty)
        #expect(scene.comesToRest())
    }

    @Test(
        arguments: [
            ("\"Alice \\\"A\\\" Smith\" <sip:alice@example.net;x=1?y=2>", "Alice \"A\" Smith", "sip:alice@example.net"),
            ("Alice <sip:alice@example.net>", "Alice", "sip:alice@example.net"),
            ("sip:alice@example.net", nil, "sip:alice@example.net"), ("<tel:+4930123456>", nil, "tel:+4930123456"),
            ("\"Anonymous\" <sip:anonymous@anonymous.invalid>", "Anonymous", "sip:anonymous@anonymous.invalid"),
        ] as [(String, String?, String)])
    func whoCallsIsReadFromAnyLegalFrom(from: String, name: String?, address: String) throws {
        let scene = Scene()
        _ = try scene.ringing(from: from)
        let call = try required(scene.phone.incoming.first?.call)
        #expect(call.displayName == name)
        #expect(call.remote.description.hasPrefix(address))
        #expect(scene.comesToRest())
    }

    @Test func theAccountThatIsCalledIsTold() throws {
        let scene = Scene()
        let account = try scene.addAccount()
        _ = try scene.ringing()
        #expect(scene.phone.incoming.first?.call.account == account)
        #expect(scene.comesToRest())
    }

    /// B-074: one id a call, never reused; ending is idempotent.
    @Test func eachCallHasItsOwnIDAndEndsOnce() throws {
        let pair = Pair()
        var seen: Set<CallID> = []
        for _ in 0..<3 {
            let (one, _) = try pair.establish()
            let (two, _) = try pair.establish()
            #expect(seen.insert(one).inserted && seen.insert(two).inserted)
            try pair.alice.on { try $0.hangUp(two, now: $1) }
            #expect(pair.alice.core.state(of: two) == .disconnected)
            #expect(pair.alice.core.state(of: one) == .confirmed)
            try pair.alice.on { try $0.hangUp(two, now: $1) }
            try pair.alice.on { try $0.hangUp(one, now: $1) }
            try pair.alice.on { try $0.hangUp(one, now: $1) }
            pair.bench.run(.seconds(1))
        }
        #expect(pair.alice.ends.count == 6)
        #expect(pair.bob.ends.count == 6)
        #expect(pair.settles())
    }

    @Test func theSameSeedGivesTheSameCall() throws {
        func run() throws -> [[UInt8]] {
            let pair = Pair()
            let (id, _) = try pair.establish()
            try pair.alice.on { try $0.hold(id, now: $1) }
            pair.bench.run(.seconds(1))
            try pair.alice.on { try $0.hangUp(id, now: $1) }
            pair.bench.run(.seconds(40))
            return pair.bench.log.map(\.message.bytes)
        }
        #expect(try run() == run())
    }
}
