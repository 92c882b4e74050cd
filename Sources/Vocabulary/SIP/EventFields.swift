// SPDX-License-Identifier: Apache-2.0
//
// The header fields of event notification (RFC 6665 §8.2) and of publication (RFC 3903 §11.3), typed.

/// Event (RFC 6665 §8.2.1): `dialog;id=7`. Package and id are compared octet by octet (§4.4.1, §7.4).
public struct EventType: Sendable, Hashable, CustomStringConvertible {
    /// With templates: `presence.winfo`.
    public var package: String
    public var id: String?
    /// All others.
    public var parameters: Parameters

    public init(_ package: String, id: String? = nil, parameters: Parameters = Parameters()) {
        self.package = package
        self.id = id
        self.parameters = parameters
    }

    public static let messageSummary = EventType("message-summary")
    public static let dialog = EventType("dialog")
    public static let presence = EventType("presence")
    public static let refer = EventType("refer")

    /// Reads `package;id=…`.
    public init(parsing text: String) throws(SIPError) {
        let value = try ParameterizedValue(text)
        var parameters = value.parameters
        id = parameters["id"]
        parameters.remove("id")
        package = value.value
        self.parameters = parameters
    }

    /// Whether a notification of `other` belongs to a subscription of this one: package and id decide.
    public func matches(_ other: EventType) -> Bool { package == other.package && id == other.id }

    public var description: String {
        var all = parameters
        if let id { all.set("id", id) }
        return ParameterizedValue(package, parameters: all).description
    }
}

/// Subscription-State (RFC 6665 §8.2.3): `terminated;reason=probation;retry-after=60`.
public struct SubscriptionState: Sendable, Hashable, CustomStringConvertible {
    public enum State: Sendable, Hashable {
        case active, pending, terminated
        /// An extension: to be treated as active.
        case other(String)
    }

    /// Why a subscription ended (§4.1.3).
    public enum Reason: Sendable, Hashable {
        case deactivated, probation, rejected, timeout, giveup, noresource, invariant
        case other(String)
    }

    public var state: State
    /// nil: none given.
    public var reason: Reason?
    /// Seconds that the subscription has left; what does not fit is 2^32 - 1.
    public var expires: UInt32?
    /// Seconds until it may be tried again; what does not fit is 2^32 - 1.
    public var retryAfter: UInt32?

    public init(_ state: State, reason: Reason? = nil, expires: UInt32? = nil, retryAfter: UInt32? = nil) {
        self.state = state
        self.reason = reason
        self.expires = expires
        self.retryAfter = retryAfter
    }

    /// Reads the field; a number that cannot be read is left out.
    public init(parsing text: String) throws(SIPError) {
        let value = try ParameterizedValue(text)
        let word = value.value.asciiLowercased
        state =
            switch word {
            case "active": .active
            case "pending": .pending
            case "terminated": .terminated
            default: .other(word)
            }
        reason = value.parameters["reason"].map { Reason($0.asciiLowercased) }
        expires = value.parameters["expires"].flatMap(Self.seconds)
        retryAfter = value.parameters["retry-after"].flatMap(Self.seconds)
    }

    private static func seconds(_ text: String) -> UInt32? {
        let bytes = Array(text.utf8)
        var i = 0
        let value = Grammar.clampedNumber(bytes.span, &i, bytes.count)
        return i == bytes.count ? value : nil
    }

    public var description: String {
        var parameters = Parameters()
        if let reason { parameters.set("reason", reason.word) }
        if let expires { parameters.set("expires", "\(expires)") }
        if let retryAfter { parameters.set("retry-after", "\(retryAfter)") }
        let word =
            switch state {
            case .active: "active"
            case .pending: "pending"
            case .terminated: "terminated"
            case .other(let word): word
            }
        return ParameterizedValue(word, parameters: parameters).description
    }
}

extension SubscriptionState.Reason {
    /// From the word of the field, in lower case.
    public init(_ word: String) {
        self =
            switch word {
            case "deactivated": .deactivated
            case "probation": .probation
            case "rejected": .rejected
            case "timeout": .timeout
            case "giveup": .giveup
            case "noresource": .noresource
            case "invariant": .invariant
            default: .other(Text.visible(word))
            }
    }

    /// The word of the field.
    public var word: String {
        switch self {
        case .deactivated: "deactivated"
        case .probation: "probation"
        case .rejected: "rejected"
        case .timeout: "timeout"
        case .giveup: "giveup"
        case .noresource: "noresource"
        case .invariant: "invariant"
        case .other(let word): word
        }
    }
}

extension SIPMessage {
    /// RFC 6665 §8.2.1; nil: missing or not to be read.
    public var event: EventType? { first(.event).flatMap { try? EventType(parsing: $0) } }
    /// RFC 6665 §8.2.3; nil: missing or not to be read.
    public var subscriptionState: SubscriptionState? { first(.subscriptionState).flatMap { try? SubscriptionState(parsing: $0) } }
    /// The event packages that the sender serves (RFC 6665 §8.2.2).
    public var allowEvents: [EventType] { values(.allowEvents).compactMap { try? EventType(parsing: $0) } }
    /// RFC 3903 §11.3.1: names what was published; a token.
    public var sipETag: String? { first(.sipETag).flatMap { Text.isToken($0) ? $0 : nil } }
    /// RFC 3903 §11.3.2.
    public var sipIfMatch: String? { first(.sipIfMatch).flatMap { Text.isToken($0) ? $0 : nil } }
}
