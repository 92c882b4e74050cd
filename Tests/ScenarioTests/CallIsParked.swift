// SPDX-License-Identifier: Apache-2.0

import Essentials
import HandsetTestKit
import PhoneCore
import SIP
import SIPAgent
import Testing

/// RFC 5359 §2.15: call park. Bob leaves Alice with a server, and Carol takes the call up there. (In the RFC Bob refers the server to
/// Alice; here he refers Alice to the server, which then needs no REFER.)
@Suite struct CallIsParked {
    @Test func `Bob parks his call with Alice, and Carol takes it up`() throws {
        let office = Office()
        let (alice, bob, carol) = (office.phone("alice", "1001"), office.phone("bob", "1002"), office.phone("carol", "1003"))
        let park = office.phone("park", "1004")
        try office.open()
        park.follow([.answer(after: .zero)])
        bob.follow([.answer(after: .seconds(1)), .wait(.seconds(1)), .transfer("1004"), .untilEnded])
        alice.follow([.call("1002"), .untilTransferred])
        office.play()
        #expect(bob.endings == ["call.transferred"] && park.liveCalls.count == 1)
        // The server tells by its dialog event package which call that is; Carol names it to Alice.
        var options = CallOptions()
        options.replaces = try required(park.core.agent.dialog(of: SessionID(rawValue: 1))).replaces
        try carol.perform { core, now throws(PhoneError) in
            _ = try core.call(from: carol.accountID, to: "1001", options: options, now: now)
        }
        office.world.run(for: .seconds(2))
        #expect(carol.liveCalls.count == 1 && alice.liveCalls.count == 1)
        #expect(park.endings == ["call.remote-hung-up"] && alice.endings.last == "call.replaced")
        carol.shutDown()
        office.world.run(for: .seconds(2))
        office.close()
    }
}
