// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestCertificates
import Testing

private let shared = Result {
    let authority = try TestAuthority()
    return (
        authority, right: try authority.certify(["DNS:example.net", "IP:127.0.0.1"]), wrong: try authority.certify(["DNS:pbx.example.org"])
    )
}

extension Interop {
    /// TLS against Kamailio, pjsip and ourselves.
    @Suite(.serialized) struct TLSTests {
        /// Kamailio for one test; ended also where the test throws, or its children would stay.
        private func withKamailio(
            _ certified: TestAuthority.Certified, _ method: String = "TLSv1.2+", _ body: (Kamailio) async throws -> Void
        ) async throws {
            let kamailio = try await Kamailio.start(
                secure: .init(certificate: certified.certificate, key: certified.key, method: method))
            do {
                try await body(kamailio)
            } catch {
                Issue.record("\(kamailio.process.transcript)")
                await kamailio.stop()
                throw error
            }
            await kamailio.stop()
        }

        /// With + 1.3 too, which both then prefer; the last phone offers nothing else.
        @Test(arguments: [
            ("TLSv1.2", "tls", "TLSv1.2", []), ("TLSv1.2+", "tls", "TLSv1.3", []), ("TLSv1.2+", "wss", "TLSv1.3", []),
            ("TLSv1.2+", "tls", "TLSv1.3", ["--tls-version", "1.3"]),
        ])
        func aCallThroughKamailioIsHeardByBoth(method: String, transport: String, version: String, more: [String]) async throws {
            let (authority, right, _) = try shared.get()
            try await withKamailio(right, method) { kamailio in
                let folder = try Bench.folder()
                let bob = try Bench.handset(
                    ["answer", "--calls", "1", "--codecs", "pcmu", "--play", Bench.italian, "--record", folder + "/bob.wav"]
                        + kamailio.secureAccount("bob", authorities: authority.file, transport: transport) + more, password: "bob-secret")
                try await bob.wait(for: "registration", ["state": "registered", "tls": version])
                let alice = try Bench.handset(
                    ["call", "bob", "--play", Bench.english, "--record", folder + "/alice.wav", "--duration", "4"]
                        + kamailio.secureAccount("alice", authorities: authority.file, transport: transport) + more,
                    password: "alice-secret")
                #expect(try await alice.exitStatus(within: 12) == 0, "\(alice.transcript)")
                #expect(try await bob.exitStatus(within: 5) == 0, "\(bob.transcript)")
                #expect(alice.events("warning").isEmpty && bob.events("warning").isEmpty)
                try expectHeard(Bench.italian, in: folder + "/alice.wav", seconds: 3)
                try expectHeard(Bench.english, in: folder + "/bob.wav", seconds: 3)
            }
        }

        @Test func aServerWithoutTheVersionThatIsWantedIsToldInPlainWords() async throws {
            let (authority, right, _) = try shared.get()
            try await withKamailio(right, "TLSv1.2") { kamailio in
                let phone = try Bench.handset(
                    ["register", "--once", "--tls-version", "1.3"] + kamailio.secureAccount("alice", authorities: authority.file),
                    password: "alice-secret")
                #expect(try await phone.exitStatus(within: 10) == 1, "\(phone.transcript)")
                let failed = try await phone.wait(for: "registration", ["state": "failed"], within: 1)
                #expect((failed["cause"] as? String)?.hasPrefix("tls.") == true, "\(phone.transcript)")
            }
        }

        @Test func aCertificateForAnotherNameIsRefusedAndSaysSo() async throws {
            let (authority, _, wrong) = try shared.get()
            try await withKamailio(wrong) { kamailio in
                let account = kamailio.secureAccount("alice", authorities: authority.file)
                let phone = try Bench.handset(["register", "--once"] + account, password: "alice-secret")
                #expect(try await phone.exitStatus(within: 10) == 1, "\(phone.transcript)")
                let failed = try await phone.wait(for: "registration", ["state": "failed"], within: 1)
                #expect(failed["cause"] as? String == "tls.wrong-name")
                #expect(phone.errorText.contains("pbx.example.org") && phone.errorText.contains("example.net"), "\(phone.transcript)")
                let caller = try Bench.handset(["call", "bob", "--no-register"] + account, password: "alice-secret")
                #expect(try await caller.exitStatus(within: 10) == 1)
                #expect(try await caller.wait(for: "ended", within: 1)["cause"] as? String == "tls.wrong-name", "\(caller.transcript)")
            }
        }

        @Test func anUnknownAuthorityIsRefusedByDefaultAndTakenWithAWarningIfToldTo() async throws {
            let (authority, right, _) = try shared.get()
            try await withKamailio(right) { kamailio in
                let account = Array(kamailio.secureAccount("alice", authorities: authority.file).dropLast(2))
                let strict = try Bench.handset(["register", "--once"] + account, password: "alice-secret")
                #expect(try await strict.exitStatus(within: 10) == 1, "\(strict.transcript)")
                #expect(strict.events("registration").contains { $0["cause"] as? String == "tls.unknown-issuer" }, "\(strict.transcript)")
                let lax = try Bench.handset(["register", "--once", "--insecure"] + account, password: "alice-secret")
                #expect(try await lax.exitStatus(within: 10) == 0, "\(lax.transcript)")
                #expect(lax.events("warning").contains { $0["code"] as? String == "tls.not-verified" }, "\(lax.transcript)")
                let pinned = try Bench.handset(
                    ["register", "--once", "--pin", try TestAuthority.pin(of: right.certificate)] + account, password: "alice-secret")
                #expect(try await pinned.exitStatus(within: 10) == 0, "\(pinned.transcript)")
            }
        }

        /// Our server with TLS, or WebSocket over it.
        private func server(_ certified: TestAuthority.Certified, _ transport: String = "tls") async throws -> (
            process: Subprocess, port: Int
        ) {
            let port = try Bench.freePort()
            let server = try Bench.handset([
                "serve", "--listen", "\(transport):127.0.0.1:\(port)", "--cert", certified.certificate, "--key", certified.key, "--domain",
                "example.net", "--user", "alice:alice-secret", "--user", "bob:bob-secret",
            ])
            try await server.wait(for: "listening", ["transport": transport])
            return (server, port)
        }

        @Test(arguments: ["tls", "wss"]) func aCallThroughOurServerIsHeardByBoth(transport: String) async throws {
            let (authority, right, _) = try shared.get()
            let (server, port) = try await server(right, transport)
            let folder = try Bench.folder()
            func account(_ user: String) -> [String] {
                [
                    "--account", "sip:\(user)@example.net", "--proxy", "sip:127.0.0.1:\(port);transport=\(transport);lr", "--transport",
                    transport, "--ca",
                    authority.file, "--listen", "127.0.0.1:0",
                ]
            }
            let bob = try Bench.handset(
                ["answer", "--calls", "1", "--codecs", "pcmu", "--play", Bench.italian, "--record", folder + "/bob.wav"] + account("bob"),
                password: "bob-secret")
            try await bob.wait(for: "registration", ["state": "registered"])
            let alice = try Bench.handset(
                ["call", "bob", "--play", Bench.english, "--record", folder + "/alice.wav", "--duration", "4"] + account("alice"),
                password: "alice-secret")
            #expect(try await alice.exitStatus(within: 20) == 0, "\(alice.transcript)")
            #expect(try await bob.exitStatus(within: 5) == 0, "\(bob.transcript)")
            try expectHeard(Bench.italian, in: folder + "/alice.wav", seconds: 3)
            try expectHeard(Bench.english, in: folder + "/bob.wav", seconds: 3)
            await server.stop()
        }

        @Test func pjsipCallsUsThroughOurServer() async throws {
            let (authority, right, _) = try shared.get()
            let (server, port) = try await server(right)
            let folder = try Bench.folder()
            let us = try Bench.handset(
                [
                    "answer", "--calls", "1", "--play", Bench.italian, "--record", folder + "/us.wav", "--account", "sip:bob@example.net",
                    "--proxy", "sip:127.0.0.1:\(port);transport=tls;lr", "--ca", authority.file, "--listen", "127.0.0.1:0",
                ], password: "bob-secret")
            try await us.wait(for: "registration", ["state": "registered"])
            let pjsip = try Subprocess(
                Bench.python,
                [
                    Bench.peer("pjsip_peer.py"), "--port", "\(try Bench.freePort())", "--rtp-port", "\(try Bench.freePort() & ~1)",
                    "--user",
                    "alice", "--domain", "example.net", "--password", "alice-secret", "--server", "sip:127.0.0.1:\(port)", "--transport",
                    "tls",
                    "--ca", authority.file, "--play", Bench.english, "--record", folder + "/pjsip.wav",
                ])
            try await pjsip.wait(for: "registration", ["status": "200"])
            pjsip.write("call sip:bob@example.net")
            try await us.wait(for: "call", ["state": "confirmed"])
            try await Task.sleep(for: .seconds(4))
            pjsip.write("hangup")
            #expect(try await us.exitStatus(within: 10) == 0, "\(us.transcript)")
            pjsip.write("quit")
            try await pjsip.exitStatus(within: 10)
            try expectHeard(Bench.english, in: folder + "/us.wav", seconds: 3)
            try expectHeard(Bench.italian, in: folder + "/pjsip.wav", seconds: 3)
            await server.stop()
        }
    }
}
