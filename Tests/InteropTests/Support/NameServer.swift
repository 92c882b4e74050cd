// SPDX-License-Identifier: Apache-2.0

import Essentials
import Foundation
import HandsetTestKit
import Synchronization

/// A name server of the test's own on loopback: a zone of the test kit behind a UDP socket.
final class NameServer: Sendable {
    let port: Int
    private let handle: Int32
    private let isOver = Mutex(false)

    init(_ zone: DNSZone) throws {
        let handle = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(handle, $0, length) == 0 && getsockname(handle, $0, &length) == 0 }
        }
        guard isBound else { throw Subprocess.Failure(description: "no socket for the name server") }
        var patience = timeval(tv_sec: 0, tv_usec: 50_000)
        setsockopt(handle, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        self.handle = handle
        port = Int(UInt16(bigEndian: address.sin_port))
        Thread.detachNewThread { [self] in serve(zone) }
    }

    private func serve(_ zone: DNSZone) {
        var buffer = [UInt8](repeating: 0, count: 1500)
        while !isOver.withLock({ $0 }) {
            var from = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let count = withUnsafeMutablePointer(to: &from) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { recvfrom(handle, &buffer, buffer.count, 0, $0, &length) }
            }
            guard count > 0, let answer = zone.answer(octets: Array(buffer[0..<count])) else { continue }
            _ = withUnsafePointer(to: &from) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { sendto(handle, answer, answer.count, 0, $0, length) }
            }
        }
        close(handle)
    }

    func stop() { isOver.withLock { $0 = true } }
}
