// SPDX-License-Identifier: Apache-2.0

import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A file that takes whole lines from any thread; each is with the system when `write` returns.
package final class LineOutput: Sendable {
    private let descriptor: Int32
    private let name: String
    /// Keeps lines whole; the system's number once nothing more can be written: the reader is gone, the disk is full.
    private let failure = Mutex<Int32?>(nil)

    private init(descriptor: Int32, name: String) {
        self.descriptor = descriptor
        self.name = name
    }

    package static let standardOutput = LineOutput(descriptor: 1, name: "standard output")
    package static let standardError = LineOutput(descriptor: 2, name: "standard error")

    /// Whether lines were lost. A reader that has read enough and left, as `head` does, is no loss.
    package var hasLostLines: Bool { failure.withLock { $0.map { $0 != EPIPE } ?? false } }

    /// Opens a new, empty file that only its owner reads; nil with the system's reason in `errno`.
    package convenience init(creating path: String) throws(FileError) {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FileError(path: path, doing: "write") }
        self.init(descriptor: descriptor, name: path)
    }

    deinit { if descriptor > 2 { close(descriptor) } }

    package func write(_ line: String) { put(line + "\n") }

    /// Writes text without a line end of its own: what moves the cursor of a terminal.
    package func put(_ text: String) {
        var bytes = Array(text.utf8)[...]
        let complaint = failure.withLock { failure -> FileError? in
            while !bytes.isEmpty, failure == nil {
                let count = unsafe bytes.withUnsafeBytes { unsafe systemWrite(descriptor, $0.baseAddress, $0.count) }
                if count > 0 {
                    bytes = bytes.dropFirst(count)
                } else if errno != EINTR {
                    failure = errno
                    return FileError(path: name, doing: "write")
                }
            }
            return nil
        }
        // Once, where it can still be read: what follows is missing.
        if let complaint, descriptor != 2, hasLostLines { LineOutput.standardError.write("handset: \(complaint)") }
    }
}

/// A file that could not be read or written, in the system's words.
package struct FileError: Error, Sendable, CustomStringConvertible {
    package var description: String

    /// Takes the reason from `errno`.
    package init(path: String, doing: String) {
        let reason = unsafe strerror(errno).map { unsafe String(cString: $0) } ?? "error \(errno)"
        description = "cannot \(doing) \(path): \(reason)"
    }
}
