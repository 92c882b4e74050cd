// SPDX-License-Identifier: Apache-2.0

import Essentials
import HandsetTestKit
import PhoneCore
import SIP
import SIPAgent
import Testing

/// RFC 5359 §2.4, RFC 5589 §6: blind transfer; and §2.6, which asks for an instant message: that is refused.
@Suite struct UnattendedTransferReachesTheThird {
    @Test func `Bob transfers Alice to Carol, and leaves when Carol has answered`() throws {
        let office = Office()
        let (alice, bob, carol) = (office.phone("alice", "1001"), office.phone("bob", "1002"), office.phone("carol", "1003"))
        try office.open()
        bob.follow([.answer(after: .seconds(1)), .wait(.seconds(1)), .transfer("1003"), .untilEnded])
        carol.follow([.answer(after: .seconds(2)), .untilEnded])
        alice.follow([.call("1002"), .untilTransferred, .wait(.seconds(2)), .hangUp])
        office.play()
        #expect(bob.endings == ["call.transferred"])
        #expect(alice.endings == ["call.remote-hung-up", "call.hung-up"] && carol.endings == ["call.remote-hung-up"])
        #expect(bob.transferStates(.transferor).first == .trying && bob.transferStates(.transferor).last == .succeeded)
        #expect(bob.transfers.contains { $0.state == .progress && $0.status == 180 }, "Carol's ringing is told")
        #expect(alice.transferStates(.transferee) == [.trying, .progress, .succeeded])
        #expect(alice.transfers.allSatisfy { $0.referredBy?.sip?.user == "1002" && $0.otherCall == alice.transfers[0].otherCall })
        // Who asked for the call is told to the target (RFC 3892).
        let invite = try required(
            carol.events.compactMap { if case .incomingCall(_, let call) = $0.event { call.invite } else { nil } }.first)
        #expect(invite.referredBy?.uri.sip?.user == "1002" && invite.from.uri.sip?.user == "1001")
        office.close()
    }

    @Test func `Carol is busy: Bob hears of it, and the call goes on as before`() throws {
        let office = Office()
        let (alice, bob, carol) = (office.phone("alice", "1001"), office.phone("bob", "1002"), office.phone("carol", "1003"))
        try office.open()
        bob.follow([.answer(after: .seconds(1))])
        alice.follow([.call("1002")])
        office.play()
        carol.follow([.refuse(status: 486, after: .seconds(1))])
        let call = try required(bob.user.call)
        try bob.perform { core, now throws(PhoneError) in try core.transfer(call, to: "1003", now: now) }
        office.world.run(for: .seconds(5))
        #expect(bob.transferStates(.transferor).suffix(2) == [.failed, .undone])
        #expect(bob.transfers.last { $0.state == .failed }.map { [$0.cause?.code ?? "", "\($0.status)"] } == ["transfer.failed", "486"])
        #expect(alice.transferStates(.transferee).suffix(2) == [.failed, .undone])
        #expect(alice.liveCalls.count == 1 && bob.liveCalls.count == 1)
        // The call is off hold again.
        #expect(alice.events.last { if case .hold = $0.event { true } else { false } }.map { "\($0.event)".contains("false") } == true)
        bob.follow([.hangUp])
        office.play()
        office.close()
    }

    @Test func `Alice lets nobody transfer her: 603, and the call goes on`() throws {
        let office = Office()
        let (alice, bob) = (office.phone("alice", "1001", transfers: .refuse), office.phone("bob", "1002"))
        try office.open()
        bob.follow([.answer(after: .seconds(1))])
        alice.follow([.call("1002")])
        office.play()
        let call = try required(bob.user.call)
        try bob.perform { core, now throws(PhoneError) in try core.transfer(call, to: "1003", now: now) }
        office.world.run(for: .seconds(5))
        #expect(bob.transfers.last { $0.state == .failed }?.cause?.code == "transfer.refused")
        #expect(bob.transferStates(.transferor).last == .undone && alice.liveCalls.count == 1)
        #expect(alice.core.agent.counters[.referralRefused] == 1)
        #expect(alice.has { if case .warning(_, let cause) = $0 { cause.code == "transfer.refused-here" } else { false } })
        bob.follow([.hangUp])
        office.play()
        office.close()
    }

    @Test(arguments: [("<im:carol@example.test>", 416), ("<sip:1003@example.test;method=MESSAGE>", 603)])
    func `Bob asks Alice's phone to write to Carol: it does not, and the call goes on`(target: String, status: Int) throws {
        let office = Office(open: true)
        let alice = office.phone("alice", "1001")
        let bob = office.world.addPeer("bob")
        var invite: SIPMessage?
        bob.react = { [unowned bob] message, from in
            guard message.isRequest, message.method == .invite || message.method == .bye else { return }
            if message.method == .invite { invite = message }
            bob.answer(message, 200, tag: message.method == .invite ? "bob" : nil, to: from) {
                $0.add(.contact, "<sip:1002@\(bob.address)>")
                if message.method == .invite { $0.setBody(Self.description(bob.address), type: "application/sdp") }
            }
        }
        try office.open()
        office.register(bob, as: "1002", contact: "<sip:1002@\(bob.address)>")
        alice.follow([.call("1002")])
        office.play()
        let call = try required(invite)
        var refer = bob.request(
            .refer, "sip:1001@\(alice.host.address):5060", from: "<sip:1002@example.test>;tag=bob", to: call.from.description,
            callID: call.callID, cseq: 1)
        refer.add(.contact, "<sip:1002@\(bob.address)>")
        refer.add(.referTo, target)
        bob.send(refer, to: SocketAddress(alice.host.address, 5060))
        office.world.run(for: .seconds(1))
        #expect(bob.received.last?.message.statusCode == status && alice.liveCalls.count == 1)
        #expect(alice.core.agent.counters[.referralUnusable] == 1 && alice.transfers.isEmpty)
        alice.follow([.hangUp])
        office.play()
        office.close()
    }

    private static func description(_ address: SocketAddress) -> [UInt8] {
        Array("v=0\r\no=- 1 1 IN IP4 \(address.ip)\r\ns=-\r\nc=IN IP4 \(address.ip)\r\nt=0 0\r\nm=audio 4000 RTP/AVP 0\r\n".utf8)
    }
}
