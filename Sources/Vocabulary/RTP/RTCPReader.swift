// SPDX-License-Identifier: Apache-2.0

/// Reads an RTCP compound packet by packet; every length and count is checked against the datagram.
///
/// Usage: `var reader = RTCPReader(); while let packet = try reader.next(in: bytes) { … }`. After an error nothing more
/// of the datagram is to be believed; what came before it was complete in itself.
public struct RTCPReader: Sendable {
    /// Where the next packet begins.
    public private(set) var offset = 0

    public init() {}

    /// The next packet; nil at the end of the datagram.
    public mutating func next(in bytes: Span<UInt8>) throws(RTPError) -> RTCPPacket? {
        let start = offset
        guard start < bytes.count else { return nil }
        guard start + 4 <= bytes.count else { throw RTPError(.truncated, at: start) }
        guard bytes[start] >> 6 == 2 else { throw RTPError(.wrongVersion, at: start) }
        let limit = start + 4 + 4 * Int(bytes.readUInt16(at: start + 2))
        guard limit <= bytes.count else { throw RTPError(.truncated, at: start + 2) }
        var end = limit
        if bytes[start] & 0x20 != 0 {
            // Only the last packet of a compound may be padded.
            let padding = Int(bytes[limit - 1])
            guard limit == bytes.count, padding > 0, padding <= limit - start - 4 else {
                throw RTPError(.badPadding, at: limit - 1)
            }
            end -= padding
        }
        offset = limit
        let count = Int(bytes[start] & 0x1f)
        switch bytes[start + 1] {
        case 200: return try Self.senderReport(bytes, start, end, count)
        case 201: return try Self.receiverReport(bytes, start, end, count)
        case 202: return try Self.sourceDescription(bytes, start, end, count)
        case 203: return try Self.goodbye(bytes, start, end, count)
        case let type: return .other(type: type, start + 4..<end)
        }
    }

    private static func senderReport(
        _ bytes: Span<UInt8>, _ start: Int, _ end: Int, _ count: Int
    ) throws(RTPError) -> RTCPPacket {
        guard start + 28 + count * ReportBlock.size <= end else { throw RTPError(.malformedReport, at: start) }
        let information = SenderInformation(
            ntpTime: UInt64(bytes.readUInt32(at: start + 8)) << 32 | UInt64(bytes.readUInt32(at: start + 12)),
            rtpTimestamp: bytes.readUInt32(at: start + 16), packetCount: bytes.readUInt32(at: start + 20),
            octetCount: bytes.readUInt32(at: start + 24))
        return .senderReport(
            ssrc: bytes.readUInt32(at: start + 4), information, ReportBlocks(start: start + 28, count: count))
    }

    private static func receiverReport(
        _ bytes: Span<UInt8>, _ start: Int, _ end: Int, _ count: Int
    ) throws(RTPError) -> RTCPPacket {
        guard start + 8 + count * ReportBlock.size <= end else { throw RTPError(.malformedReport, at: start) }
        return .receiverReport(ssrc: bytes.readUInt32(at: start + 4), ReportBlocks(start: start + 8, count: count))
    }

    /// Walks all items once, so that a packet that is given out holds no length that lies.
    private static func sourceDescription(
        _ bytes: Span<UInt8>, _ start: Int, _ end: Int, _ count: Int
    ) throws(RTPError) -> RTCPPacket {
        var at = start + 4
        for _ in 0..<count {
            guard at + 8 <= end else { throw RTPError(.malformedReport, at: at) }
            at += 4
            while at < end, bytes[at] != 0 {
                guard at + 2 <= end, at + 2 + Int(bytes[at + 1]) <= end else { throw RTPError(.malformedReport, at: at) }
                at += 2 + Int(bytes[at + 1])
            }
            guard at < end else { throw RTPError(.malformedReport, at: at) }
            at += 4 - (at - start) % 4
        }
        guard at <= end else { throw RTPError(.malformedReport, at: end) }
        return .sourceDescription(SourceDescription(range: start + 4..<end, chunkCount: count))
    }

    private static func goodbye(
        _ bytes: Span<UInt8>, _ start: Int, _ end: Int, _ count: Int
    ) throws(RTPError) -> RTCPPacket {
        let after = start + 4 + 4 * count
        guard after <= end else { throw RTPError(.malformedReport, at: start) }
        var reason: Range<Int>?
        if after < end, after + 1 + Int(bytes[after]) <= end { reason = after + 1..<after + 1 + Int(bytes[after]) }
        return .goodbye(Goodbye(sourcesStart: start + 4, sourceCount: count, reason: reason))
    }
}
