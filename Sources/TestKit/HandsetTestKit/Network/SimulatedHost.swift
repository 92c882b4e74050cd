// SPDX-License-Identifier: Apache-2.0
//
// A host: one address, datagram sockets, listeners and streams, and the link that joins it to the rest.
//
//   socket ──▶ up link ──▶ (NAT out) ──▶ core ──▶ (NAT in) ──▶ down link ──▶ socket

import Essentials
import SIPAgent

public final class SimulatedHost {
    public let name: String
    /// Its address; the last one that it had where it has none.
    public private(set) var address: IPAddress
    /// Whether it has its address: false between `loseAddress` and `move`. Sends fail meanwhile, and nobody finds it.
    public private(set) var hasAddress = true
    /// Told when the address goes or comes, as a system tells its programs.
    var addressChanged: () -> Void = {}
    let nat: SimulatedNAT?
    unowned let world: SimulatedWorld

    private var up: LinkDirection
    private var down: LinkDirection
    private var datagramSockets: [UInt16: DatagramSocket] = [:]
    private var listeners: [UInt16: (SimulatedStream) -> Void] = [:]
    private var nextPort: UInt16 = 49_152
    /// Whether the cable is out: nothing goes or comes, and nobody is told.
    public var isUnplugged = false

    struct DatagramSocket {
        var received: ([UInt8], SocketAddress) -> Void
        var refused: (SocketAddress) -> Void
    }

    init(_ name: String, _ address: IPAddress, nat: SimulatedNAT?, world: SimulatedWorld) {
        self.name = name
        self.address = address
        self.nat = nat
        self.world = world
        up = LinkDirection(.clean, random: world.generator(for: name + ">"))
        down = LinkDirection(.clean, random: world.generator(for: name + "<"))
    }

    /// The conditions of both directions of the host's link.
    public var link: LinkConditions {
        get { up.conditions }
        set {
            up.conditions = newValue
            down.conditions = newValue
        }
    }

    /// The conditions from the host into the network.
    public var uplink: LinkConditions {
        get { up.conditions }
        set { up.conditions = newValue }
    }

    /// The conditions from the network to the host.
    public var downlink: LinkConditions {
        get { down.conditions }
        set { down.conditions = newValue }
    }

    /// How many datagram sockets and listeners are open.
    public var openPorts: Int { datagramSockets.count + listeners.count }

    // MARK: Another network

    /// Takes the host's address away, and the way into the network with it. What is on the way to it is lost; streams are
    /// not told, as on a real machine.
    public func loseAddress() {
        guard hasAddress else { return }
        hasAddress = false
        world.release(address, of: self)
        world.trace.note(world.now, name, "loses \(address)")
        addressChanged()
    }

    /// Gives the host an address: another one as in another network, or the same again.
    ///
    /// - Parameter address: nil: a new one.
    public func move(to address: IPAddress? = nil) {
        if hasAddress { world.release(self.address, of: self) }
        self.address = world.take(address, for: self)
        hasAddress = true
        world.trace.note(world.now, name, "has \(self.address)")
        addressChanged()
    }

    // MARK: Datagrams

    /// Opens a datagram socket; port 0 takes the next free even one.
    ///
    /// - Returns: its address; nil when the port is taken.
    public func bind(
        port: UInt16, received: @escaping ([UInt8], SocketAddress) -> Void,
        refused: @escaping (SocketAddress) -> Void = { _ in }
    ) -> SocketAddress? {
        guard let port = free(port, in: { datagramSockets[$0] != nil }) else { return nil }
        datagramSockets[port] = DatagramSocket(received: received, refused: refused)
        return SocketAddress(address, port)
    }

    /// Closes a datagram socket.
    public func unbind(port: UInt16) { datagramSockets[port] = nil }

    private func free(_ port: UInt16, in isTaken: (UInt16) -> Bool) -> UInt16? {
        if port != 0 { return isTaken(port) ? nil : port }
        for _ in 0..<8_000 {
            let candidate = nextPort
            nextPort = nextPort >= 65_000 ? 49_152 : nextPort + 2
            if !isTaken(candidate), !isTaken(candidate + 1) { return candidate }
        }
        return nil
    }

    /// Sends a datagram from a socket of this host, which is bound to every address: it leaves from the present one.
    ///
    /// - Returns: false where the host has no address: no route.
    @discardableResult
    public func send(_ bytes: [UInt8], from socket: SocketAddress, to remote: SocketAddress) -> Bool {
        let local = SocketAddress(address, socket.port)
        guard hasAddress else {
            world.trace.packet(world.now, name, "cannot send", "udp", local, remote, bytes)
            return false
        }
        world.trace.packet(world.now, name, "sends", "udp", local, remote, bytes)
        transmit(bytes, from: local, to: remote)
        return true
    }

    private func transmit(_ bytes: [UInt8], from local: SocketAddress, to remote: SocketAddress) {
        guard !isUnplugged else { return }
        let (first, second) = up.arrivals(now: world.now)
        guard let first else { return world.trace.packet(world.now, name, "loses", "udp", local, remote, bytes) }
        world.schedule(at: first) { self.world.cross(bytes, from: local, to: remote, of: self) }
        if let second { world.schedule(at: second) { self.world.cross(bytes, from: local, to: remote, of: self) } }
    }

    /// A datagram reached the near end of this host's link.
    func enter(_ bytes: [UInt8], from remote: SocketAddress, port: UInt16, refused: @escaping () -> Void) {
        guard !isUnplugged else { return }
        let (first, second) = down.arrivals(now: world.now)
        let local = SocketAddress(address, port)
        guard let first else { return world.trace.packet(world.now, name, "misses", "udp", remote, local, bytes) }
        world.schedule(at: first) { self.deliver(bytes, from: remote, to: local, refused: refused) }
        if let second { world.schedule(at: second) { self.deliver(bytes, from: remote, to: local, refused: refused) } }
    }

    private func deliver(_ bytes: [UInt8], from remote: SocketAddress, to local: SocketAddress, refused: () -> Void) {
        guard hasAddress, local.ip == address else { return }
        guard let socket = datagramSockets[local.port] else {
            world.trace.packet(world.now, name, "refuses", "udp", remote, local, bytes)
            return refused()
        }
        world.trace.packet(world.now, name, "receives", "udp", remote, local, bytes)
        socket.received(bytes, remote)
    }

    /// The network tells that nothing listens at `remote` (ICMP port unreachable).
    func reportRefusal(port: UInt16, remote: SocketAddress) {
        world.schedule(after: down.conditions.delay) {
            guard !self.isUnplugged else { return }
            self.datagramSockets[port]?.refused(remote)
        }
    }

    // MARK: Streams

    /// Listens for connections; port 0 takes a free one.
    public func listen(port: UInt16, accepted: @escaping (SimulatedStream) -> Void) -> SocketAddress? {
        guard let port = free(port, in: { listeners[$0] != nil }) else { return nil }
        listeners[port] = accepted
        return SocketAddress(address, port)
    }

    public func stopListening(port: UInt16) { listeners[port] = nil }

    func listener(_ port: UInt16) -> ((SimulatedStream) -> Void)? { listeners[port] }

    func ephemeralPort() -> UInt16 { free(0, in: { listeners[$0] != nil }) ?? 49_152 }

    /// How long a segment takes from this host to the core; nil: it never gets there.
    func upSegment() -> Interval? { isUnplugged || !hasAddress ? nil : up.segmentDelay() }
    func downSegment() -> Interval? { isUnplugged || !hasAddress ? nil : down.segmentDelay() }
}

extension SimulatedWorld {
    /// A datagram crosses the core: out through the sender's NAT, in through the receiver's.
    func cross(_ bytes: [UInt8], from inner: SocketAddress, to remote: SocketAddress, of sender: SimulatedHost) {
        var source = inner
        if let nat = sender.nat {
            if let neighbour = nat.inside(remote.ip) {
                return neighbour.enter(bytes, from: source, port: remote.port) {
                    sender.reportRefusal(port: inner.port, remote: remote)
                }
            }
            guard let mapped = nat.outbound(inner, to: remote) else { return }
            source = mapped
        }
        switch place(remote.ip) {
        case .host(let host):
            host.enter(bytes, from: source, port: remote.port) { sender.reportRefusal(port: inner.port, remote: remote) }
        case .nat(let nat):
            guard let (host, port) = nat.inbound(remote, from: source) else {
                return trace.packet(now, nat.name, "blocks", "udp", source, remote, bytes)
            }
            host.enter(bytes, from: source, port: port) {}
        case nil:
            trace.packet(now, sender.name, "finds nobody", "udp", source, remote, bytes)
        }
    }
}
