// SPDX-License-Identifier: Apache-2.0

import CPosix
import CallServiceCore
import Essentials
import Networking

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// One connection to the service. Belongs to the loop.
final class CallServicePeer {
    enum Role: Equatable {
        case unknown
        case app(AppID)
        case screen
    }

    let descriptor: Int32
    let process: Int32
    var role = Role.unknown
    var reader: FrameReader
    private var output: [UInt8] = []
    private(set) var isClosing = false
    /// What waits for a peer that does not read; more ends the connection.
    private let outputLimit: Int

    init(descriptor: Int32, process: Int32, limits: WireLimits, outputLimit: Int) {
        self.descriptor = descriptor
        self.process = process
        self.outputLimit = outputLimit
        reader = FrameReader(limits: limits)
    }

    var wantsToWrite: Bool { !output.isEmpty }

    /// Queues a message; false: too much waits.
    func send(_ message: FromService) -> Bool {
        output += Wire.frame(message)
        return output.count <= outputLimit
    }

    /// Nothing more is read; the connection ends once everything is written.
    func closeWhenWritten() { isClosing = true }

    /// False: the connection is broken, or done.
    func write() -> Bool {
        while !output.isEmpty {
            let count = unsafe output.withUnsafeBufferPointer { bytes -> Int in
                guard let base = bytes.baseAddress else { return 0 }
                return unsafe cposix_write(descriptor, base, bytes.count)
            }
            if count == -Int(EAGAIN) { return true }
            guard count > 0 else { return false }
            output.removeFirst(count)
        }
        return !isClosing
    }

    /// The octets there are; nil: the other end is gone.
    func read() -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe buffer.withUnsafeMutableBufferPointer { bytes -> Int in
            guard let base = bytes.baseAddress else { return 0 }
            return unsafe cposix_read(descriptor, base, bytes.count)
        }
        if count == -Int(EAGAIN) || count == -Int(EINTR) { return [] }
        return count > 0 ? Array(buffer[..<count]) : nil
    }
}
