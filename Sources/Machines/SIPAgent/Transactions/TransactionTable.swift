// SPDX-License-Identifier: Apache-2.0
//
// All live transactions: by number, by what messages carry, and their timers.

import Essentials
import SIP

/// Which of a transaction's two timers.
struct TransactionTimer {
    var slot: UInt32
    var number: UInt64
    var isLifetime: Bool
}

/// A class, so that reading it never copies its tables.
final class TransactionTable {
    private var slots: [Transaction?] = []
    private var freeSlots: [UInt32] = []
    private var lastNumber: UInt64 = 0
    private var clients: [ClientKey: Transaction] = [:]
    private var servers: [ServerKey: Transaction] = [:]
    private var merges: [MergeKey: TransactionID] = [:]
    private var pendingInvites: [IPAddress: Int] = [:]
    private(set) var clientCount = 0
    private(set) var serverCount = 0
    var timers = DeadlineQueue<TransactionTimer>()

    var count: Int { clientCount + serverCount }

    subscript(id: TransactionID) -> Transaction? { transaction(slot: id.slot, number: id.rawValue) }

    func transaction(slot: UInt32, number: UInt64) -> Transaction? {
        guard slot < UInt32(slots.count), let transaction = slots[Int(slot)], transaction.id.rawValue == number else { return nil }
        return transaction
    }

    func client(_ key: ClientKey) -> Transaction? { clients[key] }
    func server(_ key: ServerKey) -> Transaction? { servers[key] }
    func hasMerge(_ key: MergeKey) -> Bool { merges[key] != nil }

    /// Every transaction that fits, in order of creation.
    func all(where fits: (Transaction) -> Bool) -> [Transaction] {
        slots.compactMap { $0 }.filter(fits).sorted { $0.id < $1.id }
    }

    /// A number that is not in use, with its place reserved by the `insert` that follows.
    func makeID() -> TransactionID {
        lastNumber &+= 1
        if let slot = freeSlots.popLast() { return TransactionID(rawValue: lastNumber, slot: slot) }
        slots.append(nil)
        return TransactionID(rawValue: lastNumber, slot: UInt32(truncatingIfNeeded: slots.count - 1))
    }

    /// Gives back a number for which no transaction was inserted.
    func release(_ id: TransactionID) { freeSlots.append(id.slot) }

    func insert(_ transaction: Transaction) {
        slots[Int(transaction.id.slot)] = transaction
        if let key = transaction.clientKey { clients[key] = transaction }
        if let key = transaction.serverKey { servers[key] = transaction }
        if let key = transaction.mergeKey { merges[key] = transaction.id }
        if transaction.machine.isClient { clientCount += 1 } else { serverCount += 1 }
    }

    func remove(_ transaction: Transaction) {
        let slot = Int(transaction.id.slot)
        guard slots[slot] === transaction else { return }
        slots[slot] = nil
        freeSlots.append(transaction.id.slot)
        if let key = transaction.clientKey { clients[key] = nil }
        if let key = transaction.serverKey { servers[key] = nil }
        if let key = transaction.mergeKey, merges[key] == transaction.id { merges[key] = nil }
        if transaction.machine.isClient { clientCount -= 1 } else { serverCount -= 1 }
        stopCounting(transaction)
        apply(.cancel, to: &transaction.retransmissionTimer, transaction, isLifetime: false, .zero)
        apply(.cancel, to: &transaction.lifetimeTimer, transaction, isLifetime: true, .zero)
    }

    /// Carries out what a machine wants of its timers.
    func applyTimers(_ step: TransactionStep, to transaction: Transaction, now: MonotonicTime) {
        apply(step.retransmission, to: &transaction.retransmissionTimer, transaction, isLifetime: false, now)
        apply(step.lifetime, to: &transaction.lifetimeTimer, transaction, isLifetime: true, now)
    }

    private func apply(
        _ change: TimerChange, to handle: inout TimerHandle?, _ transaction: Transaction, isLifetime: Bool, _ now: MonotonicTime
    ) {
        switch change {
        case .keep: return
        case .cancel:
            if let armed = handle { timers.cancel(armed) }
            handle = nil
        case .arm(let interval):
            if let armed = handle { timers.cancel(armed) }
            let timer = TransactionTimer(slot: transaction.id.slot, number: transaction.id.rawValue, isLifetime: isLifetime)
            handle = timers.arm(now + interval, timer)
        }
    }

    // MARK: Unanswered INVITEs of a source

    func unansweredInvites(from source: IPAddress) -> Int { pendingInvites[source] ?? 0 }
    var invitingSourceCount: Int { pendingInvites.count }

    func count(_ transaction: Transaction, under source: IPAddress) {
        transaction.countedSource = source
        pendingInvites[source, default: 0] += 1
    }

    func stopCounting(_ transaction: Transaction) {
        guard let source = transaction.countedSource else { return }
        transaction.countedSource = nil
        guard let count = pendingInvites[source] else { return }
        pendingInvites[source] = count > 1 ? count - 1 : nil
    }
}
