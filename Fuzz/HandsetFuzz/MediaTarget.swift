// SPDX-License-Identifier: Apache-2.0

import Essentials
import Media
import RTP

/// A media engine with a call, a tone and an echo, and any octets as RTP and RTCP at any time: the input is a script of
/// steps, each one octet that says what, one how, one how many octets follow.
@Sendable func fuzzMedia(_ bytes: [UInt8]) {
    var script = MediaScript()
    script.run(bytes)
}

private struct Countdown: RandomNumberGenerator {
    var state: UInt64 = 7
    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state
    }
}

private struct MediaScript {
    let engine = MediaEngine(configuration: MediaConfiguration(bridgeRate: 8000), random: RandomSource(Countdown()))
    let call = PortID(rawValue: 1)
    var now = MonotonicTime.zero
    var ticks = 0
    let peers = [
        SocketAddress(.loopbackV4, 20000), SocketAddress(.loopbackV4, 20001), SocketAddress(.v4(0x0a00_0009), 20000),
    ]

    init() {
        engine.handle(
            .openStream(call, StreamIdentity(ssrc: 1, firstSequenceNumber: 65530, firstTimestamp: .max - 100, cname: "fuzz")), now: now)
        engine.handle(.openTone(PortID(rawValue: 2), Tone(frequency: 440)), now: now)
        engine.handle(.openEcho(PortID(rawValue: 3)), now: now)
        engine.handle(.connect(from: PortID(rawValue: 2), to: call), now: now)
        engine.handle(.connect(from: call, to: PortID(rawValue: 3)), now: now)
        configure(0)
    }

    mutating func run(_ bytes: [UInt8]) {
        var rest = bytes[...]
        var steps = 0
        while let what = rest.popFirst(), let how = rest.popFirst(), let length = rest.popFirst(), steps < 64 {
            let piece = Array(rest.prefix(Int(length)))
            rest = rest.dropFirst(piece.count)
            step(what, how, piece)
            steps += 1
        }
        tick(10)
        if let statistics = engine.statistics(of: call) {
            require((1...4.5).contains(statistics.score ?? 1), "the score is a score")
            require(statistics.jitterMilliseconds.isFinite && statistics.jitterMilliseconds >= 0, "jitter is a time")
        }
        engine.handle(.closePort(call), now: now)
        drain()
    }

    private mutating func step(_ what: UInt8, _ how: UInt8, _ piece: [UInt8]) {
        switch what % 6 {
        case 0: engine.receive(piece, on: call, kind: .rtp, from: peer(how), at: now)
        case 1: engine.receive(piece, on: call, kind: .rtcp, from: peer(how), at: now)
        case 2: tick(Int(how))
        case 3: configure(how)
        case 4:
            engine.handle(
                .sendDigits(call, String(decoding: piece, as: UTF8.self), milliseconds: Int(how) * 16, inBand: how & 1 == 1), now: now)
        default: packet(how, piece)
        }
        drain()
    }

    private func peer(_ how: UInt8) -> SocketAddress { peers[Int(how) % peers.count] }

    /// A packet whose header is right, so that the fuzzer gets behind it.
    private func packet(_ how: UInt8, _ piece: [UInt8]) {
        var rest = piece[...]
        let sequence = UInt16(rest.popFirst() ?? 0) << 8 | UInt16(rest.popFirst() ?? 0)
        let timestamp = UInt32(sequence) &* 160 &+ UInt32(rest.popFirst() ?? 0) &* 0x0101_0101
        let types: [UInt8] = [0, 8, 101, 13, 0, 8, 101, 96]
        let header = RTPPacket(
            payloadType: types[Int(how & 7)], sequenceNumber: sequence, timestamp: timestamp, ssrc: how & 8 == 0 ? 9 : 10)
        engine.receive(header.serialized(payload: Array(rest)), on: call, kind: .rtp, from: peer(how >> 6), at: now)
    }

    private func configure(_ how: UInt8) {
        let codecs = [
            NegotiatedCodec(name: "PCMU", payloadType: 0, clockRate: 8000), NegotiatedCodec(name: "PCMA", payloadType: 8, clockRate: 8000),
        ]
        engine.handle(
            .configureStream(
                call,
                StreamConfiguration(
                    remote: peers[0], remoteRTCP: peers[1], codec: codecs[Int(how & 1)], receivable: codecs, sendEventPayloadType: 101,
                    receiveEventPayloadTypes: how & 2 == 0 ? [101] : [], comfortNoisePayloadTypes: [13], sends: how & 4 == 0,
                    receives: how & 8 == 0, packetTime: Int(how >> 4) * 20, multiplexesRTCP: how & 16 != 0)), now: now)
    }

    private mutating func tick(_ count: Int) {
        // Enough to reach reports and silences, few enough to try many inputs.
        let allowed = max(0, min(count, 1200 - ticks))
        ticks += allowed
        for _ in 0..<allowed {
            now = now + .milliseconds(10)
            engine.tick(now: now)
            drain()
        }
    }

    private func drain() {
        var count = 0
        while let packet = engine.nextPacket() {
            count += 1
            require(count < 1000, "packets come to an end")
            require(peers.contains { $0.ip == packet.to.ip }, "packets go where packets came from, or where they were told to")
            if packet.kind == .rtp { require((try? RTPPacket(parsing: packet.bytes)) != nil, "a packet that is sent can be read") }
        }
        count = 0
        while engine.nextEvent() != nil {
            count += 1
            require(count < 1000, "events come to an end")
        }
    }
}
