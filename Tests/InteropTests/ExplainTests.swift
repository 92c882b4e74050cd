// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestArtefacts
import Testing

extension Interop {
    /// A capture by tcpdump of calls on loopback, explained.
    @Suite struct ExplainTests {
        @Test func aCaptureOfTcpdumpIsExplained() async throws {
            let folder = try Bench.folder()
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let file = folder + "/calls.pcap"
            let dump = try Subprocess("/usr/bin/tcpdump", ["-i", "lo", "--immediate-mode", "-U", "-n", "-w", file, "udp or icmp"])
            for _ in 0..<500 where !dump.errorText.contains("listening on") { try await Task.sleep(for: .milliseconds(10)) }
            let answering = try Bench.handset(["answer", "--echo", "--listen", "127.0.0.1:0"])
            let port = try #require(try await answering.wait(for: "listening", ["transport": "udp"])["port"] as? Double)
            let call = try Bench.handset([
                "call", "sip:echo@127.0.0.1:\(Int(port))", "--listen", "127.0.0.1:0", "--duration", "2.5", "--codecs", "pcmu",
            ])
            #expect(try await call.exitStatus(within: 15) == 0)
            let closed = try Bench.freePort()
            let lost = try Bench.handset(["call", "sip:x@127.0.0.1:\(closed)", "--listen", "127.0.0.1:0"])
            #expect(try await lost.exitStatus(within: 40) == 1)
            await answering.stop()
            // What was sent last is still on its way through tcpdump.
            try await Task.sleep(for: .milliseconds(500))
            await dump.stop()
            Artefacts.keep(fileAt: file)
            let explain = try Bench.handset(["explain", file, "--html", folder + "/calls.html"])
            #expect(try await explain.exitStatus(within: 20) == 0)
            let objects = explain.lines.compactMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
            let conversations = objects.filter { $0["object"] as? String == "conversation" }
            let mine = try #require(conversations.first { "\($0["title"] ?? "")".contains("to echo@127.0.0.1") }, "\(explain.transcript)")
            #expect("\(mine["verdict"] ?? "")".contains("was ended by the caller"), "\(mine["verdict"] ?? "")")
            let media = mine["media"] as? [[String: Any]] ?? []
            #expect(
                media.count == 2 && media.allSatisfy { ($0["packets"] as? Int ?? 0) > 80 && $0["codec"] as? String == "PCMU" }, "\(media)")
            let verdicts = conversations.map { "\($0["verdict"] ?? "")" }
            #expect(verdicts.contains { $0.contains("cannot reach 127.0.0.1:\(closed): the machine is there") }, "\(verdicts)")
            #expect(try String(contentsOfFile: folder + "/calls.html", encoding: .utf8).contains("<svg"))
        }
    }
}
