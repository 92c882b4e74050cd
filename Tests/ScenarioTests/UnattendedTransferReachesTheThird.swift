// SPDX-License-Identifier: Apache-2.0

import Essentials
import HandsetTestKit
import PhoneCore
import SIPAgent
import Testing

/// RFC 5359 §2.4, RFC 5589 §6: blind transfer.
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
}
