// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIPAgent

/// The names of a simulated world.
public struct DNSZone {
    private struct Key: Hashable {
        var name: String
        var type: DNSRecordType
    }

    private var records: [Key: [DNSRecord]] = [:]
    private var failing: [String: String] = [:]
    /// How long an answer takes.
    public var delay = Interval.milliseconds(10)

    public init() {}

    /// Adds an A or AAAA record.
    public mutating func addAddress(_ name: String, _ address: IPAddress, timeToLive: UInt32 = 300) {
        add(name, address.isV6 ? .aaaa : .a, DNSRecord(.address(address), timeToLive: timeToLive))
    }

    /// Adds a record of any kind.
    public mutating func add(_ name: String, _ type: DNSRecordType, _ record: DNSRecord) {
        records[Key(name: name.lowercased(), type: type), default: []].append(record)
    }

    /// Takes all records of a name out.
    public mutating func remove(_ name: String) {
        for type in [DNSRecordType.a, .aaaa, .srv, .naptr] { records[Key(name: name.lowercased(), type: type)] = nil }
    }

    /// Lets every question for `name` fail, in these words (SERVFAIL, time-out); nil: no longer.
    public mutating func fail(_ name: String, _ reason: String?) { failing[name.lowercased()] = reason }

    /// The answer to a question.
    public func answer(_ question: DNSQuestion) -> DNSAnswer {
        var name = question.name.lowercased()
        if name.hasSuffix(".") { name.removeLast() }
        if let reason = failing[name] { return DNSAnswer(question, .failed(reason)) }
        guard let found = records[Key(name: name, type: question.type)] else { return DNSAnswer(question, .none) }
        return DNSAnswer(question, .records(found))
    }
}
