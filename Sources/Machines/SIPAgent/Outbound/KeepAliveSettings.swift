// SPDX-License-Identifier: Apache-2.0

import Essentials

/// How the way to an account's server is kept and watched (RFC 5626 §3.5, §4.4).
public struct KeepAliveSettings: Sendable, Hashable {
    /// Whether keep-alives are sent at all.
    public var isOn = true
    /// The longest time between two pings on a connection, where the server names none (`Flow-Timer`, `keep`). Each
    /// is shortened by up to a fifth at random, so that phones do not ping in step.
    public var connectionInterval = Interval.seconds(120)
    /// The same for datagrams, whatever the server names: what NATs keep a binding for at the least is 30 s.
    public var datagramInterval = Interval.seconds(29)
    /// No server makes us ping more often than this.
    public var leastInterval = Interval.seconds(5)
    /// A connection whose ping is not answered in this time is dead (§4.4.1).
    public var pongLimit = Interval.seconds(10)
    /// The first wait for the answer to a STUN request; it doubles (RFC 8489 §6.2.1, RTO).
    public var stunRetransmission = Interval.milliseconds(500)
    /// How often a STUN request is sent (Rc). The wait after the last one is 16 times `stunRetransmission`.
    public var stunTries = 7
    /// A flow that was up for at least this long is recovered at once; one that was not, by the waits of `RetryPolicy`: a
    /// server that takes flows and drops them is not hammered (§4.5).
    public var settled = Interval.seconds(10)
    /// What “at once” is spread over, so that phones which lost the same server do not come back in one moment.
    public var recoverySpread = Interval.milliseconds(200)

    public init() {}
}

/// Whether an account's flow is registered as one (RFC 5626): the server then calls us over this very flow.
public enum OutboundUse: String, Sendable, Hashable, CaseIterable {
    case off
    /// Asked for; a server that does not know it registers us as usual.
    case on
}

/// Why the way to the server counts as lost.
enum FlowFault: Sendable, Hashable {
    /// The connection ended.
    case closed(FlowFailure)
    /// No answer to a ping in time.
    case silent
    /// A NAT gave us another address: the server calls the old one.
    case moved(from: SocketAddress, to: SocketAddress)

    var words: String {
        switch self {
        case .closed(let failure): failure.text
        case .silent: "no answer to a keep-alive"
        case .moved(let old, let new): "our address became \(new) instead of \(old)"
        }
    }
}

/// A sign of life that came over a flow.
public enum KeepAliveSign: Sendable, Hashable {
    /// The answer to our ping (RFC 5626 §3.5.1).
    case pong
    /// A STUN response: the transaction and our address as the server sees it; nil: it refused to tell.
    case binding(STUNSign)
}
