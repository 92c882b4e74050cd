// SPDX-License-Identifier: Apache-2.0
//
// How late packets come, and what delay follows from it. The transit of a packet is its arrival minus its timestamp; two
// things are kept of each of the last 8 s: its own transit, and the transit of whatever first told of it (itself, a copy
// in a later packet, or the packet behind it, which helps to conceal it):
//
//     transit ┤      ·      ×     ·        ── target: nearly all packets are there themselves (·), and of nearly all
//             ┤  · ·   ·  · ·  ·     · ·      that are lost there is what tells of them (×)
//     base    ┤──·────────────·─────────   ── the fastest
//
// So loss raises the target by a packet time if the next packet helps, and by as many as copies need. All is exact, not a
// histogram: one more late packet is seen at once, and what is older than the window is gone.

/// Arrival statistics of one timeline. Times are in microseconds on an arbitrary origin.
struct DelayEstimator {
    private struct Entry {
        var sequence: Int64 = -1
        /// .max: it did not come.
        var own = Int64.max
        /// .max: nothing came that tells of it; .min: it was no speech, so nobody waits for what tells of it.
        var any = Int64.max
    }

    /// Packets that are looked at, and the ring they are in.
    private static let window: Int64 = 400
    private static let ringSize = 512
    /// The share of the received packets of which nothing at all, not even what tells of them, may be there in time.
    private static let tooLate = 0.0076
    /// Shares of all packets, and of the lost, for whose helpers nobody waits.
    private static let missing = 0.0025
    private static let missingOfLost = 0.25
    private static let missingOfCopied = 0.05
    /// A spread that is so small is waited for whole.
    private static let smallSpread: Int64 = 8_000
    /// For ticks and clocks that are not exact.
    private static let margin: Int64 = 700

    private let minimum: Int64
    private let maximum: Int64
    private let punctuality: Double
    private var entries = [Entry](repeating: Entry(), count: DelayEstimator.ringSize)
    /// The first sequence number of the timeline: none before it is missing.
    private var first: Int64 = -1
    private var highest: Int64 = -1
    private var untilCheck = 0
    private var ownWorst = [Int64](repeating: 0, count: 24)
    private var anyWorst = [Int64](repeating: 0, count: 24)
    private var helpWorst = [Int64](repeating: 0, count: 24)
    /// The least transit of late; nil before the first packet.
    private(set) var base: Int64?
    /// The transit with which samples are best played.
    private(set) var target: Int64 = 0
    /// Copies came (RFC 2198).
    private var hasCopies = false
    /// Whether packets bring something of their own against loss (a copy): then a few more may be late.
    var isProtected = false

    init(_ settings: JitterBufferSettings) {
        minimum = max(0, settings.minimumDelay.nanoseconds / 1000)
        maximum = max(minimum, settings.maximumDelay.nanoseconds / 1000)
        punctuality = min(max(settings.punctuality, 0.95), 1)
    }

    /// By how much less than the target will do where it follows from jitter, which is not known more exactly.
    private(set) var slack: Int64 = 0

    /// Packets without copies come so irregularly that one that is missing may be on its way.
    var mayBeLate: Bool { !isProtected && spread > 15_000 }

    /// How far the target is above the fastest packet.
    var spread: Int64 { base.map { target - $0 } ?? 0 }

    /// Forgets everything, for a new timeline.
    mutating func restart() {
        for index in entries.indices { entries[index].sequence = -1 }
        first = -1
        highest = -1
        base = nil
        target = 0
        hasCopies = false
        untilCheck = 0
    }

    /// Takes the transit of a packet. `help`: it tells something of the packet before it, `duration` earlier.
    mutating func observe(sequence: Int64, transit: Int64, duration: Int64, helps: Bool) {
        guard sequence >= 0 else { return }
        if first < 0 { first = sequence }
        advance(to: sequence)
        guard sequence > highest - Self.window else { return }
        note(sequence, own: transit, any: transit)
        if helps, sequence > first, sequence - 1 > highest - Self.window { note(sequence - 1, own: .max, any: transit + duration) }
        if base == nil || transit < base ?? 0 { base = transit }
        untilCheck -= 1
        if transit > target || untilCheck <= 0 { check() }
    }

    /// Takes the transit of a copy of a packet that came with a later one.
    mutating func observeCopy(sequence: Int64, transit: Int64) {
        guard sequence >= 0, sequence <= highest, sequence > highest - Self.window else { return }
        note(sequence, own: .max, any: transit)
        hasCopies = true
        if transit > target { check() }
    }

    /// Takes note of a packet that is no speech (an event, noise): nothing is lost at its place. Events are late by what they last.
    mutating func pass(sequence: Int64) {
        guard sequence >= 0 else { return }
        if first < 0 { first = sequence }
        advance(to: sequence)
        guard sequence > highest - Self.window else { return }
        note(sequence, own: .max, any: .min)
    }

    private mutating func advance(to sequence: Int64) {
        guard sequence > highest else { return }
        if highest < 0 || sequence - highest >= Int64(Self.ringSize) {
            for index in entries.indices { entries[index].sequence = -1 }
        }
        highest = sequence
    }

    private mutating func note(_ sequence: Int64, own: Int64, any: Int64) {
        let index = Int(sequence) & (Self.ringSize - 1)
        if entries[index].sequence != sequence { entries[index] = Entry(sequence: sequence) }
        entries[index].own = min(entries[index].own, own)
        entries[index].any = min(entries[index].any, any)
    }

    private mutating func check() {
        untilCheck = 5
        let late = isProtected ? 1 - punctuality : (1 - punctuality) / 4
        guard
            let found = Self.measure(
                entries, highest - Self.window, late, hasCopies ? Self.missingOfCopied : Self.missingOfLost, &ownWorst, &anyWorst,
                &helpWorst)
        else { return }
        base = found.base
        let own = found.latest - found.base <= Self.smallSpread ? found.latest : max(found.own, found.any)
        let wanted = min(max(max(own, found.help) + Self.margin, found.base + minimum), found.base + maximum)
        follow(wanted, found.base, isExact: found.help >= own)
    }

    /// It rises at once if much is wanted, or if it is known exactly what; else it nears what is wanted within some seconds,
    /// because what follows from few late packets of many goes up and down by chance.
    private mutating func follow(_ wanted: Int64, _ base: Int64, isExact: Bool) {
        let (change, spread) = (wanted - target, wanted - base)
        slack = isExact || spread < 30_000 ? 0 : spread / 16
        if change > (isExact ? 0 : max(3_000, spread / 8)) || change < -max(8_000, spread / 3) || spread < 30_000 && change > 0 {
            target = wanted
        } else {
            target += change / 16
        }
    }

    /// Whether it did not come, and something told of it.
    private static func isLost(_ entry: Entry) -> Bool { entry.own == .max && entry.any != .max && entry.any != .min }

    /// The least and the largest transit, the one that all but the share `late` of the packets keep, the one within which
    /// there is anything of nearly all, and that within which there is what tells of the lost.
    private static func measure(
        _ entries: [Entry], _ oldest: Int64, _ late: Double, _ missingOfLost: Double, _ ownWorst: inout [Int64], _ anyWorst: inout [Int64],
        _ helpWorst: inout [Int64]
    ) -> (base: Int64, own: Int64, any: Int64, latest: Int64, help: Int64)? {
        let entries = entries.span
        var (owns, lost) = (0, 0)
        for index in 0..<entries.count where entries[index].sequence > oldest {
            if entries[index].own != .max { owns += 1 } else if isLost(entries[index]) { lost += 1 }
        }
        guard owns > 0 else { return nil }
        let last = ownWorst.count - 1
        let ownRank = min(Int(Double(owns) * late), last)
        let anyRank = min(Int(Double(owns) * tooLate), last)
        let helpRank = min(Int(max(Double(owns + lost) * missing, Double(lost) * missingOfLost)), last)
        for index in 0...last { (ownWorst[index], anyWorst[index], helpWorst[index]) = (.min, .min, .min) }
        var base = Int64.max
        for index in 0..<entries.count where entries[index].sequence > oldest {
            let (own, any) = (entries[index].own, entries[index].any)
            if own != .max {
                base = min(base, own)
                insert(own, into: &ownWorst, upTo: ownRank)
                insert(any, into: &anyWorst, upTo: anyRank)
            } else if isLost(entries[index]) {
                insert(any, into: &helpWorst, upTo: helpRank)
            }
        }
        return (base, ownWorst[ownRank], anyWorst[anyRank], ownWorst[0], helpWorst[helpRank])
    }

    /// Keeps the largest values in falling order, `last` + 1 of them.
    private static func insert(_ value: Int64, into worst: inout [Int64], upTo last: Int) {
        guard value > worst[last] else { return }
        var place = last
        while place > 0, worst[place - 1] < value {
            worst[place] = worst[place - 1]
            place -= 1
        }
        worst[place] = value
    }
}

/// The least delay of the last 160 to 320 ms: late ticks make the delay look larger than it is.
struct DelayWindow {
    private var current = Int64.max
    private var before = Int64.max
    private var count = 0

    mutating func add(_ delay: Int64) {
        current = min(current, delay)
        count += 1
        if count == 16 {
            count = 0
            before = current
            current = .max
        }
    }

    /// The delay was changed on purpose.
    mutating func shift(_ change: Int64) {
        if current != .max { current += change }
        if before != .max { before += change }
    }

    /// nil: not enough is known.
    var least: Int64? { before == .max ? nil : min(before, current) }
}
