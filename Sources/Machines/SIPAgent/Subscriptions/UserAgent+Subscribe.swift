// SPDX-License-Identifier: Apache-2.0
//
// Subscribing (RFC 6665 §4.1.2): SUBSCRIBE, its answers, refreshing and ending. States: Subscription.swift.

import Essentials
import SIP

extension UserAgent {
    /// A subscription that lasted this long is sound: what ends it later is met by a new one at once.
    private static let settled = Interval.seconds(60)

    /// Subscribes to the state of `target`, and keeps the subscription until `unsubscribe`, or until the notifier ends it for
    /// good.
    ///
    /// - Parameter accountID: who subscribes; nil: nobody in particular, straight to the target.
    public func subscribe(
        from accountID: AccountID?, to target: URI, _ options: SubscriptionOptions, now: MonotonicTime
    ) throws(AgentError) -> SubscriptionID {
        let account = try eventAccount(accountID)
        _ = try nextHop(to: target, account: account)
        subscriptions.lastSubscription &+= 1
        let id = SubscriptionID(rawValue: subscriptions.lastSubscription)
        let local = account?.identity ?? NameAddress(uri: .sip(SIPURI(host: .name("invalid"), port: nil)))
        let subscription = Subscription(id: id, account: accountID, target: target, options: options, local: local)
        subscriptions.table[id] = subscription
        counters.increment(.subscriptions)
        sendSubscribe(subscription, now: now)
        pump(now)
        return id
    }

    /// Ends a subscription; `.ended` follows in any case.
    public func unsubscribe(_ id: SubscriptionID, now: MonotonicTime) {
        guard let subscription = subscriptions.table[id], subscription.phase != .ending else { return }
        endByUser(subscription, now: now)
        pump(now)
    }

    /// Asks a notifier for its whole state now: after a lost notification. Not more often than `leastSubscriptionInterval`.
    public func refreshSubscription(_ id: SubscriptionID, leg: Int, now: MonotonicTime) {
        guard let subscription = subscriptions.table[id], let index = subscription.index(leg), subscription.phase == .active else { return }
        let earliest = subscription.legs[index].asked + configuration.leastSubscriptionInterval
        if now >= earliest {
            refresh(subscription, leg, now: now)
        } else {
            timers.arm(.event(.refresh(id, leg: leg)), at: min(earliest, subscription.legs[index].expiresAt))
        }
        pump(now)
    }

    /// The limits of every subscription and publication, and whose it is.
    func eventAccount(_ id: AccountID?) throws(AgentError) -> Account? {
        guard life == .running else { throw AgentError(.stopped, "the agent has been shut down") }
        guard subscriptions.count < configuration.maximumSubscriptions else {
            counters.increment(.subscriptionLimit)
            throw AgentError(
                .tooManySubscriptions, "there are \(subscriptions.count) subscriptions, the limit is \(configuration.maximumSubscriptions)")
        }
        guard let id else { return nil }
        guard let account = accounts[id] else { throw AgentError(.unknownAccount, "\(id) is not known") }
        return account
    }

    // MARK: SUBSCRIBE

    /// A SUBSCRIBE outside dialogs.
    private func sendSubscribe(_ subscription: Subscription, again: Bool = false, now: MonotonicTime) {
        let account = subscription.account.flatMap { accounts[$0] }
        guard let hop = try? nextHop(to: subscription.target, account: account), account != nil || subscription.account == nil else {
            over(subscription, EventCauses.accountGone, now: now)
            return
        }
        if !again {
            forgetKey(subscription)
            subscription.callID = random.token(22)
            subscription.local.tag = random.token(10)
            subscription.sequence = UInt32(random.integer(in: 1...30_000))
            subscription.granted = nil
            subscription.since = nil
            subscriptions.keys[key(subscription)] = subscription.id
        } else {
            subscription.sequence &+= 1
        }
        subscription.phase = .subscribing
        tell(subscription, .subscribing)
        let request = makeRequest(
            .subscribe, .subscribe(subscription.id, leg: nil), account: account, to: subscription.target, nextHop: hop,
            local: subscription.local, callID: subscription.callID, sequence: subscription.sequence, contact: .dialog)
        addFields(subscription, expires: subscription.expires, to: &request.message)
        subscription.request = request
        timers.arm(.event(.firstNotify(subscription.id)), at: now + configuration.stack.times.timeout)
        start(request, now: now)
    }

    private func addFields(_ subscription: Subscription, expires: Int, to message: inout MessageBuilder) {
        message.add(.event, subscription.options.event.description)
        message.add(.accept, subscription.options.accept.map(\.description).joined(separator: ", "))
        message.add(.expires, "\(expires)")
        message.add(.allow, Self.allowedMethods)
    }

    private func key(_ subscription: Subscription) -> Subscriptions.Key {
        .init(callID: subscription.callID, localTag: subscription.local.tag ?? "")
    }

    private func forgetKey(_ subscription: Subscription) { subscriptions.keys[key(subscription)] = nil }

    /// A SUBSCRIBE within a leg's dialog.
    private func sendSubscribe(_ subscription: Subscription, leg index: Int, expires: Int, now: MonotonicTime) {
        let leg = subscription.legs[index].number
        let (message, uri) = subscription.legs[index].dialog.makeRequest(.subscribe)
        let dialog = subscription.legs[index].dialog
        let request = ClientRequest(
            .event(.subscribe(subscription.id, leg: leg)), account: subscription.account, method: .subscribe, message: message,
            sequence: dialog.localSequence, nextHop: dialog.nextHop, contact: .dialog, requestURI: uri, source: dialog.source)
        addFields(subscription, expires: expires, to: &request.message)
        subscription.legs[index].request = request
        subscription.legs[index].asked = now
        subscription.legs[index].isEnding = expires == 0
        timers.cancel(.event(.refresh(subscription.id, leg: leg)))
        timers.arm(.event(.notify(subscription.id, leg: leg)), at: now + configuration.stack.times.timeout)
        start(request, now: now)
    }

    func refresh(_ subscription: Subscription, _ leg: Int, now: MonotonicTime) {
        guard let index = subscription.index(leg), subscription.legs[index].request == nil, life == .running else { return }
        sendSubscribe(subscription, leg: index, expires: subscription.expires, now: now)
    }

    // MARK: Answers

    func handleSubscribeOutcome(
        _ outcome: RequestOutcome, _ request: ClientRequest, _ id: SubscriptionID, leg: Int?, now: MonotonicTime
    ) {
        guard let subscription = subscriptions.table[id] else { return }
        if let leg {
            guard let index = subscription.index(leg), subscription.legs[index].request === request else { return }
            subscription.legs[index].request = nil
            handleRefreshOutcome(outcome, request, subscription, leg, now: now)
        } else if subscription.request === request {
            subscription.request = nil
            handleFirstOutcome(outcome, request, subscription, now: now)
        }
    }

    private func handleFirstOutcome(
        _ outcome: RequestOutcome, _ request: ClientRequest, _ subscription: Subscription, now: MonotonicTime
    ) {
        switch outcome {
        case .response(let response, _, _) where (200..<300).contains(response.statusCode):
            subscription.granted = response.expires.map { Int($0) }
            subscription.intervalRounds = 0
            // 204: no NOTIFY will come (RFC 6665 §4.1.2.4 names RFC 5839).
            if response.statusCode == 204, subscription.legs.isEmpty { over(subscription, EventCauses.fetched, now: now) }
        case .response(let response, _, _)
        where response.statusCode == 423 && subscription.legs.isEmpty && raiseExpires(subscription, response):
            if subscription.phase == .ending {
                over(subscription, EventCauses.ended, now: now)
            } else {
                sendSubscribe(subscription, again: true, now: now)
            }
        case .response(let response, _, _):
            // A fork may have sent its NOTIFY all the same: then it is subscribed.
            guard subscription.legs.isEmpty else { return }
            let cause = EventCauses.subscriptionRefused(response, request.challengeFailure)
            if EventCauses.isPassing(response.statusCode) {
                again(subscription, cause, after: response.retryAfter, now: now)
            } else {
                over(subscription, cause, now: now)
            }
        case .failure(let failure):
            guard subscription.legs.isEmpty else { return }
            again(subscription, EventCauses.subscriptionFailure(failure), after: nil, now: now)
        }
    }

    /// 423 (RFC 6665 §4.1.2.1): whether to ask again for the longer time that it names.
    private func raiseExpires(_ subscription: Subscription, _ response: SIPMessage) -> Bool {
        subscription.intervalRounds += 1
        guard let least = response.minExpires, Int(least) > subscription.expires, subscription.expires > 0,
            subscription.intervalRounds <= 2
        else { return false }
        subscription.expires = Int(least)
        return true
    }

    /// §4.1.2.2: some answers end the subscription, after all others it lasts until its time is over.
    private func handleRefreshOutcome(
        _ outcome: RequestOutcome, _ request: ClientRequest, _ subscription: Subscription, _ leg: Int, now: MonotonicTime
    ) {
        guard let index = subscription.index(leg) else { return }
        let isEnding = subscription.legs[index].isEnding
        guard subscription.phase != .ending || isEnding else {
            sendSubscribe(subscription, leg: index, expires: 0, now: now)
            return
        }
        switch outcome {
        case .response(let response, _, let source) where (200..<300).contains(response.statusCode):
            subscription.legs[index].dialog.refreshTarget(from: response)
            subscription.legs[index].dialog.source = source
            subscription.intervalRounds = 0
            guard !isEnding else { return }
            settle(subscription, leg, expires: response.expires.map { Int($0) } ?? subscription.expires, now: now)
        case _ where isEnding:
            removeLeg(subscription, leg, .over(EventCauses.ended), now: now)
        case .response(let response, _, _) where response.statusCode == 423 && raiseExpires(subscription, response):
            sendSubscribe(subscription, leg: index, expires: subscription.expires, now: now)
        case .response(let response, _, _) where EventCauses.endsDialog(response.statusCode):
            counters.increment(.subscriptionLost)
            let cause = EventCauses.subscriptionRefused(response, request.challengeFailure)
            let isLost = response.statusCode == 481 || EventCauses.isPassing(response.statusCode)
            removeLeg(subscription, leg, isLost ? .again(cause, after: nil, isFirstAtOnce: true) : .over(cause), now: now)
        case .failure(.timedOut):
            // §12.2.1.2: a dialog in which nobody answers is gone.
            counters.increment(.subscriptionLost)
            let cause = EventCauses.subscriptionFailure(.timedOut)
            removeLeg(subscription, leg, .again(cause, after: nil, isFirstAtOnce: true), now: now)
        case .response, .failure:
            timers.cancel(.event(.notify(subscription.id, leg: leg)))
            retryRefresh(subscription, index, now: now)
        }
    }

    /// Tries the refresh again half way to the end; then the time is over.
    private func retryRefresh(_ subscription: Subscription, _ index: Int, now: MonotonicTime) {
        let leg = subscription.legs[index]
        let left = leg.expiresAt - now
        guard left > configuration.leastSubscriptionInterval * 2 else { return }
        timers.arm(.event(.refresh(subscription.id, leg: leg.number)), at: now + left / 2)
    }

    /// The leg lasts `expires` seconds from now.
    func settle(_ subscription: Subscription, _ leg: Int, expires: Int, now: MonotonicTime) {
        guard let index = subscription.index(leg) else { return }
        subscription.legs[index].expires = expires
        let expiresAt = now + .seconds(Int64(clamping: expires))
        subscription.legs[index].expiresAt = expiresAt
        timers.arm(.event(.expiry(subscription.id, leg: leg)), at: expiresAt)
        guard subscription.legs[index].request == nil, subscription.phase == .active, subscription.options.expires > 0 else { return }
        let delay = max(Registration.refreshDelay(granted: expires), configuration.leastSubscriptionInterval)
        timers.arm(.event(.refresh(subscription.id, leg: leg)), at: now + delay)
    }

    // MARK: The end

    /// What follows from the end of a leg.
    enum LegEnd {
        case over(Cause)
        /// `isFirstAtOnce`: without a wait unless it did so shortly before.
        case again(Cause, after: Interval?, isFirstAtOnce: Bool)
    }

    func removeLeg(_ subscription: Subscription, _ leg: Int, _ end: LegEnd, now: MonotonicTime) {
        guard let index = subscription.index(leg) else { return }
        forgetLegTimers(subscription.id, leg)
        subscription.legs.remove(at: index)
        emit(.event(.legEnded(subscription.id, leg: leg)))
        guard subscription.legs.isEmpty else { return }
        if let since = subscription.since, now - since >= Self.settled { subscription.failures = 0 }
        if subscription.phase == .ending {
            over(subscription, subscription.options.expires == 0 ? EventCauses.fetched : EventCauses.ended, now: now)
            return
        }
        switch end {
        case .over(let cause): over(subscription, cause, now: now)
        case .again(let cause, let after, let isFirstAtOnce):
            if isFirstAtOnce, after == nil, subscription.failures == 0, life == .running {
                subscription.failures = 1
                abandon(subscription, now: now)
                sendSubscribe(subscription, now: now)
            } else {
                again(subscription, cause, after: after, now: now)
            }
        }
    }

    /// Waits, then subscribes anew.
    func again(_ subscription: Subscription, _ cause: Cause, after: Interval?, now: MonotonicTime) {
        let policy = subscription.account.flatMap { accounts[$0] }?.configuration.retryPolicy ?? RetryPolicy()
        guard policy.initial > .zero, life == .running, subscription.phase != .ending, subscription.options.expires > 0 else {
            over(subscription, subscription.phase == .ending ? EventCauses.ended : cause, now: now)
            return
        }
        abandon(subscription, now: now)
        // A notifier that wants us back sooner than the first wait must not make us hammer it.
        let wanted = after.flatMap { $0 >= policy.initial ? $0 : nil }
        let delay = wanted ?? policy.wait(failures: subscription.failures, random)
        subscription.failures += 1
        subscription.phase = .waiting
        timers.arm(.event(.retry(subscription.id)), at: now + delay)
        tell(subscription, .retrying(cause, after: delay))
    }

    /// Forgets what is left of the present attempt.
    private func abandon(_ subscription: Subscription, now: MonotonicTime) {
        forgetKey(subscription)
        timers.cancel(.event(.firstNotify(subscription.id)))
        for leg in subscription.legs { forgetLegTimers(subscription.id, leg.number) }
        subscription.legs = []
        let request = subscription.request
        subscription.request = nil
        if let request {
            request.isAbandoned = true
            _ = abandonSearch(of: request)
        }
    }

    func over(_ subscription: Subscription, _ cause: Cause, now: MonotonicTime) {
        guard subscriptions.table[subscription.id] != nil else { return }
        abandon(subscription, now: now)
        timers.cancel(.event(.retry(subscription.id)))
        subscriptions.table[subscription.id] = nil
        tell(subscription, .ended(cause))
    }

    private func endByUser(_ subscription: Subscription, now: MonotonicTime) {
        let wasWaiting = subscription.phase == .waiting
        subscription.phase = .ending
        timers.cancel(.event(.retry(subscription.id)))
        if let request = subscription.request, subscription.legs.isEmpty {
            // Not sent yet: nothing to take back.
            if abandonSearch(of: request) { over(subscription, EventCauses.ended, now: now) }
            return
        }
        if wasWaiting || subscription.legs.isEmpty && subscription.request == nil && subscription.granted == nil {
            over(subscription, EventCauses.ended, now: now)
            return
        }
        for leg in subscription.legs where leg.request == nil {
            if let index = subscription.index(leg.number) { sendSubscribe(subscription, leg: index, expires: 0, now: now) }
        }
    }

    /// A leg that came up after the user wanted the end.
    func endLeg(_ subscription: Subscription, _ leg: Int, now: MonotonicTime) {
        guard let index = subscription.index(leg), !subscription.legs[index].isEnding, subscription.legs[index].request == nil else {
            return
        }
        sendSubscribe(subscription, leg: index, expires: 0, now: now)
    }

    private func forgetLegTimers(_ id: SubscriptionID, _ leg: Int) {
        for timer in [EventTimer.notify(id, leg: leg), .refresh(id, leg: leg), .expiry(id, leg: leg)] { timers.cancel(.event(timer)) }
    }

    /// Tells a status that is new; the end always.
    func tell(_ subscription: Subscription, _ status: SubscriptionStatus) {
        if let old = subscription.status, old.name == status.name, status.name != "retrying" { return }
        subscription.status = status
        emit(.event(.subscription(subscription.id, status)))
    }

    // MARK: Timers

    func fire(_ timer: EventTimer, now: MonotonicTime) {
        switch timer {
        case .retry(let id):
            if let subscription = subscriptions.table[id] { sendSubscribe(subscription, now: now) }
        case .firstNotify(let id): firstNotifyMissing(id, now: now)
        case .notify(let id, let leg):
            guard let subscription = subscriptions.table[id], let index = subscription.index(leg) else { return }
            if subscription.legs[index].isEnding {
                removeLeg(subscription, leg, .over(EventCauses.ended), now: now)
            } else {
                counters.increment(.subscriptionLost)
                removeLeg(subscription, leg, .again(EventCauses.noNotification, after: nil, isFirstAtOnce: true), now: now)
            }
        case .refresh(let id, let leg):
            if let subscription = subscriptions.table[id], subscription.phase == .active { refresh(subscription, leg, now: now) }
        case .expiry(let id, let leg):
            guard let subscription = subscriptions.table[id] else { return }
            counters.increment(.subscriptionLost)
            removeLeg(subscription, leg, .again(EventCauses.expired, after: nil, isFirstAtOnce: true), now: now)
        case .publication(let id): publicationDue(id, now: now)
        case .subscriber(let id): subscriberExpired(id, now: now)
        }
    }

    private func firstNotifyMissing(_ id: SubscriptionID, now: MonotonicTime) {
        guard let subscription = subscriptions.table[id], subscription.legs.isEmpty else { return }
        if subscription.request != nil {
            // Still under way, to another address perhaps: the transaction's own time ends it.
            timers.arm(.event(.firstNotify(id)), at: now + configuration.stack.times.timeout)
        } else {
            counters.increment(.subscriptionLost)
            again(subscription, EventCauses.noNotification, after: nil, now: now)
        }
    }

    // MARK: Another network

    /// The addresses of this machine are others: every notifier is told the fresh Contact by a refresh (a SUBSCRIBE renews the
    /// target, RFC 6665 §4.4.1), and what waited for the network does so no longer.
    func followSubscriptions(now: MonotonicTime) {
        for id in subscriptions.table.keys.sorted() {
            guard let subscription = subscriptions.table[id] else { continue }
            switch subscription.phase {
            case .active:
                for leg in subscription.legs.map(\.number) {
                    // The old flow is no way any more.
                    if let index = subscription.index(leg) { subscription.legs[index].dialog.source = nil }
                    refresh(subscription, leg, now: now)
                }
            case .waiting: timers.arm(.event(.retry(id)), at: now)
            case .subscribing, .ending: break
            }
        }
        for id in subscriptions.publications.keys.sorted() where timers.isArmed(.event(.publication(id))) {
            if case .retrying = subscriptions.publications[id]?.status { timers.arm(.event(.publication(id)), at: now) }
        }
    }

    // MARK: Shutting down

    /// Ends the subscriptions and publications of an account, or all.
    func endSubscriptions(of account: AccountID? = nil, now: MonotonicTime) {
        for id in subscriptions.table.keys.sorted() {
            guard let subscription = subscriptions.table[id], subscription.phase != .ending else { continue }
            if account == nil || subscription.account == account { endByUser(subscription, now: now) }
        }
        for id in subscriptions.publications.keys.sorted() {
            guard let publication = subscriptions.publications[id] else { continue }
            if account == nil || publication.account == account { endByUser(publication, now: now) }
        }
        for id in subscriptions.subscribers.keys.sorted() {
            guard let subscriber = subscriptions.subscribers[id] else { continue }
            if account == nil || subscriber.account == account { endSubscriber(subscriber, .deactivated, now: now) }
        }
    }

    /// At the stop: nothing may be left.
    func forgetSubscriptions() {
        for (id, subscription) in subscriptions.table {
            timers.cancel(.event(.retry(id)))
            timers.cancel(.event(.firstNotify(id)))
            for leg in subscription.legs { forgetLegTimers(id, leg.number) }
        }
        for id in subscriptions.publications.keys { timers.cancel(.event(.publication(id))) }
        for id in subscriptions.subscribers.keys { timers.cancel(.event(.subscriber(id))) }
        subscriptions = Subscriptions()
    }
}
