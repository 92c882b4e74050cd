// SPDX-License-Identifier: Apache-2.0

import Essentials

/// A codec with the number that it has in this session.
public struct AudioFormat: Sendable, Hashable {
    /// Upper case: `PCMU`, `PCMA`, `G722`, `OPUS`.
    public var name: String
    /// 0...127.
    public var payloadType: UInt8
    /// RTP clock rate in Hz.
    public var clockRate: Int
    public var channels: Int
    /// `a=fmtp` of the side that receives it, or empty.
    public var parameters: String
    /// What our encoder is to do (`AudioCodecDescription.encoding`); of what we send only.
    public var encoding = ""

    public init(name: String, payloadType: UInt8, clockRate: Int, channels: Int = 1, parameters: String = "") {
        self.name = name
        self.payloadType = payloadType
        self.clockRate = clockRate
        self.channels = channels
        self.parameters = parameters
    }
}

/// What an offer and its answer agreed for the audio stream, as seen from our side.
public struct NegotiatedAudio: Sendable, Hashable {
    /// Where our RTP goes; nil for c=0.0.0.0, or where only a name is given.
    public var remote: SocketAddress?
    /// The name in `c=` where there is no address.
    public var remoteName: String?
    /// Where our RTCP goes: `a=rtcp`, else the next port, else with rtcp-mux the RTP port; nil where `remote` is nil.
    public var remoteRTCP: SocketAddress?
    /// What we send.
    public var codec: AudioFormat
    /// What the peer may send; `codec` among them unless the two sides use different numbers.
    public var receivable: [AudioFormat]
    /// With which number we send telephone-event; nil: not negotiated.
    public var sendEventPayloadType: UInt8?
    /// Hz; that of `codec` unless the peer has no other (`Leniency.eventClockRate`).
    public var sendEventClockRate: Int
    /// On which numbers telephone-event may arrive.
    public var receiveEventPayloadTypes: [UInt8]
    /// On which numbers comfort noise may arrive.
    public var comfortNoisePayloadTypes: [UInt8]
    /// With which number we send comfort noise in place of silence; nil: silence is sent as audio.
    public var sendComfortNoisePayloadType: UInt8?
    /// With which number we send redundant audio (RFC 2198); nil: the peer does not take it for `codec`.
    public var sendRedundancyPayloadType: UInt8?
    /// How many copies we send from the start; nil: as the peer's reports call for it.
    public var redundantPackets: Int?
    /// On which numbers redundant audio may arrive.
    public var receiveRedundancyPayloadTypes: [UInt8]
    /// The extended reports that the peer wishes to get, and we send.
    public var extendedReports: ExtendedReports?
    /// Ours: whether we send and whether we receive.
    public var direction: Direction
    /// The peer does not take our audio: it holds.
    public var remoteHolds: Bool
    /// We asked not to receive: we hold.
    public var localHolds: Bool
    /// Milliseconds of a packet that we send: 10...200, in steps of 10.
    public var packetTime: Int
    /// RTP and RTCP share a port (RFC 5761).
    public var multiplexesRTCP: Bool
    /// `RTP/AVP` or `RTP/AVPF`.
    public var profile: String
    /// Which `m=` line it is.
    public var mediaIndex: Int

    public init(remote: SocketAddress?, codec: AudioFormat, direction: Direction) {
        self.remote = remote
        self.remoteName = nil
        self.remoteRTCP = nil
        self.codec = codec
        self.receivable = [codec]
        self.sendEventPayloadType = nil
        self.sendEventClockRate = codec.clockRate
        self.receiveEventPayloadTypes = []
        self.comfortNoisePayloadTypes = []
        self.sendComfortNoisePayloadType = nil
        self.sendRedundancyPayloadType = nil
        self.redundantPackets = nil
        self.receiveRedundancyPayloadTypes = []
        self.extendedReports = nil
        self.direction = direction
        self.remoteHolds = false
        self.localHolds = false
        self.packetTime = 20
        self.multiplexesRTCP = false
        self.profile = "RTP/AVP"
        self.mediaIndex = 0
    }
}
