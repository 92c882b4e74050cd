// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestArtefacts

/// A program at a terminal that a test types into and reads.
final class PseudoTerminal: Sendable {
    private let process = Process()
    private let master: Int32
    private let shown = Mutex("")

    init(_ executable: String, _ arguments: [String], environment: [String: String] = [:], rows: UInt16 = 24, columns: UInt16 = 100) throws
    {
        master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var isLocked: Int32 = 0
        var number: Int32 = 0
        // TIOCSPTLCK and TIOCGPTN of Linux, which the C library's functions for this stand on.
        guard master >= 0, ioctl(master, 0x4004_5431, &isLocked) == 0, ioctl(master, 0x8004_5430, &number) == 0 else {
            throw Subprocess.Failure(description: "no pseudo terminal")
        }
        var size = winsize(ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(master, UInt(TIOCSWINSZ), &size)
        let slave = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
        let handle = FileHandle(fileDescriptor: slave, closeOnDealloc: true)
        process.executableURL = URL(fileURLWithPath: executable)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(["TERM": "xterm", "LANG": "C.UTF-8"]) { $1 }.merging(environment)
        { $1 }
        process.standardInput = handle
        process.standardOutput = handle
        process.standardError = handle
        Artefacts.noteStart(arguments, environment)
        let kept = Artefacts.open("terminal")
        try process.run()
        let master = master
        Thread.detachNewThread { [weak self] in
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = read(master, &buffer, buffer.count)
                guard count > 0 else { break }
                try? kept?.write(contentsOf: Data(buffer[..<count]))
                let text = String(decoding: buffer[..<count], as: UTF8.self)
                guard let self else { break }
                self.shown.withLock { $0 += text }
            }
        }
    }

    deinit {
        if process.exit == nil { kill(process.processIdentifier, SIGKILL) }
        close(master)
    }

    /// Everything that was written so far, control sequences included.
    var text: String { shown.withLock { $0 } }

    func type(_ keys: String) {
        let bytes = Array(keys.utf8)
        _ = write(master, bytes, bytes.count)
    }

    /// Waits until `words` were written after place `start`; gives the place behind them.
    @discardableResult
    func wait(for words: String, from start: Int = 0, within seconds: Double = 10) async throws -> Int {
        let limit = Date().addingTimeInterval(seconds)
        while true {
            let text = text.utf8
            let rest = String(decoding: text.dropFirst(start), as: UTF8.self)
            if let found = rest.range(of: words) { return start + rest[..<found.upperBound].utf8.count }
            guard Date() < limit else { throw Subprocess.Failure(description: "no \"\(words)\" on the terminal:\n\(rest.suffix(3000))") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    func exitStatus(within seconds: Double) async throws -> Int32 {
        let limit = Date().addingTimeInterval(seconds)
        while true {
            if let status = process.exit { return status }
            guard Date() < limit else { throw Subprocess.Failure(description: "the program did not end:\n\(text.suffix(2000))") }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}
