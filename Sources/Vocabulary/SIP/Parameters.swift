// SPDX-License-Identifier: Apache-2.0

/// One parameter of a header field or URI.
public struct Parameter: Sendable, Hashable {
    public var name: String
    /// Without quotation marks and escapes; nil for a parameter that is only a name.
    public var value: String?
    /// Whether it is written as a quoted string even if it could be a token.
    public var isQuoted: Bool

    public init(_ name: String, _ value: String? = nil, isQuoted: Bool = false) {
        self.name = name
        self.value = value
        self.isQuoted = isQuoted
    }

    /// Names are compared without case, values exactly.
    public static func == (left: Self, right: Self) -> Bool {
        left.value == right.value && left.name.asciiLowercased == right.name.asciiLowercased
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(name.asciiLowercased)
        hasher.combine(value)
    }
}

/// Parameters in their order; names are compared without case (RFC 3261 §7.3.1).
public struct Parameters: Hashable, Sendable, Sequence {
    public private(set) var items: [Parameter] = []

    public init() {}

    public init(_ items: [Parameter]) { self.items = items }

    public var isEmpty: Bool { items.isEmpty }
    public var count: Int { items.count }

    public func makeIterator() -> IndexingIterator<[Parameter]> { items.makeIterator() }

    private func index(_ name: String) -> Int? {
        let wanted = name.asciiLowercased
        return items.firstIndex { $0.name.asciiLowercased == wanted }
    }

    /// The value of the first parameter of that name; nil if there is none, or if it is only a name.
    public func value(_ name: String) -> String? { index(name).flatMap { items[$0].value } }

    /// The value of the first parameter of that name.
    public subscript(name: String) -> String? { value(name) }

    public func contains(_ name: String) -> Bool { index(name) != nil }

    /// Replaces the first parameter of that name in its place, or adds one at the end.
    public mutating func set(_ name: String, _ value: String?, isQuoted: Bool = false) {
        if let index = index(name) {
            items[index].value = value
            items[index].isQuoted = isQuoted
        } else {
            items.append(Parameter(name, value, isQuoted: isQuoted))
        }
    }

    /// Removes every parameter of that name.
    public mutating func remove(_ name: String) {
        let wanted = name.asciiLowercased
        items.removeAll { $0.name.asciiLowercased == wanted }
    }

    /// Adds a parameter at the end, even if there is one of that name.
    public mutating func append(_ parameter: Parameter) { items.append(parameter) }
}

extension Parameters {
    /// Parameters of a header field, from a range that the grammar accepted; at its start is a semicolon.
    package init(headerParameters bytes: [UInt8], _ range: ByteRange) {
        guard !range.isEmpty, range.upper <= bytes.count else { return }
        var i = range.lower
        var parameter = ParameterFields()
        var leniency: Leniency = []
        let span = bytes.span
        while i < range.upper, span[i] == 0x3b, items.count < ValueLimits.parameters {
            i += 1
            guard Grammar.parameter(span, &i, range.upper, &parameter, &leniency) else { return }
            items.append(Parameter(parameter, bytes))
        }
    }

    /// Parameters of a URI, escapes resolved once.
    package init(uriParameters bytes: [UInt8], _ range: ByteRange) {
        for part in range.slice(bytes).split(separator: 0x3b).prefix(ValueLimits.parameters) {
            let name = part.prefix { $0 != 0x3d }
            let value = part.dropFirst(name.count + 1)
            let parameter = Parameter(Text.unescaped(name), name.count == part.count ? nil : Text.unescaped(value))
            // What has no name cannot be asked for, nor be written again.
            if !parameter.name.isEmpty { items.append(parameter) }
        }
    }

    /// As they follow a header field value: `;name=value`, quoted where it must be.
    package var headerText: String {
        var out = ""
        for item in items { out += ";" + item.headerText }
        return out
    }

    /// As they follow a URI, escaped where it must be.
    package var uriText: String {
        var out = ""
        for item in items where !item.name.isEmpty {
            out += ";" + Text.escaped(item.name.utf8, .uriParameter)
            if let value = item.value { out += "=" + Text.escaped(value.utf8, .uriParameter) }
        }
        return out
    }
}

extension Parameter {
    init(_ fields: ParameterFields, _ bytes: [UInt8]) {
        name = fields.name.text(bytes)
        isQuoted = fields.isQuoted
        guard fields.hasValue else {
            value = nil
            return
        }
        let slice = fields.value.slice(bytes)
        value = fields.isQuoted ? Text.unquoted(slice) : String(decoding: slice, as: UTF8.self)
    }

    /// `name`, `name=token` or `name="text"`.
    var headerText: String {
        let token =
            Text.isToken(name)
            ? name : String(decoding: name.utf8.map { CharacterClass.token.has($0) ? $0 : 0x2d }, as: UTF8.self)
        guard let value else { return token.isEmpty ? "-" : token }
        let plain = !isQuoted && !value.isEmpty && value.utf8.allSatisfy(CharacterClass.genericValue.has)
        return "\(token.isEmpty ? "-" : token)=" + (plain ? value : Text.quoted(value))
    }
}
