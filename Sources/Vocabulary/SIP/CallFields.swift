// SPDX-License-Identifier: Apache-2.0
//
// Fields that tell more of a call: why (RFC 3326), how private (RFC 3323), where it came from (RFC 5806, RFC 7044), whether it
// may answer itself (RFC 5373), whether early sound is meant to be heard (RFC 5009). What cannot be read is left out.

/// One value of Reason (RFC 3326): `SIP;cause=200;text="Call completed elsewhere"`.
public struct Reason: Sendable, Hashable, CustomStringConvertible {
    /// `SIP`, `Q.850` and the like, as it came.
    public var `protocol`: String
    /// A SIP status, a Q.850 cause, or nil.
    public var cause: Int?
    /// Safe to show.
    public var text: String?

    public init(_ protocol: String = "SIP", cause: Int?, text: String? = nil) {
        self.protocol = `protocol`
        self.cause = cause
        self.text = text
    }

    public init(_ text: String) throws(SIPError) {
        let value = try ParameterizedValue(text)
        `protocol` = value.value
        cause = value.parameters.value("cause").flatMap { $0.utf8.count <= 5 ? Int($0) : nil }
        self.text = value.parameters.value("text").map(Text.visible)
    }

    /// Whether another phone of the same person took the call.
    public var isAnsweredElsewhere: Bool { `protocol`.asciiLowercased == "sip" && cause == 200 }
    /// Whether another phone of the same person declined the call for all.
    public var isDeclinedElsewhere: Bool { `protocol`.asciiLowercased == "sip" && (cause.map { 600..<700 ~= $0 } ?? false) }

    public var description: String {
        var parameters = Parameters()
        if let cause { parameters.set("cause", "\(cause)") }
        if let text { parameters.set("text", text, isQuoted: true) }
        return `protocol` + parameters.headerText
    }
}

/// What a caller asks to be kept from others (RFC 3323 §4.2, RFC 3325 §9.3).
public struct Privacy: OptionSet, Sendable, Hashable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
    /// The network's asserted identity is not to be shown.
    public static let id = Privacy(rawValue: 1)
    public static let header = Privacy(rawValue: 2)
    public static let session = Privacy(rawValue: 4)
    public static let user = Privacy(rawValue: 8)
    /// Nothing is asked for, whatever the network would do by itself.
    public static let none = Privacy(rawValue: 16)
    /// Refuse the call rather than break the privacy.
    public static let critical = Privacy(rawValue: 32)
    /// History-Info is to be hidden (RFC 7044 §10.1).
    public static let history = Privacy(rawValue: 64)

    /// Reads `user;id;critical`; what is not known is left out.
    public init(_ text: String) {
        self = []
        for word in text.split(whereSeparator: { ";, \t".contains($0) }) {
            switch String(word).asciiLowercased {
            case "id": insert(.id)
            case "header": insert(.header)
            case "session": insert(.session)
            case "user": insert(.user)
            case "none": insert(.none)
            case "critical": insert(.critical)
            case "history": insert(.history)
            default: break
            }
        }
    }

    /// Whether who calls is to stay unknown.
    public var hidesCaller: Bool { !isDisjoint(with: [.id, .user, .header]) && !contains(.none) }
}

/// One diversion of a call (RFC 5806): who had it forwarded, and why.
public struct Diversion: Sendable, Hashable {
    /// Whose phone forwarded the call.
    public var by: NameAddress
    /// `unconditional`, `no-answer`, `user-busy`, `unknown`, …; lower case.
    public var reason: String?
    /// How many diversions this one stands for.
    public var count: Int

    public init(_ address: NameAddress) {
        by = address
        reason = address.parameters.value("reason")?.asciiLowercased
        count = address.parameters.value("counter").flatMap { $0.utf8.count <= 3 ? Int($0) : nil } ?? 1
        by.parameters = Parameters()
    }
}

/// One entry of History-Info (RFC 7044): a target that the request was sent to.
public struct HistoryEntry: Sendable, Hashable {
    public var target: NameAddress
    /// `1.2.1`: the way through the forks.
    public var index: String
    /// Why the call went on from this target: the Reason within its URI.
    public var reason: Reason?
    /// The index of the entry from which the request was retargeted (`rc`, `mp`, `np`), with the kind of change.
    public var change: String?

    public init(_ address: NameAddress) {
        target = address
        index = address.parameters.value("index") ?? ""
        change = ["rc", "mp", "np"].first { address.parameters.contains($0) }
        let header = address.uri.sip?.headers.first { $0.name.asciiLowercased == "reason" }
        reason = header.flatMap { try? Reason($0.value) }
        target.parameters = Parameters()
        if case .sip(var uri) = target.uri {
            uri.headers = []
            target.uri = .sip(uri)
        }
    }
}

/// Answer-Mode and Priv-Answer-Mode (RFC 5373): whether the called phone is to answer by itself.
public struct AnswerMode: Sendable, Hashable, CustomStringConvertible {
    public var isAutomatic: Bool
    /// The caller wants this or nothing.
    public var isRequired: Bool

    public init(isAutomatic: Bool, isRequired: Bool = false) {
        self.isAutomatic = isAutomatic
        self.isRequired = isRequired
    }

    public init(_ text: String) throws(SIPError) {
        let value = try ParameterizedValue(text)
        switch value.value.asciiLowercased {
        case "auto": isAutomatic = true
        case "manual": isAutomatic = false
        default: throw SIPError(.field)
        }
        isRequired = value.parameters.contains("require")
    }

    public var description: String { (isAutomatic ? "Auto" : "Manual") + (isRequired ? ";require" : "") }
}

/// P-Early-Media (RFC 5009): whether sound before the answer is meant to be heard.
public struct EarlyMediaPermission: Sendable, Hashable {
    /// Towards the caller: `sendrecv` or `sendonly`.
    public var comesToCaller: Bool
    /// From the caller: `sendrecv` or `recvonly`.
    public var comesFromCaller: Bool

    /// Reads a value as it stands in a response; nil if it names no direction.
    public init?(_ text: String) {
        let words = text.split(whereSeparator: { ", \t".contains($0) }).map { String($0).asciiLowercased }
        guard let direction = words.first(where: { ["sendrecv", "sendonly", "recvonly", "inactive"].contains($0) }) else { return nil }
        comesToCaller = direction == "sendrecv" || direction == "sendonly"
        comesFromCaller = direction == "sendrecv" || direction == "recvonly"
    }
}

extension SIPMessage {
    /// RFC 3326
    public var reasons: [Reason] {
        guard contains(.reason) else { return [] }
        return values(.reason).flatMap { Text.split(Array($0.utf8)[...]) }.compactMap { try? Reason($0) }
    }
    /// RFC 3323 §4.2
    public var privacy: Privacy { first(.privacy).map { Privacy($0) } ?? [] }
    /// RFC 3325 §9.1; to be believed only from a server that is trusted.
    public var assertedIdentities: [NameAddress] { contains(.pAssertedIdentity) ? addresses(.pAssertedIdentity) : [] }
    /// RFC 3325 §9.2
    public var preferredIdentities: [NameAddress] { contains(.pPreferredIdentity) ? addresses(.pPreferredIdentity) : [] }
    /// Remote-Party-ID, older than RFC 3325; to be believed only from a server that is trusted.
    public var remotePartyID: NameAddress? { addresses("Remote-Party-ID").first }
    /// RFC 5806, the latest diversion first.
    public var diversions: [Diversion] { contains(.diversion) ? addresses(.diversion).map { Diversion($0) } : [] }
    /// RFC 7044, in the order of the request's way.
    public var history: [HistoryEntry] { contains(.historyInfo) ? addresses(.historyInfo).map { HistoryEntry($0) } : [] }
    /// RFC 5373
    public var answerMode: AnswerMode? { first("Answer-Mode").flatMap { try? AnswerMode($0) } }
    /// RFC 5373
    public var privilegedAnswerMode: AnswerMode? { first("Priv-Answer-Mode").flatMap { try? AnswerMode($0) } }
    /// RFC 5009
    public var earlyMedia: EarlyMediaPermission? { first("P-Early-Media").flatMap { EarlyMediaPermission($0) } }
}
