// SPDX-License-Identifier: Apache-2.0
//
// The lower half of a SIP element: transport (RFC 3261 §18) and transactions (§17, RFC 6026) as one machine.
//
//      TransportInput, now ──►┌──────────────────────────────────────────┐──► StackEvent      (to the transaction user)
//      requests, responses ──►│ SIPStack: flows · transactions · timers  │──► TransportEffect  (to the world)
//      advance(to:)        ──►└──────────────────────────────────────────┘──► nextDeadline

import Essentials
import SIP

/// Transport and transaction layers, used by a user agent or a proxy: one mutation, then drain `nextEvent` and `nextEffect`.
///
/// ```swift
/// let stack = SIPStack(configuration: StackConfiguration(), random: random)
/// stack.handle(.listening(FlowID(rawValue: 1), .udp, local: address), now: now)
/// let options = stack.sendRequest(request, to: SignallingTarget(.udp, server), now: now)
/// while let effect = stack.nextEffect() { … }                        // the world sends
/// stack.handle(.received(octets, FlowID(rawValue: 1), from: server), now: later)
/// while let event = stack.nextEvent() { … }                          // .response(…, options, …)
/// ```
public final class SIPStack {
    public let configuration: StackConfiguration
    /// Sources that the limit on unanswered INVITEs does not hold for: the account's own servers.
    public var exemptSources: [IPAddress] = []
    let random: RandomSource
    let transport: TransportLayer
    let transactions = TransactionTable()
    var events = EffectQueue<StackEvent>()
    /// Timers of connections with an unfinished message, or without any.
    var flowTimers = DeadlineQueue<FlowTimer>()
    /// When the user was last told of connections that were closed or refused.
    var silenceNotices = WarningPace(.seconds(60))
    var shareNotices = WarningPace(.seconds(60))
    /// Keys the To tags of stateless responses (§8.2.7: the same for each repeat, and not to be guessed).
    let statelessKey: UInt64

    public init(configuration: StackConfiguration = StackConfiguration(), random: RandomSource) {
        self.configuration = configuration
        self.random = random
        transport = TransportLayer(configuration, random: random)
        statelessKey = random.next()
    }

    /// What was counted since the beginning.
    public var counters: Counters<StackCounter> { transport.counters }

    // MARK: Time and outcome

    /// When `advance` is to be called next; nil: never, unless something happens.
    public var nextDeadline: MonotonicTime? {
        switch (transactions.timers.first, flowTimers.first) {
        case (let one?, let other?): min(one, other)
        case (let one, let other): one ?? other
        }
    }

    /// Fires every timer that is due.
    public func advance(to now: MonotonicTime) {
        while let timer = transactions.timers.popDue(at: now) {
            guard let transaction = transactions.transaction(slot: timer.slot, number: timer.number) else { continue }
            let step: TransactionStep
            if timer.isLifetime {
                transaction.lifetimeTimer = nil
                step = transaction.machine.lifetimeTimerFired()
            } else {
                transaction.retransmissionTimer = nil
                step = transaction.machine.retransmissionTimerFired(configuration.times)
                if step.actions.contains(.transmit) {
                    count(transaction.machine.isClient ? .requestRetransmissions : .responseRetransmissions)
                }
            }
            perform(step, transaction, now)
        }
        while let timer = flowTimers.popDue(at: now) {
            switch timer {
            case .unfinished(let id): unfinishedMessageTimedOut(id, now)
            case .silent(let id): silenceTimedOut(id, now)
            }
        }
    }

    /// The next thing for the world to do.
    public func nextEffect() -> TransportEffect? { transport.popEffect() }

    /// The next thing for the transaction user to know.
    public func nextEvent() -> StackEvent? { events.popFirst() }

    // MARK: Addresses

    /// Where we are reached from `target`: for Contact, and what the Via of a request says. nil if nothing is open that fits.
    public func localAddress(for target: SignallingTarget) -> SocketAddress? {
        if let id = target.flow, let flow = transport.flow(id), flow.isUsable {
            if case .connecting = flow.state { return transport.publishedAddress(flow.transport, toward: target.address) }
            if flow.isConnection, let listener = transport.publishedAddress(flow.transport, toward: target.address) { return listener }
            return transport.published(flow.local, toward: target.address.ip)
        }
        if let listener = transport.publishedAddress(target.transport, toward: target.address) { return listener }
        guard let connection = transport.connection(to: target), case .connected = connection.state else { return nil }
        return transport.published(connection.local)
    }

    /// What became of `open`.
    public enum Opening: Sendable {
        /// It can carry a request, and its local address is known.
        case ready
        /// `StackEvent.connected` follows, or `flowClosed`.
        case opening(FlowID)
        case failed(FlowFailure)
    }

    /// Opens the connection to a target, if there is none: for who has no listener to name as his address.
    public func open(_ target: SignallingTarget, now: MonotonicTime) -> Opening {
        switch transport.route(target) {
        case .none(let failure): return .failed(failure)
        case .flow(let flow):
            guard case .connecting = flow.state else { return .ready }
            if flow.unfinishedTimer == nil { flow.unfinishedTimer = flowTimers.arm(now + configuration.connecting, .unfinished(flow.id)) }
            return .opening(flow.id)
        }
    }

    /// The open sockets and listeners of a transport, in the order in which they came up.
    public func flows(for transport: TransportProtocol) -> [(flow: FlowID, local: SocketAddress)] {
        self.transport.listening(for: transport).map { ($0.id, self.transport.published($0.local)) }
    }

    /// Whether nobody can connect to us by that transport: a WebSocket client without a listener, as most are (RFC 7118 §5).
    public func isReachedByConnectionOnly(_ transport: TransportProtocol) -> Bool {
        transport.isWebSocket && self.transport.listening(for: transport).isEmpty
    }

    /// A host name that cannot exist (RFC 2606 §2), for Via and Contact of who cannot be connected to.
    public var invalidHost: String { transport.invalidHost }

    /// Whether a flow can carry messages.
    public func isOpen(_ flow: FlowID) -> Bool { transport.flow(flow)?.isUsable ?? false }

    /// What TLS agreed on for a connection that we opened; nil: it is not there, not up or not secure.
    public func agreement(of flow: FlowID) -> TLSAgreement? { transport.flow(flow)?.agreement }

    /// Whether a connection is up, not only coming up.
    func isConnected(_ flow: FlowID) -> Bool {
        if case .connected? = transport.flow(flow)?.state { return true }
        return false
    }

    /// The profile that stands for TLS settings, for `SignallingTarget.profile`; equal settings have the same.
    public func profile(for settings: TLSSettings) -> TLSProfile { transport.profile(for: settings) }

    /// Whether a connection can carry messages, and leads to `remote`: after a restart its number may be another one's.
    public func isOpen(_ flow: FlowID, to remote: SocketAddress) -> Bool {
        guard let flow = transport.flow(flow), flow.isUsable else { return false }
        return flow.remote == remote
    }

    /// Closes a connection: after the end of an account, or when it is known to be dead.
    public func close(_ flow: FlowID) {
        guard let flow = transport.flow(flow), flow.isConnection else { return }
        transport.close(flow)
    }

    /// The connection that a request to `target` would use, up or coming up.
    func connection(to target: SignallingTarget) -> FlowID? { transport.connection(to: target)?.id }

    /// Whether a request to `target` would find a connection that is up or coming up.
    public func hasConnection(_ target: SignallingTarget) -> Bool { transport.hasConnection(target) }

    /// Opens a connection to `target`; `StackEvent.connected` or `flowClosed` follows. nil: a limit is reached.
    public func connect(_ target: SignallingTarget) -> FlowID? {
        guard target.transport.isReliable, case .flow(let flow) = transport.route(target) else { return nil }
        return flow.id
    }

    /// Closes the connection that a request to `target` would use: it is known to be dead.
    public func closeConnection(to target: SignallingTarget) { transport.closeConnection(to: target) }

    /// Whether a transport can be used: it has a socket or listener, or needs none (a stream: a connection is opened).
    public func offers(_ transport: TransportProtocol) -> Bool {
        transport.isReliable || !self.transport.listening(for: transport).isEmpty
    }

    /// Closes every connection that we opened: the network changed, or the machine slept.
    public func closeOpenedConnections() {
        for flow in transport.openedConnections() { transport.close(flow) }
    }

    /// Puts every timer off by `interval`: time that passed without anybody being able to act does not count.
    public func postpone(by interval: Interval) {
        transactions.timers.postpone(by: interval)
        flowTimers.postpone(by: interval)
    }

    // MARK: Changes of the network

    /// The addresses of this machine, from which a socket that is bound to every address sends. nil: the world does not tell,
    /// and the addresses are those of the flows and of the configuration.
    public var network: NetworkState? {
        get { transport.network }
        set { transport.network = newValue }
    }

    /// Connections that carry nothing any more after a change of the network; `all`: every one that leads to another machine.
    func connections(all: Bool) -> [FlowID] { transport.connections(all: all) }

    /// Gives a connection up that carries nothing any more: what waits on it fails now, not when the system notices.
    func drop(_ id: FlowID, _ failure: FlowFailure, now: MonotonicTime) {
        guard let flow = transport.flow(id), flow.isConnection else { return }
        transport.close(flow)
        flowClosed(id, failure, now)
    }

    /// The flow that a transaction uses.
    func flow(of id: TransactionID) -> FlowID? { transactions[id]?.flow }

    /// Takes a request off its flow, so that the end of the flow is not its failure.
    func strand(_ id: TransactionID) { transactions[id]?.flow = FlowID(rawValue: 0) }

    /// Forgets an INVITE whose answer cannot reach us; the CANCEL goes out over a flow that leads to `target` now.
    func takeBack(_ id: TransactionID, over target: SignallingTarget?, now: MonotonicTime) {
        guard let transaction = transactions[id], case .inviteClient = transaction.machine else { return }
        if let target, case .flow(let flow) = transport.route(target) {
            transaction.flow = flow.id
            sendCancel(of: transaction, headers: [], now)
        }
        transactions.remove(transaction)
    }

    // MARK: For tests and simulations

    /// Timers that wait, of transactions and connections.
    package var pendingTimerCount: Int { transactions.timers.count + flowTimers.count }
    /// Transactions not forgotten yet.
    package var transactionCount: Int { transactions.count }
    /// Connections that are open or being opened.
    package var connectionCount: Int { transport.connectionCount }

    func count(_ counter: StackCounter) { transport.counters.increment(counter) }
}
