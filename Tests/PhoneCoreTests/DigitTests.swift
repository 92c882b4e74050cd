// SPDX-License-Identifier: Apache-2.0
//
// DTMF both ways: by RFC 4733 and in the audio through the media engine, by INFO through the user agent (B-060).

import Essentials
import PhoneCore
import SIP
import SIPAgent
import Testing

@Suite struct DigitTests {
    private func infoBodies(_ scene: Scene) -> [String] {
        scene.peer.requests(.info).map { String(decoding: $0.body, as: UTF8.self) }
    }

    @Test func autoTakesTelephoneEventWhereItWasAgreed() throws {
        let scene = Scene()
        let (id, _) = try scene.established(sdp(events: true))
        try scene.phone.on { try $0.sendDigits("12a,#", on: id, now: $1) }
        #expect(scene.phone.sentDigits == ["12A,#"])
        let port = try scene.phone.port(id)
        scene.phone.give(.digitSent(port, "1", milliseconds: 100, inBand: false))
        #expect(scene.phone.digitsSent == "1")
        try scene.phone.on { try $0.sendDigits("3", on: id, method: .inband, now: $1) }
        #expect(scene.phone.sentDigits.last == "3 inband")
        #expect(scene.comesToRest())
    }

    @Test func autoTakesINFOWhereItWasNot() throws {
        let scene = Scene()
        let (id, _) = try scene.established(sdp())
        #expect(refusal { try scene.phone.on { try $0.sendDigits("1", on: id, method: .rfc4733, now: $1) } } == .noTelephoneEvent)
        scene.peerAnswers { _ in 200 }
        try scene.phone.on { try $0.sendDigits("5*", on: id, now: $1) }
        // A digit counts as sent when the peer has taken it.
        #expect(scene.phone.digitsSent == "")
        scene.bench.run(.milliseconds(400))
        #expect(infoBodies(scene) == ["Signal=5\r\nDuration=100\r\n", "Signal=*\r\nDuration=100\r\n"])
        #expect(scene.peer.requests(.info).first?.contentType?.subtype == "dtmf-relay")
        #expect(scene.phone.digitsSent == "5*")
        #expect(scene.phone.sentDigits.isEmpty)
        #expect(scene.comesToRest())
    }

    /// The peer holds each key down for the time that INFO names: one that comes sooner would be pressed into it.
    @Test func digitsByINFOLeaveTheTimeOfTheirKeysBetweenThem() throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        scene.peerAnswers { _ in 200 }
        try scene.phone.on { try $0.sendDigits("12", on: id, method: .info, now: $1) }
        scene.bench.run(.milliseconds(140))
        #expect(infoBodies(scene) == ["Signal=1\r\nDuration=100\r\n"])
        // Asked for later, it waits just as long.
        try scene.phone.on { try $0.sendDigits("3", on: id, method: .info, now: $1) }
        scene.bench.run(.milliseconds(400))
        #expect(scene.phone.digitsSent == "123")
        #expect(scene.comesToRest())
    }

    /// Requests of their own may overtake each other, so each digit waits for the answer to the one before.
    @Test func digitsByINFOGoOneAfterAnotherAndAllArrive() throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        let digits = String(repeating: "1234567890*#ABCD", count: 8)
        try scene.phone.on { try $0.sendDigits(digits, on: id, method: .info, now: $1) }
        scene.bench.run(.milliseconds(30))
        #expect(scene.peer.requests(.info).count == 1)
        #expect(refusal { try scene.phone.on { try $0.sendDigits("12", on: id, method: .info, now: $1) } } == .limit)
        scene.peerAnswers { _ in 200 }
        scene.bench.run(.seconds(30))
        #expect(scene.phone.digitsSent == digits)
        #expect(scene.phone.digitFailures.isEmpty)
        #expect(scene.comesToRest())
    }

    @Test func aCommaWaitsHalfASecond() throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        scene.peerAnswers { _ in 200 }
        let start = scene.bench.now
        try scene.phone.on { try $0.sendDigits("1,,2", on: id, method: .info, now: $1) }
        #expect(scene.bench.run(atMost: .seconds(5)) { scene.phone.digitsSent == "12" })
        #expect(scene.bench.now - start >= .seconds(1))
        #expect(scene.bench.now - start < .milliseconds(1200))
        #expect(infoBodies(scene).count == 2)
        #expect(scene.comesToRest())
    }

    @Test(arguments: [415, 488, 501, 603])
    func aRefusedDigitIsTold(status: Int) throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        scene.peerAnswers { _ in status }
        try scene.phone.on { try $0.sendDigits("12", on: id, method: .info, now: $1) }
        scene.bench.run(.seconds(1))
        #expect(scene.phone.digitFailures.map(\.code) == ["dtmf.refused", "dtmf.refused"])
        #expect(scene.phone.digitFailures.map { $0.evidence.first?.value } == ["1", "2"])
        #expect(scene.phone.digitFailures.first?.status == status)
        #expect(scene.phone.core.state(of: id) == .confirmed)
        #expect(scene.comesToRest())
    }

    /// Every digit that INFO does not bring goes as tones, each once, and later ones are not tried by INFO again.
    @Test(arguments: [403, 405, 415, 488, 501, 503, 603])
    func autoFallsBackToTonesWhereINFOIsRefused(status: Int) throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        scene.peerAnswers { _ in status }
        try scene.phone.on { try $0.sendDigits("1,2#", on: id, now: $1) }
        scene.bench.run(.seconds(1))
        #expect(scene.phone.sentDigits == ["1,2# inband"])
        #expect(scene.phone.digitFailures.isEmpty)
        let asked = scene.peer.requests(.info).count
        #expect(asked == (status == 415 ? 2 : 1))
        try scene.phone.on { try $0.sendDigits("9", on: id, now: $1) }
        scene.bench.run(.seconds(1))
        #expect(scene.phone.sentDigits.last == "9 inband")
        #expect(scene.peer.requests(.info).count == asked)
        scene.phone.give(.digitSent(try scene.phone.port(id), "1", milliseconds: 100, inBand: true))
        #expect(scene.phone.digitMethods == ["1 inband"])
        #expect(scene.comesToRest())
    }

    @Test func autoFallsBackWhereNoAnswerComes() throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        try scene.phone.on { try $0.sendDigits("7", on: id, now: $1) }
        scene.bench.run(.seconds(33))
        #expect(scene.phone.sentDigits == ["7 inband"])
        #expect(scene.phone.core.state(of: id) == .confirmed)
        #expect(scene.comesToRest())
    }

    /// The other customary body, when a 415 names it or names nothing.
    @Test(arguments: ["application/dtmf", "application/sdp, application/dtmf", nil] as [String?])
    func theOtherBodyIsTakenWhereTheFirstIsUnknown(accept: String?) throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        scene.peer.onRequest = { request in
            guard request.method == .info else { return }
            let isPlain = request.contentType?.subtype == "dtmf"
            scene.peer.respond(isPlain ? 200 : 415, to: request, headers: isPlain ? [] : accept.map { [(.accept, $0)] } ?? [])
        }
        try scene.phone.on { try $0.sendDigits("5#", on: id, now: $1) }
        scene.bench.run(.seconds(1))
        #expect(infoBodies(scene) == ["Signal=5\r\nDuration=100\r\n", "5", "#"])
        #expect(scene.phone.digitMethods == ["5 info", "# info"])
        #expect(scene.phone.sentDigits.isEmpty)
        #expect(scene.comesToRest())
    }

    @Test func aPeerWhoseAllowHasNoINFOIsNotAsked() throws {
        let scene = Scene()
        let (id, invite) = try scene.calling()
        scene.peer.respond(200, to: invite, sdp: sdp(), headers: [(.allow, "INVITE, ACK, BYE, CANCEL")])
        scene.bench.run(.milliseconds(30))
        try scene.phone.on { try $0.sendDigits("5", on: id, now: $1) }
        #expect(scene.phone.sentDigits == ["5 inband"])
        #expect(scene.comesToRest())
    }

    /// One key is one event, whichever of its two ways is the faster.
    @Test func aToneWhoseDigitCameByINFOIsNotTold() throws {
        let scene = Scene()
        let id = try scene.answered()
        let port = try scene.phone.port(id)
        func info(_ digit: String, _ sequence: UInt32) {
            scene.peer.send(
                "INFO", to: scene.phone, toTag: scene.tag, sequence: sequence, type: "application/dtmf", body: digit)
            scene.bench.run(.milliseconds(30))
        }
        info("1", 2)
        scene.phone.give(.digitReceived(port, "1", milliseconds: 100, inBand: true))
        scene.phone.give(.digitReceived(port, "2", milliseconds: 100, inBand: true))
        scene.bench.run(.milliseconds(200))
        info("2", 3)
        scene.bench.run(.seconds(3))
        // Twice the same key is two keys.
        info("3", 4)
        info("3", 5)
        scene.phone.give(.digitReceived(port, "3", milliseconds: 100, inBand: true))
        scene.phone.give(.digitReceived(port, "3", milliseconds: 100, inBand: true))
        scene.bench.run(.seconds(3))
        #expect(scene.phone.digitsReceived == ["1 info 250", "2 info 250", "3 info 250", "3 info 250"])
        scene.phone.give(.digitReceived(port, "4", milliseconds: 90, inBand: true))
        #expect(scene.phone.digitsReceived.count == 4)
        scene.bench.run(.milliseconds(401))
        #expect(scene.phone.digitsReceived.last == "4 inband 90")
        // Heard just before the end: told all the same.
        scene.phone.give(.digitReceived(port, "5", milliseconds: 90, inBand: true))
        #expect(scene.comesToRest())
        #expect(scene.phone.digitsReceived.last == "5 inband 90")
    }

    @Test func aCallThatEndsTakesItsDigitsWithIt() throws {
        let scene = Scene()
        let (id, _) = try scene.established()
        scene.peerAnswers { _ in 200 }
        try scene.phone.on { try $0.sendDigits("1,2", on: id, now: $1) }
        scene.bench.run(.milliseconds(100))
        try scene.phone.on { try $0.hangUp(id, now: $1) }
        scene.bench.run(.seconds(2))
        #expect(infoBodies(scene).count == 1)
        #expect(scene.comesToRest())
    }

    @Test(arguments: ["", "x", "1 2", "１", "1\u{301}", "+", String(repeating: "1", count: 129)])
    func whatIsNoDigitIsRefused(digits: String) throws {
        let scene = Scene()
        let (id, _) = try scene.established(sdp(events: true))
        #expect(refusal { try scene.phone.on { try $0.sendDigits(digits, on: id, now: $1) } } == .badDigits)
        #expect(scene.phone.sentDigits.isEmpty)
        #expect(scene.comesToRest())
    }

    /// What is not sent cannot carry a digit; INFO can.
    @Test func onHoldTheAudioCarriesNoDigits() throws {
        let scene = Scene()
        let id = try scene.answered(sdp(events: true))
        try scene.reinvite(sdp(direction: "sendonly", events: true, version: 2), sequence: 2)
        for method in [DigitMethod.auto, .rfc4733, .inband] {
            #expect(refusal { try scene.phone.on { try $0.sendDigits("1", on: id, method: method, now: $1) } } == .wrongState)
        }
        scene.peerAnswers { _ in 200 }
        try scene.phone.on { try $0.sendDigits("1", on: id, method: .info, now: $1) }
        scene.bench.run(.milliseconds(50))
        #expect(scene.phone.digitsSent == "1")
        #expect(scene.comesToRest())
    }

    @Test(
        arguments: [
            ("application/dtmf-relay", "Signal=5\r\nDuration=160\r\n", "5 info 160"),
            ("application/dtmf-relay", "Signal= * \nDuration= 90", "* info 90"),
            ("application/dtmf-relay", "signal=10\r\n", "* info 250"),
            ("application/dtmf-relay", "Signal=11\r\nDuration=0\r\n", "# info 250"),
            ("application/dtmf-relay", "Signal=12", "A info 250"), ("application/dtmf-relay", "Signal=15\r\nDuration=99999", "D info 250"),
            ("application/dtmf-relay", "Signal=d", "D info 250"), ("Application/DTMF-Relay;x=y", "Signal=1", "1 info 250"),
            ("application/dtmf", "7", "7 info 250"), ("application/dtmf", " 11\r\n", "# info 250"), ("application/dtmf", "b", "B info 250"),
            // What says nothing is answered 200 and told to nobody.
            ("application/dtmf-relay", "Signal=", nil), ("application/dtmf-relay", "Signal=16", nil), ("application/dtmf-relay", "5", nil),
            ("application/dtmf", "55", nil), ("application/dtmf", "!", nil),
            ("application/dtmf", "1" + String(repeating: " ", count: 300), nil),
        ] as [(String, String, String?)])
    func aDigitByINFOIsRead(type: String, body: String, digit: String?) throws {
        let scene = Scene()
        _ = try scene.answered()
        scene.peer.send("INFO", to: scene.phone, toTag: scene.tag, sequence: 2, type: type, body: body)
        scene.bench.run(.milliseconds(30))
        #expect(scene.bench.statuses(by: scene.phone, .info) == [200])
        #expect(scene.phone.digitsReceived == (digit.map { [$0] } ?? []))
        #expect(scene.comesToRest())
    }

    @Test func digitsOfTheStreamAreTold() throws {
        let scene = Scene()
        let id = try scene.answered(sdp(events: true))
        let port = try scene.phone.port(id)
        scene.phone.give(.digitReceived(port, "4", milliseconds: 80, inBand: false))
        scene.phone.give(.digitReceived(port, "#", milliseconds: 60, inBand: true))
        scene.bench.run(.milliseconds(500))
        #expect(scene.phone.digitsReceived == ["4 rfc4733 80", "# inband 60"])
        #expect(scene.comesToRest())
    }

    @Test func digitsGoFromPhoneToPhoneByINFO() throws {
        let pair = Pair { $0.audio.telephoneEvent = false }
        let (alice, _) = try pair.establish()
        try pair.alice.on { try $0.sendDigits("0123456789*#ABCD", on: alice, now: $1) }
        pair.bench.run(.seconds(3))
        #expect(pair.alice.digitsSent == "0123456789*#ABCD")
        #expect(pair.bob.digitsReceived.map { String($0.prefix(1)) }.joined() == "0123456789*#ABCD")
        try pair.alice.on { try $0.hangUp(alice, now: $1) }
        #expect(pair.settles())
    }
}
