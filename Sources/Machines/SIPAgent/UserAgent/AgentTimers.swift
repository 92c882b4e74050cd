// SPDX-License-Identifier: Apache-2.0

import Essentials

/// What the agent waits for.
enum AgentTimer: Hashable, Sendable {
    /// Our 2xx again, until the ACK (RFC 3261 §13.3.1.4).
    case repeatSuccess(SessionID)
    /// 64*T1 after our 2xx: no ACK came.
    case awaitACK(SessionID)
    /// Our reliable provisional response again, until the PRACK (RFC 3262 §3); 64*T1 after it: no PRACK came.
    case repeatProgress(SessionID)
    case awaitPRACK(SessionID)
    /// The wait after 491 or 500 to our re-INVITE.
    case reinvite(SessionID)
    /// A refresh of the session is due, or did not come (RFC 4028).
    case session(SessionID)
    /// An INVITE rang too long.
    case ringLimit(SessionID)
    /// A referral was not reported on, or its time is over.
    case referral(ReferralID)
    /// Refresh or retry of a registration.
    case registration(AccountID)
    /// A REGISTER took too long.
    case registrationLimit(AccountID)
    /// A keep-alive is due, or its answer.
    case keepAlive(AccountID)
    /// A target is silent, and there is another one.
    case patience(TransactionID)
    /// A connection that requests wait for is long in coming.
    case connection(FlowID)
    /// Two connections are being opened.
    case race(UInt64)
    /// Of a subscription or publication.
    case event(EventTimer)
    /// News of the network settle; the network is asked for again; it has been gone too long.
    case network, networkCheck, networkLoss
    case shutDown
}

/// The agent's timers, at most one for each purpose.
struct AgentTimers {
    private var queue = DeadlineQueue<AgentTimer>()
    private var handles: [AgentTimer: TimerHandle] = [:]

    /// Timers that are armed.
    var count: Int { handles.count }

    /// The earliest deadline.
    var next: MonotonicTime? { queue.first }

    /// Arms `timer`, in place of an earlier deadline for it.
    mutating func arm(_ timer: AgentTimer, at deadline: MonotonicTime) {
        if let old = handles[timer] { queue.cancel(old) }
        handles[timer] = queue.arm(deadline, timer)
    }

    /// A fault that a simulation plants (`PlantedFault.uncancelledTimer`).
    var ignoresCancel = false

    mutating func cancel(_ timer: AgentTimer) {
        if ignoresCancel { return }
        if let handle = handles.removeValue(forKey: timer) { queue.cancel(handle) }
    }

    func isArmed(_ timer: AgentTimer) -> Bool { handles[timer] != nil }

    /// Puts off by `interval` what waits for others to act: while we slept nobody could.
    mutating func postpone(by interval: Interval) {
        queue.postpone(by: interval) { timer in
            switch timer {
            case .repeatSuccess, .awaitACK, .repeatProgress, .awaitPRACK, .reinvite, .registrationLimit, .patience, .connection, .race,
                .event(.firstNotify), .event(.notify), .networkLoss, .shutDown:
                true
            case .session, .ringLimit, .referral, .registration, .keepAlive, .event, .network, .networkCheck: false
            }
        }
    }

    /// Takes the earliest timer that is due at `now`.
    mutating func popDue(_ now: MonotonicTime) -> AgentTimer? {
        guard let timer = queue.popDue(at: now) else { return nil }
        handles[timer] = nil
        return timer
    }
}
