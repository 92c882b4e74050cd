// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

extension Interop {
    /// One phone with several accounts, as a program drives it.
    @Suite struct AccountTests {
        @Test func aPhoneWithTwoAccountsIsCalledAtBothAndCallsFromEither() async throws {
            let server = try Bench.handset([
                "serve", "--listen", "udp:127.0.0.1:0", "--domain", "example.net", "--user", "alice:alice-secret", "--user",
                "office:office-secret", "--user", "bob:bob-secret",
            ])
            let port = Int(try #require(try await server.wait(for: "listening", ["transport": "udp"])["port"] as? Double))
            let shared = ["--json", "--proxy", "sip:127.0.0.1:\(port);lr", "--listen", "127.0.0.1:0"]
            let (alice, office) = ("sip:alice@example.net", "sip:office@example.net")
            let phone = try Subprocess(
                Bench.handset, ["phone", "--control"] + shared + ["--account", alice, "--expires", "60", "--account", office],
                environment: ["HANDSET_PASSWORD": "alice-secret", "HANDSET_PASSWORD_2": "office-secret"])
            for account in [alice, office] { try await phone.wait(for: "registration", ["account": account, "state": "registered"]) }
            for account in [alice, office] {
                let bob = try Subprocess(
                    Bench.handset, ["call", account, "--account", "sip:bob@example.net"] + shared,
                    environment: ["HANDSET_PASSWORD": "bob-secret"])
                try await phone.wait(for: "call", ["state": "incoming", "account": account])
                phone.write("{\"command\":\"reject\"}")
                #expect(try await bob.exitStatus(within: 10) == 1, "\(bob.transcript)")
            }
            phone.write("{\"command\":\"call\",\"to\":\"echo\",\"account\":\"office\"}")
            try await phone.wait(for: "call", ["state": "confirmed", "direction": "outgoing", "account": office])
            phone.write("{\"command\":\"call\",\"to\":\"echo\"}")
            try await phone.wait(for: "call", ["state": "confirmed", "direction": "outgoing", "account": alice])
            phone.write("{\"command\":\"call\",\"to\":\"echo\",\"account\":\"nobody\"}")
            try await phone.wait(for: "error", ["command": "call"])
            phone.write("{\"command\":\"quit\"}")
            #expect(try await phone.exitStatus(within: 10) == 0, "\(phone.transcript)")
            await server.stop()
        }
    }
}
