// SPDX-License-Identifier: Apache-2.0

/// How Opus is encoded, as far as the peer lets us choose (RFC 7587 §6.1).
public struct OpusSettings: Sendable, Hashable {
    /// Bit/s, 6 000...510 000, at most what the peer's `maxaveragebitrate` says. Default 32 000.
    public var bitRate: Int
    /// Effort of the encoder, 0...10. Default 8: from there on a voice of 16 kHz sounds no better.
    public var complexity: Int
    /// Whether each packet carries a coarse copy of the one before, where the peer takes it (`useinbandfec=1`) and loss is
    /// expected. Default true.
    public var usesForwardErrorCorrection: Bool
    /// The share of packets, 0...30 %, that is taken to be lost as long as the peer reports less. Default 0: the
    /// copies take bits from the voice, and a first report comes within seconds.
    public var expectedLoss: Int
    /// Whether nothing is sent in silence. Default false: the peer hears the room, and its buffer sees every packet.
    public var isDiscontinuous: Bool
    /// The widest audio that is sent: 8 000, 12 000, 16 000, 24 000 or 48 000 Hz of sample rate, at most what the peer's
    /// `maxplaybackrate` says. Default 48 000.
    public var maximumRate: Int

    public init(
        bitRate: Int = 32_000, complexity: Int = 8, usesForwardErrorCorrection: Bool = true, expectedLoss: Int = 0,
        isDiscontinuous: Bool = false, maximumRate: Int = 48_000
    ) {
        self.bitRate = min(max(bitRate, 6000), 510_000)
        self.complexity = min(max(complexity, 0), 10)
        self.usesForwardErrorCorrection = usesForwardErrorCorrection
        self.expectedLoss = min(max(expectedLoss, 0), 30)
        self.isDiscontinuous = isDiscontinuous
        self.maximumRate = min(max(maximumRate, 8000), 48_000)
    }

    /// These settings with what one account or call wants otherwise (`AudioCodecDescription.encoding`), parts separated by `;`:
    /// `bitrate` (bit/s), `complexity`, `fec` (0, 1), `loss` (%), `dtx` (0, 1), `rate` (Hz). Other parts are passed over.
    func changed(by encoding: String) -> OpusSettings {
        var result = self
        for (name, value) in OpusParameters.pairs(encoding) {
            switch name {
            case "bitrate": result.bitRate = min(max(value, 6000), 510_000)
            case "complexity": result.complexity = min(value, 10)
            case "fec": result.usesForwardErrorCorrection = value == 1
            case "loss": result.expectedLoss = min(value, 30)
            case "dtx": result.isDiscontinuous = value == 1
            case "rate": result.maximumRate = min(max(value, 8000), 48_000)
            default: break
            }
        }
        return result
    }
}

/// What the peer asks of our encoder in its `a=fmtp` (RFC 7587 §6.1). `stereo` and `sprop-…` do not concern a mono sender;
/// what cannot be read counts as not there.
struct OpusParameters {
    /// Hz; nil: any.
    var maximumPlaybackRate: Int?
    /// Bit/s; nil: any.
    var maximumBitRate: Int?
    var takesForwardErrorCorrection = false
    var isConstantBitRate = false
    /// The peer would rather get nothing in silence.
    var prefersDiscontinuous = false

    /// The parameters that are whole numbers from 0 on; names in lower case.
    static func pairs(_ text: String) -> [(name: String, value: Int)] {
        text.split(separator: ";").compactMap { part in
            let pair = part.split(separator: "=", maxSplits: 1).map { String($0.filter { $0 != " " && $0 != "\t" }) }
            guard pair.count == 2, let value = Int(pair[1]), value >= 0 else { return nil }
            return (pair[0].lowercased(), value)
        }
    }

    init(_ text: String) {
        for (name, value) in Self.pairs(text) {
            switch name {
            case "maxplaybackrate": maximumPlaybackRate = value
            case "maxaveragebitrate": maximumBitRate = min(max(value, 6000), 510_000)
            case "useinbandfec": takesForwardErrorCorrection = value == 1
            case "cbr": isConstantBitRate = value == 1
            case "usedtx": prefersDiscontinuous = value == 1
            default: break
            }
        }
    }
}
