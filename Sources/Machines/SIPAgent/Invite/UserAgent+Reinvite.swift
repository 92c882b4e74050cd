// SPDX-License-Identifier: Apache-2.0
//
// Our re-INVITEs (RFC 3261 §14.1): hold, resume, another address.
//
//   reinvite ─► sent ─ 2xx ─► ACK, reinviteAnswered
//   (no offer)   │  └ with the offer ─► reinviteAnswered ─► acknowledge: ACK with the answer
//                │ 491: 2.1–4 s if the Call-ID is ours, else 0–2 s ─► reinviteDue ─► reinvite with a fresh offer
//                │ 408, 481, time-out: the dialog is lost           (B-020: nothing else ends the session)
//                └ anything else: the old session goes on

import Essentials
import SIP

extension UserAgent {
    /// Changes the session. While another INVITE is in progress in the dialog, `reinviteFailed(willRetry: true)` follows
    /// and `reinviteDue` when the way is free.
    ///
    /// - Parameter offer: nil asks the other side for its offer; `acknowledge` answers it.
    /// - Parameter isMove: it tells a new address after a change of the network: without an answer it is tried again.
    public func reinvite(_ id: SessionID, offer: [UInt8]?, isMove: Bool = false, now: MonotonicTime) {
        guard let session = sessions[id], session.phase != .over else { return }
        session.reinviteIsWanted = false
        if isMove { session.isMoving = true }
        guard session.phase == .established, session.serverInvite == nil, session.reinvite == nil, session.serverUpdate == nil,
            session.acceptedInvite == nil, !timers.isArmed(.reinvite(id)), var dialog = session.dialog
        else {
            session.reinviteIsWanted = true
            emit(.reinviteFailed(id, Causes.reinvitePending, willRetry: true))
            return
        }
        let request = makeRequest(.invite, .reinvite(id), in: &dialog, account: session.account)
        session.dialog = dialog
        request.isAnonymous = session.isAnonymous
        request.message.add(.allow, Self.allowedMethods)
        keepTimer(request, of: session)
        if let offer { request.message.setBody(offer, type: "application/sdp") } else { request.wantsOffer = true }
        session.reinvite = request
        start(request, now: now)
        pump(now)
    }

    /// A request within a dialog.
    func makeRequest(_ method: Method, _ purpose: RequestPurpose, in dialog: inout Dialog, account: AccountID?) -> ClientRequest {
        let (message, uri) = dialog.makeRequest(method)
        return ClientRequest(
            purpose, account: account, method: method, message: message, sequence: dialog.localSequence,
            nextHop: dialog.nextHop, contact: [.invite, .update, .refer, .notify].contains(method) ? .dialog : .none, requestURI: uri,
            source: dialog.source)
    }

    func handleReinviteOutcome(_ outcome: RequestOutcome, _ request: ClientRequest, _ session: InviteSession, now: MonotonicTime) {
        if session.reinvite === request { session.reinvite = nil }
        switch outcome {
        case .failure(.timedOut):
            if retryMove(session, Causes.failure(.timedOut, of: "re-INVITE"), now: now) { return }
            loseDialog(session, Causes.failure(.timedOut, of: "re-INVITE"), now: now)
        case .failure(let failure):
            if retryMove(session, Causes.failure(failure, of: "re-INVITE"), now: now) { return }
            reinviteFailed(session, Causes.failure(failure, of: "re-INVITE"), now: now)
        case .response(let response, let transaction, let source):
            switch response.statusCode {
            case 200..<300:
                reinviteSucceeded(response, transaction, source, request, session, now: now)
            case 500 where response.retryAfter != nil:
                retryReinvite(session, after: min(response.retryAfter ?? .zero, .seconds(10)), response, now: now)
            // A proxy that does not reach the peer, whose own flow may be lost at the same time: 430 is RFC 5626 §11.5, 477 and 478
            // are Kamailio's own words.
            case 404, 408, 430, 477, 478, 480, 500, 502...504:
                if retryMove(session, Causes.reinviteRefused(response), now: now) { return }
                if response.statusCode == 408 {
                    loseDialog(session, Causes.dialogLost(response), now: now)
                } else {
                    reinviteFailed(session, Causes.reinviteRefused(response), now: now)
                }
            case 481:
                loseDialog(session, Causes.dialogLost(response), now: now)
            case 491:
                // §14.1, in steps of 10 ms (B-041).
                let hundredths = session.isOutgoing ? random.integer(in: 210...400) : random.integer(in: 0...200)
                retryReinvite(session, after: .milliseconds(Int64(hundredths) * 10), response, now: now)
            default:
                reinviteFailed(session, Causes.reinviteRefused(response), now: now)
            }
        }
    }

    private func reinviteSucceeded(
        _ response: SIPMessage, _ transaction: TransactionID, _ source: MessageSource, _ request: ClientRequest,
        _ session: InviteSession, now: MonotonicTime
    ) {
        if request.method == .update { return updateSucceeded(response, source, session, now: now) }
        guard session.dialog != nil else { return }
        session.dialog?.refreshTarget(from: response)
        session.dialog?.source = source
        session.reinviteRetries = 0
        session.isMoving = false
        session.moveRetries = 0
        guard let dialog = session.dialog else { return }
        let accepted = AcceptedInvite(request: request)
        accepted.legs.append(AcceptedInvite.Leg(remoteTag: dialog.id.remoteTag))
        acceptedInvites[transaction] = accepted
        let isAwaited = request.wantsOffer && session.phase == .established
        if isAwaited { session.acceptedInvite = transaction } else { acknowledge(transaction, dialog, body: nil, now: now) }
        guard session.phase != .over else { return }
        adoptTimer(session, from: response, now: now)
        emit(.reinviteAnswered(session.id, response))
        if isAwaited { return }
        reinviteIfWanted(session, now: now)
    }

    private func retryReinvite(_ session: InviteSession, after delay: Interval, _ response: SIPMessage, now: MonotonicTime) {
        guard session.phase != .over else { return }
        session.reinviteRetries += 1
        guard session.reinviteRetries <= configuration.maximumReinviteRetries else {
            reinviteFailed(session, Causes.reinviteRefused(response), now: now)
            return
        }
        session.reinviteIsWanted = true
        timers.arm(.reinvite(session.id), at: now + delay)
        emit(.reinviteFailed(session.id, Causes.reinviteRefused(response), willRetry: true))
    }

    /// The old session goes on (B-020).
    private func reinviteFailed(_ session: InviteSession, _ cause: Cause, now: MonotonicTime) {
        session.reinviteRetries = 0
        session.isMoving = false
        session.moveRetries = 0
        guard session.phase != .over else { return }
        emit(.reinviteFailed(session.id, cause, willRetry: false))
        reinviteIfWanted(session, now: now)
    }

    /// Tells the user that the way is free for the re-INVITE that had to wait.
    func reinviteIfWanted(_ session: InviteSession, now: MonotonicTime) {
        guard session.reinviteIsWanted, session.phase == .established, session.serverInvite == nil, session.reinvite == nil,
            session.serverUpdate == nil,
            !timers.isArmed(.reinvite(session.id))
        else { return }
        session.reinviteIsWanted = false
        emit(.reinviteDue(session.id))
    }

    /// The peer does not know the dialog, or does not answer in it (§12.2.1.2).
    func loseDialog(_ session: InviteSession, _ cause: Cause, now: MonotonicTime) {
        guard session.phase != .over else { return }
        sendBye(session, now: now)
        end(session, byRemote: false, cause, now: now)
    }
}
