// SPDX-License-Identifier: Apache-2.0
//
// What a transaction machine (RFC 3261 §17, RFC 6026) wants done after one event. The machines hold states and
// intervals only; messages, flows and timers are the transaction layer's.

import Essentials

/// The intervals of RFC 3261 §17.1.1.1 (table 4).
public struct TransactionTimes: Sendable, Hashable {
    /// Estimate of the round trip: the first retransmission comes after it. RFC: 500 ms.
    public var t1: Interval
    /// The longest time between retransmissions of non-INVITE requests and INVITE responses. RFC: 4 s.
    public var t2: Interval
    /// How long a message may stay in the network. RFC: 5 s.
    public var t4: Interval
    /// Timer D over unreliable transports: how long an INVITE's ACK is kept for repeats of the response. RFC: at least 32 s.
    public var d: Interval
    /// A 100 (Trying) is sent to an INVITE that has no response after this time; zero: at once (§17.2.1). RFC: 200 ms.
    public var tryingDelay: Interval

    public init(
        t1: Interval = .milliseconds(500), t2: Interval = .seconds(4), t4: Interval = .seconds(5),
        d: Interval = .seconds(32), tryingDelay: Interval = .milliseconds(200)
    ) {
        self.t1 = t1
        self.t2 = t2
        self.t4 = t4
        self.d = d
        self.tryingDelay = tryingDelay
    }

    /// 64·T1: timers B, F, H, J, L and M.
    public var timeout: Interval { t1 * 64 }
}

/// What becomes of one of a transaction's two timers.
package enum TimerChange: Sendable, Hashable {
    case keep
    case cancel
    case arm(Interval)
}

/// What is to be done after an event.
package struct TransactionStep: Sendable, Hashable {
    package struct Actions: OptionSet, Sendable, Hashable {
        package let rawValue: UInt16
        package init(rawValue: UInt16) { self.rawValue = rawValue }
        /// Send the transaction's message (request or last response) again, or for the first time.
        package static let transmit = Actions(rawValue: 1)
        /// Build and send the ACK of a final response other than 2xx (§17.1.1.3).
        package static let acknowledge = Actions(rawValue: 2)
        /// Give the message to the transaction user.
        package static let deliver = Actions(rawValue: 4)
        /// Build and send 100 (Trying).
        package static let sendTrying = Actions(rawValue: 8)
        /// Tell the transaction user that nobody answered.
        package static let timedOut = Actions(rawValue: 16)
        /// Tell the transaction user that the message could not be sent.
        package static let transportFailed = Actions(rawValue: 32)
        /// A waiting CANCEL may go out now (§9.1).
        package static let provisionalCame = Actions(rawValue: 64)
        /// The message is not wanted in this state: drop and count it.
        package static let unexpected = Actions(rawValue: 128)
        /// The transaction is over; forget it.
        package static let terminated = Actions(rawValue: 256)
        /// A repeat that the transaction absorbed.
        package static let absorbed = Actions(rawValue: 512)
    }

    package var actions: Actions
    /// Timers A, E, G, and the delay of 100 (Trying).
    package var retransmission: TimerChange
    /// Timers B, D, F, H, I, J, K, L, M.
    package var lifetime: TimerChange

    package init(_ actions: Actions = [], retransmission: TimerChange = .keep, lifetime: TimerChange = .keep) {
        self.actions = actions
        self.retransmission = retransmission
        self.lifetime = lifetime
    }

    /// The end of the transaction, after `actions`.
    package static func end(_ actions: Actions = []) -> TransactionStep {
        TransactionStep(actions.union(.terminated), retransmission: .cancel, lifetime: .cancel)
    }
}
