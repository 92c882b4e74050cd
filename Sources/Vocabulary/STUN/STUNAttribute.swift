// SPDX-License-Identifier: Apache-2.0

/// The type of an attribute (RFC 8489 §18.3). Below 0x8000 the receiver must know it, else it must refuse the request.
public struct STUNAttributeType: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    public static let mappedAddress = Self(rawValue: 0x0001)
    public static let username = Self(rawValue: 0x0006)
    public static let messageIntegrity = Self(rawValue: 0x0008)
    public static let errorCode = Self(rawValue: 0x0009)
    public static let unknownAttributes = Self(rawValue: 0x000a)
    public static let realm = Self(rawValue: 0x0014)
    public static let nonce = Self(rawValue: 0x0015)
    public static let xorMappedAddress = Self(rawValue: 0x0020)
    /// RFC 8445 §7.1.1, of ICE.
    public static let priority = Self(rawValue: 0x0024)
    public static let useCandidate = Self(rawValue: 0x0025)
    public static let software = Self(rawValue: 0x8022)
    public static let fingerprint = Self(rawValue: 0x8028)
    public static let iceControlled = Self(rawValue: 0x8029)
    public static let iceControlling = Self(rawValue: 0x802a)

    /// Whether a receiver that does not know it must refuse the message (§14).
    public var mustBeUnderstood: Bool { rawValue < 0x8000 }

    /// The registered name, else the number.
    public var description: String {
        switch self {
        case .mappedAddress: "MAPPED-ADDRESS"
        case .username: "USERNAME"
        case .messageIntegrity: "MESSAGE-INTEGRITY"
        case .errorCode: "ERROR-CODE"
        case .unknownAttributes: "UNKNOWN-ATTRIBUTES"
        case .realm: "REALM"
        case .nonce: "NONCE"
        case .xorMappedAddress: "XOR-MAPPED-ADDRESS"
        case .priority: "PRIORITY"
        case .useCandidate: "USE-CANDIDATE"
        case .software: "SOFTWARE"
        case .fingerprint: "FINGERPRINT"
        case .iceControlled: "ICE-CONTROLLED"
        case .iceControlling: "ICE-CONTROLLING"
        default: "0x" + String(rawValue, radix: 16)
        }
    }

    /// The types that a binding request or response may hold by RFC 8489; those of ICE are for whoever does ICE.
    static let ofBinding: [Self] = [
        .mappedAddress, .username, .messageIntegrity, .errorCode, .unknownAttributes, .realm, .nonce, .xorMappedAddress,
    ]
}

/// One attribute as it stands in the message: its type and its value without the padding.
public struct STUNAttribute: Sendable, Hashable {
    public var type: STUNAttributeType
    public var value: [UInt8]

    public init(_ type: STUNAttributeType, _ value: [UInt8]) {
        self.type = type
        self.value = value
    }
}

/// Why a request was refused: the value of ERROR-CODE (RFC 8489 §14.8).
public struct STUNErrorCode: Sendable, Hashable {
    /// 300...699.
    public var code: Int
    public var reason: String

    public init(_ code: Int, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    public static let badRequest = STUNErrorCode(400, "Bad Request")
    public static let unauthenticated = STUNErrorCode(401, "Unauthenticated")
    public static let unknownAttribute = STUNErrorCode(420, "Unknown Attribute")
    public static let staleNonce = STUNErrorCode(438, "Stale Nonce")
}
