// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP
import SIPAgent

/// Carries out a machine's `TransportEffect`s at a host, and tells it what comes.
public final class HostTransport {
    private enum Flow {
        case datagrams(SocketAddress)
        case listener(SocketAddress)
        case stream(SimulatedStream)
    }

    private let host: SimulatedHost
    private let deliver: (TransportInput) -> Void
    private var flows: [FlowID: Flow] = [:]
    private var nextFlow: UInt64 = 1
    private var isShut = false
    /// The machine is told the addresses itself, so its sockets are told as bound to every address.
    private let tellsUnspecified: Bool

    init(_ host: SimulatedHost, tellsUnspecified: Bool = false, deliver: @escaping (TransportInput) -> Void) {
        self.host = host
        self.tellsUnspecified = tellsUnspecified
        self.deliver = deliver
    }

    /// The streams that are open or being opened.
    var openStreams: Int {
        flows.values.reduce(0) { count, flow in
            if case .stream = flow { count + 1 } else { count }
        }
    }

    private func makeFlow() -> FlowID {
        defer { nextFlow += 2 }
        return FlowID(rawValue: nextFlow)
    }

    /// Opens a socket or listener; the machine is told at once. nil: the port is taken.
    @discardableResult
    func open(_ transport: TransportProtocol, port: UInt16) -> SocketAddress? {
        let flow = makeFlow()
        if transport == .udp {
            let deliver = deliver
            guard
                let local = host.bind(
                    port: port, received: { bytes, remote in deliver(.received(bytes, flow, from: remote)) },
                    refused: { remote in deliver(.sendFailed(flow, to: remote, .refused)) })
            else { return nil }
            flows[flow] = .datagrams(local)
            deliver(.listening(flow, .udp, local: told(local)))
            return local
        }
        guard let local = host.listen(port: port, accepted: { [weak self] in self?.accept($0, listener: flow) }) else {
            return nil
        }
        flows[flow] = .listener(local)
        deliver(.listening(flow, transport, local: told(local)))
        return local
    }

    private func told(_ local: SocketAddress) -> SocketAddress {
        tellsUnspecified ? SocketAddress(local.ip.isV6 ? .anyV6 : .anyV4, local.port) : local
    }

    private func accept(_ stream: SimulatedStream, listener: FlowID) {
        let flow = makeFlow()
        attach(stream, flow)
        deliver(.accepted(flow, listener: listener, local: stream.local, remote: stream.remote))
    }

    private func attach(_ stream: SimulatedStream, _ flow: FlowID) {
        flows[flow] = .stream(stream)
        let deliver = deliver
        let remote = stream.remote
        stream.received = { bytes in deliver(.received(bytes, flow, from: remote)) }
        stream.closed = { [weak self] failure in self?.lost(flow, failure) }
    }

    private func lost(_ flow: FlowID, _ failure: FlowFailure) {
        guard flows.removeValue(forKey: flow) != nil, !isShut else { return }
        // Never inside the call that closed it: a machine is told of the world only between its own steps.
        host.world.schedule(after: .zero) { [deliver] in deliver(.closed(flow, failure)) }
    }

    func perform(_ effect: TransportEffect) {
        switch effect {
        case .send(let bytes, let flow, let remote):
            switch flows[flow] {
            case .datagrams(let local):
                guard !host.send(bytes, from: local, to: remote) else { return }
                host.world.schedule(after: .zero) { [deliver] in deliver(.sendFailed(flow, to: remote, .unreachable)) }
            case .stream(let stream): stream.send(bytes)
            case .listener, nil: break
            }
        case .connect(let flow, _, let remote, _, _, _):
            let deliver = deliver
            guard host.hasAddress else {
                return host.world.schedule(after: .zero) { deliver(.closed(flow, .unreachable)) }
            }
            let stream = SimulatedStream.connect(
                from: host, to: remote, connected: { deliver(.connected(flow, local: $0.local)) },
                closed: { [weak self] in self?.lost(flow, $0) })
            attach(stream, flow)
        case .close(let flow):
            switch flows[flow] {
            case .datagrams(let local):
                flows[flow] = nil
                host.unbind(port: local.port)
            case .listener(let local):
                flows[flow] = nil
                host.stopListening(port: local.port)
            case .stream(let stream): stream.close()
            case nil: break
            }
        }
    }

    /// Breaks every stream at both ends, as a device on the way does that forgets connections; both machines are told.
    func breakStreams(toPort port: UInt16? = nil) {
        for flow in flows.keys.sorted() {
            if case .stream(let stream) = flows[flow], port == nil || stream.remote.port == port { stream.reset() }
        }
    }

    /// Closes every socket and breaks every stream, as a process that dies does; nothing is told to the machine.
    func shut() {
        isShut = true
        for flow in flows.keys.sorted() {
            switch flows.removeValue(forKey: flow) {
            case .datagrams(let local): host.unbind(port: local.port)
            case .listener(let local): host.stopListening(port: local.port)
            case .stream(let stream): stream.reset()
            case nil: break
            }
        }
    }
}
