// SPDX-License-Identifier: Apache-2.0

import Essentials

/// Puts datagrams together whose IP packets were fragmented (RFC 791 §3.2, RFC 8200 §4.5).
struct FragmentAssembler: Sendable {
    struct Whole: Sendable {
        var payload: ArraySlice<UInt8>
        /// IP packets that carried it.
        var fragments: Int
    }

    private struct Waiting {
        var source: IPAddress
        var destination: IPAddress
        var protocolNumber: UInt8
        var identification: UInt32
        var since: MonotonicTime
        var pieces: [(offset: Int, bytes: ArraySlice<UInt8>)] = []
        var length: Int?
    }

    private let limits: CaptureLimits
    private var waiting: [Waiting] = []
    private(set) var neverWhole: [LostDatagram] = []

    init(_ limits: CaptureLimits) { self.limits = limits }

    /// Takes a fragment; gives the datagram once it is whole.
    mutating func add(_ packet: IPPacket, _ fragment: IPPacket.Fragment, at time: MonotonicTime, _ counters: inout Counters<CaptureCounter>)
        -> Whole?
    {
        counters.increment(.fragments)
        dropOld(time, &counters)
        let end = fragment.offset + packet.payload.count
        guard end <= 65_535, !packet.payload.isEmpty else {
            counters.increment(.fragmentsDropped)
            return nil
        }
        let place =
            waiting.firstIndex {
                $0.identification == fragment.identification && $0.source == packet.source && $0.destination == packet.destination
                    && $0.protocolNumber == packet.protocolNumber
            } ?? begin(packet, fragment, time, &counters)
        // A capture of two interfaces brings each fragment twice.
        if waiting[place].pieces.contains(where: { $0.offset == fragment.offset }) { return nil }
        waiting[place].pieces.append((fragment.offset, packet.payload))
        if !fragment.moreFollow { waiting[place].length = end }
        guard let length = waiting[place].length, let payload = Self.join(waiting[place].pieces, length) else { return nil }
        let count = waiting[place].pieces.count
        waiting.remove(at: place)
        return Whole(payload: payload[...], fragments: count)
    }

    /// What never became whole is told as lost.
    mutating func finish(_ counters: inout Counters<CaptureCounter>) {
        while !waiting.isEmpty { lose(0, &counters) }
    }

    private mutating func begin(
        _ packet: IPPacket, _ fragment: IPPacket.Fragment, _ time: MonotonicTime, _ counters: inout Counters<CaptureCounter>
    )
        -> Int
    {
        if waiting.count >= limits.fragmentedDatagrams { lose(0, &counters) }
        waiting.append(
            Waiting(
                source: packet.source, destination: packet.destination, protocolNumber: packet.protocolNumber,
                identification: fragment.identification, since: time))
        return waiting.count - 1
    }

    private mutating func dropOld(_ now: MonotonicTime, _ counters: inout Counters<CaptureCounter>) {
        while let first = waiting.first, now - first.since > limits.fragmentTime { lose(0, &counters) }
    }

    private mutating func lose(_ place: Int, _ counters: inout Counters<CaptureCounter>) {
        let lost = waiting.remove(at: place)
        counters.increment(.datagramsNeverWhole)
        guard lost.protocolNumber == 17, neverWhole.count < limits.unreachables else { return }
        let head = lost.pieces.first { $0.offset == 0 }?.bytes
        neverWhole.append(
            LostDatagram(
                time: lost.since, source: SocketAddress(lost.source, head?.number(0) ?? 0),
                destination: SocketAddress(lost.destination, head?.number(2) ?? 0), head: head.map { Array($0.dropFirst(8)) } ?? []))
    }

    private static func join(_ pieces: [(offset: Int, bytes: ArraySlice<UInt8>)], _ length: Int) -> [UInt8]? {
        var result: [UInt8] = []
        for piece in pieces.sorted(by: { $0.offset < $1.offset }) {
            guard piece.offset <= result.count else { return nil }
            result += piece.bytes.dropFirst(result.count - piece.offset)
        }
        return result.count >= length ? Array(result.prefix(length)) : nil
    }
}
