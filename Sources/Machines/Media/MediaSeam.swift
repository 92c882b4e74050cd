// SPDX-License-Identifier: Apache-2.0
//
// The seam of the media engine: what phone and world tell it, what it tells them. The engine is a machine of its own,
// driven by commands, packets and ticks; on a device it runs on the real-time thread, in a test it is called directly.

import Essentials
import RTP

/// One port of the bridge: a call's stream, a player, a recorder, a tone, a device. Numbered by who opens it.
public struct PortID: Hashable, Comparable, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// A codec as negotiated: what one RTP payload type means in one session.
public struct NegotiatedCodec: Sendable, Hashable {
    /// The encoding name of the rtpmap, upper case: `PCMU`, `PCMA`, `G722`, `OPUS`, `CN`.
    public var name: String
    /// 0...127.
    public var payloadType: UInt8
    /// RTP clock rate in Hz, as in the rtpmap (8000 for G.722).
    public var clockRate: Int
    public var channels: Int
    /// The `a=fmtp` parameters of the side that receives, or empty.
    public var parameters: String
    /// What our encoder is to do besides, in the codec's own words (`bitrate=24000;complexity=9`), or empty: never sent.
    public var encoding: String

    public init(
        name: String, payloadType: UInt8, clockRate: Int, channels: Int = 1, parameters: String = "", encoding: String = ""
    ) {
        self.name = name
        self.payloadType = payloadType
        self.clockRate = clockRate
        self.channels = channels
        self.parameters = parameters
        self.encoding = encoding
    }
}

/// What an RTP stream is to do, whole; given again after each negotiation.
public struct StreamConfiguration: Sendable, Hashable {
    /// Where RTP goes: c= and m= of the peer. nil or an unspecified address: nothing is sent until a packet shows a source.
    public var remote: SocketAddress?
    /// Where RTCP goes: `a=rtcp`, else the RTP port + 1, else (rtcp-mux) the RTP port. nil: no RTCP is sent.
    public var remoteRTCP: SocketAddress?
    /// What is sent, and the first that is expected.
    public var codec: NegotiatedCodec
    /// Every payload type that the peer may send, the chosen codec's among them, telephone-event and CN not.
    public var receivable: [NegotiatedCodec]
    /// The payload type with which we send telephone-event (RFC 4733), with its clock rate; nil: not negotiated.
    public var sendEventPayloadType: UInt8?
    public var sendEventClockRate: Int
    /// The payload types on which telephone-event may arrive.
    public var receiveEventPayloadTypes: [UInt8]
    /// The payload type of comfort noise (RFC 3389) that may arrive, 13 mostly.
    public var comfortNoisePayloadTypes: [UInt8]
    /// The payload type with which comfort noise is sent in place of silence (RFC 3389); nil: silence is sent as audio.
    public var sendComfortNoisePayloadType: UInt8?
    /// Sending audio again (RFC 2198); nil: not negotiated, or not for `codec`.
    public var redundancy: StreamRedundancy?
    /// The payload types on which `red` may arrive, the blocks in it being of `receivable`.
    public var receiveRedundancyPayloadTypes: [UInt8] = []
    /// Which extended reports (RFC 3611) the peer wishes to get.
    public var extendedReports: ExtendedReportKinds = []
    /// Whether our audio is sent. False: on hold; nothing is sent but RTCP.
    public var sends: Bool
    /// Whether the peer's audio is played. False: what arrives is counted, not played.
    public var receives: Bool
    /// Milliseconds of audio a packet, 10...200 in steps of 10.
    public var packetTime: Int
    /// RTP and RTCP share a port (RFC 5761).
    public var multiplexesRTCP: Bool
    /// Our audio is replaced by silence; packets go on, so that the peer sees a live stream.
    public var isMuted: Bool

    public init(
        remote: SocketAddress?, remoteRTCP: SocketAddress?, codec: NegotiatedCodec, receivable: [NegotiatedCodec],
        sendEventPayloadType: UInt8? = nil, sendEventClockRate: Int = 8000, receiveEventPayloadTypes: [UInt8] = [],
        comfortNoisePayloadTypes: [UInt8] = [], sends: Bool = true, receives: Bool = true, packetTime: Int = 20,
        multiplexesRTCP: Bool = false, isMuted: Bool = false
    ) {
        self.remote = remote
        self.remoteRTCP = remoteRTCP
        self.codec = codec
        self.receivable = receivable
        self.sendEventPayloadType = sendEventPayloadType
        self.sendEventClockRate = sendEventClockRate
        self.receiveEventPayloadTypes = receiveEventPayloadTypes
        self.comfortNoisePayloadTypes = comfortNoisePayloadTypes
        self.sends = sends
        self.receives = receives
        self.packetTime = packetTime
        self.multiplexesRTCP = multiplexesRTCP
        self.isMuted = isMuted
    }
}

/// What a stream port shows to itself as identity in RTP.
public struct StreamIdentity: Sendable, Hashable {
    public var ssrc: UInt32
    public var firstSequenceNumber: UInt16
    public var firstTimestamp: UInt32
    /// RTCP CNAME (RFC 7022).
    public var cname: String

    public init(ssrc: UInt32, firstSequenceNumber: UInt16, firstTimestamp: UInt32, cname: String) {
        self.ssrc = ssrc
        self.firstSequenceNumber = firstSequenceNumber
        self.firstTimestamp = firstTimestamp
        self.cname = cname
    }
}

/// A tone to generate: up to two frequencies with a cadence.
public struct Tone: Sendable, Hashable {
    /// Hertz; a second frequency of 0 is none.
    public var frequency: Double
    public var secondFrequency: Double
    /// dBm0 of each frequency, −63...0.
    public var level: Double
    /// On and off times in milliseconds, repeated; an off time of 0 is a steady tone.
    public var onMilliseconds: Int
    public var offMilliseconds: Int

    public init(
        frequency: Double, secondFrequency: Double = 0, level: Double = -13, onMilliseconds: Int = 1000, offMilliseconds: Int = 0
    ) {
        self.frequency = frequency
        self.secondFrequency = secondFrequency
        self.level = level
        self.onMilliseconds = onMilliseconds
        self.offMilliseconds = offMilliseconds
    }
}

/// What the engine, or the world around it, is to do. The world keeps the order of commands.
public enum MediaCommand: Sendable {
    /// World: open an RTP and an RTCP socket and answer `MediaEvent.streamOpened` or `.streamFailed`. Engine: make the port.
    case openStream(PortID, StreamIdentity)
    /// Engine: set what the stream does from now on.
    case configureStream(PortID, StreamConfiguration)
    /// World: read the WAV file and hand its samples to the engine (`MediaEngine.openPlayer`).
    case openPlayer(PortID, path: String, loops: Bool)
    /// World: open the WAV file; engine: make a recorder port whose frames the world writes as they are played.
    case openRecorder(PortID, path: String)
    case openTone(PortID, Tone)
    /// Everything heard on the port's input comes back out of it: an echo service.
    case openEcho(PortID)
    /// A recorder of two channels: the first port hears the left one, `right` the other.
    case openSplitRecorder(PortID, right: PortID, path: String)
    /// World: open the loudspeaker and the microphone of that name and hand them to the engine (`MediaEngine.openDevice`).
    case openDevice(PortID, name: String)
    /// World: start the program, or connect to it, and hand the engine the way to it (`MediaEngine.openProgram`).
    case openProgram(PortID, ProgramSettings)
    /// World: tell the program an event (one JSON object).
    case tellProgram(PortID, String)
    /// World: make what works on the sound of a device's microphone and hand it to the engine (`MediaEngine.setProcessor`).
    case processVoice(PortID, VoiceProcessing)
    /// Joins one direction: `from` is heard by `to`.
    case connect(from: PortID, to: PortID)
    case disconnect(from: PortID, to: PortID)
    /// `to` hears from now on what `of` hears, while that is open: a call's port hears what is said to the other side.
    case tap(PortID, of: PortID)
    /// A gain in dB for what `port` gives to the bridge; −infinity mutes it.
    case setGain(PortID, decibels: Double)
    /// A gain in dB for what `port` hears: the volume of a loudspeaker.
    case setVolume(PortID, decibels: Double)
    /// Tell the port's levels (`MediaEvent.levels`) every so often; zero: no longer.
    case reportLevels(PortID, every: Interval)
    /// Start, or start again, a player from its first sample.
    case startPlayer(PortID)
    /// Send these digits (0–9, *, #, A–D, `,` = pause of 500 ms) on a stream, one after another.
    case sendDigits(PortID, String, milliseconds: Int, inBand: Bool)
    /// Ask for a `MediaEvent.statistics` of the stream.
    case reportStatistics(PortID)
    /// Close the port and its sockets or file; a stream sends RTCP BYE; a last `statistics` comes first for a stream.
    case closePort(PortID)
}

/// A sign that the network may have changed.
public enum MediaTrouble: Sendable, Hashable {
    /// Nothing came for a few packets' time although the peer should be sending.
    case quiet
    /// The system did not take a packet: no route, or no such address any more.
    case sendFailed
}

/// What the engine and the world around it tell the phone.
public enum MediaEvent: Sendable {
    /// Sockets are open at `rtp`; RTCP at the next port.
    case streamOpened(PortID, rtp: SocketAddress)
    case streamFailed(PortID, reason: String)
    /// The first packet of the peer was accepted from this address, or the source moved there.
    case sourceLocked(PortID, SocketAddress)
    /// A digit was received: once per key press.
    case digitReceived(PortID, Character, milliseconds: Int, inBand: Bool)
    /// A digit was sent to its end.
    case digitSent(PortID, Character, milliseconds: Int, inBand: Bool)
    case playbackStarted(PortID)
    case playbackFinished(PortID)
    /// A file could not be opened, read or written.
    case fileFailed(PortID, reason: String)
    /// A device is ready, half there, or silent from now on.
    case deviceChanged(PortID, SoundDeviceState)
    /// How the voice processing of a device is, after `processVoice`.
    case voiceProcessing(PortID, VoiceProcessingState)
    case program(PortID, ProgramEvent)
    case levels(PortID, AudioLevels)
    /// No packet for this long although the peer should be sending; told once a gap.
    case streamSilent(PortID, Interval)
    /// Packets come again after `streamSilent` or `remoteLeft`.
    case streamResumed(PortID)
    /// Packets do not get through, as far as can be seen so soon: perhaps the network changed. Comes again while that is so.
    case trouble(PortID, MediaTrouble)
    /// The peer said good-bye (RTCP BYE); `streamResumed` follows if packets come all the same.
    case remoteLeft(PortID)
    case statistics(PortID, StreamStatistics)
    /// Something is wrong with the stream; told again every 2 s while it lasts. `value`: percent for losses, milliseconds for
    /// the delay, seconds for silence. `source`: where packets come from that are not taken.
    case warning(PortID, MediaWarning, value: Double, source: SocketAddress?)
    /// What `warning` told of is over.
    case warningOver(PortID, MediaWarning)
}
