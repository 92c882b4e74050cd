// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP

/// Settings of `ServerLocation`.
public struct LocationConfiguration: Sendable {
    /// The transports asked for by SRV where the URI names none, in order of preference; the first is also used where
    /// there are no SRV records.
    public var transports: [TransportProtocol] = [.udp]
    public var usesIPv4 = true
    public var usesIPv6 = true
    /// Whether the IPv6 addresses of a name come before its IPv4 addresses.
    public var prefersIPv6 = false
    /// The longest time that an answer is kept, whatever its time to live says.
    public var longestPositive = Interval.seconds(3600)
    /// How long it is kept that there are no such records.
    public var negative = Interval.seconds(30)
    /// How long it is kept that no server answered.
    public var failed = Interval.seconds(2)
    /// Answers kept at once; beyond it the one that ends first goes.
    public var cachedAnswers = 512
    /// SRV records of one answer that are looked at.
    public var records = 32
    /// Addresses taken of one name and family.
    public var addresses = 8
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
    /// The name has no addresses.
    case noAddress(name: String)
    /// No name server answered.
    case unanswered(name: String, reason: String)
    /// The name says that the service is not there (RFC 2782: target ".").
    case notOffered(name: String)
    /// The URI is not one that can be located, or asks for what is not supported.
    case unsupported(String)
    /// `LocationConfiguration.searches`.
    case limit

    /// Stable and dotted, for `Cause.code`.
    public var code: String {
        switch self {
        case .noAddress: "location.noAddress"
        case .unanswered: "location.unanswered"
        case .notOffered: "location.notOffered"
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
}
