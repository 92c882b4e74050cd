// SPDX-License-Identifier: Apache-2.0

import Essentials
import Media
import RTP

/// The jitter buffer of a stream under any arrival: five octets a packet say how the sequence number and the timestamp go on,
/// how long it takes until the packet comes, what codec it is of and how long it is. Sound comes out every 10 ms whatever
/// comes in, and no more waits than the settings allow.
@Sendable func fuzzJitterBuffer(_ bytes: [UInt8]) {
    let engine = MediaEngine(configuration: MediaConfiguration(bridgeRate: 16_000), random: RandomSource(Steps()))
    let (call, recorder) = (PortID(rawValue: 1), PortID(rawValue: 2))
    let peer = SocketAddress(.loopbackV4, 20_000)
    let codecs = [
        NegotiatedCodec(name: "PCMU", payloadType: 0, clockRate: 8000), NegotiatedCodec(name: "PCMA", payloadType: 8, clockRate: 8000),
        NegotiatedCodec(name: "G722", payloadType: 9, clockRate: 8000),
    ]
    engine.handle(
        .openStream(call, StreamIdentity(ssrc: 1, firstSequenceNumber: 1, firstTimestamp: 1, cname: "fuzz")), now: .zero)
    engine.handle(
        .configureStream(
            call,
            StreamConfiguration(
                remote: peer, remoteRTCP: nil, codec: codecs[0], receivable: codecs, receiveEventPayloadTypes: [101],
                comfortNoisePayloadTypes: [13])), now: .zero)
    let heard = Heard()
    engine.openRecorder(recorder, sink: heard)
    engine.handle(.connect(from: call, to: recorder), now: .zero)
    var rest = bytes[...]
    var (sequence, timestamp, ticks, at) = (UInt16.max - 3, UInt32.max - 500, 0, Int64(0))
    while rest.count >= 5, ticks < 3000 {
        let step = Array(rest.prefix(5))
        rest = rest.dropFirst(5)
        // Mostly in order, now and then far away.
        sequence &+= step[0] < 240 ? UInt16(step[0] & 15) &- 4 : UInt16(step[0]) &* 257
        timestamp &+= step[1] < 240 ? UInt32(step[1] & 15) &* 80 &- 320 : UInt32(step[1]) &* 0x0101_0101
        at += Int64(step[2]) * (step[2] > 250 ? 20_000_000 : 400_000)
        let type: UInt8 = [0, 0, 0, 8, 9, 13, 101, 0][Int(step[3] & 7)]
        let payload = [UInt8](repeating: step[3], count: type == 101 ? 4 : type == 13 ? 1 : Int(step[4]) * 2)
        while Int64(ticks) * 10_000_000 < at, ticks < 3000 {
            engine.tick(now: MonotonicTime(nanoseconds: Int64(ticks) * 10_000_000))
            ticks += 1
            while engine.nextPacket() != nil {}
            while engine.nextEvent() != nil {}
        }
        let packet = RTPPacket(payloadType: type, sequenceNumber: sequence, timestamp: timestamp, ssrc: 9).serialized(payload: payload)
        engine.receive(packet, on: call, kind: .rtp, from: peer, at: MonotonicTime(nanoseconds: at))
    }
    for _ in 0..<20 {
        engine.tick(now: MonotonicTime(nanoseconds: Int64(ticks) * 10_000_000))
        ticks += 1
    }
    require(heard.samples == ticks * 160, "a frame comes out at every tick")
    if let statistics = engine.statistics(of: call) {
        require(statistics.bufferMilliseconds.isFinite && statistics.bufferMilliseconds >= 0, "the buffer's content is a time")
        // 64 packets of 64 ms at most.
        require(statistics.bufferMilliseconds < 100_000, "no more waits than fits")
    }
}

private final class Heard: RecorderSink {
    var samples = 0
    func write(_ part: Span<Int16>, rate: Int) { samples += part.count }
    func close() {}
}

private struct Steps: RandomNumberGenerator {
    var state: UInt64 = 3
    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state
    }
}
