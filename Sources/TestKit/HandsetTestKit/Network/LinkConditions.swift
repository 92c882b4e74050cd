// SPDX-License-Identifier: Apache-2.0

import Essentials

/// How one direction of a link treats what goes over it.
public struct LinkConditions: Sendable, Hashable {
    /// The least time that a datagram takes.
    public var delay: Interval
    /// Up to this is added to each datagram's delay, evenly distributed; datagrams still arrive in order.
    public var jitter: Interval
    /// The share of datagrams that are lost one by one, 0...1.
    public var loss: Double
    /// Losses in bursts, on top of `loss`.
    public var bursts: Bursts?
    /// The share of datagrams that arrive twice, 0...1.
    public var duplication: Double
    /// The share of datagrams that are held back so that later ones overtake them, 0...1.
    public var reordering: Double
    /// How long such a datagram is held back at most.
    public var reorderingDelay: Interval

    /// The model of Gilbert and Elliott: a link that is good or bad for a while.
    public struct Bursts: Sendable, Hashable {
        /// The chance, per datagram, that a good link becomes bad.
        public var begin: Double
        /// The chance, per datagram, that a bad link becomes good: bursts have 1 / `end` datagrams on average.
        public var end: Double
        /// The share lost while bad.
        public var loss: Double

        public init(begin: Double, end: Double, loss: Double = 1) {
            self.begin = begin
            self.end = end
            self.loss = loss
        }
    }

    public init(
        delay: Interval = .milliseconds(5), jitter: Interval = .zero, loss: Double = 0, bursts: Bursts? = nil,
        duplication: Double = 0, reordering: Double = 0, reorderingDelay: Interval = .milliseconds(30)
    ) {
        self.delay = delay
        self.jitter = jitter
        self.loss = loss
        self.bursts = bursts
        self.duplication = duplication
        self.reordering = reordering
        self.reorderingDelay = reorderingDelay
    }

    /// A clean link of 5 ms.
    public static let clean = LinkConditions()
}

/// One direction of a link: its conditions, its own luck, and what it remembers.
struct LinkDirection {
    var conditions: LinkConditions
    private var random: SeededGenerator
    private var isBad = false
    private var lastArrival = MonotonicTime.zero

    init(_ conditions: LinkConditions, random: SeededGenerator) {
        self.conditions = conditions
        self.random = random
    }

    /// When the datagram that enters at `now` comes out: never, once or twice.
    mutating func arrivals(now: MonotonicTime) -> (MonotonicTime?, MonotonicTime?) {
        if isLost() { return (nil, nil) }
        let first = arrival(now: now)
        guard random.happens(conditions.duplication) else { return (first, nil) }
        return (first, arrival(now: now))
    }

    private mutating func isLost() -> Bool {
        if let bursts = conditions.bursts {
            if random.happens(isBad ? bursts.end : bursts.begin) { isBad.toggle() }
            if isBad, random.happens(bursts.loss) { return true }
        }
        return random.happens(conditions.loss)
    }

    private mutating func arrival(now: MonotonicTime) -> MonotonicTime {
        var time = now + conditions.delay + part(of: conditions.jitter)
        if random.happens(conditions.reordering) { return time + part(of: conditions.reorderingDelay) }
        time = max(time, lastArrival)
        lastArrival = time
        return time
    }

    private mutating func part(of interval: Interval) -> Interval {
        guard interval.nanoseconds > 0 else { return .zero }
        return .nanoseconds(Int64(Double(interval.nanoseconds) * random.fraction()))
    }

    /// How long a segment of a stream takes: what is lost is sent again after 200 ms, then twice that, and so on.
    /// nil: given up after eight times.
    mutating func segmentDelay() -> Interval? {
        var delay = conditions.delay + part(of: conditions.jitter)
        var timeout = Interval.milliseconds(200)
        for _ in 0..<8 {
            if !isLost() { return delay }
            delay = delay + timeout
            timeout = timeout * 2
        }
        return nil
    }
}
