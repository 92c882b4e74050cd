// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP

/// Names one transaction of a `SIPStack`; ordered by creation.
public struct TransactionID: Hashable, Comparable, Sendable {
    /// The number of the transaction: 1, 2, 3, …
    public let rawValue: UInt64
    /// Where the stack keeps it.
    let slot: UInt32

    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    public static func == (left: Self, right: Self) -> Bool { left.rawValue == right.rawValue }
    public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
}

/// Where a request is to be sent: the outcome of server location (RFC 3263), or a flow known from before.
public struct SignallingTarget: Sendable, Hashable {
    public var transport: TransportProtocol
    public var address: SocketAddress
    /// The configured name that leads there: what a TLS certificate must cover (RFC 5922 §4), not the names of SRV records.
    public var name: String?
    /// Whose TLS settings hold for the connection.
    public var profile = TLSProfile.standard
    /// The resource that a WebSocket to there asks for; nil: that of the phone (`WebSocketSettings.path`).
    public var path: String?
    /// Use this flow as long as it is open.
    public var flow: FlowID?

    public init(_ transport: TransportProtocol, _ address: SocketAddress, name: String? = nil, flow: FlowID? = nil) {
        self.transport = transport
        self.address = address
        self.name = name
        self.flow = flow
    }

    public init(transport: TransportProtocol, address: SocketAddress, name: String? = nil, flow: FlowID? = nil) {
        self.init(transport, address, name: name, flow: flow)
    }

    /// Back to where a message came from, over the same flow.
    public init(_ source: MessageSource) {
        self.init(source.transport, source.remote, flow: source.flow)
    }
}

/// Over which flow, and from where, a message came.
public struct MessageSource: Sendable, Hashable {
    public var flow: FlowID
    public var transport: TransportProtocol
    /// The source of the packet: never what the message says of itself.
    public var remote: SocketAddress
    /// Where it was received.
    public var local: SocketAddress

    public init(flow: FlowID, transport: TransportProtocol, remote: SocketAddress, local: SocketAddress) {
        self.flow = flow
        self.transport = transport
        self.remote = remote
        self.local = local
    }
}

/// Why a transaction ended without what it was for.
public enum TransactionFailure: Sendable, Hashable {
    /// No response (timers B and F; to be treated as 408, RFC 3261 §8.1.3.1), or no ACK (timer H).
    case timedOut
    /// The message could not be sent (to be treated as 503, §8.1.3.1).
    case transport(FlowFailure)
    /// So many octets are too large for a datagram (§18.1.1): to be sent over a connection. Nothing was sent.
    case tooLarge(octets: Int)
}

/// What the transport and transaction layers tell their user (RFC 3261 §5).
public enum StackEvent: Sendable {
    /// A new server transaction. To an INVITE the stack sends 100 (Trying) by itself unless it is answered in time.
    case request(SIPMessage, TransactionID, MessageSource)
    /// An ACK to a 2xx. `of` is nil where it names no transaction, as usual: its branch is a new one (§13.2.2.4).
    case ack(SIPMessage, of: TransactionID?, MessageSource)
    /// A CANCEL met this INVITE, which has no final response yet. The CANCEL is answered; answer the INVITE with 487.
    case cancelled(TransactionID, SIPMessage)
    /// A response of a client transaction, provisional or final; each 2xx to an INVITE, repeated or of another branch of a fork.
    case response(SIPMessage, TransactionID, MessageSource)
    /// A response that belongs to no transaction: a late 2xx, or one that a proxy passes on.
    case strayResponse(SIPMessage, MessageSource)
    /// The transaction ends without a response, or a response without an ACK. `ended` follows.
    case failed(TransactionID, TransactionFailure)
    /// The transaction is forgotten.
    case ended(TransactionID)
    /// A sign of life over a flow that is kept (`SIPStack.ping`, `SIPStack.bind`).
    case keepAlive(FlowID, KeepAliveSign, from: SocketAddress)
    /// A socket or listener is open.
    case listening(FlowID, TransportProtocol, local: SocketAddress)
    /// A connection that was opened is up.
    case connected(FlowID)
    /// A connection (or socket) is gone.
    case flowClosed(FlowID, FlowFailure)
    /// To be shown as a warning.
    case notice(StackNotice)
}

/// What a `SIPStack` counts.
public enum StackCounter: Int, CounterName {
    // Transport
    case datagramsReceived, streamMessagesReceived, messagesSent, octetsSent
    case keepAlivesAnswered, keepAlivesReceived, keepAlivesSent, emptyDatagrams
    case stunDatagrams, stunMalformed, stunAnswered
    case dropped, refused, framingFailures, unfinishedMessages, unknownFlows
    case connectionsOpened, connectionsAccepted, connectionsRefused, connectionsClosed, sendFailures
    case silentConnections, connectionsOverShare, unreadableResponses, mismatchedResponses
    case queueOverflows, datagramsTooLarge, requestsTooLarge, noFlow, responseFallbacks, responsesUndeliverable
    // Transactions
    case clientTransactions, serverTransactions, requestRetransmissions, responseRetransmissions
    case repeatsAbsorbed, unexpected, strayResponses, strayCancels, strayACKs, mergedRequests
    case timeouts, transportFailures, serverLimit, clientLimit, sourceLimit
}
