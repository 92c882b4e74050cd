// SPDX-License-Identifier: Apache-2.0
//
// Subscriptions, messages and presence at the face.

import EventPackages
import PhoneCore
import SIPAgent

/// A subscription: to waiting messages, to the calls of a line, to somebody's presence.
///
///     let lamp = try await account.subscribe(to: "1002", .dialog)
///     for await event in lamp.events { if case .dialogs(let line) = event { show(line.isBusy) } }
public final class Subscription: Sendable {
    public let id: SubscriptionID
    public let package: EventPackage
    let phone: Phone
    let channel = EventChannel<SubscriptionEvent>()

    init(id: SubscriptionID, package: EventPackage, phone: Phone) {
        self.id = id
        self.package = package
        self.phone = phone
    }

    /// What happens on the subscription (the first sequence made begins with the events so far); ends with it.
    public var events: AsyncStream<SubscriptionEvent> { channel.stream() }

    /// Ends the subscription; `.status(.ended)` is its last event.
    public func unsubscribe() async { await phone.unsubscribe(id) }
}

/// What the phone keeps for subscriptions and messages.
struct Correspondence {
    var subscriptions: [SubscriptionID: Subscription] = [:]
    var waiters: [MessageID: CheckedContinuation<MessageDelivery, Never>] = [:]

    mutating func send(_ event: SubscriptionEvent, to id: SubscriptionID) {
        subscriptions[id]?.channel.send(event)
        if case .status(.ended) = event { subscriptions.removeValue(forKey: id)?.channel.finish() }
    }

    mutating func answer(_ id: MessageID, _ delivery: MessageDelivery) { waiters.removeValue(forKey: id)?.resume(returning: delivery) }

    /// The phone has stopped.
    mutating func finish() {
        for subscription in subscriptions.values { subscription.channel.finish() }
        subscriptions = [:]
        for waiter in waiters.values { waiter.resume(returning: .failed(.messageAbandoned)) }
        waiters = [:]
    }
}

extension Phone {
    /// The messages that come in (the first sequence made begins with those so far: `keepsForFirstReader`).
    public nonisolated var messages: AsyncStream<ReceivedText> { texts.stream() }

    /// Subscribes; `account` nil: directly, without a server.
    ///
    /// - Parameters:
    ///   - target: a number or name at the account's domain, or a full URI; nil: the account's own mailbox or address.
    ///   - expires: seconds to ask for; 0 fetches the state once.
    public func subscribe(
        from account: Account?, to target: String?, _ package: EventPackage, expires: Int = 3600
    ) throws(PhoneError) -> Subscription {
        let id = try core.subscribe(from: account?.id, to: target, package, expires: expires, now: loop.now)
        let subscription = Subscription(id: id, package: package, phone: self)
        correspondence.subscriptions[id] = subscription
        drain()
        return subscription
    }

    /// Ends a subscription; one that is over is left alone.
    public func unsubscribe(_ id: SubscriptionID) {
        core.unsubscribe(id, now: loop.now)
        drain()
    }

    /// Sends a text and does not wait: `PhoneEvent.message` tells what became of it.
    public func post(from account: Account?, to target: String, text: String) throws(PhoneError) -> MessageID {
        defer { drain() }
        return try core.sendMessage(from: account?.id, to: target, text: text, now: loop.now)
    }

    /// Sends a text within a call and does not wait.
    public func post(on call: CallID, text: String) throws(PhoneError) -> MessageID {
        defer { drain() }
        return try core.sendMessage(on: call, text: text, now: loop.now)
    }

    /// Sends a text and waits for its fate; `account` nil: directly, without a server.
    public func sendMessage(from account: Account?, to target: String, text: String) async throws(PhoneError) -> MessageDelivery {
        let id = try core.sendMessage(from: account?.id, to: target, text: text, now: loop.now)
        return await fate(of: id)
    }

    /// Sends a text within an established call and waits for its fate.
    public func sendMessage(on call: CallID, text: String) async throws(PhoneError) -> MessageDelivery {
        let id = try core.sendMessage(on: call, text: text, now: loop.now)
        return await fate(of: id)
    }

    /// What the machine said stands in its effects: the waiter is in the book before they are drained.
    private func fate(of id: MessageID) async -> MessageDelivery {
        await withCheckedContinuation { waiter in
            correspondence.waiters[id] = waiter
            drain()
        }
    }

    public func publish(
        _ account: AccountID, isOpen: Bool, note: String? = nil, activities: [String] = [], expires: Int = 3600
    ) throws(PhoneError) {
        defer { drain() }
        try core.publish(account, isOpen: isOpen, note: note, activities: activities, expires: expires, now: loop.now)
    }

    public func unpublish(_ account: AccountID) throws(PhoneError) {
        defer { drain() }
        try core.unpublish(account, now: loop.now)
    }
}

extension Account {
    /// Subscribes as this account; see `Phone.subscribe`.
    public func subscribe(to target: String? = nil, _ package: EventPackage, expires: Int = 3600) async throws(PhoneError) -> Subscription {
        try await phone.subscribe(from: self, to: target, package, expires: expires)
    }

    /// Sends a text to a number or name at the account's domain, or to a full URI; gives what became of it.
    public func sendMessage(_ text: String, to target: String) async throws(PhoneError) -> MessageDelivery {
        try await phone.sendMessage(from: self, to: target, text: text)
    }

    /// Publishes the account's presence, and keeps it published until `unpublish`.
    public func publish(isOpen: Bool, note: String? = nil, activities: [String] = []) async throws(PhoneError) {
        try await phone.publish(id, isOpen: isOpen, note: note, activities: activities)
    }

    /// Takes the published presence back.
    public func unpublish() async throws(PhoneError) { try await phone.unpublish(id) }
}

extension Call {
    /// Sends a text within the call; gives what became of it.
    public func sendMessage(_ text: String) async throws(PhoneError) -> MessageDelivery {
        try await phone.sendMessage(on: id, text: text)
    }
}
