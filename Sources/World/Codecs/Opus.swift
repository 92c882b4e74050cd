// SPDX-License-Identifier: Apache-2.0
//
// Opus (RFC 6716, RFC 7587) by libopus. The RTP clock is 48 kHz whatever the audio's rate is; coder and decoder work at the
// rate of the bridge, so that nothing has to be resampled:
//
//     bridge 8, 16 or 48 kHz ── encoder ── payload, 48 kHz clock ── decoder ── bridge 8, 16 or 48 kHz
//
// In-band FEC: a packet may carry a coarse copy of the one before (RFC 6716 §2.1.7); a receiver that has the packet after
// a lost one decodes that copy.

import COpus
import Media

/// Opus in mono, at one sample rate.
public struct Opus: AudioCodec {
    /// Samples a second in and out: 8 000, 16 000 or 48 000.
    public let sampleRate: Int
    public let settings: OpusSettings

    /// - Parameter sampleRate: that of the bridge; what Opus does not have (RFC 6716 §2) is taken as 48 000.
    public init(sampleRate: Int, settings: OpusSettings = OpusSettings()) {
        self.sampleRate = [8000, 12_000, 16_000, 24_000, 48_000].contains(sampleRate) ? sampleRate : 48_000
        self.settings = settings
    }

    public var name: String { "OPUS" }
    public var clockRate: Int { 48_000 }
    /// The E-model has no figures for Opus: taken as no worse than G.711, and as robust as a codec with concealment.
    public var impairment: (equipment: Double, robustness: Double) { (0, 25.1) }

    public func makeEncoder(_ negotiated: NegotiatedCodec) -> any AudioEncoder {
        OpusPacketEncoder(sampleRate, settings.changed(by: negotiated.encoding), OpusParameters(negotiated.parameters))
    }

    public func makeDecoder(_ negotiated: NegotiatedCodec) -> any AudioDecoder { OpusPacketDecoder(sampleRate) }

    /// Opus has frames of 10, 20, 40 and 60 ms, and packets of several (RFC 6716 §3.2).
    public func packetTime(atMost milliseconds: Int) -> Int {
        [120, 100, 80, 60, 40, 20].first { $0 <= milliseconds } ?? 10
    }
}

extension AudioCodecRegistry {
    /// Every codec there is: G.711, G.722, and Opus at the rate of the bridge.
    public static func complete(bridgeRate: Int, opus: OpusSettings = OpusSettings()) -> AudioCodecRegistry {
        var registry = AudioCodecRegistry.standard
        registry.register(Opus(sampleRate: bridgeRate, settings: opus))
        return registry
    }
}
