// SPDX-License-Identifier: Apache-2.0

import Essentials
import HandsetTestKit
import PhoneCore
import SIP
import SIPAgent
import Testing

/// RFC 5359 §2.16: call pick-up. Bill takes a call of Alice's that rings at Bob, by an INVITE that replaces it.
@Suite struct CallIsPickedUpElsewhere {
    @Test func `a call that rings at Bob's phone is taken by Bill`() throws {
        let office = Office(open: true)
        let (alice, bill) = (office.phone("alice", "1001"), office.phone("bill", "1003"))
        // Bob's phone rings, and tells Bill by which dialog (RFC 4235).
        let bob = office.world.addPeer("bob")
        var ringing: SIPMessage?
        bob.react = { [unowned bob] message, from in
            guard message.isRequest else { return }
            switch message.method {
            case .invite:
                ringing = message
                bob.answer(message, 180, tag: "bob-tag", to: from) { $0.add(.contact, "<sip:1002@\(bob.address)>") }
            case .cancel:
                bob.answer(message, 200, to: from)
                if let ringing { bob.answer(ringing, 487, tag: "bob-tag", to: from) }
            default: break
            }
        }
        try office.open()
        office.register(bob, as: "1002", contact: "<sip:1002@\(bob.address)>")
        alice.follow([.call("1002")])
        office.world.run(for: .seconds(2))
        let invite = try required(ringing)
        var options = CallOptions()
        options.replaces = Replaces(callID: invite.callID, toTag: try required(invite.from.tag), fromTag: "bob-tag")
        var taken: CallID?
        try bill.perform { core, now throws(PhoneError) in
            taken = try core.call(from: bill.accountID, to: "1001", options: options, now: now)
        }
        office.play()
        office.world.run(for: .seconds(1))
        #expect(bill.liveCalls == [try required(taken)] && alice.liveCalls.count == 1)
        #expect(alice.endings == ["call.replaced"] && alice.transferStates(.target) == [.succeeded])
        #expect(bob.received.contains { $0.message.isRequest && $0.message.method == .cancel })
        alice.follow([.hangUp])
        office.play()
        office.close()
    }

    @Test func `who knows no call of Alice's cannot take one`() throws {
        let office = Office()
        let (alice, bob, mallory) = (office.phone("alice", "1001"), office.phone("bob", "1002"), office.phone("mallory", "1004"))
        try office.open()
        bob.follow([.answer(after: .seconds(1)), .untilEnded])
        alice.follow([.call("1002"), .wait(.seconds(5)), .hangUp])
        office.world.run(for: .seconds(3))
        var options = CallOptions()
        options.replaces = Replaces(callID: "guess", toTag: "one", fromTag: "two")
        try mallory.perform { core, now throws(PhoneError) in
            _ = try core.call(from: mallory.accountID, to: "1001", options: options, now: now)
        }
        office.play()
        #expect(mallory.ends.map(\.cause.status) == [481])
        #expect(alice.endings == ["call.hung-up"] && bob.endings == ["call.remote-hung-up"])
        office.close()
    }
}
