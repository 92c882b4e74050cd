// SPDX-License-Identifier: Apache-2.0
//
// One subscription (RFC 6665 §4.1), through all its renewals:
//
//   subscribing ─2xx, NOTIFY active─► active ─refresh due─► SUBSCRIBE in the dialog ─2xx, NOTIFY─► active …
//      │  NOTIFY may come before the 2xx                │ 481, time-out, no NOTIFY in 64·T1 (timer N)
//      │                                                │ NOTIFY terminated: deactivated, timeout ─► at once anew
//      │                                                │                    probation, giveup ─► after retry-after
//      │                                                │                    rejected, noresource, invariant ─► over
//      │ 408, 5xx, lost network ─► waiting ─back-off─► subscribing
//      └ 403, 404, 489, wrong password ─► over
//   active ─unsubscribe─► ending: SUBSCRIBE with Expires 0 ─► NOTIFY terminated ─► over
//
// The NOTIFY makes the dialog, not the 2xx (§4.4.1): a forked SUBSCRIBE makes one leg for each notifier.

import Essentials
import SIP

/// What a request for events and messages is for.
enum EventPurpose: Sendable, Hashable {
    /// leg nil: the SUBSCRIBE outside dialogs.
    case subscribe(SubscriptionID, leg: Int?)
    case publish(PublicationID)
    case message(MessageID, SessionID?)
    case notify(SubscriberID)

    var session: SessionID? { if case .message(_, let session) = self { session } else { nil } }

    var isInDialog: Bool {
        switch self {
        case .subscribe(_, let leg): leg != nil
        case .publish: false
        case .message(_, let session): session != nil
        case .notify: true
        }
    }
}

enum EventTimer: Sendable, Hashable {
    /// A new SUBSCRIBE after a wait.
    case retry(SubscriptionID)
    /// Timer N (RFC 6665 §4.1.2.4): no NOTIFY came for the SUBSCRIBE outside dialogs.
    case firstNotify(SubscriptionID)
    /// Timer N of a refresh, or of the end.
    case notify(SubscriptionID, leg: Int)
    case refresh(SubscriptionID, leg: Int)
    /// The granted time is over.
    case expiry(SubscriptionID, leg: Int)
    case publication(PublicationID)
    case subscriber(SubscriberID)
}

final class Subscription {
    enum Phase: Sendable, Hashable {
        case subscribing
        case active
        /// The retry timer runs.
        case waiting
        /// Unsubscribed, or fetched: the last NOTIFY is awaited.
        case ending
    }

    /// One notifier.
    struct Leg {
        let number: Int
        var dialog: Dialog
        /// Nothing but `active` and `pending` is kept.
        var isPending = false
        var request: ClientRequest?
        /// The SUBSCRIBE with Expires 0 went out.
        var isEnding = false
        var expires = 0
        var expiresAt: MonotonicTime
        /// When the last SUBSCRIBE left.
        var asked: MonotonicTime
    }

    let id: SubscriptionID
    let account: AccountID?
    let target: URI
    let options: SubscriptionOptions
    var phase = Phase.subscribing
    /// Of the present SUBSCRIBE outside dialogs.
    var callID = ""
    var local: NameAddress
    var sequence: UInt32 = 0
    var request: ClientRequest?
    /// Seconds to ask for: as wanted, or the notifier's Min-Expires.
    var expires: Int
    /// What the 2xx granted.
    var granted: Int?
    var legs: [Leg] = []
    /// How fast its NOTIFYs come.
    var pace = RequestPace()
    /// Never used twice.
    var lastLeg = 0
    /// Attempts so far without a lasting success.
    var failures = 0
    var intervalRounds = 0
    /// When the first NOTIFY of the present dialogs came.
    var since: MonotonicTime?
    var status: SubscriptionStatus?

    init(id: SubscriptionID, account: AccountID?, target: URI, options: SubscriptionOptions, local: NameAddress) {
        self.id = id
        self.account = account
        self.target = target
        self.options = options
        self.local = local
        expires = options.expires
    }

    func index(_ leg: Int) -> Int? { legs.firstIndex { $0.number == leg } }
}

/// All subscriptions and publications of an agent.
struct Subscriptions {
    /// What every NOTIFY of a SUBSCRIBE names.
    struct Key: Hashable {
        var callID: String
        var localTag: String
    }

    var table: [SubscriptionID: Subscription] = [:]
    var keys: [Key: SubscriptionID] = [:]
    var publications: [PublicationID: Publication] = [:]
    var subscribers: [SubscriberID: Subscriber] = [:]
    var subscriberKeys: [DialogID: SubscriberID] = [:]
    /// Our messages without an answer.
    var pendingMessages = 0
    var lastSubscription: UInt64 = 0
    var lastPublication: UInt64 = 0
    var lastMessage: UInt64 = 0
    var lastSubscriber: UInt64 = 0

    var count: Int { table.count + publications.count + subscribers.count }
    var isEmpty: Bool { table.isEmpty && publications.isEmpty && subscribers.isEmpty }
}

extension RetryPolicy {
    /// Doubling waits, each shortened by up to a half at random.
    func wait(failures: Int, _ random: RandomSource) -> Interval {
        let doubled = initial * (Int64(1) << Int64(min(max(failures, 0), 20)))
        let longest = min(doubled, max(maximum, initial))
        return longest - .seconds(longest.seconds / 2 * random.fraction())
    }
}
