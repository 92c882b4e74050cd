// SPDX-License-Identifier: Apache-2.0

import Essentials
import Foundation
import HandsetTestKit
import SIPAgent
import Testing

extension Interop {
    /// Registrations and calls at Kamailio when it restarts, or when the way to it is lost: connections that break, NATs that
    /// forget, a server of higher preference that dies.
    @Suite(.serialized) struct KamailioHardshipTests {
        /// Bob waits with an echo, and answers any number of calls.
        private func bob(_ account: [String], _ more: [String] = []) async throws -> Subprocess {
            let bob = try Bench.handset(["answer", "--echo", "--control"] + account + more, password: "bob-secret")
            try await bob.wait(for: "registration", ["state": "registered"])
            return bob
        }

        private func alice(_ account: [String], _ more: [String] = []) async throws -> Subprocess {
            let alice = try Bench.handset(
                ["call", "bob", "--control", "--statistics", "1"] + account + more, password: "alice-secret")
            try await alice.wait(for: "call", ["state": "confirmed"])
            return alice
        }

        /// A short call to bob from a phone that is not the one under test: he can be reached.
        private func expectReached(_ kamailio: Kamailio, _ transport: String, _ bob: Subprocess) async throws {
            let alice = try Bench.handset(
                ["call", "bob", "--duration", "1"] + kamailio.account("alice", transport: transport), password: "alice-secret")
            #expect(try await alice.exitStatus(within: 15) == 0, "\(alice.transcript)\n\(bob.transcript)")
        }

        /// Audio comes, from now on.
        private func expectSound(_ phone: Subprocess) async throws {
            let first = try await phone.wait(for: "statistics", within: 4, from: phone.lines.count)["received"] as? Double ?? 0
            let second = try await phone.wait(for: "statistics", within: 4, from: phone.lines.count)["received"] as? Double ?? 0
            #expect(second - first >= 40, "\(first), \(second)")
        }

        /// Bob ends the call: his BYE finds alice where she is now.
        private func expectGoodEnd(_ alice: Subprocess, _ bob: Subprocess) async throws {
            #expect(alice.events("ended").isEmpty && bob.events("ended").isEmpty, "\(alice.transcript)\n\(bob.transcript)")
            bob.write(#"{"command":"hangup"}"#)
            #expect(try await alice.exitStatus(within: 10) == 0, "\(alice.transcript)\n\(bob.transcript)")
            #expect(alice.events("ended").first?["cause"] as? String == "call.remote-hung-up", "\(alice.transcript)")
        }

        private func leave(_ bob: Subprocess) async throws {
            bob.write(#"{"command":"quit"}"#)
            #expect(try await bob.exitStatus(within: 5) == 0, "\(bob.transcript)")
        }

        @Test(arguments: ["tcp", "ws"]) func `a server that restarts has an idle phone back, and calls reach it`(
            transport: String
        ) async throws {
            var kamailio = try await Kamailio.start()
            let bob = try await bob(kamailio.account("bob", transport: transport))
            let line = bob.lines.count
            try await kamailio.restart()
            try await bob.wait(for: "registration", ["state": "registered"], within: 20, from: line)
            try await expectReached(kamailio, transport, bob)
            try await leave(bob)
            await kamailio.stop()
        }

        @Test(arguments: ["tcp", "ws"]) func `a connection that breaks is replaced at once, and calls come over the new one`(
            transport: String
        ) async throws {
            let relay = try Relay()
            defer { relay.stop() }
            let kamailio = try await Kamailio.start(behind: relay)
            let bob = try await bob(kamailio.account("bob", transport: transport))
            #expect(relay.connections == 1)
            let line = bob.lines.count
            relay.cut()
            try await bob.wait(for: "registration", ["state": "registered", "trigger": "connection-lost"], within: 3, from: line)
            try await expectReached(kamailio, transport, bob)
            try await leave(bob)
            await kamailio.stop()
        }

        /// Over WebSockets with GRUUs: where both connections of a call are lost at once, neither side knows the other's new one, and
        /// only the registrar can lead them together again.
        @Test(arguments: ["tcp", "ws"]) func `a call survives the loss of both its connections`(transport: String) async throws {
            func device(_ digit: Int) -> [String] {
                transport == "ws" ? ["--gruu", "public", "--instance", "urn:uuid:00000000-0000-1000-8000-00000000000\(digit)"] : []
            }
            let relay = try Relay()
            defer { relay.stop() }
            let kamailio = try await Kamailio.start(behind: relay)
            let bob = try await bob(kamailio.account("bob", transport: transport), device(1))
            let alice = try await alice(kamailio.account("alice", transport: transport), device(2))
            let (aliceLine, bobLine) = (alice.lines.count, bob.lines.count)
            relay.cut()
            try await alice.wait(for: "registration", ["state": "registered", "trigger": "connection-lost"], within: 3, from: aliceLine)
            try await bob.wait(for: "registration", ["state": "registered", "trigger": "connection-lost"], within: 3, from: bobLine)
            // Both tell the other their new address.
            try await Task.sleep(for: .seconds(1))
            try await expectSound(alice)
            try await expectGoodEnd(alice, bob)
            try await leave(bob)
            await kamailio.stop()
        }

        /// Kamailio answers no STUN here: the phone sees the change when it refreshes its registration, in half its time.
        @Test func `a NAT that gives other ports: registration and call survive`() async throws {
            let relay = try Relay()
            defer { relay.stop() }
            let kamailio = try await Kamailio.start(behind: relay)
            let bob = try await bob(kamailio.account("bob", transport: "udp"), ["--expires", "30"])
            let alice = try await alice(kamailio.account("alice", transport: "udp"), ["--expires", "30"])
            let (aliceLine, bobLine) = (alice.lines.count, bob.lines.count)
            relay.rebind()
            try await alice.wait(for: "registration", ["state": "registered", "trigger": "address-changed"], within: 20, from: aliceLine)
            try await bob.wait(for: "registration", ["state": "registered", "trigger": "address-changed"], within: 20, from: bobLine)
            try await Task.sleep(for: .seconds(1))
            try await expectSound(alice)
            try await expectGoodEnd(alice, bob)
            try await expectReached(kamailio, "udp", bob)
            try await leave(bob)
            await kamailio.stop()
        }

        @Test func `a registration goes on to Kamailio when the server that DNS prefers dies`() async throws {
            let kamailio = try await Kamailio.start()
            let port = try Bench.freePort()
            let first = try Bench.handset([
                "serve", "--listen", "udp:127.0.0.1:\(port)", "--domain", kamailio.domain, "--user", "alice:alice-secret", "--user",
                "bob:bob-secret",
            ])
            try await first.wait(for: "listening")
            var zone = DNSZone()
            for (index, port) in [port, kamailio.port].enumerated() {
                zone.addService(
                    "_sip._udp.example.net", priority: UInt16(index + 1), port: UInt16(port), target: "s\(index).example.net")
                zone.addAddress("s\(index).example.net", .loopbackV4)
            }
            let names = try NameServer(zone)
            defer { names.stop() }
            let account = ["--account", "sip:bob@\(kamailio.domain)", "--dns", "127.0.0.1:\(names.port)", "--listen", "127.0.0.1:0"]
            let bob = try await bob(account)
            #expect(bob.events("registration").last?["server"] as? String == "127.0.0.1:\(port)")
            await first.stop()
            bob.write(#"{"command":"wake"}"#)
            try await bob.wait(for: "registration", ["state": "registered", "server": kamailio.address], within: 15)
            try await expectReached(kamailio, "udp", bob)
            try await leave(bob)
            await kamailio.stop()
        }
    }
}
