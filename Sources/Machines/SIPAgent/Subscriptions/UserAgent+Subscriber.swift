// SPDX-License-Identifier: Apache-2.0
//
// Others who subscribe to the state of our lines (RFC 6665 §4.2, RFC 4235), if the account allows it:
//
//   SUBSCRIBE ─► 403, 423, 489, 503 │ 200 ─stateWanted─► notify ─► NOTIFY active
//                                       │ SUBSCRIBE in the dialog ─► 200, NOTIFY; Expires 0 ─► NOTIFY terminated
//                                       │ its time is over, or it answers 481 or nothing ─► gone

import Essentials
import SIP

final class Subscriber {
    let id: SubscriberID
    let account: AccountID
    let event: EventType
    var dialog: Dialog
    var expiresAt: MonotonicTime
    /// A NOTIFY has no answer yet; another one waits for that.
    var isNotifying = false
    var isChanged = false
    /// The next NOTIFY is the last one.
    var reason: SubscriptionState.Reason?

    init(id: SubscriberID, account: AccountID, event: EventType, dialog: Dialog, expiresAt: MonotonicTime) {
        self.id = id
        self.account = account
        self.event = event
        self.dialog = dialog
        self.expiresAt = expiresAt
    }
}

extension UserAgent {
    /// Seconds that a subscription to us may last, and should at least.
    private static let subscriberTimes = 60...3600

    func handleSubscribe(
        _ request: SIPMessage, _ transaction: TransactionID, _ source: MessageSource, hasTag: Bool, now: MonotonicTime
    ) {
        guard let event = request.event, event.package == EventType.dialog.package else {
            counters.increment(.badEvent)
            refuse(request, transaction, 489, [(.allowEvents, EventType.dialog.package)], now: now)
            return
        }
        if hasTag {
            refreshSubscriber(request, event, transaction, source, now: now)
            return
        }
        guard let account = account(for: request, source: source), account.configuration.allowsDialogSubscriptions, life == .running,
            isServer(source) || account.configuration.directCalls == .accept
        else {
            counters.increment(.subscriberRefused)
            refuse(request, transaction, 403, now: now)
            return
        }
        let accepted = request.accept ?? []
        guard accepted.isEmpty || accepted.contains(where: { $0.includes(MediaType("application", "dialog-info+xml")) }) else {
            counters.increment(.notAcceptable)
            refuse(request, transaction, 406, now: now)
            return
        }
        guard let expires = subscriberTime(request, transaction, now: now) else { return }
        guard subscriptions.subscribers.count < configuration.maximumSubscribers else {
            counters.increment(.subscriberLimit)
            refuse(request, transaction, 503, [(.retryAfter, "\(random.integer(in: 60...120))")], now: now)
            return
        }
        subscriptions.lastSubscriber &+= 1
        let id = SubscriberID(rawValue: subscriptions.lastSubscriber)
        var dialog = Dialog(request: request, localTag: random.token(10), source: source)
        dialog.isEarly = false
        let subscriber = Subscriber(id: id, account: account.id, event: event, dialog: dialog, expiresAt: now)
        subscriptions.subscribers[id] = subscriber
        subscriptions.subscriberKeys[dialog.id] = id
        counters.increment(.subscribers)
        grant(subscriber, request, transaction, source, expires: expires, now: now)
    }

    private func refreshSubscriber(
        _ request: SIPMessage, _ event: EventType, _ transaction: TransactionID, _ source: MessageSource, now: MonotonicTime
    ) {
        let key = DialogID(callID: request.callID, localTag: request.toTag, remoteTag: request.fromTag)
        guard let subscriber = subscriptions.subscriberKeys[key].flatMap({ subscriptions.subscribers[$0] }), subscriber.reason == nil,
            subscriber.event.matches(event)
        else {
            counters.increment(.unknownDialog)
            refuse(request, transaction, 481, now: now)
            return
        }
        guard subscriber.dialog.accept(sequence: request.cseqNumber) else {
            counters.increment(.lowSequence)
            refuse(request, transaction, 500, now: now)
            return
        }
        guard let expires = subscriberTime(request, transaction, now: now) else { return }
        subscriber.dialog.refreshTarget(from: request)
        subscriber.dialog.source = source
        grant(subscriber, request, transaction, source, expires: expires, now: now)
    }

    /// The time that is granted; nil: too short, and refused.
    private func subscriberTime(_ request: SIPMessage, _ transaction: TransactionID, now: MonotonicTime) -> Int? {
        let asked = request.expires.map { Int($0) } ?? Self.subscriberTimes.upperBound
        if asked > 0, asked < Self.subscriberTimes.lowerBound {
            refuse(request, transaction, 423, [(.minExpires, "\(Self.subscriberTimes.lowerBound)")], now: now)
            return nil
        }
        return min(asked, Self.subscriberTimes.upperBound)
    }

    private func grant(
        _ subscriber: Subscriber, _ request: SIPMessage, _ transaction: TransactionID, _ source: MessageSource, expires: Int,
        now: MonotonicTime
    ) {
        var response = request.makeResponse(status: 200, toTag: subscriber.dialog.id.localTag)
        response.copy(.recordRoute, of: request)
        response.add(
            .contact, "<\(dialogContact(accounts[subscriber.account], contactURI(account: accounts[subscriber.account], source: source)))>")
        response.add(.expires, "\(expires)")
        stack.respond(transaction, response, now: now)
        subscriber.expiresAt = now + .seconds(Int64(expires))
        if expires == 0 { subscriber.reason = .timeout }
        timers.arm(.event(.subscriber(subscriber.id)), at: expires == 0 ? now + configuration.stack.times.timeout : subscriber.expiresAt)
        want(subscriber)
    }

    private func want(_ subscriber: Subscriber) {
        if subscriber.isNotifying { subscriber.isChanged = true } else { emit(.event(.stateWanted(subscriber.id, subscriber.account))) }
    }

    /// Tells a subscriber the state. While an earlier NOTIFY has no answer, `stateWanted` comes again after that.
    public func notify(_ id: SubscriberID, body: [UInt8], type: String, now: MonotonicTime) {
        guard let subscriber = subscriptions.subscribers[id] else { return }
        guard !subscriber.isNotifying else {
            subscriber.isChanged = true
            return
        }
        send(subscriber, body: body, type: type, now: now)
        pump(now)
    }

    /// Whether a notification would be sent at once.
    public func canNotify(_ id: SubscriberID) -> Bool { subscriptions.subscribers[id].map { !$0.isNotifying } ?? false }

    private func send(_ subscriber: Subscriber, body: [UInt8], type: String, now: MonotonicTime) {
        subscriber.isNotifying = true
        subscriber.isChanged = false
        let (message, uri) = subscriber.dialog.makeRequest(.notify)
        let dialog = subscriber.dialog
        let request = ClientRequest(
            .event(.notify(subscriber.id)), account: subscriber.account, method: .notify, message: message,
            sequence: dialog.localSequence, nextHop: dialog.nextHop, contact: .dialog, requestURI: uri, source: dialog.source)
        request.message.add(.event, subscriber.event.description)
        let left = max(Int((subscriber.expiresAt - now).seconds.rounded(.up)), 1)
        let state =
            subscriber.reason.map { SubscriptionState(.terminated, reason: $0) }
            ?? SubscriptionState(.active, expires: UInt32(clamping: left))
        request.message.add(.subscriptionState, state.description)
        request.message.setBody(body, type: type)
        start(request, now: now)
    }

    func handleNotifyOutcome(_ outcome: RequestOutcome, _ id: SubscriberID, now: MonotonicTime) {
        guard let subscriber = subscriptions.subscribers[id] else { return }
        subscriber.isNotifying = false
        var isTaken = false
        if case .response(let response, _, let source) = outcome, response.statusCode < 300 {
            subscriber.dialog.source = source
            isTaken = true
        }
        if !isTaken {
            counters.increment(.subscriberLost)
            forget(subscriber)
        } else if subscriber.isChanged {
            subscriber.isChanged = false
            emit(.event(.stateWanted(id, subscriber.account)))
        } else if subscriber.reason != nil {
            forget(subscriber)
        }
    }

    /// Its time is over.
    func subscriberExpired(_ id: SubscriberID, now: MonotonicTime) {
        guard let subscriber = subscriptions.subscribers[id] else { return }
        if subscriber.reason == nil { endSubscriber(subscriber, .timeout, now: now) } else { forget(subscriber) }
    }

    func endSubscriber(_ subscriber: Subscriber, _ reason: SubscriptionState.Reason, now: MonotonicTime) {
        subscriber.reason = reason
        if subscriber.isNotifying {
            forget(subscriber)
        } else {
            timers.arm(.event(.subscriber(subscriber.id)), at: now + configuration.stack.times.timeout)
            send(subscriber, body: [], type: "", now: now)
        }
    }

    private func forget(_ subscriber: Subscriber) {
        timers.cancel(.event(.subscriber(subscriber.id)))
        subscriptions.subscribers[subscriber.id] = nil
        subscriptions.subscriberKeys[subscriber.dialog.id] = nil
        emit(.event(.subscriberEnded(subscriber.id)))
    }
}
