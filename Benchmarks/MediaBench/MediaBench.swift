// SPDX-License-Identifier: Apache-2.0
//
// What a tick costs: calls of G.711 that echo, as a server of echoes would run them. Each call gets a packet of 20 ms
// every other tick, plays it through the bridge and back, and sends one.
//
//     swift run -c release MediaBench [calls] [bridge rate]
//     MediaBench opus nothing|alone|engine SECONDS    one call of Opus, under callgrind

import Codecs
import Essentials
import Media
import RTP

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The processor time of this program: what other programs do at the same time is not in it.
struct ProcessorClock {
    var now: Duration {
        var time = timespec()
        _ = unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

struct Generator: RandomNumberGenerator {
    var state: UInt64 = 1
    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state
    }
}

@main struct MediaBench {
    static func main() {
        let words = CommandLine.arguments.dropFirst()
        if words.first == "opus" {
            runOpus(words.dropFirst().first ?? "", seconds: words.last.flatMap { Int($0) } ?? 2)
            return
        }
        let arguments = words.compactMap { Int($0) }
        let calls = arguments.first ?? 50
        let rate = arguments.dropFirst().first ?? 8000
        for kind in ["echo port", "self"] { measure(calls, rate, usesEchoPort: kind == "echo port", name: kind) }
        for codec: any AudioCodec in [G711(.mu), G711(.a), G722(), Opus(sampleRate: 16_000), Opus(sampleRate: 48_000)] {
            measure(codec)
        }
        compareOpus(calls: 20)
    }

    static let opus = Opus(sampleRate: 16_000)
    static let negotiatedOpus = NegotiatedCodec(
        name: opus.name, payloadType: 96, clockRate: opus.clockRate, channels: 2, parameters: "useinbandfec=1")

    /// What is spoken in calls of Opus, and the same in packets of 20 ms.
    static func opusSpeech(seconds: Int) -> (voice: [Int16], payloads: [[UInt8]]) {
        let voice = buzz(rate: 16_000, seconds: seconds)
        var payloads = [[UInt8]](repeating: [UInt8](repeating: 0, count: 1500), count: voice.count / 320)
        let encoder = opus.makeEncoder(negotiatedOpus)
        for index in payloads.indices {
            var span = payloads[index].mutableSpan
            let all = voice.span
            let count = encoder.encode(all.extracting(index * 320..<(index + 1) * 320), into: &span)
            payloads[index].removeLast(1500 - count)
        }
        return (voice, payloads)
    }

    /// One call of Opus, for counting instructions: `alone` by libopus, `engine`, or what both need before (`nothing`).
    static func runOpus(_ what: String, seconds: Int) {
        let (voice, payloads) = opusSpeech(seconds: seconds)
        switch what {
        case "alone": _ = codecAlone(opus, negotiatedOpus, voice, payloads, 1)
        case "engine": _ = engineWithOpus(opus, negotiatedOpus, voice, payloads, 1)
        default: break
        }
    }

    /// What calls of Opus cost in the engine, against libopus alone with the same sound: 16 kHz, both ways.
    static func compareOpus(calls: Int) {
        let (voice, payloads) = opusSpeech(seconds: 10)
        let alone = best { codecAlone(opus, negotiatedOpus, voice, payloads, calls) }
        let engine = best { engineWithOpus(opus, negotiatedOpus, voice, payloads, calls) }
        let ticks = Double(payloads.count * calls)
        func percent(_ duration: Duration) -> Double { Double(Interval(duration).nanoseconds) / ticks / 20_000_000 * 100 }
        print("libopus alone: \(rounded(percent(alone), 1000)) % of a core per call, in the engine: \(rounded(percent(engine), 1000)) %")
        print("ratio of Opus calls to libopus: \(rounded(percent(engine) / percent(alone), 1000))")
    }

    static func rounded(_ value: Double, _ parts: Double) -> Double { (value * parts).rounded() / parts }

    static func best(_ body: () -> Duration) -> Duration { (0..<5).map { _ in body() }.min() ?? .zero }

    /// Something like a voice: a buzz of a gliding pitch under a slow envelope.
    static func buzz(rate: Int, seconds: Int) -> [Int16] {
        var generator = Generator()
        var (phase, smoothed) = (0, 0)
        return (0..<rate * seconds).map { index in
            phase += 100 + index / rate % 7 * 15
            if phase >= rate { phase -= rate }
            let noise = Int(truncatingIfNeeded: generator.next() >> 53) - 1024
            smoothed += (phase * 16_000 / rate - 8000 + noise - smoothed) / 3
            return Int16(clamping: smoothed * (index % (rate / 3)) * 3 / rate)
        }
    }

    static func codecAlone(
        _ codec: Opus, _ negotiated: NegotiatedCodec, _ voice: [Int16], _ payloads: [[UInt8]], _ calls: Int
    ) -> Duration {
        let encoders = (0..<calls).map { _ in codec.makeEncoder(negotiated) }
        let decoders = (0..<calls).map { _ in codec.makeDecoder(negotiated) }
        var payload = [UInt8](repeating: 0, count: 1500)
        var samples = [Int16](repeating: 0, count: 320)
        let clock = ProcessorClock()
        let start = clock.now
        for index in payloads.indices {
            for call in 0..<calls {
                var room = payload.mutableSpan
                let all = voice.span
                _ = encoders[call].encode(all.extracting(index * 320..<(index + 1) * 320), into: &room)
                var target = samples.mutableSpan
                let received = payloads[index]
                _ = decoders[call].decode(received.span, into: &target)
            }
        }
        return clock.now - start
    }

    static func engineWithOpus(
        _ codec: Opus, _ negotiated: NegotiatedCodec, _ voice: [Int16], _ payloads: [[UInt8]], _ calls: Int
    ) -> Duration {
        var registry = AudioCodecRegistry.standard
        registry.register(codec)
        let engine = MediaEngine(configuration: MediaConfiguration(bridgeRate: 16_000, codecs: registry), random: RandomSource(Generator()))
        let peer = SocketAddress(.v4(0x7f00_0001), 4000)
        for call in 0..<calls {
            let (stream, player) = (PortID(rawValue: UInt32(call * 2)), PortID(rawValue: UInt32(call * 2 + 1)))
            engine.handle(
                .openStream(stream, StreamIdentity(ssrc: UInt32(call), firstSequenceNumber: 0, firstTimestamp: 0, cname: "b")), now: .zero)
            engine.handle(
                .configureStream(stream, StreamConfiguration(remote: peer, remoteRTCP: nil, codec: negotiated, receivable: [negotiated])),
                now: .zero)
            engine.openPlayer(player, samples: voice, rate: 16_000, loops: true)
            engine.handle(.connect(from: player, to: stream), now: .zero)
            engine.handle(.startPlayer(player), now: .zero)
        }
        var packets = payloads.enumerated().map { index, payload in
            RTPPacket(payloadType: 96, sequenceNumber: UInt16(index), timestamp: UInt32(index * 960), ssrc: 1).serialized(payload: payload)
        }
        let clock = ProcessorClock()
        let start = clock.now
        for tick in 0..<packets.count * 2 {
            let now = MonotonicTime(nanoseconds: Int64(tick) * 10_000_000)
            if tick % 2 == 0 {
                for call in 0..<calls {
                    engine.receive(packets[tick / 2], on: PortID(rawValue: UInt32(call * 2)), kind: .rtp, from: peer, at: now)
                }
            }
            engine.tick(now: now)
            while engine.nextPacket() != nil {}
            while engine.nextEvent() != nil {}
        }
        let taken = clock.now - start
        packets.removeAll()
        return taken
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
        let clock = ProcessorClock()
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
        let clock = ProcessorClock()
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
