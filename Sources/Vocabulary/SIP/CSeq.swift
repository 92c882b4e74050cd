// SPDX-License-Identifier: Apache-2.0

/// The order of requests in a dialog (RFC 3261 §20.16).
public struct CSeq: Sendable, Hashable, CustomStringConvertible {
    public var number: UInt32
    public var method: Method

    public init(number: UInt32, method: Method) {
        self.number = number
        self.method = method
    }

    /// Reads `314159 INVITE`.
    public init(_ text: String) throws(SIPError) {
        let bytes = Array(text.utf8)
        var number: UInt32 = 0
        var method = ByteRange.none
        var leniency: Leniency = []
        guard Grammar.cseq(bytes.span, 0, bytes.count, &number, &method, &leniency) else { throw SIPError(.cseq) }
        self.init(number: number, method: Method(rawValue: method.text(bytes)))
    }

    public var description: String { "\(number) \(method.rawValue)" }
}

extension Grammar {
    /// CSeq = 1*DIGIT LWS Method
    @inline(__always) static func cseq(
        _ b: Span<UInt8>, _ start: Int, _ end: Int, _ number: inout UInt32, _ method: inout ByteRange, _ leniency: inout Leniency
    ) -> Bool {
        var i = start
        skipBlanks(b, &i, end)
        let first = i
        var value: UInt64 = 0
        while i < end, isDigit(b[i]) {
            value = value &* 10 &+ UInt64(b[i] &- 0x30)
            if value > UInt64(UInt32.max) { return false }
            i &+= 1
        }
        guard i > first, i < end, isBlank(b[i]) else { return false }
        if value > 0x7fff_ffff { leniency.insert(.largeCSeq) }
        number = UInt32(truncatingIfNeeded: value)
        skipBlanks(b, &i, end)
        let name = i
        skipToken(b, &i, end)
        method = ByteRange(name, i)
        skipBlanks(b, &i, end)
        return !method.isEmpty && i == end
    }
}
