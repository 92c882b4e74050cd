// SPDX-License-Identifier: Apache-2.0

import Essentials
import Media

/// Makes what works on a microphone's sound at a rate, or says why there is none.
public typealias VoiceProcessorFactory =
    @Sendable (_ wanted: VoiceProcessing, _ rate: Int) -> (processor: (any VoiceProcessor)?, state: VoiceProcessingState)

/// The settings of a media runtime.
public struct MediaRuntimeConfiguration: Sendable {
    /// The engine's own.
    public var engine: MediaConfiguration
    /// Where RTP and RTCP sockets are bound. Unspecified: every address; then the one told in `streamOpened` is that of
    /// the default route.
    public var address: IPAddress
    /// Whether `streamOpened` tells the unspecified address where that is bound: for a phone that is told the machine's
    /// addresses itself (`NetworkState`).
    public var tellsUnspecified = false
    /// The ports for RTP (even ones) and RTCP (the next); nil: any that are free.
    public var ports: ClosedRange<UInt16>?
    /// The media thread asks for SCHED_FIFO; without the right to it, it runs at normal priority.
    public var realTime = true
    /// The code point of media packets (RFC 4594 §4.1): 46, expedited forwarding.
    public var codePoint: UInt8 = 46
    /// Octets of a file that a player may have.
    public var playerFileLimit = 256 << 20
    /// After the media thread was late by more than this, the frames in between are left out.
    public var catchUpLimit = Interval.milliseconds(1_000)
    /// Makes sound devices; nil: a device port is silent and says so.
    public var devices: SoundDeviceFactory?
    /// Samples a second of sound devices; nil: those of the bridge. Where it differs, the bridge's side is resampled.
    public var deviceRate: Int?
    /// Makes what works on the sound of a microphone; nil: nothing does, and it says so.
    public var voiceProcessors: VoiceProcessorFactory?
    /// Program ports at once.
    public var maximumPrograms = 256
    /// How long a program may go on after its call, once it was told.
    public var programGrace = Interval.milliseconds(2_000)
    /// The same when all of it ends: the loop waits for it.
    public var programGraceAtEnd = Interval.milliseconds(400)
    /// Octets of packets on their way to the media thread, and as many on the way back.
    public var packetRing = 1 << 20

    public init(
        engine: MediaConfiguration = MediaConfiguration(), address: IPAddress = .anyV4, ports: ClosedRange<UInt16>? = nil
    ) {
        self.engine = engine
        self.address = address
        self.ports = ports
    }
}

/// What the runtime counts.
public enum MediaRuntimeCounter: Int, CounterName {
    /// A packet came while the way to the media thread was full.
    case packetsDroppedInbound
    /// The system did not take a packet: told as `MediaEvent.trouble`, once for all that fail within 50 ms.
    case packetsNotSent
    /// No sockets for a stream.
    case streamsFailed
    case filesFailed
    /// A program could not be started, or did not keep to the frames.
    case programsFailed
    /// More programs than `maximumPrograms`.
    case limitPrograms
}

/// How the media thread has kept its time.
public struct MediaThreadFigures: Sendable, Hashable {
    /// Frames of 10 ms since the start.
    public var ticks: UInt64 = 0
    /// Frames left out after `catchUpLimit`.
    public var skipped: UInt64 = 0
    /// Packets dropped on their way to the loop because the ring was full.
    public var packetsDropped: UInt64 = 0
    /// The worst lateness of a wake-up.
    public var worstLateness = Interval.zero
    /// SCHED_FIFO was granted.
    public var isRealTime = false

    public init() {}
}
