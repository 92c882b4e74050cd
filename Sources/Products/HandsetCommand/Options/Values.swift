// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP

/// Seconds as written on the command line.
package enum Seconds {
    /// The interval of `2`, `2.5` or `0.020`; nil for anything else, a negative number or more than a year.
    package static func parse(_ text: String) -> Interval? {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let whole = digits(first), whole <= 31_536_000 else { return nil }
        var nanoseconds = whole * 1_000_000_000
        if parts.count == 2 {
            guard parts[1].utf8.count <= 9, let fraction = digits(parts[1]) else { return nil }
            nanoseconds += (parts[1].utf8.count..<9).reduce(fraction) { value, _ in value * 10 }
        }
        return Interval(nanoseconds: nanoseconds)
    }

    private static func digits(_ text: Substring) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
        return Int64(text)
    }
}

/// Addresses and ports as written on the command line.
package enum Address {
    /// `127.0.0.1:5060`, `[::1]:0`, `localhost:5060`.
    package static func parse(_ text: String) -> SocketAddress? {
        if text.hasPrefix("localhost:") { return SocketAddress("127.0.0.1:" + text.dropFirst("localhost:".count)) }
        return SocketAddress(text)
    }

    /// `udp:127.0.0.1:5060`.
    package static func parseListener(_ text: String) -> (transport: TransportProtocol, address: SocketAddress)? {
        guard let colon = text.firstIndex(of: ":"), let transport = TransportProtocol(rawValue: String(text[..<colon])),
            let address = parse(String(text[text.index(after: colon)...]))
        else { return nil }
        return (transport, address)
    }

    /// `10000-10100`.
    package static func parsePorts(_ text: String) -> ClosedRange<UInt16>? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let low = UInt16(parts[0]), let high = UInt16(parts[1]), low >= 1024, low < high else { return nil }
        return low...high
    }
}
