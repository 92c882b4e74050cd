// SPDX-License-Identifier: Apache-2.0

/// A generator of numbers that repeats itself for the same seed (Steele, Lea, Flood 2014: SplitMix64).
///
/// For tests, simulations and benchmarks only: what it gives can be foretold.
package struct SplitMix64: RandomNumberGenerator, Sendable {
    package var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
        return mixed ^ mixed >> 31
    }
}
