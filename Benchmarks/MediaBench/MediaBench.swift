// SPDX-License-Identifier: Apache-2.0
//
// What a tick costs: calls of G.711 that echo, as a server of echoes would run them. Each call gets a packet of 20 ms
// every other tick, plays it through the bridge and back, and sends one.
//
//     swift run -c release MediaBench [calls] [bridge rate]

import Codecs
import Essentials
import Media
import RTP

struct Generator: RandomNumberGenerator {
    var state: UInt64 = 1
    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state
    }
}

@main struct MediaBench {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst().compactMap { Int($0) }
        let calls = arguments.first ?? 50
        let rate = arguments.dropFirst().first ?? 8000
        for kind in ["echo port", "self"] { measure(calls, rate, usesEchoPort: kind == "echo port", name: kind) }
        for codec: any AudioCodec in [G711(.mu), G711(.a), G722(), Opus(sampleRate: 16_000), Opus(sampleRate: 48_000)] {
            measure(codec)
        }
    }

    /// Coding and decoding of packets of 20 ms with something like a voice: a buzz of a gliding pitch under a slow envelope.
    static func measure(_ codec: any AudioCodec) {
        let negotiated = NegotiatedCodec(
            name: codec.name, payloadType: 96, clockRate: codec.clockRate, parameters: "useinbandfec=1")
        let (encoder, decoder) = (codec.makeEncoder(negotiated), codec.makeDecoder(negotiated))
        let frame = codec.sampleRate / 50
        let rounds = 500
        var generator = Generator()
        var (phase, smoothed) = (0, 0)
        let voice = (0..<frame * rounds).map { index -> Int16 in
            phase += 100 + index / codec.sampleRate % 7 * 15
            if phase >= codec.sampleRate { phase -= codec.sampleRate }
            let noise = Int(truncatingIfNeeded: generator.next() >> 53) - 1024
            smoothed += (phase * 16_000 / codec.sampleRate - 8000 + noise - smoothed) / 3
            return Int16(clamping: smoothed * (index % (codec.sampleRate / 3)) * 3 / codec.sampleRate)
        }
        var payloads = [[UInt8]](repeating: [UInt8](repeating: 0, count: 1500), count: rounds)
        var counts = [Int](repeating: 0, count: rounds)
        var samples = [Int16](repeating: 0, count: frame)
        let clock = ContinuousClock()
        var (encoding, decoding) = (Duration.seconds(1000), Duration.seconds(1000))
        for _ in 0..<5 {
            var start = clock.now
            for round in 0..<rounds {
                var payload = payloads[round].mutableSpan
                let all = voice.span
                let part = all.extracting(round * frame..<(round + 1) * frame)
                counts[round] = encoder.encode(part, into: &payload)
            }
            encoding = min(encoding, clock.now - start)
            start = clock.now
            for round in 0..<rounds {
                var target = samples.mutableSpan
                let payload = payloads[round]
                let octets = payload.span.extracting(0..<counts[round])
                _ = decoder.decode(octets, into: &target)
            }
            decoding = min(decoding, clock.now - start)
        }
        let each = [encoding, decoding].map { Double(Interval($0).nanoseconds) / Double(rounds) / 1000 }
        let bitRate = counts.reduce(0, +) * 8 * 50 / rounds
        print(
            "\(codec.name) at \(codec.sampleRate) Hz, \(bitRate) bit/s: \((each[0] * 100).rounded() / 100) us to encode,"
                + " \((each[1] * 100).rounded() / 100) us to decode a packet of 20 ms")
    }

    static func measure(_ calls: Int, _ rate: Int, usesEchoPort: Bool, name: String) {
        let engine = MediaEngine(
            configuration: MediaConfiguration(bridgeRate: rate), random: RandomSource(Generator()))
        let peer = SocketAddress(.v4(0x7f00_0001), 4000)
        let codec = NegotiatedCodec(name: "PCMU", payloadType: 0, clockRate: 8000)
        for call in 0..<calls {
            let stream = PortID(rawValue: UInt32(call * 2))
            let echo = PortID(rawValue: UInt32(call * 2 + 1))
            engine.handle(
                .openStream(stream, StreamIdentity(ssrc: UInt32(call), firstSequenceNumber: 0, firstTimestamp: 0, cname: "b")),
                now: .zero)
            engine.handle(
                .configureStream(
                    stream,
                    StreamConfiguration(
                        remote: peer, remoteRTCP: nil, codec: codec, receivable: [codec], sendEventPayloadType: 101,
                        receiveEventPayloadTypes: [101])), now: .zero)
            if usesEchoPort {
                engine.handle(.openEcho(echo), now: .zero)
                engine.handle(.connect(from: stream, to: echo), now: .zero)
                engine.handle(.connect(from: echo, to: stream), now: .zero)
            } else {
                engine.handle(.connect(from: stream, to: stream), now: .zero)
            }
        }
        var packet = RTPPacket(payloadType: 0, sequenceNumber: 0, timestamp: 0, ssrc: 1)
        var bytes = packet.serialized(payload: (0..<160).map { UInt8(truncatingIfNeeded: $0 * 7 + 3) })
        let ticks = 6000
        var sent = 0
        var best = Duration.seconds(1000)
        let clock = ContinuousClock()
        for part in 0..<6 {
            let start = clock.now
            for tick in part * ticks / 6..<(part + 1) * ticks / 6 {
                let now = MonotonicTime(nanoseconds: Int64(tick) * 10_000_000)
                if tick % 2 == 0 {
                    packet.writeHeader(into: &bytes)
                    for call in 0..<calls {
                        engine.receive(bytes, on: PortID(rawValue: UInt32(call * 2)), kind: .rtp, from: peer, at: now)
                    }
                    packet.sequenceNumber &+= 1
                    packet.timestamp &+= 160
                }
                engine.tick(now: now)
                while engine.nextPacket() != nil { sent += 1 }
                while engine.nextEvent() != nil {}
            }
            best = min(best, clock.now - start)
        }
        let perCallTick = Double(Interval(best).nanoseconds) / Double(ticks / 6 * calls)
        print(
            "\(name): \(calls) calls, bridge \(rate): \(Int(perCallTick)) ns per call and tick,"
                + " \((perCallTick / 1e5 * 1000).rounded() / 1000) % of a core per call, \(sent) packets sent")
    }
}
