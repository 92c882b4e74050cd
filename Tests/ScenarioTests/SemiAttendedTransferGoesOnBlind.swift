// SPDX-License-Identifier: Apache-2.0

import Essentials
import HandsetTestKit
import PhoneCore
import SIP
import SIPAgent
import Testing

/// RFC 5589 §7: the transferor does not wait for the target's answer. A call that rings there cannot be replaced.
@Suite struct SemiAttendedTransferGoesOnBlind {
    @Test func `Bob joins Alice with Carol while Carol's phone rings: Alice calls Carol`() throws {
        let office = Office()
        let (alice, bob, carol) = (office.phone("alice", "1001"), office.phone("bob", "1002"), office.phone("carol", "1003"))
        try office.open()
        bob.follow([.answer(after: .seconds(1)), .wait(.seconds(1)), .hold, .dial("1003")])
        alice.follow([.call("1002")])
        office.play()
        let (first, second) = (try required(bob.liveCalls.first), try required(bob.user.call))
        office.world.run(within: .seconds(5)) { bob.core.state(of: second) == .early }
        try bob.perform { core, now throws(PhoneError) in try core.transfer(first, with: second, now: now) }
        office.world.run(for: .milliseconds(500))
        #expect(carol.endings == ["call.cancelled"] && bob.endings.first == "call.transferred")
        carol.follow([.answer(after: .seconds(1))])
        alice.follow([.untilTransferred])
        office.play()
        office.world.run(for: .seconds(1))
        #expect(bob.transferStates(.transferor).last == .succeeded && bob.liveCalls.isEmpty, "\(office.story)")
        #expect(alice.liveCalls.count == 1 && carol.liveCalls.count == 1 && carol.transfers.isEmpty)
        alice.follow([.hangUp])
        office.play()
        office.close()
    }
}
