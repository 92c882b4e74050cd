// SPDX-License-Identifier: Apache-2.0
//
// The zone as a name server: the octets of a question (RFC 1035 §4) in, those of the answer out. Whoever has a UDP
// socket can serve a zone with it to a program that takes `--dns HOST:PORT`.
//
//      header (12) │ question │ answers: pointer to the name, type, class, TTL, length, data │ SOA where there are none

import Essentials
import SIPAgent

extension DNSZone {
    /// The answer to a question in octets; nil for what is no question that can be answered.
    public func answer(octets query: [UInt8]) -> [UInt8]? {
        guard query.count >= 12, query[2] & 0x80 == 0, query[4] == 0, query[5] == 1 else { return nil }
        var labels: [String] = []
        var end = 12
        while end < query.count, query[end] != 0 {
            let length = Int(query[end])
            guard length < 64, end + 1 + length < query.count else { return nil }
            labels.append(String(decoding: query[(end + 1)...(end + length)], as: UTF8.self))
            end += 1 + length
        }
        guard end + 5 <= query.count else { return nil }
        let code = UInt16(query[end + 1]) << 8 | UInt16(query[end + 2])
        let types: [(UInt16, DNSRecordType)] = [(1, .a), (28, .aaaa), (33, .srv), (35, .naptr)]
        let type = types.first { $0.0 == code }?.1
        let result = type.map { answer(DNSQuestion(id: 0, name: labels.joined(separator: "."), type: $0)).result } ?? DNSResult.none
        var status: UInt8 = 0
        var answers: [[UInt8]] = []
        var authority: [[UInt8]] = []
        switch result {
        case .records(let records): answers = records.map { Self.record(code, $0.timeToLive, Self.data($0.value)) }
        case .absent(let nameExists, let timeToLive):
            status = nameExists ? 0 : 3
            let seconds = timeToLive ?? 0
            authority = [Self.record(6, seconds, [UInt8](repeating: 0, count: 18) + Self.u32(seconds))]
        case .failed: status = 2
        }
        // An authoritative answer; recursion as it was desired.
        var octets = Array(query[0..<2])
        octets += [0x84 | query[2] & 1, status]
        octets += Self.u16(1) + Self.u16(UInt16(truncatingIfNeeded: answers.count))
        octets += Self.u16(UInt16(truncatingIfNeeded: authority.count)) + [0, 0]
        octets += query[12..<(end + 5)]
        for record in answers + authority { octets += record }
        return octets
    }

    private static func record(_ code: UInt16, _ timeToLive: UInt32, _ data: [UInt8]) -> [UInt8] {
        [0xc0, 12] + u16(code) + u16(1) + u32(timeToLive) + u16(UInt16(truncatingIfNeeded: data.count)) + data
    }

    private static func data(_ value: DNSRecord.Value) -> [UInt8] {
        switch value {
        case .address(let address): return address.octets
        case .srv(let priority, let weight, let port, let target):
            return u16(priority) + u16(weight) + u16(port) + name(target)
        case .naptr(let order, let preference, let flags, let service, let replacement):
            let head = u16(order) + u16(preference)
            return head + string(flags) + string(service) + string("") + name(replacement)
        }
    }

    private static func name(_ text: String) -> [UInt8] {
        var octets: [UInt8] = []
        for label in text.split(separator: ".") { octets += string(String(label)) }
        return octets + [0]
    }

    private static func string(_ text: String) -> [UInt8] {
        let octets = Array(text.utf8.prefix(63))
        return [UInt8(octets.count)] + octets
    }

    private static func u16(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 255)] }
    private static func u32(_ value: UInt32) -> [UInt8] { u16(UInt16(value >> 16)) + u16(UInt16(value & 0xffff)) }
}
