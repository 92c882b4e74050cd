// SPDX-License-Identifier: Apache-2.0

import Essentials
import RTP

/// What the engine's ports give out until it is fetched: packets in reused storage, events, counts.
final class MediaOutbox {
    private let packetLimit: Int
    private let eventLimit: Int
    private var packets: [OutgoingPacket] = []
    private var firstPacket = 0
    private var packetCount = 0
    private var events: [MediaEvent] = []
    private var firstEvent = 0
    var counters = Counters<MediaCounter>()

    init(_ configuration: MediaConfiguration) {
        packetLimit = max(1, configuration.maximumWaitingPackets)
        eventLimit = max(1, configuration.maximumWaitingEvents)
    }

    func count(_ counter: MediaCounter) { counters.increment(counter) }

    func tell(_ event: MediaEvent) {
        guard events.count - firstEvent < eventLimit else { return count(.limitWaitingEvents) }
        events.append(event)
    }

    func nextEvent() -> MediaEvent? {
        guard firstEvent < events.count else { return nil }
        let event = events[firstEvent]
        firstEvent += 1
        if firstEvent == events.count {
            events.removeAll(keepingCapacity: true)
            firstEvent = 0
        }
        return event
    }

    /// Queues an RTP packet of `header` and the first octets of `payload`.
    func send(_ header: RTPPacket, _ payload: [UInt8], count: Int, port: PortID, to: SocketAddress) {
        guard let index = newSlot(port, .rtp, to) else { return }
        Self.write(header, payload, count, into: &packets[index].bytes)
    }

    /// Queues a whole datagram of RTCP.
    func send(report: [UInt8], port: PortID, kind: PacketKind, to: SocketAddress) {
        guard let index = newSlot(port, kind, to) else { return }
        packets[index].bytes.removeAll(keepingCapacity: true)
        packets[index].bytes.append(contentsOf: report)
    }

    func nextPacket() -> OutgoingPacket? {
        guard firstPacket < packetCount else { return nil }
        let packet = packets[firstPacket]
        firstPacket += 1
        if firstPacket == packetCount {
            firstPacket = 0
            packetCount = 0
        }
        return packet
    }

    private func newSlot(_ port: PortID, _ kind: PacketKind, _ to: SocketAddress) -> Int? {
        guard packetCount - firstPacket < packetLimit else {
            count(.limitWaitingPackets)
            return nil
        }
        if packetCount == packets.count {
            packets.append(OutgoingPacket(port: port, kind: kind, to: to, bytes: []))
            packets[packetCount].bytes.reserveCapacity(512)
        } else {
            packets[packetCount].port = port
            packets[packetCount].kind = kind
            packets[packetCount].to = to
        }
        packetCount += 1
        return packetCount - 1
    }

    private static func write(_ header: RTPPacket, _ payload: [UInt8], _ count: Int, into bytes: inout [UInt8]) {
        let size = RTPPacket.headerSize + count
        if bytes.count > size { bytes.removeLast(bytes.count - size) }
        while bytes.count < size { bytes.append(0) }
        header.writeHeader(into: &bytes)
        let payload = payload.span
        var target = bytes.mutableSpan
        for index in 0..<min(count, payload.count) { target[RTPPacket.headerSize + index] = payload[index] }
    }
}
