// SPDX-License-Identifier: Apache-2.0

import Media
import Testing

private func u16(_ value: Int) -> [UInt8] { [UInt8(value & 255), UInt8(value >> 8 & 255)] }
private func u32(_ value: Int) -> [UInt8] { u16(value) + u16(value >> 16) }
private func file(format: Int, channels: Int = 1, rate: Int = 8000, bits: Int, data: [UInt8], size: Int? = nil) -> [UInt8] {
    let frame = channels * bits / 8
    var file: [UInt8] = Array("RIFF".utf8) + u32(36 + data.count) + Array("WAVEfmt ".utf8) + u32(16)
    file += u16(format) + u16(channels) + u32(rate) + u32(rate * frame)
    file += u16(frame) + u16(bits) + Array("LIST".utf8) + u32(3)
    file += [1, 2, 3, 0] + Array("data".utf8) + u32(size ?? data.count)
    return file + data
}

private func read(_ bytes: [UInt8]) throws -> WAVAudio { try WAVAudio(parsing: bytes) }

@Suite struct WAVTests {
    @Test func `what is written is read again`() throws {
        let audio = WAVAudio(rate: 16000, samples: [0, 1, -1, 32767, -32768, 1234])
        #expect(try read(WAVEncoder.file(audio)) == audio)
    }

    @Test func `every format is read at its value`() throws {
        #expect(try read(file(format: 1, bits: 8, data: [128, 255, 0])).samples == [0, 0x7f00, -0x8000])
        #expect(try read(file(format: 1, channels: 2, bits: 16, data: u16(100) + u16(300))).samples == [200])
        // G.711: the quietest and the loudest codes.
        #expect(try read(file(format: 7, bits: 8, data: [0xff, 0x7f, 0x80, 0x00])).samples == [0, 0, 32124, -32124])
        #expect(try read(file(format: 6, bits: 8, data: [0xd5, 0x55, 0xaa, 0x2a])).samples == [8, -8, 32256, -32256])
    }

    @Test func `a file that is still written has what is there`() throws {
        for size in [0, 0xffff_ffff, 1000] {
            #expect(try read(file(format: 1, bits: 16, data: u16(5) + u16(6), size: size)).samples == [5, 6])
        }
    }

    @Test func `what is no WAV file is refused in words`() {
        let bad: [[UInt8]] = [
            [], Array("RIFF".utf8), [UInt8](repeating: 0, count: 100), file(format: 85, bits: 0, data: []),
            file(format: 1, channels: 0, bits: 16, data: []), file(format: 1, rate: 1, bits: 16, data: []),
            Array(file(format: 1, bits: 16, data: []).prefix(40)),
        ]
        for bytes in bad { #expect(throws: WAVError.self) { try read(bytes) } }
    }

    @Test func `no cut or changed octet makes the reader trap`() {
        let good = file(format: 1, channels: 2, bits: 16, data: [UInt8](repeating: 7, count: 40))
        for length in 0...good.count { _ = try? read(Array(good[..<length])) }
        for index in good.indices {
            for value in [0, 1, 127, 128, 255] as [UInt8] {
                var changed = good
                changed[index] = value
                _ = try? read(changed)
            }
        }
    }
}
