// SPDX-License-Identifier: Apache-2.0
//
// How late packets come, and what delay follows from it. The transit of a packet is its arrival minus its timestamp; the
// least transit of the last seconds is the base, what is above it is lateness:
//
//     transit ┤      ·            ·        lateness of ·   ──▶ histogram, halved now and then
//             ┤  · ·   ·  · ·  ·     · ·                   ──▶ target = its 98th percentile, within the limits
//     base    ┤──·────────────·─────────

/// Arrival statistics of one timeline. Times are in microseconds on an arbitrary origin.
struct DelayEstimator {
    private static let binWidth: Int64 = 5_000
    private static let binCount = 160
    private static let halveAt: Int32 = 512
    /// The base forgets what is older than one to two of these.
    private static let baseSpan: Int64 = 4_000_000

    private let minimum: Int64
    private let maximum: Int64
    private let punctuality: Double
    private var bins = [Int32](repeating: 0, count: DelayEstimator.binCount)
    private var total: Int32 = 0
    private var untilCheck = 0
    private var current = Int64.max
    private var before = Int64.max
    private var spanStart = Int64.min
    /// The delay above the base that lets the wanted share of packets be in time.
    private(set) var target: Int64

    init(_ settings: JitterBufferSettings) {
        minimum = max(0, settings.minimumDelay.nanoseconds / 1000)
        maximum = max(minimum, settings.maximumDelay.nanoseconds / 1000)
        punctuality = min(max(settings.punctuality, 0.5), 1)
        target = minimum
    }

    /// The least transit of late; nil before the first packet.
    var base: Int64? {
        let least = min(current, before)
        return least == .max ? nil : least
    }

    /// Forgets everything but the lateness seen, for a new timeline.
    mutating func restart() {
        current = .max
        before = .max
        spanStart = .min
    }

    /// Takes the transit of one packet that arrived at `now`, and returns its lateness.
    mutating func observe(transit: Int64, at now: Int64) -> Int64 {
        if spanStart == .min { spanStart = now }
        if now - spanStart >= Self.baseSpan {
            spanStart = now
            before = current
            current = .max
        }
        current = min(current, transit)
        let lateness = max(0, transit - min(current, before))
        let bin = min(Self.binCount - 1, Int(lateness / Self.binWidth))
        bins[bin] += 1
        total += 1
        if total >= Self.halveAt { halve() }
        untilCheck -= 1
        if lateness > target || untilCheck <= 0 {
            target = percentile()
            untilCheck = 16
        }
        return lateness
    }

    private mutating func halve() {
        total = 0
        for index in 0..<Self.binCount {
            bins[index] /= 2
            total += bins[index]
        }
    }

    private func percentile() -> Int64 {
        var allowed = Int32((Double(total) * (1 - punctuality)).rounded(.down))
        var index = Self.binCount - 1
        while index > 0 {
            allowed -= bins[index]
            if allowed < 0 { break }
            index -= 1
        }
        // A packet in the lowest bin needs no delay of its own: the minimum covers it.
        let wanted = index == 0 ? 0 : Int64(index + 1) * Self.binWidth
        return min(max(wanted, minimum), maximum)
    }
}
