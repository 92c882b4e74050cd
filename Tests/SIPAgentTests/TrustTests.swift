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
        #expect(scene.phone.ends.map(\.cause.code) == ["call.unauthorized"])
    }

    @Test("V-027: an account that never registers learns its realm from its own server's first challenge, and no other after that")
    func learnedOnce() throws {
        let scene = Scene()
        let account = scene.addAccount(registers: false)
        let (id, invite) = try scene.outgoing(account: account)
        scene.peer.respond(407, to: invite, headers: challenges(("test", "mine")))
        scene.network.run(.milliseconds(50))
        let again = try required(scene.peer.requests(.invite).last)
        #expect(again.first(.proxyAuthorization)?.contains("realm=\"test\"") == true)
        // The callee behind the server asks too: for nothing of his.
        scene.peer.respond(401, to: again, headers: [(.wwwAuthenticate, "Digest realm=\"callee\", nonce=\"harvest\", qop=\"auth\"")])
        scene.network.run(.seconds(1))
        #expect(scene.peer.requests(.invite).count == 2)
        #expect(scene.phone.ends.map(\.cause.code) == ["call.unauthorized"])
        scene.on { $0.hangUp(id, now: $1) }
        // The realm stays what it was, for the next call too.
        let (_, next) = try scene.outgoing(account: account)
        scene.peer.respond(407, to: next, headers: challenges(("evil", "harvest")))
        scene.network.run(.seconds(1))
        #expect(scene.peer.requests(.invite).count == 3)
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
