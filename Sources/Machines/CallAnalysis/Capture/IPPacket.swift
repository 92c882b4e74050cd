// SPDX-License-Identifier: Apache-2.0
//
// From a captured frame to the IP packet in it: Ethernet with VLAN tags and PPPoE, Linux "cooked" captures, raw IP, loopback.

import Essentials

/// One IP packet, perhaps a fragment.
public struct IPPacket: Sendable, Hashable {
    /// RFC 791 §3.2, RFC 8200 §4.5.
    public struct Fragment: Sendable, Hashable {
        public var identification: UInt32
        /// Octets before this one.
        public var offset: Int
        public var moreFollow: Bool
    }

    public var source: IPAddress
    public var destination: IPAddress
    /// 6 TCP, 17 UDP, 1 ICMP, 58 ICMPv6.
    public var protocolNumber: UInt8
    public var payload: ArraySlice<UInt8>
    public var fragment: Fragment?

    /// The packet in a frame; nil where there is none that can be read.
    public init?(frame: CapturedFrame) {
        guard let bytes = Self.network(frame.linkType, frame.bytes[...]) else { return nil }
        self.init(parsing: bytes)
    }

    /// Reads a packet; tunnels of IP in IP are opened, two deep.
    public init?(parsing bytes: ArraySlice<UInt8>) {
        self.init(parsing: bytes, depth: 0)
    }

    private init?(parsing bytes: ArraySlice<UInt8>, depth: Int) {
        guard let version = bytes.first.map({ $0 >> 4 }) else { return nil }
        switch version {
        case 4: self.init(version4: bytes)
        case 6: self.init(version6: bytes)
        default: return nil
        }
        if fragment == nil, protocolNumber == 4 || protocolNumber == 41, depth < 2 {
            guard let inner = IPPacket(parsing: payload, depth: depth + 1) else { return nil }
            self = inner
        }
    }

    private init?(version4 bytes: ArraySlice<UInt8>) {
        let headerLength = Int((bytes.first ?? 0) & 15) * 4
        guard headerLength >= 20, bytes.count >= headerLength, let source = IPAddress(octets: bytes.octets(12, 4)),
            let destination = IPAddress(octets: bytes.octets(16, 4))
        else { return nil }
        self.source = source
        self.destination = destination
        protocolNumber = bytes.octet(9)
        // Segmentation in the network card leaves a total length of zero.
        let total = Int(bytes.number(2))
        let end = total >= headerLength ? min(total, bytes.count) : bytes.count
        payload = bytes.octets(headerLength, end - headerLength)
        let flags = bytes.number(6)
        let offset = Int(flags & 0x1fff) * 8
        let more = flags & 0x2000 != 0
        fragment = offset > 0 || more ? Fragment(identification: UInt32(bytes.number(4)), offset: offset, moreFollow: more) : nil
    }

    private init?(version6 bytes: ArraySlice<UInt8>) {
        guard bytes.count >= 40, let source = IPAddress(octets: bytes.octets(8, 16)),
            let destination = IPAddress(octets: bytes.octets(24, 16))
        else { return nil }
        self.source = source
        self.destination = destination
        fragment = nil
        let length = Int(bytes.number(4))
        var rest = bytes.octets(40, length == 0 ? bytes.count : length)
        var next = bytes.octet(6)
        for _ in 0..<8 {
            switch next {
            case 0, 43, 60, 135:
                guard rest.count >= 8 else { return nil }
                let size = (Int(rest.octet(1)) + 1) * 8
                next = rest.octet(0)
                rest = rest.dropFirst(size)
                continue
            case 44:
                guard rest.count >= 8 else { return nil }
                let place = rest.number(2)
                fragment = Fragment(
                    identification: UInt32(rest.number(4)) << 16 | UInt32(rest.number(6)), offset: Int(place & 0xfff8),
                    moreFollow: place & 1 != 0)
                next = rest.octet(0)
                rest = rest.dropFirst(8)
                // What follows in a later fragment is no header.
                if (fragment?.offset ?? 0) == 0 { continue }
            default: break
            }
            break
        }
        protocolNumber = next
        payload = rest
    }

    // MARK: Link layers

    /// The packet behind the link layer's header (the LINKTYPE registry of tcpdump.org).
    static func network(_ linkType: UInt16, _ frame: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        switch linkType {
        case 1: etherPayload(frame.number(12), frame.dropFirst(14))
        // Loopback of BSD: the address family in four octets.
        case 0, 108: frame.count > 4 ? frame.dropFirst(4) : nil
        case 12, 14, 101, 228, 229: frame
        case 113: etherPayload(frame.number(14), frame.dropFirst(16))
        case 276: etherPayload(frame.number(0), frame.dropFirst(20))
        default: nil
        }
    }

    private static func etherPayload(_ type: UInt16, _ rest: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        var type = type
        var rest = rest
        for _ in 0..<4 {
            switch type {
            case 0x0800, 0x86dd: return rest
            case 0x8100, 0x88a8, 0x9100:
                guard rest.count > 4 else { return nil }
                type = rest.number(2)
                rest = rest.dropFirst(4)
            case 0x8864:
                guard rest.count > 8 else { return nil }
                return [0x0021, 0x0057].contains(rest.number(6)) ? rest.dropFirst(8) : nil
            default: return nil
            }
        }
        return nil
    }
}

extension ArraySlice<UInt8> {
    /// The octet `offset` behind the start; 0 behind the end.
    func octet(_ offset: Int) -> UInt8 {
        offset >= 0 && offset < count ? self[startIndex + offset] : 0
    }

    /// Two octets in network order; 0 for what is behind the end.
    func number(_ offset: Int) -> UInt16 { UInt16(octet(offset)) << 8 | UInt16(octet(offset + 1)) }

    /// Four octets in network order.
    func longNumber(_ offset: Int) -> UInt32 { UInt32(number(offset)) << 16 | UInt32(number(offset + 2)) }

    /// Up to `length` octets from `offset` on.
    func octets(_ offset: Int, _ length: Int) -> ArraySlice<UInt8> { dropFirst(Swift.max(0, offset)).prefix(Swift.max(0, length)) }
}
