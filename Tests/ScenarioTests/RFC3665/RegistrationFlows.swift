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
