// SPDX-License-Identifier: Apache-2.0
//
// The non-INVITE server transaction: RFC 3261 §17.2.2, figure 8.
//
//             |request: to the user
//             V
//        +----------+  1xx: send    +------------+
//        |  Trying  |-------------->| Proceeding |---> request repeat, 1xx: send the 1xx
//        +----------+               +------------+
//             | final: send               | final: send      transport error: tell the user
//             V                           V
//        +----------------------------------+  timer J (64·T1; at once if reliable)  +------------+
//        |            Completed             |--------------------------------------->| Terminated |
//        +----------------------------------+  (request repeat: send it again)       +------------+

import Essentials

package struct NonInviteServerTransaction: Sendable, Hashable {
    package enum State: Sendable, Hashable {
        /// No response yet; repeats are dropped.
        case trying
        /// A provisional response is out; repeats are answered with it.
        case proceeding
        /// The final response is out; repeats are answered with it until timer J.
        case completed
        case terminated
    }

    package private(set) var state: State
    private let isReliable: Bool

    package init(isReliable: Bool) {
        self.isReliable = isReliable
        state = .trying
    }

    /// The request came.
    package mutating func start() -> TransactionStep { TransactionStep(.deliver) }

    /// The request came again.
    package mutating func receiveRepeat() -> TransactionStep {
        switch state {
        case .trying: TransactionStep(.absorbed)
        case .proceeding, .completed: TransactionStep([.absorbed, .transmit])
        case .terminated: TransactionStep(.unexpected)
        }
    }

    /// The user gives a response.
    package mutating func respond(status: Int, _ times: TransactionTimes) -> TransactionStep {
        switch state {
        case .trying, .proceeding:
            if status < 200 {
                state = .proceeding
                return TransactionStep(.transmit)
            }
            if isReliable {
                state = .terminated
                return .end(.transmit)
            }
            state = .completed
            return TransactionStep(.transmit, lifetime: .arm(times.timeout))
        case .completed, .terminated:
            return TransactionStep(.unexpected)
        }
    }

    /// Timer J.
    package mutating func lifetimeTimerFired() -> TransactionStep {
        switch state {
        case .completed:
            state = .terminated
            return .end()
        case .trying, .proceeding, .terminated:
            return TransactionStep()
        }
    }

    /// A response could not be sent.
    package mutating func transportFailed(_ times: TransactionTimes) -> TransactionStep {
        switch state {
        case .trying, .proceeding, .completed:
            state = .terminated
            return .end(.transportFailed)
        case .terminated:
            return TransactionStep()
        }
    }
}
