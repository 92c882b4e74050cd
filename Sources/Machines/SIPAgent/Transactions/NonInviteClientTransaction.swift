// SPDX-License-Identifier: Apache-2.0
//
// The non-INVITE client transaction: RFC 3261 §17.1.2, figure 6.
//
//                    |request sent, E and F armed
//                    V
//   timer E    +------------+  timer F, transport error: tell the user
//   +--------->|   Trying   |---------------------------------------+
//   +- resend -+------------+                                       |
//           1xx |     | final                                       |
//               V     |                                             |
//   timer E  +--|-----V---+  timer F, transport error: tell user     |
//   +------->| Proceeding |--------------------------------------->  |
//   + resend +------------+  final                                  |
//                    V V                                            V
//              +------------+  timer K (T4; at once if reliable) +------------+
//              | Completed  |----------------------------------->| Terminated |
//              +------------+                                    +------------+

import Essentials

package struct NonInviteClientTransaction: Sendable, Hashable {
    package enum State: Sendable, Hashable {
        /// The request is out; `interval` is what timer E runs now (nil over reliable transports).
        case trying(interval: Interval?)
        /// A provisional response came; timer E runs T2.
        case proceeding
        /// The final response came; timer K absorbs its repeats.
        case completed
        case terminated
    }

    package private(set) var state: State
    private let isReliable: Bool

    package init(isReliable: Bool) {
        self.isReliable = isReliable
        state = .trying(interval: nil)
    }

    /// Sends the request; arms timer E (unreliable transports) and timer F.
    package mutating func start(_ times: TransactionTimes) -> TransactionStep {
        state = .trying(interval: isReliable ? nil : times.t1)
        return TransactionStep(
            .transmit, retransmission: isReliable ? .keep : .arm(times.t1), lifetime: .arm(times.timeout))
    }

    /// A response came with `status`.
    package mutating func receive(status: Int, _ times: TransactionTimes) -> TransactionStep {
        switch state {
        case .trying, .proceeding:
            if status < 200 {
                state = .proceeding
                return TransactionStep(.deliver)
            }
            if isReliable {
                state = .terminated
                return .end(.deliver)
            }
            state = .completed
            return TransactionStep(.deliver, retransmission: .cancel, lifetime: .arm(times.t4))
        case .completed:
            return TransactionStep(status >= 200 ? .absorbed : .unexpected)
        case .terminated:
            return TransactionStep(.unexpected)
        }
    }

    /// Timer E.
    package mutating func retransmissionTimerFired(_ times: TransactionTimes) -> TransactionStep {
        switch state {
        case .trying(let interval?):
            let next = min(interval * 2, times.t2)
            state = .trying(interval: next)
            return TransactionStep(.transmit, retransmission: .arm(next))
        case .proceeding where !isReliable:
            return TransactionStep(.transmit, retransmission: .arm(times.t2))
        case .trying(nil), .proceeding, .completed, .terminated:
            return TransactionStep()
        }
    }

    /// Timer F (Trying, Proceeding), timer K (Completed).
    package mutating func lifetimeTimerFired() -> TransactionStep {
        switch state {
        case .trying, .proceeding:
            state = .terminated
            return .end(.timedOut)
        case .completed:
            state = .terminated
            return .end()
        case .terminated:
            return TransactionStep()
        }
    }

    /// The request could not be sent, or the connection is gone.
    package mutating func transportFailed(_ times: TransactionTimes) -> TransactionStep {
        switch state {
        case .trying, .proceeding:
            state = .terminated
            return .end(.transportFailed)
        case .completed, .terminated:
            return TransactionStep()
        }
    }
}
