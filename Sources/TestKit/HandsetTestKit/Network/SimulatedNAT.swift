// SPDX-License-Identifier: Apache-2.0
//
// A network address translator, in the terms of RFC 4787.

import Essentials

/// A NAT between inner hosts and the rest of the world.
public final class SimulatedNAT {
    /// RFC 4787 §4.1 and §5: what a mapping, and what the filter, depends on.
    public enum Dependence: Sendable, Hashable {
        case endpointIndependent
        case addressDependent
        case addressAndPortDependent
    }

    public struct Behaviour: Sendable, Hashable {
        /// Whether one inner socket keeps its outer port towards everybody.
        public var mapping: Dependence
        /// Who may answer through a mapping.
        public var filtering: Dependence
        /// A mapping that carried nothing outward for so long is forgotten (RFC 4787 §4.3 asks for 2 min or more).
        public var timeout: Interval

        public init(
            mapping: Dependence = .endpointIndependent, filtering: Dependence = .addressAndPortDependent,
            timeout: Interval = .seconds(120)
        ) {
            self.mapping = mapping
            self.filtering = filtering
            self.timeout = timeout
        }
    }

    public let name: String
    public let publicAddress: IPAddress
    public let behaviour: Behaviour
    unowned let world: SimulatedWorld

    private struct Mapping {
        var inner: SocketAddress
        /// What the mapping is for; nil: everybody.
        var remote: SocketAddress?
        var outerPort: UInt16
        var lastUsed: MonotonicTime
        /// To whom something was sent through it.
        var permitted: [SocketAddress]
    }

    private var mappings: [Mapping] = []
    private var insideHosts: [SimulatedHost] = []
    private let innerNetwork: UInt8
    private var nextOuterPort: UInt16
    private(set) var streamEpoch = 0

    init(_ name: String, _ address: IPAddress, inner: UInt8, _ behaviour: Behaviour, world: SimulatedWorld) {
        self.name = name
        publicAddress = address
        innerNetwork = inner
        self.behaviour = behaviour
        self.world = world
        var random = world.generator(for: name)
        nextOuterPort = 20_000 + UInt16(random.next() % 10_000)
    }

    func nextInnerAddress() -> IPAddress { .v4(0x0a00_0000 | UInt32(innerNetwork) << 8 | UInt32(insideHosts.count + 2)) }
    func attach(_ host: SimulatedHost) { insideHosts.append(host) }
    func inside(_ address: IPAddress) -> SimulatedHost? { insideHosts.first { $0.address == address } }

    /// Forgets every mapping, as after a restart: the next datagrams leave from other ports, and streams are cut.
    public func rebind() {
        mappings.removeAll()
        streamEpoch += 1
        nextOuterPort = nextOuterPort >= 60_000 ? 20_000 : nextOuterPort + 100
        world.trace.note(world.now, name, "rebinds")
    }

    /// How many mappings are alive.
    public var openMappings: Int { mappings.filter { isAlive($0) }.count }

    private func isAlive(_ mapping: Mapping) -> Bool { world.now - mapping.lastUsed < behaviour.timeout }

    private static func matches(_ dependence: Dependence, _ left: SocketAddress, _ right: SocketAddress) -> Bool {
        switch dependence {
        case .endpointIndependent: true
        case .addressDependent: left.ip == right.ip
        case .addressAndPortDependent: left == right
        }
    }

    /// The outer address for a datagram from inside.
    func outbound(_ inner: SocketAddress, to remote: SocketAddress) -> SocketAddress? {
        mappings.removeAll { !isAlive($0) }
        let index =
            mappings.firstIndex { mapping in
                mapping.inner == inner && (mapping.remote.map { Self.matches(behaviour.mapping, $0, remote) } ?? true)
            }
            ?? {
                mappings.append(
                    Mapping(inner: inner, remote: remote, outerPort: takePort(), lastUsed: world.now, permitted: []))
                return mappings.count - 1
            }()
        mappings[index].lastUsed = world.now
        if !mappings[index].permitted.contains(remote) { mappings[index].permitted.append(remote) }
        return SocketAddress(publicAddress, mappings[index].outerPort)
    }

    /// Where a datagram from outside goes; nil: filtered, or no mapping.
    func inbound(_ outer: SocketAddress, from remote: SocketAddress) -> (SimulatedHost, UInt16)? {
        guard let mapping = mappings.first(where: { $0.outerPort == outer.port }), isAlive(mapping),
            mapping.permitted.contains(where: { Self.matches(behaviour.filtering, $0, remote) }),
            let host = inside(mapping.inner.ip)
        else { return nil }
        return (host, mapping.inner.port)
    }

    /// An outer port for a connection from inside.
    func takePort() -> UInt16 {
        nextOuterPort = nextOuterPort >= 65_000 ? 20_000 : nextOuterPort + 1
        return nextOuterPort
    }
}
