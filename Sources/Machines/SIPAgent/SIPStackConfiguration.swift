// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP

/// Settings of a `SIPStack`: times of RFC 3261 §17 and every limit on what comes from outside.
public struct StackConfiguration: Sendable {
    /// T1, T2, T4 and what follows from them.
    public var times = TransactionTimes()
    /// Limits of one message (size, header fields, parameters).
    public var messageLimits = MessageLimits.default
    /// What stands in Server and User-Agent of messages that the stack makes by itself; nil: nothing.
    public var userAgent: String?
    /// Addresses of this host, told where a socket is bound to the unspecified address; the first of the right family is taken.
    public var addresses: [IPAddress] = []
    /// How connections with TLS are made that belong to no account.
    public var tls = TLSSettings()
    /// Whether a request without To tag that came over two paths is answered 482 (§8.2.2.2). A user agent does, a proxy does not.
    public var detectsMergedRequests = true

    /// Server transactions at once; beyond it a request is answered 503 without state.
    public var serverTransactions = 20_000
    /// Client transactions at once; beyond it a request fails with `FlowFailure.limit`.
    public var clientTransactions = 20_000
    /// Unanswered INVITEs at once from one source that is not exempt (an IPv4 address or an IPv6 /64): beyond it 503.
    public var unansweredInvitesPerSource = 100
    /// Sources under `unansweredInvitesPerSource` that are looked after at once; the INVITE of one more gets 503.
    public var invitingSources = 10_000
    /// Connections at once, accepted and opened together.
    public var connections = 2_000
    /// Accepted ones among them: however many come, there is room to open our own.
    public var acceptedConnections = 1_500
    /// Accepted ones from one source (an IPv4 address or an IPv6 /64) that is no server of ours; more are refused. 1...
    public var acceptedConnectionsPerSource = 500
    /// How long an accepted connection may be silent: one that brings no message in this time is closed, unless we had one for it or
    /// it comes from a server of ours. Keep-alives are no messages. Zero: for ever.
    public var silentConnection = Interval.seconds(64)
    /// Octets that wait for one connection to come up.
    public var queuedOctetsPerConnection = 262_144
    /// How long an accepted or opened connection may hold an unfinished message.
    public var unfinishedMessage = Interval.seconds(30)
    /// How long a connection that a request waits for may take to come up, if the world does not give up before.
    public var connecting = Interval.seconds(30)
    /// A request of more octets does not go by datagram where there is another way (§18.1.1): the largest path that can be
    /// trusted in, 1500 octets, without 200.
    public var requestOctets = 1300
    /// Whether STUN binding requests on datagram sockets are answered (RFC 5626 §8: servers do).
    public var answersSTUN = false
    /// The largest datagram that is sent, in octets.
    public var datagramOctets = 65_000

    /// Tests of the simulated world only.
    package var plantedFault: PlantedFault?

    public init() {}
}
