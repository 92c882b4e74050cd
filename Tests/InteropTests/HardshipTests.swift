// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

extension Interop {
    /// The command when the world around it is unkind: files that cannot be, full disks, signals at any moment.
    @Suite(.serialized) struct HardshipTests {
        @Test(arguments: ["parse", "sdp-answer -", "demo", "answer --account sip:a@b --password-file PIPE", "answer --trace PIPE"])
        func aSignalEndsASubcommandThatWaitsForSomethingElse(line: String) async throws {
            let folder = try Bench.folder()
            #expect(unsafe mkfifo(folder + "/pipe", 0o600) == 0)
            let arguments = line.split(separator: " ").map { $0 == "PIPE" ? folder + "/pipe" : String($0) }
            let command = try Subprocess(Bench.handset, arguments, directory: folder)
            try await Task.sleep(for: .milliseconds(700))
            command.interrupt()
            try await command.exitStatus(within: 2)
        }

        @Test func aTerminalThatIsGoneEndsACallInGoodOrder() async throws {
            let folder = try Bench.folder()
            let answering = try Subprocess(Bench.handset, ["answer", "--listen", "127.0.0.1:0", "--json"])
            let port = try await port(of: answering)
            let arguments = ["call", "sip:x@127.0.0.1:\(port)", "--listen", "127.0.0.1:0", "--json", "--record", folder + "/heard.wav"]
            let calling = try Subprocess(Bench.handset, arguments)
            try await calling.wait(for: "call", ["state": "confirmed"])
            kill(calling.identifier, SIGHUP)
            #expect(try await calling.exitStatus(within: 2) == 0)
            try await answering.wait(for: "ended", ["cause": "call.remote-hung-up"])
            await answering.stop()
        }

        @Test func aFileThatCannotBePlayedOrRecordedIsToldBeforeAnybodyIsCalled() async throws {
            let lines = [
                ["call", "sip:x@127.0.0.1:9", "--play", "/nonexistent.wav"], ["answer", "--play", "/"],
                ["answer", "--record", "/nonexistent/talk.wav"], ["serve", "--listen", "udp:127.0.0.1:0", "--music", "/nonexistent.wav"],
            ]
            for arguments in lines {
                let command = try Subprocess(Bench.handset, arguments)
                #expect(try await command.exitStatus(within: 2) == 1)
                #expect(command.lines.isEmpty && command.errorText.contains("cannot "), "\(command.transcript)")
            }
        }

        @Test func outputThatIsLostIsNoSuccess() async throws {
            let message = try Bench.folder() + "/message.sip"
            let lines = [
                "SIP/2.0 200 OK", "Via: SIP/2.0/UDP a;branch=z9hG4bK1", "From: <sip:a@b>;tag=1", "To: <sip:b@b>;tag=2", "Call-ID: 1",
                "CSeq: 1 OPTIONS", "", "",
            ]
            try lines.joined(separator: "\r\n").write(toFile: message, atomically: true, encoding: .utf8)
            let full = try Subprocess("/bin/sh", ["-c", "exec \(Bench.handset) parse \(message) > /dev/full"])
            #expect(try await full.exitStatus(within: 5) == 1)
            #expect(full.errorText.contains("cannot write standard output"))
            let closed = try Subprocess("/bin/bash", ["-c", "\(Bench.handset) --help | head -1; exit ${PIPESTATUS[0]}"])
            #expect(try await closed.exitStatus(within: 5) == 0)
            #expect(closed.errorText.isEmpty)
        }

        @Test func aCallThatNeverHadMediaIsNoSuccess() async throws {
            let peer = try Subprocess("/usr/bin/env", ["python3", Bench.peer("silent_answerer.py")])
            let port = try await port(of: peer)
            let calling = try Subprocess(Bench.handset, ["call", "sip:x@127.0.0.1:\(port)", "--listen", "127.0.0.1:0", "--json"])
            #expect(try await calling.exitStatus(within: 5) == 1)
            #expect(calling.events("ended").first?["cause"] as? String == "media.answer.unusable", "\(calling.transcript)")
            #expect(!calling.errorText.isEmpty)
            await peer.stop()
        }

        private func port(of command: Subprocess) async throws -> Int {
            let event = try await command.wait(for: "listening", ["transport": "udp"])
            return Int(try #require(event["port"] as? Double))
        }
    }
}
