// SPDX-License-Identifier: Apache-2.0
//
// INVITEs with Replaces (RFC 3891 §3).

import Essentials
import SIP
import SIPAgent
import Testing

@Suite struct ReplacementTests {
    /// A second INVITE of the peer that names a call; the status of its final answer, nil: offered to the user.
    private func replace(_ scene: Scene, _ fields: [String]) -> Int? {
        let before = scene.phone.incoming.count
        scene.peer.send(
            "INVITE", scene.phoneURI, to: scene.phone, callID: "second", fromTag: "new", headers: fields, type: "application/sdp",
            body: sdpOffer)
        scene.network.run(.milliseconds(30))
        if scene.phone.incoming.count > before { return nil }
        return scene.peer.responses(.invite).last { $0.callID == "second" }?.statusCode
    }

    private func field(_ invite: SIPMessage, _ more: String = "") -> String {
        "Replaces: \(invite.callID);to-tag=\(invite.from.tag ?? "");from-tag=peer\(more)"
    }

    @Test func anAnsweredCallIsReplacedWhenTheNewOneIsAnswered() throws {
        let scene = Scene { $0.maximumCalls = 1 }
        let (old, invite) = try scene.answeredOutgoing()
        #expect(replace(scene, [field(invite), "Require: replaces"]) == nil)
        let (new, offered) = try required(scene.phone.incoming.last)
        #expect(offered.replaces == old && scene.phone.ends.isEmpty)
        scene.on { $0.accept(new, answer: sdpBytes, now: $1) }
        scene.network.run(.milliseconds(30))
        #expect(scene.phone.ends.map(\.cause.code) == ["call.replaced"])
        #expect(scene.peer.requests(.bye).map(\.callID) == [invite.callID])
        #expect(scene.phone.agent.counters[.callsReplaced] == 1)
    }

    /// RFC 3911 is not supported: what requires it is refused, what only mentions it is a call like any other.
    @Test func whoeverRequiresToJoinACallIsRefused() throws {
        let scene = Scene()
        let (_, invite) = try scene.answeredOutgoing()
        let join = "Join: \(invite.callID);to-tag=\(invite.from.tag ?? "");from-tag=peer"
        #expect(replace(scene, [join, "Require: join"]) == 420)
        let refusal = try required(scene.peer.responses(.invite).last { $0.statusCode == 420 })
        #expect(refusal.values(.unsupported) == ["join"])
        #expect(scene.phone.incoming.isEmpty && scene.phone.ends.isEmpty)
        let other = Scene()
        let (_, second) = try other.answeredOutgoing()
        #expect(replace(other, ["Join: \(second.callID);to-tag=\(second.from.tag ?? "");from-tag=peer"]) == nil)
        #expect(other.phone.ends.isEmpty && other.phone.incoming.last?.1.replaces == nil)
    }

    @Test func aCallOfOursThatRingsIsReplacedAndCancelled() throws {
        let scene = Scene()
        let (_, invite) = try scene.outgoing()
        scene.peer.respond(180, to: invite, contact: scene.peer.contact)
        scene.network.run(.milliseconds(30))
        #expect(replace(scene, [field(invite, ";early-only")]) == nil)
        let new = try required(scene.phone.incoming.last?.0)
        scene.on { $0.accept(new, answer: sdpBytes, now: $1) }
        scene.network.run(.milliseconds(30))
        #expect(scene.peer.requests(.cancel).count == 1 && scene.phone.ends.map(\.cause.code) == ["call.replaced"])
    }

    @Test func aRefusedReplacementLeavesTheOldCallAlone() throws {
        let scene = Scene()
        let (_, invite) = try scene.answeredOutgoing()
        #expect(replace(scene, [field(invite)]) == nil)
        let new = try required(scene.phone.incoming.last?.0)
        scene.on { $0.reject(new, status: 488, now: $1) }
        scene.network.run(.milliseconds(30))
        #expect(scene.peer.requests(.bye).isEmpty && scene.phone.ends.count == 1)
    }

    @Test("what cannot be replaced: 481, 486, 400", arguments: ["unknown", "swapped", "early-only", "twice", "join", "unreadable"])
    func refused(kind: String) throws {
        let scene = Scene()
        let (_, invite) = try scene.answeredOutgoing()
        let tag = invite.from.tag ?? ""
        let (fields, status): ([String], Int) =
            switch kind {
            case "unknown": (["Replaces: \(invite.callID);to-tag=\(tag);from-tag=other"], 481)
            case "swapped": (["Replaces: \(invite.callID);to-tag=peer;from-tag=\(tag)"], 481)
            case "early-only": ([field(invite, ";early-only")], 486)
            case "twice": ([field(invite), field(invite)], 400)
            case "join": ([field(invite), "Join: \(invite.callID);to-tag=\(tag);from-tag=peer"], 400)
            default: (["Replaces: \(invite.callID);to-tag=\(tag)"], 400)
            }
        #expect(replace(scene, fields) == status)
        #expect(scene.phone.ends.isEmpty && scene.phone.agent.counters[.replacementRefused] == 1)
    }

    @Test func aCallThatRingsHereIsNotReplacedAndOneThatIsOverIsDeclined() throws {
        let scene = Scene()
        let ringing = try scene.incoming(callID: "first")
        scene.on { $0.ring(ringing, now: $1) }
        scene.network.run(.milliseconds(30))
        let tag = try required(scene.peer.responses(.invite).last?.to.tag)
        #expect(replace(scene, ["Replaces: first;to-tag=\(tag);from-tag=peer"]) == 481)
        // Answered and hung up before the ACK: the session is over, but the BYE is still owed.
        scene.on { $0.accept(ringing, answer: sdpBytes, now: $1) }
        scene.on { $0.hangUp(ringing, now: $1) }
        scene.peer.send(
            "INVITE", scene.phoneURI, to: scene.phone, callID: "third", fromTag: "new",
            headers: ["Replaces: first;to-tag=\(tag);from-tag=peer"], type: "application/sdp", body: sdpOffer)
        scene.network.run(.milliseconds(30))
        #expect(scene.peer.responses(.invite).last { $0.callID == "third" }?.statusCode == 603)
    }

    @Test func theSettingsMayRefuseEveryReplacement() throws {
        let scene = Scene { $0.replacements = .refuse }
        let (_, invite) = try scene.answeredOutgoing()
        #expect(replace(scene, [field(invite)]) == 603)
        #expect(scene.phone.ends.isEmpty)
    }

    @Test func callsOfferThatTheyMayBeReplaced() throws {
        let scene = Scene()
        let (_, invite) = try scene.outgoing()
        #expect(invite.supported.contains("replaces") && invite.allow.contains("REFER") && invite.allow.contains("NOTIFY"))
    }
}
