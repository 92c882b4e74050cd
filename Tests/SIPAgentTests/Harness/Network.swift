// SPDX-License-Identifier: Apache-2.0
//
// A small world for agents: virtual time, links with delay and loss, user agents and scripted peers as nodes.

import Crypto
import Essentials
import SIP
import SIPAgent

/// No cryptography: enough to see that the same input gives the same digest and another one does not.
struct ToyCryptography: Cryptography {
    func hash(_ algorithm: HashAlgorithm, _ bytes: [UInt8]) -> [UInt8] {
        var state: UInt64 = algorithm == .md5 ? 1 : 2
        for byte in bytes { state = (state ^ UInt64(byte)) &* 0x100_0000_01b3 }
        var generator = SplitMix64(seed: state)
        return (0..<algorithm.length).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
    }
}

/// One packet on its way.
struct Packet {
    var from: SocketAddress
    var to: SocketAddress
    var transport: TransportProtocol
    var bytes: [UInt8]
    var message: SIPMessage? { try? SIPMessage(parsing: bytes) }
}

/// What takes part in the network.
protocol Node: AnyObject {
    var address: SocketAddress { get }
    var nextDeadline: MonotonicTime? { get }
    func receive(_ packet: Packet, now: MonotonicTime)
    func advance(to now: MonotonicTime)
    /// The connection with the other address is gone.
    func disconnected(from peer: SocketAddress, _ failure: FlowFailure, now: MonotonicTime)
    /// Somebody connects.
    func accept(from peer: SocketAddress, now: MonotonicTime)
}

final class Network {
    private(set) var now = MonotonicTime.zero
    var nodes: [any Node] = []
    var delay = Interval.milliseconds(10)
    /// Whether a packet is lost.
    var loses: (Packet) -> Bool = { _ in false }
    /// All that was sent, lost or not, in order.
    private(set) var log: [(time: MonotonicTime, packet: Packet)] = []
    private var queue: [(time: MonotonicTime, order: Int, action: () -> Void)] = []
    private var order = 0

    func later(_ interval: Interval, _ action: @escaping () -> Void) {
        order += 1
        queue.append((now + interval, order, action))
    }

    func node(at address: SocketAddress) -> (any Node)? { nodes.first { $0.address == address } }

    func send(_ packet: Packet) {
        log.append((now, packet))
        if packet.transport == .udp, loses(packet) { return }
        later(delay) { [self] in node(at: packet.to)?.receive(packet, now: now) }
    }

    /// Time passes and nobody sees it: what was on its way is lost.
    func sleep(_ interval: Interval) {
        queue.removeAll { $0.time <= now + interval }
        now = now + interval
        for node in nodes { node.advance(to: now) }
    }

    /// Runs for that long.
    func run(_ interval: Interval) { run(until: now + interval) { false } }

    /// Runs until `done`, at most that long; whether it was done.
    @discardableResult
    func run(atMost interval: Interval, until done: () -> Bool) -> Bool { run(until: now + interval, done) }

    @discardableResult
    private func run(until end: MonotonicTime, _ done: () -> Bool) -> Bool {
        for node in nodes { node.advance(to: now) }
        while true {
            if done() { return true }
            let event = queue.indices.min { (queue[$0].time, queue[$0].order) < (queue[$1].time, queue[$1].order) }
            let deadline = nodes.compactMap(\.nextDeadline).min()
            let next = min(event.map { queue[$0].time } ?? .distantFuture, deadline ?? .distantFuture)
            guard next <= end else {
                now = end
                for node in nodes { node.advance(to: now) }
                return done()
            }
            now = max(now, next)
            if let event, queue[event].time <= now {
                queue.remove(at: event).action()
            }
            for node in nodes { node.advance(to: now) }
        }
    }

    /// Messages that `address` sent, in order.
    func sent(by address: SocketAddress) -> [SIPMessage] {
        log.filter { $0.packet.from == address }.compactMap { $0.packet.message }
    }
}

func ip(_ last: UInt32) -> IPAddress { .v4(0x0a00_0000 | last) }
