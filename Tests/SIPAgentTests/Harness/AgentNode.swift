// SPDX-License-Identifier: Apache-2.0

import Crypto
import Essentials
import SIP
import SIPAgent

/// A user agent with a UDP socket, and TCP connections where it opens them.
final class AgentNode: Node {
    let agent: UserAgent
    let address: SocketAddress
    let network: Network
    private(set) var events: [UserAgentEvent] = []
    /// What the resolver knows.
    var zone: [String: [DNSRecord]] = [:]
    /// What it says of everything else.
    var otherwise = DNSResult.none
    /// Called for each event as it comes: an application that reacts at once.
    var onEvent: ((UserAgentEvent) -> Void)?
    /// Whether connections of ours come up.
    var refusesConnections = false
    private var connections: [(flow: FlowID, peer: SocketAddress)] = []
    private let socket = FlowID(rawValue: 1)
    private var lastAccepted: UInt64 = 101

    init(
        _ network: Network, _ last: UInt32, at address: SocketAddress? = nil, seed: UInt64 = 1,
        configure: (inout UserAgentConfiguration) -> Void = { _ in }
    ) {
        self.network = network
        self.address = address ?? SocketAddress(ip(last), 5060)
        var configuration = UserAgentConfiguration()
        configure(&configuration)
        agent = UserAgent(
            configuration: configuration, cryptography: ToyCryptography(),
            random: RandomSource(SplitMix64(seed: seed &* 1000 &+ UInt64(last))))
        network.nodes.append(self)
        agent.handle(.listening(socket, .udp, local: self.address), now: network.now)
        agent.handle(.listening(FlowID(rawValue: 3), .tcp, local: self.address), now: network.now)
        drain()
    }

    private(set) var networkChecks = 0

    var nextDeadline: MonotonicTime? { agent.nextDeadline }

    func receive(_ packet: Packet, now: MonotonicTime) {
        if packet.transport == .udp {
            agent.handle(.received(packet.bytes, socket, from: packet.from), now: now)
        } else if let connection = connections.first(where: { $0.peer == packet.from }) {
            agent.handle(.received(packet.bytes, connection.flow, from: packet.from), now: now)
        }
        drain()
    }

    func advance(to now: MonotonicTime) {
        agent.advance(to: now)
        drain()
    }

    func accept(from peer: SocketAddress, now: MonotonicTime) {
        lastAccepted += 2
        let flow = FlowID(rawValue: lastAccepted)
        connections.append((flow, peer))
        agent.handle(.accepted(flow, listener: FlowID(rawValue: 3), local: address, remote: peer), now: now)
        drain()
    }

    func disconnected(from peer: SocketAddress, _ failure: FlowFailure, now: MonotonicTime) {
        for connection in connections where connection.peer == peer {
            agent.handle(.closed(connection.flow, failure), now: now)
        }
        connections.removeAll { $0.peer == peer }
        drain()
    }

    /// Carries out what the agent wants.
    func drain() {
        while let effect = agent.nextEffect() {
            switch effect {
            case .transport(let effect): carryOut(effect)
            case .resolve(let question):
                let records = (zone[question.name] ?? []).filter { record in
                    switch record.value {
                    case .address(let address): question.type == (address.isV6 ? .aaaa : .a)
                    case .srv: question.type == .srv
                    case .naptr: question.type == .naptr
                    }
                }
                network.later(.milliseconds(5)) { [self] in
                    agent.handle(DNSAnswer(question, records.isEmpty ? otherwise : .records(records)), now: network.now)
                    drain()
                }
            case .checkNetwork: networkChecks += 1
            case .event(let event):
                events.append(event)
                onEvent?(event)
            }
        }
    }

    private func carryOut(_ effect: TransportEffect) {
        switch effect {
        case .send(let bytes, let flow, let to):
            let transport: TransportProtocol = flow == socket ? .udp : .tcp
            network.send(Packet(from: address, to: to, transport: transport, bytes: bytes))
        case .connect(let flow, _, let to, _, _, _):
            network.later(network.delay) { [self] in
                guard let other = network.node(at: to), !refusesConnections else {
                    agent.handle(.closed(flow, .refused), now: network.now)
                    drain()
                    return
                }
                connections.append((flow, to))
                other.accept(from: address, now: network.now)
                agent.handle(.connected(flow, local: address), now: network.now)
                drain()
            }
        case .close(let flow):
            if let connection = connections.first(where: { $0.flow == flow }) {
                connections.removeAll { $0.flow == flow }
                network.later(network.delay) { [self] in
                    network.node(at: connection.peer)?.disconnected(from: address, .closedByPeer, now: network.now)
                }
            }
            agent.handle(.closed(flow, .closedLocally), now: network.now)
        }
    }

    /// Nothing is held any more, and the counts of the agent agree.
    var isEmpty: Bool {
        agent.sessionCount == 0 && agent.dialogCount == 0 && agent.requestCount == 0 && agent.residueCount == 0
            && agent.unansweredCount == 0
    }
}

// MARK: Looking at events

extension AgentNode {
    var states: [RegistrationState] {
        events.compactMap { if case .registration(_, let state) = $0 { state } else { nil } }
    }
    var warnings: [Cause] { events.compactMap { if case .warning(let cause) = $0 { cause } else { nil } } }
    var incoming: [(SessionID, IncomingInvite)] {
        events.compactMap { if case .incoming(let id, let invite) = $0 { (id, invite) } else { nil } }
    }
    var progress: [SIPMessage] {
        events.compactMap { if case .progress(_, let message) = $0 { message } else { nil } }
    }
    var answered: [SIPMessage] {
        events.compactMap { if case .answered(_, let message) = $0 { message } else { nil } }
    }
    var confirmed: Int { events.count { if case .confirmed = $0 { true } else { false } } }
    var ends: [SessionEnd] {
        events.compactMap { if case .ended(_, let end) = $0 { end } else { nil } }
    }
    var reinvited: [SIPMessage] {
        events.compactMap { if case .reinvited(_, let message) = $0 { message } else { nil } }
    }
    var reinviteAnswers: Int { events.count { if case .reinviteAnswered = $0 { true } else { false } } }
    var reinviteFailures: [(Cause, Bool)] {
        events.compactMap { if case .reinviteFailed(_, let cause, let retry) = $0 { (cause, retry) } else { nil } }
    }
    var reinviteDue: Int { events.count { if case .reinviteDue = $0 { true } else { false } } }
    var infos: [(String, [UInt8])] {
        events.compactMap { if case .info(_, let type, let body) = $0 { (type, body) } else { nil } }
    }
    var infoAnswers: [Int] {
        events.compactMap { if case .infoAnswered(_, let status, _) = $0 { status } else { nil } }
    }
    var refreshes: [SIPMessage] {
        events.compactMap { if case .update(_, .refreshed(let message)) = $0 { message } else { nil } }
    }
    var updateOffers: [SIPMessage] {
        events.compactMap { if case .update(_, .offered(let message)) = $0 { message } else { nil } }
    }
    var earlyAnswers: [SIPMessage] {
        events.compactMap { if case .earlyAnswer(_, let message) = $0 { message } else { nil } }
    }
    var hasStopped: Bool { events.contains { if case .stopped = $0 { true } else { false } } }

    /// All that the agent sent.
    var sent: [SIPMessage] { network.sent(by: address) }
    func sent(_ method: Method) -> [SIPMessage] { sent.filter { $0.isRequest && $0.method == method } }
    func sentStatuses(_ method: Method) -> [Int] {
        sent.filter { !$0.isRequest && $0.cseq.method == method }.map(\.statusCode)
    }
}
