// SPDX-License-Identifier: Apache-2.0

import Essentials
import Foundation

/// Signals and measures for tests.
enum Signals {
    static func sine(_ frequency: Double, rate: Int, count: Int, amplitude: Double = 10000) -> [Int16] {
        (0..<count).map { Int16((sin(2 * .pi * frequency * Double($0) / Double(rate)) * amplitude).rounded()) }
    }

    /// Something like speech: a gliding voice in syllables with pauses, never twice the same.
    static func voice(rate: Int, seconds: Double, seed: UInt64 = 3) -> [Int16] {
        var random = SplitMix64(seed: seed)
        var result: [Int16] = []
        let total = Int(Double(rate) * seconds)
        var phase = 0.0
        while result.count < total {
            let length = Int.random(in: rate / 8...rate / 3, using: &random)
            let pitch = Double.random(in: 90...220, using: &random)
            let glide = Double.random(in: -0.2...0.2, using: &random)
            let weights = (1...12).map { _ in Double.random(in: 0.1...1, using: &random) }
            for index in 0..<length {
                let place = Double(index) / Double(length)
                phase += pitch * (1 + glide * place) / Double(rate)
                var value = 0.0
                for (harmonic, weight) in weights.enumerated() {
                    value += weight / Double(harmonic + 1) * sin(2 * .pi * phase * Double(harmonic + 1))
                }
                result.append(Int16(value * sin(.pi * place) * 6000))
            }
            let pause = Int.random(in: 0...rate / 8, using: &random)
            result += [Int16](repeating: 0, count: pause)
        }
        return Array(result[..<total])
    }

    static func power(_ samples: some Collection<Int16>) -> Double {
        samples.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(max(samples.count, 1))
    }

    static func correlation(_ first: ArraySlice<Int16>, _ second: ArraySlice<Int16>) -> Double {
        var (product, one, two) = (0.0, 0.0, 0.0)
        for (a, b) in zip(first, second) {
            product += Double(a) * Double(b)
            one += Double(a) * Double(a)
            two += Double(b) * Double(b)
        }
        return one == 0 || two == 0 ? 0 : product / (one * two).squareRoot()
    }

    /// The lag of `recorded` behind `reference`, up to `limit` samples, by their first second of sound.
    static func lag(_ reference: [Int16], _ recorded: [Int16], rate: Int, limit: Int) -> Int {
        let length = min(rate, reference.count)
        var best = (lag: 0, value: -1.0)
        for lag in 0...limit where lag + length <= recorded.count {
            let value = correlation(reference[0..<length], recorded[lag..<lag + length])
            if value > best.value { best = (lag, value) }
        }
        return best.lag
    }

    /// The power at `frequency` as a share of all.
    static func share(_ frequency: Double, _ samples: ArraySlice<Int16>, rate: Int) -> Double {
        var (real, imaginary, total) = (0.0, 0.0, 0.0)
        for (index, sample) in samples.enumerated() {
            let angle = 2 * Double.pi * frequency * Double(index) / Double(rate)
            real += Double(sample) * cos(angle)
            imaginary += Double(sample) * sin(angle)
            total += Double(sample) * Double(sample)
        }
        return total == 0 ? 0 : (real * real + imaginary * imaginary) * 2 / (Double(samples.count) * total)
    }
}
