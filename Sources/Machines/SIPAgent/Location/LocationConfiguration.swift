// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP

/// Settings of `ServerLocation`.
public struct LocationConfiguration: Sendable {
    /// The transports that may be chosen where the URI names none, as far as they are there. NAPTR records choose among
    /// them (RFC 3263 §4.1); where there are none, SRV records are asked for in this order, and without any of those the
    /// first is taken.
    public var transports: [TransportProtocol] = [.udp, .tcp, .tls]
    public var usesIPv4 = true
    public var usesIPv6 = true
    /// Whether the IPv6 addresses of a name come before its IPv4 addresses.
    public var prefersIPv6 = false
    /// The longest time that an answer is kept, whatever its time to live says.
    public var longestPositive = Interval.seconds(3600)
    /// How long it is kept that there are no such records, if the answer does not say (RFC 2308).
    public var negative = Interval.seconds(30)
    /// The longest time that this is kept, whatever the answer says.
    public var longestNegative = Interval.seconds(300)
    /// How long it is kept that no server answered.
    public var failed = Interval.seconds(2)
    /// The same for NAPTR: some home routers never answer that question, and every search would wait for it.
    public var failedNAPTR = Interval.seconds(300)
    /// Answers kept at once; beyond it the one that ends first goes.
    public var cachedAnswers = 512
    /// SRV records of one answer that are looked at.
    public var records = 32
    /// NAPTR records of one answer that are looked at.
    public var naptrRecords = 16
    /// Addresses taken of one name and family.
    public var addresses = 8
    /// Targets of one search.
    public var targets = 32
    /// Servers whose failure is remembered.
    public var failing = 256
    /// How long a target that failed comes after all others; a 503 with Retry-After says for itself.
    public var avoidance = Interval.seconds(60)
    /// The longest time that a Retry-After keeps a target behind the others.
    public var longestAvoidance = Interval.seconds(3600)
    /// How long a target may be silent before the next one is tried, where there is a next one; zero: until the
    /// transaction times out after 64·T1.
    public var patience = Interval.seconds(4)
    /// How long after the start of one connection the address of the other family is tried beside it (RFC 8305 §5).
    public var connectionDelay = Interval.milliseconds(250)
    /// How long two connections may be in coming before both count as failed.
    public var connectionLimit = Interval.seconds(10)
    /// Locations looked for at once.
    public var searches = 1000

    public init() {}
}

/// Names one search of a `ServerLocation`.
public struct LocationID: Hashable, Comparable, Sendable {
    public let rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// Why no server was found.
public enum LocationFailure: Error, Sendable, Hashable {
    /// There is no such name (NXDOMAIN).
    case noSuchName(name: String)
    /// The name has no addresses.
    case noAddress(name: String)
    /// No name server answered.
    case unanswered(name: String, reason: String)
    /// The name says that the service is not there (RFC 2782: target ".").
    case notOffered(name: String)
    /// The name offers SIP, but over none of our transports (RFC 3263 §4.1); with the services that it names.
    case transportNotOffered(name: String, offered: [String])
    /// The URI is not one that can be located, or asks for what is not supported.
    case unsupported(String)
    /// `LocationConfiguration.searches`.
    case limit

    /// Stable and dotted, for evidence.
    public var code: String {
        switch self {
        case .noSuchName: "location.noSuchName"
        case .noAddress: "location.noAddress"
        case .unanswered: "location.unanswered"
        case .notOffered: "location.notOffered"
        case .transportNotOffered: "location.transportNotOffered"
        case .unsupported: "location.unsupported"
        case .limit: "location.limit"
        }
    }
}

/// The targets of a URI in the order in which they are to be tried (RFC 3263 §4.3): on a failure of transport, a
/// time-out or a 503 the next one, with a new transaction.
public struct TargetList: Sendable, Hashable, Sequence, IteratorProtocol {
    public let targets: [SignallingTarget]
    public private(set) var tried = 0

    public init(_ targets: [SignallingTarget]) { self.targets = targets }

    /// The next target to try.
    public mutating func next() -> SignallingTarget? {
        guard tried < targets.count else { return nil }
        tried += 1
        return targets[tried - 1]
    }
}

/// The outcome of a search.
public struct LocationResult: Sendable {
    public var id: LocationID
    public var outcome: Result<TargetList, LocationFailure>
}

/// What a `ServerLocation` counts.
public enum LocationCounter: Int, CounterName {
    case searches, questions, cacheHits, cacheEvictions, answers, strayAnswers, failures, recordsCut, limited
    case targetsFailed, targetsAvoided
}
