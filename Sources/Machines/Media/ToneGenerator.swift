// SPDX-License-Identifier: Apache-2.0

/// Two sines with a cadence, one sample after another.
struct ToneGenerator {
    private let step: (Double, Double)
    private let amplitude: Int32
    private let on: Int
    private let off: Int
    private var phase = (0.0, 0.0)
    private var position = 0
    /// One turn of a sine, scaled by 2¹⁵.
    private let table: [Int16]

    private static let table: [Int16] = (0..<1024).map {
        Int16(clamping: Int((Mathematics.sine(Double($0) * Double.pi / 512) * 32767).rounded()))
    }

    init(_ tone: Tone, rate: Int) {
        let usable = 0.0...Double(rate) / 2
        func turns(_ frequency: Double) -> Double { usable.contains(frequency) ? frequency / Double(rate) * 1024 : 0 }
        step = (turns(tone.frequency), turns(tone.secondFrequency))
        // 0 dBm0 is 3.14 dB below the largest sine (ITU-T G.711).
        let level = tone.level.isNaN ? -63 : min(max(tone.level, -63), 0) - 3.14
        amplitude = Int32((32767 * Mathematics.amplitude(decibels: level)).rounded())
        on = max(1, min(max(tone.onMilliseconds, 0), 3_600_000)) * rate / 1000
        off = min(max(tone.offMilliseconds, 0), 3_600_000) * rate / 1000
        table = Self.table
    }

    /// The two frequencies of a key (ITU-T Q.23), each at −9 dBm0; nil: it is no key.
    static func key(_ code: UInt8) -> Tone? {
        guard code < 16 else { return nil }
        let rows: [Double] = [697, 770, 852, 941]
        let columns: [Double] = [1209, 1336, 1477, 1633]
        let places: [(Int, Int)] = [
            (3, 1), (0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2), (3, 0), (3, 2),
            (0, 3), (1, 3), (2, 3), (3, 3),
        ]
        let (row, column) = places[Int(code)]
        return Tone(frequency: rows[row], secondFrequency: columns[column], level: -9, onMilliseconds: 3_600_000)
    }

    mutating func fill(_ samples: inout [Int16], at offset: Int, count: Int) {
        guard offset >= 0, offset + count <= samples.count else { return }
        for index in offset..<offset + count {
            var value: Int32 = 0
            if position < on || off == 0 {
                if step.0 > 0 { value &+= sample(&phase.0, step.0) }
                if step.1 > 0 { value &+= sample(&phase.1, step.1) }
            }
            samples[index] = Int16(clamping: value)
            position += 1
            if position >= on + off { position = 0 }
        }
    }

    private func sample(_ phase: inout Double, _ step: Double) -> Int32 {
        let whole = Int(phase)
        let low = Int32(table[whole & 1023])
        let high = Int32(table[(whole + 1) & 1023])
        let between = low &+ Int32(Double(high &- low) * (phase - Double(whole)))
        phase += step
        if phase >= 1024 { phase -= 1024 }
        return (between &* amplitude) &>> 15
    }
}
