// SPDX-License-Identifier: Apache-2.0
//
// Every command in every phase of a call: what is refused says so with its code and changes nothing.

import Essentials
import PhoneCore
import SIP
import SIPAgent
import Testing

@Suite struct CommandTests {
    enum Phase: CaseIterable {
        case unknown, openingOutgoing, inviting, early, ringing, accepting, established, ended
    }

    enum Command: CaseIterable {
        case answer, reject, hold, resume, mute, digits, infoDigits, inbandDigits, statistics, port, hangUp
    }

    /// The call of a phase, and what brings it there.
    private func make(_ phase: Phase) throws -> (Scene, CallID) {
        let scene = Scene()
        switch phase {
        case .unknown: return (scene, CallID(rawValue: 99))
        case .openingOutgoing:
            scene.phone.answersMedia = false
            return (scene, try scene.phone.call(scene.target))
        case .inviting: return (scene, try scene.calling().id)
        case .early:
            let (id, invite) = try scene.calling()
            scene.peer.respond(183, to: invite, sdp: sdp(events: true))
            scene.bench.run(.milliseconds(30))
            return (scene, id)
        case .ringing: return (scene, try scene.ringing(sdp(events: true)))
        case .accepting:
            let id = try scene.ringing(sdp(events: true))
            try scene.phone.on { try $0.answer(id, now: $1) }
            return (scene, id)
        case .established: return (scene, try scene.answered(sdp(events: true)))
        case .ended:
            let id = try scene.answered()
            try scene.phone.on { try $0.hangUp(id, now: $1) }
            scene.bench.run(.milliseconds(30))
            return (scene, id)
        }
    }

    private func give(_ command: Command, _ id: CallID, to phone: PhoneNode) throws {
        try phone.on { core, now in
            switch command {
            case .answer: try core.answer(id, now: now)
            case .reject: try core.reject(id, now: now)
            case .hold: try core.hold(id, now: now)
            case .resume: try core.resume(id, now: now)
            case .mute: try core.setMuted(id, true, now: now)
            case .digits: try core.sendDigits("1", on: id, now: now)
            case .infoDigits: try core.sendDigits("1", on: id, method: .info, now: now)
            case .inbandDigits: try core.sendDigits("1", on: id, method: .inband, now: now)
            case .statistics: try core.requestStatistics(id)
            case .port: _ = try core.port(of: id)
            case .hangUp: try core.hangUp(id, now: now)
            }
        }
    }

    private func expected(_ command: Command, _ phase: Phase) -> PhoneError.Code? {
        if phase == .unknown || phase == .ended { return command == .hangUp ? nil : .noSuchCall }
        switch command {
        case .answer, .reject: return phase == .ringing ? nil : .wrongState
        case .infoDigits: return phase == .established ? nil : .wrongState
        // Early media carries digits too.
        case .digits, .inbandDigits: return [.early, .accepting, .established].contains(phase) ? nil : .wrongState
        // Before the answer a hold waits for it.
        case .mute, .statistics, .port, .hangUp, .hold, .resume: return nil
        }
    }

    @Test(arguments: Phase.allCases, Command.allCases)
    func aCommandInThisPhase(phase: Phase, command: Command) throws {
        let (scene, id) = try make(phase)
        let events = scene.phone.events.count
        let media = scene.phone.media.count
        let messages = scene.bench.log.count
        let code = refusal { try give(command, id, to: scene.phone) }
        #expect(code == expected(command, phase))
        if code != nil {
            #expect(scene.phone.events.count == events)
            #expect(scene.phone.media.count == media)
            #expect(scene.bench.log.count == messages)
        }
        scene.phone.answersMedia = true
        if phase == .openingOutgoing, case .openStream(let port, _)? = scene.phone.media.first {
            scene.phone.give(.streamOpened(port, rtp: SocketAddress(host(1), 4000)))
            try scene.phone.on { try $0.hangUp(id, now: $1) }
            scene.phone.give(.statistics(port, .init()))
        }
        if phase == .accepting { scene.peer.send("ACK", to: scene.phone, toTag: scene.tag) }
        #expect(scene.comesToRest())
    }

    @Test func accountsThatAreNotThereAreRefused() throws {
        let scene = Scene()
        let account = try scene.addAccount()
        try scene.phone.on { try $0.removeAccount(account, now: $1) }
        for unknown in [account, AccountID(rawValue: 77)] {
            #expect(refusal { _ = try scene.phone.call("1002", from: unknown) } == .noSuchAccount)
            #expect(refusal { try scene.phone.on { try $0.register(unknown, now: $1) } } == .noSuchAccount)
            #expect(refusal { try scene.phone.on { try $0.unregister(unknown, now: $1) } } == .noSuchAccount)
            #expect(refusal { try scene.phone.on { try $0.removeAccount(unknown, now: $1) } } == .noSuchAccount)
        }
        #expect(scene.phone.isClean)
    }

    @Test func anAccountThatRegistersSendsOneRegister() throws {
        let scene = Scene()
        scene.peerAnswers { _ in 200 }
        scene.peer.onRequest = { request in
            let contact = request.first(.contact) ?? ""
            var response = request.makeResponse(status: 200, toTag: "reg")
            response.add(.contact, contact)
            scene.bench.send(response.build().bytes, from: scene.peer.address, to: scene.phone.address)
        }
        let account = try scene.addAccount { $0.registers = true }
        scene.bench.run(.seconds(5))
        #expect(scene.peer.requests(.register).count == 1)
        try scene.phone.on { try $0.register(account, now: $1) }
        scene.bench.run(.seconds(5))
        #expect(scene.peer.requests(.register).count == 2)
        try scene.phone.on { try $0.unregister(account, now: $1) }
        scene.bench.run(.seconds(5))
        #expect(scene.peer.requests(.register).count == 3)
        let states = scene.phone.events.compactMap { if case .registration(_, let state) = $0 { state.name } else { nil } }
        #expect(states.first == "registering")
        #expect(states.last == "unregistered")
        #expect(scene.comesToRest())
    }

    @Test func muteKeepsTheStreamAndTellsNothing() throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        let told = scene.phone.mediaEvents.count
        try scene.phone.on { try $0.setMuted(id, true, now: $1) }
        #expect(scene.phone.stream?.isMuted == true)
        #expect(scene.phone.stream?.sends == true)
        try scene.phone.on { try $0.hold(id, now: $1) }
        #expect(scene.phone.stream?.isMuted == true)
        try scene.phone.on { try $0.setMuted(id, false, now: $1) }
        #expect(scene.phone.stream?.isMuted == false)
        #expect(scene.phone.stream?.sends == false)
        // Only the hold changed what the media is.
        #expect(scene.phone.mediaEvents.count == told + 1)
        #expect(scene.comesToRest())
    }

    @Test func muteBeforeTheAnswerHoldsAfterIt() throws {
        let scene = Scene()
        let id = try scene.ringing()
        try scene.phone.on { try $0.setMuted(id, true, now: $1) }
        try scene.phone.on { try $0.answer(id, now: $1) }
        #expect(scene.phone.stream?.isMuted == true)
        scene.bench.run(.milliseconds(20))
        scene.peer.send("ACK", to: scene.phone, toTag: scene.tag)
        scene.bench.run(.milliseconds(20))
        #expect(scene.comesToRest())
    }

    @Test(arguments: [(0, 300), (486, 486), (603, 603), (9999, 699)])
    func aRefusalHasAStatusThatRefuses(given: Int, sent: Int) throws {
        let scene = Scene()
        let id = try scene.ringing()
        try scene.phone.on { try $0.reject(id, status: given, now: $1) }
        scene.bench.run(.milliseconds(30))
        #expect(scene.bench.statuses(by: scene.phone, .invite) == [180, sent])
        #expect(scene.phone.ends.first?.end.cause.code == (sent == 486 ? "call.refused-busy" : "call.refused"))
        scene.peer.send("ACK", to: scene.phone, toTag: scene.tag)
        #expect(scene.comesToRest())
    }
}
