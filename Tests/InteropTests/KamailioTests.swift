// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestArtefacts
import Testing

extension Interop {
    /// Our phones through Kamailio with the configuration of docs/kamailio.md.
    @Suite(.serialized) struct KamailioTests {
        /// Bob's phone, registered and waiting.
        private func bob(_ kamailio: Kamailio, _ transport: String, _ more: [String] = []) async throws -> Subprocess {
            let bob = try Bench.handset(["answer"] + kamailio.account("bob", transport: transport) + more, password: "bob-secret")
            try await bob.wait(for: "registration", ["state": "registered"])
            return bob
        }

        private func alice(_ kamailio: Kamailio, _ transport: String, calls target: String = "bob", _ more: [String] = []) throws
            -> Subprocess
        {
            try Bench.handset(["call", target] + kamailio.account("alice", transport: transport) + more, password: "alice-secret")
        }

        /// Opus keeps the sound of a voice rather than its waveform: it is held to less.
        @Test(arguments: [("udp", "opus", 0.8), ("udp", "g722", 0.95), ("tcp", "pcmu", 0.95), ("ws", "pcmu", 0.95)])
        func aCallIsAnsweredAndBothHearEachOther(transport: String, codec: String, likeness: Double) async throws {
            let kamailio = try await Kamailio.start()
            let folder = try Bench.folder()
            let bob = try await bob(kamailio, transport, ["--calls", "1", "--play", Bench.italian, "--record", folder + "/bob.wav"])
            let alice = try alice(
                kamailio, transport,
                [
                    "--play", Bench.english, "--record", folder + "/alice.wav", "--duration", "6", "--dtmf", "42#", "--codecs", codec,
                ])
            #expect(try await alice.exitStatus(within: 20) == 0, "\(alice.transcript)")
            #expect(try await bob.exitStatus(within: 5) == 0, "\(bob.transcript)")
            let digits = bob.events("dtmf").filter { $0["direction"] as? String == "received" }.compactMap { $0["digit"] as? String }
            #expect(digits == ["4", "2", "#"], "\(bob.transcript)")
            #expect(alice.events("media").last?["codec"] as? String == codec.uppercased(), "\(alice.transcript)")
            try expectHeard(Bench.italian, in: folder + "/alice.wav", seconds: 5, correlation: likeness)
            await kamailio.stop()
        }

        @Test(arguments: ["udp", "tcp", "ws"])
        func theCalledSideHangsUp(transport: String) async throws {
            let kamailio = try await Kamailio.start()
            let bob = try await bob(kamailio, transport, ["--calls", "1", "--duration", "1"])
            let alice = try alice(kamailio, transport)
            #expect(try await alice.exitStatus(within: 15) == 0, "\(alice.transcript)")
            #expect(try await bob.exitStatus(within: 5) == 0, "\(bob.transcript)")
            await kamailio.stop()
        }

        @Test(arguments: ["udp", "tcp"])
        func aRingingCallIsCancelled(transport: String) async throws {
            let kamailio = try await Kamailio.start()
            let bob = try await bob(kamailio, transport, ["--delay", "30"])
            let alice = try alice(kamailio, transport)
            try await alice.wait(for: "call", ["state": "early"])
            alice.interrupt()
            #expect(try await alice.exitStatus(within: 5) == 1, "a call that never was established: \(alice.transcript)")
            try await bob.wait(for: "ended", within: 5)
            await bob.stop()
            await kamailio.stop()
        }

        @Test(arguments: ["udp", "tcp"])
        func aBusyPhoneIsToldInPlainWords(transport: String) async throws {
            let kamailio = try await Kamailio.start()
            let bob = try await bob(kamailio, transport, ["--status", "486"])
            let alice = try alice(kamailio, transport)
            #expect(try await alice.exitStatus(within: 15) == 1, "\(alice.transcript)")
            let ended = try await alice.wait(for: "ended", within: 1)
            #expect(ended["status"] as? Double == 486)
            #expect(alice.errorText.lowercased().contains("busy"), "\(alice.transcript)")
            await bob.stop()
            await kamailio.stop()
        }

        @Test(arguments: ["udp", "tcp"])
        func aCallThatNobodyAnswersEndsWithTheCallersPatience(transport: String) async throws {
            let kamailio = try await Kamailio.start()
            let bob = try await bob(kamailio, transport, ["--delay", "60"])
            let alice = try alice(kamailio, transport)
            try await alice.wait(for: "call", ["state": "early"])
            try await Task.sleep(for: .seconds(2))
            alice.interrupt()
            #expect(try await alice.exitStatus(within: 5) == 1)
            let ended = try await bob.wait(for: "ended", within: 5)
            #expect(ended["cause"] as? String != nil)
            await bob.stop()
            await kamailio.stop()
        }

        @Test(arguments: ["udp", "tcp"])
        func aWrongPasswordIsRefusedOnceAndNotTriedAgain(transport: String) async throws {
            let kamailio = try await Kamailio.start()
            let phone = try Bench.handset(["register", "--once"] + kamailio.account("bob", transport: transport), password: Secrets.wrong)
            #expect(try await phone.exitStatus(within: 10) == 1, "\(phone.transcript)")
            #expect(phone.events("registration").filter { $0["state"] as? String == "refused" }.count == 1, "\(phone.transcript)")
            await kamailio.stop()
        }

        @Test func aPhoneOnAWebSocketAndOneOnUDPTalk() async throws {
            let kamailio = try await Kamailio.start()
            let bob = try await bob(kamailio, "ws", ["--calls", "1", "--duration", "1"])
            let alice = try alice(kamailio, "udp")
            #expect(try await alice.exitStatus(within: 15) == 0, "\(alice.transcript)")
            #expect(try await bob.exitStatus(within: 5) == 0, "\(bob.transcript)")
            await kamailio.stop()
        }

        @Test func aWebSocketAtTheWrongPathIsToldInPlainWords() async throws {
            let kamailio = try await Kamailio.start()
            let account = kamailio.account("bob", transport: "ws").map { $0 == "/ws" ? "/other" : $0 }
            let phone = try Bench.handset(["register", "--once"] + account, password: "bob-secret")
            let failed = try await phone.wait(for: "registration", ["state": "failed"])
            #expect(failed["state"] as? String == "failed", "\(phone.transcript)")
            await phone.stop()
            await kamailio.stop()
        }

        @Test func aMessagePassesWithTheRightPasswordOnly() async throws {
            let kamailio = try await Kamailio.start()
            let bob = try await bob(kamailio, "udp")
            let write = ["message", "bob", "Good morning"] + kamailio.account("alice", transport: "udp")
            let stranger = try Bench.handset(write, password: Secrets.wrong)
            #expect(try await stranger.exitStatus(within: 10) == 1, "\(stranger.transcript)")
            #expect(stranger.events("message-sent").last?["cause"] as? String == "message.unauthorized", "\(stranger.transcript)")
            #expect(bob.events("message").isEmpty, "\(bob.transcript)")
            let alice = try Bench.handset(write, password: "alice-secret")
            #expect(try await alice.exitStatus(within: 10) == 0, "\(alice.transcript)")
            try await bob.wait(for: "message", ["text": "Good morning"])
            await bob.stop()
            await kamailio.stop()
        }

        @Test func anUnknownNumberIsToldInPlainWords() async throws {
            let kamailio = try await Kamailio.start()
            let alice = try alice(kamailio, "udp", calls: "nobody")
            #expect(try await alice.exitStatus(within: 10) == 1)
            let ended = try await alice.wait(for: "ended", within: 1)
            #expect(ended["status"] as? Double == 404, "\(alice.transcript)")
            await kamailio.stop()
        }
    }
}
