// SPDX-License-Identifier: Apache-2.0

import Essentials
import Foundation
import Media
import Testing
import VoiceProcessing

/// A room in virtual time: what the loudspeaker is given comes back into the microphone delayed, filtered and quieter.
struct EchoRoom {
    /// From `far` to the microphone, in milliseconds: the device and the way through the air.
    var delay = 60
    /// The echo's level below the far end's.
    var loss = 10.0
    /// The time in which the room's reverberation falls by 60 dB, in seconds.
    var reverberation = 0.2
    /// How the device's delay is told to the processor.
    var toldDelay = 60
    var rate = 16_000

    /// The room's answer to a click, of unit energy: the direct way, 120 reflections, and the dull sound of a small loudspeaker.
    func response(seed: UInt64 = 1) -> [(lag: Int, gain: Double)] {
        var random = SplitMix64(seed: seed)
        var taps: [(lag: Int, gain: Double)] = [(0, 0.7), (1, 0.4), (2, 0.1)]
        for _ in 0..<120 {
            let lag = Int.random(in: 3..<Int(reverberation * 0.7 * Double(rate)), using: &random)
            let decay = pow(10, -3 * Double(lag) / (reverberation * Double(rate)))
            taps.append((lag, Double.random(in: -0.5...0.5, using: &random) * decay))
        }
        let energy = taps.reduce(0) { $0 + $1.gain * $1.gain }.squareRoot()
        return taps.map { ($0.lag, $0.gain / energy) }
    }

    func echo(of far: [Int16]) -> [Double] {
        let taps = response()
        let factor = pow(10, -loss / 20)
        let lag = delay * rate / 1000
        var result = [Double](repeating: 0, count: far.count)
        for tap in taps {
            let start = lag + tap.lag
            let gain = tap.gain * factor
            for index in start..<max(start, far.count) { result[index] += gain * Double(far[index - start]) }
        }
        return result
    }

    /// What the processor leaves of `near` with the echo of `far`; without a processor all of it.
    func run(_ processor: (any VoiceProcessor)?, far: [Int16], near: [Int16]) -> (microphone: [Int16], output: [Int16]) {
        let echo = echo(of: far)
        let microphone = zip(echo, near).map { Int16(clamping: Int(($0 + Double($1)).rounded())) }
        var output: [Int16] = []
        let frame = rate / 100
        for start in stride(from: 0, to: microphone.count - frame + 1, by: frame) {
            var piece = Array(microphone[start..<start + frame])
            processor?.near(&piece, delay: toldDelay)
            processor?.far(Array(far[start..<start + frame]).span)
            output += piece
        }
        return (microphone, output)
    }

    static func level(_ samples: ArraySlice<Int16>) -> Double {
        10 * log10(samples.reduce(1e-3) { $0 + Double($1) * Double($1) } / Double(max(samples.count, 1)))
    }
}

/// Speech of Debian's Asterisk prompts (8 kHz), at 16 kHz.
enum Speech {
    static func prompt(_ voice: String, _ name: String = "demo-instruct") throws -> [Int16] {
        let path = "/usr/share/asterisk/sounds/\(voice)/\(name).wav"
        let audio = try WAVAudio(parsing: [UInt8](Data(contentsOf: URL(filePath: path))))
        return Resampler.converted(audio.samples, from: audio.rate, to: 16_000)
    }

    static let far = "en_US_f_Allison"
    static let near = "it_IT_m_Carlo"
}
