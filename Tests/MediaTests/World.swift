// SPDX-License-Identifier: Apache-2.0

import Essentials
import Media
import RTP

final class Collector: RecorderSink {
    var samples: [Int16] = []
    var rate = 0
    var isClosed = false
    func write(_ part: Span<Int16>, rate: Int) {
        self.rate = rate
        for index in 0..<part.count { samples.append(part[index]) }
    }
    func close() { isClosed = true }
}

extension NegotiatedCodec {
    static let pcmu = NegotiatedCodec(name: "PCMU", payloadType: 0, clockRate: 8000)
    static let pcma = NegotiatedCodec(name: "PCMA", payloadType: 8, clockRate: 8000)
    static let g722 = NegotiatedCodec(name: "G722", payloadType: 9, clockRate: 8000)
}

extension PortID {
    static let stream = PortID(rawValue: 1)
    static let player = PortID(rawValue: 2)
    static let recorder = PortID(rawValue: 3)
    static let echo = PortID(rawValue: 4)
    static let other = PortID(rawValue: 5)
}

/// One engine with a stream, and all that came out of it.
final class Party {
    let engine: MediaEngine
    let address: SocketAddress
    let recording = Collector()
    var events: [MediaEvent] = []
    var sent: [(time: MonotonicTime, packet: OutgoingPacket)] = []
    var configuration: StreamConfiguration

    init(_ address: String, bridgeRate: Int = 16000, seed: UInt64 = 1, settings: ((inout MediaConfiguration) -> Void)? = nil) {
        var configuration = MediaConfiguration(bridgeRate: bridgeRate)
        settings?(&configuration)
        engine = MediaEngine(configuration: configuration, random: RandomSource(SplitMix64(seed: seed)))
        self.address = Self.socketAddress(address)
        self.configuration = StreamConfiguration(
            remote: nil, remoteRTCP: nil, codec: .pcmu, receivable: [.pcmu, .pcma], sendEventPayloadType: 101,
            receiveEventPayloadTypes: [101], comfortNoisePayloadTypes: [13])
        let identity = StreamIdentity(
            ssrc: UInt32(truncatingIfNeeded: seed &* 7919), firstSequenceNumber: 65530, firstTimestamp: 0xffff_ff00,
            cname: "party")
        engine.handle(.openStream(.stream, identity), now: .zero)
    }

    func configure(remote: String?, now: MonotonicTime = .zero, _ change: ((inout StreamConfiguration) -> Void)? = nil) {
        configuration.remote = remote.flatMap { SocketAddress($0) }
        configuration.remoteRTCP = configuration.remote.map { SocketAddress($0.ip, $0.port + 1) }
        change?(&configuration)
        engine.handle(.configureStream(.stream, configuration), now: now)
    }

    func play(_ samples: [Int16], rate: Int, loops: Bool = false) {
        engine.openPlayer(.player, samples: samples, rate: rate, loops: loops)
        engine.handle(.connect(from: .player, to: .stream), now: .zero)
        engine.handle(.startPlayer(.player), now: .zero)
    }

    func record() {
        engine.openRecorder(.recorder, sink: recording)
        engine.handle(.connect(from: .stream, to: .recorder), now: .zero)
    }

    func tick(_ now: MonotonicTime) {
        engine.tick(now: now)
        drain(now)
    }

    func drain(_ now: MonotonicTime) {
        while let packet = engine.nextPacket() { sent.append((now, packet)) }
        while let event = engine.nextEvent() { events.append(event) }
    }

    /// RTP that was sent, parsed.
    var rtp: [(time: MonotonicTime, header: RTPPacket, payload: [UInt8])] {
        sent.compactMap { time, packet in
            guard packet.kind == .rtp, let header = try? RTPPacket(parsing: packet.bytes) else { return nil }
            return (time, header, Array(packet.bytes[header.payloadRange]))
        }
    }

    var statistics: StreamStatistics {
        guard let statistics = engine.statistics(of: .stream) else { fatalError("the party's stream is not open") }
        return statistics
    }

    /// The address of a literal in a test; one that is none is the test's own mistake.
    static func socketAddress(_ text: String) -> SocketAddress {
        guard let address = SocketAddress(text) else { fatalError("\(text) is no address") }
        return address
    }

    var digits: String {
        String(events.compactMap { if case .digitReceived(_, let digit, _, _) = $0 { digit } else { nil } })
    }

    /// Runs alone: packets by their time, ticks every 10 ms. The party's stream must be configured.
    func feed(
        _ packets: [(milliseconds: Double, bytes: [UInt8])], from source: String, for milliseconds: Int, start: Int = 0
    ) {
        let source = Self.socketAddress(source)
        var waiting = packets[...]
        for tick in start / 10..<(start + milliseconds) / 10 {
            let now = MonotonicTime(nanoseconds: Int64(tick) * 10_000_000)
            while let next = waiting.first, next.milliseconds <= Double(tick * 10) {
                let at = MonotonicTime(nanoseconds: Int64(next.milliseconds * 1e6))
                engine.receive(next.bytes, on: .stream, kind: .rtp, from: source, at: at)
                waiting.removeFirst()
            }
            self.tick(now)
        }
    }
}

/// What a link does to packets, from one seed.
struct Link {
    var random: SplitMix64
    var loss = 0.0
    var duplication = 0.0
    /// Milliseconds.
    var delay = 0
    var jitter = 0
    private var waiting: [(at: Int64, order: Int, packet: OutgoingPacket)] = []
    private var order = 0

    init(seed: UInt64, loss: Double = 0, duplication: Double = 0, delay: Int = 0, jitter: Int = 0) {
        random = SplitMix64(seed: seed)
        self.loss = loss
        self.duplication = duplication
        self.delay = delay
        self.jitter = jitter
    }

    mutating func put(_ packet: OutgoingPacket, at now: MonotonicTime) {
        if Double.random(in: 0..<1, using: &random) < loss { return }
        let copies = Double.random(in: 0..<1, using: &random) < duplication ? 2 : 1
        for _ in 0..<copies {
            let extra = jitter == 0 ? 0 : Int.random(in: 0...jitter, using: &random)
            order += 1
            waiting.append((now.nanoseconds + Int64(delay + extra) * 1_000_000, order, packet))
        }
    }

    mutating func take(until now: MonotonicTime) -> [(at: MonotonicTime, packet: OutgoingPacket)] {
        let due = waiting.filter { $0.at <= now.nanoseconds }.sorted { ($0.at, $0.order) < ($1.at, $1.order) }
        waiting.removeAll { $0.at <= now.nanoseconds }
        return due.map { (MonotonicTime(nanoseconds: $0.at), $0.packet) }
    }
}

/// Two parties joined by a link each way, under virtual time.
final class Pair {
    let left: Party
    let right: Party
    var there: Link
    var back: Link
    var time = 0

    init(bridgeRate: Int = 16000, seed: UInt64 = 1, link: Link = Link(seed: 9), detectsTones: Bool = true) {
        left = Party("192.0.2.1:4000", bridgeRate: bridgeRate, seed: seed) { $0.detectsTones = detectsTones }
        right = Party("192.0.2.2:5000", bridgeRate: bridgeRate, seed: seed + 100) { $0.detectsTones = detectsTones }
        there = link
        back = link
        back.random.state ^= 0x5555
    }

    func configure(_ change: ((inout StreamConfiguration) -> Void)? = nil) {
        left.configure(remote: right.address.description, now: now, change)
        right.configure(remote: left.address.description, now: now, change)
    }

    var now: MonotonicTime { MonotonicTime(nanoseconds: Int64(time) * 1_000_000) }

    func run(milliseconds: Int) {
        for _ in 0..<milliseconds / 10 {
            time += 10
            let (sentLeft, sentRight) = (left.sent.count, right.sent.count)
            left.tick(now)
            right.tick(now)
            for item in left.sent[sentLeft...] { there.put(item.packet, at: now) }
            for item in right.sent[sentRight...] { back.put(item.packet, at: now) }
            deliver(there.take(until: now), to: right, from: left)
            deliver(back.take(until: now), to: left, from: right)
        }
    }

    private func deliver(_ packets: [(at: MonotonicTime, packet: OutgoingPacket)], to: Party, from: Party) {
        for (at, packet) in packets {
            let port = from.address.port + (packet.kind == .rtcp ? 1 : 0)
            to.engine.receive(
                packet.bytes, on: .stream, kind: packet.kind, from: SocketAddress(from.address.ip, port), at: at)
        }
        to.drain(now)
    }
}
