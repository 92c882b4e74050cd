// SPDX-License-Identifier: Apache-2.0

import Essentials
import HandsetTestKit
import PhoneCore
import SIP
import Testing

/// RFC 5359 §2.7–§2.9: call forwarding. The server knows two places for 1002, as a forwarding service registered them.
@Suite struct CallsAreForwarded {
    @Test func `all calls for Bob go to Carol, as the service redirects them`() throws {
        let office = Office(open: true)
        let (alice, carol) = (office.phone("alice", "1001"), office.phone("carol", "1003"))
        let service = office.world.addPeer("service")
        service.react = { [unowned service] message, from in
            if message.isRequest, message.method == .invite {
                service.answer(message, 302, to: from) { $0.add(.contact, "<sip:1003@example.test>") }
            }
        }
        try office.open()
        office.register(service, as: "1002", contact: "<sip:1002@\(service.address)>")
        carol.follow([.answer(after: .seconds(1)), .untilEnded])
        alice.follow([.call("1002"), .wait(.seconds(1)), .hangUp])
        office.play()
        #expect(alice.ends.map(\.wasEstablished) == [true] && carol.ends.map(\.wasEstablished) == [true])
        office.close()
    }

    @Test(
        "calls for Bob go to Carol when he is busy, and when he does not answer",
        arguments: [[PhoneStep.refuse(status: 486, after: .seconds(1))], [.wait(.seconds(30))]])
    func sometimes(bobs script: [PhoneStep]) throws {
        let office = Office(open: true) { $0.ringTime = .seconds(10) }
        let (alice, bob, carol) = (office.phone("alice", "1001"), office.phone("bob", "1002"), office.phone("carol", "1003"))
        let service = office.world.addPeer("service")
        try office.open()
        office.register(service, as: "1002", contact: "<sip:1003@\(carol.host.address):5060>;q=0.5")
        bob.follow(script)
        carol.follow([.answer(after: .seconds(1)), .untilEnded])
        alice.follow([.call("1002"), .wait(.seconds(1)), .hangUp])
        office.play()
        #expect(bob.ends.map(\.wasEstablished) == [false] && carol.ends.map(\.wasEstablished) == [true])
        office.close()
    }
}
