// SPDX-License-Identifier: Apache-2.0
//
//  Request-Line = Method SP Request-URI SP SIP-Version CRLF
//  Status-Line  = SIP-Version SP Status-Code SP Reason-Phrase CRLF                        RFC 3261 §7.1, §7.2

extension MessageIndex {
    /// Reads the start line from `start` to its CR; false if this is no SIP message.
    mutating func readStartLine(_ b: Span<UInt8>, _ start: Int, _ end: Int, _ limits: MessageLimits) -> Bool {
        // Only a status line begins with the version; a method cannot, because a slash is no token character.
        if end &- start >= 8, isStatusLine(b, start) {
            return readStatusLine(b, start, end)
        }
        return readRequestLine(b, start, end, limits)
    }

    /// `SIP/` in any case.
    @inline(__always) private func isStatusLine(_ b: Span<UInt8>, _ start: Int) -> Bool {
        b.word(start) & 0xffdf_dfdf == 0x2f50_4953
    }

    private mutating func readStatusLine(_ b: Span<UInt8>, _ start: Int, _ end: Int) -> Bool {
        isRequest = false
        guard b[start &+ 4] == 0x32, b[start &+ 5] == 0x2e, b[start &+ 6] == 0x30, b[start &+ 7] == 0x20 else {
            fail(b[start &+ 7] == 0x20 ? .version : .statusLine, start)
            return true
        }
        var i = start &+ 8
        var code = 0
        while i < end, isDigit(b[i]), i &- start < 12 {
            code = code &* 10 &+ Int(b[i] &- 0x30)
            i &+= 1
        }
        guard i &- start == 11, code >= 100, code < 700, i == end || b[i] == 0x20 else {
            fail(.statusLine, start &+ 8)
            return true
        }
        status = UInt16(truncatingIfNeeded: code)
        if i == end { leniency.insert(.missingReasonSpace) } else { i &+= 1 }
        reason = ByteRange(i, end)
        return true
    }

    private mutating func readRequestLine(_ b: Span<UInt8>, _ start: Int, _ end: Int, _ limits: MessageLimits) -> Bool {
        isRequest = true
        var i = start
        while i < end, CharacterClass.token.has(b[i]) { i &+= 1 }
        guard i > start, i < end, b[i] == 0x20 || b[i] == 0x09 else { return false }
        method = ByteRange(start, i)
        var last = end
        while last > i, isBlank(b[last &- 1]) { last &-= 1 }
        // The version is the last word of the line; without one this is something else, HTTP for example.
        var version = last
        while version > i, !isBlank(b[version &- 1]) { version &-= 1 }
        guard last &- version >= 5, version > i,
            b.lowered(version, 4) == 0x2f70_6973
        else { return false }
        var uriStart = i
        while uriStart < version, isBlank(b[uriStart]) { uriStart &+= 1 }
        var uriEnd = version
        while uriEnd > uriStart, isBlank(b[uriEnd &- 1]) { uriEnd &-= 1 }
        requestURI = ByteRange(uriStart, uriEnd)
        if method.count > limits.methodLength { fail(.limitMethod, start) }
        if last &- version != 7 || b.lowered(version, 7) != 0x30_2e32_2f70_6973 {
            fail(.version, version)
        } else if uriStart != i &+ 1 || version != uriEnd &+ 1 || last != end || uriEnd == uriStart || b[i] != 0x20 {
            fail(.requestLine, i)
        } else {
            checkRequestURI(b)
        }
        return true
    }

    private mutating func checkRequestURI(_ b: Span<UInt8>) {
        var fields = URIFields()
        var i = requestURI.lower
        if let code = Grammar.uri(b, &i, requestURI.upper, .whole, &fields) {
            fail(code == .uri ? .requestURI : code, i)
        } else if fields.scheme == .other {
            fail(.requestURIScheme, requestURI.lower)
        } else if !fields.headers.isEmpty {
            fail(.requestURIHeaders, fields.headers.lower)
        }
        leniency.formUnion(fields.leniency)
    }
}
