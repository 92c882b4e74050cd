// SPDX-License-Identifier: Apache-2.0
//
// One end of a reliable ordered stream of octets, as TCP gives it. What the link loses comes later, not never.
//
//   connect ──1 way──▶ accepted at the other end ──1 way──▶ connected here
//           ──1 way──▶ nobody listens           ──1 way──▶ closed(.refused)

import Essentials
import SIPAgent

public final class SimulatedStream {
    public let host: SimulatedHost
    /// The address at this end, as this end sees it.
    public let local: SocketAddress
    /// The address of the other end, as this end sees it.
    public internal(set) var remote: SocketAddress
    var received: ([UInt8]) -> Void = { _ in }
    var closed: (FlowFailure) -> Void = { _ in }
    private var peer: SimulatedStream?
    private var isOpen = false
    private var lastArrival = MonotonicTime.zero
    private var natEpoch: Int?

    private init(_ host: SimulatedHost, local: SocketAddress, remote: SocketAddress) {
        self.host = host
        self.local = local
        self.remote = remote
    }

    private var world: SimulatedWorld { host.world }

    /// Opens a connection; the outcome comes by `connected` or `closed`.
    static func connect(
        from host: SimulatedHost, to remote: SocketAddress, connected: @escaping (SimulatedStream) -> Void,
        closed: @escaping (FlowFailure) -> Void
    ) -> SimulatedStream {
        let world = host.world
        let end = SimulatedStream(host, local: SocketAddress(host.address, host.ephemeralPort()), remote: remote)
        end.closed = closed
        end.natEpoch = host.nat?.streamEpoch
        world.trace.note(world.now, host.name, "connects \(end.local) > \(remote)")
        let other = host.nat?.inside(remote.ip)
        let destination: SimulatedHost? =
            if let other { other } else if case .host(let host) = world.place(remote.ip) { host } else { nil }
        guard let destination, let out = host.upSegment(), let way = destination.downSegment(),
            let back = destination.upSegment(), let home = host.downSegment()
        else {
            world.schedule(after: .seconds(30)) { end.end(.timedOut) }
            return end
        }
        let source =
            other == nil ? host.nat.map { SocketAddress($0.publicAddress, $0.takePort()) } ?? end.local : end.local
        world.schedule(after: out + way) {
            guard let accepted = destination.listener(remote.port) else {
                return world.schedule(after: back + home) { end.end(.refused) }
            }
            let peer = SimulatedStream(destination, local: remote, remote: source)
            peer.peer = end
            end.peer = peer
            peer.isOpen = true
            world.openStreams += 1
            world.trace.note(world.now, destination.name, "accepts \(source) > \(remote)")
            accepted(peer)
            world.schedule(after: back + home) {
                guard end.peer != nil else { return }
                end.isOpen = true
                world.openStreams += 1
                connected(end)
            }
        }
        return end
    }

    /// Sends octets; they arrive in order and whole, or the stream ends.
    public func send(_ bytes: [UInt8]) {
        guard isOpen, let peer else { return }
        world.trace.packet(world.now, host.name, "sends", "tcp", local, remote, bytes)
        guard let time = arrival(at: peer) else { return stall() }
        world.schedule(at: time) {
            guard peer.isOpen else { return }
            self.world.trace.packet(self.world.now, peer.host.name, "receives", "tcp", peer.remote, peer.local, bytes)
            peer.received(bytes)
        }
    }

    /// Closes in good order: what was sent before still arrives.
    public func close() {
        guard isOpen else { return end(.closedLocally) }
        if let peer, let time = arrival(at: peer) { world.schedule(at: time) { peer.end(.closedByPeer) } }
        end(.closedLocally)
    }

    /// Breaks the stream at both ends at once, as a reset does.
    public func reset() {
        peer?.end(.reset)
        end(.reset)
    }

    private func arrival(at peer: SimulatedStream) -> MonotonicTime? {
        guard !isCut, !peer.isCut, let up = host.upSegment(), let down = peer.host.downSegment() else { return nil }
        lastArrival = max(lastArrival, world.now + up + down)
        return lastArrival
    }

    private var isCut: Bool { local.ip != host.address || isRebound }

    private var isRebound: Bool { natEpoch.map { $0 != host.nat?.streamEpoch } ?? false }

    /// Nothing gets through any more: noticed after a while.
    private func stall() {
        world.schedule(after: .seconds(30)) { self.end(.timedOut) }
    }

    func end(_ failure: FlowFailure) {
        let wasOpen = isOpen
        isOpen = false
        peer = nil
        if wasOpen { world.openStreams -= 1 }
        let report = closed
        closed = { _ in }
        received = { _ in }
        report(failure)
    }
}
