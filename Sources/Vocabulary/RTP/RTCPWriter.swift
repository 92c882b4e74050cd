// SPDX-License-Identifier: Apache-2.0

/// Writes an RTCP compound at the end of an octet array: a report first, then the description, then BYE if wanted.
public struct RTCPWriter: Sendable {
    public var bytes: [UInt8] = []

    public init() {}

    /// Empties the compound and keeps the storage.
    public mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    /// Appends a sender report with at most one block.
    public mutating func appendSenderReport(ssrc: UInt32, _ information: SenderInformation, block: ReportBlock?) {
        appendHeader(count: block == nil ? 0 : 1, type: 200, words: block == nil ? 6 : 12)
        append(ssrc)
        append(UInt32(truncatingIfNeeded: information.ntpTime >> 32))
        append(UInt32(truncatingIfNeeded: information.ntpTime))
        append(information.rtpTimestamp)
        append(information.packetCount)
        append(information.octetCount)
        if let block { append(block) }
    }

    /// Appends a receiver report with at most one block.
    public mutating func appendReceiverReport(ssrc: UInt32, block: ReportBlock?) {
        appendHeader(count: block == nil ? 0 : 1, type: 201, words: block == nil ? 1 : 7)
        append(ssrc)
        if let block { append(block) }
    }

    /// Appends an SDES packet with the CNAME alone; more than 255 octets of it are cut.
    public mutating func appendDescription(ssrc: UInt32, canonicalName: String) {
        let length = min(255, canonicalName.utf8.count)
        // SSRC, item head, text, at least one null octet, filled up to a word.
        let words = (4 + 2 + length + 1 + 3) / 4
        appendHeader(count: 1, type: 202, words: words)
        append(ssrc)
        bytes.append(1)
        bytes.append(UInt8(truncatingIfNeeded: length))
        var left = length
        for octet in canonicalName.utf8 where left > 0 {
            bytes.append(octet)
            left -= 1
        }
        for _ in 0..<(words * 4 - 6 - length) { bytes.append(0) }
    }

    /// Appends a BYE packet without a reason.
    public mutating func appendGoodbye(ssrc: UInt32) {
        appendHeader(count: 1, type: 203, words: 1)
        append(ssrc)
    }

    private mutating func appendHeader(count: UInt8, type: UInt8, words: Int) {
        bytes.append(0x80 | count)
        bytes.append(type)
        bytes.append(UInt8(truncatingIfNeeded: words >> 8))
        bytes.append(UInt8(truncatingIfNeeded: words))
    }

    mutating func append(_ value: UInt32) {
        for shift: UInt32 in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: value &>> shift)) }
    }

    private mutating func append(_ block: ReportBlock) {
        append(block.ssrc)
        let lost = UInt32(bitPattern: min(max(block.cumulativeLost, -0x80_0000), 0x7f_ffff)) & 0xff_ffff
        append(UInt32(block.fractionLost) << 24 | lost)
        append(block.highestSequence)
        append(block.jitter)
        append(block.lastSenderReport)
        append(block.delaySinceLastReport)
    }
}
