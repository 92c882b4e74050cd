// SPDX-License-Identifier: Apache-2.0
//
// RIFF WAVE over octets; files are opened by the world. All numbers are little endian:
//
//     "RIFF" size "WAVE"  { chunk id, size, content, filled up to an even length }…
//     "fmt ": format (1 PCM, 6 A-law, 7 µ-law), channels, rate, octets a second, octets a frame, bits
//     "data": the samples; a size of 0 or 0xFFFFFFFF means "to the end" (written by a program that was still recording)

/// The samples of a WAV file, mixed to one channel.
public struct WAVAudio: Sendable, Hashable {
    /// Samples a second.
    public var rate: Int
    public var samples: [Int16]

    public init(rate: Int, samples: [Int16]) {
        self.rate = rate
        self.samples = samples
    }

    /// Reads a whole file: PCM of 8 or 16 bits, µ-law or A-law; one to eight channels, which are averaged;
    /// 1000...384000 samples a second. A data chunk that is cut off gives what is there.
    public init(parsing bytes: [UInt8]) throws(WAVError) {
        guard bytes.count >= 12, Self.name(bytes, 0) == "RIFF", Self.name(bytes, 8) == "WAVE" else {
            throw WAVError(.notWAVE, at: 0)
        }
        var at = 12
        var format: Format?
        while at + 8 <= bytes.count {
            let size = Int(Self.number(bytes, at + 4, 4))
            let content = at + 8
            switch Self.name(bytes, at) {
            case "fmt ":
                format = try Format(bytes, content, size)
            case "data":
                guard let format else { throw WAVError(.missingFormat, at: at) }
                let end = size == 0 || size == 0xffff_ffff ? bytes.count : min(bytes.count, content + size)
                rate = format.rate
                samples = format.samples(bytes, content..<end)
                return
            default: break
            }
            at = content + size + size % 2
        }
        throw WAVError(format == nil ? .missingFormat : .missingData, at: min(at, bytes.count))
    }

    fileprivate static func name(_ bytes: [UInt8], _ at: Int) -> String {
        guard at + 4 <= bytes.count else { return "" }
        return String(decoding: bytes[at..<at + 4], as: UTF8.self)
    }

    fileprivate static func number(_ bytes: [UInt8], _ at: Int, _ count: Int) -> UInt32 {
        guard at >= 0, at + count <= bytes.count else { return 0 }
        var value: UInt32 = 0
        for index in 0..<count { value |= UInt32(bytes[at + index]) << UInt32(8 * index) }
        return value
    }

    private struct Format {
        enum Encoding { case linear8, linear16, mu, a }

        var encoding: Encoding
        var channels: Int
        var rate: Int

        init(_ bytes: [UInt8], _ at: Int, _ size: Int) throws(WAVError) {
            guard size >= 16, at + 16 <= bytes.count else { throw WAVError(.missingFormat, at: at) }
            var tag = WAVAudio.number(bytes, at, 2)
            // WAVE_FORMAT_EXTENSIBLE has the real tag at the beginning of its sub-format.
            if tag == 0xfffe, size >= 40, at + 40 <= bytes.count { tag = WAVAudio.number(bytes, at + 24, 2) }
            let bits = WAVAudio.number(bytes, at + 14, 2)
            switch (tag, bits) {
            case (1, 16): encoding = .linear16
            case (1, 8): encoding = .linear8
            case (6, 8): encoding = .a
            case (7, 8): encoding = .mu
            default: throw WAVError(.unsupportedFormat, at: at)
            }
            channels = Int(WAVAudio.number(bytes, at + 2, 2))
            rate = Int(WAVAudio.number(bytes, at + 4, 4))
            guard (1...8).contains(channels) else { throw WAVError(.unsupportedFormat, at: at + 2) }
            guard (1000...384_000).contains(rate) else { throw WAVError(.unsupportedFormat, at: at + 4) }
        }

        func samples(_ bytes: [UInt8], _ range: Range<Int>) -> [Int16] {
            let width = encoding == .linear16 ? 2 : 1
            let count = range.count / (width * channels)
            var result: [Int16] = []
            result.reserveCapacity(count)
            for frame in 0..<count {
                var sum = 0
                for channel in 0..<channels {
                    sum += Int(sample(bytes, range.lowerBound + (frame * channels + channel) * width))
                }
                result.append(Int16(clamping: sum / channels))
            }
            return result
        }

        private func sample(_ bytes: [UInt8], _ at: Int) -> Int16 {
            switch encoding {
            case .linear16: Int16(truncatingIfNeeded: Int(bytes[at]) | Int(bytes[at + 1]) << 8)
            case .linear8: (Int16(bytes[at]) - 128) << 8
            case .mu: G711.muTable[Int(bytes[at])]
            case .a: G711.aTable[Int(bytes[at])]
            }
        }
    }
}

/// Why octets are no WAV file that can be read.
public struct WAVError: Error, Sendable, Hashable {
    public enum Code: String, Sendable, Hashable {
        case notWAVE = "wav.not-wave"
        case missingFormat = "wav.missing-format"
        case missingData = "wav.missing-data"
        /// Not PCM of 8 or 16 bits, µ-law or A-law, or an absurd rate or number of channels.
        case unsupportedFormat = "wav.unsupported-format"
    }

    public var code: Code
    /// The octet of the file.
    public var offset: Int

    public init(_ code: Code, at offset: Int) {
        self.code = code
        self.offset = offset
    }

    /// What is wrong, for a person.
    package var words: String {
        switch code {
        case .notWAVE: "it is no WAV file"
        case .missingFormat: "it has no format chunk before its data"
        case .missingData: "it has no data"
        case .unsupportedFormat: "its format is not supported; PCM of 8 or 16 bit and G.711 are"
        }
    }
}

/// Writes a WAV file piece by piece: 16 bits, one channel or more (the samples of a moment lie side by side).
///
/// Write `header(sampleCount: nil)` first and `encode` each piece behind it; at the end put `header(sampleCount:)` over the
/// first `headerSize` octets. A file that was cut off before that can still be read to its end.
public struct WAVEncoder: Sendable {
    public static let headerSize = 44

    public let rate: Int
    public let channels: Int
    /// Samples encoded so far, of all channels.
    public private(set) var sampleCount = 0

    public init(rate: Int, channels: Int = 1) {
        self.rate = rate
        self.channels = min(max(channels, 1), 8)
    }

    /// The 44 octets before the samples; nil: their number is not known yet.
    public func header(sampleCount: Int?) -> [UInt8] {
        let size = sampleCount.map { min(UInt32(clamping: $0 * 2), 0xffff_fffe - 36) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.headerSize)
        func append(_ value: UInt32, _ count: Int) {
            for index in 0..<count { bytes.append(UInt8(truncatingIfNeeded: value >> UInt32(8 * index))) }
        }
        bytes += Array("RIFF".utf8)
        append(size.map { $0 + 36 } ?? .max, 4)
        bytes += Array("WAVEfmt ".utf8)
        append(16, 4)
        append(1, 2)
        append(UInt32(channels), 2)
        append(UInt32(clamping: rate), 4)
        append(UInt32(clamping: rate * 2 * channels), 4)
        append(UInt32(2 * channels), 2)
        append(16, 2)
        bytes += Array("data".utf8)
        append(size ?? .max, 4)
        return bytes
    }

    /// Appends the octets of `samples` to `bytes`.
    public mutating func encode(_ samples: Span<Int16>, into bytes: inout [UInt8]) {
        for index in 0..<samples.count {
            bytes.append(UInt8(truncatingIfNeeded: samples[index]))
            bytes.append(UInt8(truncatingIfNeeded: samples[index] >> 8))
        }
        sampleCount += samples.count
    }

    /// A whole file.
    public static func file(_ audio: WAVAudio) -> [UInt8] {
        var encoder = WAVEncoder(rate: audio.rate)
        var bytes = encoder.header(sampleCount: audio.samples.count)
        encoder.encode(audio.samples.span, into: &bytes)
        return bytes
    }
}
