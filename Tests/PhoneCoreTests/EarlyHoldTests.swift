// SPDX-License-Identifier: Apache-2.0
//
// Hold asked before the answer: it takes effect when the call is answered.

import Essentials
import PhoneCore
import SIP
import SIPAgent
import Testing

@Suite struct EarlyHoldTests {
    /// The peer agrees to what we offer once the call is up.
    private func agree(_ scene: Scene) {
        scene.peer.onRequest = { [unowned peer = scene.peer] request in
            guard request.method == .invite, request.to.tag != nil else { return }
            peer.respond(200, to: request, sdp: sdp(direction: request.sdpDirection == "sendonly" ? "recvonly" : nil, version: 2))
        }
    }

    @Test func aCallThatIsHeldWhileItRingsThereIsHeldWhenItIsAnswered() throws {
        let scene = Scene()
        let (id, invite) = try scene.calling()
        scene.peer.respond(180, to: invite)
        scene.bench.run(.milliseconds(30))
        agree(scene)
        try scene.phone.on { try $0.hold(id, now: $1) }
        scene.bench.run(.milliseconds(100))
        #expect(scene.peer.requests(.invite).count == 1 && scene.phone.holds.isEmpty)
        scene.peer.respond(200, to: invite, sdp: sdp())
        scene.bench.run(.milliseconds(100))
        #expect(scene.peer.requests(.invite).count == 2 && scene.peer.requests(.invite).last?.sdpDirection == "sendonly")
        #expect(scene.phone.holds == ["local true"])
        #expect(scene.phone.configurations.allSatisfy { !$0.sends || $0.remote == nil }, "no sound leaves")
        try scene.phone.on { try $0.resume(id, now: $1) }
        scene.bench.run(.milliseconds(100))
        #expect(scene.phone.holds == ["local true", "local false"] && scene.phone.stream?.sends == true)
        #expect(scene.comesToRest())
    }

    @Test func aCallThatIsHeldWhileItRingsHereIsHeldWhenWeAnswer() throws {
        let scene = Scene()
        agree(scene)
        let id = try scene.ringing()
        try scene.phone.on { try $0.hold(id, now: $1) }
        try scene.phone.on { try $0.answer(id, now: $1) }
        scene.bench.run(.milliseconds(30))
        #expect(scene.peer.requests(.invite).isEmpty)
        scene.peer.send("ACK", to: scene.phone, toTag: scene.tag)
        scene.bench.run(.milliseconds(100))
        #expect(scene.peer.requests(.invite).map(\.sdpDirection) == ["sendonly"] && scene.phone.holds == ["local true"])
        #expect(scene.phone.stream?.sends == false && scene.comesToRest())
    }

    @Test func aHoldThatIsTakenBackBeforeTheAnswerIsNothing() throws {
        let scene = Scene()
        let (id, invite) = try scene.calling()
        agree(scene)
        try scene.phone.on { try $0.hold(id, now: $1) }
        try scene.phone.on { try $0.resume(id, now: $1) }
        scene.peer.respond(200, to: invite, sdp: sdp())
        scene.bench.run(.milliseconds(100))
        #expect(scene.peer.requests(.invite).count == 1 && scene.phone.holds.isEmpty && scene.phone.stream?.sends == true)
        #expect(scene.comesToRest())
    }
}
