// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// What the interop tests share: where things are, free ports, a folder of a test's own.
enum Bench {
    /// The checkout.
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path

    /// The command that was built with this test.
    static let handset: String = {
        let folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        return folder.appendingPathComponent("handset").path
    }()

    static let python = root + "/.venv/bin/python"

    static func peer(_ name: String) -> String { root + "/Tests/Peers/\(name)" }

    /// A folder that is empty and the test's own. Its path is short: baresip cuts the names of its files at 128 octets.
    static func folder() throws -> String {
        let path = NSTemporaryDirectory() + "hs\(ProcessInfo.processInfo.processIdentifier)-\(UInt32.random(in: 0..<1_000_000))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }

    /// Pairs: who takes an even port for RTP may take the next one for RTCP.
    private static let given = Mutex<Set<Int>>([])

    /// A port of 127.0.0.1 that was free a moment ago for UDP and TCP. Each is given once only, and so is its neighbour.
    static func freePort() throws -> Int {
        for _ in 0..<200 {
            let port = Int.random(in: 21_000..<31_000)
            if given.withLock({ $0.insert(port / 2).inserted }), isFree(port, SOCK_DGRAM), isFree(port, SOCK_STREAM) { return port }
        }
        throw Subprocess.Failure(description: "no free port")
    }

    private static func isFree(_ port: Int, _ kind: __socket_type) -> Bool {
        let handle = socket(AF_INET, Int32(kind.rawValue), 0)
        defer { close(handle) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(handle, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) } == 0
        }
    }

    /// Whether a program receives datagrams at the port.
    static func isOpen(_ port: Int) -> Bool {
        // The local address of each line: hexadecimal address and port.
        ["/proc/net/udp", "/proc/net/udp6"].contains { table in
            (try? String(contentsOfFile: table, encoding: .utf8))?.contains(":" + String(format: "%04X", port) + " ") ?? false
        }
    }

    /// A speech file of Debian's Asterisk prompts: 8 kHz, mono, 16 bit.
    static func speech(_ voice: String, _ name: String = "demo-instruct") -> String {
        "/usr/share/asterisk/sounds/\(voice)/\(name).wav"
    }

    static let english = speech("en_US_f_Allison")
    static let italian = speech("it_IT_m_Carlo")

    /// Starts our command with JSON events.
    static func handset(_ arguments: [String], password: String = "") throws -> Subprocess {
        try Subprocess(handset, arguments + ["--json"], environment: ["HANDSET_PASSWORD": password])
    }
}
