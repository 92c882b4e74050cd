// SPDX-License-Identifier: Apache-2.0

import Essentials

/// The settings of a media engine. Every limit has a counter in `MediaCounter`.
public struct MediaConfiguration: Sendable {
    /// Samples a second on the bridge: 8000, 12000, 16000, 24000, 32000, 44100 or 48000; any other value is taken as 16000.
    public var bridgeRate: Int
    /// What streams can encode and decode.
    public var codecs: AudioCodecRegistry
    public var jitterBuffer: JitterBufferSettings
    public var sourceLock: SourceLockSettings

    /// Ports of all kinds at once.
    public var maximumPorts = 4096
    /// Joined pairs of ports at once.
    public var maximumConnections = 65536
    /// Octets of payload in one RTP packet; a longer one is dropped.
    public var maximumPayload = 4096
    /// Digits that wait to be sent on one stream; more are not taken.
    public var maximumWaitingDigits = 256
    /// Packets that wait to be fetched by `nextPacket`; when there are more, the newest is dropped.
    public var maximumWaitingPackets = 16384
    /// Events that wait to be fetched by `nextEvent`; when there are more, the newest is dropped.
    public var maximumWaitingEvents = 16384
    /// A gap in what the peer should be sending, after which `streamSilent` is told.
    public var silenceReport = Interval.milliseconds(5000)
    /// A gap after which, and after each further one until `silenceReport`, `trouble(.quiet)` is told; zero: never.
    public var quietReport = Interval.milliseconds(200)
    /// The mean time between two RTCP reports (RFC 3550 §6.2); each is 0.5...1.5 times that.
    public var reportInterval = Interval.milliseconds(5000)
    /// When the phone is warned of a stream.
    public var watch = QualityWatchSettings()
    /// Tones of keys in the audio are told as digits, on streams that negotiated no telephone-event.
    public var detectsTones = true

    public init(
        bridgeRate: Int = 16000, codecs: AudioCodecRegistry = .standard,
        jitterBuffer: JitterBufferSettings = JitterBufferSettings(), sourceLock: SourceLockSettings = SourceLockSettings()
    ) {
        self.bridgeRate = [8000, 12000, 16000, 24000, 32000, 44100, 48000].contains(bridgeRate) ? bridgeRate : 16000
        self.codecs = codecs
        self.jitterBuffer = jitterBuffer
        self.sourceLock = sourceLock
    }
}

/// How the jitter buffer of a stream chooses its delay, which is counted above that of the fastest packets.
public struct JitterBufferSettings: Sendable, Hashable {
    /// How long the first packet waits at least before it is played, as nothing is known of the network yet.
    public var initialDelay = Interval.milliseconds(0)
    /// The delay is never aimed lower.
    public var minimumDelay = Interval.milliseconds(0)
    /// The delay is never aimed higher; what would exceed it is skipped.
    public var maximumDelay = Interval.milliseconds(500)
    /// The share of packets, 0.95...1, that should be in time themselves if others carry copies of them; of those without
    /// copies, three in four of the rest as well.
    public var punctuality = 0.97
    /// Delay above the aim that is left alone in speech; in quiet it is taken out.
    public var tolerance = Interval.milliseconds(20)
    /// Packets held at most; a power of two.
    public var capacity = 64

    public init() {}
}

/// When the source of a stream's packets may change (symmetric RTP, RFC 4961, bounded).
public struct SourceLockSettings: Sendable, Hashable {
    /// The same SSRC with sequence numbers that go on may come from a new address when the locked one is silent this long.
    public var rebindingSilence = Interval.milliseconds(500)
    /// Any other source may take over when the locked one is silent this long.
    public var takeoverSilence = Interval.milliseconds(5000)
    /// Packets in sequence that a new source must show.
    public var requiredPackets = 3
    /// After a new remote address was signalled, the old source is still heard this long.
    public var handover = Interval.milliseconds(2000)

    public init() {}
}

/// What the engine counts.
public enum MediaCounter: Int, CounterName {
    case packetForUnknownPort
    case packetNotRTP
    case packetNotRTCP
    case packetFromOtherSource
    case packetOfUnknownPayloadType
    case packetTooLarge
    case packetUndecodable
    case packetLate
    case packetDuplicated
    case packetOverflowedBuffer
    case packetOfOtherSSRC
    case packetOnClosedDirection
    case eventUnknown
    case eventMalformed
    case redundancyMalformed
    case reportMalformed
    case reportFromOtherSource
    case sourceMoved
    case ssrcChanged
    case sequenceRestarted
    case timestampJumped
    case bufferSkipped
    case commandForUnknownPort
    case commandUnsupportedCodec
    case limitPorts
    case limitConnections
    case limitDigits
    case limitWaitingPackets
    case limitWaitingEvents
    case digitUnknown
    case recorderOverflow
}
