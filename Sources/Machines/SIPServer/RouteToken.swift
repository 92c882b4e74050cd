// SPDX-License-Identifier: Apache-2.0
//
// What the proxy writes into the user part of its Record-Route, so that requests inside a dialog find their way
// without the proxy keeping the dialog (the idea of the flow token of RFC 5626 §5.2).
//
//   caller ──INVITE──▶ proxy ──▶ callee      Record-Route: <sip:TOKEN@proxy;lr>
//   TOKEN = caller's tag, [caller's flow], [callee's flow], seal
//
// The seal keeps the proxy from relaying what it never saw begin; the flows are there only for sides that their
// Contact does not reach: behind a NAT, or on a connection that they opened.

import Crypto
import Essentials
import SIP
import SIPAgent

struct RouteToken: Equatable {
    /// One side, as the proxy reaches it.
    struct Side: Equatable {
        var transport: TransportProtocol
        var address: SocketAddress
        var flow: UInt64
        /// The hash of host and port of the Contact that this stands for: after a target refresh to another address
        /// the new Contact counts.
        var contact: UInt32
        /// Whether the device had registered over this flow, so that another registration of it tells where it went.
        var isRegistered: Bool

        var target: SignallingTarget {
            SignallingTarget(transport: transport, address: address, name: nil, flow: FlowID(rawValue: flow))
        }
    }

    /// The hash of the tag of the one who began the dialog: tells which way a request goes.
    var callerTag: UInt32
    var caller: Side?
    var callee: Side?

    static let sealLength = 8

    /// The token as a user part: lower-case hexadecimal.
    func text(callID: String, key: [UInt8], _ cryptography: any Cryptography) -> String {
        let body = octets
        return hexadecimal(body + Self.seal(body, callID: callID, key: key, cryptography))
    }

    /// Reads a token that this proxy made for a dialog of that Call-ID; nil for anything else.
    init?(_ text: String, callID: String, key: [UInt8], _ cryptography: any Cryptography) {
        guard let bytes = Self.octets(text), bytes.count >= 5 + Self.sealLength else { return nil }
        let body = Array(bytes.dropLast(Self.sealLength))
        guard Array(bytes.suffix(Self.sealLength)) == Self.seal(body, callID: callID, key: key, cryptography) else {
            return nil
        }
        var reader = Reader(bytes: body)
        guard let flags = reader.number(1), let tag = reader.number(4) else { return nil }
        callerTag = UInt32(truncatingIfNeeded: tag)
        if flags & 1 != 0 {
            guard let side = reader.side() else { return nil }
            caller = side
        }
        if flags & 2 != 0 {
            guard let side = reader.side() else { return nil }
            callee = side
        }
    }

    init(callerTag: UInt32, caller: Side?, callee: Side?) {
        self.callerTag = callerTag
        self.caller = caller
        self.callee = callee
    }

    private static func seal(
        _ body: [UInt8], callID: String, key: [UInt8], _ cryptography: any Cryptography
    ) -> [UInt8] {
        Array(cryptography.hash(.sha256, key + body + Array(callID.utf8) + key).prefix(sealLength))
    }

    private var octets: [UInt8] {
        var bytes: [UInt8] = [(caller == nil ? 0 : 1) | (callee == nil ? 0 : 2)]
        func put(_ value: UInt64, _ count: Int) {
            for index in (0..<count).reversed() { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * UInt64(index)))) }
        }
        put(UInt64(callerTag), 4)
        for side in [caller, callee] {
            guard let side else { continue }
            put(UInt64(TransportProtocol.allCases.firstIndex(of: side.transport) ?? 0) | (side.isRegistered ? 0x80 : 0), 1)
            put(side.flow, 8)
            put(UInt64(side.contact), 4)
            put(UInt64(side.address.port), 2)
            put(side.address.ip.isV6 ? 16 : 4, 1)
            bytes += side.address.ip.octets
        }
        return bytes
    }

    private struct Reader {
        var bytes: [UInt8]
        var position = 0

        mutating func number(_ count: Int) -> UInt64? {
            guard let part = take(count) else { return nil }
            return part.reduce(0) { $0 << 8 | UInt64($1) }
        }

        mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
            guard bytes.count - position >= count else { return nil }
            position += count
            return bytes[(position - count)..<position]
        }

        mutating func side() -> Side? {
            guard let first = number(1), case let kind = first & 0x7f, kind < UInt64(TransportProtocol.allCases.count),
                let flow = number(8),
                let contact = number(4), let port = number(2), let length = number(1), length <= 16,
                let octets = take(Int(length)), let ip = IPAddress(octets: octets)
            else { return nil }
            return Side(
                transport: TransportProtocol.allCases[Int(kind)],
                address: SocketAddress(ip, UInt16(truncatingIfNeeded: port)), flow: flow,
                contact: UInt32(truncatingIfNeeded: contact), isRegistered: first & 0x80 != 0)
        }
    }

    private static func octets(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count % 2 == 0, digits.count <= 512 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = hexDigitValue(digits[index]), let low = hexDigitValue(digits[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    /// FNV-1a of a text, 32 bits: not a secret, only a short form.
    static func hash(_ text: String) -> UInt32 {
        text.utf8.reduce(2_166_136_261) { ($0 ^ UInt32($1)) &* 16_777_619 }
    }

    /// The hash of the place that a URI names.
    static func hash(_ uri: SIPURI) -> UInt32 { hash("\(uri.host):\(uri.port ?? 0)") }
}
