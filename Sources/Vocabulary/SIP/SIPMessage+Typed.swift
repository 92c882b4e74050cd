// SPDX-License-Identifier: Apache-2.0
//
// Every other header field of RFC 3261 §20, typed. Where a value cannot be read it is left out or nil
// (`Leniency.unreadableOptionalField`): the request goes on without it.

extension SIPMessage {
    /// Max-Forwards (§20.22): 0...255; a greater number is 255.
    public var maxForwards: Int? { number(.maxForwards).map { Int(min($0, 255)) } }
    /// Expires in seconds (§20.19); what does not fit is 2^32 - 1.
    public var expires: UInt32? { number(.expires) }
    /// §20.23
    public var minExpires: UInt32? { number(.minExpires) }
    /// §20.15
    public var contentType: MediaType? {
        guard let range = firstRange(.contentType) else { return nil }
        let value = range.slice(bytes)
        // As nearly every body is described.
        if value.elementsEqual("application/sdp".utf8) { return .sdp }
        return try? MediaType(Text.string(value))
    }
    /// §20.11
    public var contentDisposition: ParameterizedValue? { first(.contentDisposition).flatMap { try? ParameterizedValue($0) } }
    /// §20.12, lower case.
    public var contentEncoding: [String] { values(.contentEncoding).map(\.asciiLowercased) }
    /// §20.13
    public var contentLanguage: [String] { values(.contentLanguage) }
    /// §20.24
    public var mimeVersion: String? { first(.mimeVersion) }

    /// §20.1; nil if the field is missing, which means application/sdp.
    public var accept: [MediaType]? { contains(.accept) ? values(.accept).compactMap { try? MediaType($0) } : nil }
    /// §20.2
    public var acceptEncoding: [ParameterizedValue] { values(.acceptEncoding).compactMap { try? ParameterizedValue($0) } }
    /// §20.3
    public var acceptLanguage: [ParameterizedValue] { values(.acceptLanguage).compactMap { try? ParameterizedValue($0) } }
    /// §20.5
    public var allow: [String] { values(.allow) }
    /// §20.32
    public var require: [String] { values(.require) }
    /// §20.29
    public var proxyRequire: [String] { values(.proxyRequire) }
    /// §20.37
    public var supported: [String] { values(.supported) }
    /// §20.40
    public var unsupported: [String] { values(.unsupported) }

    /// §20.4
    public var alertInfo: [InfoReference] { values(.alertInfo).compactMap { try? InfoReference($0) } }
    /// §20.9
    public var callInfo: [InfoReference] { values(.callInfo).compactMap { try? InfoReference($0) } }
    /// §20.18
    public var errorInfo: [InfoReference] { values(.errorInfo).compactMap { try? InfoReference($0) } }
    /// §20.21
    public var inReplyTo: [String] { values(.inReplyTo) }
    /// §20.31
    public var replyTo: NameAddress? { addresses(.replyTo).first }
    /// RFC 3515 §2.1
    public var referTo: NameAddress? { addresses(.referTo).first }

    /// §20.17; nil also if it is not in GMT.
    public var date: SIPDate? { first(.date).flatMap { try? SIPDate($0) } }
    /// §20.33
    public var retryAfter: RetryAfter? { first(.retryAfter).flatMap { try? RetryAfter($0) } }
    /// §20.38
    public var timestamp: Timestamp? { first(.timestamp).flatMap { try? Timestamp($0) } }
    /// §20.43
    public var warnings: [Warning] { values(.warning).compactMap { try? Warning($0) } }

    /// RFC 4028 §4
    public var sessionExpires: SessionExpires? { first(.sessionExpires).flatMap { try? SessionExpires($0) } }
    /// RFC 4028 §5, seconds.
    public var minSE: UInt32? { number(.minSE) }

    /// §20.25, safe to show.
    public var organization: String? { shown(.organization) }
    /// §20.26, lower case.
    public var priority: String? { first(.priority)?.asciiLowercased }
    /// §20.35, safe to show.
    public var server: String? { shown(.server) }
    /// §20.36, safe to show.
    public var subject: String? { shown(.subject) }
    /// §20.41, safe to show.
    public var userAgent: String? { shown(.userAgent) }

    private func shown(_ name: HeaderName) -> String? { first(name).map(Text.visible) }

    /// A field that is one number, perhaps with parameters behind it.
    private func number(_ name: HeaderName) -> UInt32? {
        guard let range = firstRange(name) else { return nil }
        var i = range.lower
        let bytes = self.bytes
        let span = bytes.span
        guard let value = Grammar.clampedNumber(span, &i, range.upper) else { return nil }
        Grammar.skipBlanks(span, &i, range.upper)
        return i == range.upper || span[i] == 0x3b || span[i] == 0x28 ? value : nil
    }
}

extension NameAddress {
    /// Contact: the `expires` parameter in seconds; what does not fit is 2^32 - 1 (RFC 3261 §20.10).
    public var expires: UInt32? {
        guard let text = parameters["expires"] else { return nil }
        let bytes = Array(text.utf8)
        var i = 0
        let value = Grammar.clampedNumber(bytes.span, &i, bytes.count)
        return i == bytes.count ? value : nil
    }

    /// Contact: the `q` parameter in thousandths, 0...1000; nil if it is missing or malformed.
    public var preference: Int? {
        guard let text = parameters["q"] else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), parts[0] == "0" || parts[0] == "1" else { return nil }
        let fraction = parts.count == 2 ? parts[1] : ""
        guard fraction.utf8.count <= 3, fraction.utf8.allSatisfy(isDigit) else { return nil }
        let digits = fraction + String(repeating: "0", count: 3 - fraction.utf8.count)
        return min((parts[0] == "1" ? 1000 : 0) + (Int(digits) ?? 0), 1000)
    }
}
