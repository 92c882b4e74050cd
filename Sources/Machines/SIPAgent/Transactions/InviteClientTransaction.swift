// SPDX-License-Identifier: Apache-2.0
//
// The INVITE client transaction: RFC 3261 §17.1.1, figure 5, as RFC 6026 §8.4 (figure 3) updates it.
//
//                 |INVITE sent, A and B armed
//                 V
//   timer A       +----------+  timer B, transport error: tell the user
//   +------------>| Calling  |-------------------------------------------+
//   +-- resend ---+----------+                                           |
//       1xx |       | 2xx   | 3xx–6xx: ACK                                |
//           V       |       |                                            |
//   +------------+  |       |                                            |
//   | Proceeding |--+--2xx--|---> +----------+  timer M                  |
//   +------------+          |     | Accepted |-------------------------->|
//           | 3xx–6xx: ACK  |     +----------+  (every 2xx to the user)  |
//           V               V                                            V
//          +-----------------+   timer D, transport error          +------------+
//          |    Completed    |------------------------------------>| Terminated |
//          +-----------------+   (repeats: ACK again)              +------------+

import Essentials

package struct InviteClientTransaction: Sendable, Hashable {
    package enum State: Sendable, Hashable {
        /// The INVITE is out; `interval` is what timer A runs now (nil over reliable transports).
        case calling(interval: Interval?)
        /// A provisional response came.
        case proceeding
        /// A final response other than 2xx came and was acknowledged; timer D absorbs its repeats.
        case completed
        /// A 2xx came; timer M lets further ones (repeats, forks) through to the user.
        case accepted
        case terminated
    }

    package private(set) var state: State
    private let isReliable: Bool

    package init(isReliable: Bool) {
        self.isReliable = isReliable
        state = .calling(interval: nil)
    }

    /// Sends the request; arms timer A (unreliable transports) and timer B.
    package mutating func start(_ times: TransactionTimes) -> TransactionStep {
        state = .calling(interval: isReliable ? nil : times.t1)
        return TransactionStep(
            .transmit, retransmission: isReliable ? .keep : .arm(times.t1), lifetime: .arm(times.timeout))
    }

    /// A response came with `status`.
    package mutating func receive(status: Int, _ times: TransactionTimes) -> TransactionStep {
        switch state {
        case .calling, .proceeding:
            if status < 200 {
                // §17.1.1.2: no more retransmissions; no limit on the time in Proceeding either. A limit that a CANCEL
                // has set (`cancelSent`) must hold on, so only Calling's timer B is stopped.
                let isFirst = state != .proceeding
                state = .proceeding
                return TransactionStep(
                    isFirst ? [.deliver, .provisionalCame] : .deliver, retransmission: .cancel,
                    lifetime: isFirst ? .cancel : .keep)
            }
            if status < 300 {
                state = .accepted
                return TransactionStep(.deliver, retransmission: .cancel, lifetime: .arm(times.timeout))
            }
            if isReliable {
                state = .terminated
                return .end([.acknowledge, .deliver])
            }
            state = .completed
            return TransactionStep([.acknowledge, .deliver], retransmission: .cancel, lifetime: .arm(times.d))
        case .completed:
            return TransactionStep(status >= 300 ? [.acknowledge, .absorbed] : .unexpected)
        case .accepted:
            return TransactionStep(status >= 200 && status < 300 ? .deliver : .unexpected)
        case .terminated:
            return TransactionStep(.unexpected)
        }
    }

    /// Timer A.
    package mutating func retransmissionTimerFired(_ times: TransactionTimes) -> TransactionStep {
        switch state {
        case .calling(let interval?):
            let doubled = interval * 2
            state = .calling(interval: doubled)
            return TransactionStep(.transmit, retransmission: .arm(doubled))
        case .calling(nil), .proceeding, .completed, .accepted, .terminated:
            return TransactionStep()
        }
    }

    /// Timer B (Calling), the limit after CANCEL (Proceeding, §9.1), timer D (Completed), timer M (Accepted).
    package mutating func lifetimeTimerFired() -> TransactionStep {
        switch state {
        case .calling, .proceeding:
            state = .terminated
            return .end(.timedOut)
        case .completed, .accepted:
            state = .terminated
            return .end()
        case .terminated:
            return TransactionStep()
        }
    }

    /// The request or its ACK could not be sent, or the connection is gone.
    ///
    /// In Proceeding nothing happens at once: the response may still come over another connection (§18.2.2), but
    /// no longer for ever.
    package mutating func transportFailed(_ times: TransactionTimes) -> TransactionStep {
        switch state {
        case .calling:
            state = .terminated
            return .end(.transportFailed)
        case .proceeding:
            return TransactionStep(lifetime: .arm(times.timeout))
        case .completed:
            state = .terminated
            return .end()
        case .accepted, .terminated:
            return TransactionStep()
        }
    }

    /// A CANCEL for this INVITE went out: a final response must come within 64·T1 (§9.1).
    package func cancelSent(_ times: TransactionTimes) -> TransactionStep {
        switch state {
        case .proceeding: TransactionStep(lifetime: .arm(times.timeout))
        case .calling, .completed, .accepted, .terminated: TransactionStep()
        }
    }
}
