// SPDX-License-Identifier: Apache-2.0

import Essentials
import Media
import Testing

@Suite struct G722Tests {
    static func decode(_ payload: [UInt8], room: Int? = nil, pieces: Int = .max) -> [Int16] {
        let decoder = G722().makeDecoder(.g722)
        var result: [Int16] = []
        var at = 0
        while at < payload.count {
            let part = Array(payload[at..<min(payload.count, at + min(pieces, payload.count))])
            var samples = [Int16](repeating: 0, count: room ?? decoder.sampleCount(of: part.span) ?? 0)
            var span = samples.mutableSpan
            let count = decoder.decode(part.span, into: &span)
            result += samples[..<count]
            at += part.count
        }
        return result
    }

    static func encode(_ samples: [Int16]) -> [UInt8] {
        let encoder = G722().makeEncoder(.g722)
        var payload = [UInt8](repeating: 0, count: samples.count)
        var span = payload.mutableSpan
        let count = encoder.encode(samples.span, into: &span)
        return Array(payload[..<count])
    }

    /// FNV-1a, for long vectors of which only the sum is kept.
    static func hash(_ bytes: [UInt8]) -> UInt64 {
        bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }

    static func octets(_ samples: [Int16]) -> [UInt8] {
        samples.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
    }

    struct Congruential {
        var state: UInt32
        mutating func next() -> UInt32 {
            state = state &* 1_664_525 &+ 1_013_904_223
            return state
        }
    }

    /// Noise in steps of 1 000 samples, each 6 dB below the one before, from full scale on.
    static let noise: [Int16] = {
        var random = Congruential(state: 1)
        return (0..<16_000).map { Int16(truncatingIfNeeded: random.next() >> 16) >> Int16($0 / 1000 % 8) }
    }()

    @Test("g722-tone.g722: decoded to the samples of g722-tone.s16le, to the bit", arguments: [Int.max, 161])
    func theTone(octetsAtATime: Int) throws {
        let decoded = Self.decode(try Fixture.data("audio/g722-tone.g722"), pieces: octetsAtATime)
        #expect(Self.octets(decoded) == (try Fixture.data("audio/g722-tone.s16le")))
    }

    @Test func theToneIsItsOwnEncodingWithinTheNoiseOfTheCodec() throws {
        let tone = Self.decode(try Fixture.data("audio/g722-tone.g722"))
        let again = Self.decode(Self.encode(tone))
        #expect(Signals.correlation(tone[1000..<15_000], again[1022..<15_022]) > 0.995)
    }

    // The sums were computed with spandsp 0.0.6, another implementation of the Recommendation, made to saturate where its
    // receive filter overflows.
    @Test func noiseOfEveryLevelIsEncodedToTheBit() {
        let payload = Self.encode(Self.noise)
        #expect(payload.count == 8000 && Self.hash(payload) == 0x5491_ede7_5cb2_de89)
        #expect(Self.hash(Self.octets(Self.decode(payload))) == 0xd3c1_8872_ad5d_7cf8)
    }

    @Test func octetsThatNoEncoderMakesAreDecodedToTheBit() {
        var random = Congruential(state: 7)
        let payload = (0..<16_000).map { _ in UInt8(truncatingIfNeeded: random.next() >> 24) }
        #expect(Self.hash(Self.octets(Self.decode(payload))) == 0xe5ee_9005_73e4_a25e)
    }

    @Test func hostilePayloadsGiveTwoSamplesAnOctetAndNoMoreThanThereIsRoomFor() {
        #expect(Self.decode([]).isEmpty)
        #expect(Self.decode([0xff]).count == 2)
        for octet: UInt8 in [0, 1, 3, 0x3f, 0x40, 0x7f, 0x80, 0xff] {
            #expect(Self.decode([UInt8](repeating: octet, count: 1500)).count == 3000)
        }
        #expect(Self.decode([1, 2, 3], room: 3).count == 2)
        #expect(Self.decode([1, 2, 3], room: 0).isEmpty)
        #expect(Self.encode([1]).isEmpty && Self.encode([1, 2, 3]).count == 1)
    }

    @Test func resetForgetsWhatCameBefore() {
        let codec = G722()
        let (encoder, decoder) = (codec.makeEncoder(.g722), codec.makeDecoder(.g722))
        func once() -> ([UInt8], [Int16]) {
            var payload = [UInt8](repeating: 0, count: 160)
            var octets = payload.mutableSpan
            _ = encoder.encode(Array(Self.noise[..<320]).span, into: &octets)
            var samples = [Int16](repeating: 0, count: 320)
            var span = samples.mutableSpan
            _ = decoder.decode(payload.span, into: &span)
            return (payload, samples)
        }
        let first = once()
        encoder.reset()
        decoder.reset()
        #expect(once() == first)
    }

    @Test("speech over G.722 correlates 0.97 and keeps what lies above 4 kHz")
    func aCall() {
        let bridgeRate = 16_000
        let pair = Pair(bridgeRate: bridgeRate, detectsTones: false)
        pair.configure {
            $0.codec = .g722
            $0.receivable = [.g722, .pcmu]
        }
        let voice = Signals.voice(rate: bridgeRate, seconds: 3)
        let tone = Signals.sine(6000, rate: bridgeRate, count: bridgeRate * 3, amplitude: 4000)
        pair.left.play(voice, rate: bridgeRate)
        pair.right.play(tone, rate: bridgeRate)
        pair.left.record()
        pair.right.record()
        pair.run(milliseconds: 3000)
        let rtp = pair.left.rtp
        #expect(rtp.allSatisfy { $0.header.payloadType == 9 && $0.payload.count == 160 })
        #expect(rtp[11].header.timestamp &- rtp[10].header.timestamp == 160)
        let heard = pair.right.recording.samples
        let lag = Signals.lag(voice, heard, rate: bridgeRate, limit: bridgeRate / 10)
        #expect(Signals.correlation(voice[...], heard[lag...]) > 0.97)
        let back = pair.left.recording.samples
        #expect(Signals.share(6000, back[(bridgeRate)..<(2 * bridgeRate)], rate: bridgeRate) > 0.9)
    }
}
