// SPDX-License-Identifier: Apache-2.0

import CallAnalysis
import Essentials

/// Writes captures packet by packet, in each form that the reader knows.
struct CaptureWriter {
    enum Link: UInt16, CaseIterable {
        case ethernet = 1
        case raw = 101
        case cooked = 113
        case cooked2 = 276
        case loopback = 0
    }

    enum Container: CaseIterable {
        case pcapLittle
        case pcapBigNano
        case pcapngLittle
        case pcapngBig
    }

    var link = Link.ethernet
    var container = Container.pcapLittle
    var vlanTags = 0
    /// The largest IP packet; more is fragmented.
    var mtu = 65_535
    private(set) var frames: [(time: Int64, bytes: [UInt8])] = []
    private var identification: UInt16 = 1
    private var sequences: [String: UInt32] = [:]

    // MARK: Packets

    mutating func udp(_ seconds: Double, _ source: String, _ destination: String, _ payload: [UInt8]) {
        let (from, to) = (address(source), address(destination))
        let datagram = be16(from.port) + be16(to.port) + be16(UInt16(payload.count + 8)) + [0, 0] + payload
        ip(seconds, from.ip, to.ip, 17, datagram)
    }

    mutating func udp(_ seconds: Double, _ source: String, _ destination: String, _ text: String) {
        udp(seconds, source, destination, Array(text.utf8))
    }

    /// A TCP segment at the next place of its direction, or `skip` octets further on without moving it.
    mutating func tcp(
        _ seconds: Double, _ source: String, _ destination: String, _ payload: [UInt8], flags: UInt8 = 0x18, at offset: UInt32? = nil
    ) {
        let (from, to) = (address(source), address(destination))
        let key = source + destination
        let sequence = offset.map { 1000 &+ $0 } ?? sequences[key] ?? 1000
        if offset == nil { sequences[key] = sequence &+ UInt32(payload.count) &+ (flags & 0x02 != 0 ? 1 : 0) }
        let header = be16(from.port) + be16(to.port) + be32(sequence) + be32(0) + [0x50, flags] + be16(8192) + [0, 0, 0, 0]
        ip(seconds, from.ip, to.ip, 6, header + payload)
    }

    mutating func rtp(
        _ seconds: Double, _ source: String, _ destination: String, payloadType: UInt8 = 0, sequence: UInt16, timestamp: UInt32,
        ssrc: UInt32
    ) {
        udp(
            seconds, source, destination,
            [0x80, payloadType] + be16(sequence) + be32(timestamp) + be32(ssrc) + [UInt8](repeating: 0xff, count: 160))
    }

    /// `count` packets of 20 ms; those in `lost` are left out.
    mutating func voice(
        _ start: Double, _ source: String, _ destination: String, count: Int, ssrc: UInt32, payloadType: UInt8 = 0, lost: Set<Int> = []
    ) {
        for number in 0..<count where !lost.contains(number) {
            rtp(
                start + Double(number) * 0.02, source, destination, payloadType: payloadType,
                sequence: UInt16(truncatingIfNeeded: 65_500 + number),
                timestamp: UInt32(number * 160), ssrc: ssrc)
        }
    }

    /// ICMP destination unreachable, quoting a UDP datagram.
    mutating func unreachable(_ seconds: Double, by reporter: String, from source: String, to destination: String, code: UInt8 = 3) {
        let (from, to) = (address(source), address(destination))
        let quoted = header4(from.ip, to.ip, 17, 8, fragment: 0) + be16(from.port) + be16(to.port) + be16(100) + [0, 0]
        guard let ip = IPAddress(reporter) else { return }
        self.ip(seconds, ip, from.ip, 1, [3, code, 0, 0, 0, 0, 0, 0] + quoted)
    }

    // MARK: Layers

    private mutating func ip(_ seconds: Double, _ source: IPAddress, _ destination: IPAddress, _ protocolNumber: UInt8, _ payload: [UInt8])
    {
        identification &+= 1
        let room = source.isV6 ? mtu - 48 : mtu - 20
        guard payload.count > room else { return frame(seconds, packet(source, destination, protocolNumber, payload, nil)) }
        let piece = room / 8 * 8
        var offset = 0
        while offset < payload.count {
            let part = Array(payload[offset..<min(payload.count, offset + piece)])
            let more = offset + part.count < payload.count
            frame(seconds, packet(source, destination, protocolNumber, part, (offset, more)))
            offset += part.count
        }
    }

    private func packet(
        _ source: IPAddress, _ destination: IPAddress, _ protocolNumber: UInt8, _ payload: [UInt8], _ fragment: (offset: Int, more: Bool)?
    ) -> [UInt8] {
        guard source.isV6 else {
            let bits = fragment.map { UInt16($0.offset / 8) | ($0.more ? 0x2000 : 0) } ?? 0
            return header4(source, destination, protocolNumber, payload.count, fragment: bits) + payload
        }
        let fragmentHeader =
            fragment.map { [protocolNumber, 0] + be16(UInt16($0.offset) | ($0.more ? 1 : 0)) + be32(UInt32(identification)) } ?? []
        return [0x60, 0, 0, 0] + be16(UInt16(payload.count + fragmentHeader.count)) + [fragment == nil ? protocolNumber : 44, 64]
            + source.octets
            + destination.octets + fragmentHeader + payload
    }

    private func header4(_ source: IPAddress, _ destination: IPAddress, _ protocolNumber: UInt8, _ count: Int, fragment: UInt16) -> [UInt8]
    {
        [0x45, 0] + be16(UInt16(20 + count)) + be16(identification) + be16(fragment) + [64, protocolNumber, 0, 0] + source.octets
            + destination.octets
    }

    private mutating func frame(_ seconds: Double, _ packet: [UInt8]) {
        let type: UInt16 = packet[0] >> 4 == 6 ? 0x86dd : 0x0800
        let tags = (0..<vlanTags).flatMap { be16($0 == 0 && vlanTags > 1 ? 0x88a8 : 0x8100) + be16(UInt16(100 + $0)) }
        let head: [UInt8] =
            switch link {
            case .ethernet: [UInt8](repeating: 2, count: 12) + tags + be16(type)
            case .raw: []
            case .cooked: [0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0] + be16(type)
            case .cooked2: be16(type) + [0, 0, 0, 0, 0, 1, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0]
            case .loopback: [2, 0, 0, 0]
            }
        frames.append((Int64((seconds * 1e9).rounded()) + 1_700_000_000_000_000_000, head + packet))
    }

    /// Adds a frame of another writer.
    mutating func append(_ frame: (time: Int64, bytes: [UInt8])) { frames.append(frame) }

    // MARK: Files

    var bytes: [UInt8] {
        switch container {
        case .pcapLittle: pcap(big: false, nano: false)
        case .pcapBigNano: pcap(big: true, nano: true)
        case .pcapngLittle: pcapng(big: false)
        case .pcapngBig: pcapng(big: true)
        }
    }

    private func pcap(big: Bool, nano: Bool) -> [UInt8] {
        func n32(_ value: UInt32) -> [UInt8] { big ? be32(value) : be32(value).reversed() }
        func n16(_ value: UInt16) -> [UInt8] { big ? be16(value) : be16(value).reversed() }
        var result = n32(nano ? 0xa1b2_3c4d : 0xa1b2_c3d4) + n16(2) + n16(4) + n32(0) + n32(0) + n32(262_144) + n32(UInt32(link.rawValue))
        for frame in frames {
            let part = frame.time % 1_000_000_000
            result += n32(UInt32(frame.time / 1_000_000_000)) + n32(UInt32(nano ? part : part / 1000)) + n32(UInt32(frame.bytes.count))
            result += n32(UInt32(frame.bytes.count)) + frame.bytes
        }
        return result
    }

    private func pcapng(big: Bool) -> [UInt8] {
        func n32(_ value: UInt32) -> [UInt8] { big ? be32(value) : be32(value).reversed() }
        func n16(_ value: UInt16) -> [UInt8] { big ? be16(value) : be16(value).reversed() }
        func block(_ type: UInt32, _ body: [UInt8]) -> [UInt8] {
            let padded = body + [UInt8](repeating: 0, count: (4 - body.count % 4) % 4)
            return n32(type) + n32(UInt32(padded.count + 12)) + padded + n32(UInt32(padded.count + 12))
        }
        var result = block(0x0a0d_0d0a, n32(0x1a2b_3c4d) + n16(1) + n16(0) + [UInt8](repeating: 0xff, count: 8))
        // Another interface first, so that the number counts; nanoseconds by option 9.
        result += block(1, n16(147) + n16(0) + n32(0))
        result += block(1, n16(link.rawValue) + n16(0) + n32(0) + n16(9) + n16(1) + [9, 0, 0, 0] + n16(0) + n16(0))
        result += block(4, [1, 2, 3, 4])
        for frame in frames {
            let time = UInt64(frame.time)
            result += block(
                6,
                n32(1) + n32(UInt32(time >> 32)) + n32(UInt32(truncatingIfNeeded: time)) + n32(UInt32(frame.bytes.count))
                    + n32(UInt32(frame.bytes.count)) + frame.bytes)
        }
        return result
    }

    /// What the analysis reads in it.
    func traffic(limits: CaptureLimits = CaptureLimits()) throws -> Traffic {
        var reader = TrafficReader(limits: limits)
        try reader.append(bytes)
        return reader.finish()
    }

    func analysis() throws -> CallAnalysis { CallAnalysis(try traffic()) }
}

func address(_ text: String) -> SocketAddress { SocketAddress(text) ?? SocketAddress(.anyV4, 0) }
func be16(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 255)] }
func be32(_ value: UInt32) -> [UInt8] { be16(UInt16(value >> 16)) + be16(UInt16(value & 0xffff)) }
