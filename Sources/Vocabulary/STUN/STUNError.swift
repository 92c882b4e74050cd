// SPDX-License-Identifier: Apache-2.0

/// Why octets from the network are no STUN message (RFC 8489 §5, §6.3).
public struct STUNError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A stable name of the reason.
    public enum Code: String, Sendable, Hashable {
        /// The first two bits or the magic cookie are not those of STUN.
        case notSTUN = "stun.not-stun"
        /// Shorter than the header.
        case truncated = "stun.truncated"
        /// More octets than `STUNLimits.octets`, or more attributes than `STUNLimits.attributes`.
        case tooLarge = "stun.too-large"
        /// The length of the header is no multiple of 4, or not that of the datagram.
        case badLength = "stun.bad-length"
        /// An attribute runs over the end of the message.
        case attributeOverrun = "stun.attribute-overrun"
        /// The value of an attribute is too short, too long or contradicts itself.
        case badAttribute = "stun.bad-attribute"
        /// FINGERPRINT is not the check sum of the message, or is not its last attribute.
        case badFingerprint = "stun.bad-fingerprint"
    }

    public var code: Code
    /// The octet, from the start of the datagram, at which it was noticed.
    public var offset: Int

    public init(_ code: Code, at offset: Int) {
        self.code = code
        self.offset = offset
    }

    public var description: String { "\(code.rawValue) at octet \(offset)" }
}

/// The limits of one message from outside.
public struct STUNLimits: Sendable, Hashable {
    /// Octets of the whole message; RFC 8489 §6.1 wants requests to fit the path, so more is nobody's honest message.
    public var octets = 1500
    /// Attributes of one message.
    public var attributes = 64

    public init() {}

    public static let `default` = STUNLimits()
}
