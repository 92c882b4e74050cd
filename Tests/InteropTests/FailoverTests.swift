// SPDX-License-Identifier: Apache-2.0

import Essentials
import Foundation
import HandsetTestKit
import SIPAgent
import Testing

extension Interop {
    /// Server location with a real name server: the commands, told by `--dns` where to ask.
    @Suite(.serialized) struct FailoverTests {
        /// `example.net` has its SIP servers at these ports of loopback, in order of preference.
        private func names(_ ports: [Int]) throws -> NameServer {
            var zone = DNSZone()
            for (index, port) in ports.enumerated() {
                zone.addService(
                    "_sip._udp.example.net", priority: UInt16(index + 1), port: UInt16(port), target: "s\(index).example.net")
                zone.addAddress("s\(index).example.net", .loopbackV4)
            }
            zone.add(
                "example.net", .naptr,
                DNSRecord(
                    .naptr(order: 10, preference: 10, flags: "s", service: "SIP+D2U", replacement: "_sip._udp.example.net"), timeToLive: 60)
            )
            return try NameServer(zone)
        }

        private func server(_ port: Int) async throws -> Subprocess {
            let server = try Bench.handset([
                "serve", "--listen", "udp:127.0.0.1:\(port)", "--domain", "example.net", "--user", "alice:alice-secret", "--user",
                "bob:bob-secret",
            ])
            try await server.wait(for: "listening")
            return server
        }

        @Test func `a registration goes to the second server when the first dies, and back when that lives again`() async throws {
            let ports = [try Bench.freePort(), try Bench.freePort()]
            let names = try names(ports)
            defer { names.stop() }
            var first = try await server(ports[0])
            let second = try await server(ports[1])
            let phone = try Bench.handset(
                [
                    "register", "--account", "sip:alice@example.net", "--dns", "127.0.0.1:\(names.port)", "--listen", "127.0.0.1:0",
                    "--control",
                ], password: "alice-secret")
            try await phone.wait(for: "registration", ["state": "registered", "server": "127.0.0.1:\(ports[0])"])
            await first.stop()
            phone.write("{\"command\":\"wake\"}")
            try await phone.wait(for: "registration", ["state": "registered", "server": "127.0.0.1:\(ports[1])", "trigger": "push"])
            first = try await server(ports[0])
            await second.stop()
            let seen = phone.lines.count
            phone.write("{\"command\":\"wake\"}")
            try await phone.wait(for: "registration", ["state": "registered", "server": "127.0.0.1:\(ports[0])"], from: seen)
            phone.write("{\"command\":\"quit\"}")
            #expect(try await phone.exitStatus(within: 5) == 0, "\(phone.transcript)")
            await first.stop()
        }

        @Test func `a call finds Kamailio behind a dead server of higher preference`() async throws {
            let kamailio = try await Kamailio.start()
            let names = try names([try Bench.freePort(), kamailio.port])
            defer { names.stop() }
            func account(_ user: String) -> [String] {
                ["--account", "sip:\(user)@\(kamailio.domain)", "--dns", "127.0.0.1:\(names.port)", "--listen", "127.0.0.1:0"]
            }
            let bob = try Bench.handset(["answer", "--calls", "1"] + account("bob"), password: "bob-secret")
            try await bob.wait(for: "registration", ["state": "registered", "server": kamailio.address])
            let alice = try Bench.handset(["call", "bob", "--duration", "1"] + account("alice"), password: "alice-secret")
            #expect(try await alice.exitStatus(within: 20) == 0, "\(alice.transcript)")
            #expect(try await bob.exitStatus(within: 10) == 0, "\(bob.transcript)")
            await kamailio.stop()
        }
    }
}
