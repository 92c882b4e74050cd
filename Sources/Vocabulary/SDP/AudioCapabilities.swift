// SPDX-License-Identifier: Apache-2.0

/// A codec that can be offered and answered.
public struct AudioCodecDescription: Sendable, Hashable {
    /// As written in an rtpmap: `PCMU`, `opus`.
    public var name: String
    /// RTP clock rate in Hz (8000 for G.722, 48000 for opus).
    public var clockRate: Int
    /// As in the rtpmap (2 for opus, RFC 7587 §7).
    public var channels: Int
    /// The static type, or the dynamic number to begin with when nothing else binds it.
    public var payloadType: UInt8
    /// Our `a=fmtp` parameters, or empty.
    public var parameters: String
    /// What our encoder is to do, in the codec's own words (`bitrate=24000;complexity=9`), or empty: as it is set up for all
    /// calls. Not sent to anybody.
    public var encoding = ""

    public init(_ name: String, clockRate: Int, channels: Int = 1, payloadType: UInt8, parameters: String = "") {
        self.name = name
        self.clockRate = clockRate
        self.channels = channels
        self.payloadType = min(payloadType, 127)
        self.parameters = parameters
    }

    public static let pcmu = AudioCodecDescription("PCMU", clockRate: 8000, payloadType: 0)
    public static let pcma = AudioCodecDescription("PCMA", clockRate: 8000, payloadType: 8)
    public static let g722 = AudioCodecDescription("G722", clockRate: 8000, payloadType: 9)
    public static let opus = AudioCodecDescription(
        "opus", clockRate: 48_000, channels: 2, payloadType: 96, parameters: "useinbandfec=1")

    /// Opus with what we ask of the peer's encoder (RFC 7587 §6.1); what is as the RFC takes it anyway is not written.
    ///
    /// - Parameters:
    ///   - correctsErrors: the peer's packets may carry in-band FEC.
    ///   - isDiscontinuous: the peer should send nothing in silence.
    ///   - maximumPlaybackRate: Hz, 8 000...48 000: what our side plays at the most.
    ///   - maximumBitRate: bit/s, 6 000...510 000; nil: any.
    public static func opus(
        correctsErrors: Bool = true, isDiscontinuous: Bool = false, maximumPlaybackRate: Int = 48_000, maximumBitRate: Int? = nil
    ) -> AudioCodecDescription {
        var parameters: [String] = []
        if correctsErrors { parameters.append("useinbandfec=1") }
        if isDiscontinuous { parameters.append("usedtx=1") }
        if maximumPlaybackRate < 48_000 { parameters.append("maxplaybackrate=\(max(maximumPlaybackRate, 8000))") }
        if let maximumBitRate { parameters.append("maxaveragebitrate=\(min(max(maximumBitRate, 6000), 510_000))") }
        var codec = AudioCodecDescription.opus
        codec.parameters = parameters.joined(separator: ";")
        return codec
    }

    var map: RTPMap { RTPMap(name, clockRate, channels) }
}

/// What a phone can send and receive; the order of the codecs is the order of our offers.
public struct AudioCapabilities: Sendable, Hashable {
    public var codecs: [AudioCodecDescription]
    /// Whether telephone-event (RFC 4733) is offered and answered, once per clock rate of the codecs.
    public var telephoneEvent: Bool
    /// Whether CN (RFC 3389) is offered and answered, and sent in place of silence where both have it. What arrives on the
    /// static type 13 is taken in any case.
    public var comfortNoise: Bool
    /// Whether audio is sent again against loss (RFC 2198). Default off.
    public var redundancy = Redundancy.off
    /// Which extended reports (RFC 3611) we wish to get, and send where the peer wishes them; nil: none. Default: VoIP metrics.
    public var extendedReports: ExtendedReports? = ExtendedReports()
    /// Milliseconds a packet that we ask for, and send where the peer asks for nothing: 10...200, in steps of 10.
    public var packetTime: Int {
        didSet { packetTime = Self.clampedPacketTime(packetTime) }
    }
    /// The profiles that are answered; an answer keeps the profile of the offer. Offers use the first.
    public var profiles: [String]

    public init(
        codecs: [AudioCodecDescription], telephoneEvent: Bool = true, comfortNoise: Bool = false, packetTime: Int = 20,
        profiles: [String] = ["RTP/AVP", "RTP/AVPF"]
    ) {
        self.codecs = codecs
        self.telephoneEvent = telephoneEvent
        self.comfortNoise = comfortNoise
        self.packetTime = Self.clampedPacketTime(packetTime)
        self.profiles = profiles
    }

    /// PCMU and PCMA with telephone-event.
    public static let standard = AudioCapabilities(codecs: [.pcmu, .pcma])

    /// Every codec that we can write a description for, in our order of preference.
    public static let allCodecs: [AudioCodecDescription] = [.opus, .g722, .pcmu, .pcma]

    /// Brings a packet time into 10...200 ms, down to a step of 10.
    static func clampedPacketTime(_ milliseconds: Int) -> Int { min(max(milliseconds, 10), 200) / 10 * 10 }

    /// The capabilities of a list such as `pcmu,pcma`: names without case, in order, spaces around them allowed.
    /// - Parameter available: the codecs that there are.
    /// - Throws: `.unknownCodec` for a name that is not among them, or an empty list.
    public static func parse(
        _ list: String, available: [AudioCodecDescription] = AudioCapabilities.standard.codecs
    ) throws(SDPError) -> AudioCapabilities {
        var codecs: [AudioCodecDescription] = []
        for part in list.split(separator: ",") {
            let name = String(part.filter { $0 != " " })
            guard let codec = available.first(where: { equalIgnoringCase($0.name, name) }) else {
                let names = available.map { $0.name.lowercased() }.joined(separator: ", ")
                throw SDPError(.unknownCodec, "there is no codec \"\(name)\"; there are \(names)")
            }
            if !codecs.contains(codec) { codecs.append(codec) }
        }
        guard !codecs.isEmpty else { throw SDPError(.unknownCodec, "the list of codecs is empty") }
        return AudioCapabilities(codecs: codecs)
    }

    /// The clock rates of the codecs, each once, in order.
    var clockRates: [Int] {
        codecs.reduce(into: []) { rates, codec in if !rates.contains(codec.clockRate) { rates.append(codec.clockRate) } }
    }
}
