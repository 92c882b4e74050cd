// SPDX-License-Identifier: Apache-2.0
//
// The WAVE file format (Multimedia Programming Interface and Data Specifications 1.0; RFC 2361 for format codes):
//
//      "RIFF" size "WAVE" │ "fmt " size format channels rate … bits │ other chunks │ "data" size samples

/// A WAV file that cannot be played, in words for a person.
public struct WAVError: Error, Sendable, Hashable, CustomStringConvertible {
    public var reason: String
    public var description: String { reason }
}

/// The audio of a WAV file: mono, 16 bit.
public struct WAVAudio: Sendable, Hashable {
    public var samples: [Int16]
    /// Samples a second.
    public var rate: Int

    public init(samples: [Int16], rate: Int) {
        self.samples = samples
        self.rate = rate
    }

    /// Reads a whole file: PCM of 8, 16, 24 or 32 bit, and G.711; several channels are mixed to one. A data size that leads
    /// out of the file, as of one that is still written, means its rest.
    public init(parsing file: [UInt8]) throws(WAVError) {
        guard file.count >= 12, file[0..<4].elementsEqual("RIFF".utf8), file[8..<12].elementsEqual("WAVE".utf8) else {
            throw WAVError(reason: "it is no WAV file")
        }
        var position = 12
        var layout: Layout?
        while file.count - position >= 8 {
            let name = file[position..<position + 4]
            let size = Int(Self.u32(file, position + 4))
            let start = position + 8
            let end = min(file.count, start + size)
            if name.elementsEqual("fmt ".utf8) {
                layout = try Layout(file[start..<end])
            } else if name.elementsEqual("data".utf8) {
                guard let layout else { throw WAVError(reason: "its data come before its format") }
                self.init(samples: layout.samples(file[start..<(size == 0 ? file.count : end)]), rate: layout.rate)
                return
            }
            position = end + (size & 1)
        }
        throw WAVError(reason: "it has no data")
    }

    private static func u32(_ bytes: [UInt8], _ index: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(bytes[index + $1]) << UInt32(8 * $1) }
    }

    /// The head of a file with that many octets of samples: mono, 16 bit.
    static func head(rate: Int, octets: Int) -> [UInt8] {
        func u32(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
        func u16(_ value: Int) -> [UInt8] { [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)] }
        return Array("RIFF".utf8) + u32(36 + octets) + Array("WAVEfmt ".utf8) + u32(16) + u16(1) + u16(1) + u32(rate)
            + u32(rate * 2) + u16(2) + u16(16) + Array("data".utf8) + u32(octets)
    }

    /// The whole file: mono, 16 bit.
    public var serialized: [UInt8] {
        var file = Self.head(rate: rate, octets: samples.count * 2)
        file.reserveCapacity(file.count + samples.count * 2)
        for sample in samples {
            let bits = UInt16(bitPattern: sample)
            file.append(UInt8(truncatingIfNeeded: bits))
            file.append(UInt8(truncatingIfNeeded: bits >> 8))
        }
        return file
    }
}

/// The "fmt " chunk.
private struct Layout {
    enum Coding {
        case pcm(octets: Int)
        case mu
        case a
    }

    var coding: Coding
    var channels: Int
    var rate: Int

    init(_ chunk: ArraySlice<UInt8>) throws(WAVError) {
        let bytes = Array(chunk)
        guard bytes.count >= 16 else { throw WAVError(reason: "its format chunk is too short") }
        func u16(_ index: Int) -> Int { Int(bytes[index]) | Int(bytes[index + 1]) << 8 }
        var format = u16(0)
        // WAVE_FORMAT_EXTENSIBLE: the real code begins the GUID.
        if format == 0xfffe, bytes.count >= 26 { format = u16(24) }
        channels = u16(2)
        rate = u16(4) | u16(6) << 16
        let bits = u16(14)
        switch (format, bits) {
        case (1, 8), (1, 16), (1, 24), (1, 32): coding = .pcm(octets: bits / 8)
        case (6, 8): coding = .a
        case (7, 8): coding = .mu
        default: throw WAVError(reason: "its format \(format) with \(bits) bits is not supported; PCM and G.711 are")
        }
        guard (1...16).contains(channels) else { throw WAVError(reason: "it has \(channels) channels") }
        guard (8_000...192_000).contains(rate) else { throw WAVError(reason: "its rate of \(rate) Hz is out of 8000...192000") }
    }

    func samples(_ data: ArraySlice<UInt8>) -> [Int16] {
        let width: Int
        switch coding {
        case .pcm(let octets): width = octets
        case .mu, .a: width = 1
        }
        let count = data.count / (width * channels)
        var samples: [Int16] = []
        samples.reserveCapacity(count)
        var index = data.startIndex
        for _ in 0..<count {
            var sum = 0
            for _ in 0..<channels {
                sum += sample(data, index)
                index += width
            }
            samples.append(Int16(truncatingIfNeeded: sum / channels))
        }
        return samples
    }

    private func sample(_ data: ArraySlice<UInt8>, _ index: Int) -> Int {
        switch coding {
        case .pcm(1): return (Int(data[index]) - 128) << 8
        case .pcm(let octets):
            // The upper two octets: the lower ones of 24 and 32 bit are below our resolution.
            let low = data[index + octets - 2]
            let high = data[index + octets - 1]
            return Int(Int16(bitPattern: UInt16(high) << 8 | UInt16(low)))
        case .mu: return Self.mu(data[index])
        case .a: return Self.a(data[index])
        }
    }

    /// ITU-T G.711 table 2.
    private static func mu(_ code: UInt8) -> Int {
        let bits = ~code
        let magnitude = ((Int(bits & 15) << 3) + 132) << Int(bits >> 4 & 7)
        return bits & 128 == 0 ? magnitude - 132 : 132 - magnitude
    }

    /// ITU-T G.711 table 1.
    private static func a(_ code: UInt8) -> Int {
        let bits = code ^ 0x55
        let segment = Int(bits >> 4 & 7)
        var magnitude = Int(bits & 15) << 4 + 8
        if segment > 0 { magnitude = (magnitude + 256) << (segment - 1) }
        return bits & 128 == 0 ? -magnitude : magnitude
    }
}
