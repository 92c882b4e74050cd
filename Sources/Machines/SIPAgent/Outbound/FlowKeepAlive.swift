// SPDX-License-Identifier: Apache-2.0
//
// The keep-alive of one flow (RFC 5626 §4.4).
//
//   connection:  resting ─interval─► pinged ─pong─► resting
//                                      └ 10 s ─► failed, if this server ever answered or promised to
//   datagrams:   resting ─interval─► binding ─response─► resting          (another address than before: failed)
//                                      └ 7 tries ─► failed, if this server ever answered; else line ends from now on

import Essentials
import STUN

/// What a STUN response said.
public struct STUNSign: Sendable, Hashable {
    public var transaction: STUNTransactionID
    public var mapped: SocketAddress?

    public init(transaction: STUNTransactionID, mapped: SocketAddress?) {
        self.transaction = transaction
        self.mapped = mapped
    }
}

struct FlowKeepAlive {
    enum Step: Equatable {
        case nothing
        /// Two line ends on a connection, to be answered by one.
        case ping
        /// A STUN binding request.
        case bind(STUNTransactionID)
        /// Line ends as a datagram, which nobody answers.
        case lineEnds
        case failed(FlowFault)
    }

    private enum State {
        case resting
        case pinged
        case binding(STUNTransactionID, tries: Int)
    }

    let source: MessageSource
    /// When the flow came up.
    let began: MonotonicTime
    /// The longest time between two keep-alives.
    var interval: Interval
    /// The server promised to answer, or did: silence means that the flow is dead.
    var expectsAnswer: Bool
    private(set) var mapped: SocketAddress?
    private(set) var deadline: MonotonicTime
    private let settings: KeepAliveSettings
    private var state = State.resting
    private var knowsNoSTUN = false

    init(
        _ source: MessageSource, interval: Interval, expectsAnswer: Bool, settings: KeepAliveSettings, random: RandomSource,
        now: MonotonicTime
    ) {
        self.source = source
        self.interval = interval
        // A server that knows RFC 5626 need not have STUN; only its answer shows that.
        self.expectsAnswer = expectsAnswer && source.transport.isReliable
        self.settings = settings
        began = now
        deadline = now
        rest(random, now)
    }

    private mutating func rest(_ random: RandomSource, _ now: MonotonicTime) {
        state = .resting
        deadline = now + .seconds(interval.seconds * (0.8 + 0.2 * random.fraction()))
    }

    /// The deadline has come.
    mutating func due(_ random: RandomSource, now: MonotonicTime) -> Step {
        switch state {
        case .resting where source.transport.isReliable:
            state = .pinged
            deadline = now + settings.pongLimit
            return .ping
        case .resting where knowsNoSTUN:
            rest(random, now)
            return .lineEnds
        case .resting:
            return bind(STUNTransactionID(random: random), tries: 1, now)
        case .pinged:
            guard !expectsAnswer else { return .failed(.silent) }
            rest(random, now)
            return .nothing
        case .binding(let transaction, let tries) where tries < settings.stunTries:
            return bind(transaction, tries: tries + 1, now)
        case .binding:
            guard !expectsAnswer else { return .failed(.silent) }
            knowsNoSTUN = true
            rest(random, now)
            return .lineEnds
        }
    }

    private mutating func bind(_ transaction: STUNTransactionID, tries: Int, _ now: MonotonicTime) -> Step {
        state = .binding(transaction, tries: tries)
        let factor = tries < settings.stunTries ? Int64(1) << Int64(min(tries - 1, 16)) : 16
        deadline = now + settings.stunRetransmission * factor
        return .bind(transaction)
    }

    /// A sign of life came over the flow.
    mutating func receive(_ sign: KeepAliveSign, _ random: RandomSource, now: MonotonicTime) -> Step {
        switch (sign, state) {
        case (.pong, .pinged):
            expectsAnswer = true
            rest(random, now)
        case (.binding(let sign), .binding(let transaction, _)) where sign.transaction == transaction:
            guard let address = sign.mapped else {
                // It refuses; what it refuses keeps the NAT's binding all the same.
                knowsNoSTUN = true
                rest(random, now)
                return .nothing
            }
            expectsAnswer = true
            if let old = mapped, old != address { return .failed(.moved(from: old, to: address)) }
            mapped = address
            rest(random, now)
        default: break
        }
        return .nothing
    }
}
