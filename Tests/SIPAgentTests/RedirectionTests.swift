// SPDX-License-Identifier: Apache-2.0
//
// Calls that are redirected (RFC 3261 §8.1.3.4): where they go next, where they never go, and how they end.

import Essentials
import SIP
import SIPAgent
import Testing

@Suite struct RedirectionTests {
    /// A called peer (10.0.0.9) and further ones.
    private func others(_ scene: Scene, _ numbers: UInt32...) -> [ScriptedPeer] { numbers.map { ScriptedPeer(scene.network, $0) } }

    private func moved(_ scene: Scene, _ invite: SIPMessage, _ contacts: String..., status: Int = 302, from peer: ScriptedPeer? = nil) {
        (peer ?? scene.peer).respond(status, to: invite, headers: contacts.map { (.contact, $0) })
        scene.network.run(.seconds(1))
    }

    private func targets(_ scene: Scene) -> [String] {
        var seen: [String] = []
        for invite in scene.phone.sent(.invite) where seen.last != "\(invite.requestURI)" { seen.append("\(invite.requestURI)") }
        return seen
    }

    @Test("B-045, 3665-3.6-F2: a 302 with another address over TCP: the new INVITE goes there", arguments: [false, true])
    func anotherAddress(withAccount: Bool) throws {
        let scene = Scene()
        let account = withAccount ? scene.addAccount(registers: false) : nil
        let other = others(scene, 77)[0]
        other.transport = .tcp
        let (_, first) = try scene.outgoing(account: account)
        moved(scene, first, "<sip:bob@10.0.0.77:5060;transport=tcp>")
        #expect(scene.peer.requests(.ack).count == 1 && scene.peer.requests(.invite).count == 1)
        let second = try required(other.requests(.invite).first)
        #expect("\(second.requestURI)" == "sip:bob@10.0.0.77:5060;transport=tcp")
        #expect(second.callID == first.callID && second.first(.from) == first.first(.from) && second.first(.to) == first.first(.to))
        #expect(second.cseq.number == first.cseq.number + 1 && second.topVia.branch != first.topVia.branch)
        #expect(second.body == first.body)
        other.respond(200, to: second, contact: other.contact, body: sdpOffer)
        scene.network.run(.seconds(1))
        #expect(other.requests(.ack).count == 1 && scene.phone.answered.count == 1 && scene.phone.ends.isEmpty)
        #expect(scene.phone.agent.counters[.redirectionFollowed] == 1)
        other.send("BYE", scene.phoneURI, to: scene.phone, callID: first.callID, toTag: first.from.tag, sequence: 2)
        scene.network.run(.milliseconds(50))
        #expect(scene.phone.ends.map(\.cause.code) == ["call.remote-hung-up"])
        #expect(scene.settles())
    }

    @Test func withAProxyTheNewINVITEGoesThroughItAndTakesNoOldCredentialsAlong() throws {
        let scene = Scene()
        let account = scene.addAccount(registers: false, proxy: SIPURI(host: .address(scene.peer.address.ip), port: 5060))
        let (_, first) = try scene.outgoing(account: account, to: try URI("sip:bob@example.com"))
        scene.peer.respond(407, to: first, headers: [(.proxyAuthenticate, "Digest realm=\"10.0.0.9\", nonce=\"n\", algorithm=MD5")])
        scene.network.run(.milliseconds(50))
        let second = try required(scene.peer.requests(.invite).last)
        #expect(second.first(.proxyAuthorization) != nil)
        moved(scene, second, "<sip:bob@elsewhere.example>")
        let third = try required(scene.peer.requests(.invite).last)
        #expect("\(third.requestURI)" == "sip:bob@elsewhere.example" && third.routes == second.routes)
        #expect(third.cseq.number == first.cseq.number + 2)
        #expect(third.first(.proxyAuthorization)?.contains("uri=\"sip:bob@example.com\"") != true)
    }

    @Test func credentialsAreNotCarriedToWhereARedirectionLeads() throws {
        let scene = Scene()
        let account = scene.addAccount(registers: false)
        let other = others(scene, 7)[0]
        let (_, first) = try scene.outgoing(account: account)
        scene.peer.respond(407, to: first, headers: [(.proxyAuthenticate, "Digest realm=\"10.0.0.9\", nonce=\"n\", algorithm=MD5")])
        scene.network.run(.milliseconds(50))
        moved(scene, try required(scene.peer.requests(.invite).last), "<sip:bob@10.0.0.7>")
        let last = try required(other.requests(.invite).first)
        #expect(last.first(.proxyAuthorization) == nil && last.first(.authorization) == nil)
        other.respond(407, to: last, headers: [(.proxyAuthenticate, "Digest realm=\"10.0.0.9\", nonce=\"x\", algorithm=MD5")])
        scene.network.run(.seconds(1))
        #expect(Set(other.requests(.invite).map { $0.topVia.branch }).count == 1)
        #expect(scene.phone.ends.map(\.cause.code) == ["call.unauthorized.foreign"])
    }

    @Test func contactsAreTriedByQAndTheBestFailureIsToldWithTheWay() throws {
        let scene = Scene()
        let peers = others(scene, 11, 12, 13)
        for (peer, status) in zip(peers, [404, 503, 486]) {
            peer.onMessage = { [unowned peer] in if $0.isRequest, $0.method == .invite { peer.respond(status, to: $0) } }
        }
        let (_, invite) = try scene.outgoing()
        moved(
            scene, invite, "<sip:c@10.0.0.13>;q=0.25", "<sip:b@10.0.0.12>", "<sip:a@10.0.0.11>;q=0.5", status: 300)
        scene.network.run(.seconds(5))
        #expect(targets(scene).suffix(3) == ["sip:b@10.0.0.12", "sip:a@10.0.0.11", "sip:c@10.0.0.13"])
        let end = try required(scene.phone.ends.first)
        #expect(scene.phone.ends.count == 1 && end.cause.code == "call.not-found" && end.cause.status == 404)
        #expect(
            end.cause.evidence.filter { $0.name == "redirected-to" }.map(\.value)
                == ["sip:b@10.0.0.12", "sip:a@10.0.0.11", "sip:c@10.0.0.13"])
        #expect(scene.settles())
    }

    @Test func aPersonWhoDeclinesEverywhereEndsTheSearch() throws {
        let scene = Scene()
        let peers = others(scene, 11, 12)
        let (_, invite) = try scene.outgoing()
        moved(scene, invite, "<sip:a@10.0.0.11>", "<sip:b@10.0.0.12>")
        peers[0].respond(603, to: try required(peers[0].requests(.invite).first))
        scene.network.run(.seconds(1))
        #expect(scene.phone.ends.map(\.cause.code) == ["call.declined"])
        #expect(peers[1].requests(.invite).isEmpty)
    }

    @Test func aPlaceThatDoesNotAnswerIsFollowedByTheNext() throws {
        let scene = Scene()
        let other = others(scene, 12)[0]
        let (_, invite) = try scene.outgoing()
        moved(scene, invite, "<sip:a@10.0.0.200>", "<sip:x@nowhere.example>;q=0.9", "<sip:b@10.0.0.12>;q=0.8")
        scene.network.run(.seconds(40))
        #expect(Set(other.requests(.invite).map { $0.topVia.branch }).count == 1 && scene.phone.ends.isEmpty)
    }

    @Test func noAddressIsTriedTwice() throws {
        let scene = Scene()
        let other = others(scene, 11)[0]
        let (_, invite) = try scene.outgoing()
        moved(scene, invite, "<sip:a@10.0.0.11>", "<sip:peer@10.0.0.9:5060>")
        moved(scene, try required(other.requests(.invite).first), "<SIP:a@10.0.0.11>", "<sip:peer@10.0.0.9:5060>", from: other)
        #expect(targets(scene).count == 2)
        #expect(scene.phone.agent.counters[.redirectionLoop] == 3)
        #expect(scene.phone.ends.map(\.cause.code) == ["call.redirected"])
        #expect(scene.phone.ends.first?.cause.evidence.contains { $0.name == "not-followed" && $0.value.contains("already tried") } == true)
        #expect(scene.settles())
    }

    @Test("A chain of redirections ends at the limit", arguments: [0, 1, 5])
    func chain(limit: Int) throws {
        let scene = Scene { $0.maximumRedirections = limit }
        var number = 0
        scene.peer.onMessage = { [unowned scene] message in
            guard message.isRequest, message.method == .invite else { return }
            number += 1
            scene.peer.respond(302, to: message, headers: [(.contact, "<sip:p\(number)@10.0.0.9>")])
        }
        _ = try scene.outgoing()
        scene.network.run(.seconds(10))
        #expect(scene.phone.sent(.invite).count == limit + 1)
        #expect(scene.phone.agent.counters[.redirectionLimit] == 1)
        #expect(scene.phone.ends.map(\.cause.code) == ["call.redirected"])
        #expect(scene.settles())
    }

    @Test func moreAddressesThanTheLimitAreLeftAside() throws {
        let scene = Scene { $0.maximumRedirectionTargets = 3 }
        scene.peer.onMessage = { [unowned scene] message in
            guard message.isRequest, message.method == .invite else { return }
            if message.requestURI.sip?.user == "peer" {
                scene.peer.respond(302, to: message, headers: (1...20).map { (.contact, "<sip:p\($0)@10.0.0.9>") })
            } else {
                scene.peer.respond(404, to: message)
            }
        }
        _ = try scene.outgoing()
        scene.network.run(.seconds(10))
        #expect(scene.phone.sent(.invite).count == 4)
        #expect(scene.phone.agent.counters[.redirectionLimit] == 17)
        #expect(scene.phone.ends.map(\.cause.code) == ["call.not-found"])
    }

    @Test(
        "Only what can be called, and as secure as before",
        arguments: [
            "<mailto:bob@example.com>", "<http://example.com/>", "<tel:+15551234>", "*",
        ])
    func unusable(contact: String) throws {
        let scene = Scene()
        let (_, invite) = try scene.outgoing()
        moved(scene, invite, contact)
        #expect(scene.phone.sent(.invite).count == 1)
        #expect(scene.phone.ends.map(\.cause.code) == ["call.redirected"])
    }

    @Test func aNumberGoesToTheServerOfTheAccount() throws {
        let scene = Scene()
        let account = scene.addAccount(registers: false)
        let (_, invite) = try scene.outgoing(account: account)
        moved(scene, invite, "<tel:+15551234>")
        #expect(scene.peer.requests(.invite).map { "\($0.requestURI)" }.last == "tel:+15551234")
    }

    @Test func aSecureCallIsNotRedirectedToAnInsecureAddress() {
        for (called, contact, isFollowed) in [
            ("sips:a@b.example", "<sip:c@d.example>", false), ("sips:a@b.example", "<sips:c@d.example>", true),
            ("sip:a@b.example", "<sips:c@d.example>", true), ("sips:a@b.example", "<tel:+1555>", false),
        ] {
            guard let from = try? URI(called), let to = try? NameAddress(contact) else {
                Issue.record("\(called) \(contact)")
                continue
            }
            #expect(Redirection.follows([to], from: from) == (isFollowed ? [to.uri] : []), "\(called) \(contact)")
        }
    }

    @Test func hangingUpWhileTheNewPlaceIsLookedForSendsNothingMore() throws {
        let scene = Scene()
        let (id, invite) = try scene.outgoing()
        scene.peer.respond(302, to: invite, headers: [(.contact, "<sip:b@slow.example>")])
        scene.network.run(atMost: .milliseconds(100)) { scene.phone.sent(.ack).count == 1 }
        scene.on { $0.hangUp(id, now: $1) }
        #expect(scene.phone.ends.map(\.cause.code) == ["call.hung-up"])
        #expect(scene.settles())
        #expect(scene.phone.sent(.invite).count == 1 && scene.phone.sent(.cancel).isEmpty)
    }

    @Test func aCallThatWasTakenBackIsNotRedirected() throws {
        let scene = Scene()
        let other = others(scene, 11)[0]
        let (id, invite) = try scene.outgoing()
        scene.on { $0.hangUp(id, now: $1) }
        moved(scene, invite, "<sip:a@10.0.0.11>")
        #expect(other.requests(.invite).isEmpty)
        #expect(scene.settles())
    }

    @Test func earlyDialogsOfTheOldPlaceAreForgotten() throws {
        let scene = Scene()
        let other = others(scene, 11)[0]
        let (_, invite) = try scene.outgoing()
        scene.peer.respond(180, to: invite, contact: scene.peer.contact)
        scene.network.run(.milliseconds(50))
        #expect(scene.phone.agent.dialogCount == 1)
        moved(scene, invite, "<sip:a@10.0.0.11>")
        #expect(scene.phone.agent.dialogCount == 0)
        let second = try required(other.requests(.invite).first)
        other.respond(180, to: second, tag: "o", contact: other.contact)
        other.respond(200, to: second, tag: "o", contact: other.contact, body: sdpOffer)
        scene.network.run(.seconds(1))
        #expect(scene.phone.agent.dialogCount == 1 && scene.phone.answered.count == 1)
    }

    @Test("qvalues", arguments: [("1", 1000), ("0.5", 500), ("0", 0), ("0.123", 123), ("1.000", 1000), ("x", 1000), ("0.x", 1000)])
    func qvalue(row: (String, Int)) { #expect(Redirection.thousandths(row.0) == row.1) }
}
