// SPDX-License-Identifier: Apache-2.0
//
// One seeded run: two phones register, one calls the other, hold, resume, digits, hang up, over bad links.

import Essentials
import HandsetTestKit
import PhoneCore
import SIPAgent

/// What the links of a run are like; follows from its seed.
struct BadLinks {
    var loss: Double
    var duplication: Double
    var reordering: Double
    var delay: Int64
    var jitter: Int64

    /// `worst`: the highest loss. Every fifth run loses as much.
    init(seed: UInt64, worst: Double) {
        var random = SeededGenerator(seed: seed, for: "links")
        let share = random.fraction()
        loss = seed % 5 == 0 ? worst : worst * share
        duplication = 0.2 * random.fraction()
        reordering = 0.2 * random.fraction()
        delay = 5 + Int64(random.next() % 80)
        jitter = Int64(random.next() % 20)
    }

    /// One phone's link, both directions. What goes from phone to phone passes two links: `loss` is that of the whole way.
    var conditions: LinkConditions {
        LinkConditions(
            delay: .milliseconds(delay), jitter: .milliseconds(jitter), loss: 1 - (1 - loss).squareRoot(),
            duplication: duplication / 2, reordering: reordering / 2, reorderingDelay: .milliseconds(40))
    }
}

/// A run and what came of it.
struct CallRun {
    static let digits = "15*"
    /// Seeds from here on lose up to 20 %, those below up to 5 %.
    static let firstHardSeed: UInt64 = 100_000

    let seed: UInt64
    let world: SimulatedWorld
    let alice: SimulatedPhone
    let bob: SimulatedPhone
    private(set) var leftovers: [String] = []

    init(seed: UInt64, trace: WorldTrace.Detail = .none, fault: PlantedFault? = nil) {
        self.seed = seed
        world = SimulatedWorld(seed: seed, trace: trace)
        let server = world.addServer("server", domain: "example.test", users: ["1001": "first", "1002": "second"])
        func configure(_ configuration: inout PhoneConfiguration) {
            configuration.digitMilliseconds = 60
            configuration.agent.stack.plantedFault = fault
        }
        alice = world.addPhone("alice", user: "1001", password: "first", server: server, configure: configure)
        bob = world.addPhone("bob", user: "1002", password: "second", server: server, configure: configure)
        let links = BadLinks(seed: seed, worst: seed < Self.firstHardSeed ? 0.05 : 0.2)
        alice.host.link = links.conditions
        bob.host.link = links.conditions
    }

    /// Runs it to its end, and on until nothing is left or should be.
    mutating func play() {
        bob.follow([.register])
        alice.follow([.register])
        world.run(within: .seconds(120)) { isOver(alice) && isOver(bob) }
        bob.follow([.answer(after: .milliseconds(300)), .untilEnded, .wait(.seconds(1)), .shutDown])
        alice.follow([
            .call("1002"), .wait(.milliseconds(200)), .hold, .wait(.milliseconds(100)), .resume, .wait(.milliseconds(200)),
            .digits(Self.digits), .wait(.milliseconds(300)), .hangUp, .shutDown,
        ])
        world.run(within: .seconds(400)) { isOver(alice) && isOver(bob) }
        for phone in [alice, bob] where !phone.user.isDone { phone.shutDown() }
        leftovers = world.settle(within: .seconds(80))
    }

    private func isOver(_ phone: SimulatedPhone) -> Bool { phone.user.isDone || phone.user.failure != nil }

    /// Whether every step of both users was completed and both sides saw one call established and ended.
    var isComplete: Bool {
        alice.user.isDone && bob.user.isDone && alice.ends.map(\.wasEstablished) == [true]
            && bob.ends.map(\.wasEstablished) == [true]
    }

    /// Whether the call was answered and both sides knew.
    var isEstablished: Bool { alice.ends.first?.wasEstablished == true && bob.ends.first?.wasEstablished == true }

    /// What may not be in any run; empty: nothing.
    var illegal: [String] {
        var found = leftovers.map { "left over: \($0)" }
        for phone in [alice, bob] {
            let name = phone.host.name
            found += phone.heldAfterStop.map { "\(name): \($0)" }
            found += phone.violations.map { "\(name): \($0)" }
            if phone.core.callCount != 0 { found.append("\(name) still has a call") }
            let begun = phone.events.count { entry in
                switch entry.event {
                case .callState(_, .calling, _, _), .incomingCall: true
                default: false
                }
            }
            if begun != phone.ends.count { found.append("\(name): \(begun) calls began and \(phone.ends.count) ended") }
            if phone.host.openPorts != 1 { found.append("\(name): \(phone.host.openPorts) sockets are open") }
        }
        return found
    }

    /// What went wrong, with the one command that repeats the run.
    var story: String {
        """
        seed \(seed): alice \(alice.user.failure ?? "done"), bob \(bob.user.failure ?? "done"), digits "\(bob.digitsReceived)", \
        ends \(alice.ends.map(\.cause.code)) \(bob.ends.map(\.cause.code)), illegal \(illegal)
        repeat with: HANDSET_SEED=\(seed) swift test -c release --filter SimulationTests.SimulationTests
        """
    }
}
