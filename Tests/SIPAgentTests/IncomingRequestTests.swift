// SPDX-License-Identifier: Apache-2.0
//
// What comes in: the checks of RFC 3261 §8.2 in their order, the corpus messages that an agent answers, and limits.

import Essentials
import Foundation
import SIP
import SIPAgent
import Testing

@Suite struct IncomingRequestTests {
    static let fixtures = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fixtures")

    /// What the agent does with a message of the corpus.
    struct Row: Sendable, CustomTestStringConvertible {
        var file: String
        /// The statuses that are right; empty: nothing may be sent.
        var statuses: [Int]
        /// A header of the answer and a part of its value.
        var header: (HeaderName, String)?
        var isCall = false
        var testDescription: String { file }
    }

    static let rows: [Row] = [
        Row(file: "rfc4475/wsinv.sip", statuses: [481]),
        Row(file: "rfc4475/intmeth.sip", statuses: [405, 501], header: (.allow, "INVITE")),
        Row(file: "rfc4475/esc01.sip", statuses: [180], isCall: true),
        Row(file: "rfc4475/escnull.sip", statuses: [405, 501]),
        Row(file: "rfc4475/longreq.sip", statuses: [180], isCall: true),
        Row(file: "rfc4475/dblreq.sip", statuses: [405, 501]),
        Row(file: "rfc4475/transports.sip", statuses: [200]),
        Row(file: "rfc4475/mpart01.sip", statuses: [200]),
        Row(file: "rfc4475/badinv01.sip", statuses: [400]),
        Row(file: "rfc4475/clerr.sip", statuses: [400]),
        Row(file: "rfc4475/scalar02.sip", statuses: [400]),
        Row(file: "rfc4475/ltgtruri.sip", statuses: [400]),
        Row(file: "rfc4475/lwsstart.sip", statuses: [400]),
        Row(file: "rfc4475/escruri.sip", statuses: [400]),
        Row(file: "rfc4475/baddate.sip", statuses: [400, 180], isCall: true),
        Row(file: "rfc4475/badaspec.sip", statuses: [400, 200]),
        Row(file: "rfc4475/baddn.sip", statuses: [400, 200]),
        Row(file: "rfc4475/mismatch01.sip", statuses: [400]),
        Row(file: "rfc4475/bigcode.sip", statuses: []),
        Row(file: "rfc4475/unkscm.sip", statuses: [416]),
        Row(file: "rfc4475/novelsc.sip", statuses: [416]),
        Row(file: "rfc4475/unksm2.sip", statuses: [405, 501, 400]),
        Row(file: "rfc4475/bext01.sip", statuses: [420], header: (.unsupported, "nothingSupportsThis")),
        Row(file: "rfc4475/invut.sip", statuses: [415], header: (.accept, "application/sdp")),
        Row(file: "rfc4475/regaut01.sip", statuses: [405, 501]),
        Row(file: "rfc4475/multi01.sip", statuses: [400]),
        Row(file: "rfc4475/mcl01.sip", statuses: [400]),
        Row(file: "rfc4475/bcast.sip", statuses: []),
        Row(file: "rfc4475/cparam01.sip", statuses: [405, 501]),
        Row(file: "rfc4475/regescrt.sip", statuses: [405, 501]),
        Row(file: "rfc4475/sdp01.sip", statuses: [406]),
        Row(file: "rfc4475/inv2543.sip", statuses: [180], isCall: true),
        Row(file: "rfc5118/ipv6-good.sip", statuses: [405, 501]),
        Row(file: "rfc5118/via-received-with-delim.sip", statuses: [481]),
        Row(file: "rfc5118/via-received-no-delim.sip", statuses: [200]),
        Row(file: "rfc5118/mult-ip-in-header.sip", statuses: [481]),
        Row(file: "rfc5118/ipv6-in-sdp-as-printed.sip", statuses: [400]),
        Row(file: "rfc5118/ipv6-abnf-3-colons.sip", statuses: [400, 200]),
        Row(file: "flows/3665-3.1-F1.sip", statuses: [180], isCall: true),
        Row(file: "flows/3665-3.2-F6.sip", statuses: [180], isCall: true),
        Row(file: "flows/3665-3.6-F5.sip", statuses: [180], isCall: true),
        Row(file: "flows/3665-3.1-F4.sip", statuses: []),
        Row(file: "flows/3665-3.1-F5.sip", statuses: [481]),
        Row(file: "flows/3665-3.1-F2.sip", statuses: []),
        Row(file: "flows/3665-3.1-F3.sip", statuses: []),
        Row(file: "flows/3515-4.1-F1.sip", statuses: [603]),
        Row(file: "flows/5626-9.3-F3.sip", statuses: []),
    ]

    @Test("a message of the corpus is answered as its index says", arguments: rows)
    func corpus(row: Row) throws {
        let scene = Scene()
        scene.phone.onEvent = { [weak scene] event in
            guard let scene, case .incoming(let id, _) = event else { return }
            scene.network.later(.zero) { scene.on { $0.ring(id, now: $1) } }
        }
        let bytes = [UInt8](try Data(contentsOf: Self.fixtures.appending(path: row.file)))
        scene.peer.sendRaw(bytes, to: scene.phone)
        scene.network.run(.milliseconds(100))
        // Read from the octets: an answer echoes what may be malformed.
        let answers = scene.network.log.filter { $0.packet.from == scene.phone.address }.map(\.packet.bytes)
        let statuses = answers.compactMap { Int(String(decoding: $0.dropFirst(8).prefix(3), as: UTF8.self)) }
        if row.statuses.isEmpty {
            #expect(answers.isEmpty)
        } else {
            #expect(statuses.count == 1 && row.statuses.contains(statuses.first ?? 0), "\(statuses)")
        }
        #expect(scene.phone.incoming.isEmpty || row.isCall)
        if let (name, part) = row.header, let answer = scene.phone.sent.first {
            #expect(answer.first(name)?.contains(part) == true)
        }
        // Never traffic to an address that only the message names.
        for entry in scene.network.log where entry.packet.from == scene.phone.address {
            #expect(entry.packet.to.ip == scene.peer.address.ip)
        }
    }

    @Test("OPTIONS is answered with what the agent can do")
    func options() throws {
        let scene = Scene()
        scene.peer.send("OPTIONS", scene.phoneURI, to: scene.phone)
        scene.network.run(.milliseconds(50))
        let answer = try #require(scene.peer.responses(.options).last)
        #expect(answer.statusCode == 200 && answer.to.tag != nil)
        #expect(answer.first(.allow)?.contains("INVITE") == true && answer.first(.accept) == "application/sdp")
        #expect(answer.first(.supported) != nil)
        let (_, tag) = try scene.answeredIncoming(callID: "in-dialog")
        scene.peer.send("OPTIONS", scene.phoneURI, to: scene.phone, callID: "in-dialog", toTag: tag, sequence: 2)
        scene.network.run(.milliseconds(50))
        #expect(scene.peer.responses(.options).last?.to.tag == tag)
    }

    @Test(
        "methods that are not served yet are answered 405, unknown ones 501, both with Allow",
        arguments: [
            ("REGISTER", 405), ("PUBLISH", 405), ("NEWMETHOD", 501), ("invite", 501),
        ])
    func otherMethods(method: String, status: Int) throws {
        let scene = Scene()
        scene.peer.send(method, scene.phoneURI, to: scene.phone)
        scene.network.run(.milliseconds(50))
        let answer = try #require(scene.peer.received.last?.message)
        #expect(answer.statusCode == status && answer.first(.allow)?.contains("BYE") == true)
        #expect(scene.phone.incoming.isEmpty)
    }

    @Test("Require of anything unsupported is answered 420, also within a dialog")
    func extensions() throws {
        let scene = Scene()
        let (_, tag) = try scene.answeredIncoming()
        scene.peer.send(
            "INVITE", scene.phoneURI, to: scene.phone, toTag: tag, sequence: 2, headers: ["Require: foo, 100rel, timer"],
            type: "application/sdp", body: sdpOffer)
        scene.network.run(.milliseconds(50))
        #expect(scene.peer.responses(.invite).last?.statusCode == 420)
        #expect(scene.peer.responses(.invite).last?.first(.unsupported) == "foo")
        scene.peer.send("OPTIONS", scene.phoneURI, to: scene.phone, callID: "x", headers: ["Proxy-Require: foo"])
        scene.network.run(.milliseconds(50))
        #expect(scene.peer.responses(.options).last?.statusCode == 420)
    }

    @Test("bodies: what must be understood and is not gets 415, an optional one is left aside")
    func bodies() throws {
        let scene = Scene()
        let cases: [(type: String, headers: [String], status: Int?)] = [
            ("application/isup", [], 415), ("application/sdp", ["Content-Encoding: gzip"], 415),
            ("application/isup", ["Content-Disposition: signal;handling=optional"], nil),
            ("application/sdp", ["Content-Encoding: identity"], nil), ("APPLICATION/SDP", [], nil),
        ]
        for (index, row) in cases.enumerated() {
            let before = scene.phone.incoming.count
            scene.peer.send(
                "INVITE", scene.phoneURI, to: scene.phone, callID: "b\(index)", headers: row.headers, type: row.type, body: sdpOffer)
            scene.network.run(.milliseconds(50))
            if let status = row.status {
                #expect(scene.peer.responses(.invite).last?.statusCode == status, "\(row)")
            } else {
                #expect(scene.phone.incoming.count == before + 1, "\(row)")
            }
        }
    }

    @Test("§8.2.2.2: the same INVITE over another path is answered 482")
    func merged() throws {
        let scene = Scene()
        _ = try scene.incoming()
        scene.peer.send("INVITE", scene.phoneURI, to: scene.phone, type: "application/sdp", body: sdpOffer, branch: "z9hG4bKotherpath")
        scene.network.run(.milliseconds(50))
        #expect(scene.peer.responses(.invite).last?.statusCode == 482)
        #expect(scene.phone.incoming.count == 1)
    }

    @Test("a repeated INVITE is no second call")
    func repeated() throws {
        let scene = Scene()
        for _ in 0..<3 {
            scene.peer.send("INVITE", scene.phoneURI, to: scene.phone, type: "application/sdp", body: sdpOffer, branch: "z9hG4bKsame")
        }
        scene.network.run(.milliseconds(50))
        #expect(scene.phone.incoming.count == 1)
    }

    @Test(
        "V-001, V-025: URIs that are not SIP in From or Contact are refused or taken, never fatal",
        arguments: ["tel:+15551234", "/", "http://example.com", "sip:", "mailto:x@y", "urn:service:sos"])
    func oddURIs(uri: String) throws {
        for place in 0..<3 {
            let scene = Scene()
            let from = place == 0 ? "<\(uri)>;tag=f" : "<sip:a@10.0.0.9>;tag=f"
            let contact = place == 1 ? "<\(uri)>" : "<sip:a@10.0.0.9:5060>"
            let to = place == 2 ? "<\(uri)>" : "<sip:1001@10.0.0.1>"
            let text = [
                "INVITE sip:1001@10.0.0.1:5060 SIP/2.0", "Via: SIP/2.0/UDP 10.0.0.9:5060;branch=z9hG4bKodd\(place)",
                "Max-Forwards: 70", "From: \(from)", "To: \(to)", "Call-ID: odd", "CSeq: 1 INVITE", "Contact: \(contact)",
                "Content-Length: 0", "", "",
            ].joined(separator: "\r\n")
            scene.peer.sendRaw(Array(text.utf8), to: scene.phone)
            scene.network.run(.milliseconds(50))
            guard let id = scene.phone.incoming.last?.0 else {
                #expect(scene.phone.sentStatuses(.invite).allSatisfy { $0 == 400 || $0 == 416 })
                continue
            }
            scene.on { $0.accept(id, answer: sdpBytes, now: $1) }
            scene.network.run(.milliseconds(50))
            let tag = try #require(scene.peer.responses(.invite).last?.to.tag)
            scene.peer.sendRaw(
                Array(
                    ("ACK sip:1001@10.0.0.1 SIP/2.0\r\nVia: SIP/2.0/UDP 10.0.0.9:5060;branch=z9hG4bKack\r\nFrom: \(from)\r\n"
                        + "To: \(to);tag=\(tag)\r\nCall-ID: odd\r\nCSeq: 1 ACK\r\nContent-Type: application/sdp\r\nContent-Length: \(sdpBytes.count)\r\n\r\n"
                        + sdpOffer).utf8), to: scene.phone)
            scene.network.run(.milliseconds(50))
            scene.on { $0.hangUp(id, now: $1) }
            #expect(scene.settles(), "\(uri) at \(place)")
        }
    }

    @Test("never an answer to an ACK or to a response, whatever they look like")
    func noAnswers() throws {
        let scene = Scene()
        let (_, tag) = try scene.answeredIncoming()
        let before = scene.phone.sent.count
        scene.peer.send("ACK", scene.phoneURI, to: scene.phone, toTag: tag)
        scene.peer.send("ACK", scene.phoneURI, to: scene.phone, callID: "nobody", toTag: "x")
        scene.peer.send("ACK", scene.phoneURI, to: scene.phone, callID: "nobody2", headers: ["Require: nothing"])
        scene.peer.send("ACK", "unknown:x", to: scene.phone, callID: "nobody3")
        for status in [100, 180, 200, 401, 407, 487, 503, 699] {
            for method in ["INVITE", "BYE", "REGISTER", "ACK"] {
                let text =
                    "SIP/2.0 \(status) X\r\nVia: SIP/2.0/UDP 10.0.0.1:5060;branch=z9hG4bKnone\r\nFrom: <sip:a@b>;tag=1\r\n"
                    + "To: <sip:c@d>;tag=2\r\nCall-ID: stray\r\nCSeq: 1 \(method)\r\nContent-Length: 0\r\n\r\n"
                scene.peer.sendRaw(Array(text.utf8), to: scene.phone)
            }
        }
        scene.network.run(.seconds(2))
        #expect(scene.phone.sent.count == before)
    }

    @Test("V-021: many INVITEs over TCP, then the connection is cut: all end, nothing is left")
    func connectionCut() throws {
        let scene = Scene()
        scene.peer.transport = .tcp
        scene.phone.accept(from: scene.peer.address, now: scene.network.now)
        for index in 0..<30 {
            scene.peer.send("INVITE", scene.phoneURI, to: scene.phone, callID: "tcp\(index)", type: "application/sdp", body: sdpOffer)
        }
        scene.network.run(.milliseconds(100))
        #expect(scene.phone.incoming.count == 30)
        for (index, call) in scene.phone.incoming.enumerated() {
            scene.on { agent, now in
                if index % 3 == 0 { agent.ring(call.0, now: now) }
                if index % 3 == 1 { agent.accept(call.0, answer: sdpBytes, now: now) }
            }
        }
        scene.phone.disconnected(from: scene.peer.address, .reset, now: scene.network.now)
        scene.phone.refusesConnections = true
        scene.network.run(.seconds(5))
        scene.on { agent, now in for call in scene.phone.incoming { agent.hangUp(call.0, now: now) } }
        #expect(scene.settles())
        #expect(scene.phone.ends.count == 30)
        #expect(scene.phone.agent.timerCount == 0)
    }

    // MARK: Limits

    @Test("unanswered INVITEs of one unknown source are limited: 503 with Retry-After, counted")
    func unansweredLimit() throws {
        let scene = Scene { $0.maximumUnansweredPerSource = 3 }
        for index in 0..<5 {
            scene.peer.send("INVITE", scene.phoneURI, to: scene.phone, callID: "l\(index)", type: "application/sdp", body: sdpOffer)
        }
        scene.network.run(.milliseconds(50))
        #expect(scene.phone.incoming.count == 3)
        let refused = scene.peer.responses(.invite).filter { $0.statusCode == 503 }
        #expect(refused.count == 2 && refused.allSatisfy { $0.first(.retryAfter) != nil })
        #expect(scene.phone.agent.counters[.unansweredLimit] == 2)
        // Another source is not affected, and an established call gives its place free.
        let other = ScriptedPeer(scene.network, 10)
        other.send("INVITE", scene.phoneURI, to: scene.phone, callID: "other", type: "application/sdp", body: sdpOffer)
        scene.network.run(.milliseconds(50))
        #expect(scene.phone.incoming.count == 4)
        let first = try #require(scene.phone.incoming.first)
        scene.on { $0.accept(first.0, answer: sdpBytes, now: $1) }
        scene.network.run(.milliseconds(50))
        let tag = try #require(scene.peer.responses(.invite).last { $0.statusCode == 200 }?.to.tag)
        scene.peer.send("ACK", scene.phoneURI, to: scene.phone, callID: "l0", toTag: tag)
        scene.peer.send("INVITE", scene.phoneURI, to: scene.phone, callID: "l9", type: "application/sdp", body: sdpOffer)
        scene.network.run(.milliseconds(50))
        #expect(scene.phone.incoming.count == 5)
    }

    @Test("the account's own server is exempt from the limit on unanswered INVITEs")
    func serverIsExempt() {
        let scene = Scene { $0.maximumUnansweredPerSource = 3 }
        RegistrationTests.serve(scene)
        scene.addAccount(directCalls: .refuse)
        scene.network.run(.seconds(1))
        for index in 0..<150 {
            scene.peer.send("INVITE", scene.phoneURI, to: scene.phone, callID: "l\(index)", type: "application/sdp", body: sdpOffer)
        }
        scene.network.run(.milliseconds(50))
        #expect(scene.phone.incoming.count == 150)
        #expect(scene.phone.agent.unansweredCount == 0)
    }

    @Test("maximumCalls: one more call is busy, in either direction")
    func callLimit() throws {
        let scene = Scene { $0.maximumCalls = 2 }
        _ = try scene.incoming(callID: "a")
        _ = try scene.incoming(callID: "b")
        scene.peer.send("INVITE", scene.phoneURI, to: scene.phone, callID: "c", type: "application/sdp", body: sdpOffer)
        scene.network.run(.milliseconds(50))
        #expect(scene.peer.responses(.invite).last?.statusCode == 486)
        #expect(scene.phone.agent.counters[.callLimit] == 1)
        #expect(throws: AgentError.self) {
            _ = try scene.phone.agent.invite(from: nil, to: scene.peerURI, offer: nil, now: scene.network.now)
        }
        let (id, _) = scene.phone.incoming[0]
        scene.on { $0.reject(id, status: 486, now: $1) }
        _ = try scene.incoming(callID: "d")
    }

    @Test("direct calls are refused 403 where the account says so, and counted")
    func directCalls() {
        let scene = Scene()
        RegistrationTests.serve(scene)
        scene.addAccount(directCalls: .refuse)
        scene.network.run(.seconds(1))
        let stranger = ScriptedPeer(scene.network, 44)
        stranger.send("INVITE", scene.phoneURI, to: scene.phone, callID: "direct", type: "application/sdp", body: sdpOffer)
        scene.network.run(.milliseconds(50))
        #expect(stranger.responses(.invite).map(\.statusCode) == [403])
        #expect(scene.phone.incoming.isEmpty)
        #expect(scene.phone.agent.counters[.directCallRefused] == 1)
    }

    @Test("on loopback another program is not taken for the account's server")
    func directCallsOnLoopback() {
        let scene = Scene(onLoopback: true)
        RegistrationTests.serve(scene)
        scene.addAccount(directCalls: .refuse)
        scene.network.run(.seconds(1))
        #expect(RegistrationTests.isRegistered(scene))
        let stranger = ScriptedPeer(scene.network, 44, at: SocketAddress(.loopbackV4, 5070))
        for (index, peer) in [scene.peer, stranger].enumerated() {
            peer.send("INVITE", scene.phoneURI, to: scene.phone, callID: "l\(index)", type: "application/sdp", body: sdpOffer)
        }
        scene.network.run(.milliseconds(50))
        #expect(stranger.responses(.invite).map(\.statusCode) == [403])
        #expect(scene.phone.incoming.count == 1)
    }

    @Test("header fields that the protocol sets cannot be given, and no value adds a line")
    func headers() throws {
        let scene = Scene()
        for name in [HeaderName.via, .route, .contentLength, .authorization, .cseq] {
            #expect(throws: AgentError.self) {
                _ = try scene.phone.agent.invite(from: nil, to: scene.peerURI, offer: nil, headers: [(name, "x")], now: scene.network.now)
            }
        }
        _ = try scene.phone.agent.invite(
            from: nil, to: scene.peerURI, offer: nil, headers: [("X-Test", "a\r\nEvil: yes")], now: scene.network.now)
        scene.phone.drain()
        scene.network.run(.milliseconds(50))
        let invite = try #require(scene.peer.requests(.invite).last)
        #expect(invite.first("X-Test") != nil && invite.first("Evil") == nil)
    }
}
