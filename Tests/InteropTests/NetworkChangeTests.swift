// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

extension Interop {
    /// A phone whose network goes and comes, in namespaces of the test's own; a server that restarts.
    @Suite(.serialized) struct NetworkChangeTests {
        /// Whether this process may make network namespaces: root only. Without, nothing is tested here, and that is said.
        private static let mayMakeNamespaces: Bool = {
            let hasTool = ["/usr/sbin/ip", "/sbin/ip"].contains { FileManager.default.fileExists(atPath: $0) }
            guard getuid() == 0, hasTool else { return false }
            let trial = Process()
            trial.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
            trial.arguments = ["-n", "true"]
            trial.standardError = FileHandle.nullDevice
            guard (try? trial.run()) != nil else { return false }
            for _ in 0..<500 where trial.exit == nil { usleep(10_000) }
            return trial.exit == 0
        }()

        /// Three changes each way; `scripts/bench-network` makes twenty. The tool compares with the thresholds itself.
        @Test(
            .enabled(if: mayMakeNamespaces, "needs root and network namespaces"),
            arguments: [("api", "udp"), ("netlink", "udp"), ("netlink", "tcp"), ("sends", "udp"), ("silence", "udp"), ("silence", "tcp")])
        func aCallFollowsItsPhoneToAnotherNetwork(way: String, transport: String) async throws {
            let tool = try Subprocess(
                "/usr/bin/python3",
                [
                    Bench.root + "/Benchmarks/Tools/network_change.py", Bench.handset, "--json", "--runs", "3", "--ways", way,
                    "--transport",
                    transport,
                ])
            let status = try await tool.exitStatus(within: 60)
            let figures = try #require(tool.events("figures").first, "\(tool.transcript)")
            #expect(status == 0, "\(figures) \(tool.transcript)")
            #expect(figures["lost"] as? Double == 0)
        }

        @Test func aServerThatRestartsInACallKnowsBothPhonesAgainAndTheCallEndsInGoodOrder() async throws {
            var kamailio = try await Kamailio.start()
            let bob = try Bench.handset(
                ["answer", "--calls", "1", "--echo"] + kamailio.account("bob", transport: "tcp"), password: "bob-secret")
            try await bob.wait(for: "registration", ["state": "registered"])
            let alice = try Bench.handset(
                ["call", "bob", "--control", "--statistics", "1"] + kamailio.account("alice", transport: "tcp"), password: "alice-secret")
            try await alice.wait(for: "call", ["state": "confirmed"])
            let (aliceLine, bobLine) = (alice.lines.count, bob.lines.count)
            try await kamailio.restart()
            try await alice.wait(for: "registration", ["state": "registered"], within: 15, from: aliceLine)
            try await bob.wait(for: "registration", ["state": "registered"], within: 15, from: bobLine)
            #expect(alice.events("ended").isEmpty && bob.events("ended").isEmpty)
            let line = alice.lines.count
            let heard = try await alice.wait(for: "statistics", within: 3, from: line)["received"] as? Double ?? 0
            let later = try await alice.wait(for: "statistics", within: 3, from: alice.lines.count)["received"] as? Double ?? 0
            #expect(later - heard >= 40, "audio goes on: \(heard), \(later)")
            alice.write(#"{"command":"hangup"}"#)
            #expect(try await alice.exitStatus(within: 10) == 0, "\(alice.transcript)")
            #expect(try await bob.exitStatus(within: 10) == 0, "\(bob.transcript)")
            #expect(bob.events("ended").first?["cause"] as? String == "call.remote-hung-up", "\(bob.transcript)")
            await kamailio.stop()
        }
    }
}
