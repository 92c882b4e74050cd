// SPDX-License-Identifier: Apache-2.0
//
// Answers of the name service with their time to live, capped from above; negative answers (RFC 2308) for a short time.

import Essentials

struct AnswerCache {
    struct Key: Hashable {
        var name: String
        var type: DNSRecordType
    }

    private struct Entry {
        var result: DNSResult
        var end: MonotonicTime
        var serial: UInt64
    }

    private let configuration: LocationConfiguration
    private var entries: [Key: Entry] = [:]
    private var serial: UInt64 = 0

    init(_ configuration: LocationConfiguration) { self.configuration = configuration }

    var count: Int { entries.count }

    func result(_ key: Key, now: MonotonicTime) -> DNSResult? {
        guard let entry = entries[key], entry.end > now else { return nil }
        return entry.result
    }

    /// Keeps an answer; true if another one had to go.
    mutating func keep(_ key: Key, _ result: DNSResult, now: MonotonicTime) -> Bool {
        let life: Interval
        switch result {
        case .records(let records):
            let shortest = records.map(\.timeToLive).min() ?? 0
            life = min(.seconds(Int64(shortest)), configuration.longestPositive)
        case .absent(_, let seconds?): life = min(.seconds(Int64(seconds)), configuration.longestNegative)
        case .absent(_, nil): life = configuration.negative
        case .failed: life = key.type == .naptr ? configuration.failedNAPTR : configuration.failed
        }
        guard life > .zero, configuration.cachedAnswers > 0 else {
            entries[key] = nil
            return false
        }
        var evicted = false
        if entries[key] == nil, entries.count >= configuration.cachedAnswers {
            // The serial makes the choice one, in whatever order the dictionary is walked.
            if let first = entries.min(by: { ($0.value.end, $0.value.serial) < ($1.value.end, $1.value.serial) }) {
                entries[first.key] = nil
                evicted = true
            }
        }
        serial &+= 1
        entries[key] = Entry(result: result, end: now + life, serial: serial)
        return evicted
    }

    mutating func clear() { entries = [:] }
}
