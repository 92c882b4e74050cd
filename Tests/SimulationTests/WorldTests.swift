// SPDX-License-Identifier: Apache-2.0
//
// The world itself, and calls in places that are hard: behind NATs, over TCP, by name, after a restart.

import Essentials
import HandsetTestKit
import PhoneCore
import SIP
import SIPAgent
import Testing

@Suite struct WorldTests {
    private func receivedShare(_ conditions: LinkConditions, count: Int = 10_000) -> (share: Double, inOrder: Bool) {
        let world = SimulatedWorld(seed: 3)
        let from = world.addHost("from")
        let to = world.addHost("to")
        from.uplink = conditions
        var seen: [Int] = []
        let local = from.bind(port: 1000) { _, _ in }
        let remote = to.bind(port: 2000) { bytes, _ in seen.append(Int(bytes[0]) << 8 | Int(bytes[1])) }
        guard let local, let remote else { return (0, false) }
        for number in 0..<count {
            world.schedule(at: MonotonicTime(nanoseconds: Int64(number) * 1_000_000)) {
                from.send([UInt8(number >> 8), UInt8(number & 255)], from: local, to: remote)
            }
        }
        world.run(for: .seconds(30))
        return (Double(seen.count) / Double(count), seen == seen.sorted())
    }

    @Test func aLinkLosesDoublesAndReordersAsItIsTold() {
        #expect(receivedShare(.clean) == (1, true))
        let lossy = receivedShare(LinkConditions(jitter: .milliseconds(20), loss: 0.2))
        #expect(abs(lossy.share - 0.8) < 0.02)
        #expect(lossy.inOrder)
        #expect(abs(receivedShare(LinkConditions(duplication: 0.1)).share - 1.1) < 0.02)
        #expect(!receivedShare(LinkConditions(reordering: 0.1)).inOrder)
        // Bad for 10 of 110 datagrams on average, and nothing gets through while bad.
        let bursts = receivedShare(LinkConditions(bursts: .init(begin: 0.01, end: 0.1)))
        #expect(abs(bursts.share - 10.0 / 11) < 0.03)
    }

    @Test func aNATKeepsItsMappingAndFilters() {
        let world = SimulatedWorld(seed: 1)
        let nat = world.addNAT("nat", .init(filtering: .addressAndPortDependent, timeout: .seconds(30)))
        let inner = world.addHost("inner", behind: nat)
        let outer = world.addHost("outer")
        var sources: [SocketAddress] = []
        var answers = 0
        let local = inner.bind(port: 5060) { _, _ in answers += 1 }!
        let first = outer.bind(port: 7000) { _, source in sources.append(source) }!
        let second = outer.bind(port: 7001) { _, _ in }!
        func send() {
            inner.send([1], from: local, to: first)
            world.run(for: .seconds(1))
        }
        send()
        send()
        #expect(sources.count == 2 && sources[0] == sources[1])
        #expect(sources[0].ip == nat.publicAddress)
        outer.send([2], from: first, to: sources[0])
        outer.send([2], from: second, to: sources[0])
        world.run(for: .seconds(1))
        #expect(answers == 1)
        world.run(for: .seconds(40))
        outer.send([2], from: first, to: sources[0])
        world.run(for: .seconds(1))
        #expect(answers == 1)
        nat.rebind()
        send()
        #expect(sources[2] != sources[0])
    }

    /// Registers, calls, sends a digit, hangs up; nothing may be left.
    private func call(seed: UInt64, transport: TransportProtocol, alice aliceNAT: Bool, bob bobNAT: Bool) {
        let world = SimulatedWorld(seed: seed, trace: .signalling)
        let server = world.addServer("server", domain: "example.test", users: ["1001": "first", "1002": "second"])
        let alice = world.addPhone(
            "alice", user: "1001", password: "first", server: server, behind: aliceNAT ? world.addNAT("nat-a") : nil,
            transport: transport)
        let bob = world.addPhone(
            "bob", user: "1002", password: "second", server: server, behind: bobNAT ? world.addNAT("nat-b") : nil,
            transport: transport)
        bob.follow([.register, .answer(after: .milliseconds(300)), .untilEnded, .shutDown])
        alice.follow([.register, .wait(.seconds(2)), .call("1002"), .hold, .resume, .wait(.seconds(1)), .hangUp, .shutDown])
        world.run(within: .seconds(120)) { alice.user.isDone && bob.user.isDone }
        #expect(alice.user.failure == nil && alice.user.isDone, "\(alice.user.failure ?? "") \(world.trace.text())")
        #expect(bob.user.failure == nil && bob.user.isDone, "\(bob.user.failure ?? "")")
        #expect(alice.ends.map(\.wasEstablished) == [true])
        #expect(world.settle() == [])
    }

    @Test(arguments: [TransportProtocol.udp, .tcp], [(false, false), (true, false), (false, true), (true, true)])
    func aCallGoesThroughFromEveryPlace(transport: TransportProtocol, nats: (Bool, Bool)) {
        call(seed: 11, transport: transport, alice: nats.0, bob: nats.1)
    }

    /// The callee's packets come before its answer and from another address than the answer names: digits sent at once
    /// must go where those packets came from.
    @Test(arguments: 1...20)
    func aPhoneBehindANATHearsDigitsFromTheFirstMoment(seed: UInt64) {
        let world = SimulatedWorld(seed: seed)
        let server = world.addServer("server", domain: "example.test", users: ["1001": "first", "1002": "second"])
        let alice = world.addPhone("alice", user: "1001", password: "first", server: server)
        let bob = world.addPhone("bob", user: "1002", password: "second", server: server, behind: world.addNAT("nat"))
        bob.follow([.register, .answer(after: .milliseconds(300)), .untilEnded, .shutDown])
        alice.follow([.register, .wait(.seconds(1)), .call("1002"), .digits("42#"), .hangUp, .shutDown])
        world.run(within: .seconds(60)) { alice.user.isDone && bob.user.isDone }
        #expect(bob.digitsReceived == "42#", "seed \(seed)")
    }

    @Test func aServerIsFoundByItsName() {
        let world = SimulatedWorld(seed: 5)
        let server = world.addServer("server", domain: "example.test", users: ["1001": "first"])
        let alice = world.addPhone("alice", user: "1001", password: "first", server: server, configureAccount: { $0.proxy = nil })
        alice.follow([.register])
        #expect(world.run(within: .seconds(10)) { alice.isRegistered })
    }

    @Test func aRegistrationComesBackAfterTheServerDied() {
        let world = SimulatedWorld(seed: 6)
        let server = world.addServer("server", domain: "example.test", users: ["1001": "first"])
        let alice = world.addPhone(
            "alice", user: "1001", password: "first", server: server, transport: .tcp, configureAccount: { $0.expires = 120 })
        alice.follow([.register])
        #expect(world.run(within: .seconds(10)) { alice.isRegistered })
        server.restart()
        #expect(server.machine.bindings(of: "1001", now: world.now).isEmpty)
        #expect(world.run(within: .seconds(130)) { !server.machine.bindings(of: "1001", now: world.now).isEmpty })
    }

    @Test(arguments: [486, 603])
    func aRefusedCallIsOverForBoth(status: Int) {
        let world = SimulatedWorld(seed: 8)
        let server = world.addServer("server", domain: "example.test", users: ["1001": "first", "1002": "second"])
        let alice = world.addPhone("alice", user: "1001", password: "first", server: server)
        let bob = world.addPhone("bob", user: "1002", password: "second", server: server)
        bob.follow([.register, .refuse(status: status, after: .seconds(1))])
        alice.follow([.register, .wait(.seconds(1)), .dial("1002"), .untilEnded])
        world.run(within: .seconds(60)) { alice.user.isDone && bob.user.isDone }
        #expect(alice.ends.first?.cause.status == status)
        #expect(bob.ends.count == 1)
    }
}
