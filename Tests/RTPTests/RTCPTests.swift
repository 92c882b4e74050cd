// SPDX-License-Identifier: Apache-2.0

import Essentials
import RTP
import Testing

@Suite struct RTCPTests {
    /// All packets before the first error, and the error.
    static func read(_ bytes: [UInt8]) -> (packets: [RTCPPacket], error: RTPError?) {
        var reader = RTCPReader()
        var packets: [RTCPPacket] = []
        do {
            while let packet = try reader.next(in: bytes.span) { packets.append(packet) }
            return (packets, nil)
        } catch {
            return (packets, error)
        }
    }

    @Test("rtcp-good-compound.hex: report, description and BYE come out exactly")
    func goodCompound() throws {
        let bytes = try Fixture.hex("rtp/rtcp-good-compound.hex")
        let (packets, error) = Self.read(bytes)
        #expect(error == nil)
        try #require(packets.count == 3)
        guard case .senderReport(0xcafe_0001, let sender, let blocks) = packets[0] else { Issue.record("no SR"); return }
        #expect(sender.packetCount == 100 && sender.octetCount == 16000 && sender.rtpTimestamp == 16000)
        let block = try #require(blocks.block(0, in: bytes))
        #expect(block.fractionLost == 16 && block.cumulativeLost == 2 && block.highestSequence == 1000)
        #expect(block.jitter == 20)
        #expect(blocks.block(1, in: bytes) == nil && blocks.block(-1, in: bytes) == nil)
        guard case .sourceDescription(let description) = packets[1] else { Issue.record("no SDES"); return }
        #expect(description.canonicalName(in: bytes) == "a@b.c")
        #expect(description.canonicalName(of: 1, in: bytes) == nil)
        guard case .goodbye(let goodbye) = packets[2] else { Issue.record("no BYE"); return }
        #expect(goodbye.names(0xcafe_0001, in: bytes) && !goodbye.names(2, in: bytes))
    }

    @Test("rtcp-xr-overrun.hex: the extended report is passed over, what is before it counts")
    func extendedReportOverrun() throws {
        let (packets, error) = Self.read(try Fixture.hex("rtp/rtcp-xr-overrun.hex"))
        #expect(error == nil && packets.count == 2)
        guard case .other(type: 207, _) = packets.last else { Issue.record("no XR"); return }
    }

    @Test("a report of the corpus whose counts lie is dropped", arguments: ["rtcp-rr-count31.hex", "rtcp-len-zero-sdes.hex"])
    func lyingCounts(file: String) throws {
        let (packets, error) = Self.read(try Fixture.hex("rtp/\(file)"))
        #expect(packets.isEmpty)
        #expect(error?.code == .malformedReport)
    }

    @Test("rtcp-first-not-report.hex: a description alone is read")
    func reducedSize() throws {
        let (packets, error) = Self.read(try Fixture.hex("rtp/rtcp-first-not-report.hex"))
        #expect(packets.count == 1 && error == nil)
    }

    @Test("V-008: a BYE whose reason is longer than the packet leaves without reason")
    func goodbyeReasonOverrun() throws {
        let bytes: [UInt8] = [0x81, 203, 0, 2, 0, 0, 0, 9, 200, 65, 66, 67]
        let (packets, error) = Self.read(bytes)
        #expect(error == nil)
        guard case .goodbye(let goodbye) = packets.first else { Issue.record("no BYE"); return }
        #expect(goodbye.reason == nil && goodbye.names(9, in: bytes))
        guard case .goodbye(let whole) = Self.read([0x81, 203, 0, 2, 0, 0, 0, 9, 3, 65, 66, 67]).packets.first else { return }
        #expect(whole.reason == 9..<12)
    }

    @Test("V-009: feedback with a short payload is passed over")
    func shortFeedback() {
        let (packets, error) = Self.read([0x83, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2] + [0x80, 201, 0, 1, 0, 0, 0, 1])
        #expect(error == nil && packets.count == 2)
    }

    @Test func whatIsWrittenIsRead() throws {
        let block = ReportBlock(
            ssrc: 5, fractionLost: 255, cumulativeLost: -3, highestSequence: 0x1_0002, jitter: 77, lastSenderReport: 9,
            delaySinceLastReport: 65536)
        let sender = SenderInformation(ntpTime: 1 << 40 | 5, rtpTimestamp: 6, packetCount: 7, octetCount: 8)
        for name in ["", "a", "ab", "abc", "abcd", "ä@ö", String(repeating: "x", count: 300)] {
            var writer = RTCPWriter()
            writer.appendSenderReport(ssrc: 1, sender, block: block)
            writer.appendReceiverReport(ssrc: 1, block: nil)
            writer.appendReceiverReport(ssrc: 1, block: block)
            writer.appendDescription(ssrc: 1, canonicalName: name)
            writer.appendGoodbye(ssrc: 1)
            let bytes = writer.bytes
            #expect(bytes.count % 4 == 0)
            let (packets, error) = Self.read(bytes)
            #expect(error == nil)
            try #require(packets.count == 5)
            guard case .senderReport(1, sender, let blocks) = packets[0] else { Issue.record("no SR"); return }
            #expect(blocks.block(0, in: bytes) == block)
            guard case .sourceDescription(let description) = packets[3] else { Issue.record("no SDES"); return }
            #expect(description.canonicalName(of: 1, in: bytes) == String(name.prefix(255)))
            guard case .goodbye = packets[4] else { Issue.record("no BYE"); return }
        }
    }

    @Test func anyOctetsEndInsideThem() {
        var random = SplitMix64(seed: 2)
        let types: [UInt8] = [200, 201, 202, 203, 204, 207]
        for _ in 0..<20_000 {
            var bytes = (0..<Int.random(in: 0...80, using: &random)).map { _ in UInt8.random(in: 0...9, using: &random) }
            if bytes.count > 4 {
                bytes[0] = 0x80 | UInt8.random(in: 0...63, using: &random)
                bytes[1] = types.randomElement(using: &random)!
                bytes[2] = 0
            }
            let (packets, _) = Self.read(bytes)
            for packet in packets {
                switch packet {
                case .senderReport(_, _, let blocks), .receiverReport(_, let blocks):
                    for index in 0..<blocks.count { #expect(blocks.block(index, in: bytes) != nil) }
                case .sourceDescription(let description): _ = description.canonicalName(in: bytes)
                case .goodbye(let goodbye): #expect((goodbye.reason?.upperBound ?? 0) <= bytes.count)
                case .other(_, let range): #expect(range.upperBound <= bytes.count)
                }
            }
        }
    }
}
