// SPDX-License-Identifier: Apache-2.0

/// One account of a user agent. Given in order of creation, never used twice.
public struct AccountID: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    public var description: String { "account \(rawValue)" }
}

/// One INVITE session (a call), from the INVITE to its end. Given in order of creation, never used twice.
public struct SessionID: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    public var description: String { "session \(rawValue)" }
}

/// One subscription of ours, through all its refreshes and renewals. Given in order of creation, never used twice.
public struct SubscriptionID: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    public var description: String { "subscription \(rawValue)" }
}

/// One publication of ours (RFC 3903). Given in order of creation, never used twice.
public struct PublicationID: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    public var description: String { "publication \(rawValue)" }
}

/// One message of ours (RFC 3428). Given in order of sending, never used twice.
public struct MessageID: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    public var description: String { "message \(rawValue)" }
}

/// Somebody who subscribes to one of our lines. Given in order of coming, never used twice.
public struct SubscriberID: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    public var description: String { "subscriber \(rawValue)" }
}
