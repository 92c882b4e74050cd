// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP

/// What the agent wants done or known; drained by `UserAgent.nextEffect()`.
public enum UserAgentEffect: Sendable {
    case transport(TransportEffect)
    /// Look this up and give the answer to `UserAgent.handle(_: DNSAnswer, now:)`.
    case resolve(DNSQuestion)
    /// Something did not get through: tell the addresses of this machine by `UserAgent.networkChanged(_:isForced:now:)`.
    case checkNetwork
    case event(UserAgentEvent)
}

/// Where a registration stands (RFC 3261 §10), with its reason.
public enum RegistrationState: Sendable, Hashable {
    case registering
    /// Bound until `until`; the agent refreshes before. `expires` is the granted time in seconds.
    case registered(until: MonotonicTime, expires: Int, status: Int, reason: String)
    /// The server refused for good, the password for one; nothing is tried again until `register` is called.
    case refused(Cause)
    /// The server could not be reached or could not serve; tried again after `retryAfter`, or (nil) not by itself.
    case failed(Cause, retryAfter: Interval?)
    case unregistering
    case unregistered

    /// The state in one word, for logs and programs: `registered`.
    public var name: String {
        switch self {
        case .registering: "registering"
        case .registered: "registered"
        case .refused: "refused"
        case .failed: "failed"
        case .unregistering: "unregistering"
        case .unregistered: "unregistered"
        }
    }
}

/// An INVITE that came in, offered to the user.
public struct IncomingInvite: Sendable {
    /// The account that was called; nil: none fits (a direct call).
    public var account: AccountID?
    /// The INVITE. Its offer: `message.body(ofType: "application", "sdp")`; nil: the offer is ours to make.
    public var message: SIPMessage
    public var source: MessageSource
    /// It came from the account's own server: what that asserts of the caller may be believed.
    public var isFromServer = false
    /// The session whose place this call takes (RFC 3891): `accept` ends that one.
    public var replaces: SessionID?

    /// Who calls, from the From header field.
    public var remote: NameAddress { message.from }
}

/// How a session ended.
public struct SessionEnd: Sendable, Hashable {
    /// The other side ended it (BYE, CANCEL, refusal); false: we did, or the network.
    public var byRemote: Bool
    public var cause: Cause
    /// Whether it had been established (a 2xx was sent or received).
    public var wasEstablished: Bool

    public init(byRemote: Bool, cause: Cause, wasEstablished: Bool) {
        self.byRemote = byRemote
        self.cause = cause
        self.wasEstablished = wasEstablished
    }
}

/// What the agent tells its user, in the order in which it happened.
public indirect enum UserAgentEvent: Sendable {
    case listening(TransportProtocol, SocketAddress)
    case registration(AccountID, RegistrationState)
    /// A call came in. The agent sends nothing but 100 until `ring`, `accept` or `reject`.
    case incoming(SessionID, IncomingInvite)
    /// UAC: a provisional response above 100; with a To tag it stands for an early dialog.
    case progress(SessionID, SIPMessage)
    /// UAC: the first 2xx. Was our offer in the INVITE, the ACK is on its way; else the offer is in this message and
    /// `acknowledge(_:answer:now:)` must follow.
    case answered(SessionID, SIPMessage)
    /// UAS: the ACK to the 2xx of the INVITE or of a re-INVITE came; it holds the answer where the offer was in the 2xx.
    case confirmed(SessionID, SIPMessage?)
    /// The peer's re-INVITE waits for `answerReinvite`.
    case reinvited(SessionID, SIPMessage)
    /// A 2xx to our re-INVITE; the ACK is on its way.
    case reinviteAnswered(SessionID, SIPMessage)
    /// Our re-INVITE failed and the session goes on as before. `willRetry`: a `reinviteDue` follows.
    case reinviteFailed(SessionID, Cause, willRetry: Bool)
    /// The wait after 491, 500 or a transaction in progress is over: call `reinvite` again with a fresh offer, if the
    /// change is still wanted. (The old offer may be outdated by what the peer negotiated meanwhile.)
    case reinviteDue(SessionID)
    /// UPDATE of the peer, or an offer in its PRACK.
    case update(SessionID, UpdateEvent)
    /// UAC, INVITE without an offer: a reliable provisional response brought one (RFC 3262 §5); `acknowledgeProgress` must follow.
    case earlyOffer(SessionID, SIPMessage)
    /// UAS: the PRACK with the answer to the offer in our reliable provisional response.
    case earlyAnswer(SessionID, SIPMessage)
    /// The session is to be refreshed (RFC 4028): call `reinvite` with an offer of what is agreed. Comes again while no
    /// refresh succeeds; in the end the session is over.
    case refreshDue(SessionID)
    /// The flow to the server was lost, and there is another one (RFC 5626 §4.5): call `reinvite` with `isMove` and an offer of what
    /// is agreed, so that the peer, whose own way may be a new one too, knows where we are.
    case moveDue(SessionID)
    /// DTMF by INFO, which the agent has answered 200.
    case info(SessionID, contentType: String, body: [UInt8])
    /// The final answer to `sendInfo`; 408 where none came. `accepted`: the media types that a 415 named.
    case infoAnswered(SessionID, status: Int, accepted: [MediaType])
    /// News of a transfer: a REFER of ours, or of somebody else.
    case referral(ReferralID, ReferralEvent)
    /// News of subscriptions, publications and messages.
    case event(EventNews)
    /// The session is over for the user; comes once for each session.
    case ended(SessionID, SessionEnd)
    /// Addresses of this machine came or went, and registrations follow. Sessions need fresh offers where
    /// `UserAgent.localAddress(of:)` is another one now: `reinvite` with `isMove`, or `reissueInvite` before the answer.
    case network(NetworkChange)
    case warning(Cause)
    /// After `shutDown`: everything ended.
    case stopped
}
