// SPDX-License-Identifier: Apache-2.0
//
// The seam between the machines and the world for SIP messages (RFC 3261 §18): what the world tells, and what it is to do.

import Essentials
import SIP

/// One way over which messages come and go: a datagram socket, a listener of connections, or one connection.
///
/// Flows that a machine opens (`TransportEffect.connect`) have even numbers, given by the machine; flows that the
/// world opens (sockets, listeners, accepted connections) have odd numbers, given by the world.
public struct FlowID: Hashable, Comparable, Sendable {
    public let rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Why a flow ended or could not be opened.
public enum FlowFailure: Sendable, Hashable {
    /// The other side closed it in good order.
    case closedByPeer
    /// Closed by us.
    case closedLocally
    /// The other side refused: nothing listens there (ECONNREFUSED, ICMP port unreachable).
    case refused
    /// No route, host or network (EHOSTUNREACH, ENETUNREACH, ENETDOWN).
    case unreachable
    /// No answer in time.
    case timedOut
    /// The connection was reset.
    case reset
    /// A limit of ours: too many connections, too much waiting to be sent.
    case limit
    /// TLS did not come about, or broke.
    case secure(TLSFailure)
    /// Anything else, as the system words it.
    case other(String)
}

/// What the world tells a machine about its flows.
public enum TransportInput: Sendable {
    /// A socket or listener is open. A datagram flow can send and receive; a listener's connections follow as `accepted`.
    case listening(FlowID, TransportProtocol, local: SocketAddress)
    /// A connection asked for by `TransportEffect.connect` is up; `tls`: what was agreed on, where it is secure.
    case connected(FlowID, local: SocketAddress, tls: TLSAgreement? = nil)
    /// Somebody connected to a listener.
    case accepted(FlowID, listener: FlowID, local: SocketAddress, remote: SocketAddress)
    /// Octets: one whole datagram (datagram flows, and each WebSocket message), or any piece of a stream.
    case received([UInt8], FlowID, from: SocketAddress)
    /// A datagram could not be sent to `to`, or the system reported it undeliverable.
    case sendFailed(FlowID, to: SocketAddress, FlowFailure)
    /// The flow is gone; nothing more comes from it. Also the answer to a `connect` that failed.
    case closed(FlowID, FlowFailure)
}

/// What a machine wants the world to do with flows.
public enum TransportEffect: Sendable {
    /// Send these octets. On a connection `to` is its remote address. Octets for a connection go out in order.
    case send([UInt8], FlowID, to: SocketAddress)
    /// Open a connection to `to`. `name` is what a TLS certificate must cover: a domain, or an address as text; nil: the
    /// address `to`. `tls` is given where the transport is secure. `path` is the resource that a WebSocket asks for; nil: the
    /// one of the world's settings.
    indirect case connect(FlowID, TransportProtocol, to: SocketAddress, name: String?, tls: TLSSettings?, path: String? = nil)
    /// Close after what was given to send is sent; answered by `closed`.
    case close(FlowID)
}

// MARK: Names

/// The record types that server location asks for (RFC 3263).
public enum DNSRecordType: Sendable, Hashable {
    case a
    case aaaa
    case srv
    case naptr
}

/// A question for the world's resolver; answered by `DNSAnswer` with the same `id`.
public struct DNSQuestion: Sendable, Hashable {
    public var id: UInt64
    public var name: String
    public var type: DNSRecordType

    public init(id: UInt64, name: String, type: DNSRecordType) {
        self.id = id
        self.name = name
        self.type = type
    }
}

/// One record of an answer, with its time to live in seconds.
public struct DNSRecord: Sendable, Hashable {
    public enum Value: Sendable, Hashable {
        case address(IPAddress)
        /// RFC 2782.
        case srv(priority: UInt16, weight: UInt16, port: UInt16, target: String)
        /// RFC 3403.
        case naptr(order: UInt16, preference: UInt16, flags: String, service: String, replacement: String)
    }

    public var value: Value
    public var timeToLive: UInt32

    public init(_ value: Value, timeToLive: UInt32) {
        self.value = value
        self.timeToLive = timeToLive
    }
}

/// What the resolver found out.
public enum DNSResult: Sendable, Hashable {
    /// The records of the asked type, in the order they came.
    case records([DNSRecord])
    /// There are no such records: the name exists without them, or does not exist at all (NXDOMAIN). `timeToLive`: for how
    /// many seconds that holds (RFC 2308 §5); nil: the answer did not say.
    case absent(nameExists: Bool, timeToLive: UInt32?)
    /// No server answered, or it could not (SERVFAIL, refused, time-out), in words.
    case failed(String)

    /// A name without such records, of which nothing more is known.
    public static let none = DNSResult.absent(nameExists: true, timeToLive: nil)
}

/// The answer to a `DNSQuestion`.
public struct DNSAnswer: Sendable {
    public var question: DNSQuestion
    public var result: DNSResult

    public init(_ question: DNSQuestion, _ result: DNSResult) {
        self.question = question
        self.result = result
    }
}
