// SPDX-License-Identifier: Apache-2.0

/// A media type with its parameters (RFC 3261 §20.15), or a range of them in Accept (§20.1).
public struct MediaType: Sendable, Hashable, CustomStringConvertible {
    /// In lower case, as is the subtype; `*` in a range.
    public var type: String
    public var subtype: String
    public var parameters: Parameters

    public init(_ type: String, _ subtype: String, parameters: Parameters = Parameters()) {
        self.type = type.asciiLowercased
        self.subtype = subtype.asciiLowercased
        self.parameters = parameters
    }

    public static let sdp = MediaType("application", "sdp")

    /// Reads `type/subtype;parameters`.
    public init(_ text: String) throws(SIPError) {
        let value = try ParameterizedValue(text, allowsSlash: true)
        let parts = value.value.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { throw SIPError(.field) }
        let type = Text.trimmed(parts[0])
        let subtype = Text.trimmed(parts[1])
        guard Text.isToken(type), Text.isToken(subtype) else { throw SIPError(.field) }
        self.init(type, subtype, parameters: value.parameters)
    }

    /// Whether this range (`application/*`, `*/*`) takes in `other`.
    public func includes(_ other: MediaType) -> Bool {
        (type == "*" || type == other.type) && (subtype == "*" || subtype == other.subtype)
    }

    public var description: String {
        func token(_ text: String) -> String { Text.isToken(text) ? text : "x" }
        return "\(token(type))/\(token(subtype))\(parameters.headerText)"
    }
}

extension Text {
    /// Without blanks around it.
    static func trimmed(_ text: some StringProtocol) -> String {
        var bytes = Array(text.utf8)[...]
        while let first = bytes.first, isBlank(first) { bytes.removeFirst() }
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }
}
