// SPDX-License-Identifier: Apache-2.0
//
// Messages, subscriptions and published state: what `message` and `subscribe` do, the control lines, and what is printed.

import Essentials
import EventPackages
import Handset
import PhoneCore
import SIPAgent

/// What a session remembers of them.
struct Notifications {
    /// As it was typed, and what was subscribed to.
    var subscriptions: [SubscriptionID: (target: String, package: EventPackage)] = [:]
    var messages: [MessageID: String] = [:]
    /// A subscription is or was there.
    var hasSubscribed = false
    /// A message may fail before its number is known here.
    var lastAnswered: MessageID?
    /// For the subscription or message whose first event is about to come.
    var target = ""
    var package = EventPackage.mwi
    /// Whose state is published, and whose first event is about to come.
    var publishers: [PublicationID: String] = [:]
    var publisher = ""
}

extension PhoneSession {
    /// Sends the message of `handset message`.
    func sendFirst(_ text: String, to target: String) throws {
        guard let phone else { return }
        try post(text, to: target, from: lines.account, phone)
    }

    /// Makes the subscription of `handset subscribe`.
    func subscribeFirst(to target: String?, _ package: EventPackage, expires: Int) throws {
        guard let phone else { return }
        try subscribe(to: target, package, expires: expires, from: lines.account, phone)
    }

    private func post(_ text: String, to target: String, from account: Account?, _ phone: Phone) throws {
        notifications.target = target
        let id = try phone.assumeIsolated { try $0.post(from: account, to: target, text: text) }
        if notifications.lastAnswered != id { notifications.messages[id] = target }
    }

    private func subscribe(
        to target: String?, _ package: EventPackage, expires: Int, from account: Account?, _ phone: Phone
    ) throws {
        notifications.target = target ?? account.map { "\($0.configuration.addressOfRecord)" } ?? ""
        notifications.package = package
        _ = try phone.assumeIsolated { try $0.subscribe(from: account, to: target, package, expires: expires) }
    }

    /// Carries out the control lines of messages, subscriptions and presence.
    func correspond(_ command: ControlCommand, _ id: CallID?, _ phone: Phone) throws {
        switch command.action {
        case .message(let target?, let text): try post(text, to: target, from: account(command.account), phone)
        case .message(nil, let text):
            guard let id else { throw PhoneError(.noSuchCall, "There is no such call.") }
            notifications.target = shown[id]?.remote ?? ""
            _ = try phone.assumeIsolated { try $0.post(on: id, text: text) }
        case .subscribe(let target, let package, let expires):
            try subscribe(to: target, EventPackage(rawValue: package) ?? .presence, expires: expires, from: account(command.account), phone)
        case .unsubscribe(let target, let package):
            let known = notifications.subscriptions.filter { $0.value.target == target && $0.value.package.rawValue == package }
            guard !known.isEmpty else { throw PhoneError(.wrongState, "There is no such subscription.") }
            for id in known.keys.sorted() { phone.assumeIsolated { $0.unsubscribe(id) } }
        case .publish(let status, let note):
            guard let account = try account(command.account) else { throw PhoneError(.noSuchAccount, "Presence needs an account.") }
            notifications.publisher = "\(account.configuration.addressOfRecord)"
            try phone.assumeIsolated {
                if status == "off" {
                    try $0.unpublish(account.id)
                } else {
                    try $0.publish(account.id, isOpen: status == "open", note: note)
                }
            }
        default: break
        }
    }

    // MARK: Events

    func notification(_ event: PhoneEvent) {
        switch event {
        case .subscription(let id, let event): subscription(id, event)
        case .messageWaiting(let id, let summary): print(.messageWaiting(account: lines.name(id) ?? "", summary))
        case .publication(let id, let status):
            let account = notifications.publishers[id] ?? notifications.publisher
            notifications.publishers[id] = account
            print(.publication(account: account, .init(status)))
        case .message(.received(let text)):
            print(
                .message(
                    .init(
                        from: "\(text.from.uri)", name: text.from.displayName, text: text.text, call: text.call.flatMap(reference),
                        account: lines.names.count > 1 ? text.account.flatMap(lines.name) : nil)))
        case .message(.answered(let id, let delivery)): answered(id, delivery)
        default: break
        }
    }

    private func print(_ event: NotificationEvent) { context.events.print(.notification(event)) }

    private func subscription(_ id: SubscriptionID, _ event: SubscriptionEvent) {
        let known = notifications.subscriptions[id] ?? (notifications.target, notifications.package)
        notifications.subscriptions[id] = known
        switch event {
        case .status(let status):
            print(.subscription(target: known.target, package: known.package.rawValue, .init(status)))
            if case .active = status { notifications.hasSubscribed = true }
            guard case .ended(let cause) = status else { return }
            notifications.subscriptions[id] = nil
            guard context.invocation.subcommand == .subscribe else { return }
            let isDone = ["subscription.fetched", "subscription.invariant", "subscription.ended"].contains(cause.code)
            finish(isDone ? .completed : .failed(cause.sentence))
        case .messageSummary(let summary): print(.messageWaiting(account: known.target, summary))
        case .dialogs(let table): print(.dialogs(target: known.target, table))
        case .presence(let presence): print(.presence(target: known.target, presence))
        case .unreadable(let cause): warn(nil, cause)
        }
    }

    private func answered(_ id: MessageID, _ delivery: MessageDelivery) {
        let target = notifications.messages.removeValue(forKey: id) ?? notifications.target
        notifications.lastAnswered = id
        let isAll = context.invocation.subcommand == .message
        switch delivery {
        case .delivered:
            print(.messageSent(to: target, state: "delivered", nil))
            if isAll { finish(.completed) }
        case .accepted:
            print(.messageSent(to: target, state: "accepted", nil))
            if isAll { finish(.completed) }
        case .failed(let cause):
            print(.messageSent(to: target, state: "failed", cause))
            if isAll { finish(.failed(cause.sentence)) }
        }
    }
}

extension NotificationEvent.Status {
    init(_ status: SubscriptionStatus) {
        switch status {
        case .subscribing: self.init(status.name)
        case .pending(let expires), .active(let expires): self.init(status.name, expires: expires)
        case .retrying(let cause, let after): self.init(status.name, retry: after.seconds, cause: cause)
        case .ended(let cause): self.init(status.name, cause: cause)
        }
    }

    init(_ status: PublicationStatus) {
        switch status {
        case .publishing: self.init(status.name)
        case .published(let expires): self.init(status.name, expires: expires)
        case .retrying(let cause, let after): self.init(status.name, retry: after.seconds, cause: cause)
        case .ended(let cause): self.init(status.name, cause: cause)
        }
    }
}
