// SPDX-License-Identifier: Apache-2.0

import Crypto
import Essentials
import SIP
import SIPAgent

/// A person or device that may register and call.
public struct ServerUser: Sendable, Hashable {
    /// The user part of the address of record, and the user name of digest authentication.
    public var name: String
    public var password: Secret

    public init(_ name: String, password: Secret) {
        self.name = name
        self.password = password
    }
}

/// A user name that is always at one fixed contact, without registration or password: an in-process service phone.
public struct ServiceContact: Sendable, Hashable {
    /// The user part under which the service is called: `echo`, `tone`, `music`, `record`.
    public var user: String
    /// Where its calls go: a SIP URI with a numeric host.
    public var contact: SIPURI

    public init(user: String, contact: SIPURI) {
        self.user = user
        self.contact = contact
    }
}

/// What an embedded server serves, and its limits.
public struct ServerConfiguration: Sendable {
    /// The domains whose users register here. The addresses that the server listens on count as its own as well.
    public var domains: [String]
    public var users: [ServerUser]
    public var services: [ServiceContact] = []
    /// Seals the Record-Route of dialogs, so that requests within them may pass; 16 octets or more that nobody can guess. With
    /// the same key after a restart, calls go on; nil: a new one each time.
    public var routeKey: Secret?
    /// The realm of challenges; nil: the first domain.
    public var realm: String?
    /// Whether REGISTER must carry a right digest answer. False: anybody may register any name (tests only).
    public var authenticatesRegistrations = true
    /// Whether requests that claim to come from a user of ours must carry a right digest answer.
    public var authenticatesCalls = true
    /// Whether a user of ours may call other domains through this server.
    public var relaysToOtherDomains = true
    /// The hash functions offered in challenges, the preferred first (RFC 8760). MD5 alone as long as nothing else is
    /// asked for: phones of before that RFC, baresip 1.0 among them, give up at a challenge that they do not know.
    public var challengeAlgorithms: [HashAlgorithm] = [.md5]
    /// The digest nonce's life, 1 s or more.
    public var nonceLifetime: Interval = .seconds(300)

    /// What a registration that names no time is granted, in seconds.
    public var defaultExpires: UInt32 = 3600
    /// Below this a registration is refused with 423 (RFC 3261 §10.3 step 7), in seconds.
    public var minimumExpires: UInt32 = 60
    /// No registration is granted more, in seconds.
    public var maximumExpires: UInt32 = 7200
    /// Whether flows are registered as such (RFC 5626 §6); a server of before answers as if nobody had asked, and no STUN.
    public var knowsFlows = true
    /// How often phones that register their flow are to send keep-alives at least (Flow-Timer, RFC 5626 §5.4), seconds,
    /// 5...86 400; 0: left to them.
    public var flowTimer: UInt32 = 120
    /// Contacts that one user may have at a time; more is answered 403.
    public var maximumContactsPerUser = 10
    /// Contacts of all users together; more is answered 503.
    public var maximumContacts = 10_000

    /// Whether contacts with an instance get GRUUs if they ask for them (RFC 5627).
    public var givesGRUU = false
    /// What is told as Service-Route (RFC 3608), in order; empty: nothing.
    public var serviceRoute: [SIPURI] = []
    /// Path values that one REGISTER may carry; more is answered 403.
    public var maximumPath = 8

    /// Branches of one request; the contacts beyond are not tried.
    public var maximumBranches = 10
    /// Requests that are being proxied at a time; more is answered 503.
    public var maximumRequests = 10_000
    /// Timer C (RFC 3261 §16.6 step 11): how long a ringing branch may go without a provisional response. More than 3 min.
    public var timerC: Interval = .seconds(181)
    /// How long contacts of one q value ring before those of the next lower one are tried.
    public var ringTime: Interval = .seconds(20)

    /// Settings of the transport and transaction layers.
    public var stack: StackConfiguration

    public init(domains: [String], users: [ServerUser] = [], stack: StackConfiguration = StackConfiguration()) {
        self.domains = domains
        self.users = users
        self.stack = stack
    }
}

/// What the server wants of the world.
public enum ServerEffect: Sendable {
    case transport(TransportEffect)
    case resolve(DNSQuestion)
    case event(ServerEvent)
}

/// What the server tells its owner.
public enum ServerEvent: Sendable {
    /// A socket or listener is open and serves.
    case listening(TransportProtocol, SocketAddress)
    /// `user` can be reached at `contact` for `expires` seconds, by a message from `source`.
    case registered(user: String, contact: String, expires: UInt32, source: SocketAddress)
    /// The contact was taken back, or its time ended.
    case unregistered(user: String, contact: String)
    /// A request was refused by the server itself.
    case refused(method: Method, user: String, status: Int, source: SocketAddress)
    /// An INVITE was forwarded to so many contacts.
    case called(from: String, to: String, branches: Int)
    /// Something went wrong that the owner should know of.
    case warning(Cause)
}

/// What the server counts: each refusal, drop and limit.
public enum ServerCounter: Int, CounterName {
    case registrationsAccepted, registrationsRefused, registrationsChallenged, intervalsTooBrief
    case contactsPerUserLimit, contactsLimit, contactsExpired, contactsLost
    case requestsForwarded, responsesForwarded, branchesStarted, branchesFailed, branchesLimit, branchesCancelled
    case requestsChallenged, requestsRefused, requestsLimit, loopsDetected, maxForwardsReached
    case timerCFired, strayResponses, acksForwarded, acksDropped
}
