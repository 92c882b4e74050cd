// SPDX-License-Identifier: Apache-2.0
//
// The one who is referred (RFC 3515 §2.4.2–§2.4.6): whether a REFER is followed, and NOTIFYs of how it goes. Each
// NOTIFY waits for the answer to the one before, so that none is overtaken; what is old by then is left out.

import Essentials
import SIP

extension UserAgent {
    /// Options that REFERs and their answers know.
    static let referOptions = "replaces, norefersub, tdialog"

    // MARK: REFER

    /// A REFER in a dialog of ours.
    func handleRefer(
        _ request: SIPMessage, _ transaction: TransactionID, _ session: InviteSession, _ id: DialogID, now: MonotonicTime
    ) {
        guard session.phase != .over, let dialog = session.dialog, dialog.id == id else {
            refuse(request, transaction, 481, now: now)
            return
        }
        session.referrals += 1
        consider(
            request, transaction, session: session, account: session.account.flatMap { accounts[$0] }, dialog: dialog,
            isNumbered: session.referrals > 1, now: now)
    }

    /// A REFER outside any dialog: as an INVITE that calls us it must come from where calls may come from, or name a
    /// dialog that only its peer knows (RFC 4538).
    func handleInitialRefer(_ request: SIPMessage, _ transaction: TransactionID, _ source: MessageSource, now: MonotonicTime) {
        let named = request.targetDialog.flatMap { field in
            dialogs[DialogID(callID: field.callID, localTag: field.remoteTag, remoteTag: field.localTag)].flatMap { sessions[$0] }
        }
        let session = named.flatMap { $0.phase == .over ? nil : $0 }
        let account = session.map { $0.account.flatMap { accounts[$0] } } ?? account(for: request, source: source)
        if session == nil, !isServer(source), (account?.configuration.directCalls ?? configuration.directCalls) == .refuse {
            counters.increment(.directCallRefused)
            refuse(request, transaction, 403, now: now)
            emit(.referral(referrals.makeID(), .turnedAway(nil, Causes.transferForbidden(403))))
            return
        }
        var dialog = Dialog(request: request, localTag: random.token(10), source: source)
        dialog.isEarly = false
        consider(request, transaction, session: session, account: account, dialog: dialog, isNumbered: false, now: now)
    }

    private func consider(
        _ request: SIPMessage, _ transaction: TransactionID, session: InviteSession?, account: Account?, dialog: Dialog,
        isNumbered: Bool, now: MonotonicTime
    ) {
        let id = referrals.makeID()
        func decline(_ status: Int, _ counter: AgentCounter, _ headers: [(HeaderName, String)] = []) {
            counters.increment(counter)
            refuse(request, transaction, status, headers, now: now)
            emit(.referral(id, .turnedAway(session?.id, Causes.transferForbidden(status))))
        }
        let policy = account?.configuration.transfers ?? configuration.transfers
        if policy == .refuse { return decline(603, .referralRefused) }
        guard life == .running else { return decline(480, .referralRefused) }
        guard request.values(.referTo).count == 1, let referTo = request.referTo else { return decline(400, .referralUnusable) }
        if case .other = referTo.uri { return decline(416, .referralUnusable) }
        let method = referTo.uri.sip?.parameters["method"]
        guard method == nil || method == "INVITE" else { return decline(603, .referralUnusable) }
        let replaced = referTo.uri.sip?.headers.first { $0.name.lowercased() == "replaces" }
        let replaces = replaced.flatMap { try? Replaces($0.value) }
        if replaced != nil, replaces == nil { return decline(400, .referralUnusable) }
        let own = referrals.received.values.count { $0.dialog == dialog.id }
        guard referrals.count < configuration.maximumReferrals, own < configuration.maximumReferralsPerCall else {
            return decline(503, .referralLimit, [(.retryAfter, "\(random.integer(in: 5...15))")])
        }
        counters.increment(.referralsIn)
        let referral = ReceivedReferral(
            id: id, session: session?.id, account: account?.id, dialog: dialog.id, request: request, transaction: transaction,
            isNumbered: isNumbered, isSilent: request.referSub == false, limit: now + configuration.referralLimit)
        referrals.received[id] = referral
        if session?.dialog?.id != dialog.id { referrals.dialogs[dialog.id] = dialog }
        timers.arm(.referral(id), at: referral.limit)
        let source = dialog.source ?? session?.dialog?.source
        guard let source else { return reject(referral, 480, now: now) }
        emit(
            .referral(
                id,
                .received(
                    IncomingReferral(
                        session: session?.id, account: account?.id, target: referTo.uri.asRequestURI, replaces: replaces,
                        referredBy: request.referredBy, policy: policy, message: request, source: source))))
    }

    // MARK: The decision

    /// Takes a REFER: 202, and a first NOTIFY.
    ///
    /// - Parameter isPending: the user has still to decide; `continueReferral` or `rejectReferral` follows.
    public func acceptReferral(_ id: ReferralID, isPending: Bool = false, now: MonotonicTime) {
        guard let referral = referrals.received[id], let transaction = referral.transaction else { return }
        referral.transaction = nil
        referral.isPending = isPending
        var response = referral.request.makeResponse(status: 202, toTag: referral.dialog.localTag)
        response.copy(.recordRoute, of: referral.request)
        if let source = withDialog(referral.dialog, { $0.source }) ?? nil {
            let account = referral.account.flatMap { accounts[$0] }
            response.add(.contact, "<\(contactURI(account: account, source: source))>")
        }
        response.add(.supported, Self.referOptions)
        if referral.isSilent { response.add(.referSub, "false") }
        stack.respond(transaction, response, now: now)
        if referral.isSilent {
            if !isPending { forgetReferral(referral) }
        } else {
            notify(referral, StatusFragment(100), now: now)
        }
        pump(now)
    }

    /// Refuses a REFER with a status from 300 to 699; one that was taken and waited for the user is told by NOTIFY.
    public func rejectReferral(_ id: ReferralID, status: Int = 603, now: MonotonicTime) {
        if let referral = referrals.received[id] { reject(referral, min(max(status, 300), 699), now: now) }
        pump(now)
    }

    func reject(_ referral: ReceivedReferral, _ status: Int, now: MonotonicTime) {
        if let transaction = referral.transaction {
            referral.transaction = nil
            refuse(referral.request, transaction, status, tag: referral.dialog.localTag, now: now)
            forgetReferral(referral)
        } else {
            notify(referral, StatusFragment(status), reason: "rejected", now: now)
        }
    }

    /// The user has decided for a REFER that was taken as pending.
    public func continueReferral(_ id: ReferralID, now: MonotonicTime) {
        guard let referral = referrals.received[id], referral.isPending else { return }
        referral.isPending = false
        if referral.isSilent { forgetReferral(referral) } else { notify(referral, StatusFragment(100), now: now) }
        pump(now)
    }

    /// Tells the one who referred us how our call goes; a final status is the last.
    public func notifyReferral(_ id: ReferralID, _ fragment: StatusFragment, now: MonotonicTime) {
        guard let referral = referrals.received[id], referral.transaction == nil else { return }
        notify(referral, fragment, now: now)
        pump(now)
    }

    // MARK: NOTIFY

    func notify(_ referral: ReceivedReferral, _ fragment: StatusFragment, reason: String = "noresource", now: MonotonicTime) {
        guard !referral.isFinished else { return }
        let isFinal = fragment.statusCode >= 200
        if referral.isSilent {
            if isFinal { forgetReferral(referral) }
            return
        }
        if referral.isNotifying {
            if (referral.waiting?.statusCode ?? 100) < 200 { referral.waiting = fragment }
            return
        }
        guard isFinal || referral.notifications < configuration.maximumReferralNotifications else {
            counters.increment(.referralLimit)
            return
        }
        let made = withDialog(referral.dialog) { makeRequest(.notify, .notify(referral.id), in: &$0, account: referral.account) }
        guard let request = made else { return forgetReferral(referral) }
        let number = referral.isNumbered ? ";id=\(referral.request.cseqNumber)" : ""
        request.message.add(.event, Self.referPackage + number)
        let left = max(1, (referral.limit - now).nanoseconds / 1_000_000_000)
        request.message.add(
            .subscriptionState,
            isFinal ? "terminated;reason=\(reason)" : "\(referral.isPending ? "pending" : "active");expires=\(left)")
        request.message.setBody(Array(fragment.description.utf8), type: "message/sipfrag;version=2.0")
        referral.isNotifying = true
        referral.notifications += 1
        // A final one is sent while it is told; nothing may be added to it.
        if isFinal {
            referral.isFinished = true
            timers.cancel(.referral(referral.id))
        }
        start(request, now: now)
    }

    func handleNotifyOutcome(_ outcome: RequestOutcome, _ id: ReferralID, now: MonotonicTime) {
        guard let referral = referrals.received[id] else { return }
        referral.isNotifying = false
        var isTaken = false
        if case .response(let response, _, _) = outcome { isTaken = response.statusCode < 300 }
        // Who does not know the subscription is told no more (RFC 6665 §4.2.2); our call goes on.
        guard isTaken, !referral.isFinished else { return forgetReferral(referral) }
        guard let waiting = referral.waiting else { return }
        referral.waiting = nil
        notify(referral, waiting, now: now)
    }
}
