// SPDX-License-Identifier: Apache-2.0

import Essentials

/// The settings and limits of a user agent.
public struct UserAgentConfiguration: Sendable {
    /// Transport and transaction settings, timers T1, T2, T4 among them.
    public var stack: StackConfiguration
    /// How the ways to the accounts' servers are kept and watched (RFC 5626).
    public var keepAlive: KeepAliveSettings
    /// How servers are found (RFC 3263): transports, caches, limits, and when the next of several is tried.
    public var location: LocationConfiguration
    /// The user part of From and Contact where no account is used.
    public var user: String
    /// What is done with an INVITE that fits no account.
    public var directCalls: DirectCalls
    /// What is done with a REFER that fits no account.
    public var transfers: TransferPolicy
    /// What is done with an INVITE that replaces a call of no account.
    public var replacements: ReplacementPolicy
    /// Referrals at once, both directions; one more that comes in is answered 503 with Retry-After.
    public var maximumReferrals: Int
    /// Referrals of one call, each direction.
    public var maximumReferralsPerCall: Int
    /// How fast REFERs may come in one call; what is faster is answered 500 with Retry-After. All that come outside calls together are
    /// taken at the same rate.
    public var referralsPerCall: RequestRate
    /// How fast re-INVITEs and UPDATEs may come in one call; what is faster is answered 500 with Retry-After.
    public var changesPerCall: RequestRate
    /// How fast INFOs, MESSAGEs and OPTIONS may come in one call; what is faster is answered 500 with Retry-After.
    public var notesPerCall: RequestRate
    /// How fast messages may come outside calls, all together; what is faster is answered 500 with Retry-After.
    public var messageRate: RequestRate
    /// How fast NOTIFYs of one subscription may come; what is faster is answered 500 with Retry-After.
    public var notificationsPerSubscription: RequestRate
    /// NOTIFYs of one referral, each direction; more of the peer's end it, more of ours are left out but for the last.
    public var maximumReferralNotifications: Int
    /// How long a referral may take: longer than a call may ring.
    public var referralLimit: Interval
    /// Calls at once, both directions; one more that comes in is answered 486. 1...1 000 000.
    public var maximumCalls: Int
    /// Incoming INVITEs of one unknown address that are not yet established; one more is answered 503 with Retry-After.
    /// The server of an account is exempt.
    public var maximumUnansweredPerSource: Int
    /// How long an INVITE may ring, both ways, before it is ended.
    public var ringLimit: Interval
    /// Answered challenges in a row for one request before it counts as failed (V-022).
    public var maximumChallengeRounds: Int
    /// How often a re-INVITE that met 491 or 500 is tried again.
    public var maximumReinviteRetries: Int
    /// The session interval (RFC 4028) that our INVITEs ask for, seconds, 90...86 400; 0: none is asked for, but what the
    /// peer asks for is kept all the same.
    public var sessionInterval: Int
    /// A shorter session interval of the peer counts as this one, seconds, 2...90: less would be a flood of refreshes.
    public var leastSessionInterval: Int
    /// How often a request is sent again with the Min-SE of a 422.
    public var maximumIntervalRetries: Int
    /// How many redirections (3xx) in a row one call follows, 0...100; 0: none is followed.
    public var maximumRedirections: Int
    /// How many addresses in all one call may be redirected to, 0...100.
    public var maximumRedirectionTargets: Int
    /// Early dialogs of one INVITE (forking); what goes beyond is ignored and counted.
    public var maximumEarlyDialogs: Int
    /// How many answers (2xx) of one forked INVITE are acknowledged and, but for the first, ended with BYE, 1...1 000; what goes
    /// beyond is ignored and counted (`AgentCounter.forkLimit`).
    public var maximumAnsweredForks: Int
    /// When our provisional responses are reliable (RFC 3262).
    public var reliableProgress: ReliableProgressPolicy
    /// Requests of one session that may wait for name resolution or an answer; `sendInfo` beyond fails.
    public var maximumPendingRequests: Int
    /// Subscriptions and publications of ours at once; one more fails. 1...100 000.
    public var maximumSubscriptions: Int
    /// Notifiers that may answer one forked SUBSCRIBE; what goes beyond is answered 481 and counted.
    public var maximumSubscriptionForks: Int
    /// Subscribers to our lines at once; one more is answered 503.
    public var maximumSubscribers: Int
    /// A subscription or publication is not refreshed sooner than this, whatever was granted.
    public var leastSubscriptionInterval: Interval
    /// Our messages (MESSAGE) without an answer at once; one more fails.
    public var maximumPendingMessages: Int
    /// Octets of the body of a message, sent or received; a longer one that comes in is answered 413.
    public var maximumMessageOctets: Int
    /// Octets of a whole MESSAGE that goes over a datagram transport (RFC 3428 §8 says 1300).
    public var maximumDatagramMessage: Int
    /// After `shutDown` the agent stops at the latest after this time.
    public var shutDownLimit: Interval
    /// How long registering may take in all, name resolution and every target included, before it counts as failed.
    public var registrationLimit: Interval
    /// How long taking a registration back may take; after that it counts as gone.
    public var unregistrationLimit: Interval
    /// Later than this after a deadline, time is taken to have jumped: the machine slept.
    public var sleepThreshold: Interval
    /// After a sleep of at least this, connections are taken for dead and opened anew.
    public var connectionSleepLimit: Interval
    /// How changes of the network are followed.
    public var network: NetworkSettings

    public init(stack: StackConfiguration = StackConfiguration()) {
        self.stack = stack
        keepAlive = KeepAliveSettings()
        location = LocationConfiguration()
        user = "handset"
        directCalls = .accept
        transfers = .refuse
        replacements = .accept
        maximumReferrals = 100
        maximumReferralsPerCall = 4
        maximumReferralNotifications = 40
        referralsPerCall = RequestRate(burst: 8, perSecond: 1)
        changesPerCall = RequestRate(burst: 30, perSecond: 2)
        notesPerCall = RequestRate(burst: 100, perSecond: 50)
        messageRate = RequestRate(burst: 200, perSecond: 50)
        notificationsPerSubscription = RequestRate(burst: 200, perSecond: 50)
        referralLimit = .seconds(200)
        maximumCalls = 1000
        maximumUnansweredPerSource = 50
        ringLimit = .seconds(180)
        maximumChallengeRounds = 2
        maximumReinviteRetries = 4
        sessionInterval = 1800
        leastSessionInterval = 10
        maximumIntervalRetries = 2
        maximumRedirections = 5
        maximumRedirectionTargets = 10
        maximumEarlyDialogs = 16
        maximumAnsweredForks = 100
        reliableProgress = .whenRequired
        maximumPendingRequests = 32
        maximumSubscriptions = 1000
        maximumSubscriptionForks = 8
        maximumSubscribers = 32
        leastSubscriptionInterval = .seconds(5)
        maximumPendingMessages = 100
        maximumMessageOctets = 32_768
        maximumDatagramMessage = 1300
        shutDownLimit = .milliseconds(1500)
        registrationLimit = .seconds(90)
        unregistrationLimit = .seconds(10)
        sleepThreshold = .seconds(5)
        connectionSleepLimit = .seconds(30)
        network = NetworkSettings()
    }
}
