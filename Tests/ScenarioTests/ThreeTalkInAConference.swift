// SPDX-License-Identifier: Apache-2.0

import Essentials
import HandsetTestKit
import PhoneCore
import SIPAgent
import Testing

/// RFC 5359 §2.10 and §2.11: three-way conference, mixed by one of the phones.
@Suite struct ThreeTalkInAConference {
    /// Who says which pitch.
    static let pitch = (alice: 500, bob: 700, carol: 900)

    private func expectAllHear(_ office: Office, _ alice: SimulatedPhone, _ bob: SimulatedPhone, _ carol: SimulatedPhone) {
        office.world.run(for: .seconds(3))
        let heard = [("alice", alice, Self.pitch.alice), ("bob", bob, Self.pitch.bob), ("carol", carol, Self.pitch.carol)]
        for (name, phone, own) in heard {
            for (other, _, pitch) in heard {
                let strength = phone.strength(of: pitch, in: name)
                #expect(pitch == own ? strength < 0.05 : strength > 0.8, "\(name) hears \(other) by \(strength)")
            }
        }
    }

    private func talk(_ alice: SimulatedPhone, _ bob: SimulatedPhone, _ carol: SimulatedPhone) throws {
        try alice.speak(Self.pitch.alice, into: alice.liveCalls)
        try bob.speak(Self.pitch.bob, into: bob.liveCalls)
        try carol.speak(Self.pitch.carol, into: carol.liveCalls)
        try alice.listen(to: alice.liveCalls, as: "alice")
        try bob.listen(to: bob.liveCalls, as: "bob")
        try carol.listen(to: carol.liveCalls, as: "carol")
    }

    @Test func `Bob adds Carol to his call with Alice: each hears the others and not itself, and one may leave`() throws {
        let office = Office()
        let (alice, bob, carol) = (office.phone("alice", "1001"), office.phone("bob", "1002"), office.phone("carol", "1003"))
        try office.open()
        bob.follow([.answer(after: .seconds(1)), .wait(.seconds(1)), .consult("1003"), .wait(.seconds(1)), .conference])
        carol.follow([.answer(after: .seconds(1))])
        alice.follow([.call("1002")])
        office.play()
        try talk(alice, bob, carol)
        expectAllHear(office, alice, bob, carol)
        // Alice leaves; the others go on.
        alice.silence()
        alice.follow([.hangUp])
        office.play()
        office.world.run(for: .seconds(2))
        #expect(bob.liveCalls.count == 1 && carol.strength(of: Self.pitch.bob, in: "carol") > 0.8)
        #expect(carol.strength(of: Self.pitch.alice, in: "carol") < 0.05)
        #expect(bob.has { if case .conference(_, let members) = $0 { members.isEmpty } else { false } })
        for phone in [bob, carol] { phone.silence() }
        bob.follow([.hangUp])
        office.play()
        office.close()
    }

    @Test func `Carol calls in and is let into the conversation; parted again, she hears nobody but Bob`() throws {
        let office = Office()
        let (alice, bob, carol) = (office.phone("alice", "1001"), office.phone("bob", "1002"), office.phone("carol", "1003"))
        try office.open()
        bob.follow([.answer(after: .seconds(1)), .wait(.seconds(2)), .hold, .answer(after: .seconds(1))])
        alice.follow([.call("1002")])
        carol.follow([.wait(.seconds(6)), .call("1002")])
        office.play()
        let calls = bob.liveCalls
        try bob.perform { core, now throws(PhoneError) in try core.conference(calls, now: now) }
        office.world.run(for: .seconds(1))
        try talk(alice, bob, carol)
        expectAllHear(office, alice, bob, carol)
        try bob.perform { core, now throws(PhoneError) in try core.part(calls[1], now: now) }
        office.world.run(for: .seconds(2))
        #expect(carol.strength(of: Self.pitch.alice, in: "carol") < 0.05 && carol.strength(of: Self.pitch.bob, in: "carol") > 0.8)
        #expect(alice.strength(of: Self.pitch.carol, in: "alice") < 0.05)
        for phone in [alice, bob, carol] { phone.silence() }
        bob.shutDown()
        office.world.run(for: .seconds(2))
        office.close()
    }
}
