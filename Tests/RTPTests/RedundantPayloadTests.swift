// SPDX-License-Identifier: Apache-2.0

import RTP
import Testing

@Suite struct RedundantPayloadTests {
    static func parse(_ bytes: [UInt8]) throws -> [RedundantBlock] {
        let payload = try RedundantPayload(parsing: bytes.span, at: 0..<bytes.count)
        return (0..<payload.count).compactMap { payload.block($0, in: bytes.span) }
    }

    @Test func `RFC 2198 §5: the example of the RFC is read as it says`() throws {
        // DVI4 (5) with a copy in LPC (7): offset of one packet of 20 ms at 8 kHz, 14 octets of copy, 84 of audio.
        let bytes: [UInt8] = [0x87, 0x02, 0x80, 0x0e, 0x05] + Array(1...14) + [UInt8](repeating: 9, count: 84)
        let blocks = try Self.parse(bytes)
        #expect(blocks.count == 2)
        #expect(blocks[0] == RedundantBlock(payloadType: 7, timestampOffset: 160, age: 1, range: 5..<19))
        #expect(blocks[1] == RedundantBlock(payloadType: 5, timestampOffset: 0, age: 0, range: 19..<103))
    }

    @Test func whatIsWrittenIsRead() throws {
        let bytes = try #require(
            RedundantPayload.serialized([(96, 16_383, [1, 2, 3]), (97, 960, []), (0, 0, [UInt8](repeating: 7, count: 1023))]))
        let blocks = try Self.parse(bytes)
        #expect(blocks.map(\.payloadType) == [96, 97, 0])
        #expect(blocks.map(\.timestampOffset) == [16_383, 960, 0])
        #expect(blocks.map(\.age) == [2, 1, 0])
        #expect(blocks.map(\.range.count) == [3, 0, 1023])
        #expect(Array(bytes[blocks[0].range]) == [1, 2, 3])
    }

    @Test("what does not fit its field is not written")
    func fieldsHaveRoom() {
        #expect(RedundantPayload.serialized([(96, 16_384, []), (96, 0, [1])]) == nil)
        #expect(RedundantPayload.serialized([(96, 160, [UInt8](repeating: 0, count: 1024)), (96, 0, [1])]) == nil)
        #expect(RedundantPayload.serialized([]) == nil)
        let many = [(payloadType: UInt8, timestampOffset: UInt32, bytes: [UInt8])](repeating: (96, 160, [1]), count: 17)
        #expect(RedundantPayload.serialized(many) == nil)
    }

    @Test(
        "a payload that lies about its lengths is refused",
        arguments: [
            [], [0x80], [0x80, 0, 0], [0x80, 0, 0, 0], [0x80, 0, 0, 1, 0x00], [0xe0, 0x03, 0xff, 0xff, 0x00, 1, 2, 3],
            [UInt8](repeating: 0x80, count: 200),
        ] as [[UInt8]])
    func refuses(bytes: [UInt8]) {
        #expect { try Self.parse(bytes) } throws: { ($0 as? RTPError)?.code == .malformedRedundancy }
    }

    @Test func aRangeOutsideOfTheDatagramIsRefused() {
        let bytes: [UInt8] = [0, 1, 2]
        #expect(throws: RTPError.self) { try RedundantPayload(parsing: bytes.span, at: 1..<9) }
    }

    @Test func aPacketWithoutCopiesHasOneBlock() throws {
        #expect(try Self.parse([0x60]) == [RedundantBlock(payloadType: 96, timestampOffset: 0, age: 0, range: 1..<1)])
        let payload = try RedundantPayload(parsing: [0x60, 5].span, at: 0..<2)
        #expect(payload.block(1, in: [0x60, 5].span) == nil && payload.block(-1, in: [0x60, 5].span) == nil)
        #expect(payload.block(0, in: [0x60].span) == nil)
    }
}
