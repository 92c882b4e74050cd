// SPDX-License-Identifier: Apache-2.0
//
// The INVITE server transaction: RFC 3261 §17.2.1, figure 7, as RFC 6026 §8.7 (figure 5) updates it.
//
//                   |INVITE: to the user; 100 if none comes within 200 ms
//                   V
//   INVITE repeat +------------+  2xx: send           +----------+  timer L
//   resend 1xx <--| Proceeding |--------------------->| Accepted |------------+
//                 +------------+                      +----------+            |
//                   | 3xx–6xx: send, G and H    (repeats absorbed, 2xx of     |
//                   V                            the user sent, ACK to it)    |
//   timer G, INVITE +-----------+  timer H, transport error: tell user        |
//   resend      <---| Completed |------------------------------------------+  |
//                   +-----------+                                          |  |
//                   | ACK                                                  V  V
//                   V                                               +------------+
//                   +-----------+  timer I (T4; at once if reliable) | Terminated |
//                   | Confirmed |---------------------------------->+------------+
//                   +-----------+

import Essentials

package struct InviteServerTransaction: Sendable, Hashable {
    package enum State: Sendable, Hashable {
        /// No final response yet; `hasResponse`: a provisional one was sent, so repeats are answered with it.
        case proceeding(hasResponse: Bool)
        /// A final response other than 2xx is out; `interval` is what timer G runs now (nil over reliable transports).
        case completed(interval: Interval?)
        /// The ACK came; timer I absorbs its repeats.
        case confirmed
        /// A 2xx is out; its retransmission is the user's (RFC 6026 §7.1), repeats of the INVITE are absorbed.
        case accepted
        case terminated
    }

    package private(set) var state: State
    private let isReliable: Bool

    package init(isReliable: Bool) {
        self.isReliable = isReliable
        state = .proceeding(hasResponse: false)
    }

    /// The INVITE came.
    package mutating func start(_ times: TransactionTimes) -> TransactionStep {
        if times.tryingDelay <= .zero { return TransactionStep([.sendTrying, .deliver]) }
        return TransactionStep(.deliver, retransmission: .arm(times.tryingDelay))
    }

    /// The INVITE came again.
    package mutating func receiveRepeat() -> TransactionStep {
        switch state {
        case .proceeding(let hasResponse): TransactionStep(hasResponse ? [.absorbed, .transmit] : .absorbed)
        case .completed: TransactionStep([.absorbed, .transmit])
        case .confirmed, .accepted: TransactionStep(.absorbed)
        case .terminated: TransactionStep(.unexpected)
        }
    }

    /// An ACK came that belongs to this transaction.
    package mutating func receiveACK(_ times: TransactionTimes) -> TransactionStep {
        switch state {
        case .completed:
            if isReliable {
                state = .terminated
                return .end()
            }
            state = .confirmed
            return TransactionStep(retransmission: .cancel, lifetime: .arm(times.t4))
        case .confirmed:
            return TransactionStep(.absorbed)
        case .accepted:
            return TransactionStep(.deliver)
        case .proceeding, .terminated:
            return TransactionStep(.unexpected)
        }
    }

    /// The user gives a response.
    package mutating func respond(status: Int, _ times: TransactionTimes) -> TransactionStep {
        switch state {
        case .proceeding:
            if status < 200 {
                state = .proceeding(hasResponse: true)
                return TransactionStep(.transmit, retransmission: .cancel)
            }
            if status < 300 {
                state = .accepted
                return TransactionStep(.transmit, retransmission: .cancel, lifetime: .arm(times.timeout))
            }
            state = .completed(interval: isReliable ? nil : times.t1)
            return TransactionStep(
                .transmit, retransmission: isReliable ? .cancel : .arm(times.t1), lifetime: .arm(times.timeout))
        case .accepted:
            return TransactionStep(status >= 200 && status < 300 ? .transmit : .unexpected)
        case .completed, .confirmed, .terminated:
            return TransactionStep(.unexpected)
        }
    }

    /// The delay of 100 (Trying) in Proceeding; timer G in Completed.
    package mutating func retransmissionTimerFired(_ times: TransactionTimes) -> TransactionStep {
        switch state {
        case .proceeding(hasResponse: false):
            return TransactionStep(.sendTrying)
        case .completed(let interval?):
            let next = min(interval * 2, times.t2)
            state = .completed(interval: next)
            return TransactionStep(.transmit, retransmission: .arm(next))
        case .proceeding(hasResponse: true), .completed(nil), .confirmed, .accepted, .terminated:
            return TransactionStep()
        }
    }

    /// The stack's own 100 (Trying) went out.
    package mutating func tryingSent() {
        if case .proceeding = state { state = .proceeding(hasResponse: true) }
    }

    /// Timer H (Completed), timer I (Confirmed), timer L (Accepted).
    package mutating func lifetimeTimerFired() -> TransactionStep {
        switch state {
        case .completed:
            state = .terminated
            return .end(.timedOut)
        case .confirmed, .accepted:
            state = .terminated
            return .end()
        case .proceeding, .terminated:
            return TransactionStep()
        }
    }

    /// A response could not be sent.
    package mutating func transportFailed(_ times: TransactionTimes) -> TransactionStep {
        switch state {
        case .proceeding, .completed:
            state = .terminated
            return .end(.transportFailed)
        case .accepted:
            // RFC 6026 §8.7: the user is told, timer L goes on.
            return TransactionStep(.transportFailed)
        case .confirmed, .terminated:
            return TransactionStep()
        }
    }
}
