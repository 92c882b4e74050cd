// SPDX-License-Identifier: Apache-2.0

import Essentials
import Foundation
import Media
import Testing

@Suite struct CodecTests {
    static func decode(_ law: G711.Law, _ payload: [UInt8]) -> [Int16] {
        let codec = G711(law)
        let decoder = codec.makeDecoder(.pcmu)
        var samples = [Int16](repeating: 0, count: payload.count)
        var span = samples.mutableSpan
        let count = decoder.decode(payload.span, into: &span)
        return Array(samples[..<count])
    }

    static func encode(_ law: G711.Law, _ samples: [Int16]) -> [UInt8] {
        let encoder = G711(law).makeEncoder(.pcmu)
        var payload = [UInt8](repeating: 0, count: samples.count)
        var span = payload.mutableSpan
        let count = encoder.encode(samples.span, into: &span)
        return Array(payload[..<count])
    }

    @Test("all codes of the table give its samples", arguments: [("pcmu-decode.txt", G711.Law.mu), ("pcma-decode.txt", .a)])
    func decodesTheTable(file: String, law: G711.Law) throws {
        let rows = try Fixture.text("audio/\(file)").split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(rows.count == 256)
        for row in rows {
            let parts = row.split(separator: " ")
            let (code, sample) = (UInt8(parts[0])!, Int16(parts[1])!)
            #expect(Self.decode(law, [code]) == [sample], "code \(code)")
        }
    }

    @Test(arguments: [G711.Law.mu, .a]) func everyCodeIsItsOwnEncoding(law: G711.Law) {
        for code in UInt8.min...UInt8.max where !(law == .mu && code == 0x7f) {
            #expect(Self.encode(law, Self.decode(law, [code])) == [code])
        }
    }

    @Test(arguments: [G711.Law.mu, .a]) func everySampleIsEncodedNearby(law: G711.Law) {
        let samples = (Int(Int16.min)...Int(Int16.max)).map { Int16($0) }
        let back = Self.decode(law, Self.encode(law, samples))
        var worst = 0.0
        for (sample, decoded) in zip(samples, back) {
            let error = abs(Double(sample) - Double(decoded))
            // Half a step: 1/32 of the magnitude, or the smallest step, or the end of the range.
            worst = max(worst, error / max(abs(Double(sample)) / 32 + 4, 8))
        }
        #expect(worst <= (law == .mu ? 1.1 : 1.1))
    }

    @Test func everyRowOfTheAudioCorpusIsMet() throws {
        let met = ["pcmu-decode.txt", "pcma-decode.txt", "g722-tone.g722", "g722-tone.s16le"]
        let rows = try Fixture.text("audio/index.tsv").split(separator: "\n").dropFirst()
        #expect(rows.map { String($0.split(separator: "\t")[0]) }.sorted() == met.sorted())
    }

    @Test func registryTakesAnotherCodecInPlace() {
        var registry = AudioCodecRegistry([])
        #expect(registry.codec(for: .pcmu) == nil)
        registry.register(G711(.mu))
        registry.register(G711(.mu))
        #expect(registry.codecs.count == 1)
        #expect(registry.codec(for: NegotiatedCodec(name: "pcmu", payloadType: 99, clockRate: 8000)) != nil)
        #expect(registry.codec(for: NegotiatedCodec(name: "PCMU", payloadType: 99, clockRate: 16000)) == nil)
    }
}

@Suite struct MathematicsTests {
    @Test func agreesWithTheSystem() {
        for index in -2000...2000 {
            let value = Double(index) * 0.0371
            #expect(abs(Mathematics.sine(value) - sin(value)) < 1e-13)
            #expect(abs(Mathematics.cosine(value) - cos(value)) < 1e-13)
            #expect(abs(Mathematics.exponential(value) / exp(value) - 1) < 1e-13)
            if value > 0 { #expect(abs(Mathematics.logarithm(value) - log(value)) < 1e-13) }
        }
        #expect(Mathematics.logarithm(0) == -.infinity && Mathematics.exponential(-1e9) == 0)
        #expect(Mathematics.sine(.infinity) == 0 && Mathematics.sine(.nan) == 0)
        #expect(abs(Mathematics.amplitude(decibels: 20) - 10) < 1e-12)
        #expect(abs(Mathematics.decibels(amplitude: 0.5) + 6.0206) < 1e-4)
    }
}

@Suite struct ResamplerTests {
    /// Converts in frames of 10 ms of the input.
    static func convert(_ samples: [Int16], from: Int, to: Int) -> [Int16] {
        var resampler = Resampler(ResamplerFilter(from: from, to: to))
        var result: [Int16] = []
        var output = [Int16](repeating: 0, count: 4000)
        var at = 0
        while at < samples.count {
            let end = min(at + from / 100, samples.count)
            let made = resampler.process(samples, at..<end, into: &output)
            result += output[..<made]
            at = end
        }
        return result
    }

    @Test(arguments: [
        (8000, 16000), (8000, 48000), (16000, 48000), (16000, 8000), (48000, 8000), (48000, 16000),
        (44100, 16000), (11025, 16000), (22050, 8000), (44100, 48000),
    ])
    func aToneKeepsItsPowerAndPurity(from: Int, to: Int) {
        for frequency in [300.0, 1000, 3000] {
            let result = Self.convert(Signals.sine(frequency, rate: from, count: from / 2), from: from, to: to)
            let middle = result[(to / 10)..<(to * 4 / 10)]
            #expect(abs(Signals.power(middle) / 5e7 - 1) < 0.03, "\(frequency) Hz")
            #expect(Signals.share(frequency, middle, rate: to) > 0.9999, "\(frequency) Hz")
            #expect(abs(result.count - to / 2) <= 2)
        }
    }

    @Test(arguments: [(16000, 8000, 4600.0), (48000, 8000, 5000), (48000, 16000, 9500), (44100, 8000, 5000)])
    func whatTheLowerRateCannotCarryIsGone(from: Int, to: Int, frequency: Double) {
        let result = Self.convert(Signals.sine(frequency, rate: from, count: from / 2), from: from, to: to)
        #expect(Signals.power(result[(to / 10)...]) / 5e7 < 1e-5)
    }

    @Test func itSaysHowMuchItNeeds() {
        var resampler = Resampler(ResamplerFilter(from: 11025, to: 16000))
        var output = [Int16](repeating: 0, count: 160)
        let silence = [Int16](repeating: 0, count: 400)
        var total = 0
        for _ in 0..<100 {
            let needed = resampler.inputNeeded(for: 160)
            total += needed
            let made = resampler.process(silence, 0..<needed, into: &output)
            #expect(made == 160)
        }
        #expect(abs(total - 11025) < 3)
    }
}

@Suite struct WAVTests {
    @Test func whatIsWrittenIsRead() throws {
        let audio = WAVAudio(rate: 16000, samples: [0, 1, -1, .max, .min])
        let bytes = WAVEncoder.file(audio)
        #expect(bytes.count == 44 + 10)
        #expect(try WAVAudio(parsing: bytes) == audio)
    }

    @Test func aFileOfUnknownLengthIsReadToItsEnd() throws {
        var encoder = WAVEncoder(rate: 8000)
        var bytes = encoder.header(sampleCount: nil)
        encoder.encode([5, -6].span, into: &bytes)
        #expect(try WAVAudio(parsing: bytes).samples == [5, -6])
        let sampleCount = encoder.sampleCount
        #expect(sampleCount == 2)
        let fixed = encoder.header(sampleCount: 2) + bytes[44...]
        #expect(fixed == WAVEncoder.file(WAVAudio(rate: 8000, samples: [5, -6])))
    }

    static func file(tag: UInt8, channels: UInt8, bits: UInt8, data: [UInt8], extra: [UInt8] = []) -> [UInt8] {
        Array("RIFF".utf8) + [0, 0, 0, 0] + Array("WAVE".utf8) + extra + Array("fmt ".utf8) + [16, 0, 0, 0, tag, 0, channels, 0]
            + [0x40, 0x1f, 0, 0, 0, 0, 0, 0, 0, 0, bits, 0] + Array("data".utf8) + [UInt8(data.count), 0, 0, 0] + data
    }

    @Test func otherFormsAreRead() throws {
        #expect(try WAVAudio(parsing: Self.file(tag: 1, channels: 2, bits: 16, data: [10, 0, 20, 0, 0, 1, 0, 3])).samples == [15, 512])
        #expect(try WAVAudio(parsing: Self.file(tag: 7, channels: 1, bits: 8, data: [0, 255])).samples == [-32124, 0])
        #expect(try WAVAudio(parsing: Self.file(tag: 6, channels: 1, bits: 8, data: [0xd5])).samples == [8])
        #expect(try WAVAudio(parsing: Self.file(tag: 1, channels: 1, bits: 8, data: [129])).samples == [256])
        let odd = Array("LIST".utf8) + [3, 0, 0, 0, 1, 2, 3, 0]
        #expect(try WAVAudio(parsing: Self.file(tag: 1, channels: 1, bits: 8, data: [129], extra: odd)).rate == 8000)
    }

    @Test func whatIsNoneIsRefused() {
        #expect { try WAVAudio(parsing: Array("RIFFxxxxWAV".utf8)) } throws: { ($0 as? WAVError)?.code == .notWAVE }
        #expect { try WAVAudio(parsing: Self.file(tag: 3, channels: 1, bits: 32, data: [])) } throws: {
            ($0 as? WAVError)?.code == .unsupportedFormat
        }
        #expect { try WAVAudio(parsing: Self.file(tag: 1, channels: 0, bits: 16, data: [])) } throws: {
            ($0 as? WAVError)?.code == .unsupportedFormat
        }
        #expect { try WAVAudio(parsing: Array("RIFFxxxxWAVE".utf8)) } throws: { ($0 as? WAVError)?.code == .missingFormat }
        var random = SplitMix64(seed: 5)
        let whole = Self.file(tag: 1, channels: 2, bits: 16, data: [1, 2, 3, 4])
        for _ in 0..<3000 {
            var bytes = Array(whole[..<Int.random(in: 0...whole.count, using: &random)])
            if !bytes.isEmpty { bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random) }
            if let audio = try? WAVAudio(parsing: bytes) { #expect(audio.samples.count <= bytes.count) }
        }
    }
}

@Suite struct QualityScoreTests {
    @Test func isThatOfTheEModel() {
        func score(_ delay: Double, _ loss: Double) -> Double {
            QualityScore.opinion(rating: QualityScore.rating(delay: delay, loss: loss, equipment: 0, robustness: 25.1))
        }
        #expect(abs(score(0, 0) - 4.41) < 0.01)
        #expect(score(100, 0) > 4.3 && score(400, 0) < 3.7)
        #expect(score(50, 0.05) < score(50, 0.01) && score(50, 1) < 1.5)
    }
}
