// SPDX-License-Identifier: Apache-2.0
//
// The joint between streams and codecs. A codec is a value that makes encoders and decoders; those keep the state of one
// direction of one stream and allocate nothing while they run. G.711 and G.722 are here; others are handed in by the floors above.

/// A speech codec: its names in SDP and its encoders and decoders.
public protocol AudioCodec: Sendable {
    /// The encoding name of the rtpmap, upper case.
    var name: String { get }
    /// The RTP clock rate in Hz, as in the rtpmap (8000 for G.722).
    var clockRate: Int { get }
    /// Samples a second of the audio that goes in and comes out (16000 for G.722).
    var sampleRate: Int { get }
    /// What the E-model takes for this codec (ITU-T G.113): impairment without loss, and robustness against loss.
    var impairment: (equipment: Double, robustness: Double) { get }

    /// The packet time that is sent where `milliseconds`, a multiple of 10, were agreed: no longer, if the codec can.
    func packetTime(atMost milliseconds: Int) -> Int

    func makeEncoder(_ negotiated: NegotiatedCodec) -> any AudioEncoder
    func makeDecoder(_ negotiated: NegotiatedCodec) -> any AudioDecoder
}

extension AudioCodec {
    public func packetTime(atMost milliseconds: Int) -> Int { milliseconds }
}

/// One direction of one stream: samples to payloads.
public protocol AudioEncoder: AnyObject {
    /// Encodes the samples of one packet and returns the octets written; 0: send nothing for this time.
    func encode(_ samples: Span<Int16>, into payload: inout MutableSpan<UInt8>) -> Int
    /// The peer reports that this share of our packets, 0...1, was lost lately.
    func noteLoss(_ fraction: Double)
    /// Each packet carries copies of so many packets before it (RFC 2198) from now on: a protection of the codec's own is
    /// not needed meanwhile.
    func noteRedundancy(_ packets: Int)
    /// Forgets what was sent before: after a pause.
    func reset()
}

extension AudioEncoder {
    public func noteLoss(_ fraction: Double) {}
    public func noteRedundancy(_ packets: Int) {}
}

/// One direction of one stream: payloads to samples.
public protocol AudioDecoder: AnyObject {
    /// How many samples `payload` will give; nil: it is no payload of this codec.
    func sampleCount(of payload: Span<UInt8>) -> Int?
    /// Decodes one packet and returns the samples written, never more than `samples` takes; 0: not decodable.
    func decode(_ payload: Span<UInt8>, into samples: inout MutableSpan<Int16>) -> Int
    /// Whether `conceal` does something; if not, the stream conceals by the waveform.
    var concealsItself: Bool { get }
    /// Writes the first `count` samples in place of lost ones; false: the codec has no way of its own, the stream conceals.
    func conceal(_ count: Int, into samples: inout MutableSpan<Int16>) -> Bool
    /// Writes the first `count` samples of the lost packet before `next` from what `next`, as long as that one, tells of it;
    /// false: it tells nothing. `next` itself is decoded afterwards.
    func recover(_ count: Int, from next: Span<UInt8>, into samples: inout MutableSpan<Int16>) -> Bool
    /// Whether `next` tells anything of a packet lost before it; then a receiver that loses packets waits for the next one.
    /// Without a way of its own to conceal, any packet does: the stream bridges a gap from both sides.
    func tellsOfLost(_ next: Span<UInt8>) -> Bool
    /// Takes what was played in place of `count` lost samples, so that the state goes on as if it had been received. What
    /// `samples` holds beyond them is how it would have gone on.
    func follow(_ samples: Span<Int16>, count: Int)
    /// Keeps the state as it is before something missing is concealed; nothing is allocated.
    func keepState()
    /// Goes back to the state that was kept, since what was missing has come after all; false: it cannot.
    func restoreState() -> Bool
    /// Forgets what was received before: after a jump.
    func reset()
}

extension AudioDecoder {
    public func keepState() {}
    public func restoreState() -> Bool { false }
    public var concealsItself: Bool { false }
    public func tellsOfLost(_ next: Span<UInt8>) -> Bool { true }
    public func follow(_ samples: Span<Int16>, count: Int) {}
    public func conceal(_ count: Int, into samples: inout MutableSpan<Int16>) -> Bool { false }
    public func recover(_ count: Int, from next: Span<UInt8>, into samples: inout MutableSpan<Int16>) -> Bool { false }
}

/// The codecs that an engine can use, in no order of preference (that is the session description's).
public struct AudioCodecRegistry: Sendable {
    public private(set) var codecs: [any AudioCodec]

    public init(_ codecs: [any AudioCodec]) { self.codecs = codecs }

    /// Both laws of G.711, and G.722.
    public static let standard = AudioCodecRegistry([G711(.mu), G711(.a), G722()])

    /// Adds `codec`, in place of one with the same name and clock rate.
    public mutating func register(_ codec: any AudioCodec) {
        codecs.removeAll { $0.name == codec.name && $0.clockRate == codec.clockRate }
        codecs.append(codec)
    }

    /// The codec of a payload type; names compare in upper case.
    public func codec(for negotiated: NegotiatedCodec) -> (any AudioCodec)? {
        let name = negotiated.name.uppercased()
        return codecs.first { $0.name == name && $0.clockRate == negotiated.clockRate }
    }
}
