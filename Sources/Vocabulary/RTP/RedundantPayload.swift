// SPDX-License-Identifier: Apache-2.0
//
// The payload of `red`, RFC 2198 §3: a header for each block, the copies of earlier packets first, then the blocks in the same
// order. The last one is the packet's own audio; its header is one octet.
//
//      0                   1                   2                   3
//      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//     |1|  block PT   |  timestamp offset (14)    | block length (10) |   a copy
//     |0|  block PT   |                                                   the audio of this packet

/// One block of a redundant payload.
public struct RedundantBlock: Sendable, Hashable {
    /// What the octets are: a payload type of the session.
    public var payloadType: UInt8
    /// How far the block lies before the packet's timestamp, in timestamp units; 0 for the packet's own audio.
    public var timestampOffset: UInt32
    /// How many packets before this one the block was sent first, as far as its place tells; 0 for the packet's own audio.
    public var age: Int
    /// The octets, in the datagram that was parsed.
    public var range: Range<Int>

    public init(payloadType: UInt8, timestampOffset: UInt32, age: Int, range: Range<Int>) {
        self.payloadType = payloadType
        self.timestampOffset = timestampOffset
        self.age = age
        self.range = range
    }
}

/// A redundant payload whose lengths were checked. Nothing is copied: the blocks are ranges of the datagram.
///
///     let payload = try RedundantPayload(parsing: bytes, at: packet.payloadRange)
///     for index in 0..<payload.count { let block = payload.block(index, in: bytes) … }
public struct RedundantPayload: Sendable, Hashable {
    /// The most blocks that are read; a payload with more is malformed.
    public static let maximumBlocks = 16
    /// What the 14 bits of a timestamp offset hold.
    public static let maximumOffset: UInt32 = 0x3fff
    /// What the 10 bits of a block length hold.
    public static let maximumLength = 0x3ff
    /// Octets of the header of a copy, and of the packet's own audio.
    public static let copyHeaderSize = 4
    public static let lastHeaderSize = 1

    /// Blocks, the packet's own audio included: 1...`maximumBlocks`.
    public let count: Int
    private let start: Int
    private let end: Int

    /// Reads the headers of the payload that lies at `range` of `bytes`.
    /// - Throws: `.malformedRedundancy` where a header or a block runs over the payload, or there are too many.
    public init(parsing bytes: Span<UInt8>, at range: Range<Int>) throws(RTPError) {
        guard range.lowerBound >= 0, range.upperBound <= bytes.count else {
            throw RTPError(.malformedRedundancy, at: max(0, range.lowerBound))
        }
        var at = range.lowerBound
        var copies = 0
        var length = 0
        while true {
            guard at < range.upperBound else { throw RTPError(.malformedRedundancy, at: at) }
            if bytes[at] & 0x80 == 0 { break }
            guard at + Self.copyHeaderSize <= range.upperBound, copies + 1 < Self.maximumBlocks else {
                throw RTPError(.malformedRedundancy, at: at)
            }
            length += Int(bytes.readUInt16(at: at + 2)) & Self.maximumLength
            copies += 1
            at += Self.copyHeaderSize
        }
        guard at + Self.lastHeaderSize + length <= range.upperBound else { throw RTPError(.malformedRedundancy, at: at) }
        count = copies + 1
        start = range.lowerBound
        end = range.upperBound
    }

    /// Block `index`, the oldest copy first, of the datagram `bytes`; nil if there is no such block.
    public func block(_ index: Int, in bytes: Span<UInt8>) -> RedundantBlock? {
        guard index >= 0, index < count, end <= bytes.count else { return nil }
        let copies = count - 1
        var data = start + copies * Self.copyHeaderSize + Self.lastHeaderSize
        for copy in 0..<copies {
            let header = start + copy * Self.copyHeaderSize
            let length = Int(bytes.readUInt16(at: header + 2)) & Self.maximumLength
            if copy == index {
                return RedundantBlock(
                    payloadType: bytes[header] & 0x7f, timestampOffset: bytes.readUInt32(at: header) >> 10 & Self.maximumOffset,
                    age: copies - copy, range: data..<data + length)
            }
            data += length
        }
        return RedundantBlock(
            payloadType: bytes[start + copies * Self.copyHeaderSize] & 0x7f, timestampOffset: 0, age: 0, range: data..<end)
    }

    /// The packet's own audio.
    public func primary(in bytes: Span<UInt8>) -> RedundantBlock? { block(count - 1, in: bytes) }

    /// Writes the header of a copy at `offset` of `bytes`; offset and length must be in range, the room there.
    package static func writeCopyHeader(
        payloadType: UInt8, timestampOffset: UInt32, length: Int, into bytes: inout MutableSpan<UInt8>, at offset: Int
    ) {
        let word =
            (0x80 | UInt32(payloadType & 0x7f)) << 24 | min(timestampOffset, maximumOffset) << 10
            | UInt32(min(max(length, 0), maximumLength))
        bytes.writeUInt32(word, at: offset)
    }

    /// A whole payload of these blocks, the oldest first, the packet's own audio last: what tests and tools want.
    /// - Returns: nil where an offset or a length does not fit its field, or there is no block.
    public static func serialized(_ blocks: [(payloadType: UInt8, timestampOffset: UInt32, bytes: [UInt8])]) -> [UInt8]? {
        guard let last = blocks.last, blocks.count <= maximumBlocks else { return nil }
        var result = [UInt8](repeating: 0, count: (blocks.count - 1) * copyHeaderSize)
        var span = result.mutableSpan
        for (index, block) in blocks.dropLast().enumerated() {
            guard block.timestampOffset <= maximumOffset, block.bytes.count <= maximumLength else { return nil }
            writeCopyHeader(
                payloadType: block.payloadType, timestampOffset: block.timestampOffset, length: block.bytes.count, into: &span,
                at: index * copyHeaderSize)
        }
        result.append(last.payloadType & 0x7f)
        for block in blocks { result.append(contentsOf: block.bytes) }
        return result
    }
}
