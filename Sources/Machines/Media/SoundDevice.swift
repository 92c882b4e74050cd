// SPDX-License-Identifier: Apache-2.0

import Essentials

/// A loudspeaker and a microphone as the bridge sees them. Called on the thread that ticks: nothing here waits or allocates.
public protocol SoundDevice: AnyObject, Sendable {
    /// Gives a frame to the loudspeaker.
    func play(_ frame: Span<Int16>)
    /// Fills a frame with what the microphone heard; silence where nothing is there. False: the whole frame is silence.
    func capture(_ frame: inout [Int16]) -> Bool
    /// Milliseconds from `play` of a frame to the `capture` of its echo, as far as is known; 0: not known. The thread that ticks.
    var delayMilliseconds: Int { get }
    /// How the device is now; any thread.
    var state: SoundDeviceState { get }
    /// What went wrong with the sound so far; any thread.
    var figures: SoundDeviceFigures { get }
    /// The port was closed: nothing follows. May wait for the sound server; never on the thread that ticks.
    func close()
}

extension SoundDevice {
    public var delayMilliseconds: Int { 0 }
}

/// How a sound device is.
public enum SoundDeviceState: Sendable, Hashable {
    /// On its way to the sound server: silent, and nothing is lost that matters.
    case opening
    /// Sound goes out and comes in.
    case ready
    /// Half of it works; the reason tells which half does not.
    case degraded(reason: String)
    /// It is silent: no sound server, no such device, or it is gone. `opening` follows if it comes back.
    case failed(reason: String)
}

/// What a sound device counts.
public struct SoundDeviceFigures: Sendable, Hashable {
    /// Times that a side had nothing in time: an audible gap.
    public var underruns: UInt64 = 0
    /// Samples left out at once because somebody was slow.
    public var dropped: UInt64 = 0
    /// Single samples put in or left out to follow the device's clock.
    public var adjusted: UInt64 = 0
    /// Samples that went to the loudspeaker.
    public var played: UInt64 = 0
    /// Samples that came from the microphone.
    public var captured: UInt64 = 0

    public init() {}
}

/// One device that could be opened.
public struct SoundDeviceInfo: Sendable, Hashable {
    public enum Direction: String, Sendable { case output, input }

    /// What `openDevice` takes.
    public var name: String
    /// For people.
    public var description: String
    public var direction: Direction
    /// `pulse` or `alsa`.
    public var backend: String
    /// It is the system's own choice.
    public var isDefault: Bool

    public init(name: String, description: String, direction: Direction, backend: String, isDefault: Bool) {
        self.name = name
        self.description = description
        self.direction = direction
        self.backend = backend
        self.isDefault = isDefault
    }
}

/// A device of the bridge: what it hears goes to the loudspeaker, what the microphone hears comes out.
///
///     microphone ─▶ to the bridge's rate ─▶ processor.near ─▶ bridge ─▶ processor.far ─▶ to the device's rate ─▶ loudspeaker
final class DevicePort: BridgePort {
    private var device: (any SoundDevice)?
    private var playing: Resampler?
    private var hearing: Resampler?
    private var played: [Int16] = []
    private var heard: [Int16] = []
    var processor: (any VoiceProcessor)?

    override var consumes: Bool { device != nil }

    func open(_ device: any SoundDevice, rate: Int, playing: ResamplerFilter?, hearing: ResamplerFilter?) {
        self.device = device
        self.playing = playing.map { Resampler($0) }
        self.hearing = hearing.map { Resampler($0) }
        played = [Int16](repeating: 0, count: rate / 100 + 2)
        heard = [Int16](repeating: 0, count: rate / 100)
    }

    override func produce(now: MonotonicTime, _ outbox: MediaOutbox) {
        guard let device else { return }
        if hearing == nil {
            isSilent = !device.capture(&output)
        } else {
            // A microphone of another rate gives as much as the next frame needs, one sample more or less.
            let needed = hearing?.inputNeeded(for: output.count) ?? 0
            if heard.count > needed { heard.removeLast(heard.count - needed) }
            while heard.count < needed { heard.append(0) }
            isSilent = !device.capture(&heard)
            let made = hearing?.process(heard.span, into: &output) ?? 0
            for index in made..<max(made, output.count) { output[index] = 0 }
        }
        // It also works on silence: the canceller and the noise estimate would lose their place.
        if let processor {
            processor.near(&output, delay: device.delayMilliseconds)
            isSilent = false
        }
    }

    override func consume(_ frame: [Int16], isSilent: Bool, now: MonotonicTime, _ outbox: MediaOutbox) {
        guard let device else { return }
        processor?.far(frame.span)
        guard playing != nil else { return device.play(frame.span) }
        let made = playing?.process(frame.span, into: &played) ?? 0
        let samples = played
        device.play(samples.span.extracting(0..<min(made, samples.count)))
    }

    override func close(now: MonotonicTime, _ outbox: MediaOutbox) {
        device = nil
        processor = nil
    }
}
