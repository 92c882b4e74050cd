// SPDX-License-Identifier: Apache-2.0

import Media
import Synchronization

/// A sound device made of files: `file:IN.wav,OUT.wav`. Its microphone gives IN from the first sample on and silence after its
/// end; what its loudspeaker is given is written to OUT. Either may be left out.
///
/// `@unchecked Sendable`: the position belongs to the thread that ticks.
final class FileDevice: SoundDevice, @unchecked Sendable {
    private let samples: [Int16]
    private let sink: RecordingSink?
    private let rate: Int
    private var position = 0
    private var resampler: Resampler?
    private var chunk: [Int16] = []
    private let played = Atomic<UInt64>(0)
    private let captured = Atomic<UInt64>(0)

    /// `rate`: of the bridge.
    init(_ audio: WAVAudio?, _ sink: RecordingSink?, rate: Int) {
        samples = audio?.samples ?? []
        self.sink = sink
        self.rate = rate
        guard let audio, audio.rate != rate else { return }
        let filter = ResamplerFilter(from: audio.rate, to: rate)
        resampler = Resampler(filter)
        chunk = [Int16](repeating: 0, count: audio.rate / 100 + filter.tapsPerPhase + 2)
    }

    /// The files that a name means; nil: it names none.
    static func files(_ name: String) -> (input: String, output: String)? {
        guard name.hasPrefix("file:") else { return nil }
        let parts = name.dropFirst(5).split(separator: ",", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        return (parts[0], parts.count == 2 ? parts[1] : "")
    }

    func play(_ frame: Span<Int16>) {
        sink?.write(frame, rate: rate)
        played.wrappingAdd(UInt64(frame.count), ordering: .relaxed)
    }

    func capture(_ frame: inout [Int16]) -> Bool {
        captured.wrappingAdd(UInt64(frame.count), ordering: .relaxed)
        guard resampler != nil else { return read(frame.count, into: &frame) }
        let needed = min(chunk.count, resampler?.inputNeeded(for: frame.count) ?? 0)
        let isThere = read(needed, into: &chunk)
        let made = resampler?.process(chunk, 0..<needed, into: &frame) ?? 0
        for index in made..<max(made, frame.count) { frame[index] = 0 }
        return isThere
    }

    /// The next `wanted` samples to the front of `target`, silence after the end; false: all of it is that.
    private func read(_ wanted: Int, into target: inout [Int16]) -> Bool {
        let count = max(0, min(wanted, samples.count - position))
        if count > 0 { Samples.copy(samples, position..<position + count, to: &target) }
        for index in count..<max(count, wanted) { target[index] = 0 }
        position += count
        return count > 0
    }

    var state: SoundDeviceState { .ready }

    var figures: SoundDeviceFigures {
        var result = SoundDeviceFigures()
        result.played = played.load(ordering: .relaxed)
        result.captured = captured.load(ordering: .relaxed)
        return result
    }

    func close() { sink?.close() }
}
