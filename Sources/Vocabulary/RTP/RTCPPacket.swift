// SPDX-License-Identifier: Apache-2.0
//
// RTCP, RFC 3550 §6. A datagram is a compound: packets one after another, each beginning
//
//      0                   1                   2                   3
//     |V=2|P|  count  |      type     |  length in words, minus one   |
//
// with a report (SR or RR) first; RFC 5506 lets others stand alone, and so do we when reading.

/// One packet of an RTCP compound. Ranges refer to the octets that were parsed.
public enum RTCPPacket: Sendable, Hashable {
    case senderReport(ssrc: UInt32, SenderInformation, ReportBlocks)
    case receiverReport(ssrc: UInt32, ReportBlocks)
    case sourceDescription(SourceDescription)
    case goodbye(Goodbye)
    /// Another type (APP 204, feedback 205 and 206, XR 207, …): passed over.
    case other(type: UInt8, Range<Int>)
}

/// The sender's part of a sender report (RFC 3550 §6.4.1).
public struct SenderInformation: Sendable, Hashable {
    /// NTP time: seconds in the upper, fraction in the lower 32 bits.
    public var ntpTime: UInt64
    public var rtpTimestamp: UInt32
    public var packetCount: UInt32
    public var octetCount: UInt32

    public init(ntpTime: UInt64, rtpTimestamp: UInt32, packetCount: UInt32, octetCount: UInt32) {
        self.ntpTime = ntpTime
        self.rtpTimestamp = rtpTimestamp
        self.packetCount = packetCount
        self.octetCount = octetCount
    }
}

/// What a receiver says about one source (RFC 3550 §6.4.1).
public struct ReportBlock: Sendable, Hashable {
    /// Whose packets this is about.
    public var ssrc: UInt32
    /// Lost of those expected since the last report, in 1/256.
    public var fractionLost: UInt8
    /// −2²³...2²³−1.
    public var cumulativeLost: Int32
    /// Cycles in the upper, sequence number in the lower 16 bits.
    public var highestSequence: UInt32
    /// Interarrival jitter in timestamp units.
    public var jitter: UInt32
    /// The middle 32 bits of the NTP time of the last sender report; 0: none came.
    public var lastSenderReport: UInt32
    /// Time since that report came, in 1/65536 s.
    public var delaySinceLastReport: UInt32

    public static let size = 24

    public init(
        ssrc: UInt32, fractionLost: UInt8, cumulativeLost: Int32, highestSequence: UInt32, jitter: UInt32,
        lastSenderReport: UInt32, delaySinceLastReport: UInt32
    ) {
        self.ssrc = ssrc
        self.fractionLost = fractionLost
        self.cumulativeLost = cumulativeLost
        self.highestSequence = highestSequence
        self.jitter = jitter
        self.lastSenderReport = lastSenderReport
        self.delaySinceLastReport = delaySinceLastReport
    }
}

/// The report blocks of a report: `count` of them from `start`, all inside the packet.
public struct ReportBlocks: Sendable, Hashable {
    public var start: Int
    /// 0...31.
    public var count: Int

    /// Block `index` of the datagram `bytes`; nil if there is no such block.
    public func block(_ index: Int, in bytes: Span<UInt8>) -> ReportBlock? {
        guard index >= 0, index < count else { return nil }
        let at = start + index * ReportBlock.size
        guard at >= 0, at + ReportBlock.size <= bytes.count else { return nil }
        let lost = bytes.readUInt32(at: at + 4)
        return ReportBlock(
            ssrc: bytes.readUInt32(at: at), fractionLost: UInt8(truncatingIfNeeded: lost >> 24),
            cumulativeLost: Int32(bitPattern: lost << 8) >> 8, highestSequence: bytes.readUInt32(at: at + 8),
            jitter: bytes.readUInt32(at: at + 12), lastSenderReport: bytes.readUInt32(at: at + 16),
            delaySinceLastReport: bytes.readUInt32(at: at + 20))
    }
}

/// The chunks of an SDES packet (RFC 3550 §6.5), all checked to lie inside it.
public struct SourceDescription: Sendable, Hashable {
    /// From the first chunk to the end of the packet.
    public var range: Range<Int>
    public var chunkCount: Int

    /// The CNAME of `ssrc`, or of the first chunk if nil; invalid UTF-8 is repaired. nil: there is none.
    public func canonicalName(of ssrc: UInt32? = nil, in bytes: Span<UInt8>) -> String? {
        guard range.upperBound <= bytes.count else { return nil }
        var at = range.lowerBound
        for _ in 0..<chunkCount {
            guard at + 4 <= range.upperBound else { return nil }
            let source = bytes.readUInt32(at: at)
            at += 4
            while at < range.upperBound, bytes[at] != 0 {
                guard at + 2 <= range.upperBound else { return nil }
                let end = at + 2 + Int(bytes[at + 1])
                guard end <= range.upperBound else { return nil }
                if bytes[at] == 1, ssrc == nil || ssrc == source {
                    var text: [UInt8] = []
                    for index in at + 2..<end { text.append(bytes[index]) }
                    return String(decoding: text, as: UTF8.self)
                }
                at = end
            }
            // A chunk ends with one or more null octets, up to the next word.
            at += 4 - (at - range.lowerBound) % 4
        }
        return nil
    }
}

/// A BYE packet (RFC 3550 §6.6).
public struct Goodbye: Sendable, Hashable {
    public var sourcesStart: Int
    /// 0...31.
    public var sourceCount: Int
    /// The reason's octets; nil: none was given, or its length ran over the packet.
    public var reason: Range<Int>?

    /// Whether `ssrc` leaves.
    public func names(_ ssrc: UInt32, in bytes: Span<UInt8>) -> Bool {
        for index in 0..<sourceCount {
            let at = sourcesStart + 4 * index
            if at + 4 <= bytes.count, bytes.readUInt32(at: at) == ssrc { return true }
        }
        return false
    }
}
