// SPDX-License-Identifier: Apache-2.0

import Essentials
import HandsetTestKit
import PhoneCore
import SIP
import SIPAgent
import Testing

/// An extension with two phones: both ring, one answers, the other is told so and takes the call over (RFC 3326, RFC 3891).
@Suite struct OneLineOnTwoPhonesIsTakenOver {
    @Test func `both phones ring, one answers, and the other takes the call over`() throws {
        let office = Office()
        let (alice, desk, kitchen) = (office.phone("alice", "1001"), office.phone("desk", "1002"), office.phone("kitchen", "1002"))
        try office.open()
        desk.follow([.answer(after: .seconds(1))])
        alice.follow([.call("1002")])
        office.play()
        #expect(kitchen.endings == ["call.answered-elsewhere"])
        let dialog = try required(desk.core.agent.dialog(of: SessionID(rawValue: 1)))
        var options = CallOptions()
        // As Alice names it: her tag first.
        options.replaces = dialog.replaces
        try kitchen.perform { core, now throws(PhoneError) in
            _ = try core.call(from: kitchen.accountID, to: "1001", options: options, now: now)
        }
        office.world.run(for: .seconds(2))
        #expect(kitchen.liveCalls.count == 1 && desk.endings == ["call.remote-hung-up"])
        #expect(alice.endings == ["call.replaced"] && alice.liveCalls.count == 1)
        alice.follow([.hangUp])
        office.play()
        office.close()
    }
}
