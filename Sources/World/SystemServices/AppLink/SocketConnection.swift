// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import Foundation
import Glibc
import Synchronization

/// A call service in another process, by its Unix socket.
///
/// One thread reads; whoever sends writes, in one piece, in the order of the calls.
package final class SocketConnection: ServiceConnection {
    /// `HANDSET_CALLSERVICE`, else `handset/callservice.sock` in the session's folder for sockets.
    package static var usualPath: String {
        let environment = ProcessInfo.processInfo.environment
        if let path = environment["HANDSET_CALLSERVICE"] { return path }
        return (environment["XDG_RUNTIME_DIR"] ?? "/run/user/\(getuid())") + "/handset/callservice.sock"
    }

    private let descriptor: Int32
    private let isBroken = Mutex(false)

    package var now: Date { Date() }

    package func after(_ seconds: Double, _ work: @escaping @Sendable () -> Void) {
        DispatchQueue.global().asyncAfter(deadline: .now() + seconds, execute: work)
    }

    private init(descriptor: Int32) { self.descriptor = descriptor }

    /// Connects `link` to the service at `path` and keeps it connected: after a loss it tries again, as long as the link lives.
    package static func keep(_ link: AppLink, at path: String) {
        // A write to a service that is gone is an error here, not a signal.
        signal(SIGPIPE, SIG_IGN)
        let first = open(path)
        if let first { link.connect(first) } else { link.disconnect() }
        Thread.detachNewThread { [weak link] in
            var open = first
            while true {
                if let connection = open {
                    connection.readAll { message in link?.receive(message) }
                    link?.lost()
                }
                repeat {
                    Thread.sleep(forTimeInterval: 0.25)
                    guard link != nil else { return }
                    open = Self.open(path)
                } while open == nil
                if let open { link?.reconnect(open) }
            }
        }
    }

    private static func open(_ path: String) -> SocketConnection? {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else {
            Glibc.close(descriptor)
            return nil
        }
        return SocketConnection(descriptor: descriptor)
    }

    package func send(_ message: AppMessage) {
        let frame = Wire.frame(ToService.app(message))
        isBroken.withLock { isBroken in
            var sent = 0
            while sent < frame.count, !isBroken {
                let count = unsafe frame.withUnsafeBytes {
                    unsafe Glibc.write(descriptor, $0.baseAddress.map { unsafe $0 + sent }, frame.count - sent)
                }
                if count > 0 { sent += count } else if errno != EINTR { isBroken = true }
            }
        }
    }

    private func readAll(_ receive: (ServiceMessage) -> Void) {
        var reader = FrameReader()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        reading: while true {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            reader.append(buffer[0..<count])
            do {
                while let body = try reader.next() {
                    if case .app(let message) = try Wire.message(FromService.self, body) { receive(message) }
                }
            } catch {
                // What the service says cannot be read: as good as a loss.
                break reading
            }
        }
        isBroken.withLock { isBroken in
            isBroken = true
            Glibc.close(descriptor)
        }
    }
}
