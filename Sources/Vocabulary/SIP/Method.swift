// SPDX-License-Identifier: Apache-2.0

/// The method of a request (RFC 3261 §7.1). Case matters.
public struct Method: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public static let invite = Method(rawValue: "INVITE")
    public static let ack = Method(rawValue: "ACK")
    public static let bye = Method(rawValue: "BYE")
    public static let cancel = Method(rawValue: "CANCEL")
    public static let register = Method(rawValue: "REGISTER")
    public static let options = Method(rawValue: "OPTIONS")
    /// RFC 6086.
    public static let info = Method(rawValue: "INFO")
    /// RFC 3262.
    public static let prack = Method(rawValue: "PRACK")
    /// RFC 3311.
    public static let update = Method(rawValue: "UPDATE")
    /// RFC 3515.
    public static let refer = Method(rawValue: "REFER")
    /// RFC 6665.
    public static let notify = Method(rawValue: "NOTIFY")
    /// RFC 6665.
    public static let subscribe = Method(rawValue: "SUBSCRIBE")
    /// RFC 3428.
    public static let message = Method(rawValue: "MESSAGE")
    /// RFC 3903.
    public static let publish = Method(rawValue: "PUBLISH")

    public var description: String { rawValue }
}
