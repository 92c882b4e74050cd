// SPDX-License-Identifier: Apache-2.0
//
// A small registrar and forking stateful proxy as one machine (RFC 3261 §10.3 and §16) over the transport and
// transaction layers of SIPAgent. It owns no socket and no clock: input and time in, effects and the next deadline out.

import Crypto
import Essentials
import SIP
import SIPAgent

/// An embedded SIP server: registrar with digest authentication, location store, forking proxy.
///
/// Use it like every machine: one input (`handle`, `advance`), then `nextEffect` until there is none, then wait until
/// `nextDeadline`. It is a server for demonstration, tests and small rooms; for more use Kamailio (`docs/kamailio.md`).
public final class SIPServer {
    public let configuration: ServerConfiguration
    /// What happened how often.
    public internal(set) var counters = Counters<ServerCounter>()

    let cryptography: any Cryptography
    let random: RandomSource
    package let stack: SIPStack
    var registrar: Registrar
    var digest: DigestServer
    /// Passwords by user name.
    var passwords: [String: Secret] = [:]
    /// Seals the route tokens: of this run, or of all that are given the same key.
    let routeKey: [UInt8]

    /// Requests being proxied, by server transaction.
    var contexts: [TransactionID: ResponseContext] = [:]
    /// The server transaction for each client transaction of a branch.
    var branchOwners: [TransactionID: TransactionID] = [:]
    /// How many contexts there are for a fingerprint: for loop detection.
    var fingerprints: [String: Int] = [:]
    var timers = DeadlineHeap<ProxyTimer>()
    /// Where this server listens.
    var listeners: [(transport: TransportProtocol, address: SocketAddress)] = []
    private var events: [ServerEvent] = []
    private var nextEventIndex = 0

    public init(configuration: ServerConfiguration, cryptography: any Cryptography, random: RandomSource) {
        self.configuration = configuration
        self.cryptography = cryptography
        self.random = random
        var settings = configuration.stack
        // What merges here may be a fork that comes round; that is the called agent's to tell (RFC 3261 §8.2.2.2).
        settings.detectsMergedRequests = false
        settings.answersSTUN = configuration.knowsFlows
        stack = SIPStack(configuration: settings, random: random)
        registrar = Registrar(configuration: configuration)
        var settingsOfDigest = DigestServerConfiguration(realm: configuration.realm ?? configuration.domains.first ?? "sip")
        settingsOfDigest.algorithms = configuration.challengeAlgorithms
        settingsOfDigest.nonceLifetime = configuration.nonceLifetime
        digest = DigestServer(configuration: settingsOfDigest, cryptography: cryptography, random: random)
        for user in configuration.users { passwords[user.name] = user.password }
        routeKey = configuration.routeKey?.reveal { $0 } ?? (0..<4).flatMap { _ in withUInt64(random.next()) }
    }

    // MARK: In

    /// Takes what the world tells about flows.
    public func handle(_ input: TransportInput, now: MonotonicTime) {
        switch input {
        case .listening(_, let transport, let local):
            listeners.append((transport, local))
            emit(.listening(transport, local))
        case .accepted, .connected, .closed, .received, .sendFailed: break
        }
        stack.handle(input, now: now)
        process(now: now)
    }

    /// Takes an answer of the resolver.
    public func handle(_ answer: DNSAnswer, now: MonotonicTime) {
        process(now: now)
    }

    /// Lets time pass: every deadline up to `now` is met.
    public func advance(to now: MonotonicTime) {
        stack.advance(to: now)
        process(now: now)
        while let timer = timers.pop(until: now) { fire(timer, now: now) }
        for (user, binding) in registrar.store.expire(now: now) {
            counters.increment(.contactsExpired)
            emit(.unregistered(user: user, contact: "\(binding.uri)"))
        }
        process(now: now)
    }

    // MARK: Out

    /// When `advance` is to be called next, at the latest.
    public var nextDeadline: MonotonicTime? {
        [stack.nextDeadline, timers.next, registrar.store.nextDeadline].compactMap { $0 }.min()
    }

    /// The next thing to do for the world; nil when there is nothing more until the next input.
    public func nextEffect() -> ServerEffect? {
        if let effect = stack.nextEffect() { return .transport(effect) }
        guard nextEventIndex < events.count else {
            if nextEventIndex > 0 {
                events.removeAll(keepingCapacity: true)
                nextEventIndex = 0
            }
            return nil
        }
        defer { nextEventIndex += 1 }
        return .event(events[nextEventIndex])
    }

    /// The contacts of a user that are registered and not over, in the order in which they are called.
    public func bindings(of user: String, now: MonotonicTime) -> [Binding] {
        registrar.store.bindings(of: user, now: now)
    }

    /// What is kept of requests that came; empty when every transaction is over. Registrations do not count.
    package var leftovers: [String] {
        var left: [String] = []
        if !contexts.isEmpty { left.append("\(contexts.count) response contexts") }
        if !branchOwners.isEmpty { left.append("\(branchOwners.count) branches") }
        if !fingerprints.isEmpty { left.append("\(fingerprints.count) fingerprints") }
        if stack.transactionCount != 0 { left.append("\(stack.transactionCount) transactions") }
        if stack.pendingTimerCount != 0 { left.append("\(stack.pendingTimerCount) transaction timers") }
        return left
    }

    func emit(_ event: ServerEvent) { events.append(event) }

    // MARK: What the transaction layer tells

    func process(now: MonotonicTime) {
        while let event = stack.nextEvent() {
            switch event {
            case .request(let request, let transaction, let source):
                receive(request, transaction, source, now: now)
            case .ack(let ack, _, let source):
                forwardACK(ack, source, now: now)
            case .cancelled(let transaction, _):
                guard let context = contexts[transaction] else { continue }
                context.isCancelled = true
                context.waiting = []
                cancelBranches(of: context, now: now)
                finishIfComplete(context, now: now)
            case .response(let response, let client, _):
                receive(response, of: client, now: now)
            case .strayResponse:
                // RFC 6026 §8.9 (changed RFC 3261 §16.7): a stray response is not forwarded.
                counters.increment(.strayResponses)
            case .failed(let transaction, let failure):
                fail(transaction, failure, now: now)
            case .ended(let transaction):
                end(transaction, now: now)
            case .flowClosed(let flow, _):
                for (user, binding) in registrar.store.closeFlow(flow) {
                    counters.increment(.contactsLost)
                    emit(.unregistered(user: user, contact: "\(binding.uri)"))
                }
            case .notice(let notice): emit(.warning(notice.cause))
            case .listening, .connected, .keepAlive: break
            }
        }
    }

    // MARK: Whose is it

    /// Whether a URI names this server: one of its domains or addresses, without a port or with one it listens on.
    func isOwn(_ uri: SIPURI, _ source: MessageSource) -> Bool {
        let isOwnHost =
            switch uri.host {
            case .name(let name): configuration.domains.contains { $0.lowercased() == name }
            case .address(let ip):
                configuration.domains.contains("\(ip)") || source.local.ip.unmapped == ip.unmapped
                    || listeners.contains { $0.address.ip.unmapped == ip.unmapped }
            }
        guard isOwnHost else { return false }
        guard let port = uri.port else { return true }
        return source.local.port == port || listeners.contains { $0.address.port == port }
    }

    /// Whether somebody registers under this name, or a service stands there.
    func isKnown(_ user: String) -> Bool {
        passwords[user] != nil || configuration.services.contains { $0.user == user }
            || (!configuration.authenticatesRegistrations && !user.isEmpty)
    }
}

/// The octets of a number, highest first.
private func withUInt64(_ value: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * UInt64($0))) }
}
