// SPDX-License-Identifier: Apache-2.0
//
// The names of header fields (RFC 3261 §7.3.1, §20): known ones are a number, all others are kept as they came.

/// A known header field. The first 64 can be looked for at once in a set of bits.
package enum HeaderID: UInt8, CaseIterable, Sendable {
    case other
    case via, from, to, callID, cseq, contact, maxForwards, route, recordRoute, contentType, contentLength, expires
    case accept, acceptEncoding, acceptLanguage, alertInfo, allow, authenticationInfo, authorization, callInfo
    case contentDisposition, contentEncoding, contentLanguage, date, errorInfo, inReplyTo, mimeVersion, minExpires
    case organization, priority, proxyAuthenticate, proxyAuthorization, proxyRequire, replyTo, require, retryAfter
    case server, subject, supported, timestamp, unsupported, userAgent, warning, wwwAuthenticate
    case allowEvents, event, subscriptionState, referTo, referredBy, replaces, sessionExpires, minSE, rseq, rack
    case path, serviceRoute, reason, pAssertedIdentity, pPreferredIdentity, privacy, diversion, historyInfo
    case identity, identityInfo, acceptContact, rejectContact, requestDisposition, sipETag, sipIfMatch
    case infoPackage, recvInfo, flowTimer, geolocation, joinHeader, referSub, targetDialog
    case pAccessNetworkInfo, pAssociatedURI, pCalledPartyID, resourcePriority
    case securityClient, securityServer, securityVerify, userToUser, contentID, featureCaps
}

/// One row of the table of known names.
struct KnownHeader: Sendable {
    let id: HeaderID
    let name: String
    let compact: String?
    /// Whether several values may stand in one field, parted by commas.
    let isList: Bool

    init(_ id: HeaderID, _ name: String, _ compact: String? = nil, list: Bool = false) {
        self.id = id
        self.name = name
        self.compact = compact
        self.isList = list
    }

    /// In the order of `HeaderID`.
    static let rows: [KnownHeader] = [
        .init(.other, ""),
        .init(.via, "Via", "v", list: true), .init(.from, "From", "f"), .init(.to, "To", "t"),
        .init(.callID, "Call-ID", "i"), .init(.cseq, "CSeq"), .init(.contact, "Contact", "m", list: true),
        .init(.maxForwards, "Max-Forwards"), .init(.route, "Route", list: true),
        .init(.recordRoute, "Record-Route", list: true), .init(.contentType, "Content-Type", "c"),
        .init(.contentLength, "Content-Length", "l"), .init(.expires, "Expires"),
        .init(.accept, "Accept", list: true), .init(.acceptEncoding, "Accept-Encoding", list: true),
        .init(.acceptLanguage, "Accept-Language", list: true), .init(.alertInfo, "Alert-Info", list: true),
        .init(.allow, "Allow", list: true), .init(.authenticationInfo, "Authentication-Info"),
        .init(.authorization, "Authorization"), .init(.callInfo, "Call-Info", list: true),
        .init(.contentDisposition, "Content-Disposition"),
        .init(.contentEncoding, "Content-Encoding", "e", list: true),
        .init(.contentLanguage, "Content-Language", list: true), .init(.date, "Date"),
        .init(.errorInfo, "Error-Info", list: true), .init(.inReplyTo, "In-Reply-To", list: true),
        .init(.mimeVersion, "MIME-Version"), .init(.minExpires, "Min-Expires"),
        .init(.organization, "Organization"), .init(.priority, "Priority"),
        .init(.proxyAuthenticate, "Proxy-Authenticate"), .init(.proxyAuthorization, "Proxy-Authorization"),
        .init(.proxyRequire, "Proxy-Require", list: true), .init(.replyTo, "Reply-To"),
        .init(.require, "Require", list: true), .init(.retryAfter, "Retry-After"), .init(.server, "Server"),
        .init(.subject, "Subject", "s"), .init(.supported, "Supported", "k", list: true),
        .init(.timestamp, "Timestamp"), .init(.unsupported, "Unsupported", list: true),
        .init(.userAgent, "User-Agent"), .init(.warning, "Warning", list: true),
        .init(.wwwAuthenticate, "WWW-Authenticate"),
        .init(.allowEvents, "Allow-Events", "u", list: true), .init(.event, "Event", "o"),
        .init(.subscriptionState, "Subscription-State"), .init(.referTo, "Refer-To", "r"),
        .init(.referredBy, "Referred-By", "b"), .init(.replaces, "Replaces"),
        .init(.sessionExpires, "Session-Expires", "x"), .init(.minSE, "Min-SE"), .init(.rseq, "RSeq"),
        .init(.rack, "RAck"), .init(.path, "Path", list: true), .init(.serviceRoute, "Service-Route", list: true),
        .init(.reason, "Reason", list: true), .init(.pAssertedIdentity, "P-Asserted-Identity", list: true),
        .init(.pPreferredIdentity, "P-Preferred-Identity", list: true), .init(.privacy, "Privacy"),
        .init(.diversion, "Diversion", list: true), .init(.historyInfo, "History-Info", list: true),
        .init(.identity, "Identity", "y"), .init(.identityInfo, "Identity-Info", "n"),
        .init(.acceptContact, "Accept-Contact", "a", list: true),
        .init(.rejectContact, "Reject-Contact", "j", list: true),
        .init(.requestDisposition, "Request-Disposition", "d", list: true), .init(.sipETag, "SIP-ETag"),
        .init(.sipIfMatch, "SIP-If-Match"), .init(.infoPackage, "Info-Package"),
        .init(.recvInfo, "Recv-Info", list: true), .init(.flowTimer, "Flow-Timer"),
        .init(.geolocation, "Geolocation", list: true), .init(.joinHeader, "Join"), .init(.referSub, "Refer-Sub"),
        .init(.targetDialog, "Target-Dialog"), .init(.pAccessNetworkInfo, "P-Access-Network-Info", list: true),
        .init(.pAssociatedURI, "P-Associated-URI", list: true), .init(.pCalledPartyID, "P-Called-Party-ID"),
        .init(.resourcePriority, "Resource-Priority", list: true),
        .init(.securityClient, "Security-Client", list: true), .init(.securityServer, "Security-Server", list: true),
        .init(.securityVerify, "Security-Verify", list: true), .init(.userToUser, "User-to-User", list: true),
        .init(.contentID, "Content-ID"), .init(.featureCaps, "Feature-Caps", list: true),
    ]
}

/// The name of a header field: compared without case, a compact form equals the long one (RFC 3261 §7.3.3).
public struct HeaderName: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    package let id: HeaderID
    /// For names that are not in the table: as it is to be written.
    private let text: String

    package init(id: HeaderID) {
        self.id = id
        text = ""
    }

    /// A name from outside; nil if it is no token (RFC 3261 §25.1).
    public init?(_ name: some StringProtocol) {
        let bytes = Array(name.utf8)
        guard !bytes.isEmpty, bytes.allSatisfy(CharacterClass.token.has) else { return nil }
        id = HeaderTable.shared.identify(bytes.span, 0, bytes.count)
        text = id == .other ? String(name) : ""
    }

    /// A name in a program; characters that no name may have become hyphens.
    public init(stringLiteral name: String) {
        let token = String(
            decoding: name.utf8.map { CharacterClass.token.has($0) ? $0 : UInt8(ascii: "-") }, as: UTF8.self)
        self = HeaderName(token) ?? HeaderName(id: .subject)
    }

    /// The canonical spelling: the long form in the RFC's capitals, or as given for a name that is not known.
    public var description: String { id == .other ? text : HeaderTable.shared.name(id) }

    /// Whether several values may stand in one field, parted by commas.
    public var isList: Bool { HeaderTable.shared.isList(id) }

    public static func == (left: Self, right: Self) -> Bool {
        left.id == right.id && (left.id != .other || left.text.asciiLowercased == right.text.asciiLowercased)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        if id == .other { hasher.combine(text.asciiLowercased) }
    }
}
