// SPDX-License-Identifier: Apache-2.0
//
// The RTP packet, RFC 3550 §5.1:
//
//      0                   1                   2                   3
//      0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//     |V=2|P|X|  CC   |M|     PT      |       sequence number         |
//     |                           timestamp                           |
//     |           synchronization source (SSRC) identifier            |
//     |            contributing source (CSRC) identifiers  ....       |
//     |      defined by profile       | length of extension in words  |   if X
//     |                     extension words ....                      |
//     |  payload ....                 |  padding, its count last      |   if P

/// One RTP packet as read from a datagram or to be written: the header's values and where the payload lies.
///
/// Nothing is copied: the ranges refer to the octets that were parsed.
public struct RTPPacket: Sendable, Hashable {
    /// Meaning is given by the payload type; for audio: the first packet of a talk spurt or an event.
    public var marker: Bool
    /// 0...127.
    public var payloadType: UInt8
    public var sequenceNumber: UInt16
    /// In units of the payload type's clock rate.
    public var timestamp: UInt32
    public var ssrc: UInt32
    /// Contributing sources, 0...15; they are counted and passed over.
    public var contributorCount: Int
    /// The identifier of the header extension; nil: there is none.
    public var extensionProfile: UInt16?
    /// The words of the header extension; empty if there is none.
    public var extensionRange: Range<Int>
    /// The payload without padding.
    public var payloadRange: Range<Int>

    /// The length of a header without contributors and extension.
    public static let headerSize = 12

    /// A packet to be written, with `payloadCount` octets of payload after the fixed header.
    public init(
        payloadType: UInt8, marker: Bool = false, sequenceNumber: UInt16, timestamp: UInt32, ssrc: UInt32,
        payloadCount: Int = 0
    ) {
        self.marker = marker
        self.payloadType = payloadType & 0x7f
        self.sequenceNumber = sequenceNumber
        self.timestamp = timestamp
        self.ssrc = ssrc
        contributorCount = 0
        extensionProfile = nil
        extensionRange = Self.headerSize..<Self.headerSize
        payloadRange = Self.headerSize..<Self.headerSize + max(0, payloadCount)
    }

    /// Reads the header of a datagram; every length is checked against the datagram's end.
    public init(parsing bytes: Span<UInt8>) throws(RTPError) {
        guard bytes.count >= Self.headerSize else { throw RTPError(.truncated, at: bytes.count) }
        let first = bytes[0]
        guard first >> 6 == 2 else { throw RTPError(.wrongVersion, at: 0) }
        marker = bytes[1] & 0x80 != 0
        payloadType = bytes[1] & 0x7f
        sequenceNumber = bytes.readUInt16(at: 2)
        timestamp = bytes.readUInt32(at: 4)
        ssrc = bytes.readUInt32(at: 8)
        contributorCount = Int(first & 0x0f)

        var start = Self.headerSize + 4 * contributorCount
        guard start <= bytes.count else { throw RTPError(.truncated, at: bytes.count) }
        extensionProfile = nil
        extensionRange = start..<start
        if first & 0x10 != 0 {
            guard start + 4 <= bytes.count else { throw RTPError(.extensionOverrun, at: start) }
            let end = start + 4 + 4 * Int(bytes.readUInt16(at: start + 2))
            guard end <= bytes.count else { throw RTPError(.extensionOverrun, at: start) }
            extensionProfile = bytes.readUInt16(at: start)
            extensionRange = start + 4..<end
            start = end
        }
        var end = bytes.count
        if first & 0x20 != 0 {
            let padding = Int(bytes[bytes.count - 1])
            guard padding > 0, padding <= end - start else { throw RTPError(.badPadding, at: bytes.count - 1) }
            end -= padding
        }
        payloadRange = start..<end
    }

    /// Reads the header of a datagram.
    public init(parsing bytes: [UInt8]) throws(RTPError) { try self.init(parsing: bytes.span) }

    /// Writes the fixed header into the first 12 octets of `bytes`, which is made at least that long.
    /// Contributors and extension are not written.
    public func writeHeader(into bytes: inout [UInt8]) {
        while bytes.count < Self.headerSize { bytes.append(0) }
        var span = bytes.mutableSpan
        span[0] = 0x80
        span[1] = (marker ? 0x80 : 0) | payloadType & 0x7f
        span.writeUInt16(sequenceNumber, at: 2)
        span.writeUInt32(timestamp, at: 4)
        span.writeUInt32(ssrc, at: 8)
    }

    /// The whole packet with `payload`: what tests and tools want; the media path writes in place.
    public func serialized(payload: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.headerSize + payload.count)
        writeHeader(into: &bytes)
        bytes.append(contentsOf: payload)
        return bytes
    }

    /// Whether a datagram on a port that RTP and RTCP share is RTCP: its second octet is 192...223 (RFC 5761 §4).
    public static func looksLikeRTCP(_ bytes: Span<UInt8>) -> Bool {
        bytes.count >= 2 && bytes[0] >> 6 == 2 && (192...223).contains(bytes[1])
    }
}

extension Span<UInt8> {
    /// The two octets at `offset` in network order; the caller has checked that they are there.
    @inline(__always) package func readUInt16(at offset: Int) -> UInt16 {
        UInt16(self[offset]) << 8 | UInt16(self[offset + 1])
    }

    /// The four octets at `offset` in network order; the caller has checked that they are there.
    @inline(__always) package func readUInt32(at offset: Int) -> UInt32 {
        UInt32(readUInt16(at: offset)) << 16 | UInt32(readUInt16(at: offset + 2))
    }
}

extension MutableSpan<UInt8> {
    @inline(__always) package mutating func writeUInt16(_ value: UInt16, at offset: Int) {
        self[offset] = UInt8(truncatingIfNeeded: value >> 8)
        self[offset + 1] = UInt8(truncatingIfNeeded: value)
    }

    @inline(__always) package mutating func writeUInt32(_ value: UInt32, at offset: Int) {
        writeUInt16(UInt16(truncatingIfNeeded: value >> 16), at: offset)
        writeUInt16(UInt16(truncatingIfNeeded: value), at: offset + 2)
    }
}
