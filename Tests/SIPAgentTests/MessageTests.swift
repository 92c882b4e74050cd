// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP
import SIPAgent
import Testing

@Suite struct MessageTests {
    private func deliveries(_ node: AgentNode) -> [MessageDelivery] {
        node.news.compactMap { if case .messageAnswered(_, let delivery) = $0 { delivery } else { nil } }
    }

    private func received(_ node: AgentNode) -> [ReceivedMessage] {
        node.news.compactMap { if case .message(let message) = $0 { message } else { nil } }
    }

    @Test("a message goes through: one is told what came, the other that it was delivered")
    func delivered() throws {
        let pair = Pair()
        pair.on(pair.alice) { agent, now in
            _ = try? agent.sendMessage(from: nil, to: pair.bobURI, body: Array("Grüß Gott\n".utf8), now: now)
        }
        pair.network.run(.milliseconds(100))
        #expect(deliveries(pair.alice) == [.delivered])
        let message = try #require(received(pair.bob).first)
        #expect(message.message.plainText == "Grüß Gott\n" && message.message.contentType?.parameters["charset"] == "UTF-8")
        #expect(pair.alice.sent(.message).first?.contains(.contact) == false, "RFC 3428 §9: no Contact")
        #expect(pair.settles())
    }

    @Test(
        "what became of a message is told in each case",
        arguments: [
            (202, "accepted"), (404, "message.not-found"), (415, "message.incompatible"), (480, "message.unavailable"),
            (405, "message.not-supported"), (503, "message.server-failure"), (403, "message.forbidden"), (400, "message.refused"),
            (408, "message.no-response"), (413, "message.refused.too-long"),
        ])
    func outcomes(status: Int, outcome: String) throws {
        let scene = Scene()
        scene.on { agent, now in _ = try? agent.sendMessage(from: nil, to: scene.peerURI, body: [0x41], now: now) }
        scene.network.run(.milliseconds(30))
        scene.peer.respond(status, to: try #require(scene.peer.requests(.message).last))
        scene.network.run(.milliseconds(30))
        switch try #require(deliveries(scene.phone).first) {
        case .accepted(202): #expect(outcome == "accepted")
        case .failed(let cause): #expect(cause.code == outcome && cause.status == status)
        default: Issue.record("delivered")
        }
        #expect(scene.settles())
    }

    @Test("no answer at all is told after 32 s")
    func unanswered() throws {
        let scene = Scene()
        scene.on { agent, now in _ = try? agent.sendMessage(from: nil, to: scene.peerURI, body: [0x41], now: now) }
        scene.network.run(.seconds(33))
        guard case .failed(let cause) = deliveries(scene.phone).first else {
            Issue.record("told nothing")
            return
        }
        #expect(cause.code == "message.no-response")
    }

    @Test("within a call a message travels in its dialog, both ways")
    func inDialog() throws {
        let pair = Pair()
        let (mine, theirs) = try pair.establish()
        pair.on(pair.alice) { agent, now in _ = try? agent.sendMessage(in: mine, body: Array("one".utf8), now: now) }
        pair.on(pair.bob) { agent, now in _ = try? agent.sendMessage(in: theirs, body: Array("two".utf8), now: now) }
        pair.network.run(.milliseconds(200))
        #expect(deliveries(pair.alice) == [.delivered] && deliveries(pair.bob) == [.delivered])
        #expect(received(pair.bob).map(\.session) == [theirs] && received(pair.alice).map(\.session) == [mine])
        #expect(pair.alice.sent(.message).first?.to.tag != nil)
        pair.on(pair.alice) { $0.hangUp(mine, now: $1) }
        #expect(throws: AgentError.self) { try pair.alice.agent.sendMessage(in: mine, body: [0x41], now: pair.network.now) }
        #expect(pair.settles())
    }

    @Test("RFC 3428 §8: over 1300 octets nothing goes by datagrams, and the user hears why")
    func tooLongForDatagrams() throws {
        let scene = Scene()
        scene.on { agent, now in
            _ = try? agent.sendMessage(from: nil, to: scene.peerURI, body: [UInt8](repeating: 0x41, count: 1200), now: now)
        }
        scene.network.run(.milliseconds(30))
        let overUDP = scene.network.log.filter { $0.packet.transport == .udp && ($0.packet.message?.method == .message) }
        #expect(overUDP.allSatisfy { $0.packet.bytes.count <= 1300 })
        if scene.peer.requests(.message).isEmpty {
            guard case .failed(let cause) = deliveries(scene.phone).first else {
                Issue.record("neither sent nor told")
                return
            }
            #expect(cause.code == "message.too-long")
        }
        scene.on { agent, now in
            _ = try? agent.sendMessage(from: nil, to: scene.peerURI, body: [UInt8](repeating: 0x41, count: 700), now: now)
        }
        scene.network.run(.milliseconds(30))
        #expect(scene.peer.requests(.message).contains { $0.body.count == 700 })
    }

    @Test("limits: the body sent and received, and messages that wait")
    func limits() throws {
        let scene = Scene { $0.maximumMessageOctets = 100 }
        #expect(throws: AgentError.self) {
            try scene.phone.agent.sendMessage(from: nil, to: scene.peerURI, body: [UInt8](repeating: 0x41, count: 101), now: .zero)
        }
        scene.peer.send(
            "MESSAGE", scene.phoneURI, to: scene.phone, type: "text/plain", body: String(repeating: "x", count: 101))
        scene.network.run(.milliseconds(30))
        #expect(scene.peer.responses(.message).last?.statusCode == 413)
        #expect(received(scene.phone).isEmpty && scene.phone.agent.counters[.messageTooLong] == 2)
        let busy = Scene { $0.maximumPendingMessages = 1 }
        _ = try busy.phone.agent.sendMessage(from: nil, to: busy.peerURI, body: [0x41], now: .zero)
        #expect(throws: AgentError.self) { try busy.phone.agent.sendMessage(from: nil, to: busy.peerURI, body: [0x41], now: .zero) }
    }

    @Test("V-028: what a stranger writes cannot move a cursor, end a line of a log or turn text around")
    func hostileText() throws {
        let scene = Scene()
        scene.peer.send(
            "MESSAGE", scene.phoneURI, to: scene.phone, type: "text/plain", body: "a\u{1b}[2Jb\u{202e}c\r\nd\u{0}e\u{7f}\tf\u{85}")
        scene.network.run(.milliseconds(30))
        #expect(scene.peer.responses(.message).last?.statusCode == 200)
        let text = try #require(received(scene.phone).first?.message.plainText)
        #expect(text == "a\u{fffd}[2Jb\u{fffd}c\nd\u{fffd}e\u{fffd}\tf\u{fffd}")
    }

    @Test("a message that did not come from the account's server is refused unless direct ones are accepted")
    func strangers() throws {
        let scene = Scene()
        scene.addAccount(registers: false, directCalls: .refuse)
        scene.peer.send("MESSAGE", scene.phoneURI, to: scene.phone, type: "text/plain", body: "spam")
        scene.network.run(.milliseconds(30))
        #expect(scene.peer.responses(.message).last?.statusCode == 403 && received(scene.phone).isEmpty)
        #expect(scene.phone.agent.counters[.messageRefused] == 1)
    }

    @Test("types that cannot be shown are answered 415 with those that can; an unknown dialog 481; no body is no message")
    func types() throws {
        let scene = Scene()
        scene.peer.send("MESSAGE", scene.phoneURI, to: scene.phone, callID: "a", type: "application/octet-stream", body: "x")
        scene.network.run(.milliseconds(30))
        let answer = try #require(scene.peer.responses(.message).last)
        #expect(answer.statusCode == 415 && answer.first(.accept)?.contains("text/plain") == true)
        scene.peer.send(
            "MESSAGE", scene.phoneURI, to: scene.phone, callID: "b", headers: ["Content-Encoding: gzip"], type: "text/plain", body: "x")
        scene.network.run(.milliseconds(30))
        #expect(scene.peer.responses(.message).last?.statusCode == 415)
        scene.peer.send("MESSAGE", scene.phoneURI, to: scene.phone, callID: "c", toTag: "gone", type: "text/plain", body: "x")
        scene.network.run(.milliseconds(30))
        #expect(scene.peer.responses(.message).last?.statusCode == 481)
        scene.peer.send("MESSAGE", scene.phoneURI, to: scene.phone, callID: "d")
        scene.network.run(.milliseconds(30))
        #expect(scene.peer.responses(.message).last?.statusCode == 200 && received(scene.phone).isEmpty)
    }

    @Test("ISO 8859-1 is read as it says")
    func charset() throws {
        let head =
            "MESSAGE sip:a@b SIP/2.0\r\nVia: SIP/2.0/UDP 10.0.0.9;branch=z9hG4bKx\r\nFrom: <sip:c@d>;tag=1\r\nTo: <sip:a@b>\r\nCall-ID: 1\r\nCSeq: 1 MESSAGE\r\nMax-Forwards: 70\r\nContent-Type: text/plain;charset=ISO-8859-1\r\nContent-Length: 3\r\n\r\n"
        #expect(try SIPMessage(parsing: Array(head.utf8) + [0xdc, 0x62, 0x72]).plainText == "Übr")
    }
}
