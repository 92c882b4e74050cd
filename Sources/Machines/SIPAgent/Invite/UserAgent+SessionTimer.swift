// SPDX-License-Identifier: Apache-2.0
//
// Session timers (RFC 4028): both sides agree on an interval, one of them refreshes the session by re-INVITE, and who
// hears nothing ends the call.
//
//   2xx with Session-Expires: 1800        0 s        900 s                  1768 s
//     the refreshes are ours              ├─────────── refreshDue ─ again ──┤ no 2xx: BYE
//     the refreshes are theirs            ├─────────────────────────────────┤ no re-INVITE: BYE
//
// A shorter interval than the RFC allows is used all the same (B-047), down to `leastSessionInterval`.

import Essentials
import SIP

/// The session timer of an established session.
struct SessionTimer {
    /// As agreed, seconds.
    let interval: UInt32
    let refreshesAreOurs: Bool
    /// When the call is over unless it is refreshed before.
    let deadline: MonotonicTime
    /// Between two reminders that a refresh of ours is due.
    let reminder: Interval
}

extension UserAgent {
    /// The option tag (RFC 4028 §12).
    static let timerTag = "timer"
    /// §4: what intervals should not be below, seconds.
    private static let leastByRFC: UInt32 = 90

    // MARK: Our requests

    /// The interval that an INVITE of ours asks for (§7.1).
    func askForTimer(_ request: ClientRequest) {
        guard configuration.sessionInterval > 0 else { return }
        request.sessionInterval = UInt32(min(max(configuration.sessionInterval, Int(Self.leastByRFC)), 86_400))
        request.message.add(.sessionExpires, "\(request.sessionInterval)")
    }

    /// A re-INVITE of ours asks for what is agreed, and leaves the refreshes to who has them (§7.4).
    func keepTimer(_ request: ClientRequest, of session: InviteSession) {
        request.message.add(.supported, Self.timerTag)
        guard let timer = session.sessionTimer else { return }
        request.sessionInterval = max(timer.interval, session.minimumInterval ?? 0)
        let field = SessionExpires(interval: request.sessionInterval, refresher: timer.refreshesAreOurs ? .uac : .uas)
        request.message.add(.sessionExpires, field.description)
        if let least = session.minimumInterval { request.message.add(.minSE, "\(least)") }
    }

    /// 422: again with the interval that it names (§7.3, B-046); false: that is of no use.
    func raiseInterval(_ response: SIPMessage, _ request: ClientRequest, now: MonotonicTime) -> Bool {
        guard request.method == .invite || request.method == .update, let least = response.minSE, least > request.sessionInterval,
            request.intervalRetries < configuration.maximumIntervalRetries, let target = request.target
        else { return false }
        counters.increment(.sessionIntervalRaised)
        request.intervalRetries += 1
        request.sessionInterval = least
        let session = session(of: request.purpose)
        session?.minimumInterval = least
        let refresher: SessionExpires.Refresher? = session?.sessionTimer.map { $0.refreshesAreOurs ? .uac : .uas }
        request.message.set(.sessionExpires, SessionExpires(interval: least, refresher: refresher).description)
        request.message.set(.minSE, "\(least)")
        raiseSequence(request)
        return transmit(request, to: target, now: now)
    }

    /// The timer that a 2xx to our INVITE or re-INVITE sets (§7.2).
    func adoptTimer(_ session: InviteSession, from response: SIPMessage, now: MonotonicTime) {
        guard response.contains(.sessionExpires), let expires = response.sessionExpires, expires.interval > 0 else {
            forgetSessionTimer(session)
            return
        }
        noteAllowed(session, response)
        set(session, expires.interval, refreshesAreOurs: expires.refresher != .uas, now: now)
    }

    // MARK: Requests of the peer

    /// The timer that our 2xx sets, and what the 2xx says of it (§9). What the peer asks for is taken, short or long.
    func agreeTimer(_ session: InviteSession, _ request: SIPMessage, _ response: inout MessageBuilder, now: MonotonicTime) {
        response.add(.supported, Self.timerTag)
        guard request.contains(.sessionExpires), let asked = request.sessionExpires, asked.interval > 0 else {
            forgetSessionTimer(session)
            return
        }
        // A proxy may ask for a timer that the caller does not know of: then the refreshes are ours (table 2).
        let isKnown = (request.supported + request.require).contains { $0.asciiLowercased == Self.timerTag }
        let refresher = isKnown ? asked.refresher ?? .uac : .uas
        response.add(.sessionExpires, SessionExpires(interval: asked.interval, refresher: refresher).description)
        if refresher == .uac { response.add(.require, Self.timerTag) }
        noteAllowed(session, request)
        set(session, asked.interval, refreshesAreOurs: refresher == .uas, now: now)
    }

    // MARK: Time

    private func set(_ session: InviteSession, _ interval: UInt32, refreshesAreOurs: Bool, now: MonotonicTime) {
        guard session.phase != .over else { return }
        if interval < Self.leastByRFC { counters.increment(.sessionIntervalShort) }
        let seconds = max(Int64(interval), Int64(min(max(configuration.leastSessionInterval, 2), 90)))
        let whole = Interval.milliseconds(seconds * 1000)
        let margin = Interval.milliseconds(min(32_000, seconds * 1000 / 3))
        let timer = SessionTimer(
            interval: interval, refreshesAreOurs: refreshesAreOurs, deadline: now + (whole - margin),
            reminder: .milliseconds(seconds * 100))
        session.sessionTimer = timer
        let due = refreshesAreOurs ? now + .milliseconds(seconds * 500) : timer.deadline
        timers.arm(.session(session.id), at: due)
    }

    func forgetSessionTimer(_ session: InviteSession) {
        guard session.sessionTimer != nil else { return }
        session.sessionTimer = nil
        timers.cancel(.session(session.id))
    }

    /// A refresh of ours is due, or none came in time.
    func sessionTimerDue(_ id: SessionID, now: MonotonicTime) {
        guard let session = sessions[id], session.phase != .over, let timer = session.sessionTimer else { return }
        guard now < timer.deadline else {
            counters.increment(.sessionExpired)
            hangUp(session, cause: Causes.sessionExpired, refusal: 408, now: now)
            return
        }
        timers.arm(.session(id), at: min(timer.deadline, now + timer.reminder))
        guard session.phase == .established, session.reinvite == nil, session.serverInvite == nil, session.update == nil else { return }
        counters.increment(.sessionRefreshDue)
        if !refreshByUpdate(session, now: now) { emit(.refreshDue(id)) }
    }
}
