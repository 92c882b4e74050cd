// SPDX-License-Identifier: Apache-2.0
//
// RTCP XR, RFC 3611 §2 and §3: a packet of type 207 whose report blocks each begin
//
//      0                   1                   2                   3
//     |      type     |   type-specific   |    length in words        |

/// A block of an extended report.
public enum ExtendedReportBlock: Sendable, Hashable {
    /// The sender's NTP time (§4.4): who gets it answers with `.delay`, so that a side that only receives learns the round trip.
    case referenceTime(UInt64)
    /// The answer to one reference time (§4.5).
    case delay(ReceptionDelay)
    case summary(StatisticsSummary)
    case voiceMetrics(VoiceMetrics)
    /// Another type, or one of a length that it cannot have: passed over.
    case other(type: UInt8)
}

/// When a reference time came and how long it was kept (RFC 3611 §4.5, DLRR).
public struct ReceptionDelay: Sendable, Hashable {
    /// Whose reference time it was.
    public var ssrc: UInt32
    /// The middle 32 bits of that time; 0: none came.
    public var lastReferenceTime: UInt32
    /// Since it came, in 1/65536 s.
    public var delay: UInt32

    public init(ssrc: UInt32, lastReferenceTime: UInt32, delay: UInt32) {
        self.ssrc = ssrc
        self.lastReferenceTime = lastReferenceTime
        self.delay = delay
    }
}

/// Statistics of a span of packets (RFC 3611 §4.6). What is nil was not measured.
public struct StatisticsSummary: Sendable, Hashable {
    public struct Jitter: Sendable, Hashable {
        /// Timestamp units.
        public var least: UInt32
        public var greatest: UInt32
        public var mean: UInt32
        public var deviation: UInt32

        public init(least: UInt32, greatest: UInt32, mean: UInt32, deviation: UInt32) {
            self.least = least
            self.greatest = greatest
            self.mean = mean
            self.deviation = deviation
        }
    }

    public var ssrc: UInt32
    /// The first sequence number of the span, and the one after its last.
    public var begin: UInt16
    public var end: UInt16
    public var lost: UInt32?
    public var duplicated: UInt32?
    public var jitter: Jitter?

    public init(ssrc: UInt32, begin: UInt16, end: UInt16, lost: UInt32?, duplicated: UInt32?, jitter: Jitter?) {
        self.ssrc = ssrc
        self.begin = begin
        self.end = end
        self.lost = lost
        self.duplicated = duplicated
        self.jitter = jitter
    }
}

/// How a call sounds at the side that reports (RFC 3611 §4.7). 127 where a level, a rating or a score is not known.
public struct VoiceMetrics: Sendable, Hashable {
    public static let unknown: UInt8 = 127

    public var ssrc: UInt32
    /// Of all packets since the beginning, in 1/256: never came; came but was thrown away as too late.
    public var lossRate: UInt8 = 0
    public var discardRate: UInt8 = 0
    /// Missing within bursts and within the gaps between them, in 1/256.
    public var burstDensity: UInt8 = 0
    public var gapDensity: UInt8 = 0
    /// Mean durations in ms.
    public var burstDuration: UInt16 = 0
    public var gapDuration: UInt16 = 0
    /// ms.
    public var roundTripDelay: UInt16 = 0
    /// What this side adds itself, both directions: ms.
    public var endSystemDelay: UInt16 = 0
    /// dBm0, −127...0.
    public var signalLevel = Int8(127)
    public var noiseLevel = Int8(127)
    public var residualEchoReturnLoss = VoiceMetrics.unknown
    /// Packets between two losses that end a burst.
    public var gapThreshold: UInt8 = 16
    /// The rating of ITU-T G.107, 0...100.
    public var rating = VoiceMetrics.unknown
    public var externalRating = VoiceMetrics.unknown
    /// Tenths, 10...50.
    public var listeningScore = VoiceMetrics.unknown
    public var conversationalScore = VoiceMetrics.unknown
    /// Concealment and jitter buffer (§4.7.7): 0xb0 is standard concealment and an adaptive buffer.
    public var configuration: UInt8 = 0
    /// Delays of the jitter buffer in ms: now, at the most now, at the most ever.
    public var bufferNominal: UInt16 = 0
    public var bufferMaximum: UInt16 = 0
    public var bufferLimit: UInt16 = 0

    public init(ssrc: UInt32) { self.ssrc = ssrc }
}

/// Reads the blocks of an extended report: `RTCPPacket.other(type: 207, range)`. A block that runs over the packet ends it.
public struct ExtendedReport: Sendable {
    /// The type of the RTCP packet.
    public static let packetType: UInt8 = 207

    /// Who reports.
    public let ssrc: UInt32
    private let end: Int
    private var offset: Int
    /// The rest of the current DLRR block.
    private var delays = 0..<0

    /// nil: there is not even an SSRC.
    public init?(parsing bytes: Span<UInt8>, at range: Range<Int>) {
        guard range.lowerBound >= 0, range.upperBound <= bytes.count, range.count >= 4 else { return nil }
        ssrc = bytes.readUInt32(at: range.lowerBound)
        offset = range.lowerBound + 4
        end = range.upperBound
    }

    /// The next block; nil at the end.
    public mutating func next(in bytes: Span<UInt8>) -> ExtendedReportBlock? {
        guard end <= bytes.count else { return nil }
        if delays.count >= 12 { return nextDelay(bytes) }
        guard offset + 4 <= end else { return nil }
        let start = offset + 4
        let limit = start + 4 * Int(bytes.readUInt16(at: offset + 2))
        guard limit <= end else {
            offset = end
            return nil
        }
        let (type, specific) = (bytes[offset], bytes[offset + 1])
        offset = limit
        switch (type, limit - start) {
        case (4, 8): return .referenceTime(UInt64(bytes.readUInt32(at: start)) << 32 | UInt64(bytes.readUInt32(at: start + 4)))
        case (5, 12...):
            delays = start..<limit
            return nextDelay(bytes)
        case (6, 36): return .summary(StatisticsSummary(bytes, start, specific))
        case (7, 32): return .voiceMetrics(VoiceMetrics(bytes, start))
        default: return .other(type: type)
        }
    }

    private mutating func nextDelay(_ bytes: Span<UInt8>) -> ExtendedReportBlock {
        let at = delays.lowerBound
        delays = at + 12..<delays.upperBound
        return .delay(
            ReceptionDelay(
                ssrc: bytes.readUInt32(at: at), lastReferenceTime: bytes.readUInt32(at: at + 4), delay: bytes.readUInt32(at: at + 8)))
    }
}

extension StatisticsSummary {
    /// The 36 octets at `at`; `flags`: which of them count.
    fileprivate init(_ bytes: Span<UInt8>, _ at: Int, _ flags: UInt8) {
        ssrc = bytes.readUInt32(at: at)
        begin = bytes.readUInt16(at: at + 4)
        end = bytes.readUInt16(at: at + 6)
        lost = flags & 0x80 == 0 ? nil : bytes.readUInt32(at: at + 8)
        duplicated = flags & 0x40 == 0 ? nil : bytes.readUInt32(at: at + 12)
        jitter =
            flags & 0x20 == 0
            ? nil
            : Jitter(
                least: bytes.readUInt32(at: at + 16), greatest: bytes.readUInt32(at: at + 20), mean: bytes.readUInt32(at: at + 24),
                deviation: bytes.readUInt32(at: at + 28))
    }
}

extension VoiceMetrics {
    /// The 32 octets at `at`.
    fileprivate init(_ bytes: Span<UInt8>, _ at: Int) {
        self.init(ssrc: bytes.readUInt32(at: at))
        lossRate = bytes[at + 4]
        discardRate = bytes[at + 5]
        burstDensity = bytes[at + 6]
        gapDensity = bytes[at + 7]
        burstDuration = bytes.readUInt16(at: at + 8)
        gapDuration = bytes.readUInt16(at: at + 10)
        roundTripDelay = bytes.readUInt16(at: at + 12)
        endSystemDelay = bytes.readUInt16(at: at + 14)
        signalLevel = Int8(bitPattern: bytes[at + 16])
        noiseLevel = Int8(bitPattern: bytes[at + 17])
        residualEchoReturnLoss = bytes[at + 18]
        gapThreshold = bytes[at + 19]
        rating = bytes[at + 20]
        externalRating = bytes[at + 21]
        listeningScore = bytes[at + 22]
        conversationalScore = bytes[at + 23]
        configuration = bytes[at + 24]
        bufferNominal = bytes.readUInt16(at: at + 26)
        bufferMaximum = bytes.readUInt16(at: at + 28)
        bufferLimit = bytes.readUInt16(at: at + 30)
    }
}

extension RTCPWriter {
    /// Begins an extended report; blocks follow by `append`, then `endExtendedReport` with what this returns.
    public mutating func beginExtendedReport(ssrc: UInt32) -> Int {
        let start = bytes.count
        append(UInt32(0x8000_0000) | UInt32(ExtendedReport.packetType) << 16)
        append(ssrc)
        return start
    }

    /// Ends the extended report that begins at `start`; without a block it is taken back.
    public mutating func endExtendedReport(at start: Int) {
        guard start >= 0, bytes.count > start + 8 else { return bytes.removeLast(max(0, bytes.count - max(0, start))) }
        let words = (bytes.count - start) / 4 - 1
        bytes[start + 2] = UInt8(truncatingIfNeeded: words >> 8)
        bytes[start + 3] = UInt8(truncatingIfNeeded: words)
    }

    /// Appends a block of an extended report; `.other` is left out.
    public mutating func append(_ block: ExtendedReportBlock) {
        switch block {
        case .referenceTime(let time):
            appendBlockHeader(4, words: 2)
            append(UInt32(truncatingIfNeeded: time >> 32))
            append(UInt32(truncatingIfNeeded: time))
        case .delay(let delay):
            appendBlockHeader(5, words: 3)
            append(delay.ssrc)
            append(delay.lastReferenceTime)
            append(delay.delay)
        case .summary(let summary):
            let flags: UInt8 =
                (summary.lost == nil ? 0 : 0x80) | (summary.duplicated == nil ? 0 : 0x40) | (summary.jitter == nil ? 0 : 0x20)
            appendBlockHeader(6, flags, words: 9)
            append(summary.ssrc)
            append(summary.begin, summary.end)
            append(summary.lost ?? 0)
            append(summary.duplicated ?? 0)
            append(summary.jitter?.least ?? 0)
            append(summary.jitter?.greatest ?? 0)
            append(summary.jitter?.mean ?? 0)
            append(summary.jitter?.deviation ?? 0)
            append(UInt32(0))
        case .voiceMetrics(let metrics):
            appendBlockHeader(7, words: 8)
            append(metrics)
        case .other: break
        }
    }

    private mutating func append(_ metrics: VoiceMetrics) {
        append(metrics.ssrc)
        append(metrics.lossRate, metrics.discardRate, metrics.burstDensity, metrics.gapDensity)
        append(metrics.burstDuration, metrics.gapDuration)
        append(metrics.roundTripDelay, metrics.endSystemDelay)
        append(
            UInt8(bitPattern: metrics.signalLevel), UInt8(bitPattern: metrics.noiseLevel), metrics.residualEchoReturnLoss,
            metrics.gapThreshold)
        append(metrics.rating, metrics.externalRating, metrics.listeningScore, metrics.conversationalScore)
        append(UInt16(metrics.configuration) << 8, metrics.bufferNominal)
        append(metrics.bufferMaximum, metrics.bufferLimit)
    }

    private mutating func appendBlockHeader(_ type: UInt8, _ specific: UInt8 = 0, words: UInt16) {
        append(UInt32(type) << 24 | UInt32(specific) << 16 | UInt32(words))
    }

    private mutating func append(_ first: UInt16, _ second: UInt16) { append(UInt32(first) << 16 | UInt32(second)) }

    private mutating func append(_ first: UInt8, _ second: UInt8, _ third: UInt8, _ fourth: UInt8) {
        append(UInt16(first) << 8 | UInt16(second), UInt16(third) << 8 | UInt16(fourth))
    }
}
