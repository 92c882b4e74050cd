// SPDX-License-Identifier: Apache-2.0
//
// Keys in the audio (ITU-T Q.24): the power at the eight frequencies by Goertzel's method, in blocks of 20 ms, one block
// every 10 ms. A key counts when the same pair dominates for 40 ms, and ends when it is gone for 20 ms.

/// Finds keys in frames of 10 ms at the bridge's rate.
struct ToneDetector {
    struct Key {
        var digit: Character
        var milliseconds: Int
    }

    private static let frequencies: [Double] = [697, 770, 852, 941, 1209, 1336, 1477, 1633]
    private static let digits: [Character] = [
        "1", "2", "3", "A", "4", "5", "6", "B", "7", "8", "9", "C", "*", "0", "#", "D",
    ]

    private let coefficients: [Float]
    private let step: Int
    private var block: [Float]
    private var candidate = -1
    private var candidateFrames = 0
    private var active = -1
    private var activeFrames = 0
    private var missingFrames = 0

    init(rate: Int) {
        // 8000 samples a second are enough: the highest frequency is 1633 Hz.
        step = max(1, rate / 8000)
        coefficients = Self.frequencies.map { Float(2 * Mathematics.cosine(2 * Double.pi * $0 / 8000)) }
        block = [Float](repeating: 0, count: 160)
    }

    /// Takes 10 ms; gives a key when it has ended.
    mutating func process(_ frame: [Int16]) -> Key? {
        let isLoud = Self.shift(frame, step, into: &block)
        let found = isLoud ? Self.dominant(block, coefficients) : -1
        if found >= 0, found == candidate { candidateFrames += 1 } else { candidateFrames = found >= 0 ? 1 : 0 }
        candidate = found
        if active >= 0 {
            activeFrames += 1
            missingFrames = found == active ? 0 : missingFrames + 1
            guard missingFrames >= 3 || found >= 0 && found != active && candidateFrames >= 3 else { return nil }
            let key = Key(digit: Self.digits[active], milliseconds: (activeFrames - missingFrames) * 10)
            active = -1
            missingFrames = 0
            return key
        }
        if candidateFrames >= 3 {
            active = found
            activeFrames = candidateFrames + 1
        }
        return nil
    }

    /// Moves the block on by one frame, thinned to 8000 samples a second; true: it is loud enough for a key.
    private static func shift(_ frame: [Int16], _ step: Int, into block: inout [Float]) -> Bool {
        let frame = frame.span
        var block = block.mutableSpan
        var power: Float = 0
        for index in 0..<80 { block[index] = block[index + 80] }
        for index in 0..<80 {
            var sum: Float = 0
            for tap in 0..<step where index * step + tap < frame.count { sum += Float(frame[index * step + tap]) }
            let value = sum / Float(step)
            block[80 + index] = value
            power += value * value
        }
        // −36 dBm0 for both tones together.
        return power / 80 > 180 * 180
    }

    /// The index of the key whose two tones make up most of the block; −1: none.
    private static func dominant(_ block: [Float], _ coefficients: [Float]) -> Int {
        let block = block.span
        let coefficients = coefficients.span
        var total: Float = 0
        for index in 0..<block.count { total += block[index] * block[index] }
        var best = (low: -1, high: -1)
        var power: (low: Float, high: Float, second: Float) = (0, 0, 0)
        for tone in 0..<8 {
            let factor = coefficients[tone]
            var (last, before): (Float, Float) = (0, 0)
            for index in 0..<block.count {
                let value = block[index] + factor * last - before
                before = last
                last = value
            }
            let value = last * last + before * before - factor * last * before
            if tone < 4 {
                if value > power.low {
                    (best.low, power.second, power.low) = (tone, max(power.second, power.low), value)
                } else {
                    power.second = max(power.second, value)
                }
            } else {
                if value > power.high {
                    (best.high, power.second, power.high) = (tone - 4, max(power.second, power.high), value)
                } else {
                    power.second = max(power.second, value)
                }
            }
        }
        guard best.low >= 0, best.high >= 0 else { return -1 }
        // A sine of power p over n samples gives p·n/2 here; both together must be most of what there is.
        let share = (power.low + power.high) * 2 / (Float(block.count) * max(total, 1))
        let twist = power.low / max(power.high, 1)
        guard share > 0.82, twist > 0.15, twist < 6.5 else { return -1 }
        guard power.second * 4 < min(power.low, power.high) else { return -1 }
        return best.low * 4 + best.high
    }
}
