// SPDX-License-Identifier: Apache-2.0
//
// One request of ours from its making to its last answer: name resolution, the targets one after another (RFC 3263
// §4.3), challenges (RFC 3261 §22). Each try is a transaction of its own; the request stays the same.
//
//   start ─► locating ─► sent ─► final answer
//                         │ 401/407: again with credentials, CSeq + 1
//                         │ 422: again with the interval that it names, CSeq + 1
//                         │ transport failure, time-out, 503: next target, new branch
//                         │ 3xx to an INVITE: another Request-URI, CSeq + 1 (Redirection)
//                         └ nothing left: the last failure counts

import Essentials
import SIP

/// What a request of ours is for, hence who hears of its answer.
enum RequestPurpose: Sendable, Hashable {
    case register(AccountID)
    case invite(SessionID)
    case reinvite(SessionID)
    case bye(SessionID)
    case info(SessionID)
    /// The PRACK of a reliable provisional response in the early dialog with that remote tag.
    case prack(SessionID, tag: String)
    /// An UPDATE in the dialog with that remote tag, early or not.
    case update(SessionID, tag: String)
    case refer(ReferralID)
    case notify(ReferralID)
    /// A subscription, notification, publication or message.
    case event(EventPurpose)
    /// The BYE for a surplus fork: nobody hears of it.
    case abandonFork
}

/// What the agent fills into Contact when the flow, hence our address, is known.
enum ContactForm: Sendable {
    case none
    /// The Contact of a dialog.
    case dialog
    /// The Contact of a registration with its time in seconds.
    case registration(expires: Int)
}

final class ClientRequest {
    var purpose: RequestPurpose
    let account: AccountID?
    let method: Method
    /// Without Via and Contact.
    var message: MessageBuilder
    var sequence: UInt32
    /// Whose host is sent to.
    var nextHop: URI
    let contact: ContactForm
    /// The flow of the dialog or registration, preferred where it leads to the target.
    var source: MessageSource?
    /// Our From outside dialogs, and the Request-URI: what the dialogs of an INVITE are made of.
    var local: NameAddress?
    var requestURI: URI
    /// The host of our From is that of our address, which is known when the target is.
    var fillsLocalHost = false
    /// A re-INVITE without an offer: the other side makes it in its 2xx.
    var wantsOffer = false
    /// Our Contact does not name us.
    var isAnonymous = false
    /// Whether the next target may be tried after a failure (outside dialogs).
    var mayChangeTarget = false

    var targets: [SignallingTarget] = []
    var triedTargets = 0
    var transaction: TransactionID?
    /// The time in which this target must say something runs.
    var hasPatience = false
    var challengeRounds = 0
    var attempt = DigestAttempt()
    /// Why the last challenge was not answered.
    var challengeFailure: DigestFailure?
    /// The credentials that went out, repeated in ACK and CANCEL (§22.1, §13.2.2.4).
    var credentials: [(HeaderName, String)] = []
    /// Whether it is too large for a datagram, and what was done about it.
    var size = RequestSize.fits
    /// The connection it went over is gone: that no answer came says nothing about the peer (B-020).
    var lostFlow = false
    /// It waits on a connection whose address is gone, and is to be sent anew.
    var isStranded = false
    /// Our address when it was sent.
    var sentFrom: IPAddress?
    /// The session interval that it asks for in seconds, and how often a 422 raised it.
    var sessionInterval: UInt32 = 0
    var intervalRetries = 0
    /// The reliable provisional responses of this INVITE, one entry for each early dialog.
    var reliable: [ReliableProgress] = []
    /// Where a redirected INVITE has been and may still go; nil: nobody redirected it.
    var redirection: Redirection?
    /// Set when the user no longer wants it: nothing more is sent but CANCEL.
    var isAbandoned = false
    /// What CANCEL carries besides, such as Reason.
    var cancelHeaders: [(HeaderName, String)] = []

    init(
        _ purpose: RequestPurpose, account: AccountID?, method: Method, message: MessageBuilder, sequence: UInt32,
        nextHop: URI, contact: ContactForm, local: NameAddress? = nil, requestURI: URI, source: MessageSource? = nil
    ) {
        self.purpose = purpose
        self.account = account
        self.method = method
        self.message = message
        self.sequence = sequence
        self.nextHop = nextHop
        self.contact = contact
        self.source = source
        self.local = local
        self.requestURI = requestURI
    }

    /// RFC 3261 §8.1.1.8: where the Request-URI or the first hop is `sips`, so is our Contact.
    var needsSecureContact: Bool { (requestURI.sip?.isSecure ?? false) || (nextHop.sip?.isSecure ?? false) }

    /// It is a BYE by way of a route: where that is dead it goes past it.
    var mayDetour = false

    /// Whether a silent target can be left for another one.
    var hasFurtherTarget: Bool { mayChangeTarget && triedTargets < targets.count || mayDetour }

    /// The target that the last try went to.
    var target: SignallingTarget? { triedTargets > 0 && triedTargets <= targets.count ? targets[triedTargets - 1] : nil }
}
