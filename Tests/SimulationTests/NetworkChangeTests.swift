// SPDX-License-Identifier: Apache-2.0
//
// Phones whose network changes under them: in a call, while it rings, during a re-INVITE, during REGISTER; servers that
// restart. In virtual time; docs/network-change.md has the figures of real ones.

import Crypto
import Essentials
import HandsetTestKit
import Media
import PhoneCore
import SIP
import SIPAgent
import Testing

/// How a phone hears of a change.
enum Notice: CaseIterable, Sendable {
    /// The application tells it.
    case api
    /// The system tells.
    case system
    /// Nobody: sends fail, or nothing is heard any more.
    case none
}

@Suite struct NetworkChangeTests {
    /// Two phones at a server; bob answers and gives back what he hears.
    private struct Scene {
        let world: SimulatedWorld
        let server: SimulatedServer
        let alice: SimulatedPhone
        let bob: SimulatedPhone
        private let log = MessageLog()

        /// What alice sent.
        private final class MessageLog {
            var messages: [(message: SIPMessage, time: MonotonicTime)] = []
        }

        init(
            seed: UInt64 = 1, transport: TransportProtocol = .udp, configure: (inout PhoneConfiguration) -> Void = { _ in },
            configureAccount: (inout AccountConfiguration) -> Void = { _ in }
        ) {
            world = SimulatedWorld(seed: seed, trace: .signalling)
            server = world.addServer("server", domain: "example.test", users: ["1001": "first", "1002": "second"]) {
                $0.routeKey = Secret("a key that outlives the server's runs")
            }
            alice = world.addPhone(
                "alice", user: "1001", password: "first", server: server, transport: transport, configure: configure,
                configureAccount: configureAccount)
            bob = world.addPhone("bob", user: "1002", password: "second", server: server, transport: transport)
            let log = log
            alice.onSend = { log.messages.append(($0, $1)) }
        }

        /// The requests of a method that alice sent, each once.
        func sent(_ method: Method, since: MonotonicTime) -> [SIPMessage] {
            var numbers: [UInt32] = []
            return log.messages.filter { $0.time >= since && $0.message.isRequest && $0.message.method == method }.map(\.message).filter {
                guard !numbers.contains($0.cseq.number) else { return false }
                numbers.append($0.cseq.number)
                return true
            }
        }

        /// Both are registered and talk.
        func talk() {
            bob.user.patience = .seconds(600)
            bob.follow([.register, .answer(after: .milliseconds(200)), .untilEnded])
            alice.follow([.register, .wait(.seconds(1)), .call("1002"), .wait(.seconds(1))])
            #expect(world.run(within: .seconds(20)) { alice.user.isDone }, "\(alice.user.failure ?? "")")
            world.run(for: .seconds(2))
        }

        /// Alice gets another address; told as `notice` says.
        func moveAlice(_ notice: Notice, to address: IPAddress? = nil) {
            alice.watchesNetwork = notice == .system
            alice.host.move(to: address)
            if notice == .api { alice.networkChanged() }
        }

        /// When something of SIP, or RTP, next goes from or comes to a phone, counted from now; nil: not within `limit`.
        func next(_ limit: Interval = .seconds(5), _ isIt: @escaping (SimulatedHost) -> Bool) -> Interval? {
            let start = world.now
            return world.run(within: limit) { isIt(alice.host) } ? world.now - start : nil
        }

        func packets(_ phone: SimulatedPhone) -> UInt64 { phone.engine.statistics(of: port(phone))?.packetsReceived ?? 0 }

        func port(_ phone: SimulatedPhone) -> PortID {
            guard let call = phone.user.call, let port = try? phone.core.port(of: call) else { return PortID(rawValue: 0) }
            return port
        }

        func networkEvents(_ phone: SimulatedPhone) -> [NetworkChange.Kind] {
            phone.events.compactMap { if case .network(let change) = $0.event { change.kind } else { nil } }
        }

        /// The contacts that the server has for alice.
        func contacts() -> [IPAddress] {
            server.machine.bindings(of: "1001", now: world.now).compactMap {
                if case .address(let ip)? = $0.contact.uri.sip?.host { ip } else { nil }
            }
        }

        /// Lets time pass and sees whether both hear each other all that time.
        func expectAudio(_ what: String, sourceLocation: SourceLocation = #_sourceLocation) {
            let before = (packets(alice), packets(bob))
            world.run(for: .seconds(2))
            let heard = (packets(alice) &- before.0, packets(bob) &- before.1)
            #expect(heard.0 >= 95 && heard.1 >= 95, "\(what): \(heard) of 100 packets", sourceLocation: sourceLocation)
        }

        /// Both hang up, unregister, and nothing is left.
        func end(_ bobs: [PhoneStep] = [.shutDown], sourceLocation: SourceLocation = #_sourceLocation) {
            alice.follow([.hangUp, .shutDown])
            bob.follow(bobs)
            world.run(within: .seconds(60)) { alice.user.isDone && bob.user.isDone }
            #expect(alice.user.failure == nil, "\(alice.user.failure ?? "") \(world.trace.text())", sourceLocation: sourceLocation)
            #expect(bob.user.failure == nil, "\(bob.user.failure ?? "")", sourceLocation: sourceLocation)
            #expect(world.settle() == [], sourceLocation: sourceLocation)
            #expect(alice.ends.map(\.cause.code) == ["call.hung-up"], sourceLocation: sourceLocation)
            #expect(bob.ends.map(\.cause.code) == ["call.remote-hung-up"], sourceLocation: sourceLocation)
            #expect(alice.violations == [] && bob.violations == [], sourceLocation: sourceLocation)
        }
    }

    private static let transports: [TransportProtocol] = [.udp, .tcp]

    @Test(arguments: Notice.allCases) func `a change between our 200 and its ACK does not lose the call`(notice: Notice) {
        let scene = Scene()
        let (alice, bob) = (scene.alice, scene.bob)
        alice.follow([.register, .answer(after: .milliseconds(200))])
        bob.follow([.register, .wait(.seconds(1)), .dial("1001")])
        let isAnswering = scene.world.run(within: .seconds(20)) { alice.user.call.map { alice.core.state(of: $0) == .connecting } ?? false }
        scene.moveAlice(notice)
        scene.world.run(for: .seconds(40))
        #expect(isAnswering && alice.user.call.map { alice.core.state(of: $0) } == .confirmed)
        #expect(alice.ends.isEmpty && bob.ends.isEmpty && alice.core.agent.counters[.ackGivenUp] == 1)
    }

    @Test func `an address of media that the user chose stays through a change, only the Contact is another one`() throws {
        let scene = Scene(configure: { $0.keepsMediaAddress = true })
        scene.talk()
        let (old, start) = (scene.alice.host.address, scene.world.now)
        scene.moveAlice(.api)
        scene.world.run(for: .seconds(2))
        let offer = try #require(scene.sent(.invite, since: start).last)
        #expect(String(decoding: offer.body, as: UTF8.self).contains("c=IN IP4 \(old)\r\n"))
        #expect(offer.contacts.first?.uri.sip?.host == .address(scene.alice.host.address) && scene.alice.host.address != old)
    }

    @Test(
        "B-021/transport: from one network to another in a call: a new flow, REGISTER and re-INVITE with the new Contact and c=, and audio",
        arguments: transports, Notice.allCases)
    func moveInACall(transport: TransportProtocol, notice: Notice) {
        let scene = Scene(transport: transport)
        scene.talk()
        let old = scene.alice.host.address
        #expect(scene.contacts() == [old])
        let sent = scene.alice.engine.statistics(of: scene.port(scene.alice))?.packetsSent ?? 0
        let heardBefore = scene.packets(scene.alice)
        let moved = scene.world.now
        scene.moveAlice(notice)
        let fresh = scene.alice.host.address
        let registered = scene.next { _ in scene.contacts() == [fresh] }
        #expect(registered.map { $0 <= .milliseconds(notice == .none ? 500 : 150) } ?? false, "registered after \(registered as Any)")
        let limit = moved + .milliseconds(notice == .none ? 600 : 300)
        scene.world.run(until: limit)
        #expect(scene.packets(scene.alice) > heardBefore, "audio is not back")
        scene.expectAudio("after the move")
        // The same stream goes on: its numbers were not begun anew.
        #expect(scene.alice.engine.statistics(of: scene.port(scene.alice))?.packetsSent ?? 0 > sent + 100)
        #expect(scene.networkEvents(scene.alice) == [.moved])
        let invite = scene.sent(.invite, since: moved).last
        #expect(invite?.contacts.first?.uri.sip?.host == .address(fresh))
        #expect(invite.map { String(decoding: $0.body, as: UTF8.self).contains("c=IN IP4 \(fresh)") } ?? false)
        scene.end()
    }

    @Test func withoutAnAddressForTwentySecondsTheCallIsKeptAndGoesOn() {
        for notice in [Notice.system, .none] {
            let scene = Scene()
            scene.talk()
            scene.alice.watchesNetwork = notice == .system
            scene.alice.host.loseAddress()
            scene.world.run(for: .seconds(20))
            #expect(scene.networkEvents(scene.alice) == [.gone])
            #expect(scene.alice.lastRegistration == "failed registration.no-network")
            #expect(scene.alice.ends.isEmpty)
            scene.alice.host.move()
            let back = scene.next { _ in scene.contacts().contains(scene.alice.host.address) }
            #expect(back.map { $0 <= .milliseconds(500) } ?? false, "registered after \(back as Any)")
            scene.world.run(for: .milliseconds(200))
            scene.expectAudio("after 20 s without a network, \(notice)")
            #expect(scene.networkEvents(scene.alice) == [.gone, .returned])
            #expect(scene.alice.isRegistered)
            scene.end()
        }
    }

    @Test(arguments: transports) func aCallThatIsBeingPlacedWhenTheNetworkGoesIsPlacedAnewWhenOneIsBack(transport: TransportProtocol) {
        let scene = Scene(transport: transport)
        scene.bob.follow([.register])
        scene.alice.follow([.register, .wait(.seconds(1)), .call("1002")])
        scene.world.run(within: .seconds(5)) { scene.bob.user.call != nil }
        scene.alice.host.loseAddress()
        scene.world.run(for: .seconds(4))
        scene.alice.host.move()
        scene.world.run(for: .seconds(1))
        let calls = scene.bob.events.compactMap { if case .incomingCall(let id, _) = $0.event { id } else { nil } }
        #expect(calls.count == 2)
        guard let last = calls.last else { return }
        #expect(throws: Never.self) { try scene.bob.perform { core, now throws(PhoneError) in try core.answer(last, now: now) } }
        #expect(scene.world.run(within: .seconds(5)) { scene.alice.user.isDone }, "\(scene.alice.user.failure ?? "")")
        scene.world.run(for: .milliseconds(500))
        scene.expectAudio("answered after 4 s without a network")
    }

    @Test func aNetworkThatDoesNotComeBackEndsTheCallWithItsOwnCause() {
        let scene = Scene()
        scene.talk()
        scene.alice.host.loseAddress()
        scene.world.run(for: .seconds(62))
        #expect(scene.alice.ends.map(\.cause.code) == ["call.network-lost"])
        #expect(scene.bob.ends.map(\.cause.code) == ["media.peer.vanished"])
    }

    @Test func severalChangesInARowAreOne() {
        let scene = Scene()
        scene.talk()
        let start = scene.world.now
        scene.alice.host.loseAddress()
        scene.world.run(for: .milliseconds(10))
        scene.alice.host.move()
        scene.world.run(for: .milliseconds(10))
        scene.alice.host.move()
        scene.world.run(for: .seconds(2))
        #expect(scene.networkEvents(scene.alice) == [.moved])
        #expect(scene.sent(.invite, since: start).count == 1)
        #expect(scene.contacts() == [scene.alice.host.address])
        scene.expectAudio("after three changes within 20 ms")
        scene.end()
    }

    @Test(arguments: transports) func aCallThatRingsHereIsAnsweredFromTheNewAddress(transport: TransportProtocol) {
        let scene = Scene(transport: transport)
        scene.alice.follow([.register, .answer(after: .seconds(3))])
        scene.bob.follow([.register, .wait(.seconds(1)), .call("1001")])
        scene.world.run(for: .milliseconds(2500))
        #expect(scene.alice.user.call != nil)
        scene.moveAlice(.system)
        scene.world.run(within: .seconds(10)) { scene.bob.user.isDone && scene.alice.user.isDone }
        #expect(scene.bob.user.isDone && scene.alice.user.isDone, "\(scene.bob.user.failure ?? "")")
        scene.world.run(for: .milliseconds(500))
        scene.expectAudio("answered after the move")
        scene.end([.untilEnded, .shutDown])
    }

    @Test(arguments: transports, [Interval.milliseconds(2), .milliseconds(1500)])
    func aCallThatNobodyAnsweredYetIsPlacedAnewAndAnsweredOnce(transport: TransportProtocol, after: Interval) {
        let scene = Scene(transport: transport)
        scene.bob.follow([.register])
        scene.alice.follow([.register, .wait(.seconds(1)), .call("1002")])
        scene.world.run(within: .seconds(5)) { scene.alice.user.call != nil }
        scene.world.run(for: after)
        scene.moveAlice(.system)
        scene.world.run(for: .seconds(1))
        let calls = scene.bob.events.compactMap { if case .incomingCall(let id, _) = $0.event { id } else { nil } }
        guard let last = calls.last else { return #expect(Bool(false), "nobody called") }
        #expect(throws: Never.self) { try scene.bob.perform { core, now throws(PhoneError) in try core.answer(last, now: now) } }
        scene.world.run(within: .seconds(20)) { scene.alice.user.isDone }
        #expect(scene.alice.user.isDone, "\(scene.alice.user.failure ?? "") \(scene.world.trace.text())")
        scene.world.run(for: .milliseconds(500))
        scene.expectAudio("answered after the move")
        #expect(scene.alice.ends.isEmpty)
        // Bob's first call was taken back, the second is the one that stands.
        #expect(scene.bob.ends.map(\.cause.code) == [String](repeating: "call.cancelled", count: calls.count - 1))
        #expect(scene.bob.core.callCount == 1)
    }

    @Test(arguments: transports, [0, 3, 8, 12, 17, 22, 30])
    func aChangeDuringAReinviteLosesNothing(transport: TransportProtocol, milliseconds: Int64) {
        let scene = Scene(transport: transport)
        scene.talk()
        guard let call = scene.alice.user.call else { return }
        #expect(throws: Never.self) { try scene.alice.perform { core, now throws(PhoneError) in try core.hold(call, now: now) } }
        scene.world.run(for: .milliseconds(milliseconds))
        scene.moveAlice(.system)
        scene.world.run(for: .seconds(12))
        #expect(scene.alice.ends.isEmpty && scene.bob.ends.isEmpty)
        #expect(scene.alice.holds == [true], "\(scene.world.trace.text())")
        #expect(throws: Never.self) { try scene.alice.perform { core, now throws(PhoneError) in try core.resume(call, now: now) } }
        scene.world.run(for: .seconds(2))
        #expect(scene.alice.holds == [true, false])
        scene.expectAudio("resumed after the move")
        scene.world.run(for: .seconds(40))
        #expect(scene.alice.ends.isEmpty && scene.bob.ends.isEmpty)
        scene.end()
    }

    @Test func aHeldCallStaysHeldAndIsResumedFromTheNewAddress() {
        let scene = Scene()
        scene.talk()
        guard let call = scene.alice.user.call else { return }
        #expect(throws: Never.self) { try scene.alice.perform { core, now throws(PhoneError) in try core.hold(call, now: now) } }
        scene.world.run(for: .seconds(1))
        scene.moveAlice(.system)
        scene.world.run(for: .seconds(2))
        #expect(scene.alice.holds == [true])
        #expect(throws: Never.self) { try scene.alice.perform { core, now throws(PhoneError) in try core.resume(call, now: now) } }
        scene.world.run(for: .seconds(1))
        #expect(scene.alice.holds == [true, false])
        scene.expectAudio("resumed")
        scene.end()
    }

    @Test(arguments: transports, [0, 2, 4, 7, 11, 14, 20])
    func aChangeDuringREGISTEREndsWithOneBinding(transport: TransportProtocol, milliseconds: Int64) {
        let scene = Scene(transport: transport)
        scene.alice.follow([.register])
        scene.world.run(for: .milliseconds(milliseconds))
        scene.moveAlice(.system)
        scene.world.run(for: .seconds(2))
        #expect(scene.alice.isRegistered)
        #expect(scene.contacts() == [scene.alice.host.address], "\(scene.world.trace.text())")
        scene.alice.follow([.shutDown])
        #expect(scene.world.run(within: .seconds(10)) { scene.alice.user.isDone })
        #expect(scene.world.settle() == [])
    }

    @Test func aPhoneThatIsToldOfAnotherNetworkWithTheSameAddressTellsEverythingAnew() {
        let scene = Scene()
        scene.talk()
        let start = scene.world.now
        scene.alice.networkChanged()
        scene.world.run(for: .seconds(1))
        #expect(scene.sent(.register, since: start).count >= 1)
        #expect(scene.sent(.invite, since: start).count == 1)
        scene.expectAudio("after the word of the application")
        scene.end()
    }

    @Test func thirtyChangesInOneCallLeaveItAsItWas() {
        for seed in 1...4 as ClosedRange<UInt64> {
            let scene = Scene(seed: seed, transport: seed % 2 == 0 ? .tcp : .udp)
            scene.talk()
            var generator = scene.world.generator(for: "moves")
            for _ in 0..<30 {
                if generator.next() % 3 == 0 {
                    scene.alice.host.loseAddress()
                    scene.world.run(for: .milliseconds(Int64(generator.next() % 4_000)))
                }
                scene.alice.host.move()
                scene.world.run(for: .milliseconds(Int64(generator.next() % 2_500)))
            }
            scene.world.run(for: .seconds(15))
            scene.expectAudio("after thirty changes, seed \(seed)")
            #expect(scene.contacts() == [scene.alice.host.address])
            scene.end()
        }
    }

    @Test(arguments: transports) func aServerThatRestartsInACallKnowsThePhonesAgainAndTheCallGoesOn(transport: TransportProtocol) {
        let scene = Scene(
            transport: transport, configure: { $0.agent.sessionInterval = 90 }, configureAccount: { $0.expires = 60 })
        scene.talk()
        scene.server.restart()
        #expect(scene.contacts() == [])
        scene.expectAudio("right after the restart")
        #expect(scene.world.run(within: .seconds(62)) { !scene.contacts().isEmpty })
        scene.world.run(for: .seconds(120))
        #expect(scene.alice.ends.isEmpty && scene.bob.ends.isEmpty, "\(scene.alice.ends) \(scene.bob.ends)")
        scene.expectAudio("after two session intervals")
        scene.end()
    }
}

extension SimulatedPhone {
    /// The last news of the registration in words.
    var lastRegistration: String? {
        for entry in events.reversed() {
            guard case .registration(_, let state) = entry.event else { continue }
            if case .failed(let cause, _) = state { return "failed \(cause.code)" }
            return state.name
        }
        return nil
    }

    /// The holds and resumptions of our side.
    var holds: [Bool] {
        events.compactMap { if case .hold(_, by: .local, let isHeld) = $0.event { isHeld } else { nil } }
    }
}
