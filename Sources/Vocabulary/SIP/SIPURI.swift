// SPDX-License-Identifier: Apache-2.0

import Essentials

/// A SIP or SIPS URI (RFC 3261 §19.1).
public struct SIPURI: Sendable, Hashable {
    /// One header of the part after "?", unescaped.
    public struct Header: Sendable, Hashable {
        public var name: String
        public var value: String
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Whether the scheme is `sips`.
    public var isSecure: Bool
    /// The user part with its escapes, as it came: an address is passed on octet for octet.
    public private(set) var escapedUser: String?
    public private(set) var escapedPassword: String?
    public var host: Host
    public var port: UInt16?
    public var parameters: Parameters
    public var headers: [Header]

    public init(
        user: String? = nil, host: Host, port: UInt16? = nil, isSecure: Bool = false, parameters: Parameters = Parameters()
    ) {
        self.isSecure = isSecure
        self.host = host
        self.port = port
        self.parameters = parameters
        headers = []
        self.user = user
    }

    /// The user part, unescaped once: what is shown to people. `#` and the like are escaped when written.
    public var user: String? {
        get { escapedUser.map { Text.unescaped($0.utf8) } }
        set { escapedUser = newValue.flatMap { $0.isEmpty ? nil : Text.escaped($0.utf8, .user) } }
    }

    /// The password, unescaped. RFC 3261 §19.1.1 advises against its use.
    public var password: String? {
        get { escapedPassword.map { Text.unescaped($0.utf8) } }
        set { escapedPassword = newValue.map { Text.escaped($0.utf8, .password) } }
    }

    /// The transport parameter; nil if there is none or if we do not know it.
    public var transport: TransportProtocol? {
        get { parameters["transport"].flatMap { TransportProtocol(rawValue: $0.asciiLowercased) } }
        set {
            if let newValue { parameters.set("transport", newValue.rawValue) } else { parameters.remove("transport") }
        }
    }

    /// Whether the parameter `lr` marks a loose router (RFC 3261 §19.1.1).
    public var isLooseRouter: Bool { parameters.contains("lr") }

    /// From fields that the grammar accepted.
    package init(_ fields: URIFields, _ bytes: [UInt8]) {
        isSecure = fields.scheme == .sips
        host = Host(bytes, fields.host, isIPv6: fields.isIPv6)
        port = fields.port < 0 ? nil : UInt16(truncatingIfNeeded: fields.port)
        parameters = Parameters(uriParameters: bytes, fields.parameters)
        headers = fields.headers.slice(bytes).split(separator: 0x26).map { part in
            let name = part.prefix { $0 != 0x3d }
            return Header(Text.unescaped(name), Text.unescaped(part.dropFirst(name.count + 1)))
        }
        if fields.hasUser { escapedUser = Self.repaired(fields.user.slice(bytes), .user) }
        if fields.hasPassword { escapedPassword = Self.repaired(fields.password.slice(bytes), .password) }
    }

    /// What had to be escaped and was not (`Leniency.unescapedUser`) is escaped; existing escapes stay.
    private static func repaired(_ slice: ArraySlice<UInt8>, _ allowed: CharacterClass) -> String {
        if slice.allSatisfy({ allowed.has($0) || $0 == 0x25 }) { return String(decoding: slice, as: UTF8.self) }
        return slice.map { $0 == 0x25 ? "%" : Text.escaped(CollectionOfOne($0), allowed) }.joined()
    }
}

extension SIPURI: CustomStringConvertible {
    /// The URI as it is written, everything escaped that must be.
    public var description: String {
        var out = isSecure ? "sips:" : "sip:"
        if let escapedUser {
            out += escapedUser
            if let escapedPassword { out += ":" + escapedPassword }
            out += "@"
        }
        out += host.description
        if let port { out += ":\(port)" }
        out += parameters.uriText
        for (index, header) in headers.enumerated() {
            out += index == 0 ? "?" : "&"
            out += Text.escaped(header.name.utf8, .uriHeader) + "=" + Text.escaped(header.value.utf8, .uriHeader)
        }
        return out
    }

    /// Without parameters and headers: what identifies a person to people and in a location store.
    public var addressOfRecord: String {
        var copy = self
        copy.parameters = Parameters()
        copy.headers = []
        copy.escapedPassword = nil
        return copy.description
    }
}
