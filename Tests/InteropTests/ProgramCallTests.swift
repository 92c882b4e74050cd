// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import Testing

extension Interop {
    /// The command with a speech program, and what it records.
    @Suite struct ProgramCallTests {
        /// The program of docs/program-port.md, in a folder of its own.
        static func agent() throws -> (folder: String, command: String) {
            let folder = try Bench.folder()
            let text = try String(contentsOfFile: Bench.root + "/docs/program-port.md", encoding: .utf8)
            let code = try #require(text.components(separatedBy: "```python\n").last).components(separatedBy: "```")[0]
            try code.write(toFile: folder + "/agent.py", atomically: true, encoding: .utf8)
            return (folder, "exec python3 \(folder)/agent.py")
        }

        @Test func aProgramHoldsACallAndHangsUp() async throws {
            let (folder, command) = try Self.agent()
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let answering = try Bench.handset(
                [
                    "answer", "--listen", "127.0.0.1:0", "--calls", "1", "--program", command, "--record", folder + "/split.wav",
                    "--record-channels", "split",
                ])
            let port = try #require(try await answering.wait(for: "listening", ["transport": "udp"])["port"] as? Double)
            let calling = try Bench.handset(
                ["call", "sip:x@127.0.0.1:\(Int(port))", "--listen", "127.0.0.1:0", "--record", folder + "/heard.wav", "--duration", "20"])
            // The program hangs up long before the duration.
            #expect(try await calling.exitStatus(within: 15) == 0, "\(answering.transcript)")
            #expect(try await answering.exitStatus(within: 10) == 0, "\(answering.transcript)")
            #expect(answering.events("program").compactMap { $0["state"] as? String } == ["started", "mark", "ended"])
            #expect(answering.events("done").contains { $0["command"] as? String == "hangup" })
            let heard = try WAVAudio(parsing: [UInt8](Data(contentsOf: URL(filePath: folder + "/heard.wav"))))
            let loud = Double(heard.samples.count { abs(Int($0)) > 3000 }) / Double(heard.rate)
            #expect(loud > 1.2 && loud < 1.8, "\(loud) s")
            // Left is what we said, right what they did: nothing.
            let bytes = [UInt8](try Data(contentsOf: URL(filePath: folder + "/split.wav")))
            #expect(bytes[22] == 2)
            var peaks = (left: 0, right: 0)
            for index in stride(from: 44, to: bytes.count - 3, by: 4) {
                peaks.left = max(peaks.left, abs(Int(Int16(bitPattern: UInt16(bytes[index]) | UInt16(bytes[index + 1]) << 8))))
                peaks.right = max(peaks.right, abs(Int(Int16(bitPattern: UInt16(bytes[index + 2]) | UInt16(bytes[index + 3]) << 8))))
            }
            #expect(peaks.left > 8000 && peaks.right < 100, "\(peaks)")
        }

        @Test func aProgramThatFailsEndsTheCallWithItsReason() async throws {
            let answering = try Bench.handset(["answer", "--listen", "127.0.0.1:0", "--calls", "1", "--echo"])
            let port = try #require(try await answering.wait(for: "listening", ["transport": "udp"])["port"] as? Double)
            let calling = try Bench.handset(
                ["call", "sip:x@127.0.0.1:\(Int(port))", "--listen", "127.0.0.1:0", "--program", "echo hello", "--duration", "20"])
            #expect(try await calling.exitStatus(within: 15) == 1)
            #expect(calling.errorText.contains("hello") && calling.events("warning").contains { $0["code"] as? String == "program.failed" })
            await answering.stop()
        }

        @Test func aBridgeIsBuiltByControlLines() async throws {
            let folder = try Bench.folder()
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let answering = try Bench.handset(["answer", "--listen", "127.0.0.1:0", "--calls", "1", "--echo"])
            let port = try #require(try await answering.wait(for: "listening", ["transport": "udp"])["port"] as? Double)
            let calling = try Bench.handset(
                [
                    "call", "sip:x@127.0.0.1:\(Int(port))", "--listen", "127.0.0.1:0", "--control", "--bridge-rate", "48000", "--device",
                    "file:\(Bench.english),\(folder)/spk.wav",
                ])
            try await calling.wait(for: "sound", ["state": "ready"])
            func obey(_ line: String, _ command: String) async throws -> String? {
                let start = calling.lines.count
                calling.write(line)
                return try await calling.wait(for: "done", ["command": command], from: start)["port"] as? String
            }
            let recorder = try #require(
                try await obey(#"{"command":"record","file":"\#(folder)/r.wav","channels":"split"}"#, "record"))
            let tone = try #require(try await obey(#"{"command":"tone","frequency":700,"level":-10}"#, "tone"))
            _ = try await obey(#"{"command":"levels","port":"\#(tone)","ms":100}"#, "levels")
            try await calling.wait(for: "level", ["port": tone])
            _ = try await obey(#"{"command":"disconnect","from":"\#(tone)","to":"1"}"#, "disconnect")
            _ = try await obey(#"{"command":"connect","from":"\#(tone)","to":"device"}"#, "connect")
            try await Task.sleep(for: .seconds(1))
            _ = try await obey(#"{"command":"gain","port":"\#(tone)","db":-100}"#, "gain")
            _ = try await obey(#"{"command":"close","port":"\#(recorder)"}"#, "close")
            _ = try await obey(#"{"command":"quit"}"#, "quit")
            #expect(try await calling.exitStatus(within: 10) == 0)
            await answering.stop()
            // The loudspeaker's file has the tone, and what came back of the microphone's.
            let spoken = try WAVAudio(parsing: [UInt8](Data(contentsOf: URL(filePath: folder + "/spk.wav"))))
            #expect(spoken.rate == 48_000 && spoken.samples.count { abs(Int($0)) > 4000 } > 10_000)
            let recorded = [UInt8](try Data(contentsOf: URL(filePath: folder + "/r.wav")))
            #expect(recorded[22] == 2 && recorded.count > 96_000)
        }
    }
}
