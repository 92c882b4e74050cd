// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Kamailio as registrar, proxy and presence server: the configuration of docs/kamailio.md with its presence modules added.
struct PresenceServer {
    let process: Subprocess
    private let folder: String
    let port: Int
    let domain = "example.net"

    /// What is added, each before the line that it is named by.
    private static func additions(_ tables: String) -> [(before: String, text: String)] {
        [
            (
                "modparam(\"htable\", \"htable\"",
                """
                loadmodule "db_text.so"
                loadmodule "presence.so"
                loadmodule "presence_xml.so"
                loadmodule "presence_mwi.so"
                modparam("presence", "db_url", "text://\(tables)")
                modparam("presence", "subs_db_mode", 0)
                modparam("presence", "publ_cache", 2)
                modparam("presence", "min_expires", 10)
                modparam("presence_xml", "force_active", 1)

                """
            ),
            (
                "request_route {",
                """
                route[PRESENCE] {
                    if (!t_newtran()) { sl_reply_error(); exit; }
                    if (is_method("PUBLISH")) handle_publish(); else handle_subscribe();
                    t_release();
                }

                """
            ),
            ("        if (loose_route()) {", "        if (is_method(\"SUBSCRIBE|PUBLISH\") && uri == myself) { route(PRESENCE); exit; }\n"),
            (
                "    remove_hf(\"Route\");",
                """
                    if (is_method("SUBSCRIBE|PUBLISH")) { route(PRESENCE); exit; }

                """
            ),
        ]
    }

    static func start() async throws -> PresenceServer {
        let page = try String(contentsOfFile: Bench.root + "/docs/kamailio.md", encoding: .utf8)
        guard let start = page.range(of: "```kamailio\n"), let end = page.range(of: "\n```", range: start.upperBound..<page.endIndex) else {
            throw Subprocess.Failure(description: "docs/kamailio.md holds no configuration")
        }
        let folder = try Bench.folder()
        let tables = folder + "/db"
        try FileManager.default.createDirectory(atPath: tables, withIntermediateDirectories: true)
        for table in ["version", "presentity", "active_watchers", "watchers", "xcap", "pua"] {
            try FileManager.default.copyItem(atPath: "/usr/share/kamailio/dbtext/kamailio/" + table, toPath: tables + "/" + table)
        }
        var text = String(page[start.upperBound..<end.lowerBound]) + "\n"
        for addition in additions(tables) {
            guard let place = text.range(of: addition.before) else {
                throw Subprocess.Failure(description: "docs/kamailio.md has no line \(addition.before)")
            }
            text.insert(contentsOf: addition.text, at: place.lowerBound)
        }
        try text.write(toFile: folder + "/kamailio.cfg", atomically: true, encoding: .utf8)
        let port = try Bench.freePort()
        let process = try Subprocess(
            "/usr/sbin/kamailio",
            [
                "-f", folder + "/kamailio.cfg", "-l", "udp:127.0.0.1:\(port)", "-l", "tcp:127.0.0.1:\(port)", "-Y", folder, "-P",
                folder + "/kamailio.pid", "-DD", "-E", "-m", "64", "-M", "8",
            ], directory: folder)
        for _ in 0..<300 where !Kamailio.answers(port) {
            try await Task.sleep(for: .milliseconds(20))
            guard process.isRunning else { throw Subprocess.Failure(description: "Kamailio did not start.\n\(process.transcript)") }
        }
        return PresenceServer(process: process, folder: folder, port: port)
    }

    func stop() async {
        await process.stop()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Our command as a user of the server.
    func handset(_ arguments: [String], _ user: String) throws -> Subprocess {
        try Bench.handset(
            arguments + [
                "--account", "sip:\(user)@\(domain)", "--proxy", "sip:127.0.0.1:\(port);lr", "--listen", "127.0.0.1:0",
            ], password: "\(user)-secret")
    }

    /// pjsip as a user of the server, registered.
    func pjsip(_ user: String, more: [String] = []) async throws -> Subprocess {
        let peer = try Subprocess(
            Bench.python,
            [
                Bench.peer("pjsip_peer.py"), "--port", "\(try Bench.freePort())", "--rtp-port", "\(try Bench.freePort() & ~1)", "--user",
                user, "--domain", domain, "--password", "\(user)-secret", "--server", "sip:127.0.0.1:\(port)",
            ] + more)
        try await peer.wait(for: "registration", ["status": "200"])
        return peer
    }
}
