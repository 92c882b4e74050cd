// SPDX-License-Identifier: Apache-2.0

import Essentials
import HandsetTestKit
import PhoneCore
import Testing

/// RFC 5359 §2.2: consultation hold.
@Suite struct ConsultationHoldKeepsBothCalls {
    @Test func `a call waits on hold while somebody else is asked, and goes on afterwards`() throws {
        let office = Office()
        let (alice, bob, carol) = (office.phone("alice", "1001"), office.phone("bob", "1002"), office.phone("carol", "1003"))
        try office.open()
        bob.follow([.answer(after: .seconds(1)), .untilEnded])
        carol.follow([.answer(after: .seconds(1)), .untilEnded])
        alice.follow([.call("1002"), .wait(.seconds(1)), .consult("1003"), .wait(.seconds(2)), .hangUp])
        office.world.run(within: .seconds(60)) { alice.user.isDone }
        let first = try required(alice.user.heldCall)
        #expect(alice.core.state(of: first) == .confirmed)
        try alice.perform { core, now throws(PhoneError) in try core.resume(first, now: now) }
        office.world.run(for: .seconds(1))
        #expect(bob.has { if case .hold(_, by: .remote, isHeld: false) = $0 { true } else { false } })
        try alice.perform { core, now throws(PhoneError) in try core.hangUp(first, now: now) }
        office.play()
        #expect(alice.endings == ["call.hung-up", "call.hung-up"])
        office.close()
    }
}
