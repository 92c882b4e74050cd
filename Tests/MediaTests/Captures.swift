// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Packets of the corpus's `.rtp` files and of the captures that Debian's sip-tester installs.
enum Captures {
    typealias Packet = (milliseconds: Double, bytes: [UInt8])

    static func lines(_ path: String) throws -> [Packet] {
        try Fixture.text(path).split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
            let parts = line.split(separator: " ")
            return (Double(parts[0]) ?? 0, Fixture.bytes(String(parts[1])))
        }
    }

    /// The UDP payloads of a capture, timed from the first.
    static func sipTester(_ name: String) throws -> [Packet] {
        let data = [UInt8](try Data(contentsOf: URL(fileURLWithPath: "/usr/share/sip-tester/\(name)")))
        func number(_ at: Int, _ count: Int) -> Int {
            (0..<count).reduce(0) { $0 | Int(data[at + $1]) << (8 * $1) }
        }
        // Little endian captures with microseconds; link types Ethernet (1) and Linux cooked (113).
        guard number(0, 4) == 0xa1b2_c3d4 else { throw CocoaError(.fileReadCorruptFile) }
        let link = number(20, 4) == 113 ? 16 : 14
        var at = 24
        var packets: [Packet] = []
        var first: Double?
        while at + 16 <= data.count {
            let time = Double(number(at, 4)) * 1000 + Double(number(at + 4, 4)) / 1000
            let size = number(at + 8, 4)
            let ip = at + 16 + link
            let udp = ip + Int(data[ip] & 15) * 4
            let length = Int(data[udp + 4]) << 8 | Int(data[udp + 5])
            first = first ?? time
            packets.append((time - (first ?? 0), Array(data[udp + 8..<min(udp + length, at + 16 + size)])))
            at += 16 + size
        }
        return packets
    }
}
