// SPDX-License-Identifier: Apache-2.0
//
// Who may make the phone ring, and whose challenges are answered.

import Crypto
import Essentials
import SIP
import SIPAgent
import Testing

@Suite struct TrustTests {
    /// An account that rings for its own server only, registered there.
    private func registered(transport: TransportProtocol? = nil, onLoopback: Bool = false) -> Scene {
        let scene = Scene(onLoopback: onLoopback)
        if let transport { scene.peer.transport = transport }
        RegistrationTests.serve(scene)
        scene.addAccount(directCalls: .refuse, transport: transport)
        scene.network.run(.seconds(1))
        return scene
    }

    private func ring(_ scene: Scene, from peer: ScriptedPeer, callID: String = "ring") -> Bool {
        let before = scene.phone.incoming.count
        peer.send("INVITE", scene.phoneURI, to: scene.phone, callID: callID, type: "application/sdp", body: sdpOffer)
        scene.network.run(.milliseconds(50))
        return scene.phone.incoming.count > before
    }

    @Test func `an INVITE of a stranger does not ring: 403, a count, and one warning a minute`() throws {
        let scene = registered()
        let stranger = ScriptedPeer(scene.network, 66)
        for number in 1...5 { #expect(!ring(scene, from: stranger, callID: "s\(number)")) }
        #expect(stranger.responses(.invite).filter { $0.statusCode == 403 }.count == 5)
        #expect(scene.phone.agent.counters[.directCallRefused] == 5)
        #expect(scene.phone.warnings.map(\.code) == ["call.refused.direct"])
        #expect(scene.phone.warnings[0].evidence.first?.value == "udp 10.0.0.66:5060")
        scene.network.run(.seconds(61))
        #expect(!ring(scene, from: stranger, callID: "later"))
        #expect(scene.phone.warnings.count == 2)
        #expect(scene.phone.warnings[1].evidence.last?.value == "6")
    }

    @Test func `the server rings, from any port of its host`() {
        let scene = registered()
        #expect(ring(scene, from: scene.peer))
        let elsewhere = ScriptedPeer(scene.network, 9, at: SocketAddress(ip(9), 5080))
        #expect(ring(scene, from: elsewhere, callID: "other-port"))
    }

    @Test func `on loopback another port is another program`() {
        let scene = registered(onLoopback: true)
        #expect(ring(scene, from: scene.peer))
        let elsewhere = ScriptedPeer(scene.network, 9, at: SocketAddress(.loopbackV4, 5080))
        #expect(!ring(scene, from: elsewhere, callID: "other-port"))
    }

    @Test func `a datagram that claims to come from a server on TCP does not ring: its source can be forged`() {
        let scene = registered(transport: .tcp)
        #expect(RegistrationTests.isRegistered(scene))
        let forger = ScriptedPeer(scene.network, 9, at: SocketAddress(ip(9), 5090))
        #expect(!ring(scene, from: forger))
        #expect(scene.phone.agent.counters[.directCallRefused] == 1)
        #expect(ring(scene, from: scene.peer, callID: "by-the-connection"))
    }

    @Test func `with two accounts a stranger's INVITE that fits neither does not ring either`() {
        let scene = registered()
        let other = SIPURI(user: "2002", host: .address(scene.peer.address.ip), port: 5060)
        scene.on { $0.addAccount(AccountConfiguration(addressOfRecord: other), now: $1) }
        scene.network.run(.seconds(1))
        let stranger = ScriptedPeer(scene.network, 66)
        stranger.send("INVITE", "sip:100@\(scene.phone.address)", to: scene.phone, type: "application/sdp", body: sdpOffer)
        scene.network.run(.milliseconds(50))
        #expect(scene.phone.incoming.isEmpty && scene.phone.agent.counters[.directCallRefused] == 1)
    }

    @Test func `direct calls ring where they are allowed, and where there is no account`() {
        let scene = Scene()
        RegistrationTests.serve(scene)
        scene.addAccount(directCalls: .accept)
        scene.network.run(.seconds(1))
        #expect(ring(scene, from: ScriptedPeer(scene.network, 66)))
        let bare = Scene()
        #expect(ring(bare, from: ScriptedPeer(bare.network, 66)))
    }

    // MARK: Challenges

    private func challenges(_ pairs: (String, String)...) -> [(HeaderName, String)] {
        pairs.map { (.proxyAuthenticate, "Digest realm=\"\($0.0)\", nonce=\"\($0.1)\", qop=\"auth\", algorithm=MD5") }
    }

    @Test("V-027: of two challenges in one 407 only that of our realm is answered")
    func foreignBesideOwn() throws {
        let scene = registered()
        let (_, invite) = try scene.outgoing(account: AccountID(rawValue: 1))
        scene.peer.respond(407, to: invite, headers: challenges(("test", "mine"), ("evil", "harvest")))
        scene.network.run(.milliseconds(100))
        let again = try required(scene.peer.requests(.invite).last)
        let credentials = again.values(.proxyAuthorization)
        #expect(credentials.count == 1 && credentials[0].contains("realm=\"test\""))
    }

    @Test("V-027: once the callee was reached, no realm is learned from a challenge of an INVITE")
    func learnedLate() throws {
        let scene = Scene()
        let account = scene.addAccount(registers: false)
        let (_, invite) = try scene.outgoing(account: account)
        scene.peer.respond(180, to: invite, contact: scene.peer.contact)
        scene.network.run(.milliseconds(50))
        scene.peer.respond(407, to: invite, headers: challenges(("evil", "harvest")))
        scene.network.run(.seconds(1))
        #expect(scene.peer.requests(.invite).count == 1)
        #expect(scene.phone.ends.map(\.cause.code) == ["call.unauthorized.foreign"])
    }

    @Test("V-027: an account that never registers answers its own server's name, and no other realm before or after that")
    func learnedOnce() throws {
        let scene = Scene()
        let account = scene.addAccount(registers: false)
        let (id, invite) = try scene.outgoing(account: account)
        scene.peer.respond(407, to: invite, headers: challenges(("10.0.0.9", "mine")))
        scene.network.run(.milliseconds(50))
        let again = try required(scene.peer.requests(.invite).last)
        #expect(again.first(.proxyAuthorization)?.contains("realm=\"10.0.0.9\"") == true)
        // The callee behind the server asks too: for nothing of his.
        scene.peer.respond(401, to: again, headers: [(.wwwAuthenticate, "Digest realm=\"callee\", nonce=\"harvest\", qop=\"auth\"")])
        scene.network.run(.seconds(1))
        #expect(scene.peer.requests(.invite).count == 2)
        #expect(scene.phone.ends.map(\.cause.code) == ["call.unauthorized.foreign"])
        scene.on { $0.hangUp(id, now: $1) }
        // The realm stays what it was, for the next call too.
        let (_, next) = try scene.outgoing(account: account)
        scene.peer.respond(407, to: next, headers: challenges(("evil", "harvest")))
        scene.network.run(.seconds(1))
        #expect(scene.peer.requests(.invite).count == 3)
    }

    @Test(
        "V-027: without a registration the first challenge is answered under the name of the account's server only, and the cause names the option",
        arguments: [
            ("example.net", true), ("EXAMPLE.NET", true), ("sip.example.net", true), ("10.0.0.9", true), ("net", false),
            ("evil-example.net", false), ("example.net.evil", false), ("asterisk", false), ("", false),
        ])
    func unregisteredRealm(realm: String, isOurs: Bool) throws {
        for (status, header) in [(401, HeaderName.wwwAuthenticate), (407, .proxyAuthenticate)] {
            let scene = Scene()
            let account = scene.addAccount(
                registers: false, proxy: SIPURI(host: .address(scene.peer.address.ip), port: 5060),
                domain: .name("example.net"))
            let (_, invite) = try scene.outgoing(account: account, to: try URI("sip:bob@example.net"))
            scene.peer.respond(status, to: invite, headers: [(header, "Digest realm=\"\(realm)\", nonce=\"n\", qop=\"auth\"")])
            scene.network.run(.milliseconds(50))
            #expect(scene.peer.requests(.invite).count == (isOurs ? 2 : 1))
            guard !isOurs else { continue }
            let cause = try required(scene.phone.ends.first?.cause)
            #expect(cause.code == "call.unauthorized.foreign" && cause.status == status && cause.sentence.contains("--realm"))
            #expect(cause.evidence.first == .init("realm", realm))
        }
    }

    @Test("V-027: a registration teaches the realm of a server of another name, for calls and messages too")
    func learnedByRegistration() throws {
        let scene = registered()
        let (_, invite) = try scene.outgoing(account: AccountID(rawValue: 1))
        scene.peer.respond(407, to: invite, headers: challenges(("test", "p")))
        scene.network.run(.milliseconds(50))
        #expect(scene.peer.requests(.invite).last?.first(.proxyAuthorization) != nil)
    }

    @Test("V-027: a foreign challenge of SUBSCRIBE, PUBLISH, MESSAGE and REFER gets no password, and the sentence says why")
    func foreignChallengeOfOthers() throws {
        let scene = Scene()
        let account = scene.addAccount(registers: false)
        scene.peer.onMessage = { [weak scene] message in
            guard message.isRequest, message.method != .ack else { return }
            scene?.peer.respond(401, to: message, headers: [(.wwwAuthenticate, "Digest realm=\"evil\", nonce=\"n\", qop=\"auth\"")])
        }
        let agent = scene.phone.agent
        let now = scene.network.now
        _ = try agent.subscribe(from: account, to: scene.peerURI, SubscriptionOptions(event: EventType("dialog"), accept: []), now: now)
        _ = try agent.publish(account, event: EventType("presence"), body: [65], type: "text/plain", now: now)
        _ = try agent.sendMessage(from: account, to: scene.peerURI, body: [65], now: now)
        _ = try agent.refer(from: account, scene.peerURI, to: scene.peerURI, now: now)
        scene.phone.drain()
        scene.network.run(.seconds(2))
        let asked =
            scene.peer.requests(.subscribe) + scene.peer.requests(.publish) + scene.peer.requests(.message) + scene.peer.requests(.refer)
        #expect(asked.count == 4 && asked.allSatisfy { $0.first(.authorization) == nil })
        let causes = scene.phone.events.compactMap { event -> Cause? in
            switch event {
            case .event(.subscription(_, .ended(let cause))), .event(.publication(_, .ended(let cause))),
                .event(.messageAnswered(_, .failed(let cause))), .referral(_, .failed(let cause)):
                cause
            default: nil
            }
        }
        #expect(
            Set(causes.map(\.code)) == [
                "subscription.refused.foreign", "publication.refused.foreign", "message.unauthorized.foreign", "transfer.refused.foreign",
            ])
        #expect(causes.allSatisfy { $0.sentence.contains("\"evil\"") && $0.sentence.contains("--realm") })
    }

    @Test("V-027: an account that never registers answers nobody but its own server, whatever the realm")
    func learnedFromStranger() throws {
        let scene = Scene()
        let account = scene.addAccount(registers: false)
        let stranger = ScriptedPeer(scene.network, 66)
        _ = try scene.phone.agent.invite(
            from: account, to: .sip(SIPURI(user: "x", host: .address(stranger.address.ip))), offer: sdpBytes, now: scene.network.now)
        scene.phone.drain()
        scene.network.run(.milliseconds(50))
        let invite = try required(stranger.requests(.invite).first)
        stranger.respond(407, to: invite, headers: challenges(("test", "harvest")))
        scene.network.run(.seconds(1))
        #expect(stranger.requests(.invite).count == 1 && stranger.requests(.invite).allSatisfy { $0.first(.proxyAuthorization) == nil })
    }

    @Test("V-027: with a realm configured no other is answered, not even the registrar's")
    func configuredRealm() throws {
        let scene = Scene()
        RegistrationTests.serve(scene)
        scene.addAccount(realm: "somewhere.else")
        scene.network.run(.seconds(1))
        #expect(scene.peer.requests(.register).count == 1)
        guard case .refused(let cause) = scene.phone.states.last else {
            Issue.record("not refused")
            return
        }
        #expect(cause.code == "registration.refused.no-credentials")
    }

    @Test("V-027: a contact that names our server with another maddr or port gets no digest")
    func serverByName() throws {
        for disguise in ["maddr=10.0.0.66", "maddr=10.0.0.66;lr"] {
            let scene = registered()
            let thief = ScriptedPeer(scene.network, 66)
            let (id, invite) = try scene.outgoing(account: AccountID(rawValue: 1))
            scene.peer.respond(
                200, to: invite, contact: "sip:thief@\(scene.peer.address);\(disguise)", body: sdpOffer)
            scene.network.run(.milliseconds(100))
            scene.on { $0.hangUp(id, now: $1) }
            scene.network.run(.milliseconds(100))
            let bye = try required(thief.requests(.bye).last)
            #expect(bye.first(.proxyAuthorization) == nil)
            thief.respond(407, to: bye, headers: challenges(("test", "harvest")))
            scene.network.run(.seconds(1))
            #expect(thief.requests(.bye).allSatisfy { $0.first(.proxyAuthorization) == nil })
        }
    }
}
