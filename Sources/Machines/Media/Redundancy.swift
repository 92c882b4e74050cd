// SPDX-License-Identifier: Apache-2.0
//
// Sending audio again (RFC 2198): each packet carries the payloads of the packets before it. With two copies nothing is missing
// unless three packets in a row are lost:
//
//     sent      1   2·1   3·2·1   4·3·2   5·4·3
//     arrives   1          ×        ×     5·4·3        3 and 4 are there, two packets late

import RTP

/// With what number and how often a stream sends its audio again.
public struct StreamRedundancy: Sendable, Hashable {
    /// The payload type of `red` that the peer receives.
    public var payloadType: UInt8
    /// Copies in each packet, 1...4; nil: as many as the loss that the peer reports calls for.
    public var packets: Int?

    public init(payloadType: UInt8, packets: Int?) {
        self.payloadType = payloadType
        self.packets = packets.map { min(max($0, 1), Self.maximumPackets) }
    }

    /// Copies in one packet at most.
    public static let maximumPackets = 4
}

/// The copies of what a stream sent last, and how many of them go with each packet.
struct RedundancySender {
    /// A payload with copies is never longer: it has to go through any path in one piece.
    static let maximumPayload = 1200
    /// What the peer reports as lost, from which on one copy and two copies are sent.
    static let firstLoss = 0.01
    static let secondLoss = 0.05
    /// Reports in a row with less than half of that, after which a copy is given up.
    static let calmReports = 3

    private struct Entry {
        var timestamp: UInt32 = 0
        var payloadType: UInt8 = 0
        var count = 0
        var bytes: [UInt8] = []
    }

    private(set) var setting: StreamRedundancy?
    /// A ring; `held` entries end at `newest`.
    private var entries: [Entry] = []
    private var newest = 0
    private var held = 0
    /// Copies that each packet carries now.
    private(set) var depth = 0
    private var calm = 0
    /// What the copies cost so far: octets beyond the audio itself.
    private(set) var octets: UInt64 = 0

    /// True if `depth` changed.
    mutating func configure(_ new: StreamRedundancy?) -> Bool {
        guard new != setting else { return false }
        let before = depth
        let wasAutomatic = setting != nil && setting?.packets == nil
        setting = new
        guard let new else {
            forget()
            depth = 0
            return before != 0
        }
        while entries.count < StreamRedundancy.maximumPackets { entries.append(Entry()) }
        // What the reports have brought about outlasts a new negotiation.
        depth = new.packets ?? (wasAutomatic ? depth : 0)
        return before != depth
    }

    /// What comes next does not follow what was sent.
    mutating func forget() { held = 0 }

    /// The peer reports the share of our packets that was lost since its last report. True if `depth` changed.
    mutating func noteLoss(_ fraction: Double) -> Bool {
        guard let setting, setting.packets == nil else { return false }
        let before = depth
        if fraction >= Self.secondLoss {
            depth = max(depth, 2)
            calm = 0
        } else if fraction >= Self.firstLoss {
            depth = max(depth, 1)
            if depth == 1 || fraction >= Self.secondLoss / 2 { calm = 0 } else { calm += 1 }
        } else {
            calm += 1
        }
        if calm >= Self.calmReports, depth > 0 {
            depth -= 1
            calm = 0
        }
        return before != depth
    }

    /// Writes the redundant payload of `count` octets of `payload` into `packet`; 0: the audio is to be sent as it is.
    /// `step`: timestamp units of a packet.
    mutating func wrap(
        _ payload: [UInt8], count: Int, payloadType: UInt8, timestamp: UInt32, step: UInt32, into packet: inout [UInt8]
    ) -> Int {
        guard setting != nil, depth > 0, count > 0 else { return 0 }
        let copies = usableCopies(count: count, timestamp: timestamp, step: step)
        guard copies > 0 else { return 0 }
        var length = copies * RedundantPayload.copyHeaderSize + RedundantPayload.lastHeaderSize
        let overhead = length
        for age in 1..<copies + 1 { length += entries[place(age)].count }
        while packet.count < length + count { packet.append(0) }
        var target = packet.mutableSpan
        var header = 0
        var data = overhead
        var age = copies
        while age > 0 {
            let index = place(age)
            RedundantPayload.writeCopyHeader(
                payloadType: entries[index].payloadType, timestampOffset: timestamp &- entries[index].timestamp,
                length: entries[index].count, into: &target, at: header)
            header += RedundantPayload.copyHeaderSize
            Self.copy(entries[index].bytes, entries[index].count, to: &target, at: data)
            data += entries[index].count
            age -= 1
        }
        target[header] = payloadType & 0x7f
        Self.copy(payload, count, to: &target, at: data)
        octets += UInt64(length)
        return data + count
    }

    /// Keeps what was just sent, for the packets that follow.
    mutating func remember(_ payload: [UInt8], count: Int, payloadType: UInt8, timestamp: UInt32) {
        guard setting != nil, !entries.isEmpty, count <= payload.count else { return }
        newest = newest + 1 < entries.count ? newest + 1 : 0
        held = min(held + 1, entries.count)
        entries[newest].timestamp = timestamp
        entries[newest].payloadType = payloadType
        entries[newest].count = count
        Self.fill(&entries[newest].bytes, with: payload, count)
    }

    private static func fill(_ bytes: inout [UInt8], with source: [UInt8], _ count: Int) {
        if bytes.count < count {
            bytes.reserveCapacity((count + 255) / 256 * 256)
            while bytes.count < count { bytes.append(0) }
        }
        var target = bytes.mutableSpan
        copy(source, count, to: &target, at: 0)
    }

    /// How many copies fit: they must follow each other without a gap, and fit into their fields and the packet.
    private func usableCopies(count: Int, timestamp: UInt32, step: UInt32) -> Int {
        var length = count + RedundantPayload.lastHeaderSize
        var copies = 0
        while copies < min(depth, held) {
            let index = place(copies + 1)
            let offset = timestamp &- entries[index].timestamp
            length += RedundantPayload.copyHeaderSize + entries[index].count
            guard offset == step &* UInt32(copies + 1), offset <= RedundantPayload.maximumOffset,
                entries[index].count <= RedundantPayload.maximumLength, length <= Self.maximumPayload
            else { break }
            copies += 1
        }
        return copies
    }

    /// Where the payload sent `age` packets ago lies; 1 is the last one.
    private func place(_ age: Int) -> Int {
        let index = newest - age + 1
        return index >= 0 ? index : index + entries.count
    }

    private static func copy(_ source: [UInt8], _ count: Int, to target: inout MutableSpan<UInt8>, at offset: Int) {
        let source = source.span
        for index in 0..<min(count, source.count) { target[offset + index] = source[index] }
    }
}
