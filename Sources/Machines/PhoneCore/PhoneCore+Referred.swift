// SPDX-License-Identifier: Apache-2.0
//
// Being transferred: the other side asks us to call somebody else (RFC 5589 §6, as the transferee), or somebody else
// takes the place of the one we talk with (RFC 3891, as the target; pick-up of a call that rings elsewhere).

import Essentials
import Media
import SIP
import SIPAgent

extension PhoneCore {
    /// A REFER that the settings allow.
    func referred(_ id: ReferralID, _ incoming: IncomingReferral, now: MonotonicTime) {
        let call = incoming.session.flatMap { callOfSession[$0] }
        guard !isStopping, calls.count < configuration.maximumCalls else {
            agent.rejectReferral(id, status: 486, now: now)
            return emit(.warning(call, PhoneCauses.limit(calls.count)))
        }
        if case .tel = incoming.target, incoming.account == nil {
            return agent.rejectReferral(id, status: 416, now: now)
        }
        let transfer = IncomingTransfer(id: transfers.makeID(), referral: id, call: call, incoming)
        transfers.incoming[transfer.id] = transfer
        transfers.ofReferral[id] = transfer.id
        if incoming.policy == .ask {
            agent.acceptReferral(id, isPending: true, now: now)
            transfers.deadlines.arm(transfer.id, at: now + configuration.transferDecisionLimit)
            tell(transfer, .requested)
        } else {
            agent.acceptReferral(id, now: now)
            follow(transfer)
        }
    }

    /// Follows a transfer that was `requested`: the new call is placed.
    public func acceptTransfer(_ id: TransferID, now: MonotonicTime) throws(PhoneError) {
        let transfer = try requireUndecided(id)
        guard calls.count < configuration.maximumCalls else {
            throw PhoneError(.limit, "There are already \(calls.count) calls, the most that are allowed.")
        }
        transfers.deadlines.disarm(id)
        agent.continueReferral(transfer.referral, now: now)
        follow(transfer)
        drainAgent(now: now)
    }

    /// Refuses a transfer that was `requested`; the call goes on.
    public func rejectTransfer(_ id: TransferID, status: Int = 603, now: MonotonicTime) throws(PhoneError) {
        let transfer = try requireUndecided(id)
        decline(transfer, PhoneCauses.transferDeclined(status), now: now)
        drainAgent(now: now)
    }

    private func requireUndecided(_ id: TransferID) throws(PhoneError) -> IncomingTransfer {
        guard let transfer = transfers.incoming[id], transfer.newCall == nil else {
            throw PhoneError(.wrongState, "No such transfer waits for a decision.")
        }
        return transfer
    }

    private func decline(_ transfer: IncomingTransfer, _ cause: Cause, now: MonotonicTime) {
        transfers.forget(transfer)
        agent.rejectReferral(transfer.referral, status: cause.status ?? 603, now: now)
        tell(transfer, .failed, nil, cause)
        if transfer.call != nil { tell(transfer, .undone) }
    }

    /// Places the new call. Of the header fields that the other side wants in it only Replaces is taken.
    private func follow(_ transfer: IncomingTransfer) {
        var options = CallOptions()
        options.replaces = transfer.replaces
        options.referredBy = transfer.referredBy
        let call = makeCall(
            account: transfer.account, direction: .outgoing, phase: .openingOutgoing(target: transfer.target, options: options))
        call.remote = NameAddress(displayName: nil, uri: transfer.target)
        calls[call.id] = call
        transfer.newCall = call.id
        emit(.callState(call.id, .calling, status: 0, reason: ""))
        tell(transfer, .trying)
    }

    /// The time to decide is over, or the one who transferred us has not hung up.
    func transferDue(_ id: TransferID, now: MonotonicTime) {
        guard let transfer = transfers.incoming[id] else { return }
        guard transfer.newCall != nil else { return decline(transfer, PhoneCauses.transferUndecided, now: now) }
        transfers.forget(transfer)
        if let session = transfer.call.flatMap({ calls[$0]?.session }) {
            agent.hangUp(session, cause: PhoneCauses.transferred, now: now)
        }
    }

    // MARK: The new call

    /// The new call rings, or is answered.
    func reportTransfer(by id: CallID, _ status: Int, _ reason: String, now: MonotonicTime) {
        guard let transfer = transfers.incoming(by: id), !transfer.isAnswered, status > 100 else { return }
        let fragment = StatusFragment(status, reason)
        transfers.reports.append((transfer.referral, fragment))
        guard status >= 200 else { return tell(transfer, .progress, fragment) }
        transfer.isAnswered = true
        tell(transfer, .succeeded, fragment)
        // Who transferred us ends the old call; if they forget, we do.
        if transfer.call != nil {
            transfers.deadlines.arm(transfer.id, at: now + configuration.transferLinger)
        } else {
            transfers.forget(transfer)
        }
    }

    /// A call is over: the new one of a transfer, or the one that is transferred.
    func transfereeCallEnded(_ id: CallID, _ cause: Cause) {
        guard !transfers.incoming.isEmpty else { return }
        for transfer in transfers.incoming.values.sorted(by: { $0.id < $1.id }) {
            if transfer.call == id {
                transfer.call = nil
                if transfer.isAnswered { transfers.forget(transfer) }
            }
            guard transfer.newCall == id, !transfer.isAnswered else { continue }
            let status = cause.status ?? (cause.code == PhoneCauses.hungUp.code ? 487 : 503)
            let fragment = StatusFragment((300..<700).contains(status) ? status : 503, cause.reasonPhrase)
            transfers.reports.append((transfer.referral, fragment))
            transfers.forget(transfer)
            tell(transfer, .failed, fragment, cause)
            if transfer.call != nil { tell(transfer, .undone) }
        }
    }

    /// Tells those who referred us what is to be told.
    func sendTransferReports(now: MonotonicTime) {
        while !transfers.reports.isEmpty {
            let (referral, fragment) = transfers.reports.removeFirst()
            agent.notifyReferral(referral, fragment, now: now)
        }
    }

    private func tell(_ transfer: IncomingTransfer, _ state: TransferState, _ fragment: StatusFragment? = nil, _ cause: Cause? = nil) {
        emit(
            .transfer(
                transfer.call,
                TransferEvent(
                    id: transfer.id, role: .transferee, state: state, status: fragment?.statusCode ?? 0,
                    reason: fragment?.reasonPhrase ?? "", target: transfer.target, referredBy: transfer.referredBy?.uri,
                    otherCall: transfer.newCall, cause: cause)))
    }

    // MARK: The target

    /// A call that takes the place of another is answered at once: the user talks already, or waits for an answer.
    func takePlace(_ call: Call, of old: CallID, _ shown: IncomingCall, now: MonotonicTime) {
        call.isMuted = calls[old]?.isMuted ?? false
        emit(.incomingCall(call.id, shown))
        emit(.callState(call.id, .incoming, status: 0, reason: ""))
        emit(
            .transfer(
                call.id,
                TransferEvent(
                    id: transfers.makeID(), role: .target, state: .succeeded, status: 200, reason: "OK",
                    referredBy: shown.invite.referredBy?.uri, otherCall: old)))
        replaceInConference(old, by: call.id)
        // The call rings by its phase; nothing else can be wrong.
        try? answer(call.id, now: now)
    }
}
