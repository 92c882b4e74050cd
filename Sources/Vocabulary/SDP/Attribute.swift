// SPDX-License-Identifier: Apache-2.0

/// An `a=` line (RFC 8866 §5.13): `name` or `name:value`. Names are case-sensitive.
public struct Attribute: Sendable, Hashable {
    public var name: String
    /// nil for a property attribute such as `sendrecv`.
    public var value: String?

    public init(_ name: String, _ value: String? = nil) {
        self.name = name
        self.value = value
    }
}

extension [Attribute] {
    /// The value of the first attribute of this name that has one.
    public func value(_ name: String) -> String? {
        for attribute in self where attribute.name == name { if let value = attribute.value { return value } }
        return nil
    }

    public func contains(named name: String) -> Bool { contains { $0.name == name } }

    /// The values of all attributes of this name, in order.
    public func values(_ name: String) -> [String] { compactMap { $0.name == name ? $0.value : nil } }

    /// The first direction attribute, or nil where none stands.
    public var direction: Direction? {
        for attribute in self where attribute.value == nil {
            switch attribute.name {
            case "sendrecv": return .sendrecv
            case "sendonly": return .sendonly
            case "recvonly": return .recvonly
            case "inactive": return .inactive
            default: continue
            }
        }
        return nil
    }
}
