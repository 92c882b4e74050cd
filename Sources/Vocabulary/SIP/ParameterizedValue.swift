// SPDX-License-Identifier: Apache-2.0

/// `token;name=value`: the form of Accept-Encoding, Accept-Language, Content-Disposition, Event, Reason and many others.
public struct ParameterizedValue: Sendable, Hashable, CustomStringConvertible {
    public var value: String
    public var parameters: Parameters

    public init(_ value: String, parameters: Parameters) {
        self.value = value
        self.parameters = parameters
    }

    /// Reads one value; it must fill the text.
    public init(_ text: String) throws(SIPError) { try self.init(text, allowsSlash: false) }

    init(_ text: String, allowsSlash: Bool) throws(SIPError) {
        let bytes = Array(text.utf8)
        let span = bytes.span
        var i = 0
        Grammar.skipBlanks(span, &i, bytes.count)
        let start = i
        while i < bytes.count, CharacterClass.token.has(span[i]) || (allowsSlash && (span[i] == 0x2f || isBlank(span[i]))) { i += 1 }
        value = Text.trimmed(String(decoding: bytes[start..<i], as: UTF8.self))
        Grammar.skipBlanks(span, &i, bytes.count)
        guard !value.isEmpty else { throw SIPError(.field, at: start) }
        parameters = try Parameters(reading: bytes, at: &i)
        guard i == bytes.count else { throw SIPError(.field, at: i) }
    }

    public var description: String {
        let plain = value.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != 0x3b && $0 != 0x2c }
        return (plain && !value.isEmpty ? value : "x") + parameters.headerText
    }
}

extension Parameters {
    /// Reads `;name=value` to the end of the text.
    init(reading bytes: [UInt8], at i: inout Int) throws(SIPError) {
        let span = bytes.span
        var fields = ParameterFields()
        var leniency: Leniency = []
        self.init()
        while i < bytes.count, span[i] == 0x3b {
            i += 1
            guard count < ValueLimits.parameters else { throw SIPError(.limitParameters, at: i) }
            guard Grammar.parameter(span, &i, bytes.count, &fields, &leniency) else { throw SIPError(.field, at: i) }
            append(Parameter(fields, bytes))
        }
    }
}
