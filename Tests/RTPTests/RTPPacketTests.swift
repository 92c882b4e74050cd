// SPDX-License-Identifier: Apache-2.0

import Essentials
import RTP
import Testing

@Suite struct RTPPacketTests {
    @Test func whatIsWrittenIsRead() throws {
        let packet = RTPPacket(
            payloadType: 101, marker: true, sequenceNumber: 65535, timestamp: 0xdead_beef, ssrc: 0x0102_0304, payloadCount: 3)
        let bytes = packet.serialized(payload: [7, 8, 9])
        #expect(bytes.count == 15)
        #expect(try RTPPacket(parsing: bytes) == packet)
    }

    @Test(
        "a packet of the corpus that is to be dropped is refused",
        arguments: [
            ("bad-short11.hex", RTPError.Code.truncated), ("bad-version1.hex", .wrongVersion),
            ("bad-ext-overrun.hex", .extensionOverrun), ("bad-pad-zero.hex", .badPadding),
        ])
    func refuses(file: String, code: RTPError.Code) throws {
        let bytes = try Fixture.hex("rtp/\(file)")
        #expect { try RTPPacket(parsing: bytes) } throws: { ($0 as? RTPError)?.code == code }
    }

    @Test(
        "a packet of the corpus that is to be taken gives its payload",
        arguments: [
            ("bad-ext-ok.hex", 160, 0), ("bad-pad-ok.hex", 160, 0), ("bad-odd-g722.hex", 161, 9), ("bad-huge.hex", 8000, 0),
            ("bad-tev-16.hex", 4, 101), ("bad-tev-255.hex", 4, 101),
        ])
    func accepts(file: String, payload: Int, type: UInt8) throws {
        let packet = try RTPPacket(parsing: Fixture.hex("rtp/\(file)"))
        #expect(packet.payloadRange.count == payload)
        #expect(packet.payloadType == type)
        #expect(packet.sequenceNumber == 100)
        if file == "bad-ext-ok.hex" {
            #expect(packet.extensionProfile == 0xbede)
            #expect(packet.extensionRange == 16..<20)
            #expect(packet.payloadRange.lowerBound == 20)
        }
    }

    @Test func contributorsArePassedOver() throws {
        var bytes = RTPPacket(payloadType: 0, sequenceNumber: 1, timestamp: 2, ssrc: 3).serialized(payload: [])
        bytes[0] |= 2
        #expect(throws: RTPError.self) { try RTPPacket(parsing: bytes) }
        bytes += [UInt8](repeating: 1, count: 8) + [42]
        #expect(try RTPPacket(parsing: bytes).payloadRange == 20..<21)
    }

    @Test func paddingLargerThanThePayloadIsRefused() throws {
        var bytes = RTPPacket(payloadType: 0, sequenceNumber: 1, timestamp: 2, ssrc: 3).serialized(payload: [1, 2, 4])
        bytes[0] |= 0x20
        #expect(throws: RTPError.self) { try RTPPacket(parsing: bytes) }
        bytes[14] = 3
        #expect(try RTPPacket(parsing: bytes).payloadRange.isEmpty)
    }

    @Test func anyOctetsGiveAPacketInsideThemOrAnError() {
        var random = SplitMix64(seed: 1)
        for _ in 0..<20_000 {
            var bytes = (0..<Int.random(in: 0...48, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
            if !bytes.isEmpty, Bool.random(using: &random) { bytes[0] = 0x80 | bytes[0] & 0x3f }
            guard let packet = try? RTPPacket(parsing: bytes) else { continue }
            #expect(packet.payloadRange.lowerBound >= 12 && packet.payloadRange.upperBound <= bytes.count)
            _ = try? TelephoneEvent(parsing: bytes, at: packet.payloadRange)
        }
    }

    @Test func rtcpOnASharedPortIsToldApart() throws {
        #expect(RTPPacket.looksLikeRTCP(try Fixture.hex("rtp/rtcp-first-not-report.hex")))
        #expect(RTPPacket.looksLikeRTCP(try Fixture.hex("rtp/rtcp-good-compound.hex")))
        #expect(!RTPPacket.looksLikeRTCP(try Fixture.hex("rtp/bad-pad-ok.hex")))
        #expect(!RTPPacket.looksLikeRTCP([0x80]))
    }

    @Test func eventsReadAndWrite() throws {
        let event = TelephoneEvent(code: 11, isEnd: true, volume: 10, duration: 2240)
        #expect(event.serialized == [11, 0x8a, 0x08, 0xc0])
        #expect(try TelephoneEvent(parsing: event.serialized, at: 0..<4) == event)
        #expect(throws: RTPError.self) { try TelephoneEvent(parsing: [1, 2, 3], at: 0..<3) }
        for (code, digit) in "0123456789*#ABCD".enumerated() {
            #expect(TelephoneEvent.digit(ofCode: UInt8(code)) == digit)
            #expect(TelephoneEvent.code(ofDigit: digit) == UInt8(code))
        }
        #expect(TelephoneEvent.code(ofDigit: "c") == 14)
        #expect(TelephoneEvent.code(ofDigit: "é") == nil)
        for code in UInt8(16)...255 { #expect(TelephoneEvent.digit(ofCode: code) == nil) }
    }
}
