// SPDX-License-Identifier: Apache-2.0

/// Any URI that a SIP message may hold. Never take one for a `sip:` URI without looking.
public enum URI: Sendable, Hashable {
    case sip(SIPURI)
    case tel(TelURI)
    /// Any other scheme, in lower case, and what follows its colon.
    case other(scheme: String, String)

    /// Reads a URI; it must fill the text.
    public init(_ text: String) throws(SIPError) {
        let bytes = Array(text.utf8)
        var fields = URIFields()
        var i = 0
        if let code = Grammar.uri(bytes.span, &i, bytes.count, .whole, &fields) { throw SIPError(code, at: i) }
        self = URI(fields, bytes)
    }

    /// From fields that the grammar accepted.
    package init(_ fields: URIFields, _ bytes: [UInt8]) {
        switch fields.scheme {
        case .sip, .sips:
            self = .sip(SIPURI(fields, bytes))
        case .tel, .other:
            let whole = fields.whole.slice(bytes)
            let scheme = whole.prefix { $0 != 0x3a }
            let rest = whole.dropFirst(scheme.count + 1)
            if fields.scheme == .tel, let tel = TelURI(rest) {
                self = .tel(tel)
            } else {
                self = .other(
                    scheme: String(decoding: scheme, as: UTF8.self).asciiLowercased, String(decoding: rest, as: UTF8.self))
            }
        }
    }

    public var sip: SIPURI? {
        if case .sip(let uri) = self { return uri }
        return nil
    }

    public var tel: TelURI? {
        if case .tel(let uri) = self { return uri }
        return nil
    }

    /// The scheme in lower case.
    public var scheme: String {
        switch self {
        case .sip(let uri): uri.isSecure ? "sips" : "sip"
        case .tel: "tel"
        case .other(let scheme, _): scheme
        }
    }

    /// Equivalence by the rules of the scheme (RFC 3261 §19.1.4, RFC 3966 §4).
    public func isEquivalent(to other: URI) -> Bool {
        switch (self, other) {
        case (.sip(let left), .sip(let right)): left.isEquivalent(to: right)
        case (.tel(let left), .tel(let right)): left.isEquivalent(to: right)
        case (.other, .other): self == other
        default: false
        }
    }
}

extension URI: CustomStringConvertible {
    /// As it is written; nothing in it can end a line or an angle bracket.
    public var description: String {
        switch self {
        case .sip(let uri): return uri.description
        case .tel(let uri): return uri.description
        case .other(let scheme, let rest):
            let name = String(decoding: scheme.utf8.filter(CharacterClass.scheme.has), as: UTF8.self)
            let safe = Text.escaped(rest.utf8, .uri)
            return (name.utf8.first.map(isLetter) == true ? name : "x" + name) + ":" + (safe.isEmpty ? "%20" : safe)
        }
    }
}
