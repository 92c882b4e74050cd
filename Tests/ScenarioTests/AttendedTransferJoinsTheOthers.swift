// SPDX-License-Identifier: Apache-2.0

import Crypto
import Essentials
import HandsetTestKit
import PhoneCore
import SIP
import SIPAgent
import Testing

/// RFC 5359 §2.5, RFC 5589 §7: attended transfer.
@Suite struct AttendedTransferJoinsTheOthers {
    @Test func `Bob asks Carol first, then joins Alice and Carol, who hear each other`() throws {
        let office = Office()
        let (alice, bob, carol) = (office.phone("alice", "1001"), office.phone("bob", "1002"), office.phone("carol", "1003"))
        try office.open()
        bob.follow([
            .answer(after: .seconds(1)), .wait(.seconds(1)), .consult("1003"), .wait(.seconds(2)), .transferToConsulted, .untilEnded,
        ])
        carol.follow([.answer(after: .seconds(1))])
        alice.follow([.call("1002"), .untilTransferred])
        office.play()
        office.world.run(for: .seconds(1))
        #expect(alice.liveCalls.count == 1 && carol.liveCalls.count == 1 && bob.liveCalls.isEmpty)
        #expect(
            bob.endings.sorted() == ["call.remote-hung-up", "call.transferred"] || bob.endings == ["call.transferred", "call.transferred"])
        #expect(carol.endings == ["call.replaced"] && carol.transferStates(.target) == [.succeeded])
        #expect(carol.transfers[0].referredBy?.sip?.user == "1002")
        try alice.speak(500, into: alice.liveCalls)
        try carol.speak(900, into: carol.liveCalls)
        try alice.listen(to: alice.liveCalls, as: "alice")
        try carol.listen(to: carol.liveCalls, as: "carol")
        office.world.run(for: .seconds(3))
        #expect(alice.strength(of: 900, in: "alice") > 0.8 && alice.strength(of: 500, in: "alice") < 0.05)
        #expect(carol.strength(of: 500, in: "carol") > 0.8 && carol.strength(of: 900, in: "carol") < 0.05)
        alice.silence()
        carol.silence()
        alice.follow([.hangUp])
        office.play()
        office.close()
    }

    @Test func `Carol lets no call be replaced: both calls of Bob go on`() throws {
        let office = Office()
        let (alice, bob) = (office.phone("alice", "1001"), office.phone("bob", "1002"))
        let carol = office.phone("carol", "1003", configureAccount: { $0.replacements = .refuse })
        try office.open()
        bob.follow([.answer(after: .seconds(1)), .wait(.seconds(1)), .consult("1003")])
        carol.follow([.answer(after: .seconds(1))])
        alice.follow([.call("1002")])
        office.play()
        let (first, second) = (try required(bob.user.heldCall), try required(bob.user.call))
        try bob.perform { core, now throws(PhoneError) in try core.transfer(first, with: second, now: now) }
        office.world.run(for: .seconds(5))
        #expect(bob.transferStates(.transferor).suffix(2) == [.failed, .undone])
        #expect(bob.liveCalls == [first, second] && carol.core.agent.counters[.replacementRefused] == 1)
        // What Bob had on hold stays on hold.
        #expect(!bob.has { if case .hold(first, by: .local, isHeld: false) = $0 { true } else { false } })
        bob.shutDown()
        office.world.run(for: .seconds(2))
        office.close()
    }

    @Test func `the calls are of two accounts at two servers`() throws {
        let office = Office()
        let other = office.world.addServer("other", domain: "example.org", users: ["2002": "b", "2003": "c"])
        // Alice has no outbound proxy: she calls the other domain by its name.
        let alice = office.phone("alice", "1001", configureAccount: { $0.proxy = nil })
        let bob = office.phone("bob", "1002")
        let carol = office.world.addPhone("carol", user: "2003", password: "c", server: other)
        try office.open()
        var proxy = SIPURI(host: .address(other.address.ip), port: other.address.port)
        proxy.parameters.set("lr", nil)
        let account = AccountConfiguration(
            addressOfRecord: SIPURI(user: "2002", host: .name("example.org")), proxy: proxy,
            credentials: [Credential(realm: nil, username: "2002", password: Secret("b"))])
        var second: AccountID?
        try bob.perform { core, now throws(PhoneError) in second = try core.addAccount(account, now: now) }
        carol.follow([.register, .answer(after: .seconds(1))])
        bob.follow([.answer(after: .seconds(1)), .wait(.seconds(1)), .hold])
        alice.follow([.call("1002")])
        office.play()
        let first = try required(bob.user.call)
        var consulted: CallID?
        try bob.perform { core, now throws(PhoneError) in consulted = try core.call(from: second, to: "2003", now: now) }
        office.world.run(within: .seconds(20)) { carol.liveCalls.count == 1 && bob.liveCalls.count == 2 }
        let call = try required(consulted)
        try bob.perform { core, now throws(PhoneError) in try core.transfer(first, with: call, now: now) }
        office.world.run(within: .seconds(20)) { bob.liveCalls.isEmpty && carol.endings == ["call.replaced"] }
        office.world.run(for: .seconds(1))
        #expect(bob.transferStates(.transferor).last == .succeeded, "\(office.story)")
        #expect(alice.liveCalls.count == 1 && carol.liveCalls.count == 1)
        alice.shutDown()
        carol.shutDown()
        office.world.run(for: .seconds(2))
        office.close()
    }
}
