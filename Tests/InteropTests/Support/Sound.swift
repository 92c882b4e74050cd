// SPDX-License-Identifier: Apache-2.0

import Foundation
import HandsetCommand
import Testing

/// Sound in files, and whether one holds what another said.
enum Sound {
    /// The samples of a 16-bit WAV file at 8 kHz; one at 16 or 48 kHz is brought down to 8. Of several channels the first counts.
    static func read(_ path: String) throws -> [Int16] {
        let data = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        guard data.count > 44 else { throw Subprocess.Failure(description: "\(path) holds no sound") }
        let channels = max(1, Int(data[22]))
        let rate = Int(data[24]) | Int(data[25]) << 8
        var position = 12
        while position + 8 <= data.count {
            let isData = Array(data[position..<position + 4]) == Array("data".utf8)
            let size = (0..<4).reduce(0) { $0 | Int(data[position + 4 + $1]) << (8 * $1) }
            position += 8
            if isData { break }
            position += size + size % 2
        }
        // The size of a file that is still being written may be unknown: what is there counts.
        let samples = stride(from: position, to: data.count - 1, by: 2 * channels).map {
            Int16(truncatingIfNeeded: Int(data[$0]) | Int(data[$0 + 1]) << 8)
        }
        switch rate {
        case 8000: return samples
        case 16_000: return halved(samples)
        case 48_000: return halved(thirds(samples))
        default: throw Subprocess.Failure(description: "\(path) has \(rate) samples a second")
        }
    }

    /// Every third sample behind a mean of three: what is above 8 kHz is weak in speech.
    private static func thirds(_ samples: [Int16]) -> [Int16] {
        stride(from: 0, to: samples.count - 2, by: 3).map { (index: Int) -> Int16 in
            let sum: Int = Int(samples[index]) + Int(samples[index + 1]) + Int(samples[index + 2])
            return Int16(sum / 3)
        }
    }

    /// Every second sample behind a windowed-sinc low pass.
    private static func halved(_ samples: [Int16]) -> [Int16] {
        let taps = (-24...24).map { tap -> Double in
            let x = Double(tap)
            let sinc = tap == 0 ? 0.47 : sin(.pi * 0.47 * x) / (.pi * x)
            return sinc * (0.54 + 0.46 * cos(.pi * x / 24))
        }
        return stride(from: 0, to: samples.count, by: 2).map { center in
            var sum = 0.0
            for (index, tap) in taps.enumerated() {
                let position = center + index - 24
                if samples.indices.contains(position) { sum += tap * Double(samples[position]) }
            }
            return Int16(clamping: Int(sum.rounded()))
        }
    }

    /// How many whole seconds of `said` that are not silent are found in `heard`, of how many that were looked for.
    static func found(
        _ said: [Int16], in heard: [Int16], seconds: Int, correlation: Double = 0.95, within offset: Int = 3
    ) -> (found: Int, of: Int) {
        let reference = Array(said.prefix(seconds * 8000))
        let windows = SpeechComparison.windows(of: reference, in: heard, window: 8000, maximumOffset: offset * 8000, slack: 1600)
        return (windows.filter { $0.correlation >= correlation }.count, windows.count)
    }
}

/// Expects most of what was said to have been heard: peers' jitter buffers may slip now and then.
///
/// - Parameters:
///   - within: how many seconds into the recording it may begin at the latest.
///   - share: how many of the seconds must be found.
func expectHeard(
    _ said: String, in recording: String, seconds: Int, correlation: Double = 0.95, within offset: Int = 3, share: Double = 0.7,
    sourceLocation: SourceLocation = #_sourceLocation
) throws {
    let (found, all) = Sound.found(
        try Sound.read(said), in: try Sound.read(recording), seconds: seconds, correlation: correlation, within: offset)
    #expect(
        all >= max(1, seconds / 2) && Double(found) >= Double(all) * share, "\(found) of \(all) seconds found in \(recording)",
        sourceLocation: sourceLocation)
}
