// SPDX-License-Identifier: Apache-2.0
//
// The small typed fields of RFC 3261 §20 that are neither address nor token list.

/// Retry-After (RFC 3261 §20.33): `18000 (I'm in a meeting);duration=3600`.
public struct RetryAfter: Sendable, Hashable, CustomStringConvertible {
    /// Seconds.
    public var delay: UInt32
    public var comment: String?
    public var parameters: Parameters

    public init(delay: UInt32, comment: String? = nil, parameters: Parameters = Parameters()) {
        self.delay = delay
        self.comment = comment
        self.parameters = parameters
    }

    public init(_ text: String) throws(SIPError) {
        let bytes = Array(text.utf8)
        let span = bytes.span
        var i = 0
        Grammar.skipBlanks(span, &i, bytes.count)
        guard let delay = Grammar.clampedNumber(span, &i, bytes.count) else { throw SIPError(.field, at: i) }
        self.delay = delay
        Grammar.skipBlanks(span, &i, bytes.count)
        if i < bytes.count, span[i] == 0x28 {
            let start = i + 1
            guard let end = Grammar.comment(span, i, bytes.count) else { throw SIPError(.field, at: i) }
            comment = Text.visible(Text.unquoted(bytes[start..<(end - 1)]))
            i = end
            Grammar.skipBlanks(span, &i, bytes.count)
        }
        parameters = try Parameters(reading: bytes, at: &i)
        guard i == bytes.count else { throw SIPError(.field, at: i) }
    }

    /// Seconds for which the callee will be there again.
    public var duration: UInt32? { parameters["duration"].flatMap { UInt32($0) } }

    public var description: String {
        let safe = comment.map { text in
            " (" + String(text.unicodeScalars.filter { $0.value >= 0x20 && !"()\\".unicodeScalars.contains($0) }.map(Character.init)) + ")"
        }
        return "\(delay)\(safe ?? "")\(parameters.headerText)"
    }
}

/// Timestamp (RFC 3261 §20.38): when the request was sent, and how long the answer took, in seconds.
public struct Timestamp: Sendable, Hashable, CustomStringConvertible {
    /// Digits with an optional fraction, as they came: echoed, never computed with.
    public var value: String
    public var delay: String?

    public init(_ text: String) throws(SIPError) {
        let parts = text.split(whereSeparator: { $0 == " " || $0 == "\t" })
        guard (1...2).contains(parts.count), parts.allSatisfy(Self.isNumber) else { throw SIPError(.field) }
        value = String(parts[0])
        delay = parts.count == 2 ? String(parts[1]) : nil
    }

    private static func isNumber(_ text: Substring) -> Bool {
        text.utf8.first.map(isDigit) == true && text.utf8.allSatisfy { isDigit($0) || $0 == 0x2e }
            && text.utf8.filter { $0 == 0x2e }.count <= 1
    }

    public var description: String { value + (delay.map { " " + $0 } ?? "") }
}

/// Warning (RFC 3261 §20.43): `307 isi.edu "Session parameter 'foo' not understood"`.
public struct Warning: Sendable, Hashable, CustomStringConvertible {
    public var code: Int
    public var agent: String
    public var text: String

    public init(code: Int, agent: String, text: String) {
        self.code = code
        self.agent = agent
        self.text = text
    }

    public init(_ text: String) throws(SIPError) {
        let bytes = Array(text.utf8)
        let span = bytes.span
        var i = 0
        Grammar.skipBlanks(span, &i, bytes.count)
        let start = i
        while i < bytes.count, isDigit(span[i]) { i += 1 }
        guard i - start == 3, let code = Int(String(decoding: bytes[start..<i], as: UTF8.self)) else { throw SIPError(.field, at: i) }
        Grammar.skipBlanks(span, &i, bytes.count)
        let from = i
        while i < bytes.count, !isBlank(span[i]), span[i] != 0x22 { i += 1 }
        guard i > from else { throw SIPError(.field, at: i) }
        agent = String(decoding: bytes[from..<i], as: UTF8.self)
        Grammar.skipBlanks(span, &i, bytes.count)
        let open = i
        guard i < bytes.count, span[i] == 0x22, Grammar.quoted(span, &i, bytes.count), i == bytes.count else {
            throw SIPError(.field, at: i)
        }
        self.code = code
        self.text = Text.visible(Text.unquoted(bytes[(open + 1)..<(i - 1)]))
    }

    public var description: String {
        let safe = agent.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != 0x22 && $0 != 0x2c } && !agent.isEmpty
        return "\(min(max(code, 100), 999)) \(safe ? agent : "-") \(Text.quoted(text))"
    }
}

/// A URI in angle brackets with parameters: Alert-Info, Call-Info, Error-Info (RFC 3261 §20.4, §20.9, §20.18).
public struct InfoReference: Sendable, Hashable, CustomStringConvertible {
    public var uri: URI
    public var parameters: Parameters

    public init(uri: URI, parameters: Parameters = Parameters()) {
        self.uri = uri
        self.parameters = parameters
    }

    public init(_ text: String) throws(SIPError) {
        let address = try NameAddress(text)
        self.init(uri: address.uri, parameters: address.parameters)
    }

    public var description: String { "<\(uri)>\(parameters.headerText)" }
}

extension Grammar {
    /// A number that is read as the largest one if it does not fit (`Leniency.clampedNumber`).
    static func clampedNumber(_ b: Span<UInt8>, _ i: inout Int, _ end: Int) -> UInt32? {
        let start = i
        var value: UInt64 = 0
        while i < end, isDigit(b[i]) {
            value = min(value * 10 + UInt64(b[i] &- 0x30), UInt64(UInt32.max))
            i &+= 1
        }
        return i > start ? UInt32(truncatingIfNeeded: value) : nil
    }

    /// The end of a comment that begins at `start`; comments nest.
    static func comment(_ b: Span<UInt8>, _ start: Int, _ end: Int) -> Int? {
        var depth = 0
        var i = start
        while i < end {
            switch b[i] {
            case 0x28: depth += 1
            case 0x29:
                depth -= 1
                if depth == 0 { return i + 1 }
            case 0x5c: i += 1
            default: break
            }
            i += 1
        }
        return nil
    }
}
