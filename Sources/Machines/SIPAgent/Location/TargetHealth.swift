// SPDX-License-Identifier: Apache-2.0
//
// Which targets failed lately (RFC 3263 §4.3): they come after all others until their time is over, then they have their
// old place again.
//
//   fails ──► avoided until `end` ──(time)──► as before
//                └ answers ─────────────────► as before

import Essentials
import SIP

struct TargetHealth {
    private struct Entry {
        var transport: TransportProtocol
        var address: SocketAddress
        var end: MonotonicTime
    }

    private let limit: Int
    /// In order of their failure.
    private var entries: [Entry] = []

    init(limit: Int) { self.limit = limit }

    var isEmpty: Bool { entries.isEmpty }

    mutating func failed(_ target: SignallingTarget, until end: MonotonicTime) {
        succeeded(target)
        guard limit > 0 else { return }
        if entries.count >= limit { entries.removeFirst() }
        entries.append(Entry(transport: target.transport, address: target.address, end: end))
    }

    mutating func succeeded(_ target: SignallingTarget) {
        entries.removeAll { $0.transport == target.transport && $0.address == target.address }
    }

    /// Those that are well first, both halves in their order.
    mutating func ordered(_ targets: [SignallingTarget], now: MonotonicTime) -> [SignallingTarget] {
        entries.removeAll { $0.end <= now }
        guard !entries.isEmpty else { return targets }
        let isFailing = targets.map { target in
            entries.contains { $0.transport == target.transport && $0.address == target.address }
        }
        return zip(targets, isFailing).filter { !$0.1 }.map(\.0) + zip(targets, isFailing).filter(\.1).map(\.0)
    }

    mutating func clear() { entries = [] }
}
