// SPDX-License-Identifier: Apache-2.0
//
// Session timers (RFC 4028), both sides, in virtual time.

import Essentials
import SIP
import SIPAgent
import Testing

@Suite struct SessionTimerTests {
    /// The peer answers each BYE and re-INVITE of the phone; the phone refreshes when it is told to.
    private func prepared(_ sessionExpires: String? = nil, configure: (inout UserAgentConfiguration) -> Void = { _ in }) -> Scene {
        let scene = Scene(configure: configure)
        scene.phone.onEvent = { [unowned scene] event in
            if case .refreshDue(let id) = event { scene.on { $0.reinvite(id, offer: sdpBytes, now: $1) } }
            if case .reinvited(let id, _) = event { scene.on { $0.answerReinvite(id, status: 200, answer: sdpBytes, now: $1) } }
        }
        scene.peer.onMessage = { [unowned scene] message in
            guard message.isRequest, message.to.tag != nil else { return }
            if message.method == .bye { scene.peer.respond(200, to: message) }
            if message.method == .invite {
                scene.peer.respond(
                    200, to: message, contact: scene.peer.contact, headers: sessionExpires.map { [(.sessionExpires, $0)] } ?? [],
                    body: sdpOffer)
            }
        }
        return scene
    }

    private func reinvites(_ scene: Scene) -> [SIPMessage] {
        var seen: [UInt32] = []
        return scene.peer.requests(.invite).filter { message in
            guard message.to.tag != nil, !seen.contains(message.cseq.number) else { return false }
            seen.append(message.cseq.number)
            return true
        }
    }

    private func refresh(_ scene: Scene, _ tag: String?, callID: String, sequence: UInt32, _ header: String) {
        scene.peer.send(
            "INVITE", scene.phoneURI, to: scene.phone, callID: callID, toTag: tag, sequence: sequence,
            headers: ["Supported: timer", header], type: "application/sdp", body: sdpOffer)
        scene.network.run(.milliseconds(100))
        scene.peer.send("ACK", scene.phoneURI, to: scene.phone, callID: callID, toTag: tag, sequence: sequence)
        scene.network.run(.milliseconds(100))
    }

    // MARK: As the caller

    @Test(
        "Our INVITE asks for the interval that is set",
        arguments: [(1800, "1800"), (90, "90"), (30, "90"), (0, nil)] as [(Int, String?)])
    func asks(row: (Int, String?)) throws {
        let (setting, field) = row
        let scene = Scene { $0.sessionInterval = setting }
        let (_, invite) = try scene.outgoing()
        #expect(invite.supported.contains("timer") && invite.require.isEmpty)
        #expect(invite.first(.sessionExpires) == field && invite.first(.minSE) == nil)
    }

    @Test("B-046: 422 is answered by the same request with its Min-SE")
    func intervalTooSmall() throws {
        let scene = Scene { $0.sessionInterval = 90 }
        let (_, first) = try scene.outgoing()
        scene.peer.respond(422, to: first, headers: [(.minSE, "120")])
        scene.network.run(.milliseconds(100))
        let second = try required(scene.peer.requests(.invite).last)
        #expect(second.first(.sessionExpires) == "120" && second.first(.minSE) == "120")
        #expect(second.callID == first.callID && second.cseq.number == first.cseq.number + 1 && second.to.tag == nil)
        #expect(second.topVia.branch != first.topVia.branch && second.body == first.body)
        scene.peer.respond(200, to: second, contact: scene.peer.contact, headers: [(.sessionExpires, "120;refresher=uac")], body: sdpOffer)
        scene.network.run(.seconds(1))
        #expect(scene.phone.answered.count == 1 && scene.phone.ends.isEmpty)
        #expect(scene.phone.agent.counters[.sessionIntervalRaised] == 1)
    }

    @Test("A 422 that asks for nothing more, or again and again, ends the call", arguments: [nil, "90", "x", "0"] as [String?])
    func uselessRefusal(minSE: String?) throws {
        let scene = Scene { $0.sessionInterval = 90 }
        let (_, invite) = try scene.outgoing()
        scene.peer.respond(422, to: invite, headers: minSE.map { [(.minSE, $0)] } ?? [])
        scene.network.run(.seconds(1))
        #expect(scene.phone.ends.map(\.cause.status) == [422] && scene.peer.requests(.invite).count == 1)
    }

    @Test func anIntervalThatGrowsForEverMeetsTheLimit() throws {
        let scene = Scene()
        var least = 2000
        scene.peer.onMessage = { [unowned scene] message in
            guard message.isRequest, message.method == .invite else { return }
            scene.peer.respond(422, to: message, headers: [(.minSE, "\(least)")])
            least += 100
        }
        _ = try scene.outgoing()
        scene.network.run(.seconds(1))
        #expect(scene.peer.requests(.invite).count == 3 && scene.phone.ends.map(\.cause.status) == [422])
        #expect(scene.settles())
    }

    @Test func ourRefreshesKeepTheCallUp() throws {
        let scene = prepared("1800;refresher=uac")
        _ = try scene.answeredOutgoing(headers: [(.sessionExpires, "1800;refresher=uac")])
        scene.network.run(.seconds(899))
        #expect(reinvites(scene).isEmpty)
        scene.network.run(.seconds(2))
        let refresh = try required(reinvites(scene).last)
        #expect(refresh.first(.sessionExpires) == "1800;refresher=uac" && refresh.supported == ["timer"])
        scene.network.run(.seconds(9000))
        #expect(reinvites(scene).count == 11 && scene.phone.ends.isEmpty)
    }

    @Test func aRefreshThatIsNeverAnsweredEndsTheCall() throws {
        let scene = prepared()
        scene.peer.onMessage = nil
        _ = try scene.answeredOutgoing(headers: [(.sessionExpires, "1800;refresher=uac")])
        scene.network.run(.seconds(940))
        #expect(scene.phone.ends.map(\.cause.code) == ["call.no-response"])
        #expect(!scene.peer.requests(.bye).isEmpty)
        #expect(scene.settles())
    }

    @Test func aRefreshThatIsRefusedIsTriedAgainUntilTheSessionExpires() throws {
        let scene = prepared()
        scene.peer.onMessage = { [unowned scene] message in
            if message.isRequest, message.to.tag != nil, message.method != .ack {
                scene.peer.respond(message.method == .bye ? 200 : 503, to: message)
            }
        }
        _ = try scene.answeredOutgoing(headers: [(.sessionExpires, "1800;refresher=uac")])
        scene.network.run(.seconds(1767))
        #expect(reinvites(scene).count == 5 && scene.phone.ends.isEmpty)
        scene.network.run(.seconds(2))
        #expect(scene.phone.ends.map(\.cause.code) == ["call.session-expired"])
        #expect(scene.peer.requests(.bye).count == 1)
        #expect(scene.settles())
    }

    @Test func nobodyWhoRefreshesMeansBYE() throws {
        let scene = prepared()
        scene.phone.onEvent = nil
        let (id, _) = try scene.answeredOutgoing(headers: [(.sessionExpires, "600")])
        scene.network.run(.seconds(567))
        #expect(scene.phone.ends.isEmpty)
        #expect(scene.phone.events.contains { if case .refreshDue(id) = $0 { true } else { false } })
        scene.network.run(.seconds(2))
        #expect(scene.phone.ends.map(\.cause.code) == ["call.session-expired"])
        #expect(scene.phone.ends.map(\.byRemote) == [false])
    }

    @Test func theRefreshesOfThePeerKeepTheCallUpAndTheirAbsenceEndsIt() throws {
        let scene = prepared()
        let (_, invite) = try scene.answeredOutgoing(headers: [(.sessionExpires, "300;refresher=uas")])
        for round in 1...5 {
            scene.network.run(.seconds(150))
            refresh(scene, invite.from.tag, callID: invite.callID, sequence: UInt32(round), "Session-Expires: 300;refresher=uac")
        }
        #expect(scene.phone.ends.isEmpty && reinvites(scene).isEmpty)
        let answer = try required(scene.peer.responses(.invite).last)
        #expect(answer.first(.sessionExpires) == "300;refresher=uac" && answer.require == ["timer"])
        scene.network.run(.seconds(266))
        #expect(scene.phone.ends.isEmpty)
        scene.network.run(.seconds(3))
        #expect(scene.phone.ends.map(\.cause.code) == ["call.session-expired"])
        #expect(scene.settles())
    }

    @Test("B-047: a Session-Expires below our own is used, not refused")
    func shortInterval() throws {
        let scene = prepared()
        let (_, invite) = try scene.answeredOutgoing(headers: [(.sessionExpires, "20;refresher=uas")])
        for round in 1...12 {
            scene.network.run(.seconds(10))
            refresh(scene, invite.from.tag, callID: invite.callID, sequence: UInt32(round), "Session-Expires: 20;refresher=uac")
        }
        #expect(scene.phone.ends.isEmpty && scene.phone.agent.counters[.sessionIntervalShort] == 13)
    }

    @Test("An interval too short to be meant is not a flood of refreshes", arguments: ["1;refresher=uac", "2"])
    func tinyInterval(field: String) throws {
        let scene = prepared(field)
        _ = try scene.answeredOutgoing(headers: [(.sessionExpires, field)])
        scene.network.run(.seconds(61))
        #expect((10...12).contains(reinvites(scene).count) && scene.phone.ends.isEmpty)
    }

    @Test("Without a usable Session-Expires in the 200 there is no timer", arguments: [nil, "0", "x", ""] as [String?])
    func noTimer(field: String?) throws {
        let scene = prepared()
        _ = try scene.answeredOutgoing(headers: field.map { [(.sessionExpires, $0)] } ?? [])
        scene.network.run(.seconds(4000))
        #expect(scene.phone.ends.isEmpty && reinvites(scene).isEmpty && scene.phone.agent.timerCount == 0)
    }

    @Test func aRefreshOfOursThatMeets422IsSentAgainWithTheLongerInterval() throws {
        let scene = prepared()
        scene.peer.onMessage = { [unowned scene] message in
            guard message.isRequest, message.method == .invite, message.to.tag != nil else { return }
            if message.first(.minSE) == nil {
                scene.peer.respond(422, to: message, headers: [(.minSE, "3600")])
            } else {
                scene.peer.respond(
                    200, to: message, contact: scene.peer.contact, headers: [(.sessionExpires, "3600;refresher=uac")], body: sdpOffer)
            }
        }
        _ = try scene.answeredOutgoing(headers: [(.sessionExpires, "1800;refresher=uac")])
        scene.network.run(.seconds(902))
        let last = try required(reinvites(scene).last)
        #expect(last.first(.sessionExpires) == "3600;refresher=uac" && last.first(.minSE) == "3600")
        #expect(reinvites(scene).count == 2 && scene.phone.reinviteAnswers == 1)
        scene.network.run(.seconds(1790))
        #expect(reinvites(scene).count == 2 && scene.phone.ends.isEmpty)
    }

    // MARK: As the called one

    @Test(
        "Who has the refreshes of a call that came in",
        arguments: [
            ("Supported: timer", "Session-Expires: 600", "600;refresher=uac", true),
            ("Supported: timer", "x: 600;refresher=uac", "600;refresher=uac", true),
            ("Require: timer", "Session-Expires: 600; Refresher = UAS", "600;refresher=uas", false),
            ("Supported: 100rel", "Session-Expires: 600;refresher=uac", "600;refresher=uas", false),
            ("Supported: timer", "Session-Expires: 30", "30;refresher=uac", true),
        ])
    func agreed(row: (String, String, String, Bool)) throws {
        let scene = prepared()
        _ = try scene.answeredIncoming(headers: [row.0, row.1])
        let answer = try required(scene.peer.responses(.invite).last)
        #expect(answer.statusCode == 200 && answer.first(.sessionExpires) == row.2)
        #expect((answer.require == ["timer"]) == row.3 && answer.supported == ["timer"])
    }

    @Test func aCallThatCameInWithoutATimerHasNone() throws {
        let scene = prepared()
        _ = try scene.answeredIncoming(headers: ["Supported: timer"])
        #expect(scene.peer.responses(.invite).last?.contains(.sessionExpires) == false)
        scene.network.run(.seconds(4000))
        #expect(scene.phone.ends.isEmpty && scene.phone.agent.timerCount == 0)
    }

    @Test func aCallerWhoDoesNotRefreshIsGivenUp() throws {
        let scene = prepared()
        _ = try scene.answeredIncoming(headers: ["Supported: timer", "Session-Expires: 90"])
        scene.network.run(.seconds(59))
        #expect(scene.phone.ends.isEmpty)
        scene.network.run(.seconds(3))
        #expect(scene.phone.ends.map(\.cause.code) == ["call.session-expired"])
        #expect(scene.peer.requests(.bye).count == 1)
        #expect(scene.settles())
    }

    @Test func ourRefreshesAsTheCalledOneNameUsAsTheirSender() throws {
        let scene = prepared("600;refresher=uac")
        _ = try scene.answeredIncoming(headers: ["Supported: timer", "Session-Expires: 600;refresher=uas"])
        scene.network.run(.seconds(3100))
        #expect(reinvites(scene).count == 10 && scene.phone.ends.isEmpty)
        #expect(reinvites(scene).allSatisfy { $0.first(.sessionExpires) == "600;refresher=uac" })
    }

    @Test("B-048: a refresh of the peer while our BYE is under way")
    func refreshDuringBye() throws {
        let scene = prepared()
        let (id, tag) = try scene.answeredIncoming(headers: ["Supported: timer", "Session-Expires: 90;refresher=uas"])
        scene.peer.onMessage = nil
        scene.on { $0.hangUp(id, now: $1) }
        refresh(scene, tag, callID: "call-1", sequence: 2, "Session-Expires: 90;refresher=uas")
        #expect(scene.peer.responses(.invite).last?.statusCode == 481)
        #expect(scene.phone.ends.count == 1 && scene.phone.agent.timerCount == 0)
        #expect(scene.settles())
    }

    @Test(
        "Session-Expires as it is written",
        arguments: [
            ("1800", 1800, nil), (" 90 ; refresher=uac", 90, .uac), ("90;Refresher=UAS;x=y", 90, .uas), ("90;refresher=me", 90, nil),
            ("99999999999", UInt32.max, nil),
        ] as [(String, UInt32, SessionExpires.Refresher?)])
    func reading(row: (String, UInt32, SessionExpires.Refresher?)) throws {
        let field = try SessionExpires(row.0)
        #expect(field.interval == row.1 && field.refresher == row.2)
        #expect(try SessionExpires(field.description) == field)
    }

    @Test("What is no Session-Expires", arguments: ["", ";refresher=uac", "x", "-1", "1 2"])
    func notReadable(text: String) { #expect(throws: SIPError.self) { try SessionExpires(text) } }
}
