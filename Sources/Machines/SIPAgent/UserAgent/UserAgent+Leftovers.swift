// SPDX-License-Identifier: Apache-2.0

extension UserAgent {
    /// What the agent itself may not keep once it has told `.stopped`; the transactions below end by their own times.
    package var heldAfterStop: [String] {
        [
            (sessionCount, "sessions"), (dialogCount, "dialogs"), (timerCount, "agent timers"), (requestCount, "requests"),
            (subscriptions.count, "subscriptions"),
        ]
        .filter { $0.0 != 0 }.map { "\($0.0) \($0.1) after the stop" }
    }

    /// What the agent and the layers below still keep of calls and requests, each kind with its count; empty: nothing.
    /// A registered account keeps the timer of its refresh.
    package var leftovers: [String] {
        [
            (sessionCount, "sessions"), (dialogCount, "dialogs"), (timerCount, "agent timers"), (requestCount, "requests"),
            (residueCount, "kept INVITEs"), (unansweredCount, "counted INVITEs"), (referralCount, "referrals"),
            (subscriptions.count, "subscriptions"),
            (stack.transactionCount, "transactions"),
            (stack.pendingTimerCount, "transaction timers"),
        ].filter { $0.0 != 0 }.map { "\($0.0) \($0.1)" }
    }
}
