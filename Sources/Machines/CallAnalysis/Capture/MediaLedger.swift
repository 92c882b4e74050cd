// SPDX-License-Identifier: Apache-2.0

import Essentials
import RTP
import SDP
import SIP

/// Counts RTP and RTCP packets by source, destination and SSRC.
struct MediaLedger: Sendable {
    private struct Key: Hashable {
        var source: SocketAddress
        var destination: SocketAddress
        var ssrc: UInt32
    }

    private struct Entry {
        var flow: MediaFlow
        var base: UInt16
        var cycles = 0
        var highest: UInt16
        var duplicates = 0
        var transit: Double?
        var jitter = 0.0
        var payloadTypes: [(type: UInt8, count: Int)] = []
    }

    private let limit: Int
    private var places: [Key: Int] = [:]
    private var entries: [Entry] = []
    /// What descriptions said of payload types, by the address that receives them.
    private var announced: [SocketAddress: [UInt8: RTPMap]] = [:]

    init(limit: Int) { self.limit = limit }

    /// Remembers what a description announces.
    mutating func note(_ description: SessionDescription) {
        for (index, media) in description.media.enumerated() where !media.isRejected && announced.count < limit {
            guard let ip = description.connection(ofMedia: index)?.ip else { continue }
            var maps: [UInt8: RTPMap] = [:]
            for type in media.formats.compactMap({ UInt8($0) }) { maps[type] = media.rtpMap(type) }
            announced[SocketAddress(ip, media.port)] = maps
        }
    }

    /// Takes a datagram that may be RTP or RTCP.
    mutating func add(
        _ bytes: [UInt8], from source: SocketAddress, to destination: SocketAddress, at time: MonotonicTime,
        _ counters: inout Counters<CaptureCounter>
    ) {
        if RTPPacket.looksLikeRTCP(bytes.span) { return addReport(bytes, from: source) }
        guard source.port > 1023, destination.port > 1023, let packet = try? RTPPacket(parsing: bytes), !packet.payloadRange.isEmpty,
            packet.payloadType < 35 || packet.payloadType >= 96
        else { return }
        counters.increment(.mediaPackets)
        let key = Key(source: source, destination: destination, ssrc: packet.ssrc)
        guard let place = places[key] else {
            guard entries.count < limit else { return counters.increment(.mediaFlowsDropped) }
            places[key] = entries.count
            let flow = MediaFlow(
                source: source, destination: destination, ssrc: packet.ssrc, payloadType: packet.payloadType, packets: 1,
                octets: packet.payloadRange.count, first: time, last: time, lost: 0)
            entries.append(
                Entry(
                    flow: flow, base: packet.sequenceNumber, highest: packet.sequenceNumber, payloadTypes: [(packet.payloadType, 1)]))
            return
        }
        update(&entries[place], packet, at: time)
    }

    private func update(_ entry: inout Entry, _ packet: RTPPacket, at time: MonotonicTime) {
        entry.flow.packets += 1
        entry.flow.octets += packet.payloadRange.count
        let ahead = packet.sequenceNumber &- entry.highest
        if ahead == 0 {
            entry.duplicates += 1
        } else if ahead < 0x8000 {
            if packet.sequenceNumber < entry.highest { entry.cycles += 1 }
            entry.highest = packet.sequenceNumber
        }
        if let place = entry.payloadTypes.firstIndex(where: { $0.type == packet.payloadType }) {
            entry.payloadTypes[place].count += 1
        } else if entry.payloadTypes.count < 16 {
            entry.payloadTypes.append((packet.payloadType, 1))
        }
        // RFC 3550 §6.4.1; an event keeps its timestamp, so only new ones count.
        if let rate = clockRate(packet.payloadType, entry.flow), rate > 0, ahead != 0, ahead < 0x8000 {
            let transit = time.secondsSinceOrigin - Double(packet.timestamp) / Double(rate)
            if let before = entry.transit, (transit - before).magnitude < 10 {
                entry.jitter += ((transit - before).magnitude - entry.jitter) / 16
            }
            entry.transit = transit
        }
        entry.flow.last = max(entry.flow.last, time)
    }

    private func map(_ type: UInt8, _ flow: MediaFlow) -> RTPMap? {
        announced[flow.destination]?[type] ?? announced[flow.source]?[type] ?? RTPMap.staticType(type)
    }

    private func clockRate(_ type: UInt8, _ flow: MediaFlow) -> Int? { map(type, flow)?.clockRate }

    /// A receiver tells what it misses of a source.
    private mutating func addReport(_ bytes: [UInt8], from reporter: SocketAddress) {
        var reader = RTCPReader()
        while let packet = try? reader.next(in: bytes.span) {
            let blocks: ReportBlocks
            switch packet {
            case .senderReport(_, _, let found), .receiverReport(_, let found): blocks = found
            case .sourceDescription, .goodbye, .other: continue
            }
            for index in 0..<blocks.count {
                guard let block = blocks.block(index, in: bytes.span) else { continue }
                for place in entries.indices
                where entries[place].flow.ssrc == block.ssrc && entries[place].flow.destination.ip == reporter.ip {
                    let share = Double(block.fractionLost) / 256
                    entries[place].flow.reportedLoss = max(entries[place].flow.reportedLoss ?? 0, share)
                }
            }
        }
    }

    /// The flows in the order in which they began. What no description announced must look like RTP for long enough.
    func finish() -> [MediaFlow] {
        entries.compactMap { entry in
            var flow = entry.flow
            flow.payloadType =
                entry.payloadTypes.filter { map($0.type, flow)?.isNamed("telephone-event") != true }.max { $0.count < $1.count }?.type
                ?? flow.payloadType
            let expected = entry.cycles * 65536 + Int(entry.highest) - Int(entry.base) + 1
            flow.lost = max(0, expected - (flow.packets - entry.duplicates))
            let isAnnounced = announced[flow.destination] != nil || announced[flow.source] != nil
            guard isAnnounced || flow.packets >= 10 && flow.lost < flow.packets else { return nil }
            flow.codec = map(flow.payloadType, flow)?.name
            flow.jitterMilliseconds = entry.transit == nil ? nil : entry.jitter * 1000
            return flow
        }
    }
}

extension MonotonicTime {
    /// The time in seconds since its origin.
    var secondsSinceOrigin: Double { Double(nanoseconds) / 1e9 }
}
