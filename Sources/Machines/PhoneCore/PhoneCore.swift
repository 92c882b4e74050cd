// SPDX-License-Identifier: Apache-2.0
//
// A phone as one machine. The user agent below it speaks SIP; the media engine beside it is driven by commands:
//
//     commands ──┐                         ┌── transport effects, DNS questions
//     transport ─┤   PhoneCore             ├── media commands
//     answers  ──┤     UserAgent (SIP)     │
//     media    ──┘     OfferAnswer (SDP)   └── events to the application
//
// Change one thing, then drain `nextEffect()` until it gives nil, then ask for `nextDeadline`.

import Crypto
import Essentials
import Media
import RTP
import SDP
import SIP
import SIPAgent

/// A whole phone without input or output.
public final class PhoneCore {
    public let configuration: PhoneConfiguration
    package let agent: UserAgent
    let random: RandomSource
    var effects = EffectQueue()
    var calls: [CallID: Call] = [:]
    var callOfSession: [SessionID: CallID] = [:]
    var callOfPort: [PortID: CallID] = [:]
    /// Calls whose last statistics have not come yet.
    var closingPorts: [PortID: ClosingPort] = [:]
    var silences = Deadlines<CallID>()
    /// Pauses between digits that go by INFO.
    var pauses = Deadlines<CallID>()
    /// Tones that wait whether their digit comes by another way too.
    var tones = Deadlines<CallID>()
    /// Calls that answer themselves after a while.
    var autoAnswers = Deadlines<CallID>()
    var accounts: [AccountID: AccountConfiguration] = [:]
    /// The codecs of accounts that have their own.
    private var audioOfAccount: [AccountID: AudioCapabilities] = [:]

    /// What calls of this account offer and answer.
    func audio(of account: AccountID?) -> AudioCapabilities { account.flatMap { audioOfAccount[$0] } ?? configuration.audio }
    var transfers = Transfers()
    var conferences = Conferences()
    var correspondence = Correspondence()
    var isStopping = false
    /// The agent has stopped; when the phone stops at the latest, last statistics or not.
    private var stopLimit: MonotonicTime?
    private var lastCall: UInt64 = 0
    private var lastPort: UInt32 = 0

    /// - Parameters:
    ///   - cryptography: hashes for digest authentication.
    ///   - random: tags, branches, SSRCs; cryptographic in production, seeded in a simulation.
    public init(configuration: PhoneConfiguration, cryptography: any Cryptography, random: RandomSource) {
        var configuration = configuration
        // One limit decides: a call refused by the agent could not be told to the application.
        configuration.agent.maximumCalls = max(configuration.agent.maximumCalls, configuration.maximumCalls)
        self.configuration = configuration
        self.random = random
        agent = UserAgent(configuration: configuration.agent, cryptography: cryptography, random: random)
    }

    // MARK: Inputs

    /// What the world tells of its flows.
    public func handle(_ input: TransportInput, now: MonotonicTime) {
        agent.handle(input, now: now)
        drainAgent(now: now)
    }

    /// The answer to a `PhoneEffect.resolve`.
    public func handle(_ answer: DNSAnswer, now: MonotonicTime) {
        agent.handle(answer, now: now)
        drainAgent(now: now)
    }

    /// Time has come to `now`: everything that is due happens.
    public func advance(to now: MonotonicTime) {
        agent.advance(to: now)
        drainAgent(now: now)
        while let call = silences.popDue(at: now) { endVanished(call, now: now) }
        while let transfer = transfers.deadlines.popDue(at: now) { transferDue(transfer, now: now) }
        while let call = pauses.popDue(at: now) { sendNextInfoDigit(call, now: now) }
        while let call = tones.popDue(at: now) { tonesDue(call, now: now) }
        while let call = autoAnswers.popDue(at: now) { answerDue(call, now: now) }
        drainAgent(now: now)
        if let stopLimit, stopLimit <= now { stop() }
    }

    /// When `advance(to:)` must be called next; nil while nothing waits.
    public var nextDeadline: MonotonicTime? {
        var earliest = agent.nextDeadline
        for deadline in [silences.next, pauses.next, tones.next, autoAnswers.next, transfers.deadlines.next, stopLimit] {
            if let deadline { earliest = min(earliest ?? deadline, deadline) }
        }
        return earliest
    }

    /// The next thing to be done by the world; nil when all is done.
    public func nextEffect() -> PhoneEffect? { effects.pop() }

    // MARK: Accounts

    /// Adds an account. If it registers, the first REGISTER leaves at once.
    /// - Parameter audio: the codecs of the account's calls, their order and parameters; nil: the phone's.
    public func addAccount(
        _ account: AccountConfiguration, audio: AudioCapabilities? = nil, now: MonotonicTime
    ) throws(PhoneError) -> AccountID {
        if isStopping { throw PhoneError(.stopping, "The phone is being shut down.") }
        for header in account.calls.headers where UserAgent.isReserved(header.name) {
            throw PhoneError(.badHeader, "“\(header.name)” is set by the phone itself.")
        }
        let id = agent.addAccount(account, now: now)
        accounts[id] = account
        audioOfAccount[id] = audio
        drainAgent(now: now)
        return id
    }

    /// Registers now, whatever the state: after `unregister`, or to refresh.
    public func register(_ account: AccountID, now: MonotonicTime) throws(PhoneError) {
        if isStopping { throw PhoneError(.stopping, "The phone is being shut down.") }
        try require(account)
        agent.register(account, now: now)
        drainAgent(now: now)
    }

    /// Takes the registration back; calls go on.
    public func unregister(_ account: AccountID, now: MonotonicTime) throws(PhoneError) {
        try require(account)
        agent.unregister(account, now: now)
        drainAgent(now: now)
    }

    /// Unregisters and forgets the account.
    public func removeAccount(_ account: AccountID, now: MonotonicTime) throws(PhoneError) {
        try require(account)
        accounts[account] = nil
        audioOfAccount[account] = nil
        agent.removeAccount(account, now: now)
        drainAgent(now: now)
    }

    /// Ends every call and registration in good order; `PhoneEvent.stopped` tells when all is done, the last statistics
    /// of the calls included. The protocol's tail has its own limit, and so have the statistics: it always comes.
    public func shutDown(now: MonotonicTime) {
        guard !isStopping else { return }
        isStopping = true
        for id in calls.keys.sorted() where calls[id]?.session == nil { finish(id, PhoneCauses.shutDown) }
        // The agent ends the others: who rings here is told 480, not that we declined.
        agent.shutDown(now: now)
        drainAgent(now: now)
    }

    private func agentStopped(now: MonotonicTime) {
        stopLimit = now + .milliseconds(500)
        stopIfDone()
    }

    func stopIfDone() {
        if stopLimit != nil, closingPorts.isEmpty { stop() }
    }

    private func stop() {
        stopLimit = nil
        closingPorts = [:]
        emit(.stopped)
    }

    // MARK: What tests look at

    /// Calls that are not over.
    public var callCount: Int { calls.count }

    /// Whether nothing is left over from calls: used by simulations after each run.
    package var isQuiet: Bool {
        calls.isEmpty && closingPorts.isEmpty && silences.next == nil && pauses.next == nil && tones.next == nil
            && autoAnswers.next == nil && callOfSession.isEmpty && callOfPort.isEmpty && transfers.isEmpty && conferences.isEmpty
    }

    // MARK: Inner

    func emit(_ event: PhoneEvent) {
        effects.push(.event(event))
        if case .callState = event, !correspondence.subscribers.isEmpty { correspondence.isLineChanged = true }
    }

    func order(_ command: MediaCommand) { effects.push(.media(command)) }

    func makeCallID() -> CallID {
        lastCall += 1
        return CallID(rawValue: lastCall)
    }

    /// A port number for the application or a call. Ports of one phone share one number space.
    public func makePort() -> PortID {
        lastPort &+= 1
        return PortID(rawValue: lastPort)
    }

    func require(_ account: AccountID) throws(PhoneError) {
        guard accounts[account] != nil else { throw PhoneError(.noSuchAccount, "There is no such account.") }
    }

    func drainAgent(now: MonotonicTime) {
        takeEffects(now: now)
        while !transfers.reports.isEmpty {
            sendTransferReports(now: now)
            takeEffects(now: now)
        }
    }

    private func takeEffects(now: MonotonicTime) {
        while let effect = agent.nextEffect() {
            switch effect {
            case .transport(let transport): effects.push(.transport(transport))
            case .resolve(let question): effects.push(.resolve(question))
            case .checkNetwork: effects.push(.checkNetwork)
            case .event(let event): handle(event, now: now)
            }
        }
        if correspondence.isLineChanged {
            tellSubscribers(now: now)
            drainAgent(now: now)
        }
    }

    private func handle(_ event: UserAgentEvent, now: MonotonicTime) {
        switch event {
        case .listening(let transport, let address): emit(.listening(transport, address))
        case .registration(let account, let state):
            emit(.registration(account, state))
            registrationChanged(account, state, now: now)
        case .event(let news): handle(news, now: now)
        case .incoming(let session, let invite): incoming(session, invite, now: now)
        case .progress(let session, let message): progress(session, message, now: now)
        case .answered(let session, let message): answered(session, message, now: now)
        case .confirmed(let session, let message): confirmed(session, message, now: now)
        case .reinvited(let session, let message): reinvited(session, message, now: now)
        case .reinviteAnswered(let session, let message): reinviteAnswered(session, message, now: now)
        case .reinviteFailed(let session, let cause, let willRetry):
            reinviteFailed(session, cause, willRetry: willRetry, now: now)
        case .reinviteDue(let session): reinviteDue(session, now: now)
        case .refreshDue(let session): refreshDue(session, now: now)
        case .moveDue(let session): moveDue(session, now: now)
        case .update(let session, let update): updated(session, update, now: now)
        case .earlyOffer(let session, let message): earlyOffer(session, message, now: now)
        case .earlyAnswer(let session, let message): earlyAnswer(session, message, now: now)
        case .info(let session, let contentType, let body): info(session, contentType, body, now: now)
        case .infoAnswered(let session, let status, let accepted): infoAnswered(session, status, accepted, now: now)
        case .referral(let referral, let event): self.referral(referral, event, now: now)
        case .ended(let session, let end): sessionEnded(session, end, now: now)
        case .network(let change): follow(change, now: now)
        case .warning(let cause): emit(.warning(nil, cause))
        case .stopped: agentStopped(now: now)
        }
    }
}

/// A port that was closed and whose last statistics have not come.
struct ClosingPort {
    let call: CallID
    /// Whether the application knows the call, and so is to have its statistics.
    let isAnnounced: Bool
}

/// Effects in the order in which they arose. Of one type: a queue from another module is not made for its element, and looks up types at each turn.
struct EffectQueue {
    private var effects: [PhoneEffect] = []
    private var first = 0

    mutating func push(_ effect: PhoneEffect) { effects.append(effect) }

    mutating func pop() -> PhoneEffect? {
        guard first < effects.count else { return nil }
        let effect = effects[first]
        first += 1
        if first == effects.count {
            effects.removeAll(keepingCapacity: first < 256)
            first = 0
        }
        return effect
    }
}
