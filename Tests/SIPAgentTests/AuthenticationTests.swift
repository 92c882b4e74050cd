// SPDX-License-Identifier: Apache-2.0
//
// How the agent uses digest authentication; the computation has its own tests.

import Essentials
import SIP
import SIPAgent
import Testing

@Suite struct AuthenticationTests {
    static let proxyChallenge: (HeaderName, String) = (
        .proxyAuthenticate, "Digest realm=\"test\", nonce=\"p1\", qop=\"auth\", algorithm=MD5"
    )

    @Test("B-028: of several challenges the topmost supported one is answered")
    func topmostChallenge() throws {
        let scene = Scene()
        scene.peer.onMessage = { [weak scene] message in
            guard message.first(.authorization) == nil else { return }
            scene?.peer.respond(
                401, to: message,
                headers: [
                    (.wwwAuthenticate, "Digest realm=\"test\", nonce=\"a\", qop=\"auth\", algorithm=SHA-1024"),
                    (.wwwAuthenticate, "Digest realm=\"test\", nonce=\"b\", qop=\"auth\", algorithm=SHA-256"),
                    (.wwwAuthenticate, "Digest realm=\"test\", nonce=\"c\", qop=\"auth\", algorithm=MD5"),
                ])
        }
        scene.addAccount()
        scene.network.run(.seconds(1))
        let value = try #require(scene.peer.requests(.register).last?.first(.authorization))
        #expect(value.contains("algorithm=SHA-256") && value.contains("nonce=\"b\""))
    }

    @Test("B-029, B-031: the nonce count goes up with each request, and the response uses the qop that is sent")
    func nonceCount() throws {
        let scene = Scene()
        RegistrationTests.serve(scene, expires: 60)
        scene.addAccount()
        scene.network.run(.seconds(100))
        let values = scene.peer.requests(.register).compactMap { $0.first(.authorization) }
        try #require(values.count >= 3)
        for (index, value) in values.enumerated() {
            #expect(value.contains("nc=0000000\(index + 1)"), "\(value)")
            #expect(value.contains("qop=auth"))
        }
    }

    @Test("B-030: a new nonce without stale is answered once, a second one is a failure")
    func changedNonce() {
        let scene = Scene()
        var nonces = 0
        var isOld = false
        scene.peer.onMessage = { [weak scene] message in
            guard let scene, message.isRequest, message.method == .register else { return }
            let value = message.first(.authorization)
            if value == nil || (isOld && value?.contains("nonce=\"n1\"") == true) {
                nonces += 1
                RegistrationTests.challenge(scene, message, nonce: "n\(nonces)")
            } else {
                scene.peer.respond(200, to: message, headers: [(.contact, "<\(message.contacts[0].uri)>;expires=60")])
            }
        }
        scene.addAccount()
        scene.network.run(.seconds(1))
        #expect(RegistrationTests.isRegistered(scene))
        isOld = true
        scene.network.run(.seconds(50))
        #expect(RegistrationTests.isRegistered(scene), "silently renewed: \(scene.phone.states)")
        #expect(nonces == 2)
    }

    @Test("B-032: a challenged INVITE is sent again with the same Call-ID and From tag, To without tag, CSeq + 1, a new branch")
    func challengedInvite() throws {
        let scene = Scene()
        let account = scene.addAccount(registers: false, realm: "test")
        let (_, invite) = try scene.outgoing(account: account)
        scene.peer.respond(407, to: invite, headers: [Self.proxyChallenge])
        scene.network.run(.milliseconds(100))
        let again = try #require(scene.peer.requests(.invite).last)
        #expect(again.first(.proxyAuthorization) != nil)
        #expect(again.callID == invite.callID && again.from.tag == invite.from.tag && again.to.tag == nil)
        #expect(again.cseq.number == invite.cseq.number + 1)
        #expect(again.topVia.branch != invite.topVia.branch)
        let acks = scene.peer.requests(.ack)
        #expect(acks.count == 1 && acks[0].topVia.branch == invite.topVia.branch && acks[0].cseq.number == invite.cseq.number)
        scene.peer.respond(200, to: again, contact: scene.peer.contact, body: sdpOffer)
        scene.network.run(.milliseconds(100))
        let ack = try #require(scene.peer.requests(.ack).last)
        #expect(ack.cseq.number == again.cseq.number)
        #expect(ack.first(.proxyAuthorization) == again.first(.proxyAuthorization), "§13.2.2.4: the credentials of the INVITE")
    }

    @Test("V-022: an INVITE that is challenged with another nonce each time fails after a few rounds", arguments: ["", ", stale=true"])
    func endlessChallenges(extra: String) throws {
        let scene = Scene()
        let account = scene.addAccount(registers: false, realm: "test")
        var count = 0
        scene.peer.onMessage = { [weak scene] message in
            guard message.isRequest, message.method == .invite else { return }
            count += 1
            let value = "Digest realm=\"test\", nonce=\"x\(count)\", qop=\"auth\", algorithm=MD5\(extra)"
            scene?.peer.respond(407, to: message, headers: [(.proxyAuthenticate, value)])
        }
        _ = try scene.outgoing(account: account)
        scene.network.run(.seconds(60))
        #expect(count <= 4)
        #expect(scene.phone.ends.map(\.cause.code) == ["call.unauthorized"])
        #expect(scene.settles())
    }

    @Test("V-027: a peer that challenges our BYE gets no digest response")
    func harvestByBye() throws {
        let scene = Scene()
        RegistrationTests.serve(scene)
        let account = scene.addAccount()
        scene.network.run(.seconds(1))
        let thief = ScriptedPeer(scene.network, 66)
        thief.send("INVITE", scene.phoneURI, to: scene.phone, type: "application/sdp", body: sdpOffer)
        scene.network.run(.milliseconds(50))
        let id = try #require(scene.phone.incoming.last?.0)
        #expect(scene.phone.incoming.last?.1.account == account)
        scene.on { $0.accept(id, answer: sdpBytes, now: $1) }
        scene.network.run(.milliseconds(50))
        let tag = try #require(thief.responses(.invite).last?.to.tag)
        thief.send("ACK", scene.phoneURI, to: scene.phone, toTag: tag)
        scene.network.run(.milliseconds(50))
        scene.on { $0.hangUp(id, now: $1) }
        scene.network.run(.milliseconds(50))
        let bye = try #require(thief.requests(.bye).last)
        #expect(bye.first(.authorization) == nil && bye.first(.proxyAuthorization) == nil)
        thief.respond(407, to: bye, headers: [(.proxyAuthenticate, "Digest realm=\"test\", nonce=\"evil\", qop=\"auth\"")])
        scene.network.run(.seconds(10))
        #expect(thief.requests(.bye).count == 1)
        #expect(scene.phone.agent.counters[.challengeIgnored] == 1)
        #expect(scene.settles())
    }

    @Test("V-027: a foreign realm in a dialog through our own server is not answered, the server's own is")
    func harvestThroughTheServer() throws {
        let scene = Scene()
        RegistrationTests.serve(scene)
        let account = scene.addAccount()
        scene.network.run(.seconds(1))
        let (id, _) = try scene.answeredOutgoing(account: account)
        scene.on { $0.hangUp(id, now: $1) }
        scene.network.run(.milliseconds(50))
        let bye = try #require(scene.peer.requests(.bye).last)
        scene.peer.respond(407, to: bye, headers: [(.proxyAuthenticate, "Digest realm=\"evil\", nonce=\"e\", qop=\"auth\"")])
        scene.network.run(.seconds(1))
        #expect(scene.peer.requests(.bye).count == 1)

        let (second, _) = try scene.answeredOutgoing(account: account)
        scene.on { $0.hangUp(second, now: $1) }
        scene.network.run(.milliseconds(50))
        let bye2 = try #require(scene.peer.requests(.bye).last)
        scene.peer.respond(407, to: bye2, headers: [Self.proxyChallenge])
        scene.network.run(.seconds(1))
        let again = try #require(scene.peer.requests(.bye).last)
        #expect(again.first(.proxyAuthorization) != nil && again.cseq.number == bye2.cseq.number + 1)
        scene.peer.respond(200, to: again)
        #expect(scene.settles())
    }

    @Test func noCredentialsGoToSomebodyElsesServerUnasked() throws {
        let scene = Scene()
        RegistrationTests.serve(scene)
        let account = scene.addAccount()
        scene.network.run(.seconds(1))
        let other = ScriptedPeer(scene.network, 66)
        let uri = URI.sip(SIPURI(user: "x", host: .address(other.address.ip), port: 5060))
        _ = try scene.phone.agent.invite(from: account, to: uri, offer: sdpBytes, now: scene.network.now)
        scene.phone.drain()
        scene.network.run(.milliseconds(50))
        let invite = try #require(other.requests(.invite).last)
        #expect(invite.first(.authorization) == nil && invite.first(.proxyAuthorization) == nil)
        other.respond(401, to: invite, headers: [(.wwwAuthenticate, "Digest realm=\"test\", nonce=\"e\", qop=\"auth\"")])
        scene.network.run(.seconds(1))
        #expect(other.requests(.invite).count == 1)
        #expect(scene.phone.ends.first?.cause.code == "call.unauthorized.foreign")
    }
}
