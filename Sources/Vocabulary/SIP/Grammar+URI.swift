// SPDX-License-Identifier: Apache-2.0
//
//  SIP-URI  = "sip:" [ userinfo ] hostport uri-parameters [ headers ]
//  userinfo = ( user / telephone-subscriber ) [ ":" password ] "@"
//  hostport = host [ ":" port ]
//  headers  = "?" header *( "&" header )                                        RFC 3261 §19.1.1, §25.1

extension Grammar {
    /// Where a URI stands: that decides where it ends.
    enum URIPlace {
        /// The range is exactly the URI.
        case whole
        /// Between angle brackets: ends at ">".
        case brackets
        /// An addr-spec in a header field without brackets: ends at ";", "," or a blank, and has neither parameters nor headers.
        case bare
    }

    /// Reads a URI of any scheme.
    static func uri(
        _ b: Span<UInt8>, _ i: inout Int, _ end: Int, _ place: URIPlace, _ out: inout URIFields
    ) -> SIPError.Code? {
        let start = i
        while i < end, CharacterClass.scheme.has(b[i]) { i &+= 1 }
        guard i < end, i > start, b[i] == 0x3a, isLetter(b[start]) else { return .uri }
        let length = i &- start
        i &+= 1
        let word = length <= 4 ? b.lowered(start, length) : 0
        switch word {
        case 0x706973: out.scheme = .sip
        case 0x7370_6973: out.scheme = .sips
        default:
            out.scheme = word == 0x6c_6574 ? .tel : .other
            return opaque(b, &i, end, place, start, &out)
        }
        if let code = userInfo(b, &i, end, &out) { return code }
        guard host(b, &i, end, &out.host, &out.isIPv6, &out.leniency) else { return .uri }
        if i < end, b[i] == 0x3a {
            i &+= 1
            out.port = port(b, &i, end)
            if out.port < 0 { return .uri }
        }
        if place != .bare {
            if i < end, b[i] == 0x3b, let code = uriParameters(b, &i, end, place, &out) { return code }
            if i < end, b[i] == 0x3f, let code = uriHeaders(b, &i, end, place, &out) { return code }
        }
        out.whole = ByteRange(start, i)
        return place == .whole && i != end ? .uri : nil
    }

    /// [ user [ ":" password ] "@" ]: reads ahead for the "@"; without one nothing is consumed.
    @inline(__always) private static func userInfo(
        _ b: Span<UInt8>, _ i: inout Int, _ end: Int, _ out: inout URIFields
    ) -> SIPError.Code? {
        let start = i
        var j = i
        var colon = -1
        var strict = true
        while true {
            j = b.plainEnd(j, end)
            guard j < end else { break }
            let c = b[j]
            if c == 0x40 { break }
            if CharacterClass.user.has(c) {
            } else if c == 0x3a, colon < 0 {
                colon = j
            } else if c == 0x25, isEscape(b, j, end) {
                j &+= 2
            } else if c >= 0x80 || (CharacterClass.userLenient.has(c) && c != 0x25) {
                strict = false
            } else {
                return nil
            }
            j &+= 1
        }
        guard j < end, b[j] == 0x40 else { return nil }
        if !strict { out.leniency.insert(.unescapedUser) }
        if j == start {
            out.leniency.insert(.emptyUser)
        } else {
            out.hasUser = true
            out.user = ByteRange(start, colon < 0 ? j : colon)
            if colon >= 0 {
                out.hasPassword = true
                out.password = ByteRange(colon &+ 1, j)
                if colon == start { return .uri }
            }
        }
        i = j &+ 1
        return nil
    }

    private static func uriParameters(
        _ b: Span<UInt8>, _ i: inout Int, _ end: Int, _ place: URIPlace, _ out: inout URIFields
    ) -> SIPError.Code? {
        let start = i
        var count = 0
        while true {
            i = b.plainEnd(i, end)
            guard i < end else { break }
            let c = b[i]
            if CharacterClass.uriParameter.has(c) {
            } else if c == 0x3b {
                count &+= 1
                guard i &+ 1 < end, !endsURIPart(b[i &+ 1], place), b[i &+ 1] != 0x3d else { return .uri }
            } else if c == 0x3d {
            } else if c == 0x25 {
                guard isEscape(b, i, end) else { return .uri }
            } else if c == 0x3f || endsURI(c, place) {
                break
            } else if c > 0x20, c != 0x7f, c != 0x3c {
                out.leniency.insert(.unescapedURIParameter)
            } else {
                return .uri
            }
            i &+= 1
        }
        if count > ValueLimits.parameters { return .limitParameters }
        out.parameters = ByteRange(start, i)
        return nil
    }

    private static func uriHeaders(
        _ b: Span<UInt8>, _ i: inout Int, _ end: Int, _ place: URIPlace, _ out: inout URIFields
    ) -> SIPError.Code? {
        i &+= 1
        let start = i
        var count = 1
        while i < end {
            let c = b[i]
            if CharacterClass.uriHeader.has(c) {
            } else if c == 0x26 {
                count &+= 1
            } else if c == 0x3d {
            } else if c == 0x25 {
                guard isEscape(b, i, end) else { return .uri }
            } else if endsURI(c, place) {
                break
            } else if c > 0x20, c != 0x7f, c != 0x3c {
                out.leniency.insert(.unescapedURIParameter)
            } else {
                return .uri
            }
            i &+= 1
        }
        if count > ValueLimits.parameters { return .limitParameters }
        out.headers = ByteRange(start, i)
        return i > start ? nil : .uri
    }

    @inline(__always) private static func endsURI(_ c: UInt8, _ place: URIPlace) -> Bool {
        switch place {
        case .whole: false
        case .brackets: c == 0x3e || isBlank(c)
        case .bare: c == 0x3b || c == 0x2c || isBlank(c)
        }
    }

    @inline(__always) private static func endsURIPart(_ c: UInt8, _ place: URIPlace) -> Bool {
        c == 0x3b || c == 0x3f || endsURI(c, place)
    }

    /// absoluteURI of another scheme: visible characters only.
    private static func opaque(
        _ b: Span<UInt8>, _ i: inout Int, _ end: Int, _ place: URIPlace, _ start: Int, _ out: inout URIFields
    ) -> SIPError.Code? {
        let from = i
        while i < end {
            let c = b[i]
            if endsURI(c, place) { break }
            guard CharacterClass.uri.has(c) else { return .uri }
            i &+= 1
        }
        out.whole = ByteRange(start, i)
        return i > from ? nil : .uri
    }
}
