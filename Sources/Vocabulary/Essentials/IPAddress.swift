// SPDX-License-Identifier: Apache-2.0

/// An IPv4 or IPv6 address.
public enum IPAddress: Hashable, Sendable {
    /// The 32 bits in host order: 127.0.0.1 is `0x7f00_0001`.
    case v4(UInt32)
    /// The upper and lower 64 bits in host order.
    case v6(UInt64, UInt64)

    public static let anyV4 = IPAddress.v4(0)
    public static let anyV6 = IPAddress.v6(0, 0)
    public static let loopbackV4 = IPAddress.v4(0x7f00_0001)
    public static let loopbackV6 = IPAddress.v6(0, 1)

    public var isV6: Bool {
        if case .v6 = self { return true }
        return false
    }

    /// 127.0.0.0/8, ::1, and the mapped form of the former.
    public var isLoopback: Bool {
        switch unmapped {
        case .v4(let bits): bits >> 24 == 127
        case .v6(let high, let low): high == 0 && low == 1
        }
    }

    /// 0.0.0.0 or ::.
    public var isUnspecified: Bool {
        switch self {
        case .v4(let bits): bits == 0
        case .v6(let high, let low): high == 0 && low == 0
        }
    }

    /// RFC 1918, RFC 6598, link-local (RFC 3927, RFC 4291) or unique local (RFC 4193): not reachable from outside.
    public var isPrivate: Bool {
        switch unmapped {
        case .v4(let bits):
            bits >> 24 == 10 || bits >> 20 == 0xac1 || bits >> 16 == 0xc0a8 || bits >> 16 == 0xa9fe || bits >> 22 == 0x191
        case .v6(let high, _): high >> 57 == 0x7e || high >> 54 == 0x3fa
        }
    }

    /// 224.0.0.0/4 or ff00::/8.
    public var isMulticast: Bool {
        switch unmapped {
        case .v4(let bits): bits >> 28 == 0xe
        case .v6(let high, _): high >> 56 == 0xff
        }
    }

    /// An IPv4 address for an IPv4-mapped IPv6 one (RFC 4291 §2.5.5.2), else the address itself.
    public var unmapped: IPAddress {
        if case .v6(0, let low) = self, low >> 32 == 0xffff { return .v4(UInt32(truncatingIfNeeded: low)) }
        return self
    }

    /// The 4 or 16 octets in network order.
    public var octets: [UInt8] {
        switch self {
        case .v4(let bits): (0..<4).map { UInt8(truncatingIfNeeded: bits >> (24 - 8 * $0)) }
        case .v6(let high, let low):
            (0..<8).map { UInt8(truncatingIfNeeded: high >> (56 - 8 * $0)) }
                + (0..<8).map { UInt8(truncatingIfNeeded: low >> (56 - 8 * $0)) }
        }
    }

    /// The address of 4 or 16 octets in network order; nil for any other count.
    public init?(octets: some Collection<UInt8>) {
        switch octets.count {
        case 4: self = .v4(octets.reduce(0) { $0 << 8 | UInt32($1) })
        case 16:
            self = .v6(
                octets.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }, octets.suffix(8).reduce(0) { $0 << 8 | UInt64($1) })
        default: return nil
        }
    }

    /// Reads the text form: dotted decimal (RFC 3986 `IPv4address`), or IPv6 (RFC 4291 §2.2) without brackets or zone.
    public init?(_ text: some StringProtocol) {
        self.init(utf8: text.utf8)
    }

    /// Reads the text form from its octets; at most 45 are looked at.
    public init?(utf8: some Collection<UInt8>) {
        guard utf8.count <= 45 else { return nil }
        self.init(checked: Array(utf8))
    }

    /// The same, without the cost of a generic copy: what every host of a message goes through.
    public init?(utf8: ArraySlice<UInt8>) {
        guard utf8.count <= 45 else { return nil }
        self.init(checked: Array(utf8))
    }

    private init?(checked bytes: [UInt8]) {
        if bytes.contains(UInt8(ascii: ":")) {
            guard let address = Self.parseV6(bytes) else { return nil }
            self = address
        } else {
            guard let bits = Self.parseV4(bytes[...]) else { return nil }
            self = .v4(bits)
        }
    }

    private static func parseV4(_ bytes: ArraySlice<UInt8>) -> UInt32? {
        var result: UInt32 = 0
        var parts = 0
        var value: UInt32 = 0
        var digits = 0
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                value = value * 10 + UInt32(byte - UInt8(ascii: "0"))
                digits += 1
                guard digits <= 3, value <= 255 else { return nil }
            case UInt8(ascii: "."):
                guard digits > 0, parts < 3 else { return nil }
                result = result << 8 | value
                parts += 1
                value = 0
                digits = 0
            default: return nil
            }
        }
        guard digits > 0, parts == 3 else { return nil }
        return result << 8 | value
    }

    private static func parseV6(_ bytes: [UInt8]) -> IPAddress? {
        var head: [UInt16] = []
        var tail: [UInt16] = []
        var gap = false
        var index = 0
        func add(_ group: UInt16) { if gap { tail.append(group) } else { head.append(group) } }
        if bytes.first == UInt8(ascii: ":") {
            guard bytes.count >= 2, bytes[1] == UInt8(ascii: ":") else { return nil }
        }
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: ":"), index + 1 < bytes.count, bytes[index + 1] == UInt8(ascii: ":") {
                guard !gap else { return nil }
                gap = true
                index += 2
                guard index < bytes.count else { break }
                guard bytes[index] != UInt8(ascii: ":") else { return nil }
                continue
            }
            if index > 0, bytes[index] == UInt8(ascii: ":") {
                index += 1
                guard index < bytes.count else { return nil }
            }
            let end = bytes[index...].firstIndex(of: UInt8(ascii: ":")) ?? bytes.count
            let group = bytes[index..<end]
            if group.contains(UInt8(ascii: ".")) {
                guard end == bytes.count, let bits = parseV4(group) else { return nil }
                add(UInt16(truncatingIfNeeded: bits >> 16))
                add(UInt16(truncatingIfNeeded: bits))
            } else {
                guard let value = hexGroup(group) else { return nil }
                add(value)
            }
            guard head.count + tail.count <= 8 else { return nil }
            index = end
        }
        let missing = 8 - head.count - tail.count
        guard gap ? missing >= 1 : missing == 0 else { return nil }
        let groups = head + [UInt16](repeating: 0, count: missing) + tail
        return .v6(groups[0..<4].reduce(0) { $0 << 16 | UInt64($1) }, groups[4..<8].reduce(0) { $0 << 16 | UInt64($1) })
    }

    private static func hexGroup(_ bytes: ArraySlice<UInt8>) -> UInt16? {
        guard (1...4).contains(bytes.count) else { return nil }
        var value: UInt16 = 0
        for byte in bytes {
            guard let digit = hexDigitValue(byte) else { return nil }
            value = value << 4 | UInt16(digit)
        }
        return value
    }
}

/// The value of a hexadecimal digit in either case; nil for any other octet.
public func hexDigitValue(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
}

extension IPAddress: CustomStringConvertible {
    /// Dotted decimal, or the canonical IPv6 form of RFC 5952, without brackets.
    public var description: String {
        switch self {
        case .v4(let bits): return "\(bits >> 24).\(bits >> 16 & 255).\(bits >> 8 & 255).\(bits & 255)"
        case .v6(let high, let low):
            if high == 0, low >> 32 == 0xffff { return "::ffff:\(unmapped)" }
            let groups = (0..<8).map { index in
                UInt16(truncatingIfNeeded: (index < 4 ? high : low) >> (48 - 16 * (index % 4)))
            }
            let (start, length) = Self.longestZeroRun(groups)
            func join(_ part: ArraySlice<UInt16>) -> String {
                part.map { String($0, radix: 16) }.joined(separator: ":")
            }
            guard length >= 2 else { return join(groups[...]) }
            return join(groups[..<start]) + "::" + join(groups[(start + length)...])
        }
    }

    private static func longestZeroRun(_ groups: [UInt16]) -> (start: Int, length: Int) {
        var best = (start: 0, length: 0)
        var start = 0
        for (index, group) in groups.enumerated() {
            if group != 0 { start = index + 1 } else if index + 1 - start > best.length { best = (start, index + 1 - start) }
        }
        return best
    }
}

/// An address and a port.
public struct SocketAddress: Hashable, Sendable, CustomStringConvertible {
    public var ip: IPAddress
    public var port: UInt16

    public init(_ ip: IPAddress, _ port: UInt16) {
        self.ip = ip
        self.port = port
    }

    /// Reads `127.0.0.1:5060` or `[::1]:5060`; nil for anything else.
    public init?(_ text: some StringProtocol) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else { return nil }
        var host = text[..<colon]
        if host.first == "[", host.last == "]" {
            host = host.dropFirst().dropLast()
            guard host.contains(":") else { return nil }
        } else if host.contains(":") {
            return nil
        }
        guard let ip = IPAddress(host) else { return nil }
        self.init(ip, port)
    }

    /// `127.0.0.1:5060` or `[::1]:5060`.
    public var description: String { ip.isV6 ? "[\(ip)]:\(port)" : "\(ip):\(port)" }
}
