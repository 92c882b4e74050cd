// SPDX-License-Identifier: Apache-2.0
//
// NOTIFY that comes in (RFC 6665 §4.1.3), and where each request of the event framework goes:
//
//   NOTIFY  of a subscription of ours (Call-ID, our tag, package, id; B-068) ─► that subscription
//           Event: refer ─► UserAgent+Refer
//           message-summary from the account's server, unasked ─► 200, if the account takes it (B-069)
//           another package ─► 489; none of these ─► 481
//   MESSAGE within a call's dialog ─► the dialog; outside ─► UserAgent+Message
//   SUBSCRIBE ─► UserAgent+Subscriber

import Essentials
import SIP

extension UserAgent {
    /// The packages that we understand as a subscriber.
    static let eventPackages = "message-summary, dialog, presence, refer"

    /// Takes a NOTIFY, SUBSCRIBE or MESSAGE; false: it belongs to the dialogs of calls.
    func handleEventRequest(
        _ request: SIPMessage, _ method: Method, _ transaction: TransactionID, _ source: MessageSource, now: MonotonicTime
    ) -> Bool {
        let hasTag = request.hasToTag && !request.toTagRange.isEmpty
        switch method {
        case .message:
            if hasTag { return false }
            guard checkExtensions(request, transaction, now: now),
                isBearable(request, transaction, &messagePace, configuration.messageRate, "messageRate", now: now)
            else { break }
            handleMessage(request, transaction, source, session: nil, now: now)
        case .subscribe:
            if checkExtensions(request, transaction, now: now) { handleSubscribe(request, transaction, source, hasTag: hasTag, now: now) }
        default:
            guard checkExtensions(request, transaction, now: now) else { break }
            if notifiedSubscription(request) == nil, handleReferNotify(request, transaction, source, now: now) { break }
            handleNotify(request, transaction, source, now: now)
        }
        return true
    }

    private func notifiedSubscription(_ request: SIPMessage) -> Subscription? {
        let key = Subscriptions.Key(callID: request.callID, localTag: request.toTag)
        return subscriptions.keys[key].flatMap { subscriptions.table[$0] }
    }

    /// 489 with the packages that are understood, 481 where the package is known.
    func refuseEvent(_ request: SIPMessage, _ transaction: TransactionID, now: MonotonicTime) {
        let package = request.event?.package
        if let package, Self.eventPackages.split(separator: ",").contains(where: { $0.trimmedASCII == package }) {
            counters.increment(.notificationUnmatched)
            refuse(request, transaction, 481, now: now)
        } else {
            counters.increment(.badEvent)
            refuse(request, transaction, 489, [(.allowEvents, Self.eventPackages)], now: now)
        }
    }

    private func handleNotify(_ request: SIPMessage, _ transaction: TransactionID, _ source: MessageSource, now: MonotonicTime) {
        guard let subscription = notifiedSubscription(request) else {
            if !takeUnsolicited(request, transaction, source, now: now) { refuseEvent(request, transaction, now: now) }
            return
        }
        guard let event = request.event else {
            counters.increment(.badEvent)
            refuse(request, transaction, 489, [(.allowEvents, Self.eventPackages)], now: now)
            return
        }
        guard subscription.options.event.matches(event) else {
            counters.increment(.notificationUnmatched)
            refuse(request, transaction, 481, now: now)
            return
        }
        guard isAcceptable(request, subscription.options.accept) else {
            counters.increment(.unsupportedMedia)
            let accept = subscription.options.accept.map(\.description).joined(separator: ", ")
            refuse(request, transaction, 415, [(.accept, accept)], now: now)
            return
        }
        let rate = configuration.notificationsPerSubscription
        guard isBearable(request, transaction, &subscription.pace, rate, "notificationsPerSubscription", now: now) else { return }
        guard let leg = leg(of: subscription, for: request, source, now: now) else {
            refuse(request, transaction, 481, now: now)
            return
        }
        guard let index = subscription.index(leg) else { return }
        guard subscription.legs[index].dialog.accept(sequence: request.cseqNumber) else {
            counters.increment(.lowSequence)
            refuse(request, transaction, 500, now: now)
            return
        }
        subscription.legs[index].dialog.refreshTarget(from: request)
        subscription.legs[index].dialog.source = source
        refuse(request, transaction, 200, now: now)
        counters.increment(.notifications)
        notified(subscription, leg, request, now: now)
    }

    private func isAcceptable(_ request: SIPMessage, _ accept: [MediaType]) -> Bool {
        guard !request.body.isEmpty else { return true }
        guard request.contentEncoding.allSatisfy({ $0 == "identity" }) else { return false }
        guard let type = request.contentType else { return false }
        return accept.contains { $0.includes(type) }
    }

    /// The leg that a NOTIFY belongs to; a new one for a notifier that is not known yet.
    private func leg(of subscription: Subscription, for request: SIPMessage, _ source: MessageSource, now: MonotonicTime) -> Int? {
        let tag = request.fromTag
        if let known = subscription.legs.first(where: { $0.dialog.id.remoteTag == tag }) { return known.number }
        let limit = subscription.options.allowsForks ? configuration.maximumSubscriptionForks : 1
        guard subscription.legs.count < limit else {
            counters.increment(.subscriptionForkLimit)
            return nil
        }
        subscription.lastLeg += 1
        var dialog = Dialog(notify: request, local: subscription.local, sequence: subscription.sequence, source: source)
        // Its number is in order, whatever it is.
        _ = dialog.accept(sequence: request.cseqNumber)
        subscription.legs.append(
            Subscription.Leg(number: subscription.lastLeg, dialog: dialog, expiresAt: .distantFuture, asked: now))
        subscription.since = subscription.since ?? now
        timers.cancel(.event(.firstNotify(subscription.id)))
        return subscription.lastLeg
    }

    private func notified(_ subscription: Subscription, _ leg: Int, _ request: SIPMessage, now: MonotonicTime) {
        timers.cancel(.event(.notify(subscription.id, leg: leg)))
        if request.subscriptionState == nil { counters.increment(.notificationWithoutState) }
        // A notifier that forgets the field is taken to go on with what it granted.
        let state = request.subscriptionState ?? SubscriptionState(.active)
        if subscription.phase == .subscribing { subscription.phase = subscription.options.expires > 0 ? .active : .ending }
        if state.state != .terminated, subscription.phase == .active {
            let isPending = state.state == .pending
            let known = subscription.index(leg).map { subscription.legs[$0].expires } ?? 0
            let isFirst = subscription.index(leg).map { subscription.legs[$0].expiresAt == .distantFuture } ?? false
            if let expires = state.expires.map({ Int($0) }) ?? (isFirst ? subscription.granted ?? subscription.expires : nil) {
                settle(subscription, leg, expires: expires, now: now)
            }
            if let index = subscription.index(leg) { subscription.legs[index].isPending = isPending }
            let expires = subscription.index(leg).map { subscription.legs[$0].expires } ?? known
            tell(subscription, isPending ? .pending(expires: expires) : .active(expires: expires))
        }
        emit(.event(.notified(subscription.id, leg: leg, request)))
        if state.state == .terminated {
            terminated(subscription, leg, state, now: now)
        } else if subscription.phase == .ending, subscription.options.expires > 0 {
            // Unsubscribed before this notifier was known; the last NOTIFY of a leg that ends is still to come.
            endLeg(subscription, leg, now: now)
        } else if subscription.phase == .ending {
            // A fetch: the state is here, and a notifier that does not say `terminated` keeps nothing either.
            removeLeg(subscription, leg, .over(EventCauses.fetched), now: now)
        }
    }

    /// §4.1.3: what each reason means for us.
    private func terminated(_ subscription: Subscription, _ leg: Int, _ state: SubscriptionState, now: MonotonicTime) {
        let after = state.retryAfter.map { Interval.seconds(Int64(min($0, 86_400))) }
        let cause = EventCauses.terminated(state.reason)
        let end: LegEnd =
            switch state.reason {
            case .rejected, .noresource, .invariant: .over(cause)
            case .deactivated, .timeout: .again(cause, after: nil, isFirstAtOnce: true)
            case .probation, .giveup, .other, nil: .again(cause, after: after, isFirstAtOnce: false)
            }
        removeLeg(subscription, leg, end, now: now)
    }

    // MARK: Without a subscription

    /// Many servers tell of waiting messages after each REGISTER without being asked (B-069).
    private func takeUnsolicited(
        _ request: SIPMessage, _ transaction: TransactionID, _ source: MessageSource, now: MonotonicTime
    ) -> Bool {
        guard request.event?.package == EventType.messageSummary.package, let account = account(for: request, source: source),
            account.configuration.messageWaiting != .off
        else { return false }
        guard isServer(source) || account.configuration.directCalls == .accept else { return false }
        guard isAcceptable(request, [MediaType("application", "simple-message-summary")]) else {
            counters.increment(.unsupportedMedia)
            refuse(request, transaction, 415, [(.accept, "application/simple-message-summary")], now: now)
            return true
        }
        counters.increment(.notificationUnsolicited)
        refuse(request, transaction, 200, now: now)
        emit(.event(.unsolicited(account.id, request)))
        return true
    }

    // MARK: What our requests lead to

    func handleEventOutcome(_ outcome: RequestOutcome, _ request: ClientRequest, _ purpose: EventPurpose, now: MonotonicTime) {
        switch purpose {
        case .subscribe(let id, let leg): handleSubscribeOutcome(outcome, request, id, leg: leg, now: now)
        case .publish(let id): handlePublishOutcome(outcome, request, id, now: now)
        case .message(let id, let session): handleMessageOutcome(outcome, request, id, session, now: now)
        case .notify(let id): handleNotifyOutcome(outcome, id, now: now)
        }
    }

    /// The next number of a challenged request (RFC 3261 §22.2); nil: it counts by itself.
    func nextSequence(of purpose: EventPurpose) -> UInt32? {
        switch purpose {
        case .subscribe(let id, nil):
            guard let subscription = subscriptions.table[id] else { return nil }
            subscription.sequence &+= 1
            return subscription.sequence
        case .subscribe(let id, let leg?):
            guard let subscription = subscriptions.table[id], let index = subscription.index(leg) else { return nil }
            return subscription.legs[index].dialog.nextSequence()
        case .publish(let id):
            guard let publication = subscriptions.publications[id] else { return nil }
            publication.sequence &+= 1
            return publication.sequence
        case .message(_, let session): return session.flatMap { sessions[$0]?.dialog?.nextSequence() }
        case .notify(let id): return subscriptions.subscribers[id]?.dialog.nextSequence()
        }
    }

    /// A request outside dialogs.
    func makeRequest(
        _ method: Method, _ purpose: EventPurpose, account: Account?, to target: URI, nextHop: URI, local: NameAddress, callID: String,
        sequence: UInt32, contact: ContactForm
    ) -> ClientRequest {
        let requestURI = target.asRequestURI
        var message = MessageBuilder(request: method, uri: requestURI)
        if let account { for route in preloadedRoutes(account) { message.add(.route, route) } }
        message.add(.maxForwards, "70")
        message.add(.from, local.description)
        message.add(.to, NameAddress(uri: requestURI).description)
        message.add(.callID, callID)
        message.add(.cseq, "\(sequence) \(method.rawValue)")
        let request = ClientRequest(
            .event(purpose), account: account?.id, method: method, message: message, sequence: sequence, nextHop: nextHop,
            contact: contact, local: local, requestURI: requestURI)
        request.fillsLocalHost = account == nil
        request.mayChangeTarget = true
        return request
    }
}
