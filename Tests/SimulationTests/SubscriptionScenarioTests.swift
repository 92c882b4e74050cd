// SPDX-License-Identifier: Apache-2.0
//
// Subscriptions, publications and messages of whole phones over an hour and through what servers do to them.

import Essentials
import EventPackages
import HandsetTestKit
import PhoneCore
import SIP
import SIPAgent
import Testing

@Suite struct SubscriptionScenarioTests {
    /// A phone whose server is a scripted one.
    final class Stage {
        let world: SimulatedWorld
        let notifier: ScriptedNotifier
        let phone: SimulatedPhone

        init(seed: UInt64 = 1, loss: Double = 0, messageWaiting: MessageWaiting = .unsolicited) {
            world = SimulatedWorld(seed: seed)
            let server = world.addServer("unused", domain: "example.test", users: [:])
            let notifier = world.addNotifier("notifier")
            self.notifier = notifier
            func configure(_ account: inout AccountConfiguration) {
                account.proxy = SIPURI(host: .address(notifier.peer.address.ip), port: notifier.peer.address.port)
                account.messageWaiting = messageWaiting
                account.registers = messageWaiting == .subscribe
            }
            phone = world.addPhone("phone", user: "1001", password: "x", server: server, configureAccount: configure)
            phone.host.link = LinkConditions(delay: .milliseconds(20), loss: loss)
        }

        func begin() throws {
            try phone.register()
            world.run(for: .seconds(1))
        }

        @discardableResult
        func subscribe(_ package: EventPackage) throws -> SubscriptionID {
            var id: SubscriptionID?
            try phone.perform { core, now throws(PhoneError) in
                id = try core.subscribe(from: phone.accountID, to: "1002", package, now: now)
            }
            return try #require(id)
        }

        var statuses: [String] {
            phone.events.compactMap { if case .subscription(_, .status(let status)) = $0.event { status.name } else { nil } }
        }
        var summaries: [MessageSummary] {
            phone.events.compactMap { if case .subscription(_, .messageSummary(let summary)) = $0.event { summary } else { nil } }
        }
        var lamps: [DialogTable] {
            phone.events.compactMap { if case .subscription(_, .dialogs(let table)) = $0.event { table } else { nil } }
        }

        func tell(new: Int) {
            notifier.body = MessageSummary(areWaiting: new > 0, counts: [.init(kind: "voice-message", new: new, old: 0)]).serialized()
            notifier.type = MessageSummary.mediaType
        }
    }

    @Test("an hour of a subscription over a lossy link: every change arrives, refreshes come in time, and nothing is left")
    func hour() throws {
        let stage = Stage(loss: 0.1)
        stage.notifier.longest = 600
        stage.tell(new: 0)
        try stage.begin()
        let id = try stage.subscribe(.mwi)
        for minutes in 1...12 {
            stage.world.run(for: .seconds(300))
            stage.tell(new: minutes)
            stage.notifier.notify()
        }
        stage.world.run(for: .seconds(40))
        let seen = Set(stage.summaries.compactMap { $0.voice?.new })
        #expect(seen.isSuperset(of: 1...12), "\(seen)")
        #expect(stage.statuses == ["subscribing", "active"], "never broke off")
        #expect((7...9).contains(stage.notifier.subscribes.count), "\(stage.notifier.subscribes.count)")
        try stage.phone.perform { core, now throws(PhoneError) in core.unsubscribe(id, now: now) }
        stage.world.run(for: .seconds(60))
        #expect(stage.statuses.last == "ended" && stage.notifier.subscribers.isEmpty)
        #expect(stage.phone.leftovers == [], "\(stage.phone.leftovers)")
    }

    @Test("the server restarts: what it forgot is there again after the next refresh")
    func restart() throws {
        let stage = Stage()
        stage.notifier.longest = 300
        stage.tell(new: 1)
        try stage.begin()
        try stage.subscribe(.mwi)
        try stage.phone.perform { core, now throws(PhoneError) in
            guard let account = stage.phone.accountID else { return }
            try core.publish(account, isOpen: true, note: "here", now: now)
        }
        stage.world.run(for: .seconds(30))
        #expect(stage.notifier.subscribers.count == 1 && stage.notifier.published != nil)
        stage.notifier.restart()
        stage.tell(new: 2)
        stage.world.run(for: .seconds(300))
        #expect(stage.notifier.subscribers.count == 1 && stage.statuses == ["subscribing", "active", "subscribing", "active"])
        #expect(stage.summaries.last?.voice?.new == 2)
        let published = try Presence(parsing: try #require(stage.notifier.published).body)
        #expect(published.isOpen == true && published.note == "here")
        #expect(stage.notifier.publishes.count >= 3, "the first, the one that met 412, and the whole state again")
    }

    @Test("notifications that are lost for good are noticed within 32 s of the SUBSCRIBE, and the subscription comes back")
    func mute() throws {
        let stage = Stage()
        stage.notifier.isMute = true
        stage.tell(new: 3)
        try stage.begin()
        try stage.subscribe(.mwi)
        stage.world.run(for: .seconds(60))
        #expect(stage.statuses.contains("retrying") && stage.summaries.isEmpty)
        stage.notifier.isMute = false
        stage.world.run(for: .seconds(120))
        #expect(stage.statuses.last == "active" && stage.summaries.last?.voice?.new == 3)
    }

    @Test(
        "a server that ends subscriptions gets the phone back, or not, as the reason says",
        arguments: [
            (SubscriptionState.Reason.deactivated, true), (.timeout, true), (.probation, true), (.giveup, true), (.rejected, false),
            (.noresource, false), (.invariant, false),
        ])
    func reasons(reason: SubscriptionState.Reason, comesBack: Bool) throws {
        let stage = Stage()
        stage.tell(new: 1)
        try stage.begin()
        try stage.subscribe(.mwi)
        stage.world.run(for: .seconds(90))
        stage.notifier.terminate(reason, retryAfter: reason == .probation ? 40 : nil)
        stage.world.run(for: .seconds(30))
        if reason == .probation { #expect(stage.notifier.subscribers.isEmpty) }
        stage.world.run(for: .seconds(60))
        #expect(stage.notifier.subscribers.count == (comesBack ? 1 : 0))
        #expect(stage.statuses.last == (comesBack ? "active" : "ended"))
    }

    @Test("a busy lamp follows partial documents; where one was lost it asks for the whole state")
    func lamp() throws {
        let stage = Stage()
        func tell(_ version: UInt32, _ state: DialogInformation.State?, isFull: Bool = false) {
            let dialogs = state.map { [DialogInformation.Dialog(id: "7", isInitiator: false, state: $0)] } ?? []
            stage.notifier.body =
                DialogInformation(version: version, isFull: isFull, entity: "sip:1002@example.test", dialogs: dialogs).serialized()
            stage.notifier.type = DialogInformation.mediaType
        }
        tell(0, nil, isFull: true)
        try stage.begin()
        try stage.subscribe(.dialog)
        stage.world.run(for: .seconds(10))
        #expect(stage.lamps.map(\.isBusy) == [false])
        tell(1, .early)
        stage.notifier.notify()
        stage.world.run(for: .seconds(10))
        #expect(stage.lamps.last?.state == .early)
        // Version 2 never came.
        tell(3, .terminated)
        stage.notifier.notify()
        tell(4, .confirmed, isFull: true)
        stage.world.run(for: .seconds(10))
        #expect(stage.notifier.subscribes.count == 2 && stage.lamps.last?.state == .confirmed)
    }

    @Test("an account that watches its mailbox does so while it is registered")
    func mailbox() throws {
        let stage = Stage(messageWaiting: .subscribe)
        stage.tell(new: 4)
        try stage.begin()
        stage.world.run(for: .seconds(5))
        let told = stage.phone.events.compactMap { if case .messageWaiting(_, let summary) = $0.event { summary.voice?.new } else { nil } }
        #expect(told == [4] && stage.notifier.subscribers.count == 1 && stage.statuses.isEmpty)
        stage.phone.shutDown()
        stage.world.run(for: .seconds(5))
        #expect(stage.notifier.subscribers.isEmpty && stage.phone.heldAfterStop.isEmpty, "\(stage.phone.heldAfterStop)")
    }

    @Test("messages pass between two phones through the server, also within a call and over a lossy link")
    func messages() throws {
        let world = SimulatedWorld(seed: 9)
        let server = world.addServer("server", domain: "example.test", users: ["1001": "first", "1002": "second"])
        let alice = world.addPhone("alice", user: "1001", password: "first", server: server)
        let bob = world.addPhone("bob", user: "1002", password: "second", server: server)
        alice.host.link = LinkConditions(delay: .milliseconds(20), loss: 0.1)
        bob.follow([.register, .answer(after: .milliseconds(100))])
        alice.follow([.register])
        world.run(for: .seconds(20))
        try alice.perform { core, now throws(PhoneError) in
            _ = try core.sendMessage(from: alice.accountID, to: "1002", text: "one", now: now)
        }
        alice.follow([.call("1002")])
        world.run(for: .seconds(20))
        let call = try #require(bob.user.call)
        try bob.perform { core, now throws(PhoneError) in _ = try core.sendMessage(on: call, text: "two", now: now) }
        world.run(for: .seconds(20))
        func texts(_ phone: SimulatedPhone) -> [ReceivedText] {
            phone.events.compactMap { if case .message(.received(let text)) = $0.event { text } else { nil } }
        }
        #expect(texts(bob).map(\.text) == ["one"] && texts(bob).first?.account == bob.accountID && texts(bob).first?.call == nil)
        #expect(texts(alice).map(\.text) == ["two"] && texts(alice).first?.call == alice.user.call)
        let fates = [alice, bob].map { phone in
            phone.events.compactMap { if case .message(.answered(_, let delivery)) = $0.event { delivery } else { nil } }
        }
        #expect(fates == [[.delivered], [.delivered]])
    }

    @Test("our own line is seen by who may: idle, ringing, in a call, idle again")
    func ownLine() throws {
        let world = SimulatedWorld(seed: 4)
        let server = world.addServer("server", domain: "example.test", users: ["1001": "first", "1002": "second", "1003": "third"])
        let alice = world.addPhone("alice", user: "1001", password: "first", server: server)
        let bob = world.addPhone(
            "bob", user: "1002", password: "second", server: server, configureAccount: { $0.allowsDialogSubscriptions = true })
        let carol = world.addPhone("carol", user: "1003", password: "third", server: server)
        for phone in [alice, carol] { phone.follow([.register]) }
        bob.follow([.wait(.seconds(1)), .register, .answer(after: .seconds(2)), .untilEnded])
        world.run(for: .seconds(5))
        #expect(bob.isRegistered && carol.isRegistered)
        try carol.perform { core, now throws(PhoneError) in
            _ = try core.subscribe(from: carol.accountID, to: "1002", .dialog, now: now)
        }
        world.run(for: .seconds(2))
        alice.follow([.call("1002"), .wait(.seconds(2)), .hangUp])
        world.run(for: .seconds(20))
        let states = carol.events.compactMap { if case .subscription(_, .dialogs(let table)) = $0.event { table.state } else { nil } }
        #expect(states.first == .terminated && states.last == .terminated)
        #expect(states.contains(.early) && states.contains(.confirmed))
        try #require(alice.accountID != nil)
        try carol.perform { core, now throws(PhoneError) in
            _ = try core.subscribe(from: carol.accountID, to: "1001", .dialog, now: now)
        }
        world.run(for: .seconds(5))
        let causes = carol.events.compactMap { if case .subscription(_, .status(.ended(let cause))) = $0.event { cause.code } else { nil } }
        #expect(causes == ["subscription.refused.forbidden"], "alice does not show her line")
    }
}
