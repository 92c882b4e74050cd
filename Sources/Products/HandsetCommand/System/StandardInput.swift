// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// The lines of standard input as they come; the stream ends with the input.
package enum StandardInput {
    /// A longer line is cut, so that nobody fills our memory.
    package static let longestLine = 65536

    package static func lines() -> AsyncStream<String> {
        let (stream, continuation) = AsyncStream<String>.makeStream()
        BackgroundThread.start {
            var splitter = LineSplitter(longestLine: longestLine)
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = unsafe buffer.withUnsafeMutableBytes { unsafe systemRead(0, $0.baseAddress, $0.count) }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                for line in splitter.append(buffer[..<count]) { continuation.yield(line) }
            }
            if let line = splitter.rest { continuation.yield(line) }
            continuation.finish()
        }
        return stream
    }
}

/// Cuts octets into lines.
package struct LineSplitter: Sendable {
    private let longestLine: Int
    private var line: [UInt8] = []

    package init(longestLine: Int) { self.longestLine = longestLine }

    /// The lines that are whole now.
    package mutating func append(_ bytes: some Collection<UInt8>) -> [String] {
        var result: [String] = []
        for byte in bytes {
            if byte == 0x0a {
                result.append(text)
                line.removeAll(keepingCapacity: true)
            } else if line.count < longestLine {
                line.append(byte)
            }
        }
        return result
    }

    /// What came after the last line end.
    package var rest: String? { line.isEmpty ? nil : text }

    private var text: String { String(decoding: line.last == 0x0d ? line.dropLast() : line[...], as: UTF8.self) }
}
