// SPDX-License-Identifier: Apache-2.0
//
// Reports of one stream (RFC 3550 §6): one every 5 s on average, spread over 0.5...1.5 times that; the first after half.
// The round trip is what remains of now − LSR − DLSR (§6.4.1):
//
//     we    ──SR──┐                 ┌──▶ now        LSR = our SR's time, DLSR = how long the peer kept it
//     peer        └─▶ [ DLSR ] ─RR──┘

import Essentials
import RTP

/// Which extended reports (RFC 3611) a stream sends, because the peer wished for them.
public struct ExtendedReportKinds: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    public static let voiceMetrics = ExtendedReportKinds(rawValue: 1)
    public static let summary = ExtendedReportKinds(rawValue: 2)
    public static let receiverRoundTrip = ExtendedReportKinds(rawValue: 4)
}

/// What goes into one extended report besides times.
struct ExtendedReportContent {
    var kinds: ExtendedReportKinds
    var metrics: VoiceMetrics?
    var summary: StatisticsSummary?
}

struct RTCPSession {
    private let ssrc: UInt32
    private let canonicalName: String
    private let interval: Interval
    private let random: RandomSource
    private var writer = RTCPWriter()
    private var nextReport: MonotonicTime?
    private var packetsAtLastReport: UInt64 = 0
    private var lastSenderReport: UInt32 = 0
    private var lastSenderReportAt = MonotonicTime.zero
    private(set) var roundTrip: Interval?
    private(set) var remoteFractionLost: Double?
    /// How the call sounds at the peer, as it tells (RFC 3611).
    private(set) var remoteMetrics: VoiceMetrics?
    /// The peer's last reference time, to be answered.
    private var referenceTime: (ssrc: UInt32, middle: UInt32, at: MonotonicTime)?

    init(_ identity: StreamIdentity, interval: Interval, random: RandomSource) {
        ssrc = identity.ssrc
        canonicalName = identity.cname
        self.interval = interval
        self.random = random
        writer.bytes.reserveCapacity(320)
    }

    /// Monotonic time in NTP's form; its origin is arbitrary, as RFC 3550 §6.4.1 allows without a wall clock.
    static func ntpTime(_ now: MonotonicTime) -> UInt64 {
        let nanoseconds = UInt64(bitPattern: max(now.nanoseconds, 0))
        let seconds = nanoseconds / 1_000_000_000 + 1
        return seconds << 32 | (nanoseconds % 1_000_000_000) << 32 / 1_000_000_000
    }

    private static func middle(_ now: MonotonicTime) -> UInt32 { UInt32(truncatingIfNeeded: ntpTime(now) >> 16) }

    /// Whether a report is due; the next time is chosen then.
    mutating func isDue(at now: MonotonicTime) -> Bool {
        guard let due = nextReport else {
            nextReport = now + .seconds(interval.seconds * (0.5 + random.fraction()) / 2)
            return false
        }
        guard now >= due else { return false }
        nextReport = now + .seconds(interval.seconds * (0.5 + random.fraction()))
        return true
    }

    /// The compound to send now: SR if we sent since the last one, else RR; SDES; BYE at the end.
    mutating func makeReport(
        _ sender: StreamSender, _ source: inout SourceState?, jitter: Double, isGoodbye: Bool, extended: ExtendedReportContent?,
        at now: MonotonicTime
    ) -> [UInt8] {
        var block: ReportBlock?
        if source != nil {
            block = ReportBlock(
                ssrc: source?.ssrc ?? 0, fractionLost: source?.takeFractionLost() ?? 0,
                cumulativeLost: Int32(clamping: source?.lost ?? 0), highestSequence: source?.highestForReport ?? 0,
                jitter: UInt32(min(max(jitter, 0), 4e9)), lastSenderReport: lastSenderReport,
                delaySinceLastReport: lastSenderReport == 0 ? 0 : Self.units(now - lastSenderReportAt))
        }
        writer.removeAll()
        if sender.packetsSent != packetsAtLastReport {
            let information = SenderInformation(
                ntpTime: Self.ntpTime(now), rtpTimestamp: sender.timestamp,
                packetCount: UInt32(truncatingIfNeeded: sender.packetsSent),
                octetCount: UInt32(truncatingIfNeeded: sender.octetsSent))
            writer.appendSenderReport(ssrc: ssrc, information, block: block)
        } else {
            writer.appendReceiverReport(ssrc: ssrc, block: block)
        }
        packetsAtLastReport = sender.packetsSent
        writer.appendDescription(ssrc: ssrc, canonicalName: canonicalName)
        if let extended { append(extended, at: now) }
        if isGoodbye { writer.appendGoodbye(ssrc: ssrc) }
        return writer.bytes
    }

    private mutating func append(_ content: ExtendedReportContent, at now: MonotonicTime) {
        let start = writer.beginExtendedReport(ssrc: ssrc)
        if content.kinds.contains(.receiverRoundTrip) {
            writer.append(.referenceTime(Self.ntpTime(now)))
            if let referenceTime {
                writer.append(
                    .delay(
                        ReceptionDelay(
                            ssrc: referenceTime.ssrc, lastReferenceTime: referenceTime.middle, delay: Self.units(now - referenceTime.at))))
            }
        }
        if let summary = content.summary { writer.append(.summary(summary)) }
        if let metrics = content.metrics { writer.append(.voiceMetrics(metrics)) }
        writer.endExtendedReport(at: start)
    }

    /// The peer's extended report came (RFC 3611).
    mutating func note(_ report: ExtendedReport, in bytes: Span<UInt8>, at now: MonotonicTime) {
        var report = report
        while let block = report.next(in: bytes) {
            switch block {
            case .referenceTime(let time): referenceTime = (report.ssrc, UInt32(truncatingIfNeeded: time >> 16), now)
            case .delay(let delay): if delay.ssrc == ssrc { measure(delay.lastReferenceTime, delay.delay, at: now) }
            case .voiceMetrics(let metrics): if metrics.ssrc == ssrc { remoteMetrics = metrics }
            case .summary, .other: break
            }
        }
    }

    private static func units(_ interval: Interval) -> UInt32 {
        UInt32(clamping: max(0, interval.nanoseconds) / 1_000_000 * 65536 / 1000)
    }

    /// A sender report of the peer came.
    mutating func noteSenderReport(_ information: SenderInformation, at now: MonotonicTime) {
        lastSenderReport = UInt32(truncatingIfNeeded: information.ntpTime >> 16)
        lastSenderReportAt = now
    }

    /// The peer reports about our packets.
    mutating func note(_ block: ReportBlock, at now: MonotonicTime) {
        guard block.ssrc == ssrc else { return }
        remoteFractionLost = Double(block.fractionLost) / 256
        measure(block.lastSenderReport, block.delaySinceLastReport, at: now)
    }

    /// The round trip: our time of `sent`, which the peer kept for `kept`.
    private mutating func measure(_ sent: UInt32, _ kept: UInt32, at now: MonotonicTime) {
        guard sent != 0 else { return }
        let rest = Self.middle(now) &- sent &- kept
        // A peer that counts wrongly gives a negative or an absurd time.
        guard rest < 60 * 65536 else { return }
        roundTrip = .nanoseconds(Int64(rest) * 1_000_000_000 / 65536)
    }
}
