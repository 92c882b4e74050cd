// SPDX-License-Identifier: Apache-2.0

/// Comfort noise (RFC 3389): noise of the level that the peer tells, white (the spectral part is not used), from a
/// generator of its own, so that it repeats with its seed.
struct ComfortNoise {
    private var state: UInt32
    /// Largest amplitude aimed at, and the one that is reached by now.
    private var aim: Int32 = 0
    private var reached: Int32 = 0

    init(seed: UInt32) { state = seed | 1 }

    /// `level` in −dBov, 0...127; larger ones are silence.
    mutating func setLevel(_ level: UInt8) {
        guard level < 90 else {
            aim = 0
            return
        }
        // Evenly distributed noise of amplitude a has the power a²/3.
        let amplitude = 32767 * Mathematics.amplitude(decibels: -Double(level)) * 1.7320508075688772
        aim = Int32(min(amplitude, 32767).rounded())
    }

    mutating func silence() { aim = 0 }

    mutating func fill(_ samples: inout [Int16], at offset: Int, count: Int) {
        guard offset >= 0, offset + count <= samples.count else { return }
        if aim == 0, reached == 0 {
            for index in offset..<offset + count { samples[index] = 0 }
            return
        }
        var noise = state
        for index in offset..<offset + count {
            reached += (aim - reached).signum()
            if (index - offset) & 7 == 0 { reached += (aim - reached) / 16 }
            noise = noise &* 1_664_525 &+ 1_013_904_223
            let value = Int32(Int16(truncatingIfNeeded: noise &>> 16)) &* (reached &>> 2)
            samples[index] = Int16(clamping: value &>> 13)
        }
        state = noise
    }
}
