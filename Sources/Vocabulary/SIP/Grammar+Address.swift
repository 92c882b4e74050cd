// SPDX-License-Identifier: Apache-2.0
//
//  name-addr / addr-spec *( SEMI param )      From, To, Contact, Route, Record-Route, Reply-To, Refer-To …
//
//  Without angle brackets all parameters belong to the field, and the URI may hold no comma, question mark or
//  semicolon (RFC 3261 §20.10).

extension Grammar {
    /// Reads one address. In a list it ends before the comma, else it must fill the range.
    @inline(__always) static func address(
        _ b: Span<UInt8>, _ i: inout Int, _ end: Int, isList: Bool, _ out: inout AddressFields
    ) -> SIPError.Code? {
        skipBlanks(b, &i, end)
        guard i < end else { return .field }
        let start = i
        var first = b[i]
        if first == 0x22 {
            guard quoted(b, &i, end) else { return .field }
            out.displayName = ByteRange(start, i)
            skipBlanks(b, &i, end)
            first = i < end ? b[i] : 0
            if first != 0x3c { out.leniency.insert(.missingBrackets) }
        } else if first != 0x3c {
            bareName(b, &i, end, isList, &out)
            first = i < end ? b[i] : 0
        }
        if first == 0x3c {
            i &+= 1
            if i < end, isBlank(b[i]) {
                out.leniency.insert(.spaceInBrackets)
                skipBlanks(b, &i, end)
            }
            if let code = uri(b, &i, end, .brackets, &out.uri) { return code }
            if i < end, isBlank(b[i]) {
                out.leniency.insert(.spaceInBrackets)
                skipBlanks(b, &i, end)
            }
            guard i < end, b[i] == 0x3e else { return .field }
            i &+= 1
        } else if let code = uri(b, &i, end, .bare, &out.uri) {
            return code
        }
        if i < end, isBlank(b[i]) { skipBlanks(b, &i, end) }
        if i < end, b[i] == 0x3b, let code = addressParameters(b, &i, end, &out) { return code }
        out.whole = ByteRange(start, i)
        out.leniency.formUnion(out.uri.leniency)
        return i == end || (isList && b[i] == 0x2c) ? nil : .field
    }

    /// Decides whether a display name of tokens precedes "<"; if so `i` is moved there, else it stays.
    @inline(__always) private static func bareName(
        _ b: Span<UInt8>, _ i: inout Int, _ end: Int, _ isList: Bool, _ out: inout AddressFields
    ) {
        let start = i
        var j = i
        var strict = true
        var canBeScheme = true
        while j < end {
            let c = b[j]
            if c == 0x3c { break }
            if c == 0x3a, canBeScheme, j > start { return }
            if c == 0x3b || (c == 0x2c && isList) { return }
            if !CharacterClass.scheme.has(c) { canBeScheme = false }
            if !CharacterClass.token.has(c), !isBlank(c) { strict = false }
            j &+= 1
        }
        guard j < end else { return }
        var last = j
        while last > start, isBlank(b[last &- 1]) { last &-= 1 }
        if !strict { out.leniency.insert(.unquotedDisplayName) }
        out.displayName = ByteRange(start, last)
        i = j
    }

    @inline(__always) private static func addressParameters(
        _ b: Span<UInt8>, _ i: inout Int, _ end: Int, _ out: inout AddressFields
    ) -> SIPError.Code? {
        let start = i
        var count = 0
        var parameter = ParameterFields()
        while i < end, b[i] == 0x3b {
            i &+= 1
            count &+= 1
            if count > ValueLimits.parameters { return .limitParameters }
            guard Grammar.parameter(b, &i, end, &parameter, &out.leniency) else { return .field }
            if parameter.name.count == 3, !out.hasTag, b.lowered(parameter.name.lower, 3) == 0x67_6174 {
                out.hasTag = true
                out.tag = parameter.value
            }
        }
        out.parameters = ByteRange(start, i)
        return nil
    }
}
