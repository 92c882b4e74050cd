// SPDX-License-Identifier: Apache-2.0
//
// Reads the answer section of a DNS message (RFC 1035 §4; RFC 2782 SRV, RFC 3403 NAPTR, RFC 3596 AAAA). The library
// that asks does not keep the times to live of SRV and NAPTR records, so the octets are read here, each against the
// end of the message: a length that leads out of it makes the whole message unreadable (CVE-2023-27585 and its kind).
//
//      header (12) │ question: name type class │ answer: name type class TTL length data │ …

import Essentials
import SIPAgent

/// A cursor over one DNS message. Every read checks the end; what fails gives nil.
package struct DNSMessage {
    /// Records looked at in one answer.
    static let recordLimit = 256

    /// CNAME records that are followed in one answer.
    static let aliasLimit = 8

    private let bytes: [UInt8]
    private var position = 0

    /// The records of the wanted type at `name`, or where CNAME records lead from there, with the smallest time to live
    /// on the way; nil for a message that cannot be read.
    package static func records(in bytes: [UInt8], of type: DNSRecordType, named name: String) -> [DNSRecord]? {
        var message = DNSMessage(bytes: bytes)
        return message.records(of: type, named: name)
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private mutating func records(of wanted: DNSRecordType, named name: String) -> [DNSRecord]? {
        position = 4
        guard let questions = u16(), let answers = u16(), skip(4) else { return nil }
        for _ in 0..<questions {
            guard self.name() != nil, skip(4) else { return nil }
        }
        var owner = Self.folded(name)
        var aliases = 0
        var limit = UInt32.max
        var records: [DNSRecord] = []
        for _ in 0..<min(Int(answers), Self.recordLimit) {
            guard let at = self.name(), let type = u16(), let kind = u16(), let lifetime = u32(), let length = u16(),
                position + Int(length) <= bytes.count
            else { return nil }
            let end = position + Int(length)
            // RFC 2181 §8: a time to live with the top bit set is none.
            let timeToLive = lifetime >> 31 == 0 ? lifetime : 0
            if kind == 1, Self.folded(at) == owner {
                if type == 5, wanted.code != 5 {
                    guard let target = self.name(), position <= end else { return nil }
                    aliases += 1
                    guard aliases <= Self.aliasLimit else { return nil }
                    owner = Self.folded(target)
                    limit = min(limit, timeToLive)
                } else if type == wanted.code {
                    guard let value = value(wanted, end: end) else { return nil }
                    records.append(DNSRecord(value, timeToLive: min(limit, timeToLive)))
                }
            }
            position = end
        }
        return records
    }

    /// For how many seconds it holds that there are no such records (RFC 2308 §5): the smaller one of the SOA record's time
    /// to live and its MINIMUM; nil if the answer has no SOA record that can be read.
    package static func negativeTimeToLive(in bytes: [UInt8]) -> UInt32? {
        var message = DNSMessage(bytes: bytes)
        return message.negativeTimeToLive()
    }

    private mutating func negativeTimeToLive() -> UInt32? {
        position = 4
        guard let questions = u16(), let answers = u16(), let authorities = u16(), skip(2) else { return nil }
        for _ in 0..<questions {
            guard name() != nil, skip(4) else { return nil }
        }
        for index in 0..<min(Int(answers) + Int(authorities), Self.recordLimit) {
            guard name() != nil, let type = u16(), u16() != nil, let lifetime = u32(), let length = u16(),
                position + Int(length) <= bytes.count
            else { return nil }
            let end = position + Int(length)
            if index >= Int(answers), type == 6 {
                guard name() != nil, name() != nil, skip(16), let minimum = u32(), position == end else { return nil }
                return min(lifetime >> 31 == 0 ? lifetime : 0, minimum)
            }
            position = end
        }
        return nil
    }

    private mutating func value(_ type: DNSRecordType, end: Int) -> DNSRecord.Value? {
        var value: DNSRecord.Value?
        switch type {
        case .a, .aaaa:
            guard end - position == (type == .a ? 4 : 16) else { return nil }
            value = IPAddress(octets: bytes[position..<end]).map { .address($0) }
            position = end
        case .srv:
            guard let priority = u16(), let weight = u16(), let port = u16(), let target = name() else { return nil }
            value = .srv(priority: priority, weight: weight, port: port, target: target)
        case .naptr:
            guard let order = u16(), let preference = u16(), let flags = string(end), let service = string(end),
                string(end) != nil, let replacement = name()
            else { return nil }
            value = .naptr(
                order: order, preference: preference, flags: flags, service: service, replacement: replacement)
        }
        return position == end ? value : nil
    }

    // MARK: Elements

    private mutating func skip(_ count: Int) -> Bool {
        position += count
        return position <= bytes.count
    }

    private mutating func u8() -> UInt8? {
        guard position < bytes.count else { return nil }
        defer { position += 1 }
        return bytes[position]
    }

    private mutating func u16() -> UInt16? {
        guard let high = u8(), let low = u8() else { return nil }
        return UInt16(high) << 8 | UInt16(low)
    }

    private mutating func u32() -> UInt32? {
        guard let high = u16(), let low = u16() else { return nil }
        return UInt32(high) << 16 | UInt32(low)
    }

    /// A `<character-string>` (RFC 1035 §3.3) that ends by `end`.
    private mutating func string(_ end: Int) -> String? {
        guard let length = u8(), position + Int(length) <= end else { return nil }
        defer { position += Int(length) }
        return String(decoding: bytes[position..<position + Int(length)], as: UTF8.self)
    }

    /// A domain name (RFC 1035 §4.1.4) without the last dot. A pointer must lead backwards, so that no loop is possible.
    private mutating func name() -> String? {
        var text: [UInt8] = []
        var cursor = position
        var floor = position
        var after: Int?
        while true {
            guard cursor < bytes.count else { return nil }
            let length = Int(bytes[cursor])
            switch length >> 6 {
            case 0:
                guard cursor + 1 + length <= bytes.count else { return nil }
                if length == 0 {
                    position = after ?? cursor + 1
                    return String(decoding: text, as: UTF8.self)
                }
                if !text.isEmpty { text.append(UInt8(ascii: ".")) }
                text.append(contentsOf: bytes[cursor + 1...cursor + length])
                guard text.count <= 255 else { return nil }
                cursor += 1 + length
            case 3:
                guard cursor + 1 < bytes.count else { return nil }
                let target = (length & 63) << 8 | Int(bytes[cursor + 1])
                guard target < floor else { return nil }
                if after == nil { after = cursor + 2 }
                floor = target
                cursor = target
            default: return nil
            }
        }
    }

    /// Names compare without case (RFC 4343), with or without the last dot.
    static func folded(_ name: some StringProtocol) -> String {
        var folded = name.lowercased()
        if folded.last == "." { folded.removeLast() }
        return folded
    }
}

extension DNSRecordType {
    /// The TYPE of RFC 1035 §3.2.2 and later.
    var code: UInt16 {
        switch self {
        case .a: 1
        case .aaaa: 28
        case .srv: 33
        case .naptr: 35
        }
    }
}
