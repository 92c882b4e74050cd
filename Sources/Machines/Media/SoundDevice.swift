// SPDX-License-Identifier: Apache-2.0

import Essentials

/// A loudspeaker and a microphone as the bridge sees them. Called on the thread that ticks: nothing here waits or allocates.
public protocol SoundDevice: AnyObject, Sendable {
    /// Gives a frame to the loudspeaker.
    func play(_ frame: Span<Int16>)
    /// Fills a frame with what the microphone heard; silence where nothing is there. False: the whole frame is silence.
    func capture(_ frame: inout [Int16]) -> Bool
    /// How the device is now; any thread.
    var state: SoundDeviceState { get }
    /// What went wrong with the sound so far; any thread.
    var figures: SoundDeviceFigures { get }
    /// The port was closed: nothing follows. May wait for the sound server; never on the thread that ticks.
    func close()
}

/// How a sound device is.
public enum SoundDeviceState: Sendable, Hashable {
    /// On its way to the sound server: silent, and nothing is lost that matters.
    case opening
    /// Sound goes out and comes in.
    case ready
    /// Half of it works; the reason tells which half does not.
    case degraded(reason: String)
    /// It is silent from now on: no sound server, no such device, or it is gone.
    case failed(reason: String)
}

/// What a sound device counts.
public struct SoundDeviceFigures: Sendable, Hashable {
    /// Times that a side had nothing in time: an audible gap.
    public var underruns: UInt64 = 0
    /// Samples left out because the clocks of device and bridge differ, or somebody was slow.
    public var dropped: UInt64 = 0
    /// Samples that went to the loudspeaker.
    public var played: UInt64 = 0
    /// Samples that came from the microphone.
    public var captured: UInt64 = 0

    public init() {}
}

/// A device of the bridge: what it hears goes to the loudspeaker, what the microphone hears comes out.
final class DevicePort: BridgePort {
    private var device: (any SoundDevice)?

    override var consumes: Bool { device != nil }

    func open(_ device: any SoundDevice) { self.device = device }

    override func produce(now: MonotonicTime, _ outbox: MediaOutbox) {
        guard let device else { return }
        isSilent = !device.capture(&output)
    }

    override func consume(_ frame: [Int16], isSilent: Bool, now: MonotonicTime, _ outbox: MediaOutbox) { device?.play(frame.span) }

    override func close(now: MonotonicTime, _ outbox: MediaOutbox) { device = nil }
}
