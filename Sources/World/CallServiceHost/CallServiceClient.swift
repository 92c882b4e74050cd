// SPDX-License-Identifier: Apache-2.0

import CPosix
import CallServiceCore
import Networking

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A blocking connection to a call service: for call screens, push channels and tests.
public final class CallServiceClient: Sendable {
    private let descriptor: Int32

    public init(path: String) throws(NetworkError) {
        descriptor = unsafe cposix_unix_connect(path)
        guard descriptor >= 0 else { throw NetworkError(systemError: -descriptor, context: "the call service at \(path)") }
    }

    deinit { _ = cposix_close(descriptor) }

    /// False: the service is gone.
    @discardableResult
    public func send(_ message: ToService) -> Bool { send(octets: Wire.frame(message)) }

    @discardableResult
    package func send(octets: [UInt8]) -> Bool {
        var rest = octets[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBufferPointer { bytes -> Int in
                guard let base = bytes.baseAddress else { return -1 }
                return unsafe cposix_write(descriptor, base, bytes.count)
            }
            if count == -Int(EINTR) { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Hands each message to `body` until it returns false or the service ends the connection.
    public func receive(_ body: (FromService) -> Bool) {
        var reader = FrameReader()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe buffer.withUnsafeMutableBufferPointer { bytes -> Int in
                guard let base = bytes.baseAddress else { return 0 }
                return unsafe cposix_read(descriptor, base, bytes.count)
            }
            if count == -Int(EINTR) { continue }
            guard count > 0 else { return }
            reader.append(buffer[..<count])
            do {
                while let frame = try reader.next() { guard body(try Wire.message(FromService.self, frame)) else { return } }
            } catch {
                return
            }
        }
    }

    /// Ends the connection from another thread: `receive` returns.
    public func close() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}

extension NetworkError {
    /// The system's own words for an errno.
    init(systemError number: Int32, context: String) {
        let words = unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)"
        self.init(.system, "\(context): \(words)", context: context, errorNumber: number)
    }
}
