// SPDX-License-Identifier: Apache-2.0

extension UserAgent {
    /// What the agent and the layers below still keep of calls and requests, each kind with its count; empty: nothing.
    /// A registered account keeps the timer of its refresh.
    package var leftovers: [String] {
        [
            (sessionCount, "sessions"), (dialogCount, "dialogs"), (timerCount, "agent timers"), (requestCount, "requests"),
            (residueCount, "kept INVITEs"), (unansweredCount, "counted INVITEs"), (stack.transactionCount, "transactions"),
            (stack.pendingTimerCount, "transaction timers"),
        ].filter { $0.0 != 0 }.map { "\($0.0) \($0.1)" }
    }
}
