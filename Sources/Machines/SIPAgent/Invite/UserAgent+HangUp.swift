// SPDX-License-Identifier: Apache-2.0
//
// The end of a session (RFC 3261 §9, §15). For the user it is over at once; what the protocol owes follows:
//
//   calling          CANCEL once a provisional response came, then 487; a 2xx that crosses it: ACK, BYE (B-036)
//   answering        ACK, BYE
//   ringing          603, or another final status
//   awaitingACK      BYE, but not before the ACK or its time-out (§15)
//   established      BYE; a re-INVITE of the peer that waits gets 487 first

import Essentials
import SIP

extension UserAgent {
    /// Ends the session in whatever state it is.
    ///
    /// - Parameter cause: why; nil: the user hung up.
    /// - Parameter reason: told to the peer in CANCEL or BYE (RFC 3326); nil: the status of the cause, where it has one.
    public func hangUp(_ id: SessionID, cause: Cause? = nil, reason: Reason? = nil, now: MonotonicTime) {
        guard let session = sessions[id], session.phase != .over else { return }
        if let reason = reason ?? cause?.status.map({ Reason(cause: $0, text: cause?.sentence) }) {
            session.endHeaders.append((.reason, reason.description))
        }
        // A peer that was lost is not expected to answer.
        session.tellsLostBye = cause == nil
        hangUp(session, cause: cause, refusal: cause?.status ?? 603, now: now)
        pump(now)
    }

    func hangUp(_ session: InviteSession, cause: Cause?, refusal: Int, now: MonotonicTime) {
        switch session.phase {
        case .calling: abandonInvite(session, now: now)
        case .answering:
            if let transaction = session.acceptedInvite, let dialog = session.dialog {
                session.acceptedInvite = nil
                acknowledge(transaction, dialog, body: nil, now: now)
            }
            sendBye(session, now: now)
        case .ringing: refuseInvite(session, (300..<700).contains(refusal) ? refusal : 603, now: now)
        case .awaitingACK: session.owesBye = true
        case .established:
            acknowledge(session.id, answer: nil, now: now)
            if let server = session.serverInvite, server.success != nil {
                session.owesBye = true
            } else {
                refuseInvite(session, 487, now: now)
                sendBye(session, now: now)
            }
        case .over: break
        }
        end(session, byRemote: false, cause ?? Causes.hungUp, now: now)
    }

    /// Takes an INVITE back: never sent, or CANCEL (which the stack holds until a provisional response, §9.1).
    private func abandonInvite(_ session: InviteSession, now: MonotonicTime) {
        guard let request = session.invite else { return }
        request.isAbandoned = true
        if let transaction = request.transaction {
            forgetPatience(request, transaction)
            stack.cancel(transaction, headers: session.endHeaders, now: now)
        } else if abandonSearch(of: request) || request.isStranded {
            session.invite = nil
            session.openRequests -= 1
        }
    }

    /// Tells the user that the session is over; comes once.
    func end(_ session: InviteSession, byRemote: Bool, _ cause: Cause, now: MonotonicTime) {
        guard session.phase != .over else {
            removeIfFinished(session)
            return
        }
        session.phase = .over
        activeCalls -= 1
        releaseSource(session)
        timers.cancel(.ringLimit(session.id))
        timers.cancel(.reinvite(session.id))
        session.reinviteIsWanted = false
        forgetSessionTimer(session)
        emit(.ended(session.id, SessionEnd(byRemote: byRemote, cause: cause, wasEstablished: session.wasEstablished)))
        removeIfFinished(session)
    }

    /// Sends the BYE of the session's dialog, once.
    func sendBye(_ session: InviteSession, now: MonotonicTime) {
        session.owesBye = false
        guard !session.byeDone, var dialog = session.dialog else { return }
        session.byeDone = true
        let request = makeRequest(.bye, .bye(session.id), in: &dialog, account: session.account)
        session.dialog = dialog
        for (name, value) in session.endHeaders { request.message.add(name, value) }
        request.mayDetour = !dialog.routeSet.isEmpty
        start(request, now: now)
    }

    /// BYE from the peer (§15.1.2).
    func handleBye(_ request: SIPMessage, _ transaction: TransactionID, _ session: InviteSession, _ id: DialogID, now: MonotonicTime) {
        guard session.dialog?.id == id else {
            // A called peer may not send BYE in an early dialog; the INVITE gets its own answer.
            refuse(request, transaction, 481, now: now)
            return
        }
        refuse(request, transaction, 200, now: now)
        session.byeDone = true
        session.owesBye = false
        if let update = session.serverUpdate {
            session.serverUpdate = nil
            refuse(update.request, update.transaction, 487, now: now)
        }
        if session.serverInvite?.success == nil {
            refuseInvite(session, 487, now: now)
        } else {
            // BYE before the ACK: the 2xx arrived, no ACK needs to be waited for.
            forgetServerInvite(session)
        }
        end(session, byRemote: true, Causes.remoteHungUp(request), now: now)
    }

    /// Forgets the session when nothing is owed.
    func removeIfFinished(_ session: InviteSession) {
        guard session.isFinished else { return }
        sessions[session.id] = nil
        forgetEarlyDialogs(session)
        if let dialog = session.dialog {
            dialogs[dialog.id] = nil
            keepForReferrals(dialog)
        }
        for timer in [AgentTimer.repeatSuccess(session.id), .awaitACK(session.id), .reinvite(session.id), .ringLimit(session.id)] {
            timers.cancel(timer)
        }
    }

    /// The session is established or over: it does not count any more among its source's unanswered INVITEs.
    func releaseSource(_ session: InviteSession) {
        guard let source = session.countedSource else { return }
        session.countedSource = nil
        let left = (unansweredBySource[source] ?? 1) - 1
        unansweredBySource[source] = left > 0 ? left : nil
    }

    func ringLimitReached(_ id: SessionID, now: MonotonicTime) {
        guard let session = sessions[id] else { return }
        counters.increment(.ringLimitReached)
        hangUp(session, cause: Causes.unanswered, refusal: 480, now: now)
    }
}
