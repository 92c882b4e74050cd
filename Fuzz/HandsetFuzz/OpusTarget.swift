// SPDX-License-Identifier: Apache-2.0

import Codecs
import Essentials
import Media
import RTP

/// Any octets as Opus packets, one after another, each with its length before it: whatever a packet says of itself, no more samples
/// come than fit, and a decoder that met nonsense decodes sense afterwards. The same packets through a stream, alone and as copies.
@Sendable func fuzzOpus(_ bytes: [UInt8]) {
    guard let first = bytes.first else { return }
    let rates = [8000, 16_000, 48_000]
    let codec = Opus(sampleRate: rates[Int(first) % rates.count])
    let negotiated = NegotiatedCodec(name: "OPUS", payloadType: 96, clockRate: 48_000, channels: 2, parameters: "useinbandfec=1")
    let decoder = codec.makeDecoder(negotiated)
    var samples = [Int16](repeating: 0, count: codec.sampleRate / 8)
    var packets: [[UInt8]] = []
    var rest = bytes.dropFirst()
    while let length = rest.popFirst(), packets.count < 32 {
        let packet = Array(rest.prefix(Int(length)))
        rest = rest.dropFirst(packet.count)
        packets.append(packet)
        decode(packet, decoder, &samples, frame: codec.sampleRate / 50)
    }
    stream(packets, codec, negotiated)
}

private func decode(_ packet: [UInt8], _ decoder: any AudioDecoder, _ samples: inout [Int16], frame: Int) {
    let count = decoder.sampleCount(of: packet.span)
    if let count { require(count > 0 && count <= frame * 6, "a packet lasts 120 ms at most") }
    var room = samples.mutableSpan
    let recovered = decoder.recover(frame, from: packet.span, into: &room)
    let made = decoder.decode(packet.span, into: &room)
    require(made >= 0 && made <= room.count, "no more samples than there is room")
    if !recovered, made == 0 { _ = decoder.conceal(frame, into: &room) }
}

private struct Steps: RandomNumberGenerator {
    var state: UInt64 = 3
    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state
    }
}

private func stream(_ packets: [[UInt8]], _ codec: Opus, _ negotiated: NegotiatedCodec) {
    var registry = AudioCodecRegistry.standard
    registry.register(codec)
    let settings = MediaConfiguration(bridgeRate: codec.sampleRate, codecs: registry)
    let engine = MediaEngine(configuration: settings, random: RandomSource(Steps()))
    let (call, peer) = (PortID(rawValue: 1), SocketAddress(.loopbackV4, 20_000))
    engine.handle(.openStream(call, StreamIdentity(ssrc: 1, firstSequenceNumber: 1, firstTimestamp: 1, cname: "fuzz")), now: .zero)
    var configuration = StreamConfiguration(remote: peer, remoteRTCP: peer, codec: negotiated, receivable: [negotiated])
    configuration.redundancy = StreamRedundancy(payloadType: 121, packets: 2)
    configuration.receiveRedundancyPayloadTypes = [121]
    engine.handle(.configureStream(call, configuration), now: .zero)
    var now = MonotonicTime.zero
    for (index, packet) in packets.enumerated() {
        var payload = packet
        var type: UInt8 = 96
        if index > 0, index % 3 == 0,
            let wrapped = RedundantPayload.serialized([(96, 960, packets[index - 1]), (96, 0, packet)])
        {
            (payload, type) = (wrapped, 121)
        }
        // Each fourth is missing.
        if index % 4 != 2 {
            let header = RTPPacket(payloadType: type, sequenceNumber: UInt16(index), timestamp: UInt32(index * 960), ssrc: 9)
            engine.receive(header.serialized(payload: payload), on: call, kind: .rtp, from: peer, at: now)
        }
        for _ in 0..<2 {
            now = now + .milliseconds(10)
            engine.tick(now: now)
            while engine.nextPacket() != nil {}
            while engine.nextEvent() != nil {}
        }
    }
    if let statistics = engine.statistics(of: call) {
        require((statistics.score ?? 1).isFinite && (statistics.liveScore ?? 1).isFinite, "the score is a score")
        require(statistics.packetsRestored <= UInt64(packets.count), "no more is restored than was sent")
    }
}
