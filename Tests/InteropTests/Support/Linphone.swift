// SPDX-License-Identifier: Apache-2.0

import Foundation

/// linphone's daemon (Debian linphone-cli), which calls and is called directly, without a server.
struct Linphone {
    let process: Subprocess
    let folder: String
    let port: Int

    var address: String { "sip:linphone@127.0.0.1:\(port)" }

    /// Starts it and waits until it can be called.
    ///
    /// - Parameter digitsByINFO: how it sends digits: by INFO, else by RFC 4733.
    static func start(digitsByINFO: Bool) async throws -> Linphone {
        let folder = try Bench.folder()
        let port = try Bench.freePort()
        let configuration = """
            [sip]
            sip_port=\(port)
            sip_tcp_port=0
            sip_tls_port=0
            guess_hostname=0
            use_ipv6=0
            contact=sip:linphone@127.0.0.1:\(port)
            use_info=\(digitsByINFO ? 1 : 0)
            use_rfc2833=\(digitsByINFO ? 0 : 1)
            [rtp]
            audio_rtp_port=\(try Bench.freePort() & ~1)
            """
        try configuration.write(toFile: folder + "/linphonerc", atomically: true, encoding: .utf8)
        // Without its folder it opens no database, and then no port either.
        try FileManager.default.createDirectory(atPath: folder + "/.local/share/linphone", withIntermediateDirectories: true)
        let process = try Subprocess(
            "/usr/bin/linphone-daemon", ["--config", folder + "/linphonerc", "--disable-stats-events"], environment: ["HOME": folder])
        for _ in 0..<1000 where !Bench.isOpen(port) { try await Task.sleep(for: .milliseconds(10)) }
        guard Bench.isOpen(port) else { throw Subprocess.Failure(description: "linphone opens no port\n\(process.transcript)") }
        // It says so a moment later; what comes before that is lost.
        try await Task.sleep(for: .milliseconds(500))
        return Linphone(process: process, folder: folder, port: port)
    }

    /// A command, given when a person could give it: linphone leaves one aside while a request of its own is not answered.
    func order(_ command: String) async throws {
        try await Task.sleep(for: .milliseconds(1500))
        process.write(command)
    }

    /// Waits for its event: `LinphoneCallIncomingReceived`, `Tone: 9`.
    func wait(for event: String, within seconds: Double = 10) async throws {
        _ = try await process.wait(within: seconds, for: event) { $0.contains(event) ? true : nil }
    }

    func quit() async throws {
        process.write("quit")
        try await process.exitStatus(within: 15)
        try? FileManager.default.removeItem(atPath: folder)
    }
}
