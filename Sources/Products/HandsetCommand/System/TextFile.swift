// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Whole files, for what is small by nature: messages, offers, passwords.
package enum TextFile {
    /// At most this much is read: a message has 64 KiB at most.
    package static let limit = 1 << 20

    /// The octets of the file, or of standard input for `-`.
    package static func read(_ path: String, limit: Int = TextFile.limit) throws(FileError) -> [UInt8] {
        let descriptor = path == "-" ? 0 : unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileError(path: path, doing: "read") }
        defer { if descriptor > 0 { close(descriptor) } }
        var result: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16384)
        while result.count < limit {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe systemRead(descriptor, $0.baseAddress, $0.count) }
            if count == 0 { break }
            guard count > 0 else {
                if errno == EINTR { continue }
                throw FileError(path: path, doing: "read")
            }
            result += buffer[..<count]
        }
        return result
    }

    /// Hands the octets of the file, or of standard input for `-`, to `body` piece by piece until it gives false.
    package static func readPieces(_ path: String, _ body: ([UInt8]) -> Bool) throws(FileError) {
        let descriptor = path == "-" ? 0 : unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileError(path: path, doing: "read") }
        defer { if descriptor > 0 { close(descriptor) } }
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe systemRead(descriptor, $0.baseAddress, $0.count) }
            if count == 0 { return }
            guard count > 0 else {
                if errno == EINTR { continue }
                throw FileError(path: path, doing: "read")
            }
            guard body(Array(buffer[..<count])) else { return }
        }
    }

    /// Throws what opening this file to read would say, and nothing is read: told before a call is made for it.
    package static func checkReadable(_ path: String) throws(FileError) {
        var status = stat()
        guard unsafe stat(path, &status) == 0, unsafe access(path, R_OK) == 0 else { throw FileError(path: path, doing: "read") }
        try refuseFolder(status, path, doing: "read")
    }

    /// Throws what making this file, or writing over it, would say; it is left as it is.
    package static func checkWritable(_ path: String) throws(FileError) {
        var status = stat()
        if unsafe stat(path, &status) == 0 {
            try refuseFolder(status, path, doing: "write")
            guard unsafe access(path, W_OK) == 0 else { throw FileError(path: path, doing: "write") }
        } else {
            guard errno == ENOENT else { throw FileError(path: path, doing: "write") }
            let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
            guard unsafe access(folder, W_OK | X_OK) == 0 else { throw FileError(path: path, doing: "write") }
        }
    }

    /// Whether it is an ordinary file, which can be read again and again.
    package static func isFile(_ path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Puts a file in the place of another whole, readable by its owner alone; folders on the way are made.
    package static func replace(_ path: String, with text: String) throws(FileError) {
        try makeFolder(of: path)
        let draft = path + ".new"
        _ = unsafe unlink(draft)
        try LineOutput(creating: draft).put(text)
        guard unsafe rename(draft, path) == 0 else { throw FileError(path: path, doing: "write") }
    }

    /// Makes the folder in which a file is to be, and those above it, for the person alone.
    package static func makeFolder(of path: String) throws(FileError) {
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return }
        let folder = String(path[..<slash])
        if unsafe access(folder, F_OK) == 0 { return }
        try makeFolder(of: folder)
        guard unsafe mkdir(folder, 0o700) == 0 || errno == EEXIST else { throw FileError(path: folder, doing: "make") }
    }

    /// Whether anybody but its owner may read a file.
    package static func isReadableByOthers(_ path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && status.st_mode & (S_IRGRP | S_IROTH) != 0
    }

    /// Removes a file; false: there was none.
    package static func remove(_ path: String) -> Bool { unsafe unlink(path) == 0 }

    private static func refuseFolder(_ status: stat, _ path: String, doing: String) throws(FileError) {
        guard status.st_mode & S_IFMT == S_IFDIR else { return }
        errno = EISDIR
        throw FileError(path: path, doing: doing)
    }

    /// The lines of a text without their ends; empty lines and those that begin with `#` are left out.
    package static func lines(_ bytes: [UInt8]) -> [String] {
        bytes.split(whereSeparator: { $0 == 0x0a || $0 == 0x0d }).map { String(decoding: $0, as: UTF8.self) }.filter { !$0.hasPrefix("#") }
    }
}
