// SPDX-License-Identifier: Apache-2.0
//
// Typed fields as ranges of the message: nothing is copied, nothing allocated. The agent compares and hashes these;
// the owned types (`Via`, `NameAddress`, `URI`) are made from them when the application asks.

/// The parts of a URI.
public struct URIFields: Sendable, Hashable {
    public enum Scheme: UInt8, Sendable, Hashable {
        case sip, sips, tel, other
    }

    public var scheme = Scheme.other
    /// The whole URI, scheme included.
    public var whole = ByteRange.none
    public var hasUser = false
    /// Escaped, as it came.
    public var user = ByteRange.none
    public var hasPassword = false
    public var password = ByteRange.none
    /// Without the brackets of an IPv6 reference.
    public var host = ByteRange.none
    public var isIPv6 = false
    /// -1 if there is none.
    public var port: Int32 = -1
    /// From the first semicolon on.
    public var parameters = ByteRange.none
    /// After the question mark.
    public var headers = ByteRange.none
    public var leniency: Leniency = []

    public init() {}
}

/// The parts of From, To, Contact, Route and the like: `[name] <URI>;parameters` or `URI;parameters`.
public struct AddressFields: Sendable, Hashable {
    /// The whole value.
    public var whole = ByteRange.none
    /// As it came, with its quotation marks.
    public var displayName = ByteRange.none
    public var uri = URIFields()
    /// The parameters of the field, from the first semicolon on.
    public var parameters = ByteRange.none
    /// The value of the `tag` parameter.
    public var tag = ByteRange.none
    public var hasTag = false
    /// Contact: the single asterisk.
    public var isWildcard = false
    public var leniency: Leniency = []

    public init() {}
}

/// The parts of one Via value (RFC 3261 §20.42).
public struct ViaFields: Sendable, Hashable {
    public var whole = ByteRange.none
    /// nil for a transport that we do not know.
    public var transport: TransportProtocol?
    public var transportName = ByteRange.none
    /// Without the brackets of an IPv6 reference.
    public var host = ByteRange.none
    public var isIPv6 = false
    /// -1 if there is none.
    public var port: Int32 = -1
    /// From the first semicolon on.
    public var parameters = ByteRange.none
    public var branch = ByteRange.none
    public var received = ByteRange.none
    public var hasRport = false
    /// -1 if there is none.
    public var rport: Int32 = -1
    public var leniency: Leniency = []

    public init() {}

    /// Whether the branch begins with `z9hG4bK` (RFC 3261 §8.1.1.7); false for a message of an RFC 2543 element.
    public var hasMagicCookie = false
}

/// One parameter.
struct ParameterFields {
    var name = ByteRange.none
    var hasValue = false
    /// Without quotation marks, but with its escapes.
    var value = ByteRange.none
    var isQuoted = false
}
