// SPDX-License-Identifier: Apache-2.0

import Crypto
import Essentials
import SIP

/// What is done with an INVITE that does not come from the account's own server.
public enum DirectCalls: Sendable, Hashable {
    case accept
    /// Answered 403 and counted (`AgentCounter.directCallRefused`).
    case refuse
}

/// How long to wait before a registration is tried again after a lost network, a time-out or a server's failure.
///
/// Waits double from `initial` up to `maximum`; each is shortened by up to a half at random, so that phones which lost
/// the same server do not come back in one moment. A refused password is never tried again by itself.
public struct RetryPolicy: Sendable, Hashable {
    /// The first wait; zero: a failed registration is not tried again.
    public var initial: Interval
    /// The longest wait.
    public var maximum: Interval

    public init(initial: Interval = .seconds(2), maximum: Interval = .seconds(120)) {
        self.initial = initial
        self.maximum = maximum
    }

    public static let none = RetryPolicy(initial: .zero, maximum: .zero)
}

/// What an account does about waiting messages (RFC 3842).
public enum MessageWaiting: String, Sendable, Hashable, CaseIterable {
    /// Nothing: what is told unasked is answered 481.
    case off
    /// What the account's server tells unasked is taken.
    case unsolicited
    /// The phone subscribes to its mailbox while it is registered; what is told unasked is taken too.
    case subscribe
}

/// One account: who we are at which server.
public struct AccountConfiguration: Sendable {
    /// The address that others call, such as `sip:1001@example.net` (RFC 3261 §6).
    public var addressOfRecord: SIPURI
    /// Shown to the called person; nil: none.
    public var displayName: String?
    /// Where REGISTER goes; nil: the domain of the address of record.
    public var registrar: SIPURI?
    /// The outbound proxy for every request of the account (RFC 3261 §8.1.2); nil: none.
    public var proxy: SIPURI?
    /// Further outbound proxies, over each of which a flow of its own is registered (RFC 5626 §4.2), at most seven: incoming calls
    /// come over either, outgoing ones go over the first that is registered. Needs `outbound`, and a registrar that takes part.
    public var furtherProxies: [SIPURI] = []
    /// What answers challenges, in order of preference.
    public var credentials: [Credential]
    /// Whether to register at all.
    public var registers: Bool
    /// Seconds of registration to ask for, 1...4294967295.
    public var expires: Int
    /// The transport to the server; nil: as the URIs and DNS say (RFC 3263).
    public var transport: TransportProtocol?
    public var directCalls: DirectCalls
    /// What is done with a REFER of somebody else: default refused.
    public var transfers: TransferPolicy
    /// What is done with an INVITE that replaces a call of this account: default accepted.
    public var replacements: ReplacementPolicy
    public var retryPolicy: RetryPolicy
    /// Where bare telephone numbers are called, if that is not the domain of the address of record: a gateway to the
    /// telephone network. nil: the account's domain.
    public var gatewayDomain: Host?
    /// Whom the account trusts on connections with TLS, and who it is there itself.
    public var tls = TLSSettings()
    /// The resource that the account's WebSockets ask for (RFC 7118 §4), such as `/ws`; nil: that of the phone's settings.
    public var webSocketPath: String?
    /// This device, the same at every start, as a URN without brackets: `urn:uuid:00000000-0000-1000-8000-000A95A0E128`
    /// (RFC 5626 §4.1). GRUU needs it; nil: no name is told.
    public var instance: String?
    /// Whether a GRUU is asked for, and which one stands in the Contact of calls (RFC 5627). Needs `instance`.
    public var gruu = GRUUUse.off
    /// How the server can wake this phone by a push (RFC 8599); nil: it cannot.
    public var push: PushParameters?
    /// Whether the registrar's Service-Route (RFC 3608) is followed.
    public var followsServiceRoute = true
    /// How the account's calls behave.
    public var calls = AccountCallSettings()
    public var messageWaiting = MessageWaiting.unsolicited
    /// The mailbox to subscribe to; nil: the address of record.
    public var mailbox: SIPURI?
    /// Whether others, by way of the account's server, may see when this line is in a call (RFC 4235); false: they get 403.
    public var allowsDialogSubscriptions = false

    /// Whether the account's flow is registered as one (RFC 5626).
    public var outbound = OutboundUse.on

    public init(
        addressOfRecord: SIPURI, displayName: String? = nil, registrar: SIPURI? = nil, proxy: SIPURI? = nil,
        credentials: [Credential] = [], registers: Bool = true, expires: Int = 600, transport: TransportProtocol? = nil,
        directCalls: DirectCalls = .refuse, transfers: TransferPolicy = .refuse, replacements: ReplacementPolicy = .accept,
        retryPolicy: RetryPolicy = RetryPolicy(), gatewayDomain: Host? = nil
    ) {
        self.addressOfRecord = addressOfRecord
        self.displayName = displayName
        self.registrar = registrar
        self.proxy = proxy
        self.credentials = credentials
        self.registers = registers
        self.expires = expires
        self.transport = transport
        self.directCalls = directCalls
        self.transfers = transfers
        self.replacements = replacements
        self.retryPolicy = retryPolicy
        self.gatewayDomain = gatewayDomain
    }
}
