// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A file by its descriptor: the few calls that the file thread needs. Closed with the value.
struct SystemFile: ~Copyable {
    struct Failure: Error {
        var reason: String
        init(_ number: Int32) {
            guard let words = unsafe strerror(number) else {
                reason = "error \(number)"
                return
            }
            reason = unsafe String(cString: words)
        }
        init(reason: String) { self.reason = reason }
    }

    private let descriptor: Int32

    /// Opens to read, or makes an empty file to write. A pipe or a device that is to be read is refused: the file thread
    /// would wait for it, or read for ever, and could not be ended.
    init(path: String, writes: Bool) throws(Failure) {
        let flags = writes ? O_RDWR | O_CREAT | O_TRUNC : O_RDONLY
        descriptor = unsafe open(path, flags | O_CLOEXEC | O_NONBLOCK, 0o644)
        guard descriptor >= 0 else { throw Failure(errno) }
        guard !writes else { return }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw Failure(errno) }
        switch status.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFDIR: throw Failure(EISDIR)
        default: throw Failure(reason: "it is a pipe or a device, not a file")
        }
    }

    deinit { close(descriptor) }

    /// The whole file.
    func readAll(limit: Int) throws(Failure) -> [UInt8] {
        var content: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = unsafe block.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Failure(errno) }
            if count == 0 { return content }
            content.append(contentsOf: block[..<count])
            guard content.count <= limit else { throw Failure(reason: "it is larger than the limit of \(limit) octets") }
        }
    }

    /// Writes all of `bytes` at `offset`.
    func write(_ bytes: [UInt8], at offset: Int) throws(Failure) {
        var done = 0
        while done < bytes.count {
            let count = unsafe bytes.withUnsafeBytes {
                let start = unsafe $0.baseAddress.map { unsafe $0 + done }
                return unsafe pwrite(descriptor, start, $0.count - done, off_t(offset + done))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Failure(count < 0 ? errno : ENOSPC) }
            done += count
        }
    }
}
