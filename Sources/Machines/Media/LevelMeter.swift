// SPDX-License-Identifier: Apache-2.0

import Essentials

/// How loud a port was lately, in dB below the largest sample that there can be; −96 for silence.
public struct AudioLevels: Sendable, Hashable {
    public static let silence = -96.0

    /// What the port gives to others: for a device the microphone.
    public var givenPeak = silence
    public var givenLevel = silence
    /// What it hears: for a device the loudspeaker.
    public var heardPeak = silence
    public var heardLevel = silence

    public init() {}
}

/// Gathers the levels of one port and says when they are to be told.
struct LevelMeter {
    private struct Side {
        var peak: Int32 = 0
        var squares: Int64 = 0
        var count: Int64 = 0

        mutating func take(_ frame: [Int16]) {
            let samples = frame.span
            for index in 0..<samples.count {
                let value = Int32(samples[index])
                peak = max(peak, max(value, 0 &- value))
                squares &+= Int64(value &* value)
            }
            count &+= Int64(samples.count)
        }

        var decibels: (peak: Double, level: Double) {
            let mean = count == 0 ? 0 : (Double(squares) / Double(count)).squareRoot()
            func below(_ amplitude: Double) -> Double {
                amplitude < 0.5 ? AudioLevels.silence : max(AudioLevels.silence, Mathematics.decibels(amplitude: amplitude / 32768))
            }
            return (below(Double(peak)), below(mean))
        }
    }

    private let period: Interval
    private var next: MonotonicTime
    private var given = Side()
    private var heard = Side()

    init(period: Interval, now: MonotonicTime) {
        self.period = period
        next = now + period
    }

    mutating func gave(_ frame: [Int16], isSilent: Bool) { if !isSilent { given.take(frame) } else { given.count &+= Int64(frame.count) } }
    mutating func heard(_ frame: [Int16], isSilent: Bool) { if !isSilent { heard.take(frame) } else { heard.count &+= Int64(frame.count) } }

    /// The levels since the last time, when their time has come.
    mutating func due(at now: MonotonicTime) -> AudioLevels? {
        guard now >= next else { return nil }
        next = next + period < now ? now + period : next + period
        var levels = AudioLevels()
        (levels.givenPeak, levels.givenLevel) = given.decibels
        (levels.heardPeak, levels.heardLevel) = heard.decibels
        given = Side()
        heard = Side()
        return levels
    }
}
