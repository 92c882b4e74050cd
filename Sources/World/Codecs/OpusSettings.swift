// SPDX-License-Identifier: Apache-2.0

/// How Opus is encoded, as far as the peer lets us choose (RFC 7587 §6.1).
public struct OpusSettings: Sendable, Hashable {
    /// Bit/s, 6 000...510 000, at most what the peer's `maxaveragebitrate` says. Default 32 000.
    public var bitRate: Int
    /// Effort of the encoder, 0...10. Default 5.
    public var complexity: Int
    /// Whether each packet carries a coarse copy of the one before, where the peer takes it (`useinbandfec=1`) and loss is
    /// expected. Default true.
    public var usesForwardErrorCorrection: Bool
    /// The share of packets, 0...30 %, that is taken to be lost as long as the peer reports less. Default 5.
    public var expectedLoss: Int
    /// Whether nothing is sent in silence. Default false: the peer hears the room, and its buffer sees every packet.
    public var isDiscontinuous: Bool

    public init(
        bitRate: Int = 32_000, complexity: Int = 5, usesForwardErrorCorrection: Bool = true, expectedLoss: Int = 5,
        isDiscontinuous: Bool = false
    ) {
        self.bitRate = min(max(bitRate, 6000), 510_000)
        self.complexity = min(max(complexity, 0), 10)
        self.usesForwardErrorCorrection = usesForwardErrorCorrection
        self.expectedLoss = min(max(expectedLoss, 0), 30)
        self.isDiscontinuous = isDiscontinuous
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

    init(_ text: String) {
        for part in text.split(separator: ";") {
            let pair = part.split(separator: "=", maxSplits: 1).map { String($0.filter { $0 != " " && $0 != "\t" }) }
            guard pair.count == 2, let value = Int(pair[1]), value >= 0 else { continue }
            switch pair[0].lowercased() {
            case "maxplaybackrate": maximumPlaybackRate = value
            case "maxaveragebitrate": maximumBitRate = min(max(value, 6000), 510_000)
            case "useinbandfec": takesForwardErrorCorrection = value == 1
            case "cbr": isConstantBitRate = value == 1
            default: break
            }
        }
    }
}
