// SPDX-License-Identifier: Apache-2.0

import Essentials
import HandsetTestKit
import PhoneCore
import SIP
import SIPAgent
import Testing

/// RFC 5359 §2.3: music on hold. Alice's system, played message by message, asks a music server for its offer and hands that to Bob;
/// Bob and the music server are phones of ours.
@Suite struct MusicIsHeardOnHold {
    @Test func `Bob hears the music server as long as Alice holds him, and it hears nothing of him`() throws {
        let office = Office()
        let bob = office.phone("bob", "1002", configureAccount: { $0.directCalls = .accept })
        let music = office.phone("music", "1004", configureAccount: { $0.directCalls = .accept })
        try office.open()
        let alice = System(office)
        bob.follow([.answer(after: .seconds(1))])
        music.follow([.answer(after: .zero)])

        let ours = "v=0\no=- 1 1 IN IP4 \(alice.peer.address.ip)\ns=-\nc=IN IP4 \(alice.peer.address.ip)\nt=0 0\nm=audio 4000 RTP/AVP 0\n"
        let answer = try alice.invite(bob, "1002", body: ours, tag: nil)
        alice.acknowledge(bob, "1002", answer)
        // The music server offers, Bob answers, and his answer is the server's (RFC 3725 §4.1).
        let offer = try alice.invite(music, "1004", body: nil, tag: nil)
        let held = try alice.invite(bob, "1002", body: alice.text(offer, direction: "sendonly"), tag: answer.to.tag)
        alice.acknowledge(bob, "1002", held)
        #expect(alice.text(held).contains("a=recvonly"))
        alice.acknowledge(music, "1004", offer, body: alice.text(held))
        office.play()

        try music.speak(600, into: music.liveCalls)
        try music.listen(to: music.liveCalls, as: "music")
        try bob.speak(800, into: bob.liveCalls)
        try bob.listen(to: bob.liveCalls, as: "bob")
        office.world.run(for: .seconds(3))
        #expect(bob.strength(of: 600, in: "bob") > 0.8 && music.strength(of: 800, in: "music") < 0.05)

        let resumed = try alice.invite(bob, "1002", body: ours, tag: answer.to.tag)
        alice.acknowledge(bob, "1002", resumed)
        alice.hangUp(music, "1004", offer)
        office.world.run(for: .seconds(1))
        try bob.listen(to: bob.liveCalls, as: "bob after")
        office.world.run(for: .seconds(2))
        #expect(bob.strength(of: 600, in: "bob after") < 0.05 && music.liveCalls.isEmpty)
        let holds = bob.events.compactMap { if case .hold(_, let side, let isHeld) = $0.event { "\(side) \(isHeld)" } else { nil } }
        #expect(holds == ["remote true", "remote false"])
        for phone in [bob, music] { phone.silence() }
        office.close()
    }

    /// A system that controls both calls (RFC 3725) and carries no sound itself.
    private final class System {
        let peer: ScriptedPeer
        private let office: Office
        private var sequence: UInt32 = 0

        init(_ office: Office) {
            self.office = office
            peer = office.world.addPeer("alice")
            peer.react = { [unowned peer] message, from in
                if message.isRequest, message.method == .bye { peer.answer(message, 200, tag: nil, to: from) }
            }
        }

        private func request(
            _ method: Method, _ phone: SimulatedPhone, _ user: String, tag: String?, _ sequence: UInt32
        ) -> MessageBuilder {
            var request = peer.request(
                method, "sip:\(user)@\(phone.host.address):5060", from: "<sip:alice@\(peer.address)>;tag=alice",
                to: "<sip:\(user)@example.test>" + (tag.map { ";tag=\($0)" } ?? ""), callID: "alice-\(user)", cseq: sequence)
            request.add(.contact, "<sip:alice@\(peer.address)>")
            return request
        }

        /// Sends an INVITE and waits for its answer.
        func invite(_ phone: SimulatedPhone, _ user: String, body: String?, tag: String?) throws -> SIPMessage {
            sequence += 1
            var invite = request(.invite, phone, user, tag: tag, sequence)
            if let body { invite.setBody(Self.wire(body), type: "application/sdp") }
            peer.send(invite, to: SocketAddress(phone.host.address, 5060))
            let wanted = sequence
            func answers() -> [SIPMessage] {
                peer.received.map(\.message).filter { !$0.isRequest && $0.cseq.number == wanted && $0.statusCode >= 200 }
            }
            office.world.run(within: .seconds(10)) { !answers().isEmpty }
            let answer = try required(answers().first)
            #expect(answer.statusCode == 200)
            return answer
        }

        func acknowledge(_ phone: SimulatedPhone, _ user: String, _ answer: SIPMessage, body: String? = nil) {
            var ack = request(.ack, phone, user, tag: answer.to.tag, answer.cseq.number)
            if let body { ack.setBody(Self.wire(body), type: "application/sdp") }
            peer.send(ack, to: SocketAddress(phone.host.address, 5060))
            office.world.run(for: .milliseconds(200))
        }

        /// Ends a call that an INVITE of ours began.
        func hangUp(_ phone: SimulatedPhone, _ user: String, _ answer: SIPMessage) {
            sequence += 1
            peer.send(request(.bye, phone, user, tag: answer.to.tag, sequence), to: SocketAddress(phone.host.address, 5060))
        }

        /// The description in a message, a line each, with another direction if one is given.
        func text(_ message: SIPMessage, direction: String? = nil) -> String {
            var lines = String(decoding: message.body, as: UTF8.self).split(whereSeparator: \.isNewline).map(String.init)
            if let direction {
                lines.removeAll { ["a=sendrecv", "a=sendonly", "a=recvonly", "a=inactive"].contains($0) }
                lines.append("a=\(direction)")
            }
            return lines.map { $0 + "\n" }.joined()
        }

        private static func wire(_ text: String) -> [UInt8] {
            text.split(whereSeparator: \.isNewline).flatMap { Array($0.utf8) + [0x0d, 0x0a] }
        }
    }
}
