// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIPAgent

/// The names of a simulated world.
public struct DNSZone: Sendable {
    private struct Key: Hashable {
        var name: String
        var type: DNSRecordType
    }

    private var records: [Key: [DNSRecord]] = [:]
    private var failing: [String: String] = [:]
    /// How long an answer takes.
    public var delay = Interval.milliseconds(10)
    /// For how many seconds it holds that something is not there (RFC 2308).
    public var negativeTimeToLive: UInt32 = 30

    public init() {}

    /// Adds an A or AAAA record.
    public mutating func addAddress(_ name: String, _ address: IPAddress, timeToLive: UInt32 = 300) {
        add(name, address.isV6 ? .aaaa : .a, DNSRecord(.address(address), timeToLive: timeToLive))
    }

    /// Adds a record of any kind.
    public mutating func add(_ name: String, _ type: DNSRecordType, _ record: DNSRecord) {
        records[Key(name: name.lowercased(), type: type), default: []].append(record)
    }

    /// Adds an SRV record (RFC 2782).
    public mutating func addService(
        _ name: String, priority: UInt16 = 10, weight: UInt16 = 10, port: UInt16, target: String, timeToLive: UInt32 = 300
    ) {
        add(name, .srv, DNSRecord(.srv(priority: priority, weight: weight, port: port, target: target), timeToLive: timeToLive))
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
        guard let found = records[Key(name: name, type: question.type)] else {
            return DNSAnswer(question, .absent(nameExists: exists(name), timeToLive: negativeTimeToLive))
        }
        return DNSAnswer(question, .records(found))
    }

    /// Whether there is anything at a name, or below it.
    private func exists(_ name: String) -> Bool {
        records.keys.contains { $0.name == name || $0.name.hasSuffix("." + name) }
    }
}
