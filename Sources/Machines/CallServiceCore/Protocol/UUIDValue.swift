// SPDX-License-Identifier: Apache-2.0

import Essentials

/// A UUID (RFC 9562) as two numbers: names a call, an action or a transaction. Equal whatever the case of its text was.
public struct UUIDValue: Hashable, Comparable, Sendable, Codable {
    /// The first and the last eight octets, in network order.
    public var high: UInt64
    public var low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// The UUID of 16 octets in network order; nil for any other count.
    public init?(octets: some Collection<UInt8>) {
        guard octets.count == 16 else { return nil }
        high = octets.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        low = octets.suffix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Reads 8-4-4-4-12 hexadecimal digits in either case; nil for anything else.
    public init?(_ text: some StringProtocol) {
        var digits: [UInt8] = []
        var index = 0
        guard text.utf8.count == 36 else { return nil }
        for byte in text.utf8 {
            if index == 8 || index == 13 || index == 18 || index == 23 {
                guard byte == UInt8(ascii: "-") else { return nil }
            } else {
                guard let value = hexDigitValue(byte) else { return nil }
                digits.append(value)
            }
            index += 1
        }
        high = digits.prefix(16).reduce(0) { $0 << 4 | UInt64($1) }
        low = digits.suffix(16).reduce(0) { $0 << 4 | UInt64($1) }
    }

    /// The 16 octets in network order.
    public var octets: [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: high >> (56 - 8 * $0)) } + (0..<8).map { UInt8(truncatingIfNeeded: low >> (56 - 8 * $0)) }
    }

    public static func < (left: Self, right: Self) -> Bool { (left.high, left.low) < (right.high, right.low) }
}

extension UUIDValue: CustomStringConvertible {
    /// 8-4-4-4-12 digits in upper case, as Apple's systems print them.
    public var description: String {
        var text = ""
        for (index, octet) in octets.enumerated() {
            if index == 4 || index == 6 || index == 8 || index == 10 { text += "-" }
            let digits = String(octet, radix: 16, uppercase: true)
            text += digits.utf8.count == 1 ? "0" + digits : digits
        }
        return text
    }
}

/// A moment of the calendar: microseconds since 1970-01-01T00:00:00Z. What a `Date` becomes between app and service.
public struct WallTime: Hashable, Comparable, Sendable, Codable {
    public var microseconds: Int64

    public init(microseconds: Int64) { self.microseconds = microseconds }

    /// The moment `seconds` after 1970 began; saturates, and is the beginning where it is not a number.
    public init(secondsSince1970 seconds: Double) {
        let value = (seconds * 1e6).rounded()
        microseconds = value.isNaN ? 0 : value >= 9.2e18 ? .max : value <= -9.2e18 ? .min : Int64(value)
    }

    public var secondsSince1970: Double { Double(microseconds) / 1e6 }

    public static func < (left: Self, right: Self) -> Bool { left.microseconds < right.microseconds }
}

/// Octets that travel as one string of octets: a picture, a token, a payload.
public struct Octets: Hashable, Sendable, Codable {
    public var bytes: [UInt8]

    public init(_ bytes: [UInt8]) { self.bytes = bytes }
}
