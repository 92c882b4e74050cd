// SPDX-License-Identifier: Apache-2.0
//
// A referral: one REFER with the implicit subscription that tells how it went (RFC 3515 §2.4, RFC 6665).
//
//   who refers       asked ─2xx─► accepted ─NOTIFY with a final status, or terminated─► told ─(late NOTIFYs)─► gone
//                      └ refused, no answer └ no NOTIFY in 64·T1, expired, too many ─► told
//   who is referred  offered ─accept─► 202, NOTIFY 100 ─notify─► NOTIFY 18x … ─► NOTIFY 2xx–6xx, terminated ─► gone
//                      └ reject: 603

import Essentials
import SIP

/// One REFER, sent or received. Given in order, never used twice.
public struct ReferralID: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    public var description: String { "referral \(rawValue)" }
}

/// What is done with a REFER of somebody else: whether others may make this phone call.
public enum TransferPolicy: String, Sendable, Hashable, CaseIterable {
    /// Followed at once.
    case accept
    /// Each is offered to the user, and taken as refused when no decision comes in time.
    case ask
    /// Answered 603 and counted (`AgentCounter.referralRefused`).
    case refuse
}

/// What is done with an INVITE that names a call of ours as the one it replaces (RFC 3891).
public enum ReplacementPolicy: String, Sendable, Hashable, CaseIterable {
    /// Taken: who knows both tags of the call takes part in it.
    case accept
    /// Answered 603 and counted (`AgentCounter.replacementRefused`).
    case refuse
}

/// A REFER that came in: somebody wants us to call somebody.
public struct IncomingReferral: Sendable {
    /// The call that it belongs to: by its dialog, or by Target-Dialog (RFC 4538). nil: none.
    public var session: SessionID?
    public var account: AccountID?
    /// Whom to call, without the header fields of the URI.
    public var target: URI
    /// The call of the target that the new call is to replace (RFC 3891); nil: none.
    public var replaces: Replaces?
    /// Who refers us, for the new INVITE (RFC 3892); nil: not said.
    public var referredBy: NameAddress?
    /// What is done with it by the settings of the account.
    public var policy: TransferPolicy
    public var message: SIPMessage
    public var source: MessageSource
}

/// What becomes of a referral.
public enum ReferralEvent: Sendable {
    /// A REFER came in and is allowed: `acceptReferral` or `rejectReferral` must follow.
    case received(IncomingReferral)
    /// A REFER came in and was refused by the settings.
    case turnedAway(SessionID?, Cause)
    /// Our REFER was taken; the status of its answer.
    case accepted(status: Int)
    /// The other side tells how its call goes.
    case progress(StatusFragment)
    /// The other side's call was answered, with that status; the last event of a REFER of ours. A REFER that asked for no
    /// reports (RFC 4488) is done when it was taken.
    case succeeded(StatusFragment)
    /// The other side's call failed, or it is not known how it went; the last event of a REFER of ours.
    case failed(Cause)
}

/// A REFER of ours.
final class SentReferral {
    enum Phase { case asked, accepted, told }

    let id: ReferralID
    let session: SessionID?
    let request: ClientRequest
    let callID: String
    let localTag: String
    /// nil: outside dialogs, and neither the answer nor a NOTIFY has come.
    var dialog: DialogID?
    var phase = Phase.asked
    /// Whether reports are asked for.
    let subscribes: Bool
    var notifications = 0
    var last: StatusFragment?
    /// When it is given up.
    let limit: MonotonicTime

    init(
        id: ReferralID, session: SessionID?, request: ClientRequest, callID: String, localTag: String, dialog: DialogID?,
        subscribes: Bool, limit: MonotonicTime
    ) {
        self.id = id
        self.session = session
        self.request = request
        self.callID = callID
        self.localTag = localTag
        self.dialog = dialog
        self.subscribes = subscribes
        self.limit = limit
    }
}

/// A REFER of the peer.
final class ReceivedReferral {
    let id: ReferralID
    let session: SessionID?
    let account: AccountID?
    let dialog: DialogID
    let request: SIPMessage
    /// nil: answered.
    var transaction: TransactionID?
    /// Whether NOTIFYs name it by its number: all but the first of a dialog (RFC 3515 §2.4.6).
    let isNumbered: Bool
    /// The peer wants no reports (RFC 4488).
    let isSilent: Bool
    /// Accepted, but the user has not decided.
    var isPending = false
    /// A NOTIFY has no answer yet; what is to be told next waits.
    var isNotifying = false
    var waiting: StatusFragment?
    var notifications = 0
    var isFinished = false
    let limit: MonotonicTime

    init(
        id: ReferralID, session: SessionID?, account: AccountID?, dialog: DialogID, request: SIPMessage,
        transaction: TransactionID, isNumbered: Bool, isSilent: Bool, limit: MonotonicTime
    ) {
        self.id = id
        self.session = session
        self.account = account
        self.dialog = dialog
        self.request = request
        self.transaction = transaction
        self.isNumbered = isNumbered
        self.isSilent = isSilent
        self.limit = limit
    }
}

/// Every referral that is not over, and the dialogs that only they need.
struct Referrals {
    var sent: [ReferralID: SentReferral] = [:]
    var received: [ReferralID: ReceivedReferral] = [:]
    /// Dialogs that a REFER made, and those whose session is over.
    var dialogs: [DialogID: Dialog] = [:]
    private var last: UInt64 = 0

    var isEmpty: Bool { sent.isEmpty && received.isEmpty }
    var count: Int { sent.count + received.count }

    mutating func makeID() -> ReferralID {
        last &+= 1
        return ReferralID(rawValue: last)
    }

    func uses(_ dialog: DialogID) -> Bool {
        sent.values.contains { $0.dialog == dialog } || received.values.contains { $0.dialog == dialog }
    }
}

extension UserAgent {
    /// Changes the dialog of a session or of a referral; nil: there is none any more.
    func withDialog<Result>(_ id: DialogID, _ body: (inout Dialog) -> Result) -> Result? {
        if let session = dialogs[id].flatMap({ sessions[$0] }), var dialog = session.dialog, dialog.id == id {
            defer { session.dialog = dialog }
            return body(&dialog)
        }
        guard var dialog = referrals.dialogs[id] else { return nil }
        defer { referrals.dialogs[id] = dialog }
        return body(&dialog)
    }

    /// The session that holds this dialog is forgotten: referrals may still need it (RFC 5057 §4).
    func keepForReferrals(_ dialog: Dialog) {
        if !referrals.isEmpty, referrals.uses(dialog.id) { referrals.dialogs[dialog.id] = dialog }
    }

    func forgetReferral(_ referral: SentReferral) {
        referrals.sent[referral.id] = nil
        forgetReferral(referral.id, referral.dialog)
    }

    func forgetReferral(_ referral: ReceivedReferral) {
        referral.isFinished = true
        referrals.received[referral.id] = nil
        forgetReferral(referral.id, referral.dialog)
    }

    private func forgetReferral(_ id: ReferralID, _ dialog: DialogID?) {
        timers.cancel(.referral(id))
        if let dialog, !referrals.uses(dialog) { referrals.dialogs[dialog] = nil }
    }

    /// Ends every referral: the peers of those that came in are told.
    func endReferrals(now: MonotonicTime) {
        for id in referrals.received.keys.sorted() {
            if let referral = referrals.received[id] { reject(referral, 480, now: now) }
        }
        for id in referrals.sent.keys.sorted() {
            if let referral = referrals.sent[id] { tell(referral, .failed(Causes.shutDown)) }
        }
    }

    /// Forgets every referral at once.
    func dropReferrals() {
        for id in referrals.sent.keys.sorted() { timers.cancel(.referral(id)) }
        for id in referrals.received.keys.sorted() { timers.cancel(.referral(id)) }
        referrals = Referrals()
    }

    /// The time of a referral is over.
    func referralDue(_ id: ReferralID, now: MonotonicTime) {
        if let referral = referrals.sent[id] {
            switch referral.phase {
            case .told: forgetReferral(referral)
            case .asked: break
            case .accepted:
                counters.increment(.referralExpired)
                tell(referral, .failed(referral.notifications == 0 ? Causes.transferUnreported : Causes.transferUnknown(nil)))
                forgetReferral(referral)
            }
        } else if let referral = referrals.received[id] {
            counters.increment(.referralExpired)
            notify(referral, StatusFragment(408), reason: "timeout", now: now)
        }
    }
}
