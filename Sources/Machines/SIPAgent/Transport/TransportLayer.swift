// SPDX-License-Identifier: Apache-2.0
//
// The transport layer: RFC 3261 §18. Which flow carries what; connections are used again and opened on demand.
//
//   request  ─► route(target) ─► the flow named ─► a socket of the right family, or a connection to that address ─► connect
//   response ─► the flow on which the request came ─► (gone:) a new connection to the source, at the port of its Via (§18.2.2)
//
// Nothing is ever sent to an address that only a message names: responses go to the source of the packet.

import Essentials
import SIP

/// A class, so that reading it never copies its tables.
final class TransportLayer {
    /// The way to a target, or why there is none.
    enum Route {
        case flow(Flow)
        case none(FlowFailure)
    }

    private(set) var effects = EffectQueue<TransportEffect>()
    var counters = Counters<StackCounter>()
    private let configuration: StackConfiguration
    private let random: RandomSource
    private var flows: [FlowID: Flow] = [:]
    /// Sockets and listeners in the order in which they came up.
    private var listening: [Flow] = []
    private var connections: [ConnectionKey: FlowID] = [:]
    private(set) var connectionCount = 0
    private var acceptedCount = 0
    /// Accepted connections by source, of strangers.
    private var acceptedBySource: [IPAddress: Int] = [:]
    /// The addresses of this machine; nil: the world does not tell.
    var network: NetworkState? {
        didSet {
            for flow in listening where flow.local.ip.isUnspecified {
                flow.viaPrefix = viaPrefix(flow.transport, sentBy: published(flow.local))
            }
        }
    }
    private var lastOpened: UInt64 = 0
    /// The name that stands for us where no address of ours can be connected to (RFC 7118 §5).
    private(set) lazy var invalidHost = random.token(12) + ".invalid"
    /// The settings that profiles stand for; the first are those of the configuration.
    private var tlsSettings: [TLSSettings]

    init(_ configuration: StackConfiguration, random: RandomSource) {
        self.configuration = configuration
        self.random = random
        tlsSettings = [configuration.tls]
    }

    /// The profile that stands for these settings; equal settings have the same.
    func profile(for settings: TLSSettings) -> TLSProfile {
        if let index = tlsSettings.firstIndex(of: settings) { return TLSProfile(index: UInt32(index)) }
        tlsSettings.append(settings)
        return TLSProfile(index: UInt32(tlsSettings.count - 1))
    }

    private func settings(of profile: TLSProfile) -> TLSSettings {
        tlsSettings.indices.contains(Int(profile.index)) ? tlsSettings[Int(profile.index)] : configuration.tls
    }

    func popEffect() -> TransportEffect? { effects.popFirst() }

    func flow(_ id: FlowID) -> Flow? { flows[id] }

    /// Sockets and listeners of a transport, in the order in which they came up.
    func listening(for transport: TransportProtocol) -> [Flow] { listening.filter { $0.transport == transport } }

    /// Whether a connection to the target is up or coming up.
    func hasConnection(_ target: SignallingTarget) -> Bool { connection(to: target)?.isUsable ?? false }

    func closeConnection(to target: SignallingTarget) {
        if let flow = connection(to: target) { close(flow) }
    }

    /// The connection to a target, up or being opened.
    func connection(to target: SignallingTarget) -> Flow? {
        guard target.transport.isReliable else { return nil }
        if let flow = target.flow.flatMap({ flows[$0] }), flow.isConnection { return flow }
        return connections[ConnectionKey(target)].flatMap { flows[$0] }
    }

    /// Connections that we opened, in the order of their opening.
    func openedConnections() -> [Flow] {
        flows.values.filter { $0.isConnection && $0.id.rawValue.isMultiple(of: 2) }.sorted { $0.id < $1.id }
    }

    // MARK: What the world tells

    func opened(_ id: FlowID, _ transport: TransportProtocol, local: SocketAddress) {
        let flow = Flow(id, transport, transport == .udp ? .datagram : .listener, local: local)
        flow.viaPrefix = viaPrefix(transport, sentBy: published(local))
        flows[id] = flow
        listening.removeAll { $0.id == id }
        listening.append(flow)
    }

    /// A connection that we asked for is up: what waited goes out. False: nobody asked for it.
    func connected(_ id: FlowID, local: SocketAddress, _ agreement: TLSAgreement?) -> Bool {
        guard let flow = flows[id], case .connecting(let queue, _) = flow.state, let remote = flow.remote else {
            counters.increment(.unknownFlows)
            return false
        }
        counters.increment(.connectionsOpened)
        flow.local = local
        flow.agreement = agreement
        flow.state = .connected
        for octets in queue { emit(octets, flow, remote) }
        return true
    }

    func acceptedCount(of group: IPAddress) -> Int { acceptedBySource[group] ?? 0 }

    /// Does not take a connection that came in.
    func refuse(_ id: FlowID) {
        counters.increment(.connectionsRefused)
        effects.append(.close(id))
    }

    /// - Parameter group: the source under whose share it counts; nil: a server of ours.
    func accepted(_ id: FlowID, listener: FlowID, local: SocketAddress, remote: SocketAddress, group: IPAddress?) {
        guard let transport = flows[listener]?.transport else {
            counters.increment(.unknownFlows)
            effects.append(.close(id))
            return
        }
        guard connectionCount < configuration.connections, acceptedCount < configuration.acceptedConnections else {
            return refuse(id)
        }
        counters.increment(.connectionsAccepted)
        acceptedCount += 1
        if let group { acceptedBySource[group, default: 0] += 1 }
        let flow = Flow(id, transport, .connected, local: local, remote: remote)
        flow.isAccepted = true
        flow.group = group
        add(flow, key: ConnectionKey(transport, remote, name: nil))
    }

    /// Forgets a flow; gives it as it was.
    func closed(_ id: FlowID) -> Flow? {
        guard let flow = flows.removeValue(forKey: id) else { return nil }
        listening.removeAll { $0.id == id }
        if flow.isConnection {
            connectionCount -= 1
            if flow.isAccepted { acceptedCount -= 1 }
            if let group = flow.group {
                let left = (acceptedBySource[group] ?? 1) - 1
                acceptedBySource[group] = left > 0 ? left : nil
            }
            counters.increment(.connectionsClosed)
        }
        if let key = flow.reuseKey, connections[key] == id { connections[key] = nil }
        return flow
    }

    /// Asks the world to close a connection; it is not used from now on.
    func close(_ flow: Flow) {
        if case .closing = flow.state { return }
        flow.state = .closing
        if let key = flow.reuseKey, connections[key] == flow.id { connections[key] = nil }
        effects.append(.close(flow.id))
    }

    // MARK: Sending

    /// The flow for a request to `target`: opened if need be.
    func route(_ target: SignallingTarget) -> Route {
        if let id = target.flow, let flow = flows[id], flow.isUsable, flow.transport == target.transport {
            return .flow(flow)
        }
        if target.transport == .udp {
            if let flow = socket(toward: target.address.ip) { return .flow(flow) }
            counters.increment(.noFlow)
            return .none(.other("no open socket for UDP of this address family"))
        }
        let key = ConnectionKey(target)
        if let id = connections[key], let flow = flows[id], flow.isUsable { return .flow(flow) }
        guard connectionCount < configuration.connections else {
            counters.increment(.connectionsRefused)
            return .none(.limit)
        }
        lastOpened &+= 2
        let id = FlowID(rawValue: lastOpened)
        let local = publishedAddress(target.transport, toward: target.address) ?? SocketAddress(.anyV4, 0)
        let state = Flow.State.connecting(queue: [], octets: 0)
        let flow = Flow(
            id, target.transport, state, local: local, remote: target.address, name: target.name, profile: target.profile, path: target.path
        )
        add(flow, key: key)
        let tls = target.transport.isSecure ? settings(of: target.profile) : nil
        effects.append(.connect(id, target.transport, to: target.address, name: target.name, tls: tls, path: target.path))
        return .flow(flow)
    }

    /// Gives octets to a flow. On a connection `destination` does not matter.
    func send(_ octets: [UInt8], on flow: Flow, to destination: SocketAddress) -> FlowFailure? {
        switch flow.state {
        case .datagram:
            guard octets.count <= configuration.datagramOctets else {
                counters.increment(.datagramsTooLarge)
                return .other("message too large for a datagram")
            }
            guard destination.port != 0 else { return .unreachable }
            emit(octets, flow, destination)
            return nil
        case .connected:
            emit(octets, flow, flow.remote ?? destination)
            return nil
        case .connecting(var queue, let waiting):
            guard waiting + octets.count <= configuration.queuedOctetsPerConnection else {
                counters.increment(.queueOverflows)
                return .limit
            }
            // The queue is moved, not copied.
            flow.state = .connecting(queue: [], octets: 0)
            queue.append(octets)
            flow.state = .connecting(queue: queue, octets: waiting + octets.count)
            return nil
        case .listener, .closing:
            return .closedLocally
        }
    }

    // MARK: Addresses

    /// Where we can be reached from `address` over `transport`: for Contact and the sent-by of a Via.
    func publishedAddress(_ transport: TransportProtocol, toward address: SocketAddress) -> SocketAddress? {
        if transport == .udp { return socket(toward: address.ip).map { published($0.local, toward: address.ip) } }
        let candidates = listening.filter {
            $0.transport == transport && $0.local.ip.isV6 == address.ip.isV6 && isPresent($0.local.ip, toward: address.ip)
        }
        let best = candidates.first { $0.local.ip.isLoopback == address.ip.isLoopback } ?? candidates.first
        return best.map { published($0.local, toward: address.ip) }
    }

    /// `local` with an address of this host in the place of the unspecified one.
    func published(_ local: SocketAddress) -> SocketAddress {
        guard local.ip.isUnspecified else { return local }
        let isV6 = local.ip.isV6
        let address = network.map { $0.preferred(isV6: isV6) } ?? configuration.addresses.first { $0.isV6 == isV6 }
        return address.map { SocketAddress($0, local.port) } ?? local
    }

    /// The same, with the address from which packets to `remote` leave.
    func published(_ local: SocketAddress, toward remote: IPAddress) -> SocketAddress {
        guard local.ip.isUnspecified else { return local }
        guard let network else { return published(local) }
        return network.address(toward: remote).map { SocketAddress($0, local.port) } ?? local
    }

    /// Whether a socket bound to `local` can send to `remote` now, as far as the world tells.
    private func isPresent(_ local: IPAddress, toward remote: IPAddress) -> Bool {
        guard let network else { return true }
        return local.isUnspecified ? network.address(toward: remote) != nil : local.isLoopback || network.contains(local)
    }

    /// Connections that carry nothing any more, in order: their own address is gone, or (those that we opened) packets to the
    /// other end leave from another one, so the old network may be dead. `all`: every one that leads to another machine.
    func connections(all: Bool) -> [FlowID] {
        guard let network else { return [] }
        return flows.values.filter { flow in
            guard let remote = flow.remote, !remote.ip.isLoopback else { return false }
            let ip = flow.local.ip
            guard !all else { return true }
            guard !ip.isLoopback, !ip.isUnspecified else { return false }
            let isOpenedHere = flow.id.rawValue % 2 == 0
            return !network.contains(ip.unmapped) || isOpenedHere && network.address(toward: remote.ip) != ip.unmapped
        }.map(\.id).sorted()
    }

    /// What stands before the branch in the Via of a request over `flow`.
    func viaPrefix(for flow: Flow) -> String {
        if !flow.viaPrefix.isEmpty { return flow.viaPrefix }
        let remote = flow.remote ?? flow.local
        let prefix: String
        if flow.transport.isWebSocket, listening(for: flow.transport).isEmpty {
            prefix = "SIP/2.0/" + flow.transport.viaName + " " + invalidHost + ";rport;branch="
        } else if let address = publishedAddress(flow.transport, toward: remote) {
            prefix = viaPrefix(flow.transport, sentBy: address)
        } else if case .connected = flow.state {
            prefix = viaPrefix(flow.transport, sentBy: published(flow.local, toward: remote.ip))
        } else if let address = socket(toward: remote.ip).map({ published($0.local, toward: remote.ip) }), !address.ip.isUnspecified {
            prefix = viaPrefix(flow.transport, sentBy: SocketAddress(address.ip, flow.transport.defaultPort))
        } else {
            // No address is known yet; responses come over the connection.
            prefix = "SIP/2.0/" + flow.transport.viaName + " " + invalidHost + ";rport;branch="
        }
        flow.viaPrefix = prefix
        return prefix
    }

    private func viaPrefix(_ transport: TransportProtocol, sentBy address: SocketAddress) -> String {
        "SIP/2.0/" + transport.viaName + " " + address.description + ";rport;branch="
    }

    /// The datagram socket for an address: of its family; one on loopback for loopback addresses only; the one bound to
    /// every address, or to the first one, else.
    private func socket(toward address: IPAddress) -> Flow? {
        var fallback: Flow?
        for flow in listening where flow.transport == .udp && flow.local.ip.isV6 == address.isV6 {
            let bound = flow.local.ip
            guard isPresent(bound, toward: address) else { continue }
            if !bound.isUnspecified, bound.isLoopback == address.isLoopback { return flow }
            if bound.isUnspecified || (fallback == nil && !bound.isLoopback) { fallback = flow }
        }
        return fallback
    }

    // MARK: Parts

    private func add(_ flow: Flow, key: ConnectionKey) {
        flow.framer = flow.transport.isStream ? StreamFramer(limits: configuration.messageLimits) : nil
        flow.reuseKey = key
        flows[flow.id] = flow
        connections[key] = flow.id
        connectionCount += 1
    }

    private func emit(_ octets: [UInt8], _ flow: Flow, _ destination: SocketAddress) {
        counters.increment(.messagesSent)
        counters.increment(.octetsSent, by: UInt64(octets.count))
        effects.append(.send(octets, flow.id, to: destination))
    }
}
