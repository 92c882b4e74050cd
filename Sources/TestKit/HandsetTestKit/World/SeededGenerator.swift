// SPDX-License-Identifier: Apache-2.0

import Essentials

/// A generator of random numbers that repeats itself for the same seed: xoshiro256**, started by SplitMix64.
///
/// For simulations and tests only: what it gives can be foretold.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: (UInt64, UInt64, UInt64, UInt64)

    public init(seed: UInt64) {
        var mixer = SplitMix64(seed: seed)
        state = (mixer.next(), mixer.next(), mixer.next(), mixer.next())
    }

    /// A generator of its own for a named part, so that adding one part does not change the luck of the others.
    public init(seed: UInt64, for name: String) {
        self.init(seed: seed ^ fingerprint(name.utf8))
    }

    public mutating func next() -> UInt64 {
        func rotate(_ value: UInt64, _ count: UInt64) -> UInt64 { value << count | value >> (64 - count) }
        let result = rotate(state.1 &* 5, 7) &* 9
        let shifted = state.1 << 17
        state.2 ^= state.0
        state.3 ^= state.1
        state.1 ^= state.2
        state.0 ^= state.3
        state.2 ^= shifted
        state.3 = rotate(state.3, 45)
        return result
    }

    /// A number in 0..<1.
    public mutating func fraction() -> Double { Double(next() >> 11) * 0x1p-53 }

    /// True in `share` of the cases, 0...1.
    public mutating func happens(_ share: Double) -> Bool { share > 0 && fraction() < share }
}

/// FNV-1a, 64 bits: the short form of octets in traces. Not a secret, the same in every process.
func fingerprint(_ bytes: some Sequence<UInt8>) -> UInt64 {
    bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
}
