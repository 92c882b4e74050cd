// SPDX-License-Identifier: Apache-2.0

import Media

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The files of the demonstration: whole, small, read and written at once.
enum DemoFiles {
    /// Makes the folder; one that is there already is used.
    static func makeFolder(_ path: String) throws(FileError) {
        guard unsafe mkdir(path, 0o755) == 0 || errno == EEXIST else { throw FileError(path: path, doing: "make the folder") }
    }

    /// The samples of a WAV file at 8 kHz.
    static func read(_ path: String) throws -> [Int16] {
        let file = try WAVAudio(parsing: try TextFile.read(path, limit: 16 << 20))
        guard file.rate == Demonstration.rate else {
            throw CommandFailure.failed("\(path) has \(file.rate) samples a second, not \(Demonstration.rate).")
        }
        return file.samples
    }

    static func write(_ speech: DemoSpeech, to path: String) throws(FileError) {
        try write(WAVEncoder.file(WAVAudio(rate: Demonstration.rate, samples: speech.samples)), to: path)
    }

    static func write(_ text: String, to path: String) throws(FileError) { try write(Array(text.utf8), to: path) }

    private static func write(_ bytes: [UInt8], to path: String) throws(FileError) {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw FileError(path: path, doing: "write") }
        defer { close(descriptor) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe systemWrite(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else { throw FileError(path: path, doing: "write") }
            rest = rest.dropFirst(max(0, count))
        }
    }
}
