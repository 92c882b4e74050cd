// SPDX-License-Identifier: Apache-2.0
//
// What a person should know of a stream while the call lasts. Looked at every 200 ms; what begins is told, told again every 2 s,
// and told once when it is over.

import Essentials

/// What is wrong with a stream.
public enum MediaWarning: UInt8, Sendable, Hashable, CaseIterable {
    /// Much of what the peer sends does not come.
    case loss
    /// The peer reports that much of what we send does not come.
    case lossSent
    /// What is said is heard late.
    case delay
    /// We should be sending, and no packet leaves.
    case nothingSent
    /// The peer should be sending, and no packet comes.
    case nothingReceived
    /// Packets come, but from elsewhere than the peer said, and are not taken.
    case wrongAddress
    /// We are muted, and somebody speaks on our side.
    case muted
    /// Packets come with nothing but silence in them: the peer is muted, or has no microphone.
    case silenceReceived
}

/// When warnings begin and end.
public struct QualityWatchSettings: Sendable, Hashable {
    /// How long a leg is silent before that is told; how often what lasts is told again. Default 2 s.
    public var silence = Interval.milliseconds(2000)
    /// How long silence in the peer's packets lasts before it is told, once it has been heard. Default 15 s.
    public var pause = Interval.milliseconds(15_000)
    /// The share of packets lost in the last seconds, 0...1, from which on it is told; half of it ends it. Default 0.05.
    public var loss = 0.05
    /// Milliseconds from mouth to ear; three quarters of it end it. Default 400 (ITU-T G.114).
    public var delay = 400.0

    public init() {}
}

/// One second after another of what came, for figures of the last seconds.
struct RecentSeconds {
    struct Sums {
        var expected: Int64 = 0
        /// Lost or late, and of these what was made good.
        var missing: Int64 = 0
        var repaired: Int64 = 0
    }

    static let span = 5
    private var sums = [Sums](repeating: Sums(), count: RecentSeconds.span + 1)
    private var next = 0
    private var count = 0

    /// The figures since the beginning, each second.
    mutating func add(_ now: Sums) {
        sums[next] = now
        next = next + 1 < sums.count ? next + 1 : 0
        count = min(count + 1, sums.count)
    }

    /// What happened since the oldest second that is known.
    func change(to now: Sums) -> Sums {
        guard count > 0 else { return now }
        let oldest = sums[count < sums.count ? 0 : next]
        return Sums(
            expected: max(0, now.expected - oldest.expected), missing: max(0, now.missing - oldest.missing),
            repaired: max(0, now.repaired - oldest.repaired))
    }
}

/// Which warnings are on.
struct QualityWatch {
    private var since = [MonotonicTime?](repeating: nil, count: MediaWarning.allCases.count)
    private var toldAt = [MonotonicTime?](repeating: nil, count: MediaWarning.allCases.count)

    /// Ticks until the next look.
    var countdown = 0

    /// Whether `warning` is on.
    func isOn(_ warning: MediaWarning) -> Bool { toldAt[Int(warning.rawValue)] != nil }

    enum Change { case none, on, over }

    /// `holds`: the reason for `warning` is there at `now`; it must hold for `delay`, and is told again each `interval`.
    mutating func update(
        _ warning: MediaWarning, holds: Bool, for delay: Interval, every interval: Interval, at now: MonotonicTime
    ) -> Change {
        let index = Int(warning.rawValue)
        guard holds else {
            since[index] = nil
            defer { toldAt[index] = nil }
            return toldAt[index] == nil ? .none : .over
        }
        let start = since[index] ?? now
        since[index] = start
        guard now - start >= delay else { return .none }
        if let told = toldAt[index], now - told < interval { return .none }
        toldAt[index] = now
        return .on
    }
}
