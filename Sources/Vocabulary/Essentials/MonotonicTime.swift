// SPDX-License-Identifier: Apache-2.0

/// A point on a clock that only runs forward, in nanoseconds since an origin of no meaning.
///
/// Machines never read a clock: every input carries the `MonotonicTime` at which it happened, so a test or a
/// simulation may let an hour pass in a microsecond.
public struct MonotonicTime: Hashable, Comparable, Sendable {
    /// Nanoseconds since the origin of the clock.
    public var nanoseconds: Int64

    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// The origin of the clock: where virtual time starts.
    public static let zero = MonotonicTime(nanoseconds: 0)

    /// Later than any time that is reached.
    public static let distantFuture = MonotonicTime(nanoseconds: .max)

    public static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }

    /// The time `interval` later; saturates at the ends of the range instead of trapping.
    public static func + (time: Self, interval: Interval) -> Self {
        let (sum, overflow) = time.nanoseconds.addingReportingOverflow(interval.nanoseconds)
        guard overflow else { return Self(nanoseconds: sum) }
        return Self(nanoseconds: interval.nanoseconds < 0 ? .min : .max)
    }

    /// The time `interval` earlier; saturates like `+`.
    public static func - (time: Self, interval: Interval) -> Self { time + Interval(nanoseconds: -interval.nanoseconds) }

    /// How long after `earlier` this time is; negative if it is before.
    public static func - (later: Self, earlier: Self) -> Interval {
        let (difference, overflow) = later.nanoseconds.subtractingReportingOverflow(earlier.nanoseconds)
        guard overflow else { return Interval(nanoseconds: difference) }
        return Interval(nanoseconds: later < earlier ? .min : .max)
    }

    public static func += (time: inout Self, interval: Interval) { time = time + interval }
}

/// A length of time in nanoseconds: ±292 years.
///
/// The standard library's `Duration` counts attoseconds in 128 bits, which costs a machine more than the rest of a
/// timer; it is accepted and given at the public face.
public struct Interval: Hashable, Comparable, Sendable {
    public var nanoseconds: Int64

    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// The nearest interval to `duration`, saturating at the ends of the range.
    public init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflow2) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        nanoseconds = overflow || overflow2 ? (seconds < 0 ? .min : .max) : sum
    }

    public static let zero = Interval(nanoseconds: 0)

    public static func nanoseconds(_ count: Int64) -> Self { Self(nanoseconds: count) }
    public static func microseconds(_ count: Int64) -> Self { scaled(count, 1_000) }
    public static func milliseconds(_ count: Int64) -> Self { scaled(count, 1_000_000) }
    public static func seconds(_ count: Int64) -> Self { scaled(count, 1_000_000_000) }

    /// `count` seconds with a fraction; not a number is zero, what is out of range saturates.
    @_disfavoredOverload
    public static func seconds(_ count: Double) -> Self {
        let value = (count * 1e9).rounded()
        if value.isNaN { return .zero }
        if value >= 9.2e18 { return Self(nanoseconds: .max) }
        if value <= -9.2e18 { return Self(nanoseconds: .min) }
        return Self(nanoseconds: Int64(value))
    }

    /// The interval in seconds.
    public var seconds: Double { Double(nanoseconds) / 1e9 }

    /// The interval in milliseconds.
    public var milliseconds: Double { Double(nanoseconds) / 1e6 }

    /// The interval in whole milliseconds, rounded up, never negative: what a poll is given as its time limit.
    public var millisecondsRoundedUp: Int64 {
        nanoseconds <= 0 ? 0 : nanoseconds / 1_000_000 + (nanoseconds % 1_000_000 == 0 ? 0 : 1)
    }

    /// The standard library's form.
    public var duration: Duration { .nanoseconds(nanoseconds) }

    public static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }
    public static func + (left: Self, right: Self) -> Self { Self(nanoseconds: left.nanoseconds &+ right.nanoseconds) }
    public static func - (left: Self, right: Self) -> Self { Self(nanoseconds: left.nanoseconds &- right.nanoseconds) }
    public static func * (left: Self, factor: Int64) -> Self { scaled(factor, left.nanoseconds) }
    public static func / (left: Self, divisor: Int64) -> Self {
        Self(nanoseconds: divisor == 0 ? 0 : left.nanoseconds / divisor)
    }

    private static func scaled(_ count: Int64, _ unit: Int64) -> Self {
        let (product, overflow) = count.multipliedReportingOverflow(by: unit)
        return Self(nanoseconds: overflow ? ((count < 0) == (unit < 0) ? .max : .min) : product)
    }
}
