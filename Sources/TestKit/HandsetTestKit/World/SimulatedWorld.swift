// SPDX-License-Identifier: Apache-2.0
//
// A world of its own for phones, servers and the network between them: one virtual clock, one seed.
//
//   test ── run(for:) ──▶ event queue ──▶ hosts (phones, servers, peers) ──▶ links, NATs ──▶ event queue …
//
// Nothing in it reads a real clock, a real socket or a random source of the system, so an hour of calls takes a
// second, and the same seed gives the same world, octet for octet, in every process.

import Crypto
import Essentials
import SIPAgent

/// A simulated network with its own time, in which phones and servers run unchanged.
///
/// ```swift
/// let world = SimulatedWorld(seed: 42)
/// let server = world.addServer("server", domain: "example.test", users: ["1001": "secret", "1002": "secret"])
/// let alice = world.addPhone("alice", user: "1001", password: "secret", server: server)
/// let bob = world.addPhone("bob", user: "1002", password: "secret", server: server)
/// alice.link = .init(delay: .milliseconds(40), loss: 0.05)
/// bob.follow([.register, .answer(after: .seconds(1)), .untilEnded])
/// alice.follow([.register, .wait(.milliseconds(500)), .call("1002"), .digits("42#"), .hangUp])
/// world.run(for: .seconds(60))
/// ```
///
/// A world belongs to one thread. Give tests that fail their seed in the message: `world.seed` repeats the run.
public final class SimulatedWorld {
    /// What the whole run follows from.
    public let seed: UInt64
    /// The virtual time; starts at zero.
    public private(set) var now = MonotonicTime.zero
    /// What happened so far.
    public var trace: WorldTrace
    /// Answers the questions of all nodes.
    public var zone = DNSZone()
    /// The hash functions for digest authentication.
    public let cryptography: any Cryptography

    private var queue = EventQueue()
    /// Every host, in order of creation.
    public private(set) var hosts: [SimulatedHost] = []
    /// Every NAT, in order of creation.
    public private(set) var nats: [SimulatedNAT] = []
    /// Phones, servers and peers, in order of creation.
    public private(set) var nodes: [any SimulatedNode] = []
    private var places: [IPAddress: Place] = [:]
    private var lastAddress: UInt32 = 0
    /// Streams that are not over: for the check that nothing is left.
    var openStreams = 0

    enum Place {
        case host(SimulatedHost)
        case nat(SimulatedNAT)
    }

    /// - Parameters:
    ///   - seed: what the run follows from.
    ///   - trace: how much of it is kept.
    ///   - cryptography: the hash functions; by default those of the kit itself.
    public init(
        seed: UInt64, trace: WorldTrace.Detail = .none, cryptography: any Cryptography = ReferenceCryptography()
    ) {
        self.seed = seed
        self.trace = WorldTrace(trace)
        self.cryptography = cryptography
    }

    // MARK: Time

    /// Lets something happen at `time`, or now if that has passed.
    public func schedule(at time: MonotonicTime, _ action: @escaping () -> Void) {
        queue.insert(at: max(time, now), action)
    }

    /// Lets something happen after `interval`.
    public func schedule(after interval: Interval, _ action: @escaping () -> Void) {
        schedule(at: now + interval, action)
    }

    /// Runs until `time`; the clock then stands there.
    public func run(until time: MonotonicTime) {
        while let next = queue.next, next <= time { step() }
        now = max(now, time)
    }

    /// Runs for `interval`.
    public func run(for interval: Interval) { run(until: now + interval) }

    /// Runs until `condition` holds, looked at after each event, or `limit` has passed.
    ///
    /// - Returns: whether it held.
    @discardableResult
    public func run(within limit: Interval, until condition: () -> Bool) -> Bool {
        let end = now + limit
        while !condition() {
            guard let next = queue.next, next <= end else {
                now = end
                return condition()
            }
            step()
        }
        return true
    }

    /// Lets the next thing happen. False: nothing is left to happen.
    @discardableResult
    public func step() -> Bool {
        guard let (time, action) = queue.removeFirst() else { return false }
        now = max(now, time)
        action()
        return true
    }

    /// How many things are still to happen.
    public var pendingEvents: Int { queue.count }

    /// A generator for a named part of this world.
    public func generator(for name: String) -> SeededGenerator { SeededGenerator(seed: seed, for: name) }

    // MARK: Things in it

    /// Adds a host. Without an address it gets the next of 198.51.100.0/24, or of the NAT's inner network.
    public func addHost(_ name: String, address: IPAddress? = nil, behind nat: SimulatedNAT? = nil) -> SimulatedHost {
        let ip = address ?? nat?.nextInnerAddress() ?? nextAddress()
        let host = SimulatedHost(name, ip, nat: nat, world: self)
        hosts.append(host)
        if let nat { nat.attach(host) } else { places[ip] = .host(host) }
        return host
    }

    /// Adds a NAT with a public address of its own; hosts are put behind it by `addHost(behind:)`.
    public func addNAT(_ name: String, _ behaviour: SimulatedNAT.Behaviour = .init()) -> SimulatedNAT {
        let nat = SimulatedNAT(
            name, nextAddress(), inner: UInt8(truncatingIfNeeded: nats.count + 1), behaviour,
            world: self)
        nats.append(nat)
        places[nat.publicAddress] = .nat(nat)
        return nat
    }

    /// The next of 198.51.100.0/24 that nobody ever had.
    private func nextAddress() -> IPAddress {
        lastAddress += 1
        return .v4(0xc633_6400 + lastAddress)
    }

    /// A host leaves its address.
    func release(_ address: IPAddress, of host: SimulatedHost) {
        if host.nat == nil { places[address] = nil }
    }

    /// A host takes an address, a new one if none is named.
    func take(_ address: IPAddress?, for host: SimulatedHost) -> IPAddress {
        if let nat = host.nat { return address ?? nat.nextInnerAddress() }
        let address = address ?? nextAddress()
        places[address] = .host(host)
        return address
    }

    func add(_ node: any SimulatedNode) { nodes.append(node) }

    func place(_ address: IPAddress) -> Place? { places[address] }
}

/// A machine at a host: a phone, a server, a scripted peer.
public protocol SimulatedNode: AnyObject {
    var host: SimulatedHost { get }
    /// What the node still keeps beyond its configuration: dialogs, transactions, timers, ports, each with its count.
    /// Empty: the node is quiet.
    var leftovers: [String] { get }
}

extension SimulatedWorld {
    /// What is left over anywhere in the world although everything should have ended; empty when all is quiet.
    public var leftovers: [String] {
        nodes.flatMap { node in node.leftovers.map { "\(node.host.name): \($0)" } }
    }

    /// Lets time pass until nothing is left over anywhere, at most `limit`.
    ///
    /// - Returns: what is left over then; empty when the world is quiet.
    public func settle(within limit: Interval = .seconds(70)) -> [String] {
        let end = now + limit
        while !leftovers.isEmpty, now < end { run(for: .milliseconds(500)) }
        return leftovers
    }
}
