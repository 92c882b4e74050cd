// SPDX-License-Identifier: Apache-2.0

import Essentials

/// One port of the bridge. Each tick it first gives its frame (`produce`), then hears its mix (`consume`).
class BridgePort {
    let id: PortID
    /// The frame that others hear; kept from tick to tick.
    final var output: [Int16]
    /// `output` is all zero.
    final var isSilent = true
    /// Factor for `output`, in 1/4096.
    final var gain: Int32 = 4096
    /// Factor for what it hears, in 1/4096.
    final var volume: Int32 = 4096
    final var meter: LevelMeter?
    /// Indices of the ports that this one hears, in order.
    final var sources: [Int] = []
    /// The port whose hearing this one shares.
    final var tapped: BridgePort?

    init(id: PortID, frameSize: Int) {
        self.id = id
        output = [Int16](repeating: 0, count: frameSize)
    }

    /// Whether `consume` is wanted.
    var consumes: Bool { false }
    /// What it is given goes nowhere: a tap on it hears nothing.
    var isMuted: Bool { false }
    func produce(now: MonotonicTime, _ outbox: MediaOutbox) {}
    func consume(_ frame: [Int16], isSilent: Bool, now: MonotonicTime, _ outbox: MediaOutbox) {}
    func close(now: MonotonicTime, _ outbox: MediaOutbox) {}

    /// Produces and applies the gain.
    final func prepare(now: MonotonicTime, _ outbox: MediaOutbox) {
        produce(now: now, outbox)
        guard gain != 4096, !isSilent else { return }
        if gain == 0 {
            Samples.clear(&output)
            isSilent = true
        } else {
            Samples.scale(&output, by: gain)
        }
    }

    /// The gain in dB, −infinity...+24; what is no number changes nothing.
    final func setGain(decibels: Double) { gain = Self.factor(decibels: decibels) ?? gain }

    /// The same for what it hears.
    final func setVolume(decibels: Double) { volume = Self.factor(decibels: decibels) ?? volume }

    private static func factor(decibels: Double) -> Int32? {
        guard !decibels.isNaN else { return nil }
        return decibels < -72 ? 0 : Int32((4096 * Mathematics.amplitude(decibels: min(decibels, 24))).rounded())
    }
}

/// Gives out what it heard one frame before.
final class EchoPort: BridgePort {
    private var heard: [Int16]
    private var heardSilence = true

    override init(id: PortID, frameSize: Int) {
        heard = [Int16](repeating: 0, count: frameSize)
        super.init(id: id, frameSize: frameSize)
    }

    override var consumes: Bool { true }

    override func produce(now: MonotonicTime, _ outbox: MediaOutbox) {
        swap(&output, &heard)
        isSilent = heardSilence
    }

    override func consume(_ frame: [Int16], isSilent: Bool, now: MonotonicTime, _ outbox: MediaOutbox) {
        Samples.copy(frame, to: &heard)
        heardSilence = isSilent
    }
}

/// Gives a tone.
final class TonePort: BridgePort {
    private var generator: ToneGenerator

    init(id: PortID, frameSize: Int, tone: Tone) {
        generator = ToneGenerator(tone, rate: frameSize * 100)
        super.init(id: id, frameSize: frameSize)
        isSilent = false
    }

    override func produce(now: MonotonicTime, _ outbox: MediaOutbox) {
        generator.fill(&output, at: 0, count: output.count)
        isSilent = false
    }
}

/// Plays samples from memory, once or over and over.
final class PlayerPort: BridgePort {
    private var samples: [Int16] = []
    private var loops = false
    private var resampler: Resampler?
    private var isLoaded = false
    private var isStarted = false
    private var isTold = false
    /// The next sample; behind the end, the resampler still gives what it holds.
    private var position = 0
    private var chunk: [Int16] = []

    /// Gives the player its content; if it was started before, it begins now.
    func load(_ samples: [Int16], filter: ResamplerFilter?, loops: Bool) {
        self.samples = samples
        self.loops = loops
        resampler = filter.map { Resampler($0) }
        chunk = [Int16](repeating: 0, count: max(output.count, (filter?.inputRate ?? 0) / 100 + 64))
        isLoaded = true
        rewind()
    }

    /// Plays from the first sample on.
    func start() {
        isStarted = true
        rewind()
    }

    private func rewind() {
        position = 0
        isTold = false
        if let filter = resampler?.filter { resampler = Resampler(filter) }
    }

    override func produce(now: MonotonicTime, _ outbox: MediaOutbox) {
        guard isLoaded, isStarted else {
            if !isSilent { Samples.clear(&output) }
            isSilent = true
            return
        }
        if !isTold {
            isTold = true
            outbox.tell(.playbackStarted(id))
        }
        isSilent = false
        if resampler != nil {
            let needed = min(chunk.count, resampler?.inputNeeded(for: output.count) ?? 0)
            read(needed)
            let made = resampler?.process(chunk, 0..<needed, into: &output) ?? 0
            for index in made..<max(made, output.count) { output[index] = 0 }
        } else {
            read(output.count)
            Samples.copy(chunk, 0..<output.count, to: &output)
        }
        let tail = (resampler?.filter.tapsPerPhase ?? 0) / 2
        if position >= samples.count + tail, !loops || samples.isEmpty {
            isStarted = false
            outbox.tell(.playbackFinished(id))
        }
    }

    /// Puts the next `count` samples into `chunk`; zeros after the end.
    private func read(_ count: Int) {
        var made = 0
        while made < count {
            if loops, position >= samples.count, !samples.isEmpty { position = 0 }
            let part = min(count - made, max(0, samples.count - position))
            if part > 0 {
                Samples.copy(samples, position..<position + part, to: &chunk, at: made)
                made += part
                position += part
            } else {
                for index in made..<count { chunk[index] = 0 }
                position += count - made
                made = count
            }
        }
    }
}
