// SPDX-License-Identifier: Apache-2.0
//
// Reliable provisional responses as the caller (RFC 3262 §4).

import Essentials
import SIP
import SIPAgent
import Testing

@Suite struct ReliableProgressTests {
    private func progress(
        _ scene: Scene, _ invite: SIPMessage, _ status: Int = 183, rseq: String?, requires: Bool = true, tag: String = "peer",
        body: String? = sdpOffer
    ) {
        var headers: [(HeaderName, String)] = requires ? [(.require, "100rel")] : []
        if let rseq { headers.append((.rseq, rseq)) }
        scene.peer.respond(status, to: invite, tag: tag, contact: scene.peer.contact, headers: headers, body: body)
        scene.network.run(.milliseconds(100))
    }

    /// A scene whose peer answers each PRACK.
    private func answering(prackStatus: Int = 200) -> Scene {
        let scene = Scene()
        scene.peer.onMessage = { [unowned scene] in
            if $0.isRequest, $0.method == .prack { scene.peer.respond(prackStatus, to: $0) }
        }
        return scene
    }

    @Test func aReliableResponseIsAcknowledgedAndTheDialogCountsOn() throws {
        let scene = answering()
        let (id, invite) = try scene.outgoing()
        #expect(invite.supported.contains("100rel") && invite.require.isEmpty)
        progress(scene, invite, rseq: "776656")
        let prack = try required(scene.peer.requests(.prack).first)
        #expect(prack.first(.rack) == "776656 \(invite.cseq.number) INVITE")
        #expect(prack.cseq.number == invite.cseq.number + 1 && prack.callID == invite.callID)
        #expect(prack.to.tag == "peer" && prack.from.tag == invite.from.tag && prack.body.isEmpty)
        #expect("\(prack.requestURI)" == scene.peer.contact)
        #expect(scene.phone.progress.map { Array($0.body) } == [sdpBytes])
        progress(scene, invite, 180, rseq: "776657", body: nil)
        #expect(scene.peer.requests(.prack).map(\.cseq.number) == [1, 2].map { invite.cseq.number + $0 })
        #expect(scene.phone.progress.map(\.statusCode) == [183, 180])
        scene.peer.respond(200, to: invite, contact: scene.peer.contact, body: nil)
        scene.network.run(.milliseconds(100))
        #expect(scene.peer.requests(.ack).last?.cseq.number == invite.cseq.number)
        scene.on { $0.hangUp(id, now: $1) }
        scene.network.run(.milliseconds(100))
        let bye = try required(scene.peer.requests(.bye).last)
        #expect(bye.cseq.number == invite.cseq.number + 3)
        scene.peer.respond(200, to: bye)
        #expect(scene.phone.agent.counters[.reliableProgress] == 2)
        #expect(scene.settles())
    }

    @Test("B-057: a repeated reliable response is not processed again")
    func repeated() throws {
        let scene = answering()
        let (_, invite) = try scene.outgoing()
        for _ in 1...4 { progress(scene, invite, rseq: "1") }
        #expect(scene.peer.requests(.prack).count == 1 && scene.phone.progress.count == 1)
        #expect(scene.phone.agent.counters[.reliableProgressOutOfOrder] == 3)
    }

    @Test(
        "B-058: PRACK only for Require: 100rel with a usable RSeq",
        arguments: [
            (false, "1"), (true, nil), (false, nil), (true, "0"), (true, "x"), (true, "-1"), (true, "4294967296"), (true, ""),
        ] as [(Bool, String?)])
    func ordinary(row: (Bool, String?)) throws {
        let (requires, rseq) = row
        let scene = answering()
        let (_, invite) = try scene.outgoing()
        progress(scene, invite, rseq: rseq, requires: requires)
        progress(scene, invite, 180, rseq: rseq, requires: requires, body: nil)
        #expect(scene.peer.requests(.prack).isEmpty && scene.phone.progress.count == 2)
    }

    @Test func aResponseAheadOfItsTurnWaitsForTheOneBefore() throws {
        let scene = answering()
        let (_, invite) = try scene.outgoing()
        for number in ["5", "7", "4", "6", "7"] { progress(scene, invite, rseq: number) }
        #expect(scene.peer.requests(.prack).compactMap { $0.first(.rack)?.first } == ["5", "6", "7"])
        #expect(scene.phone.progress.count == 3)
    }

    @Test func theLargestNumberHasNoNext() throws {
        let scene = answering()
        let (_, invite) = try scene.outgoing()
        for number in ["4294967295", "0", "1"] { progress(scene, invite, rseq: number) }
        #expect(scene.peer.requests(.prack).count == 1)
    }

    @Test func eachForkCountsByItself() throws {
        let scene = answering()
        let (id, invite) = try scene.outgoing()
        progress(scene, invite, rseq: "10", tag: "a")
        progress(scene, invite, rseq: "20", tag: "b")
        progress(scene, invite, rseq: "11", tag: "a")
        let pracks = scene.peer.requests(.prack)
        #expect(pracks.map { $0.to.tag } == ["a", "b", "a"])
        #expect(pracks.map { $0.cseq.number - invite.cseq.number } == [1, 1, 2])
        scene.peer.respond(200, to: invite, tag: "b", contact: scene.peer.contact, body: sdpOffer)
        scene.peer.respond(200, to: invite, tag: "a", contact: scene.peer.contact, body: sdpOffer)
        scene.network.run(.milliseconds(100))
        scene.on { $0.hangUp(id, now: $1) }
        scene.network.run(.milliseconds(100))
        let byes = scene.peer.requests(.bye)
        #expect(byes.map { $0.to.tag } == ["a", "b"] && byes.map { $0.cseq.number - invite.cseq.number } == [3, 2])
    }

    @Test func aLostPRACKIsRepeatedByItsTransaction() throws {
        let scene = Scene()
        let (_, invite) = try scene.outgoing()
        progress(scene, invite, rseq: "1")
        scene.network.run(.seconds(3))
        let pracks = scene.peer.requests(.prack)
        #expect(pracks.count >= 3 && Set(pracks.map { $0.topVia.branch }).count == 1)
    }

    @Test("What the PRACK is answered does not end the call", arguments: [200, 400, 481, 500])
    func answers(status: Int) throws {
        let scene = answering(prackStatus: status)
        let (_, invite) = try scene.outgoing()
        progress(scene, invite, rseq: "1")
        #expect(scene.phone.ends.isEmpty)
        scene.peer.respond(200, to: invite, contact: scene.peer.contact, body: sdpOffer)
        scene.network.run(.milliseconds(100))
        #expect(scene.phone.answered.count == 1 && scene.phone.ends.isEmpty)
    }

    @Test func aChallengedPRACKGoesOutAgainWithTheNextNumber() throws {
        let scene = Scene()
        let account = scene.addAccount(registers: false, realm: "r")
        let (_, invite) = try scene.outgoing(account: account)
        progress(scene, invite, rseq: "1")
        let first = try required(scene.peer.requests(.prack).first)
        scene.peer.respond(407, to: first, headers: [(.proxyAuthenticate, "Digest realm=\"r\", nonce=\"n\", algorithm=MD5")])
        scene.network.run(.milliseconds(100))
        let second = try required(scene.peer.requests(.prack).last)
        #expect(second.cseq.number == first.cseq.number + 1 && second.first(.proxyAuthorization) != nil)
        scene.peer.respond(200, to: second)
        progress(scene, invite, 180, rseq: "2", body: nil)
        #expect(scene.peer.requests(.prack).last?.cseq.number == second.cseq.number + 1)
    }

    @Test func aPeerThatCountsOnForEverMeetsTheLimit() throws {
        let scene = Scene { $0.maximumPendingRequests = 4 }
        let (_, invite) = try scene.outgoing()
        for number in 1...20 { progress(scene, invite, rseq: "\(number)") }
        #expect(Set(scene.peer.requests(.prack).map { $0.topVia.branch }).count == 3)
        #expect(scene.phone.agent.counters[.reliableProgressLimit] > 0)
    }

    @Test func afterHangingUpNothingIsAcknowledged() throws {
        let scene = answering()
        let (id, invite) = try scene.outgoing()
        scene.on { $0.hangUp(id, now: $1) }
        progress(scene, invite, rseq: "1")
        #expect(scene.peer.requests(.prack).isEmpty)
        #expect(scene.settles())
    }
}
