// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Kamailio with the configuration that docs/kamailio.md prints, as it stands.
struct Kamailio {
    private(set) var process: Subprocess
    private let folder: String
    let port: Int
    let securePort: Int
    private var isSecure: Bool
    /// What stands before it: phones go there, and it says so in Record-Route.
    private let relay: Relay?
    let domain = "example.net"

    /// Where phones reach it.
    var address: String { "127.0.0.1:\(relay?.port ?? port)" }

    /// What Kamailio shows where it listens with TLS as well, and which versions it takes, in its own words.
    struct Secure {
        var certificate: String
        var key: String
        var method: String
    }

    static func start(secure: Secure? = nil, behind relay: Relay? = nil) async throws -> Kamailio {
        let page = try String(contentsOfFile: Bench.root + "/docs/kamailio.md", encoding: .utf8)
        guard let start = page.range(of: "```kamailio\n"), let end = page.range(of: "\n```", range: start.upperBound..<page.endIndex) else {
            throw Subprocess.Failure(description: "docs/kamailio.md holds no configuration")
        }
        let folder = try Bench.folder()
        var text = String(page[start.upperBound..<end.lowerBound] + "\n")
        let port = try Bench.freePort()
        let securePort = try Bench.freePort()
        if let secure { text = try configuration(of: secure) + text.replacingOccurrences(of: "#!KAMAILIO\n", with: "") }
        try text.write(toFile: folder + "/kamailio.cfg", atomically: true, encoding: .utf8)
        relay?.lead(to: port)
        let process = try await run(folder, port, securePort: secure == nil ? nil : securePort, relay)
        return Kamailio(process: process, folder: folder, port: port, securePort: securePort, isSecure: secure != nil, relay: relay)
    }

    /// Ends it and starts it anew at the same port: connections are closed, registrations forgotten.
    mutating func restart() async throws {
        await process.stop()
        process = try await Self.run(folder, port, securePort: isSecure ? securePort : nil, relay)
    }

    private static func run(_ folder: String, _ port: Int, securePort: Int?, _ relay: Relay?) async throws -> Subprocess {
        let shown = relay.map { "/127.0.0.1:\($0.port)" } ?? ""
        let process = try Subprocess(
            "/usr/sbin/kamailio",
            [
                "-f", folder + "/kamailio.cfg", "-l", "udp:127.0.0.1:\(port)\(shown)", "-l", "tcp:127.0.0.1:\(port)\(shown)", "-Y", folder,
                "-P",
                folder + "/kamailio.pid", "-DD", "-E", "-m", "64", "-M", "8",
            ] + (securePort.map { ["-l", "tls:127.0.0.1:\($0)"] } ?? []), directory: folder)
        for _ in 0..<300 where !answers(port) {
            try await Task.sleep(for: .milliseconds(20))
            guard process.isRunning else { throw Subprocess.Failure(description: "Kamailio did not start.\n\(process.transcript)") }
        }
        guard answers(port) else { throw Subprocess.Failure(description: "Kamailio does not answer.\n\(process.transcript)") }
        return process
    }

    /// What docs/tls.md tells to put before the configuration, with the files and versions of a test.
    private static func configuration(of secure: Secure) throws -> String {
        let page = try String(contentsOfFile: Bench.root + "/docs/tls.md", encoding: .utf8)
        guard let start = page.range(of: "```kamailio\n"), let end = page.range(of: "\n```", range: start.upperBound..<page.endIndex) else {
            throw Subprocess.Failure(description: "docs/tls.md holds no configuration")
        }
        return page[start.upperBound..<end.lowerBound].replacingOccurrences(of: "/etc/kamailio/server.pem", with: secure.certificate)
            .replacingOccurrences(of: "/etc/kamailio/server.key", with: secure.key)
            .replacingOccurrences(of: "TLSv1.2+", with: secure.method) + "\n"
    }

    /// The options of an account here over TLS, or over a WebSocket in it.
    func secureAccount(_ user: String, authorities: String, transport: String = "tls") -> [String] {
        [
            "--account", "sip:\(user)@\(domain)", "--proxy", "sip:127.0.0.1:\(securePort);transport=\(transport);lr", "--listen",
            "127.0.0.1:0", "--transport", transport, "--ca", authorities,
        ] + (transport == "wss" ? ["--ws-path", "/ws"] : [])
    }

    /// Whether somebody accepts TCP connections at the port.
    static func answers(_ port: Int) -> Bool {
        let handle = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(handle) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(handle, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) } == 0
        }
    }

    func stop() async {
        await process.stop()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// The options of an account here.
    func account(_ user: String, transport: String) -> [String] {
        [
            "--account", "sip:\(user)@\(domain)", "--proxy", "sip:\(address);transport=\(transport);lr", "--listen", "127.0.0.1:0",
            "--transport", transport,
        ] + (transport == "ws" ? ["--ws-path", "/ws"] : [])
    }
}
