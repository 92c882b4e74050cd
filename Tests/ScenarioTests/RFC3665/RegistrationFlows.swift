// SPDX-License-Identifier: Apache-2.0
//
// RFC 3665 §2: registration.

import Essentials
import HandsetTestKit
import PhoneCore
import SIP
import SIPAgent
import Testing

@Suite struct RegistrationFlows {
    private func states(_ phone: SimulatedPhone) -> [String] {
        phone.events.compactMap { if case .registration(_, let state) = $0.event { state.name } else { nil } }
    }

    @Test("RFC 3665 §2.1: a new registration is challenged, then granted")
    func newRegistration() {
        let scene = SessionWorld()
        scene.bob.follow([.register])
        scene.world.run(for: .seconds(2))
        #expect(scene.missing(["bob REGISTER server", "server 401 bob", "bob REGISTER server", "server 200 bob"]) == nil)
        #expect(states(scene.bob).last == "registered")
    }

    @Test("RFC 3665 §2.2: the contact list is updated before it expires")
    func updateOfContacts() throws {
        let scene = SessionWorld(account: { $0.expires = 60 })
        scene.registered()
        scene.world.run(for: .seconds(59))
        #expect(scene.missing(["bob REGISTER server", "server 200 bob"]) == nil)
        #expect(states(scene.bob).last == "registered")
        // Still reached a minute after the first grant has run out.
        scene.world.run(for: .seconds(60))
        scene.bob.follow([.answer(after: .seconds(1)), .untilEnded])
        scene.alice.follow([.call("bob"), .hangUp])
        scene.world.run(for: .seconds(10))
        #expect(scene.alice.ends.map(\.cause.code) == ["call.hung-up"])
    }

    @Test("RFC 3665 §2.3: who asks for the contacts is told them, and changes none")
    func currentContacts() throws {
        let office = Office(open: true)
        let peer = office.world.addPeer("bob")
        office.register(peer, as: "1002", contact: "<sip:bob@\(peer.address)>")
        for number in 2...3 {
            let request = peer.request(
                .register, "sip:example.test", from: "<sip:1002@example.test>;tag=r", to: "<sip:1002@example.test>", callID: "ask",
                cseq: UInt32(number))
            peer.send(request, to: office.server.address)
            office.world.run(for: .milliseconds(200))
            let answer = try required(peer.received.last?.message)
            #expect(answer.statusCode == 200 && answer.contacts.map { "\($0.uri)" } == ["sip:bob@\(peer.address)"])
        }
        office.close()
    }

    @Test("RFC 3665 §2.4: a registration is cancelled, and calls are told that nobody is there")
    func cancellation() {
        let scene = SessionWorld()
        scene.registered()
        scene.bob.follow([.unregister])
        scene.world.run(for: .seconds(2))
        #expect(scene.missing(["bob REGISTER server", "server 200 bob"]) == nil)
        #expect(states(scene.bob).last == "unregistered")
        scene.alice.follow([.dial("bob"), .untilEnded])
        scene.world.run(for: .seconds(10))
        #expect(scene.alice.ends.map(\.cause.code) == ["call.unavailable"])
    }

    @Test("RFC 3665 §2.5: a wrong password is refused and not tried again")
    func unsuccessfulRegistration() {
        let scene = SessionWorld()
        let mallory = scene.world.addPhone("mallory", user: "bob", password: "wrong", server: scene.server)
        mallory.follow([.register])
        scene.world.run(for: .seconds(600))
        #expect(scene.missing(["mallory REGISTER server", "server 401 mallory", "mallory REGISTER server", "server 403 mallory"]) == nil)
        #expect(scene.ladder.filter { $0 == "mallory REGISTER server" }.count <= 3)
        #expect(states(mallory).last == "refused")
    }
}
