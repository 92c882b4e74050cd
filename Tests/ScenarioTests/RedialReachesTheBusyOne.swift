// SPDX-License-Identifier: Apache-2.0

import Essentials
import HandsetTestKit
import PhoneCore
import Testing

/// RFC 5359 §2.17: automatic redial, by trying again.
@Suite struct RedialReachesTheBusyOne {
    @Test func `Bob is busy; Alice's phone tries again until he answers`() throws {
        let office = Office()
        let (alice, bob) = (office.phone("alice", "1001"), office.phone("bob", "1002"))
        try office.open()
        bob.follow([
            .refuse(status: 486, after: .milliseconds(100)), .refuse(status: 486, after: .milliseconds(100)),
            .answer(after: .seconds(1)), .untilEnded,
        ])
        var tries = 0
        while alice.liveCalls.isEmpty, tries < 5 {
            tries += 1
            try alice.call("1002")
            office.world.run(for: .seconds(5))
        }
        #expect(tries == 3 && alice.endings == ["call.busy", "call.busy"])
        let call = try required(alice.liveCalls.first)
        try alice.perform { core, now throws(PhoneError) in try core.hangUp(call, now: now) }
        office.play()
        office.close()
    }
}
