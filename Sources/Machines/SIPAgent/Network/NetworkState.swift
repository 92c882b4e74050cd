// SPDX-License-Identifier: Apache-2.0
//
// The addresses of this machine, as the world reads them from the system: from which of them a packet leaves is decided here
// without asking again, as the system's routing decides it for directly joined networks and the default route.

import Essentials

/// One address of this machine that others can reach.
public struct LocalAddress: Sendable, Hashable {
    public var ip: IPAddress
    /// Bits of the network that the address is in, 0...128: what lies in it is reached directly.
    public var prefixLength: Int
    /// Whether packets leave from it that go to no network of ours (the default route of its family).
    public var isDefault: Bool
    /// The name of the interface, `wlan0`; empty where it is not known.
    public var interface: String

    public init(_ ip: IPAddress, prefixLength: Int, isDefault: Bool = false, interface: String = "") {
        self.ip = ip
        self.prefixLength = min(max(prefixLength, 0), ip.isV6 ? 128 : 32)
        self.isDefault = isDefault
        self.interface = interface
    }

    /// Whether `other` is in the network of this address.
    func reaches(_ other: IPAddress) -> Bool {
        switch (ip, other) {
        case (.v4(let mine), .v4(let theirs)):
            prefixLength == 0 || (mine ^ theirs) >> UInt32(32 - prefixLength) == 0
        case (.v6(let high, let low), .v6(let otherHigh, let otherLow)):
            if prefixLength <= 64 {
                prefixLength == 0 || (high ^ otherHigh) >> UInt64(64 - prefixLength) == 0
            } else {
                high == otherHigh && (low ^ otherLow) >> UInt64(128 - prefixLength) == 0
            }
        default: false
        }
    }
}

/// Every address of this machine that others can reach: no loopback, no link-local ones, none of an interface that is down.
public struct NetworkState: Sendable, Hashable {
    /// The addresses of default routes first, else in the system's order.
    public private(set) var addresses: [LocalAddress]

    public init(_ addresses: [LocalAddress]) {
        self.addresses = addresses.filter(\.isDefault) + addresses.filter { !$0.isDefault }
    }

    /// Whether nothing but this machine itself can be reached.
    public var isEmpty: Bool { addresses.isEmpty }

    public func contains(_ ip: IPAddress) -> Bool { addresses.contains { $0.ip == ip } }

    /// The address from which packets to `remote` leave; nil: no way leads there.
    public func address(toward remote: IPAddress) -> IPAddress? {
        let remote = remote.unmapped
        if remote.isLoopback { return remote.isV6 ? .loopbackV6 : .loopbackV4 }
        var best: LocalAddress?
        for address in addresses where address.reaches(remote) && address.prefixLength > best?.prefixLength ?? -1 { best = address }
        return best?.ip ?? preferred(isV6: remote.isV6)
    }

    /// The address of the default route of a family, else the first of the family.
    public func preferred(isV6: Bool) -> IPAddress? { addresses.first { $0.ip.isV6 == isV6 }?.ip }
}

/// What became of the network, as phone and application are told.
public struct NetworkChange: Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable {
        /// No address is left. Calls are kept for `NetworkSettings.lossLimit`.
        case gone
        /// There is an address again.
        case returned
        /// The addresses are others than before, or the application says that the network is another one.
        case moved
    }

    public var kind: Kind
    /// The addresses now, those of default routes first.
    public var addresses: [IPAddress]
    /// Those that were there before and are not any more.
    public var gone: [IPAddress]
    /// Everything is to be told anew, even where the address is the same: the way to it may be another one.
    public var refreshesAll: Bool

    public init(_ kind: Kind, addresses: [IPAddress], gone: [IPAddress] = [], refreshesAll: Bool = false) {
        self.kind = kind
        self.addresses = addresses
        self.gone = gone
        self.refreshesAll = refreshesAll
    }
}
