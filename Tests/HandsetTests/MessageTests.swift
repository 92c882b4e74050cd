// SPDX-License-Identifier: Apache-2.0
//
// Messages and subscriptions as an application sees them.

import Essentials
import Handset
import Testing

@Suite struct MessageTests {
    @Test func aMessageIsAwaitedToItsFateAndTheOtherSideReadsIt() throws {
        let stage = try Stage()
        let (alice, bob) = (try stage.phone(), try stage.phone())
        let fate = try stage.perform { try await alice.phone.sendMessage(from: nil, to: bob.uri, text: "one\ntwo") }
        #expect(fate == .delivered)
        let text = try stage.perform { await bob.phone.messages.first { _ in true } }
        #expect(text?.text == "one\ntwo" && text?.call == nil)
        let (caller, called) = try stage.establish(alice, bob)
        #expect(try stage.perform { try await called.sendMessage("within") } == .delivered)
        let inner = try stage.perform { await alice.phone.messages.first { _ in true } }
        #expect(inner?.text == "within" && inner?.call == caller.id)
        try stage.perform { await alice.phone.stop() }
        try stage.perform { await bob.phone.stop() }
    }

    @Test func aMessageThatIsNotAnsweredEndsWithThePhone() throws {
        let stage = try Stage()
        let alice = try stage.phone()
        let fates = Notes<MessageDelivery>()
        stage.begin {
            // Nobody is at the discard port, and a datagram tells nothing of that at once.
            if let fate = try? await alice.phone.sendMessage(from: nil, to: "sip:nobody@127.0.0.1:9", text: "x") { fates.add(fate) }
        }
        stage.run(.milliseconds(50))
        try stage.perform { await alice.phone.stop() }
        #expect(stage.run(until: { !fates.all.isEmpty }))
        guard case .failed = fates.all.first else {
            Issue.record("\(fates.all)")
            return
        }
    }

    @Test func aSubscriptionThatIsRefusedTellsWhyAndItsSequenceEnds() throws {
        let stage = try Stage()
        let (alice, bob) = (try stage.phone(), try stage.phone())
        let subscription = try stage.perform { try await alice.phone.subscribe(from: nil, to: bob.uri, .presence) }
        let events = try stage.perform {
            var events: [SubscriptionEvent] = []
            for await event in subscription.events { events.append(event) }
            return events
        }
        guard case .status(.subscribing)? = events.first, case .status(.ended(let cause))? = events.last else {
            Issue.record("\(events)")
            return
        }
        #expect(cause.code == "subscription.refused.event" && subscription.package == .presence)
        try stage.perform { await alice.phone.stop() }
        try stage.perform { await bob.phone.stop() }
    }
}
