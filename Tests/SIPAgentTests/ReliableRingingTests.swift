// SPDX-License-Identifier: Apache-2.0
//
// Reliable provisional responses as the called side (RFC 3262 §3, §5).

import Essentials
import SIP
import SIPAgent
import Testing

@Suite struct ReliableRingingTests {
    private func ringing(_ headers: [String] = ["Require: 100rel"], body: String = sdpOffer, policy: ReliableProgressPolicy = .whenRequired)
        throws -> (Scene, SessionID, SIPMessage)
    {
        let scene = Scene { $0.reliableProgress = policy }
        let id = try scene.incoming(headers: headers, body: body)
        scene.on { $0.ring(id, body: body.isEmpty ? sdpBytes : nil, now: $1) }
        scene.network.run(.milliseconds(30))
        return (scene, id, try required(scene.peer.responses(.invite).last { $0.statusCode == 180 }))
    }

    private func prack(_ scene: Scene, _ ringing: SIPMessage, rack: String? = nil, sequence: UInt32 = 2, body: String = "") {
        scene.peer.send(
            "PRACK", scene.phoneURI, to: scene.phone, toTag: ringing.to.tag, sequence: sequence,
            headers: ["RAck: " + (rack ?? "\(ringing.first(.rseq) ?? "0") 1 INVITE")], type: body.isEmpty ? nil : "application/sdp",
            body: body)
        scene.network.run(.milliseconds(30))
    }

    @Test func aRequired180HasItsNumberAndIsRepeatedUntilThePRACK() throws {
        let (scene, id, first) = try ringing()
        #expect(first.require == ["100rel"])
        let number = try required(first.first(.rseq).flatMap { UInt32($0) })
        #expect(number >= 1 && number < 1 << 31)
        #expect(first.contacts.count == 1 && first.allow.contains("PRACK"))
        scene.network.run(.milliseconds(3600))
        // 0, 0.5, 1.5, 3.5 s.
        let copies = scene.peer.responses(.invite).filter { $0.statusCode == 180 }
        #expect(copies.count == 4)
        #expect(Set(copies.map(\.bytes)).count == 1)
        prack(scene, first)
        #expect(scene.peer.responses(.prack).map(\.statusCode) == [200])
        scene.network.run(.seconds(40))
        #expect(scene.peer.responses(.invite).filter { $0.statusCode == 180 }.count == 4)
        scene.on { $0.accept(id, answer: sdpBytes, now: $1) }
        scene.network.run(.milliseconds(30))
        #expect(scene.peer.responses(.invite).last?.statusCode == 200)
        scene.peer.send("ACK", scene.phoneURI, to: scene.phone, toTag: first.to.tag)
        scene.network.run(.milliseconds(30))
        #expect(scene.phone.confirmed == 1)
        scene.on { $0.hangUp(id, now: $1) }
        #expect(scene.settles())
    }

    @Test func withoutAPRACKTheINVITEIsRefused504() throws {
        let (scene, _, _) = try ringing()
        scene.network.run(.seconds(33))
        #expect(scene.peer.responses(.invite).last?.statusCode == 504)
        #expect(scene.phone.ends.map(\.cause.code) == ["call.no-prack"])
        #expect(scene.phone.agent.counters[.missingPRACK] == 1)
        #expect(scene.settles())
    }

    @Test(arguments: ["0 1 INVITE", "4294967295 1 INVITE", "x 1 INVITE", "1 1", "", "N 2 INVITE", "N 1 UPDATE"])
    func aPRACKThatMatchesNothingIsAnswered481(rack: String) throws {
        let (scene, id, first) = try ringing()
        prack(scene, first, rack: rack.split(separator: "N", omittingEmptySubsequences: false).joined(separator: first.first(.rseq) ?? ""))
        #expect(scene.peer.responses(.prack).map(\.statusCode) == [481])
        #expect(scene.phone.agent.counters[.unmatchedPRACK] == 1)
        scene.on { $0.reject(id, status: 486, now: $1) }
        #expect(scene.settles())
    }

    /// One at a time: the second has the next number, and waits for the PRACK of the first.
    @Test func theNextOneWaitsForThePRACK() throws {
        let (scene, id, first) = try ringing()
        scene.on { $0.ring(id, status: 183, now: $1) }
        scene.network.run(.milliseconds(100))
        #expect(!scene.peer.responses(.invite).contains { $0.statusCode == 183 })
        prack(scene, first)
        let second = try required(scene.peer.responses(.invite).last)
        #expect(second.statusCode == 183)
        #expect(second.first(.rseq).flatMap { UInt32($0) } == first.first(.rseq).flatMap { UInt32($0) }.map { $0 + 1 })
        prack(scene, second, sequence: 3)
        #expect(scene.peer.responses(.prack).map(\.statusCode) == [200, 200])
        scene.on { $0.reject(id, status: 486, now: $1) }
        #expect(scene.settles())
    }

    /// RFC 3262 §5: the offer in the first reliable response, the answer in the PRACK, and no 2xx before that.
    @Test func withoutAnOfferOursGoesOutAndThe200WaitsForItsAnswer() throws {
        let (scene, id, first) = try ringing(body: "")
        #expect(Array(first.body) == sdpBytes)
        scene.on { $0.accept(id, answer: nil, now: $1) }
        scene.network.run(.milliseconds(200))
        #expect(!scene.peer.responses(.invite).contains { $0.statusCode == 200 })
        prack(scene, first, body: sdpOffer)
        #expect(scene.phone.earlyAnswers.map { Array($0.body) } == [sdpBytes])
        let success = try required(scene.peer.responses(.invite).last)
        #expect(success.statusCode == 200 && success.body.isEmpty)
        scene.peer.send("ACK", scene.phoneURI, to: scene.phone, toTag: first.to.tag)
        scene.network.run(.milliseconds(30))
        #expect(scene.phone.confirmed == 1 && scene.phone.ends.isEmpty)
        scene.on { $0.hangUp(id, now: $1) }
        #expect(scene.settles())
    }

    /// The 200 need not wait for a response without a description; its PRACK is answered all the same.
    @Test func anAnswerEndsTheRepeatsAndALatePRACKIsAnswered200() throws {
        let (scene, id, first) = try ringing()
        scene.on { $0.accept(id, answer: sdpBytes, now: $1) }
        scene.network.run(.milliseconds(30))
        #expect(scene.peer.responses(.invite).last?.statusCode == 200)
        prack(scene, first)
        #expect(scene.peer.responses(.prack).map(\.statusCode) == [200])
        scene.peer.send("ACK", scene.phoneURI, to: scene.phone, toTag: first.to.tag)
        scene.network.run(.seconds(5))
        #expect(scene.peer.responses(.invite).filter { $0.statusCode == 180 }.count == 1)
        scene.on { $0.hangUp(id, now: $1) }
        #expect(scene.settles())
    }

    @Test(arguments: [(ReliableProgressPolicy.whenRequired, false), (.whenSupported, true)])
    func whatTheCallerSupportsIsUsedBySettingOnly(policy: ReliableProgressPolicy, isReliable: Bool) throws {
        let (scene, id, first) = try ringing(["Supported: timer, 100rel"], policy: policy)
        #expect(first.contains(.rseq) == isReliable)
        #expect(first.require.contains("100rel") == isReliable)
        scene.on { $0.reject(id, status: 486, now: $1) }
        #expect(scene.settles())
    }

    @Test func aCallTakenBackIsRepeatedNoMore() throws {
        let (scene, _, _) = try ringing()
        scene.peer.send("CANCEL", scene.phoneURI, to: scene.phone, branch: "z9hG4bKpeer1")
        scene.network.run(.seconds(10))
        #expect(scene.phone.ends.map(\.cause.code) == ["call.cancelled"])
        #expect(scene.peer.responses(.invite).filter { $0.statusCode == 180 }.count == 1)
        #expect(scene.settles())
    }

    /// As the caller without an offer: the reliable 183 brings it, the PRACK answers, the 200 completes.
    @Test func aLateOfferIn183IsAnsweredInThePRACK() throws {
        let scene = Scene()
        scene.phone.onEvent = { [unowned scene] event in
            guard case .earlyOffer(let id, let message) = event else { return }
            scene.phone.agent.acknowledgeProgress(id, message, answer: Array("v=0\r\nanswer".utf8), now: scene.network.now)
        }
        let (id, invite) = try scene.outgoing(offer: nil)
        #expect(invite.supported.contains("100rel") && invite.body.isEmpty)
        scene.peer.onMessage = { [unowned scene] in if $0.isRequest, $0.method == .prack { scene.peer.respond(200, to: $0) } }
        scene.peer.respond(
            183, to: invite, contact: scene.peer.contact, headers: [(.require, "100rel"), (.rseq, "9")], body: sdpOffer)
        scene.network.run(.milliseconds(50))
        let prack = try required(scene.peer.requests(.prack).last)
        #expect(String(decoding: prack.body, as: UTF8.self) == "v=0\r\nanswer")
        #expect(scene.phone.progress.map(\.statusCode) == [183])
        scene.peer.respond(200, to: invite, contact: scene.peer.contact)
        scene.network.run(.milliseconds(50))
        #expect(scene.peer.requests(.ack).last?.body.isEmpty == true)
        #expect(scene.phone.answered.count == 1)
        scene.on { $0.hangUp(id, now: $1) }
        scene.network.run(.milliseconds(50))
        #expect(scene.peer.requests(.bye).count == 1)
        scene.peer.respond(200, to: try required(scene.peer.requests(.bye).last))
        #expect(scene.settles())
    }
}
