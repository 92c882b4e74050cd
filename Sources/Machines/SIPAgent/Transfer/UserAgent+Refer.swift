// SPDX-License-Identifier: Apache-2.0
//
// The one who refers (RFC 3515 §2.4.1, §2.4.4): REFER, and the NOTIFYs that come for it.

import Essentials
import SIP

/// How others name the dialog of a session, and where its peer is.
public struct DialogDescription: Sendable, Hashable {
    public var callID: String
    public var localTag: String
    public var remoteTag: String
    /// The peer's Contact.
    public var remoteTarget: URI
    /// The peer as From or To name it, without its tag.
    public var remote: NameAddress

    /// What the peer must get in an INVITE of somebody else that is to take our place in the dialog (RFC 3891 §6.1).
    public var replaces: Replaces { Replaces(callID: callID, toTag: remoteTag, fromTag: localTag) }
}

extension UserAgent {
    /// The confirmed dialog of a session; nil: it has none.
    public func dialog(of id: SessionID) -> DialogDescription? {
        guard let session = sessions[id], session.phase != .over, session.wasEstablished, let dialog = session.dialog,
            var remote = try? NameAddress(dialog.remote)
        else { return nil }
        remote.parameters = Parameters()
        return DialogDescription(
            callID: dialog.id.callID, localTag: dialog.id.localTag, remoteTag: dialog.id.remoteTag,
            remoteTarget: dialog.remoteTarget, remote: remote)
    }

    /// Asks the peer of an established session to call `target`.
    ///
    /// - Parameters:
    ///   - replaces: the call of the target that the new one is to replace: an attended transfer (RFC 5589 §7).
    ///   - referredBy: who we are, for the target (RFC 3892); nil: not said.
    ///   - subscribes: whether the peer is to tell how it goes; false: RFC 4488, if the peer agrees.
    public func refer(
        _ id: SessionID, to target: URI, replaces: Replaces? = nil, referredBy: NameAddress? = nil, subscribes: Bool = true,
        now: MonotonicTime
    ) throws(AgentError) -> ReferralID {
        guard life == .running else { throw AgentError(.stopped, "the agent has been shut down") }
        guard let session = sessions[id], session.phase == .established || session.phase == .awaitingACK, let dialogID = session.dialog?.id
        else { throw AgentError(.wrongState, "only an answered call can be transferred") }
        let value = try referTo(target, replaces)
        try requireRoomForReferral(in: id)
        guard
            let request = withDialog(
                dialogID,
                { makeRequest(.refer, .refer(ReferralID(rawValue: 0)), in: &$0, account: session.account) })
        else { throw AgentError(.wrongState, "the call has no dialog") }
        return send(
            request, value, referredBy, subscribes: subscribes, session: id, dialog: dialogID,
            tags: (dialogID.callID, dialogID.localTag), now: now)
    }

    /// Asks somebody with whom there is no call to call `target`: click to dial (RFC 5359 §2.18).
    public func refer(
        from accountID: AccountID?, _ peer: URI, to target: URI, referredBy: NameAddress? = nil, subscribes: Bool = true,
        now: MonotonicTime
    ) throws(AgentError) -> ReferralID {
        guard life == .running else { throw AgentError(.stopped, "the agent has been shut down") }
        var account: Account?
        if let accountID {
            guard let known = accounts[accountID] else { throw AgentError(.unknownAccount, "\(accountID) is not known") }
            account = known
        }
        let value = try referTo(target, nil)
        try requireRoomForReferral(in: nil)
        let nextHop = try nextHop(to: peer, account: account)
        let uri = peer.asRequestURI
        var local = account?.identity ?? NameAddress(uri: .sip(SIPURI(host: .name("invalid"), port: nil)))
        let tag = random.token(10)
        local.tag = tag
        let callID = random.token(22)
        let sequence = UInt32(random.integer(in: 1...30_000))
        var message = MessageBuilder(request: .refer, uri: uri)
        if let account { for route in preloadedRoutes(account) { message.add(.route, route) } }
        message.add(.maxForwards, "70")
        message.add(.from, local.description)
        message.add(.to, NameAddress(uri: uri).description)
        message.add(.callID, callID)
        message.add(.cseq, "\(sequence) REFER")
        let request = ClientRequest(
            .refer(ReferralID(rawValue: 0)), account: accountID, method: .refer, message: message, sequence: sequence,
            nextHop: nextHop, contact: .dialog, local: local, requestURI: uri)
        request.fillsLocalHost = account == nil
        request.mayChangeTarget = true
        return send(
            request, value, referredBy, subscribes: subscribes, session: nil, dialog: nil, tags: (callID, tag), now: now)
    }

    /// A target that names the call to be replaced in its headers part, as a Refer-To does, keeps that and nothing else.
    private func referTo(_ target: URI, _ replaces: Replaces?) throws(AgentError) -> String {
        switch target {
        case .sip(var uri):
            var replaces = replaces
            if replaces == nil, let named = uri.headers.first(where: { $0.name.lowercased() == "replaces" }) {
                do throws(SIPError) { replaces = try Replaces(named.value) } catch {
                    throw AgentError(.unusableTarget, "the target's Replaces names no call")
                }
            }
            uri.headers = replaces.map { [SIPURI.Header("Replaces", $0.description)] } ?? []
            uri.parameters.remove("method")
            return "<\(uri)>"
        case .tel where replaces == nil: return "<\(target)>"
        case .tel: throw AgentError(.unusableTarget, "a tel: URI cannot name the call that is to be replaced")
        case .other(let scheme, _): throw AgentError(.unusableTarget, "the scheme \(scheme) cannot be called")
        }
    }

    private func requireRoomForReferral(in session: SessionID?) throws(AgentError) {
        let own = referrals.sent.values.count { $0.session == session && $0.phase != .told }
        guard referrals.count < configuration.maximumReferrals, own < configuration.maximumReferralsPerCall else {
            counters.increment(.referralLimit)
            throw AgentError(.tooManyReferrals, "\(own) transfers of this call and \(referrals.count) in all are not over")
        }
    }

    private func send(
        _ request: ClientRequest, _ referTo: String, _ referredBy: NameAddress?, subscribes: Bool, session: SessionID?,
        dialog: DialogID?, tags: (callID: String, local: String), now: MonotonicTime
    ) -> ReferralID {
        let id = referrals.makeID()
        request.purpose = .refer(id)
        request.message.add(.referTo, referTo)
        if let referredBy { request.message.add(.referredBy, "<\(referredBy.uri)>") }
        request.message.add(.supported, Self.referOptions)
        request.message.add(.allow, Self.allowedMethods)
        if !subscribes { request.message.add(.referSub, "false") }
        referrals.sent[id] = SentReferral(
            id: id, session: session, request: request, callID: tags.callID, localTag: tags.local, dialog: dialog,
            subscribes: subscribes, limit: now + configuration.referralLimit)
        counters.increment(.referralsOut)
        start(request, now: now)
        pump(now)
        return id
    }

    // MARK: The answer

    func handleReferOutcome(_ outcome: RequestOutcome, _ request: ClientRequest, _ id: ReferralID, now: MonotonicTime) {
        guard let referral = referrals.sent[id] else { return }
        switch outcome {
        case .response(let response, _, let source) where response.statusCode < 300:
            if referral.dialog == nil, let local = request.local {
                var dialog = Dialog(target: request.requestURI, local: local, sequence: request.sequence, response: response)
                dialog.source = source
                referral.dialog = dialog.id
                referrals.dialogs[dialog.id] = dialog
            }
            taken(referral, response, now: now)
        case .response(let response, _, _):
            tell(referral, .failed(Causes.transferRefused(response, request.challengeFailure)))
            forgetReferral(referral)
            // The peer does not know the dialog, so the call is gone as well (RFC 5057 §5.1).
            if response.statusCode == 481, let session = referral.session.flatMap({ sessions[$0] }) {
                loseDialog(session, Causes.dialogLost(response), now: now)
            }
        case .failure(let failure):
            tell(referral, .failed(Causes.transferFailure(failure)))
            forgetReferral(referral)
        }
    }

    private func taken(_ referral: SentReferral, _ response: SIPMessage, now: MonotonicTime) {
        guard referral.phase == .asked else { return }
        referral.phase = .accepted
        emit(.referral(referral.id, .accepted(status: response.statusCode)))
        guard referral.phase == .accepted else { return }
        if !referral.subscribes, response.referSub == false {
            tell(referral, .succeeded(StatusFragment(response.statusCode, response.reasonPhrase)))
            forgetReferral(referral)
        } else if referral.notifications == 0 {
            // RFC 6665 §4.1.2.4, timer N.
            timers.arm(.referral(referral.id), at: now + configuration.stack.times.timeout)
        }
    }

    /// Tells the user how it went; comes once.
    func tell(_ referral: SentReferral, _ event: ReferralEvent) {
        guard referral.phase != .told else { return }
        referral.phase = .told
        emit(.referral(referral.id, event))
    }

    // MARK: NOTIFY

    /// The package of the subscription that a REFER makes (RFC 3515 §2.4.4), without parameters.
    static let referPackage = "refer"

    /// A NOTIFY of a REFER of ours; false: it belongs to another package.
    func handleReferNotify(
        _ request: SIPMessage, _ transaction: TransactionID, _ source: MessageSource, now: MonotonicTime
    ) -> Bool {
        let event = request.first(.event).map(SubscriptionField.init)
        if let event, event.value != Self.referPackage { return false }
        guard let referral = sentReferral(for: request, number: event?.parameter("id")) else {
            guard event != nil else { return false }
            counters.increment(.unknownReferral)
            refuse(request, transaction, 481, now: now)
            return true
        }
        let id = DialogID(callID: request.callID, localTag: request.toTag, remoteTag: request.fromTag)
        if referral.dialog == nil { adoptDialog(of: request, referral, id, source) }
        guard withDialog(id, { $0.accept(sequence: request.cseqNumber) }) ?? true else {
            counters.increment(.lowSequence)
            refuse(request, transaction, 500, now: now)
            return true
        }
        refuse(request, transaction, 200, now: now)
        notified(referral, request, now: now)
        return true
    }

    /// RFC 6665 §4.4.1: by the dialog and the number in Event. Without a number the oldest is meant, as only the first
    /// REFER of a dialog need not be numbered (B-068).
    private func sentReferral(for request: SIPMessage, number: String?) -> SentReferral? {
        guard !referrals.sent.isEmpty else { return nil }
        let (callID, local, remote) = (request.callID, request.toTag, request.fromTag)
        let those = referrals.sent.keys.sorted().compactMap { referrals.sent[$0] }.filter {
            $0.callID == callID && $0.localTag == local && ($0.dialog == nil || $0.dialog?.remoteTag == remote)
        }
        guard let number else { return those.first }
        return those.first { "\($0.request.sequence)" == number }
    }

    /// A NOTIFY may overtake the answer to the REFER (RFC 6665 §4.1.2.4), or come from another fork.
    private func adoptDialog(of request: SIPMessage, _ referral: SentReferral, _ id: DialogID, _ source: MessageSource) {
        var dialog = Dialog(request: request, localTag: referral.localTag, source: source)
        dialog.isEarly = false
        referral.dialog = id
        referrals.dialogs[id] = dialog
    }

    private func notified(_ referral: SentReferral, _ request: SIPMessage, now: MonotonicTime) {
        referral.notifications += 1
        let state = request.first(.subscriptionState).map(SubscriptionField.init)
        let isOver = state?.value == "terminated"
        if referral.phase != .told {
            guard referral.notifications <= configuration.maximumReferralNotifications else {
                counters.increment(.referralLimit)
                tell(referral, .failed(Causes.transferUnknown("more than \(configuration.maximumReferralNotifications) reports")))
                return linger(referral, isOver: isOver, now: now)
            }
            if let fragment = request.body(ofType: "message", "sipfrag").flatMap({ StatusFragment(parsing: $0) }) {
                report(referral, fragment)
            }
        }
        if isOver, referral.phase != .told {
            let reason = state?.parameter("reason")
            tell(referral, .failed(reason == "rejected" ? Causes.transferRejected : Causes.transferUnknown(reason)))
        }
        if referral.phase == .told { return linger(referral, isOver: isOver, now: now) }
        // It may end without a word (B-070); it is not asked for again.
        let expires = state?.parameter("expires").flatMap { UInt32($0) }.map { now + .seconds(Int64($0)) } ?? referral.limit
        timers.arm(.referral(referral.id), at: min(max(expires, now + .seconds(1)), max(referral.limit, now)))
    }

    private func report(_ referral: SentReferral, _ fragment: StatusFragment) {
        guard fragment.statusCode >= 200 else {
            if fragment != referral.last { emit(.referral(referral.id, .progress(fragment))) }
            referral.last = fragment
            return
        }
        tell(referral, fragment.statusCode < 300 ? .succeeded(fragment) : .failed(Causes.transferFailed(fragment)))
    }

    /// What is told already stays a while: the peer may have more to say, which is answered 200 and not heard.
    private func linger(_ referral: SentReferral, isOver: Bool, now: MonotonicTime) {
        if isOver { return forgetReferral(referral) }
        timers.arm(.referral(referral.id), at: now + configuration.stack.times.timeout)
    }
}

/// `refer;id=93809824` or `active;expires=60`: read leniently, as examples in RFCs hold what no grammar allows (RFC 3515
/// §4.1 F3).
struct SubscriptionField {
    /// Lower case.
    let value: String
    private let parts: [Substring]

    init(_ text: String) {
        parts = text.prefix(512).split(separator: ";", omittingEmptySubsequences: false)
        value = (parts.first ?? "").filter { $0 != " " && $0 != "\t" }.lowercased()
    }

    func parameter(_ name: String) -> String? {
        for part in parts.dropFirst() {
            let pair = part.split(separator: "=", maxSplits: 1).map { $0.filter { $0 != " " && $0 != "\t" } }
            if pair.count == 2, pair[0].lowercased() == name { return pair[1] }
        }
        return nil
    }
}
