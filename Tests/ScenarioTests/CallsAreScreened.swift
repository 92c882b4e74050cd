// SPDX-License-Identifier: Apache-2.0

import Essentials
import HandsetTestKit
import PhoneCore
import SIP
import Testing

/// RFC 5359 §2.13 and §2.14: call management. Who may call, and who may be called, is decided by servers; the phone says so plainly.
@Suite struct CallsAreScreened {
    @Test func `a service lets Alice through to Bob and declines Mallory`() throws {
        let office = Office(open: true)
        let (alice, bob, mallory) = (office.phone("alice", "1001"), office.phone("bob", "1003"), office.phone("mallory", "1004"))
        let service = office.world.addPeer("service")
        service.react = { [unowned service] message, from in
            guard message.isRequest, message.method == .invite else { return }
            if message.from.uri.sip?.user == "1001" {
                service.answer(message, 302, to: from) { $0.add(.contact, "<sip:1003@example.test>") }
            } else {
                service.answer(message, 603, to: from)
            }
        }
        try office.open()
        office.register(service, as: "1002", contact: "<sip:1002@\(service.address)>")
        bob.follow([.answer(after: .seconds(1)), .untilEnded])
        alice.follow([.call("1002"), .wait(.seconds(1)), .hangUp])
        office.play()
        mallory.follow([.dial("1002")])
        office.play()
        office.world.run(for: .seconds(2))
        #expect(alice.ends.map(\.wasEstablished) == [true] && bob.ends.map(\.wasEstablished) == [true])
        #expect(mallory.endings == ["call.declined"])
        office.close()
    }

    @Test func `the server does not let Alice call another domain`() throws {
        let office = Office { $0.relaysToOtherDomains = false }
        let alice = office.phone("alice", "1001")
        try office.open()
        alice.follow([.dial("sip:someone@elsewhere.test")])
        office.play()
        office.world.run(for: .seconds(2))
        #expect(alice.ends.map { [$0.cause.code, "\($0.cause.status ?? 0)"] } == [["call.forbidden", "403"]])
        office.close()
    }
}
