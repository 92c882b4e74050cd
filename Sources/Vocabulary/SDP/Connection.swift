// SPDX-License-Identifier: Apache-2.0

import Essentials

/// A `c=` line (RFC 8866 §5.7): where media goes. The text is kept as it came, a name included.
public struct Connection: Sendable, Hashable {
    /// `IN`.
    public var networkType: String
    /// `IP4` or `IP6`.
    public var addressType: String
    /// An address or a name, without the suffix of group addresses.
    public var address: String
    /// What stands after the first `/` of a group address (time to live, count), or nil.
    public var suffix: String?

    public init(networkType: String = "IN", addressType: String, address: String, suffix: String? = nil) {
        self.networkType = networkType
        self.addressType = addressType
        self.address = address
        self.suffix = suffix
    }

    public init(_ ip: IPAddress) {
        self.init(addressType: ip.isV6 ? "IP6" : "IP4", address: ip.description)
    }

    /// The address; nil for a name. The address decides, not `addressType`.
    public var ip: IPAddress? { IPAddress(utf8: address.utf8) }
}

/// An `o=` line (RFC 8866 §5.2): who made the description, and its version. Its address is never used for media.
public struct Origin: Sendable, Hashable {
    public var username: String
    /// Digits; kept as text, for peers write more than 64 bits hold.
    public var sessionID: String
    public var sessionVersion: String
    public var networkType: String
    public var addressType: String
    public var address: String

    public init(
        username: String = "-", sessionID: String = "0", sessionVersion: String = "0", networkType: String = "IN",
        addressType: String = "IP4", address: String = "0.0.0.0"
    ) {
        self.username = username
        self.sessionID = sessionID
        self.sessionVersion = sessionVersion
        self.networkType = networkType
        self.addressType = addressType
        self.address = address
    }

    public init(sessionID: UInt64, version: UInt64, address: IPAddress) {
        self.init(
            sessionID: String(sessionID), sessionVersion: String(version), addressType: address.isV6 ? "IP6" : "IP4",
            address: address.description)
    }
}

/// A `b=` line (RFC 8866 §5.8): `AS` in kbit/s, `TIAS` in bit/s.
public struct Bandwidth: Sendable, Hashable {
    public var type: String
    public var value: UInt64

    public init(type: String, value: UInt64) {
        self.type = type
        self.value = value
    }
}

/// A `t=` line (RFC 8866 §5.9) with its `r=` lines as text. Calls use 0 0: without bound.
public struct Timing: Sendable, Hashable {
    public var start: UInt64
    public var stop: UInt64
    public var repeats: [String]

    public init(start: UInt64 = 0, stop: UInt64 = 0, repeats: [String] = []) {
        self.start = start
        self.stop = stop
        self.repeats = repeats
    }
}
