// SPDX-License-Identifier: Apache-2.0

import Codecs
import Essentials
import Media
import RTP
import Testing

@Suite struct OpusTests {
    static func decode(_ decoder: any AudioDecoder, _ payload: [UInt8], room: Int = 12_000) -> [Int16] {
        var samples = [Int16](repeating: 0, count: room)
        var span = samples.mutableSpan
        let count = decoder.decode(payload.span, into: &span)
        return Array(samples[..<count])
    }

    static func recover(_ decoder: any AudioDecoder, _ count: Int, _ next: [UInt8]) -> [Int16]? {
        var samples = [Int16](repeating: 0, count: 960)
        var span = samples.mutableSpan
        guard decoder.recover(count, from: next.span, into: &span) else { return nil }
        return Array(samples[..<count])
    }

    static func conceal(_ decoder: any AudioDecoder, _ count: Int) -> [Int16]? {
        var samples = [Int16](repeating: 0, count: 960)
        var span = samples.mutableSpan
        guard decoder.conceal(count, into: &span) else { return nil }
        return Array(samples[..<count])
    }

    @Test("speech goes through coder and decoder at each rate of a bridge", arguments: [8000, 16_000, 48_000])
    func roundTrip(rate: Int) {
        let codec = Opus(sampleRate: rate)
        let voice = Speech.voice(rate: rate, seconds: 2)
        let packets = Speech.packets(voice, frame: rate / 50, codec.makeEncoder(.opus()))
        let decoder = codec.makeDecoder(.opus())
        #expect(packets.allSatisfy { decoder.sampleCount(of: $0.span) == rate / 50 })
        let heard = packets.flatMap { Self.decode(decoder, $0) }
        #expect(heard.count == voice.count)
        #expect(Speech.likeness(voice, heard, rate: rate) > 0.85)
        let bitRate = packets.map(\.count).reduce(0, +) * 8 / 2
        #expect((10_000...40_000).contains(bitRate), "\(bitRate) bit/s")
    }

    @Test func theBitRateIsOursAtMostAndThePeersIfThatIsLess() {
        let voice = Speech.voice(rate: 16_000, seconds: 2)
        func rate(_ settings: OpusSettings, _ parameters: String) -> Int {
            let encoder = Opus(sampleRate: 16_000, settings: settings).makeEncoder(.opus(parameters))
            return Speech.packets(voice, frame: 320, encoder).map(\.count).reduce(0, +) * 8 / 2
        }
        #expect(rate(OpusSettings(bitRate: 8000), "") < 10_000)
        #expect(rate(OpusSettings(bitRate: 32_000), "maxaveragebitrate=8000; stereo=1") < 10_000)
        #expect(rate(OpusSettings(bitRate: 32_000), "") > 15_500)
        let constant = Opus(sampleRate: 16_000, settings: OpusSettings(bitRate: 16_000)).makeEncoder(.opus("cbr=1"))
        #expect(Set(Speech.packets(voice, frame: 320, constant).map(\.count)) == [40])
        #expect(
            OpusSettings(bitRate: .min, complexity: 99, expectedLoss: -5) == OpusSettings(bitRate: 6000, complexity: 10, expectedLoss: 0))
    }

    @Test("maxplaybackrate narrows the band", arguments: [(8000, 0...3), (12_000, 4...7), (16_000, 8...11)])
    func playbackRate(rate: Int, configurations: ClosedRange<Int>) {
        let encoder = Opus(sampleRate: 48_000).makeEncoder(.opus("maxplaybackrate=\(rate)"))
        let packets = Speech.packets(Speech.voice(rate: 48_000, seconds: 1), frame: 960, encoder)
        // Configurations 16...19 and 20...23 are CELT in the narrow and the wide band.
        let celt = configurations.lowerBound < 8 ? 16...19 : 16...23
        for packet in packets {
            let configuration = Int(packet[0] >> 3)
            #expect(configuration <= configurations.upperBound || celt.contains(configuration))
        }
    }

    @Test(
        "parameters that cannot be read change nothing",
        arguments: [
            "", ";;;", "=", "useinbandfec", "useinbandfec=x;maxplaybackrate=99999999999999999999", "maxaveragebitrate=-1",
            "maxplaybackrate=0", "maxaveragebitrate=0;cbr=7",
        ])
    func unreadableParameters(text: String) {
        let encoder = Opus(sampleRate: 16_000).makeEncoder(.opus(text))
        #expect(Speech.packets(Speech.voice(rate: 16_000, seconds: 0.2), frame: 320, encoder).allSatisfy { !$0.isEmpty })
    }

    @Test func aLostPacketComesWithTheNextOne() {
        let codec = Opus(sampleRate: 16_000)
        let voice = Speech.voice(rate: 16_000, seconds: 3)
        let encoder = codec.makeEncoder(.opus())
        encoder.noteLoss(0.2)
        let packets = Speech.packets(voice, frame: 320, encoder)
        func play(correcting: Bool) -> (heard: [Int16], recovered: Int) {
            let decoder = codec.makeDecoder(.opus())
            var heard: [Int16] = []
            var recovered = 0
            for (index, packet) in packets.enumerated() {
                guard index % 5 == 3 else {
                    heard += Self.decode(decoder, packet)
                    continue
                }
                let next = correcting && index + 1 < packets.count ? packets[index + 1] : []
                if let samples = Self.recover(decoder, 320, next) {
                    recovered += 1
                    heard += samples
                } else {
                    heard += Self.conceal(decoder, 320) ?? []
                }
            }
            return (heard, recovered)
        }
        let (corrected, concealed) = (play(correcting: true), play(correcting: false))
        #expect(corrected.recovered > 15 && corrected.recovered < 30)
        let likeness = Speech.likeness(voice, corrected.heard, rate: 16_000)
        #expect(likeness > Speech.likeness(voice, concealed.heard, rate: 16_000))
        #expect(likeness > 0.8)
    }

    @Test func copiesAreSentOnlyToWhomTakesThem() {
        let voice = Speech.voice(rate: 16_000, seconds: 2)
        func copies(_ settings: OpusSettings, _ parameters: String) -> Int {
            let codec = Opus(sampleRate: 16_000, settings: settings)
            let decoder = codec.makeDecoder(.opus())
            return Speech.packets(voice, frame: 320, codec.makeEncoder(.opus(parameters))).count {
                Self.recover(decoder, 320, $0) != nil
            }
        }
        #expect(copies(OpusSettings(expectedLoss: 5), "useinbandfec=1") > 30)
        #expect(copies(OpusSettings(expectedLoss: 5), "") == 0)
        #expect(copies(OpusSettings(usesForwardErrorCorrection: false, expectedLoss: 5), "useinbandfec=1") == 0)
        #expect(copies(OpusSettings(expectedLoss: 0), "useinbandfec=1") == 0)
    }

    @Test("random octets never trap and never write past the end", arguments: 1...8)
    func hostilePayloads(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let decoder = Opus(sampleRate: [8000, 16_000, 48_000][Int(seed % 3)]).makeDecoder(.opus())
        for length in [0, 1, 2, 3, 40, 1275, 1276, 1500] + (0..<300).map({ _ in Int.random(in: 0...1500, using: &random) }) {
            let payload = (0..<length).map { _ in UInt8.random(in: .min ... .max, using: &random) }
            let expected = decoder.sampleCount(of: payload.span)
            let decoded = Self.decode(decoder, payload)
            #expect(decoded.isEmpty || decoded.count == expected)
            #expect(length > 0 || expected == nil && decoded.isEmpty)
            #expect(Self.decode(decoder, payload, room: 7).isEmpty)
            for count in [Int.min, -1, 0, 1, 7, 320, 960, Int.max] {
                #expect(Self.recover(decoder, count, payload) == nil || count == expected)
            }
        }
        for count in [Int.min, -1, 0, 7, 961, Int.max] { #expect(Self.conceal(decoder, count) == nil) }
    }

    @Test func samplesThatMakeNoFrameAreNotSent() {
        let encoder = Opus(sampleRate: 16_000).makeEncoder(.opus())
        func made(_ count: Int, room: Int = 1500) -> Int {
            let samples = [Int16](repeating: 9, count: count)
            var payload = [UInt8](repeating: 0, count: room)
            var span = payload.mutableSpan
            return encoder.encode(samples.span, into: &span)
        }
        for count in [0, 1, 319, 321, 480] { #expect(made(count) == 0, "\(count)") }
        #expect(made(320, room: 0) == 0 && made(320) > 0)
    }

    @Test func theRegistryHasEveryCodec() {
        let registry = AudioCodecRegistry.complete(bridgeRate: 48_000)
        #expect(registry.codecs.map(\.name).sorted() == ["G722", "OPUS", "PCMA", "PCMU"])
        #expect(registry.codec(for: .opus())?.sampleRate == 48_000)
        #expect(Opus(sampleRate: 44_100).sampleRate == 48_000)
        let codec = Opus(sampleRate: 16_000)
        #expect([10, 20, 30, 40, 50, 60, 120, 200].map(codec.packetTime) == [10, 20, 20, 40, 40, 60, 120, 120])
    }
}

@Suite struct OpusCallTests {
    @Test("both sides of a call hear each other", arguments: [(8000, 20), (16_000, 20), (16_000, 60), (16_000, 30), (48_000, 10)])
    func aCall(bridgeRate: Int, packetTime: Int) throws {
        let voice = Speech.voice(rate: bridgeRate, seconds: 2)
        let (left, right) = Party.call(bridgeRate: bridgeRate, packetTime: packetTime, speech: voice, milliseconds: 2000)
        let headers = try left.sent.filter { $0.kind == .rtp }.map { try RTPPacket(parsing: $0.bytes) }
        let step = UInt32(Opus(sampleRate: bridgeRate).packetTime(atMost: packetTime) * 48)
        for (one, next) in zip(headers, headers.dropFirst()) { #expect(next.timestamp &- one.timestamp == step) }
        for party in [left, right] {
            #expect(Speech.likeness(voice, party.heard, rate: bridgeRate) > 0.85)
            #expect(party.statistics.packetsLost == 0 && party.statistics.packetsDropped == 0)
        }
    }

    @Test func lostPacketsAreRecoveredFromTheNext() {
        let voice = Speech.voice(rate: 16_000, seconds: 4)
        // Before the first report an encoder sends no copies of its own.
        var codec = NegotiatedCodec.opus()
        codec.encoding = "loss=5"
        let (_, right) = Party.call(bridgeRate: 16_000, codec: codec, speech: voice, milliseconds: 4000) { $0 % 10 == 7 }
        let statistics = right.statistics
        #expect(statistics.packetsLost >= 18)
        #expect(statistics.packetsRecovered >= 8)
        #expect(Speech.likeness(voice, right.heard, rate: 16_000) > 0.8)
    }

    @Test("bursts are concealed and the call goes on", arguments: [2, 3, 8])
    func bursts(length: Int) {
        let voice = Speech.voice(rate: 16_000, seconds: 4)
        let (_, right) = Party.call(bridgeRate: 16_000, speech: voice, milliseconds: 4000) { $0 % 40 >= 40 - length }
        #expect(right.heard.count == 64_000)
        #expect(right.statistics.framesConcealed > 0)
        #expect(Speech.likeness(voice, right.heard, rate: 16_000) > 0.6)
    }

    @Test func payloadsOfNoUseAreCountedAndTheCallGoesOn() {
        let voice = Speech.voice(rate: 16_000, seconds: 1)
        let (left, _) = Party.call(bridgeRate: 16_000, speech: voice, milliseconds: 500)
        var random = SplitMix64(seed: 4)
        for number in 0..<200 {
            let payload = (0..<Int.random(in: 0...1500, using: &random)).map { _ in UInt8.random(in: .min ... .max, using: &random) }
            let packet = RTPPacket(
                payloadType: 96, sequenceNumber: UInt16(truncatingIfNeeded: 65_530 + 25 + number),
                timestamp: 0xffff_ff00 &+ UInt32(960 * (25 + number)), ssrc: 77)
            let now = MonotonicTime(nanoseconds: Int64(500 + number * 20) * 1_000_000)
            left.engine.receive(
                packet.serialized(payload: payload), on: PortID(rawValue: 1), kind: .rtp,
                from: SocketAddress(.v4(0x7f00_0001), 5000), at: now)
            left.engine.tick(now: now)
            left.engine.tick(now: MonotonicTime(nanoseconds: now.nanoseconds + 10_000_000))
        }
        #expect(left.statistics.packetsReceived >= 200)
    }
}
