// SPDX-License-Identifier: Apache-2.0
//
// Transferring a call (RFC 5589): blind to a number or URI, attended to the other side of a second call.
//
//   transfer ─► hold ─► REFER ─► 202 ─► NOTIFY 18x: progress ─► NOTIFY 200: succeeded, BYE for both calls
//                         │                                  └─► NOTIFY 4xx: failed, off hold again: undone
//                         └ refused, no answer, no report: failed, off hold again: undone

import Essentials
import Media
import SIP
import SIPAgent

extension PhoneCore {
    /// Asks the other side of an answered call to call somebody else, and ends the call when that one has answered. Until
    /// then the call is on hold; when the transfer fails, it goes on as it was.
    ///
    /// - Parameter dialled: a number or name at the call's account, or a full URI.
    @discardableResult
    public func transfer(
        _ id: CallID, to dialled: String, options: TransferOptions = TransferOptions(), now: MonotonicTime
    ) throws(PhoneError) -> TransferID {
        let call = try requireTransferable(id)
        let target = try Dialling.target(dialled, account: call.account.flatMap { accounts[$0] })
        let transfer = OutgoingTransfer(id: transfers.makeID(), call: id, other: nil, target: target, options: options)
        begin(transfer, call, now: now)
        return transfer.id
    }

    /// Joins the other sides of two calls: the first, which is answered, is asked to take our place in the second. Both are
    /// ended when that is done; when it fails, both go on as they were.
    ///
    /// A second call that only rings at the other side cannot be replaced (RFC 3891 §3): it is taken back, and the first is
    /// transferred to its target (semi-attended, RFC 5589 §7).
    @discardableResult
    public func transfer(_ id: CallID, with other: CallID, now: MonotonicTime) throws(PhoneError) -> TransferID {
        guard id != other else { throw PhoneError(.wrongState, "A call cannot be joined with itself.") }
        let call = try requireTransferable(id)
        if let ringing = calls[other], ringing.direction == .outgoing, ringing.answeredAt == nil, let target = ringing.target {
            try hangUp(other, cause: PhoneCauses.transferred, now: now)
            let transfer = OutgoingTransfer(
                id: transfers.makeID(), call: id, other: nil, target: target, options: TransferOptions())
            begin(transfer, call, now: now)
            return transfer.id
        }
        let second = try requireTransferable(other)
        guard let dialog = second.session.flatMap({ agent.dialog(of: $0) }) else {
            throw PhoneError(.wrongState, "Only answered calls can be joined.")
        }
        let transfer = OutgoingTransfer(
            id: transfers.makeID(), call: id, other: other, target: Self.address(of: dialog, isDirect: second.account == nil),
            options: TransferOptions())
        begin(transfer, call, now: now)
        return transfer.id
    }

    /// Asks a phone with which there is no call to call somebody: click to dial (RFC 5359 §2.18).
    @discardableResult
    public func refer(
        from account: AccountID?, _ peer: String, to dialled: String, now: MonotonicTime
    ) throws(PhoneError) -> TransferID {
        if isStopping { throw PhoneError(.stopping, "The phone is being shut down.") }
        if let account { try require(account) }
        let configuration = account.flatMap { accounts[$0] }
        let uri = try Dialling.target(peer, account: configuration)
        let target = try Dialling.target(dialled, account: configuration)
        let transfer = OutgoingTransfer(
            id: transfers.makeID(), call: nil, other: nil, target: target, options: TransferOptions())
        transfers.outgoing[transfer.id] = transfer
        tell(transfer, .trying)
        sendRefer(transfer, now: now) { core throws(AgentError) in
            try core.agent.refer(from: account, uri, to: target, referredBy: core.identity(account), now: now)
        }
        drainAgent(now: now)
        return transfer.id
    }

    private func requireTransferable(_ id: CallID) throws(PhoneError) -> Call {
        if isStopping { throw PhoneError(.stopping, "The phone is being shut down.") }
        let call = try require(id)
        guard case .established = call.phase, call.session != nil else {
            throw PhoneError(.wrongState, "Only an answered call can be transferred.")
        }
        guard !transfers.outgoing.values.contains(where: { ($0.call == id || $0.other == id) && $0.phase != .undoing }) else {
            throw PhoneError(.wrongState, "The call is being transferred already.")
        }
        return call
    }

    /// Where the target of an attended transfer is called: a Contact that works everywhere (GRUU, RFC 5627) or of a direct
    /// call; else the address of record, as the Contact of a phone behind a server or a NAT often leads nowhere. The Replaces
    /// field finds the right phone (RFC 5589 §7.3).
    static func address(of dialog: DialogDescription, isDirect: Bool) -> URI {
        let contact = dialog.remoteTarget
        if isDirect || contact.sip?.parameters.contains("gr") ?? false { return contact }
        guard case .sip(var uri) = dialog.remote.uri, uri.user != nil, "\(uri.host)" != "anonymous.invalid" else { return contact }
        uri.headers = []
        uri.password = nil
        return .sip(uri)
    }

    private func identity(_ account: AccountID?) -> NameAddress? {
        account.flatMap { accounts[$0] }.map { NameAddress(uri: .sip($0.addressOfRecord)) }
    }

    // MARK: Hold, then REFER

    private func begin(_ transfer: OutgoingTransfer, _ call: Call, now: MonotonicTime) {
        transfers.outgoing[transfer.id] = transfer
        tell(transfer, .trying)
        if !call.wantsHold {
            transfer.holds = true
            setHoldWish(call, true, now: now)
        }
        continueTransfer(of: call.id, now: now)
        drainAgent(now: now)
    }

    private func setHoldWish(_ call: Call, _ holds: Bool, now: MonotonicTime) {
        call.wantsHold = holds
        if call.hasMedia { configureStream(call) }
        reviewSilence(call.id, now: now)
        reconcileHold(call.id, now: now)
    }

    /// A change of the call is over: what waited for the hold, or for its end, goes on.
    func continueTransfer(of id: CallID, now: MonotonicTime) {
        guard let transfer = transfers.outgoing(of: id), let call = calls[id], case .none = call.change,
            call.wantsHold == call.isHeldLocally
        else { return }
        switch transfer.phase {
        case .holding:
            // A peer that cannot be held can be transferred all the same.
            if !call.isHeldLocally { transfer.holds = false }
            sendRefer(transfer, call, now: now)
        case .undoing:
            transfers.forget(transfer)
            if !call.isHeldLocally { tell(transfer, .undone) }
        case .asked: break
        }
    }

    private func sendRefer(_ transfer: OutgoingTransfer, _ call: Call, now: MonotonicTime) {
        var target = transfer.target
        var replaces: Replaces?
        if let other = transfer.other {
            guard let second = calls[other], let dialog = second.session.flatMap({ agent.dialog(of: $0) }) else {
                return fail(transfer, PhoneCauses.transferCallEnded, now: now)
            }
            target = Self.address(of: dialog, isDirect: second.account == nil)
            replaces = dialog.replaces
        }
        guard let session = call.session else { return fail(transfer, PhoneCauses.transferCallEnded, now: now) }
        sendRefer(transfer, now: now) { core throws(AgentError) in
            try core.agent.refer(
                session, to: target, replaces: replaces, referredBy: core.identity(call.account),
                subscribes: transfer.options.waitsForAnswer, now: now)
        }
    }

    private func sendRefer(
        _ transfer: OutgoingTransfer, now: MonotonicTime, _ send: (PhoneCore) throws(AgentError) -> ReferralID
    ) {
        transfer.phase = .asked
        do throws(AgentError) {
            let referral = try send(self)
            transfer.referral = referral
            transfers.ofReferral[referral] = transfer.id
        } catch {
            fail(transfer, PhoneCauses.transferNotSent(error), now: now)
        }
    }

    // MARK: What comes back

    /// News of a REFER, ours or the other side's.
    func referral(_ id: ReferralID, _ event: ReferralEvent, now: MonotonicTime) {
        switch event {
        case .received(let incoming): return referred(id, incoming, now: now)
        case .turnedAway(let session, let cause): return emit(.warning(session.flatMap { callOfSession[$0] }, cause))
        case .accepted, .progress, .succeeded, .failed: break
        }
        guard let transfer = transfers.ofReferral[id].flatMap({ transfers.outgoing[$0] }) else { return }
        switch event {
        case .accepted(let status):
            if transfer.options.waitsForAnswer { return tell(transfer, .progress, StatusFragment(status)) }
            // The peer may report all the same; nobody waits for it.
            succeed(transfer, StatusFragment(status), now: now)
        case .progress(let fragment): tell(transfer, .progress, fragment)
        case .succeeded(let fragment): succeed(transfer, fragment, now: now)
        case .failed(let cause): fail(transfer, cause, now: now)
        case .received, .turnedAway: break
        }
    }

    private func succeed(_ transfer: OutgoingTransfer, _ fragment: StatusFragment, now: MonotonicTime) {
        transfers.forget(transfer)
        tell(transfer, .succeeded, fragment)
        for id in [transfer.call, transfer.other] {
            if let session = id.flatMap({ calls[$0]?.session }) { agent.hangUp(session, cause: PhoneCauses.transferred, now: now) }
        }
    }

    /// The calls stay; what the transfer changed is taken back.
    private func fail(_ transfer: OutgoingTransfer, _ cause: Cause, now: MonotonicTime) {
        tell(transfer, .failed, cause.status.map { StatusFragment($0, cause.reasonPhrase) }, cause)
        guard let id = transfer.call, let call = calls[id], case .established = call.phase else {
            return transfers.forget(transfer)
        }
        if let referral = transfer.referral { transfers.ofReferral[referral] = nil }
        transfer.phase = .undoing
        if transfer.holds {
            setHoldWish(call, false, now: now)
            continueTransfer(of: id, now: now)
        } else {
            transfers.forget(transfer)
            tell(transfer, .undone)
        }
    }

    /// A call of a transfer is over. What was asked goes on: its reports still come (RFC 5057 §4).
    func transferorCallEnded(_ id: CallID) {
        for transfer in transfers.outgoing.values.sorted(by: { $0.id < $1.id }) where transfer.call == id || transfer.other == id {
            switch transfer.phase {
            case .holding:
                transfers.forget(transfer)
                tell(transfer, .failed, nil, PhoneCauses.transferCallEnded)
            case .undoing: if transfer.call == id { transfers.forget(transfer) }
            case .asked: break
            }
        }
    }

    private func tell(_ transfer: OutgoingTransfer, _ state: TransferState, _ fragment: StatusFragment? = nil, _ cause: Cause? = nil) {
        emit(
            .transfer(
                transfer.call,
                TransferEvent(
                    id: transfer.id, role: .transferor, state: state, status: fragment?.statusCode ?? 0,
                    reason: fragment?.reasonPhrase ?? "", target: transfer.target, otherCall: transfer.other, cause: cause)))
    }
}
