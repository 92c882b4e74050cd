// SPDX-License-Identifier: Apache-2.0

import Essentials
import EventPackages
import Media
import SIP
import SIPAgent

/// One call of a phone. Never reused within a phone's life.
public struct CallID: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    public var description: String { String(rawValue) }
}

public enum CallDirection: String, Sendable, Hashable {
    case outgoing
    case incoming
}

/// Where a call stands.
public enum CallState: String, Sendable, Hashable {
    /// We called; nothing came back yet.
    case calling
    /// We are being called and ring.
    case incoming
    /// We called and the other side rings, or plays early media.
    case early
    /// Answered; the confirmation is under way.
    case connecting
    /// Answered and confirmed.
    case confirmed
    /// Over.
    case disconnected
}

/// Who put a call on hold.
public enum HoldSide: String, Sendable, Hashable {
    case local
    case remote
}

/// What is known of an incoming call when it is shown.
public struct IncomingCall: Sendable {
    /// The account that was called; nil for a direct call to the phone's address.
    public var account: AccountID?
    /// The caller's display name, safe to show; nil if there is none.
    public var displayName: String?
    /// The caller's address.
    public var remote: URI
    /// The INVITE, for header fields that the application wants to read.
    public var invite: SIPMessage
    /// Who calls and how the call came here; nil where nothing but From is known.
    public var identity: CallerIdentity?
    /// Whether another call is up: this one waits.
    public var isWaiting = false
    /// The call whose place this one takes (RFC 3891): it is answered by the phone itself.
    public var replaces: CallID?
}

/// The media of a call as negotiated.
public struct CallMedia: Sendable, Hashable {
    /// The port of the bridge that carries the call.
    public var port: PortID
    public var codec: NegotiatedCodec
    public var local: SocketAddress
    /// Where our packets go; nil until the peer's source is known.
    public var remote: SocketAddress?
    public var sends: Bool
    public var receives: Bool
    /// Whether packets are encrypted (SRTP); false until that capability exists.
    public var isSecured: Bool
    /// Whether RFC 4733 digits can be sent.
    public var hasTelephoneEvent: Bool
    /// Whether the peer takes audio that is sent again (RFC 2198).
    public var hasRedundancy: Bool
}

/// How a call ended.
public struct CallEnd: Sendable {
    public var cause: Cause
    public var isByRemote: Bool
    /// Whether the call was ever answered.
    public var wasEstablished: Bool
    /// From the answer to the end; zero if never answered.
    public var duration: Interval

    public init(cause: Cause, isByRemote: Bool, wasEstablished: Bool, duration: Interval) {
        self.cause = cause
        self.isByRemote = isByRemote
        self.wasEstablished = wasEstablished
        self.duration = duration
    }
}

/// What a phone tells its application. In order; the same happenings give the same events.
public indirect enum PhoneEvent: Sendable {
    /// A socket is open and can receive.
    case listening(TransportProtocol, SocketAddress)
    case registration(AccountID, RegistrationState)
    case incomingCall(CallID, IncomingCall)
    /// A call changed its state; with the last status and reason of SIP.
    case callState(CallID, CallState, status: Int, reason: String)
    /// Media of the call is negotiated, or changed.
    case media(CallID, CallMedia)
    /// A side put the call on hold, or took it off.
    case hold(CallID, by: HoldSide, isHeld: Bool)
    /// Hold or resume failed: the call stays as it was.
    case holdFailed(CallID, Cause)
    case digitReceived(CallID, Character, DigitMethod, milliseconds: Int)
    case digitSent(CallID, Character, DigitMethod, milliseconds: Int)
    case digitFailed(CallID, Cause)
    /// What else happens on a call: what the caller should hear, who is connected, another way that the call takes.
    case notice(CallID, CallNotice)
    /// The peer's packets come from here from now on.
    case mediaSource(CallID, SocketAddress)
    /// News of a transfer, with the call that is transferred; nil: none, or it is over.
    case transfer(CallID?, TransferEvent)
    /// The members of a conference in the order of their coming; empty: it is over.
    case conference(ConferenceID, [CallID])
    case statistics(CallID, StreamStatistics, isFinal: Bool)
    case ended(CallID, CallEnd)
    case subscription(SubscriptionID, SubscriptionEvent)
    /// How many messages wait in the account's mailbox.
    case messageWaiting(AccountID, MessageSummary)
    case publication(PublicationID, PublicationStatus)
    case message(MessageEvent)
    /// An event of a port that the application opened itself: a player, a recorder.
    case port(MediaEvent)
    /// Addresses of this machine came or went; registrations and calls follow by themselves.
    case network(NetworkChange)
    /// Something that the user should know but that ended nothing.
    case warning(CallID?, Cause)
    /// `shutDown` is complete: nothing is registered and no call is left.
    case stopped
}

/// What a phone wants the world to do, or tells its application.
public enum PhoneEffect: Sendable {
    case transport(TransportEffect)
    case resolve(DNSQuestion)
    case media(MediaCommand)
    /// Something did not get through: tell the addresses of this machine by `PhoneCore.networkChanged(_:isForced:now:)`.
    case checkNetwork
    case event(PhoneEvent)
}

/// Why a command of the application was refused.
public struct PhoneError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Code: String, Sendable, Hashable {
        /// The call is over or never was.
        case noSuchCall = "phone.no-such-call"
        /// The account is not there.
        case noSuchAccount = "phone.no-such-account"
        /// The command does not fit the state of the call.
        case wrongState = "phone.wrong-state"
        /// The address of an account is no SIP URI.
        case badAddress = "phone.bad-address"
        /// What was dialled is no number, name or URI.
        case badTarget = "phone.bad-target"
        /// The name of a header field is no token (RFC 3261 §25.1).
        case badHeader = "phone.bad-header"
        /// A limit of the configuration is reached.
        case limit = "phone.limit"
        /// A digit is not one of 0–9, *, #, A–D or `,`.
        case badDigits = "phone.bad-digits"
        /// The way of sending digits was not negotiated.
        case noTelephoneEvent = "phone.no-telephone-event"
        /// A message is longer than the limit.
        case messageTooLong = "phone.message-too-long"
        /// The phone is being shut down.
        case stopping = "phone.stopping"
    }

    public var code: Code
    public var reason: String

    public init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    public var description: String { "\(reason) (\(code.rawValue))" }
}
