// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP

/// What the agent tells of subscriptions, publications and messages.
public enum EventNews: Sendable {
    case subscription(SubscriptionID, SubscriptionStatus)
    /// A NOTIFY of a subscription, answered 200. `leg` names the notifier that it came from: a new one after each renewal, and
    /// one for each notifier of a forked SUBSCRIBE.
    case notified(SubscriptionID, leg: Int, SIPMessage)
    /// A notifier of the subscription is gone; others may be left.
    case legEnded(SubscriptionID, leg: Int)
    /// A message summary that the account's server sent without a subscription.
    case unsolicited(AccountID, SIPMessage)
    case publication(PublicationID, PublicationStatus)
    /// A message came and was answered 200.
    case message(ReceivedMessage)
    /// What became of a message of ours; comes once for each.
    case messageAnswered(MessageID, MessageDelivery)
    /// Somebody who may (`AccountConfiguration.allowsDialogSubscriptions`) wants to know the state of the account's line: at the
    /// beginning, with each refresh, and when a change had to wait. `notify` must follow.
    case stateWanted(SubscriberID, AccountID)
    case subscriberEnded(SubscriberID)
}

/// Where a subscription stands.
public enum SubscriptionStatus: Sendable, Hashable {
    case subscribing
    /// The notifier knows of it; somebody has still to allow it. Seconds that it lasts unless refreshed.
    case pending(expires: Int)
    /// Notifications come. Seconds that it lasts unless refreshed; the agent does so.
    case active(expires: Int)
    /// It broke off and is made anew after `after`.
    case retrying(Cause, after: Interval)
    /// It is over for good; the last status of each subscription.
    case ended(Cause)

    /// The status in one word, for logs and programs.
    public var name: String {
        switch self {
        case .subscribing: "subscribing"
        case .pending: "pending"
        case .active: "active"
        case .retrying: "retrying"
        case .ended: "ended"
        }
    }
}

/// Where a publication stands (RFC 3903).
public enum PublicationStatus: Sendable, Hashable {
    case publishing
    /// The server has it for so many seconds; the agent refreshes it.
    case published(expires: Int)
    case retrying(Cause, after: Interval)
    /// It is over for good; the last status of each publication.
    case ended(Cause)

    /// The status in one word, for logs and programs.
    public var name: String {
        switch self {
        case .publishing: "publishing"
        case .published: "published"
        case .retrying: "retrying"
        case .ended: "ended"
        }
    }
}

/// What became of a message of ours (RFC 3428 §7).
public enum MessageDelivery: Sendable, Hashable {
    /// 200: the other side's phone has it.
    case delivered
    /// Another 2xx (202): a server has taken it, and may deliver it later or never.
    case accepted(status: Int)
    case failed(Cause)
}

/// A message that came in.
public struct ReceivedMessage: Sendable {
    /// The account that it was sent to; nil: none fits.
    public var account: AccountID?
    /// The call in whose dialog it came; nil: none.
    public var session: SessionID?
    /// The MESSAGE; `plainText` is its text, safe to show.
    public var message: SIPMessage
    public var source: MessageSource
}

/// How a subscription is made.
public struct SubscriptionOptions: Sendable {
    /// With an id where several subscriptions to one package shall be told apart.
    public var event: EventType
    /// The types of bodies that are understood; a NOTIFY with another one is answered 415.
    public var accept: [MediaType]
    /// Seconds to ask for; 0 fetches the state once (RFC 6665 §4.4.3).
    public var expires: Int
    /// Whether each notifier that a forked SUBSCRIBE reaches is followed (§4.4.1); the package's RFC says so.
    public var allowsForks: Bool

    public init(event: EventType, accept: [MediaType], expires: Int = 3600, allowsForks: Bool = false) {
        self.event = event
        self.accept = accept
        self.expires = min(max(expires, 0), Int(UInt32.max))
        self.allowsForks = allowsForks
    }
}
