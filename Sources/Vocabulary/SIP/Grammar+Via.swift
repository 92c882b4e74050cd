// SPDX-License-Identifier: Apache-2.0
//
//  via-parm      = sent-protocol LWS sent-by *( SEMI via-params )
//  sent-protocol = protocol-name SLASH protocol-version SLASH transport
//  sent-by       = host [ COLON port ]                                            RFC 3261 §20.42, RFC 3581

extension Grammar {
    /// Reads one Via value. When `.via` is answered but `out.host` is filled, sent-by was readable: enough to refuse with 400.
    @inline(__always) static func via(_ b: Span<UInt8>, _ i: inout Int, _ end: Int, _ out: inout ViaFields) -> SIPError.Code? {
        skipBlanks(b, &i, end)
        let start = i
        if i &+ 8 <= end, b.word(i) == 0x2f30_2e32_2f50_4953 {  // "SIP/2.0/"
            i &+= 8
            if i < end, isBlank(b[i]) { skipBlanks(b, &i, end) }
        } else {
            for _ in 0..<2 {
                let from = i
                while i < end, CharacterClass.token.has(b[i]) { i &+= 1 }
                guard i > from else { return .via }
                skipBlanks(b, &i, end)
                guard i < end, b[i] == 0x2f else { return .via }
                i &+= 1
                skipBlanks(b, &i, end)
            }
        }
        let name = i
        skipToken(b, &i, end)
        guard i > name, i < end, isBlank(b[i]) else { return .via }
        out.transportName = ByteRange(name, i)
        out.transport = transport(b, name, i &- name)
        skipBlanks(b, &i, end)
        var host = ByteRange.none
        guard Grammar.host(b, &i, end, &host, &out.isIPv6, &out.leniency) else { return .via }
        if i < end, isBlank(b[i]) { skipBlanks(b, &i, end) }
        if i < end, b[i] == 0x3a {
            i &+= 1
            skipBlanks(b, &i, end)
            out.port = port(b, &i, end)
            if out.port < 0 { return .via }
            if i < end, isBlank(b[i]) { skipBlanks(b, &i, end) }
        }
        out.host = host
        if i < end, b[i] == 0x3b, let code = viaParameters(b, &i, end, &out) { return code }
        out.whole = ByteRange(start, i)
        return i == end || b[i] == 0x2c ? nil : .via
    }

    @inline(__always) static func transport(_ b: Span<UInt8>, _ start: Int, _ length: Int) -> TransportProtocol? {
        guard length <= 3 else { return nil }
        switch b.lowered(start, length) {
        case 0x706475: return .udp
        case 0x706374: return .tcp
        case 0x736c74: return .tls
        case 0x7377: return .ws
        case 0x737377: return .wss
        default: return nil
        }
    }

    @inline(__always) private static func viaParameters(
        _ b: Span<UInt8>, _ i: inout Int, _ end: Int, _ out: inout ViaFields
    ) -> SIPError.Code? {
        let start = i
        var count = 0
        var parameter = ParameterFields()
        while i < end, b[i] == 0x3b {
            i &+= 1
            count &+= 1
            if count > ValueLimits.parameters { return .limitParameters }
            guard Grammar.parameter(b, &i, end, &parameter, &out.leniency) else { return .via }
            let length = parameter.name.count
            guard length >= 5, length <= 8 else { continue }
            switch b.lowered(parameter.name.lower, length) {
            case 0x6863_6e61_7262 where out.branch.isEmpty:  // branch
                out.branch = parameter.value
                // "z9hG4bK" without its last octet's case folded away
                out.hasMagicCookie =
                    parameter.value.count >= 7 && b.lowered(parameter.value.lower, 7) == 0x6b_6234_6768_397a
            case 0x6465_7669_6563_6572: out.received = parameter.value  // received
            case 0x74_726f_7072:  // rport
                out.hasRport = true
                var at = parameter.value.lower
                if !parameter.value.isEmpty { out.rport = port(b, &at, parameter.value.upper) }
            default: break
            }
        }
        out.parameters = ByteRange(start, i)
        return nil
    }
}
