// SPDX-License-Identifier: Apache-2.0

import Essentials
import Media
import RTP
import Testing

@Suite struct QualityTests {
    /// A pair with speech both ways that has run for a second.
    static func talking(_ change: ((inout StreamConfiguration) -> Void)? = nil) -> Pair {
        let pair = Pair(bridgeRate: 8000, link: Link(seed: 4, delay: 20))
        pair.configure(change)
        for party in [pair.left, pair.right] { party.play(Signals.voice(rate: 8000, seconds: 20), rate: 8000, loops: true) }
        pair.run(milliseconds: 1000)
        return pair
    }

    static func warnings(_ party: Party) -> [MediaWarning] {
        party.events.compactMap { if case .warning(_, let warning, _, _) = $0 { warning } else { nil } }
    }

    static func mended(_ party: Party) -> [MediaWarning] {
        party.events.compactMap { if case .warningOver(_, let warning) = $0 { warning } else { nil } }
    }

    static func reports(_ party: Party) -> [ExtendedReportBlock] {
        var blocks: [ExtendedReportBlock] = []
        for (_, packet) in party.sent where packet.kind == .rtcp {
            var reader = RTCPReader()
            while let next = try? reader.next(in: packet.bytes.span) {
                guard case .other(type: ExtendedReport.packetType, let range) = next,
                    var report = ExtendedReport(parsing: packet.bytes.span, at: range)
                else { continue }
                while let block = report.next(in: packet.bytes.span) { blocks.append(block) }
            }
        }
        return blocks
    }

    // MARK: Warnings

    @Test func aCallThatIsWellIsNotWarnedOf() {
        let pair = Self.talking()
        pair.run(milliseconds: 30_000)
        #expect(Self.warnings(pair.left).isEmpty && Self.warnings(pair.right).isEmpty)
        #expect(pair.right.statistics.liveScore ?? 0 > 4.2 && pair.right.statistics.score ?? 0 > 4.2)
    }

    @Test func lossIsToldWhileItLastsAndItsEndOnce() throws {
        let pair = Self.talking()
        pair.there.loss = 0.15
        pair.run(milliseconds: 12_000)
        #expect(Set(Self.warnings(pair.right)) == [.loss])
        #expect(Set(Self.warnings(pair.left)) == [.lossSent])
        let first = pair.right.events.compactMap { if case .warning(_, _, let value, _) = $0 { value } else { nil } }.first
        #expect((5...30).contains(try #require(first)))
        #expect(pair.right.statistics.liveScore ?? 5 < 4)
        pair.there.loss = 0
        pair.run(milliseconds: 20_000)
        #expect(Self.mended(pair.right) == [.loss] && Self.mended(pair.left) == [.lossSent])
        #expect(pair.right.statistics.liveScore ?? 0 > 4.2)
        #expect(pair.right.statistics.score ?? 5 < pair.right.statistics.liveScore ?? 0)
    }

    @Test func aLegOnWhichNothingComesIsNamedWithinTwoSeconds() {
        let party = Party("192.0.2.1:4000", bridgeRate: 8000)
        party.configure(remote: "192.0.2.2:5000")
        party.feed([], from: "192.0.2.2:5000", for: 1900)
        #expect(Self.warnings(party).isEmpty)
        party.feed([], from: "192.0.2.2:5000", for: 350, start: 1900)
        #expect(Self.warnings(party) == [.nothingReceived])
    }

    @Test func whereNothingCameThereIsNoScore() {
        let party = Party("192.0.2.1:4000", bridgeRate: 8000)
        party.configure(remote: "192.0.2.2:5000")
        party.feed([], from: "192.0.2.2:5000", for: 10_000)
        let figures = party.statistics
        #expect(figures.score == nil && figures.liveScore == nil && figures.mouthToEarMilliseconds == nil)
    }

    @Test func aLegThatStaysSilentIsScoredForWhatDoesNotCome() {
        let pair = Self.talking()
        pair.there.loss = 1
        pair.run(milliseconds: 12_000)
        #expect(pair.right.statistics.liveScore ?? 5 < 1.5)
        #expect(pair.right.statistics.score ?? 5 < 2)
        #expect(Set(Self.warnings(pair.right)) == [.nothingReceived])
        pair.there.loss = 0
        pair.run(milliseconds: 12_000)
        #expect(pair.right.statistics.liveScore ?? 0 > 4.2)
    }

    @Test func aPauseInWhichNothingIsExpectedTakesNothingFromTheScore() {
        let pair = Self.talking { $0.sendComfortNoisePayloadType = 13 }
        let before = pair.right.statistics.score ?? 0
        pair.left.configure(remote: pair.right.address.description, now: pair.now) { $0.sends = false }
        pair.right.configure(remote: pair.left.address.description, now: pair.now) { $0.receives = false }
        pair.run(milliseconds: 10_000)
        #expect(before > 4.2 && pair.right.statistics.score ?? 0 > 4.2)
    }

    @Test func aLegThatFallsSilentIsNamedAndMended() {
        let pair = Self.talking()
        pair.there.loss = 1
        pair.run(milliseconds: 2400)
        #expect(Self.warnings(pair.right).first == .nothingReceived)
        pair.there.loss = 0
        pair.run(milliseconds: 400)
        #expect(Self.mended(pair.right).first == .nothingReceived)
    }

    @Test func packetsFromElsewhereAreNamedWithTheirAddress() throws {
        let pair = Self.talking()
        let stranger = try #require(SocketAddress("198.51.100.9:7000"))
        pair.there.loss = 1
        for index in 0..<260 {
            pair.run(milliseconds: 10)
            // Never two in a row of the same sequence: the source lock takes none of them.
            let header = RTPPacket(payloadType: 0, sequenceNumber: UInt16(index * 7), timestamp: 0, ssrc: 99)
            pair.right.engine.receive(
                header.serialized(payload: [UInt8](repeating: 0xff, count: 160)), on: .stream, kind: .rtp, from: stranger, at: pair.now)
        }
        let sources = pair.right.events.compactMap { event -> SocketAddress? in
            if case .warning(_, .wrongAddress, _, let source) = event { source } else { nil }
        }
        #expect(sources.first == stranger)
        #expect(!Self.warnings(pair.right).contains(.nothingReceived))
    }

    @Test func whereThereIsNoAddressToSendToThatIsNamed() {
        let party = Party("192.0.2.1:4000", bridgeRate: 8000)
        party.configure(remote: nil)
        party.feed([], from: "192.0.2.2:5000", for: 2500)
        #expect(Set(Self.warnings(party)) == [.nothingSent, .nothingReceived])
    }

    @Test func whoSpeaksWhileMutedIsTold() {
        let pair = Self.talking()
        pair.left.configure(remote: pair.right.address.description, now: pair.now) { $0.isMuted = true }
        pair.run(milliseconds: 2000)
        #expect(Self.warnings(pair.left) == [.muted])
        pair.left.configure(remote: pair.right.address.description, now: pair.now) { $0.isMuted = false }
        pair.run(milliseconds: 400)
        #expect(Self.mended(pair.left) == [.muted])
    }

    @Test func whoIsMutedSendsSilenceAndPacketsGoOn() {
        let pair = Self.talking { $0.isMuted = true }
        #expect(pair.left.rtp.count == 50)
        #expect(pair.left.rtp.allSatisfy { $0.payload.allSatisfy { $0 == 0xff } })
        pair.run(milliseconds: 1400)
        #expect(Self.warnings(pair.right).contains(.silenceReceived))
    }

    @Test func aPauseInSpeechIsNoWarning() {
        let pair = Pair(bridgeRate: 8000, link: Link(seed: 4, delay: 20))
        pair.configure()
        for party in [pair.left, pair.right] { party.play(Signals.voice(rate: 8000, seconds: 2), rate: 8000) }
        pair.run(milliseconds: 10_000)
        #expect(Self.warnings(pair.right).isEmpty)
        pair.run(milliseconds: 10_000)
        #expect(Self.warnings(pair.right).first == .silenceReceived)
    }

    @Test func delayIsTold() {
        let pair = Pair(bridgeRate: 8000, link: Link(seed: 4, delay: 450))
        pair.configure()
        for party in [pair.left, pair.right] { party.play(Signals.voice(rate: 8000, seconds: 20), rate: 8000, loops: true) }
        pair.run(milliseconds: 15_000)
        #expect(Self.warnings(pair.left).contains(.delay))
        #expect(pair.left.statistics.mouthToEarMilliseconds ?? 0 > 450)
    }

    @Test func aStreamThatIsHeldIsNotWarnedOf() {
        let pair = Self.talking()
        pair.configure {
            $0.sends = false
            $0.receives = false
        }
        pair.run(milliseconds: 20_000)
        #expect(Self.warnings(pair.left).isEmpty && Self.warnings(pair.right).isEmpty)
    }

    // MARK: Extended reports

    @Test func voiceMetricsAreSentWhereThePeerWishesThem() throws {
        let pair = Self.talking { $0.extendedReports = [.voiceMetrics, .summary] }
        pair.there.loss = 0.1
        pair.run(milliseconds: 20_000)
        let metrics = Self.reports(pair.right).compactMap { if case .voiceMetrics(let it) = $0 { it } else { nil } }
        let last = try #require(metrics.last)
        #expect((15...40).contains(last.lossRate), "\(last.lossRate)")
        #expect(last.gapThreshold == 16 && last.configuration == 0xb0)
        #expect((20...80).contains(last.roundTripDelay))
        #expect(last.burstDensity > 0 && last.burstDuration > 40 && last.gapDuration > 40)
        #expect((-40 ... -10).contains(last.signalLevel))
        #expect((10...42).contains(last.conversationalScore))
        #expect(try #require(pair.left.statistics.remoteScore) == Double(last.conversationalScore) / 10)
        let summaries = Self.reports(pair.right).compactMap { if case .summary(let it) = $0 { it } else { nil } }
        let summary = try #require(summaries.last)
        #expect(try #require(summary.lost) > 50 && summary.duplicated == 0)
        #expect(summary.end &- summary.begin > 600)
    }

    @Test func withoutAWishNoneAreSent() {
        let pair = Self.talking()
        pair.run(milliseconds: 20_000)
        #expect(Self.reports(pair.left).isEmpty && Self.reports(pair.right).isEmpty)
    }

    @Test func whoOnlyReceivesLearnsTheRoundTripByReferenceTimes() throws {
        let pair = Pair(bridgeRate: 8000, link: Link(seed: 4, delay: 60))
        pair.configure { $0.extendedReports = [.receiverRoundTrip] }
        pair.right.configure(remote: pair.left.address.description) { $0.sends = false }
        pair.run(milliseconds: 20_000)
        // Ticks are 10 ms, and each way takes 60.
        #expect((115...145).contains(try #require(pair.right.statistics.roundTripMilliseconds)))
    }

    @Test func aLostPacketsPatternIsToldAsBurstsAndGaps() {
        var pattern = LossPatternProbe()
        let gap = String(repeating: ".", count: 100)
        pattern.add(gap + "x" + gap + "xxx..xx.x" + gap + gap)
        let figures = pattern.figures
        // Six of nine lost in the burst; one of 201 in the gap before it.
        #expect(figures.burstDensity == 170 && figures.burstDuration == 9 * 20)
        #expect(figures.gapDensity == 0 || figures.gapDensity == 1)
        #expect(pattern.ratio > 1.4)
    }
}

/// Losses as text: `x` is lost.
private struct LossPatternProbe {
    private var pattern = LossPattern()
    mutating func add(_ text: String) { for character in text { pattern.add(isLost: character == "x") } }
    var figures: (burstDensity: UInt8, gapDensity: UInt8, burstDuration: UInt16, gapDuration: UInt16) {
        pattern.figures(milliseconds: 20)
    }
    var ratio: Double { pattern.burstRatio }
}
