// SPDX-License-Identifier: Apache-2.0

/// A name, a URI and parameters: From, To, Contact, Route, Refer-To and the like (RFC 3261 §20.10, §25.1).
public struct NameAddress: Sendable, Hashable {
    /// Without quotation marks and escapes; what is no UTF-8, and what could not be seen or would turn the text around,
    /// is a replacement character: safe to show and to log. nil if there is none or an empty one.
    public var displayName: String?
    public var uri: URI
    /// The parameters of the field, not those of the URI.
    public var parameters: Parameters

    public init(displayName: String? = nil, uri: URI, parameters: Parameters = Parameters()) {
        self.displayName = displayName
        self.uri = uri
        self.parameters = parameters
    }

    /// Reads one value; it must fill the text.
    public init(_ text: String) throws(SIPError) {
        let bytes = Array(text.utf8)
        var fields = AddressFields()
        var i = 0
        let span = bytes.span
        if let at = bytes.firstIndex(where: { $0 == 0x0d || $0 == 0x0a }) { throw SIPError(.control, at: at) }
        if let code = Grammar.address(span, &i, bytes.count, isList: false, &fields) { throw SIPError(code, at: i) }
        self = NameAddress(fields, bytes)
    }

    /// From fields that the grammar accepted.
    package init(_ fields: AddressFields, _ bytes: [UInt8]) {
        uri = URI(fields.uri, bytes)
        parameters = Parameters(headerParameters: bytes, fields.parameters)
        let raw = fields.displayName.slice(bytes)
        let name = raw.first == 0x22 ? Text.unquoted(raw.dropFirst().dropLast()) : Text.string(raw)
        displayName = name.isEmpty ? nil : Text.visible(name)
    }

    /// The `tag` parameter (RFC 3261 §19.3).
    public var tag: String? {
        get { parameters["tag"] }
        set {
            if let newValue { parameters.set("tag", newValue) } else { parameters.remove("tag") }
        }
    }
}

extension NameAddress: CustomStringConvertible {
    /// Always with angle brackets; a name is always quoted.
    public var description: String {
        let name = displayName.map { $0.isEmpty ? "" : Text.quoted($0) + " " } ?? ""
        return name + "<\(uri)>" + parameters.headerText
    }
}
