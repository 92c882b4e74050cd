// SPDX-License-Identifier: Apache-2.0
//
// The productions of RFC 3261 §25.1 that several fields share. Each function reads at `i`, moves `i` behind what it
// read, and says nil or what is wrong. None allocates. In a field value CR and LF are parts of folds (LWS).

/// The grammar over octets.
enum Grammar {
    /// Skips token characters.
    @inline(__always) static func skipToken(_ b: Span<UInt8>, _ i: inout Int, _ end: Int) {
        var j = i
        while true {
            j = b.plainEnd(j, end)
            guard j < end, CharacterClass.token.has(b[j]) else { break }
            j &+= 1
        }
        i = j
    }

    /// Skips LWS.
    @inline(__always) static func skipBlanks(_ b: Span<UInt8>, _ i: inout Int, _ end: Int) {
        while i < end, isBlank(b[i]) { i &+= 1 }
    }

    /// A quoted string; at `i` is the opening quotation mark, afterwards `i` is behind the closing one.
    @inline(__always) static func quoted(_ b: Span<UInt8>, _ i: inout Int, _ end: Int) -> Bool {
        i &+= 1
        while i < end {
            let c = b[i]
            if c == 0x22 {
                i &+= 1
                return true
            }
            i &+= c == 0x5c ? 2 : 1
        }
        i = end
        return false
    }

    /// generic-param = token [ EQUAL gen-value ], after its semicolon.
    @inline(__always) static func parameter(
        _ b: Span<UInt8>, _ i: inout Int, _ end: Int, _ out: inout ParameterFields, _ leniency: inout Leniency
    ) -> Bool {
        skipBlanks(b, &i, end)
        let start = i
        skipToken(b, &i, end)
        guard i > start else { return false }
        out.name = ByteRange(start, i)
        out.hasValue = false
        out.value = .none
        out.isQuoted = false
        if i < end, isBlank(b[i]) { skipBlanks(b, &i, end) }
        guard i < end, b[i] == 0x3d else { return true }
        i &+= 1
        if i < end, isBlank(b[i]) { skipBlanks(b, &i, end) }
        out.hasValue = true
        if i < end, b[i] == 0x22 {
            let open = i
            guard quoted(b, &i, end) else { return false }
            out.isQuoted = true
            out.value = ByteRange(open &+ 1, i &- 1)
        } else {
            let from = i
            var strict = true
            while true {
                i = b.plainEnd(i, end)
                guard i < end else { break }
                let c = b[i]
                if !CharacterClass.genericValue.has(c) {
                    if endsParameterValue(c) || c == 0x7f { break }
                    strict = false
                }
                i &+= 1
            }
            if i == from { leniency.insert(.emptyParameterValue) }
            if !strict { leniency.insert(.unquotedParameterValue) }
            out.value = ByteRange(from, i)
        }
        if i < end, isBlank(b[i]) { skipBlanks(b, &i, end) }
        return true
    }

    /// The length of the IPv6 address between brackets, or false. At `i` is what follows the opening bracket.
    static func addressInBrackets(
        _ b: Span<UInt8>, _ i: inout Int, _ end: Int, _ out: inout ByteRange, _ leniency: inout Leniency
    ) -> Bool {
        let start = i
        while i < end, b[i] != 0x5d, i &- start < 64 { i &+= 1 }
        guard i < end, b[i] == 0x5d else { return false }
        var text: [UInt8] = []
        for index in start..<i { text.append(b[index]) }
        guard let read = readIPv6(text) else { return false }
        if read.lenient { leniency.insert(.tripleColon) }
        out = ByteRange(start, i)
        i &+= 1
        return true
    }

    /// host = hostname / IPv4address / IPv6reference
    @inline(__always) static func host(
        _ b: Span<UInt8>, _ i: inout Int, _ end: Int, _ out: inout ByteRange, _ isIPv6: inout Bool, _ leniency: inout Leniency
    ) -> Bool {
        guard i < end else { return false }
        if b[i] == 0x5b {
            i &+= 1
            isIPv6 = true
            return addressInBrackets(b, &i, end, &out, &leniency)
        }
        let start = i
        while true {
            i = b.plainEnd(i, end)
            guard i < end, b[i] == 0x5f else { break }
            leniency.insert(.underscoreInHost)
            i &+= 1
        }
        out = ByteRange(start, i)
        return i > start && i &- start <= 255 && b[start] != 0x2e
    }

    /// 1*DIGIT up to 65535, after the colon; -1 if there is no such number.
    @inline(__always) static func port(_ b: Span<UInt8>, _ i: inout Int, _ end: Int) -> Int32 {
        let start = i
        var value: Int32 = 0
        while i < end, isDigit(b[i]) {
            value = value &* 10 &+ Int32(b[i] &- 0x30)
            if value > 65535 { return -1 }
            i &+= 1
        }
        return i > start ? value : -1
    }

    /// Whether the octets from `start` to `end` are percent escapes wherever a percent sign stands.
    @inline(__always) static func isEscape(_ b: Span<UInt8>, _ i: Int, _ end: Int) -> Bool {
        i &+ 2 < end && isHex(b[i &+ 1]) && isHex(b[i &+ 2])
    }

    @inline(__always) static func isHex(_ c: UInt8) -> Bool { isDigit(c) || (c | 0x20) &- 0x61 < 6 }
}
