// SPDX-License-Identifier: Apache-2.0

import Essentials
import HandsetTestKit
import PhoneCore
import Testing

/// RFC 5359 §2.1: call hold.
@Suite struct HoldIsSeenByBothSides {
    @Test func `a call is put on hold and taken off again, and both sides know`() throws {
        let office = Office()
        let (alice, bob) = (office.phone("alice", "1001"), office.phone("bob", "1002"))
        try office.open()
        bob.follow([.answer(after: .seconds(1)), .untilEnded])
        alice.follow([.call("1002"), .wait(.seconds(1)), .hold, .wait(.seconds(1)), .resume, .wait(.seconds(1)), .hangUp])
        office.play()
        func holds(_ phone: SimulatedPhone) -> [String] {
            phone.events.compactMap { if case .hold(_, let side, let isHeld) = $0.event { "\(side) \(isHeld)" } else { nil } }
        }
        #expect(holds(alice) == ["local true", "local false"])
        #expect(holds(bob) == ["remote true", "remote false"])
        office.close()
    }
}
