// SPDX-License-Identifier: Apache-2.0

/// Where a machine's randomness comes from: handed in, so that one seed repeats a whole run.
///
/// In production it wraps a cryptographic generator; in the simulated world a seeded one. A machine and its parts
/// share one source, so it is a class; it belongs to one isolation like the machine itself.
public final class RandomSource: RandomNumberGenerator {
    private var generator: any RandomNumberGenerator

    public init(_ generator: any RandomNumberGenerator) { self.generator = generator }

    public func next() -> UInt64 { generator.next() }

    /// A number in `range`, evenly distributed.
    public func integer(in range: ClosedRange<Int>) -> Int {
        var source = self
        return Int.random(in: range, using: &source)
    }

    /// A number in 0..<1.
    public func fraction() -> Double { Double(next() >> 11) * 0x1p-53 }

    /// `count` characters of 0–9 and a–v, five random bits each: for tags, branches and Call-IDs.
    public func token(_ count: Int) -> String {
        var result = ""
        result.reserveCapacity(count)
        var bits: UInt64 = 0
        for index in 0..<count {
            if index % 12 == 0 { bits = next() }
            let digit = UInt8(truncatingIfNeeded: bits & 31)
            bits >>= 5
            result.unicodeScalars.append(Unicode.Scalar(digit < 10 ? 48 + digit : 87 + digit))
        }
        return result
    }
}
