// SPDX-License-Identifier: Apache-2.0

import RTP
import Testing

@Suite struct ExtendedReportTests {
    static func blocks(_ bytes: [UInt8]) throws -> [ExtendedReportBlock] {
        var reader = RTCPReader()
        guard case .other(type: ExtendedReport.packetType, let range) = try reader.next(in: bytes.span),
            var report = ExtendedReport(parsing: bytes.span, at: range)
        else { return [] }
        var blocks: [ExtendedReportBlock] = []
        while let block = report.next(in: bytes.span) { blocks.append(block) }
        return blocks
    }

    static func written(_ blocks: [ExtendedReportBlock]) -> [UInt8] {
        var writer = RTCPWriter()
        let start = writer.beginExtendedReport(ssrc: 0xcafe_0001)
        for block in blocks { writer.append(block) }
        writer.endExtendedReport(at: start)
        return writer.bytes
    }

    static var metrics: VoiceMetrics {
        var metrics = VoiceMetrics(ssrc: 0x0102_0304)
        metrics.lossRate = 12
        metrics.discardRate = 3
        metrics.burstDensity = 200
        metrics.gapDensity = 1
        metrics.burstDuration = 60
        metrics.gapDuration = 5000
        metrics.roundTripDelay = 84
        metrics.endSystemDelay = 61
        metrics.signalLevel = -21
        metrics.noiseLevel = -70
        metrics.rating = 88
        metrics.listeningScore = 43
        metrics.conversationalScore = 42
        metrics.configuration = 0xb0
        metrics.bufferNominal = 40
        metrics.bufferMaximum = 60
        metrics.bufferLimit = 500
        return metrics
    }

    @Test func whatIsWrittenIsRead() throws {
        let blocks: [ExtendedReportBlock] = [
            .referenceTime(0x0123_4567_89ab_cdef), .delay(ReceptionDelay(ssrc: 9, lastReferenceTime: 0x4567_89ab, delay: 65_536)),
            .summary(
                StatisticsSummary(
                    ssrc: 9, begin: 65_530, end: 20, lost: 3, duplicated: 0,
                    jitter: .init(least: 0, greatest: 400, mean: 31, deviation: 12))),
            .summary(StatisticsSummary(ssrc: 9, begin: 1, end: 2, lost: nil, duplicated: nil, jitter: nil)),
            .voiceMetrics(Self.metrics),
        ]
        #expect(try Self.blocks(Self.written(blocks)) == blocks)
    }

    @Test func `RFC 3611 §4.7: the block of VoIP metrics has its octets in their places`() {
        let bytes = Self.written([.voiceMetrics(Self.metrics)])
        #expect(
            bytes == [
                0x80, 207, 0, 10, 0xca, 0xfe, 0, 1, 7, 0, 0, 8, 1, 2, 3, 4, 12, 3, 200, 1, 0, 60, 0x13, 0x88, 0, 84, 0, 61,
                0xeb, 0xba, 127, 16, 88, 127, 43, 42, 0xb0, 0, 0, 40, 0, 60, 0x01, 0xf4,
            ])
    }

    @Test func aReportWithoutBlocksIsNotWritten() {
        #expect(Self.written([]).isEmpty)
        #expect(Self.written([.other(type: 1)]).isEmpty)
    }

    @Test(
        "a block that runs over the packet, or has a length that it cannot have, gives nothing",
        arguments: [
            ([0x80, 207, 0, 3, 0, 0, 0, 1, 4, 0, 0, 2, 1, 2, 3, 4], []),
            ([0x80, 207, 0, 2, 0, 0, 0, 1, 7, 0, 0xff, 0xff], []),
            ([0x80, 207, 0, 3, 0, 0, 0, 1, 4, 0, 0, 1, 1, 2, 3, 4], [.other(type: 4)]),
            ([0x80, 207, 0, 3, 0, 0, 0, 1, 99, 0, 0, 0, 5, 0, 0, 0], [.other(type: 99), .other(type: 5)]),
            ([0x80, 207, 0, 1, 0, 0, 0, 1], []),
        ] as [([UInt8], [ExtendedReportBlock])])
    func strangeBlocks(bytes: [UInt8], expected: [ExtendedReportBlock]) throws { #expect(try Self.blocks(bytes) == expected) }

    @Test func severalDelaysOfOneBlockAreReadOneByOne() throws {
        let one: [UInt8] = [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3]
        let bytes = [0x80, 207, 0, 8, 0, 0, 0, 1, 5, 0, 0, 6] + one + one
        let delay = ExtendedReportBlock.delay(ReceptionDelay(ssrc: 1, lastReferenceTime: 2, delay: 3))
        #expect(try Self.blocks(bytes) == [delay, delay])
    }

    @Test func withoutAnSSRCItIsNoReport() {
        #expect(ExtendedReport(parsing: [1, 2, 3].span, at: 0..<3) == nil)
        #expect(ExtendedReport(parsing: [1, 2, 3, 4].span, at: 0..<9) == nil)
    }
}
