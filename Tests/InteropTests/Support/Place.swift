// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Our embedded server with three users, and the phones at it.
struct Place {
    let folder: String
    let server: Subprocess
    let port: Int
    let domain = "example.net"

    init() async throws {
        folder = try Bench.folder()
        port = try Bench.freePort()
        server = try Bench.handset([
            "serve", "--listen", "udp:127.0.0.1:\(port)", "--listen", "tcp:127.0.0.1:\(port)", "--domain", domain, "--user",
            "alice:alice-secret", "--user", "bob:bob-secret", "--user", "carol:carol-secret",
        ])
        try await server.wait(for: "listening", ["transport": "tcp"])
    }

    /// Our command as a user of the server. `answer` is waited for until it is registered.
    func handset(_ arguments: [String], _ user: String, transport: String = "udp") async throws -> Subprocess {
        let phone = try Bench.handset(
            arguments + [
                "--account", "sip:\(user)@\(domain)", "--proxy", "sip:127.0.0.1:\(port);transport=\(transport);lr", "--transport",
                transport,
                "--listen", "127.0.0.1:0",
            ], password: "\(user)-secret")
        if arguments.first == "answer" { try await phone.wait(for: "registration", ["state": "registered"]) }
        return phone
    }

    /// pjsip as a user of the server, registered.
    func pjsip(_ user: String, play: String? = nil, record: String? = nil, more: [String] = []) async throws -> Subprocess {
        let peer = try Subprocess(
            Bench.python,
            [
                Bench.peer("pjsip_peer.py"), "--port", "\(try Bench.freePort())", "--rtp-port", "\(try Bench.freePort() & ~1)", "--user",
                user,
                "--domain", domain, "--password", "\(user)-secret", "--server", "sip:127.0.0.1:\(port)",
            ] + (play.map { ["--play", $0] } ?? []) + (record.map { ["--record", $0] } ?? []) + more)
        try await peer.wait(for: "registration", ["status": "200"])
        return peer
    }

    /// baresip as a user of the server, registered.
    func baresip(_ user: String, play: String? = nil, more: [String] = []) async throws -> Subprocess {
        let peer = try Subprocess(
            Bench.python,
            [
                Bench.peer("baresip_peer.py"), "--directory", folder + "/baresip", "--port", "\(try Bench.freePort())", "--rtp-port",
                "\(try Bench.freePort() & ~1)", "--control-port", "\(try Bench.freePort())", "--user", user, "--domain", domain,
                "--password",
                "\(user)-secret", "--server", "sip:127.0.0.1:\(port)",
            ] + (play.map { ["--play", $0] } ?? []) + more)
        try await peer.wait(for: "ready", within: 15)
        try await server.wait(for: "binding", ["user": user, "state": "added"], within: 10)
        return peer
    }

    /// Today's baresip as a user of the server, registered. What it records begins anew after each hold.
    func baresipPython(_ user: String, play: String? = nil, record: String? = nil, more: [String] = []) async throws -> Subprocess {
        let peer = try Subprocess(
            Bench.python,
            [
                Bench.peer("baresip_python_peer.py"), "--port", "\(try Bench.freePort())", "--rtp-port", "\(try Bench.freePort() & ~1)",
                "--user", user, "--domain", domain, "--password", "\(user)-secret", "--server", "sip:127.0.0.1:\(port)",
            ] + (play.map { ["--play", $0] } ?? []) + (record.map { ["--record", $0] } ?? []) + more)
        try await peer.wait(for: "ready", within: 15)
        return peer
    }

    func stop() async {
        await server.stop()
        try? FileManager.default.removeItem(atPath: folder)
    }
}
