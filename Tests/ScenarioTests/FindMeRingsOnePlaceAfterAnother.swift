// SPDX-License-Identifier: Apache-2.0

import Essentials
import HandsetTestKit
import PhoneCore
import Testing

/// RFC 5359 §2.12: find me. Bob's calls ring at his phone, then at a second, then at a third.
@Suite struct FindMeRingsOnePlaceAfterAnother {
    @Test func `the third place answers, the others stopped ringing before`() throws {
        let office = Office(open: true) { $0.ringTime = .seconds(5) }
        let (alice, bob) = (office.phone("alice", "1001"), office.phone("bob", "1002"))
        let (second, third) = (office.phone("second", "1003"), office.phone("third", "1004"))
        let service = office.world.addPeer("service")
        try office.open()
        office.register(service, as: "1002", contact: "<sip:1003@\(second.host.address):5060>;q=0.7")
        office.register(service, as: "1002", contact: "<sip:1004@\(third.host.address):5060>;q=0.25")
        third.follow([.answer(after: .seconds(1)), .untilEnded])
        alice.follow([.call("1002"), .wait(.seconds(1)), .hangUp])
        office.play()
        func rang(_ phone: SimulatedPhone) -> MonotonicTime? {
            phone.events.first { if case .incomingCall = $0.event { true } else { false } }?.time
        }
        let times = try [bob, second, third].map { try required(rang($0)) }
        #expect(times[1] - times[0] > .seconds(4) && times[2] - times[1] > .seconds(4))
        #expect([bob, second].allSatisfy { $0.endings == ["call.cancelled"] } && third.ends.map(\.wasEstablished) == [true])
        office.close()
    }
}
