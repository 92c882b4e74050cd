// SPDX-License-Identifier: Apache-2.0
//
// The user agent (RFC 3261): accounts with their registrations, INVITE sessions with their dialogs, over the
// transaction layer. A machine: what happens goes in with its time; effects and the next deadline come out.
//
//   commands ─┐                                        ┌─► .transport  (bytes on flows)
//   transport ┼─► UserAgent ─ Registration ─┐          ├─► .resolve    (DNS questions)
//   answers   │             └ InviteSession ┴ SIPStack ┼─► .event      (for the phone)
//   time ─────┘                                        └─► nextDeadline

import Crypto
import Essentials
import SIP

/// A SIP user agent without input or output: change one thing, then drain `nextEffect()`, then wait for
/// `nextDeadline` or the next input. Not Sendable: it belongs to one isolation.
public final class UserAgent {
    public let configuration: UserAgentConfiguration
    public internal(set) var counters = Counters<AgentCounter>()

    let stack: SIPStack
    let cryptography: any Cryptography
    let random: RandomSource
    let location: ServerLocation

    var accounts: [AccountID: Account] = [:]
    /// In order of creation; iterated where order reaches an effect.
    var accountOrder: [AccountID] = []
    var sessions: [SessionID: InviteSession] = [:]
    /// Which session a dialog belongs to, early ones included.
    var dialogs: [DialogID: SessionID] = [:]
    /// Server transactions of INVITEs without a final answer, and of 2xx without an ACK.
    var serverInvites: [TransactionID: SessionID] = [:]
    /// Our requests by their running transaction.
    var requests: [TransactionID: ClientRequest] = [:]
    /// Our INVITEs that were answered 2xx, until their transactions end: each copy gets its ACK again.
    var acceptedInvites: [TransactionID: AcceptedInvite] = [:]
    /// What waits for name resolution.
    var locating: [LocationID: LocationSearch] = [:]
    /// What waits for a connection to come up.
    var connecting = ConnectionWaiters()
    /// Connections of two families that are being opened for one request.
    var races: [UInt64: ConnectionRace] = [:]
    var lastRace: UInt64 = 0
    /// The transports that are there, in order of preference: where a URI leaves the choice.
    var offered: [TransportProtocol] = []
    /// Incoming INVITEs of unknown addresses that are not established.
    var unansweredBySource: [IPAddress: Int] = [:]
    /// When the user was last told of a refused direct call.
    var directCallWarnings = WarningPace(.seconds(60))
    /// The same of a `sips` request that came without TLS.
    var insecureCallWarnings = WarningPace(.seconds(60))
    /// The same of requests that come too fast.
    var floodWarnings = WarningPace(.seconds(60))
    /// Of requests outside calls.
    var referralPace = RequestPace()
    var messagePace = RequestPace()
    /// Subscriptions and publications.
    var subscriptions = Subscriptions()
    /// Sessions that are not over for the user.
    var activeCalls = 0
    var referrals = Referrals()
    var timers = AgentTimers()
    var events: [UserAgentEvent] = []
    var nextEventIndex = 0
    var lastAccount: UInt32 = 0
    var lastSession: UInt64 = 0
    var life = Life.running
    var network = NetworkFollowing()

    enum Life { case running, stopping, stopped }

    public init(configuration: UserAgentConfiguration, cryptography: any Cryptography, random: RandomSource) {
        self.configuration = configuration
        self.cryptography = cryptography
        self.random = random
        stack = SIPStack(configuration: configuration.stack, random: random)
        location = ServerLocation(configuration: configuration.location, random: random)
        timers.ignoresCancel = configuration.stack.plantedFault == .uncancelledTimer
    }

    // MARK: Inputs

    /// Takes what the world tells about flows.
    public func handle(_ input: TransportInput, now: MonotonicTime) {
        switch input {
        case .sendFailed(_, _, .unreachable), .sendFailed(_, _, .other), .closed(_, .unreachable), .closed(_, .timedOut),
            .closed(_, .other):
            noticeTrouble(now: now)
        default: break
        }
        stack.handle(input, now: now)
        pump(now)
    }

    /// Takes the answer to a `.resolve` effect.
    public func handle(_ answer: DNSAnswer, now: MonotonicTime) {
        location.handle(answer, now: now)
        pump(now)
    }

    /// Lets time pass: everything due at `now` happens.
    public func advance(to now: MonotonicTime) {
        if let due = nextDeadline, now - due > configuration.sleepThreshold { slept(for: now - due, now: now) }
        stack.advance(to: now)
        pump(now)
        while let timer = timers.popDue(now) {
            fire(timer, now: now)
            pump(now)
        }
    }

    /// When `advance` is next needed; nil: not before another input.
    public var nextDeadline: MonotonicTime? {
        switch (stack.nextDeadline, timers.next) {
        case (let one?, let other?): min(one, other)
        case (let one, let other): one ?? other
        }
    }

    // MARK: Effects

    /// The next thing for the world or the phone; nil when nothing is left.
    public func nextEffect() -> UserAgentEffect? {
        if let effect = stack.nextEffect() { return .transport(effect) }
        if let question = location.nextQuestion() { return .resolve(question) }
        if network.wantsCheck {
            network.wantsCheck = false
            return .checkNetwork
        }
        if nextEventIndex < events.count {
            defer { nextEventIndex += 1 }
            return .event(events[nextEventIndex])
        }
        if nextEventIndex > 0 {
            events.removeAll(keepingCapacity: events.capacity <= 64)
            nextEventIndex = 0
        }
        return nil
    }

    func emit(_ event: UserAgentEvent) {
        guard life != .stopped, let event = told(event) else { return }
        events.append(event)
    }

    /// Handles what the lower layers have to say until they have nothing more.
    func pump(_ now: MonotonicTime) {
        while true {
            if let event = stack.nextEvent() {
                handle(event, now: now)
            } else if let result = location.nextResult() {
                located(result, now: now)
            } else {
                break
            }
        }
        stopIfDone(now)
    }

    /// How the last message that made or changed the session's dialog came; nil before there is one.
    public func source(of id: SessionID) -> MessageSource? { sessions[id]?.dialog?.source }

    // MARK: What is held (for tests and simulations)

    /// Sessions whose protocol is not finished, those over for the user included.
    package var sessionCount: Int { sessions.count }
    /// Dialogs, early ones included.
    package var dialogCount: Int { dialogs.count }
    /// Timers of the agent that are armed; the transactions' own are not among them.
    package var timerCount: Int { timers.count }
    /// Requests of ours without a final answer, and waiting name resolutions.
    package var requestCount: Int { requests.count + locating.count + connecting.count + races.count }
    /// Everything kept for late copies: ends with the transactions.
    package var residueCount: Int { acceptedInvites.count + serverInvites.count }
    /// Referrals that are not over, both directions.
    package var referralCount: Int { referrals.count }
    /// Counted unanswered INVITEs of unknown sources.
    package var unansweredCount: Int { unansweredBySource.values.reduce(0, +) }
    /// The counters of the transport and transaction layers.
    public var stackCounters: Counters<StackCounter> { stack.counters }
}
