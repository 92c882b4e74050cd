// SPDX-License-Identifier: Apache-2.0
//
// Who we say we are, header fields of our own, reasons, and ways that lead nowhere.

import Crypto
import Essentials
import SIP
import SIPAgent
import Testing

@Suite struct IdentityTests {
    private func account(_ scene: Scene, proxy: SIPURI? = nil, _ change: (inout AccountCallSettings) -> Void) -> AccountID {
        var calls = AccountCallSettings()
        change(&calls)
        var configuration = AccountConfiguration(
            addressOfRecord: SIPURI(user: "1001", host: .address(scene.peer.address.ip), port: 5060), displayName: "Alice", proxy: proxy,
            registers: false, directCalls: .accept)
        configuration.calls = calls
        defer { scene.phone.drain() }
        return scene.phone.agent.addAccount(configuration, now: scene.network.now)
    }

    @Test func anAnonymousCallNamesUsToTheServerOnly() throws {
        let scene = Scene()
        let account = account(scene) { _ in }
        let id = try scene.phone.agent.invite(
            from: account, to: scene.peerURI, offer: sdpBytes, isAnonymous: true, now: scene.network.now)
        scene.phone.drain()
        scene.network.run(.milliseconds(30))
        let invite = try required(scene.peer.requests(.invite).last)
        #expect(invite.from.uri == (try URI("sip:anonymous@anonymous.invalid")))
        #expect(invite.from.displayName == "Anonymous")
        #expect(invite.privacy.hidesCaller)
        #expect(invite.preferredIdentities.map(\.uri) == [.sip(SIPURI(user: "1001", host: .address(scene.peer.address.ip), port: 5060))])
        #expect(invite.contacts.first?.uri.sip?.user == "anonymous")
        scene.peer.respond(200, to: invite, contact: scene.peer.contact, body: sdpOffer)
        scene.network.run(.milliseconds(30))
        scene.on { $0.reinvite(id, offer: sdpBytes, now: $1) }
        scene.network.run(.milliseconds(30))
        let change = try required(scene.peer.requests(.invite).last)
        #expect(change.cseq.number > invite.cseq.number && change.contacts.first?.uri.sip?.user == "anonymous")
        #expect(!change.bytes.split(separator: 0x0d).contains { $0.contains("1001".utf8) && !$0.contains("Request".utf8) })
        scene.on { $0.hangUp(id, now: $1) }
        #expect(scene.settles(within: .seconds(200)))
    }

    /// Also in what we answer within the call, and where no account is used.
    @Test func anAnonymousCallStaysSoInItsAnswers() throws {
        let scene = Scene()
        let id = try scene.phone.agent.invite(from: nil, to: scene.peerURI, offer: sdpBytes, isAnonymous: true, now: scene.network.now)
        scene.phone.drain()
        scene.network.run(.milliseconds(30))
        let invite = try required(scene.peer.requests(.invite).last)
        #expect(invite.privacy.hidesCaller && invite.preferredIdentities.isEmpty)
        scene.peer.respond(200, to: invite, contact: scene.peer.contact, body: sdpOffer)
        scene.network.run(.milliseconds(30))
        scene.peer.send("UPDATE", scene.phoneURI, to: scene.phone, callID: invite.callID, toTag: invite.from.tag)
        scene.peer.send(
            "INVITE", scene.phoneURI, to: scene.phone, callID: invite.callID, toTag: invite.from.tag, sequence: 2, type: "application/sdp",
            body: sdpOffer)
        scene.network.run(.milliseconds(30))
        scene.on { $0.answerReinvite(id, status: 200, answer: sdpBytes, now: $1) }
        scene.network.run(.milliseconds(30))
        for response in [scene.peer.responses(.update).last, scene.peer.responses(.invite).last] {
            #expect(response?.statusCode == 200 && response?.contacts.first?.uri.sip?.user == "anonymous")
        }
    }

    /// A server that is not the account's own is told nothing.
    @Test func aForeignServerIsNotToldWhoCallsAnonymously() throws {
        let scene = Scene()
        let account = account(scene) { $0.sendsPreferredIdentity = true }
        let other = ScriptedPeer(scene.network, 8)
        _ = try scene.phone.agent.invite(
            from: account, to: .sip(SIPURI(user: "x", host: .address(other.address.ip))), offer: sdpBytes, isAnonymous: true,
            now: scene.network.now)
        scene.phone.drain()
        scene.network.run(.milliseconds(30))
        let invite = try required(other.requests(.invite).last)
        #expect(invite.preferredIdentities.isEmpty && invite.privacy.hidesCaller)
    }

    @Test func headersOfOurOwnGoIntoTheirMethodOnly() throws {
        let scene = Scene()
        let account = account(scene) {
            $0.headers = [.init(.register, "X-Site", "4"), .init(.invite, "X-Line", "2"), .init(.invite, .callID, "evil")]
        }
        scene.on { $0.register(account, now: $1) }
        scene.network.run(.milliseconds(30))
        let register = try required(scene.peer.requests(.register).last)
        #expect(register.first("X-Site") == "4" && register.first("X-Line") == nil)
        let (_, invite) = try scene.outgoing(account: account)
        #expect(invite.values("X-Line") == ["2"] && invite.first("X-Site") == nil)
        #expect(invite.values(.callID).count == 1 && invite.callID != "evil")
    }

    /// RFC 3261 §12.2.1.1 for a preloaded route: the router in the Request-URI, the called one last in Route.
    @Test func aProxyThatIsAStrictRouterIsInTheRequestURI() throws {
        let scene = Scene()
        let proxy = SIPURI(user: nil, host: .address(scene.peer.address.ip), port: 5060)
        let account = account(scene, proxy: proxy) { $0.proxyIsStrictRouter = true }
        let (_, invite) = try scene.outgoing(account: account, to: .sip(SIPURI(user: "bob", host: .name("example.net"))))
        #expect("\(invite.requestURI)" == "sip:10.0.0.9:5060")
        #expect(invite.routes.map { "\($0.uri)" } == ["sip:bob@example.net"])
        #expect("\(invite.to.uri)" == "sip:bob@example.net")
    }

    @Test(arguments: [
        ("SIP;cause=200;text=\"Call completed elsewhere\"", "call.answered-elsewhere"), ("sip ; cause=603", "call.declined-elsewhere"),
        ("Q.850;cause=16", "call.cancelled"), ("Q.850;cause=16, SIP;cause=200", "call.answered-elsewhere"), ("", "call.cancelled"),
    ])
    func theReasonOfACANCELIsUnderstood(reason: String, code: String) throws {
        let scene = Scene()
        let id = try scene.incoming()
        scene.on { $0.ring(id, now: $1) }
        scene.peer.send(
            "CANCEL", scene.phoneURI, to: scene.phone, headers: reason.isEmpty ? [] : ["Reason: \(reason)"], branch: "z9hG4bKpeer1")
        scene.network.run(.milliseconds(30))
        #expect(scene.phone.ends.map(\.cause.code) == [code])
        #expect(scene.settles())
    }

    @Test func aReasonGoesOutWithCANCELAndBYE() throws {
        let scene = Scene()
        let (id, invite) = try scene.outgoing()
        scene.peer.respond(180, to: invite, contact: scene.peer.contact)
        scene.network.run(.milliseconds(30))
        scene.on { $0.hangUp(id, reason: Reason(cause: 200, text: "Call completed elsewhere"), now: $1) }
        scene.network.run(.milliseconds(30))
        #expect(scene.peer.requests(.cancel).last?.first(.reason) == "SIP;cause=200;text=\"Call completed elsewhere\"")
        scene.peer.respond(487, to: invite)
        let (other, _) = try scene.answeredOutgoing()
        scene.on { $0.hangUp(other, cause: Cause("media.answer.unusable", "No.", status: 488), now: $1) }
        scene.network.run(.milliseconds(30))
        #expect(scene.peer.requests(.bye).last?.reasons == [Reason(cause: 488, text: "No.")])
        let (third, _) = try scene.answeredOutgoing()
        scene.on { $0.hangUp(third, now: $1) }
        scene.network.run(.milliseconds(30))
        #expect(scene.peer.requests(.bye).last?.reasons == [])
        #expect(scene.settles(within: .seconds(200)))
    }
}

@Suite struct LostWayTests {
    /// A Contact whose name does not resolve: the peer gets its ACK and BYE where it sent from, and the user the name.
    @Test func aContactThatLeadsNowhereIsNamed() throws {
        let scene = Scene()
        let (_, invite) = try scene.outgoing()
        scene.peer.respond(200, to: invite, contact: "sip:peer@no.such.example", body: sdpOffer)
        scene.network.run(.seconds(1))
        #expect(scene.peer.requests(.ack).count == 1)
        #expect(Set(scene.peer.requests(.bye).map(\.cseq.number)).count == 1)
        let cause = try required(scene.phone.ends.first?.cause)
        #expect(cause.code == "call.ack-unroutable")
        #expect(cause.evidence.first == .init("Contact", "sip:peer@no.such.example"))
        #expect(scene.phone.agent.counters[.ackWithoutWay] == 1)
        // The copy of the 2xx gets its ACK again.
        scene.peer.respond(200, to: invite, contact: "sip:peer@no.such.example", body: sdpOffer)
        scene.network.run(.milliseconds(100))
        #expect(scene.peer.requests(.ack).count == 2)
        scene.peer.respond(200, to: try required(scene.peer.requests(.bye).last))
        #expect(scene.settles())
    }

    /// The ACK that never came: the evidence has the Contact that was to bring it.
    @Test func aMissingACKNamesOurContact() throws {
        let scene = Scene()
        let id = try scene.incoming()
        scene.on { $0.accept(id, answer: sdpBytes, now: $1) }
        scene.network.run(.seconds(33))
        let cause = try required(scene.phone.ends.first?.cause)
        #expect(cause.code == "call.no-ack")
        #expect(cause.evidence.map(\.name) == ["Contact", "caller"])
        #expect(cause.evidence.first?.value.contains("10.0.0.1") == true)
        scene.peer.respond(200, to: try required(scene.peer.requests(.bye).last))
        #expect(scene.settles())
    }

    /// Every fork that answers is acknowledged, and all but the first are ended (RFC 3261 §13.2.2.4).
    @Test func fiftyAnswersOfOneINVITEAreAcknowledgedAndEnded() throws {
        let scene = Scene()
        let (_, invite) = try scene.outgoing()
        scene.peer.onMessage = { [unowned scene] in if $0.isRequest, $0.method == .bye { scene.peer.respond(200, to: $0) } }
        for index in 1...50 {
            scene.peer.respond(200, to: invite, tag: "fork\(index)", contact: scene.peer.contact, body: sdpOffer)
        }
        scene.network.run(.seconds(1))
        #expect(Set(scene.peer.requests(.ack).compactMap(\.to.tag)).count == 50)
        #expect(Set(scene.peer.requests(.bye).compactMap(\.to.tag)).count == 49)
        #expect(!scene.peer.requests(.bye).contains { $0.to.tag == "fork1" })
        #expect(scene.phone.agent.counters[.extraFork] == 49)
        #expect(scene.phone.agent.counters[.forkLimit] == 0)
        #expect(scene.phone.ends.isEmpty)
    }

    @Test func beyondTheLimitForksAreCounted() throws {
        let scene = Scene { $0.maximumAnsweredForks = 5 }
        let (_, invite) = try scene.outgoing()
        for index in 1...9 {
            scene.peer.respond(200, to: invite, tag: "fork\(index)", contact: scene.peer.contact, body: sdpOffer)
        }
        scene.network.run(.milliseconds(100))
        #expect(Set(scene.peer.requests(.ack).compactMap(\.to.tag)).count == 5)
        #expect(scene.phone.agent.counters[.forkLimit] == 4)
    }
}
