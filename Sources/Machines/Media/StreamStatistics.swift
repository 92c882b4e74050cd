// SPDX-License-Identifier: Apache-2.0

/// What is known about one stream since it was opened (RFC 3550 §6.4, §A.3, §A.8; ITU-T G.107).
public struct StreamStatistics: Sendable, Hashable {
    public var packetsSent: UInt64 = 0
    public var octetsSent: UInt64 = 0
    public var packetsReceived: UInt64 = 0
    public var octetsReceived: UInt64 = 0
    /// Packets that never came (expected − received, never below 0).
    public var packetsLost: UInt64 = 0
    /// Packets that came too late to be played.
    public var packetsLate: UInt64 = 0
    public var packetsDuplicated: UInt64 = 0
    /// Packets dropped for another reason: not RTP, unknown payload type, wrong source, over a limit.
    public var packetsDropped: UInt64 = 0
    /// Interarrival jitter in milliseconds.
    public var jitterMilliseconds: Double = 0
    /// Round trip from RTCP in milliseconds; nil until known.
    public var roundTripMilliseconds: Double?
    /// What the jitter buffer holds now, in milliseconds.
    public var bufferMilliseconds: Double = 0
    /// Frames of the receiver that were concealed, and all frames, each of 10 ms.
    public var framesConcealed: UInt64 = 0
    public var framesPlayed: UInt64 = 0
    /// Lost packets whose audio came with the next one (Opus in-band FEC).
    public var packetsRecovered: UInt64 = 0
    /// Lost packets whose audio came as a copy with a later one (RFC 2198).
    public var packetsRestored: UInt64 = 0
    /// Copies of earlier packets that each of ours carries now (RFC 2198).
    public var redundancy: Int = 0
    /// Octets sent beyond the audio itself: copies and their headers. They are among `octetsSent`.
    public var redundancyOctetsSent: UInt64 = 0
    /// What the peer reports about our packets: fraction lost, 0...1; nil until known.
    public var remoteFractionLost: Double?
    /// Estimated mean opinion score, 1.0...4.5, by the E-model from loss, delay and codec: of the whole stream. While the peer
    /// should be sending and nothing comes, its packets count as lost. nil: not a packet came, there is nothing to judge.
    public var score: Double?
    /// The same of the last five seconds; nil: nothing came in them, and nothing was expected.
    public var liveScore: Double?
    /// The score that the peer reports of what it hears (RFC 3611), 1.0...5.0; nil until known.
    public var remoteScore: Double?
    /// One way, from mouth to ear, as far as it can be known: half of the round trip, the buffer, a packet. Milliseconds; nil:
    /// not a packet came.
    public var mouthToEarMilliseconds: Double?
    /// How loud the peer and we are now, in dB below full scale: −96 (silence) to 0.
    public var receivedLevel: Double = -96
    public var sentLevel: Double = -96
    /// Bursts of loss (RFC 3611 §4.7.2): their mean length, and the share that is missing in them, 0...1.
    public var burstMilliseconds: Int = 0
    public var burstDensity: Double = 0

    public init() {}
}
