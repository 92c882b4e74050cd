// SPDX-License-Identifier: Apache-2.0

import Essentials

/// How the agent follows changes of the network.
public struct NetworkSettings: Sendable {
    /// A change is acted on when nothing further was told for this long: an address that goes and one that comes are one change.
    public var settling = Interval.milliseconds(20)
    /// At the latest this long after the first news of a change it is acted on.
    public var settlingLimit = Interval.milliseconds(50)
    /// The world is asked for the addresses at most this often when sends fail or the peer falls silent.
    public var checkInterval = Interval.milliseconds(100)
    /// While no address is there, the world is asked again after `checkInterval`; without a call then after twice that, up to this.
    public var longestCheckInterval = Interval.milliseconds(5_000)
    /// How long calls are kept that no address of ours leads to; then they end with `call.network-lost`.
    public var lossLimit = Interval.seconds(60)
    /// The wait before a re-INVITE that told a new address, and got no answer, is sent again; each further one waits twice as
    /// long, up to 8 s.
    public var retryInterval = Interval.milliseconds(500)
    /// How often such a re-INVITE is sent again before its failure counts, 0...100. Failures while no address is there do not count.
    public var maximumRetries = 6

    public init() {}
}

/// What the agent knows of the network.
struct NetworkFollowing {
    /// What is acted on; nil: the world never told, so addresses are those of the flows.
    var applied: NetworkState?
    /// Told, and waiting to settle, since then.
    var pending: (state: NetworkState, since: MonotonicTime)?
    /// The application says that the network is another one, whatever the addresses are.
    var isForced = false
    /// Since when no address is there.
    var lostSince: MonotonicTime?
    /// When the world was last asked.
    var lastCheck: MonotonicTime?
    /// The world is to be asked with the next effect.
    var wantsCheck = false
    /// The wait before the next question while the network is lost.
    var nextCheck = Interval.zero
}
