// SPDX-License-Identifier: Apache-2.0

import CallAnalysis
import Essentials
import Foundation
import HandsetCommand
import SIPAgent
import Testing

/// A trace of our own is input of `explain`, and its objects are what docs/explain.md shows.
@Suite struct ExplainTests {
    static func message(_ first: String, cseq: String = "1 INVITE", to: String = "") -> [UInt8] {
        Array(
            ("\(first)\r\nVia: SIP/2.0/UDP 192.0.2.10:5060;branch=z9hG4bK1\r\nFrom: <sip:alice@example.net>;tag=a\r\n"
                + "To: <sip:bob@example.net>\(to)\r\nCall-ID: c1\r\nCSeq: \(cseq)\r\nMax-Forwards: 70\r\nContact: <sip:alice@192.0.2.10>\r\n"
                + "Content-Length: 0\r\n\r\n").utf8)
    }

    /// A trace file of a call that was busy.
    static func trace() throws -> String {
        let path = FileManager.default.temporaryDirectory.appending(path: "handset-\(UUID().uuidString).jsonl").path
        let writer = TraceWriter(output: try LineOutput(creating: path))
        let (local, remote) = (SocketAddress("192.0.2.10:5060"), try #require(SocketAddress("192.0.2.1:5060")))
        func at(_ milliseconds: Int64) -> MonotonicTime { .zero + .milliseconds(milliseconds) }
        writer.write(.sent, .udp, local: local, remote: remote, message: message("INVITE sip:bob@example.net SIP/2.0"), at: at(1000))
        writer.write(.received, .udp, local: local, remote: remote, message: message("SIP/2.0 486 Busy Here", to: ";tag=b"), at: at(1250))
        writer.write(
            Cause("call.busy", "The called person is busy.", status: 486, evidence: [.init("status", "486 Busy Here")]), at: at(1260))
        return path
    }

    @Test func aTraceIsReadWithItsCauses() throws {
        let path = try Self.trace()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let analysis = CallAnalysis(try Explanation.read(path))
        #expect(analysis.conversations.count == 1)
        #expect(analysis.conversations[0].findings.map(\.cause.code) == ["call.busy"])
        #expect(analysis.general.map(\.cause.sentence) == ["The called person is busy."])
        let objects = analysis.json
        #expect(objects.map { $0["object"]?.text } == ["finding", "conversation", "summary"])
        guard case .array(let rows)? = objects[1]["ladder"] else {
            Issue.record("no ladder")
            return
        }
        #expect(rows.map { $0["label"]?.text } == ["INVITE", "486 Busy Here"])
        #expect(rows[0]["from"]?.text == "192.0.2.10" && rows[1]["seconds"] == .decimal(0.25))
        for object in objects { #expect(try JSONValue(parsing: object.description) == object) }
    }

    @Test func whatIsNeitherCaptureNorTraceIsOneSentence() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "handset-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        for content in ["", "hello\nworld\n", "{\"a\":1}\n"] {
            try content.write(toFile: path, atomically: true, encoding: .utf8)
            let error = #expect(throws: CommandFailure.self) { try Explanation.read(path) }
            #expect(error?.sentence == "\(path) is neither a capture (pcap, pcapng) nor a trace of --trace.")
        }
    }

    @Test func aTracedWarningIsAWarningAndAnEndIsWhatItWas() throws {
        let path = try Self.trace()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let writer = TraceWriter(output: try LineOutput(creating: path))
        writer.write(Cause("registration.flow.moved", "This phone's address changed.", evidence: []), isWarning: true, at: .zero)
        let warned = try String(contentsOfFile: path, encoding: .utf8)
        // An event of `--json`, too.
        let event = #"{"event":"warning","time":3,"code":"media.silence","text":"Nothing is heard."}"#
        try (warned + text + event + "\n").write(toFile: path, atomically: true, encoding: .utf8)
        let analysis = CallAnalysis(try Explanation.read(path))
        #expect(analysis.general.map(\.severity) == [.warning, .failure, .warning])
        let shown = analysis.text(width: 110, drawsLadders: false)
        #expect(shown.contains("WARNING This phone's address changed. (registration.flow.moved)"))
    }

    @Test(
        "What never shows a line of a trace is given up at a limit: a device without end, a file of zeros",
        arguments: [UInt8(0), 0x0a, 0x41])
    func endless(octet: UInt8) throws {
        var limits = CaptureLimits()
        limits.unrecognised = 1 << 19
        let path = FileManager.default.temporaryDirectory.appending(path: "handset-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data(repeating: octet, count: 1 << 21).write(to: URL(filePath: path))
        for path in octet == 0 ? ["/dev/zero", path] : [path] {
            let error = #expect(throws: CommandFailure.self) { try Explanation.read(path, limits: limits) }
            #expect(error?.sentence == "\(path) is neither a capture (pcap, pcapng) nor a trace of --trace.")
        }
        var reader = TraceReader(limits: limits)
        #expect(reader.append(Array(repeating: octet, count: 1 << 18)) && !reader.append(Array(repeating: octet, count: 1 << 18)))
    }

    @Test func aTraceBeyondTheLimitsIsReadAsFarAsTheyGo() throws {
        let path = try Self.trace()
        defer { try? FileManager.default.removeItem(atPath: path) }
        var limits = CaptureLimits()
        let message = Self.message("INVITE sip:bob@example.net SIP/2.0")
        limits.messageOctets = message.count
        let traffic = try Explanation.read(path, limits: limits)
        #expect(traffic.messages.count == 1 && traffic.counters[.messagesDropped] == 1)
        limits.causes = 0
        #expect(try Explanation.read(path, limits: limits).causes.isEmpty)
    }

    @Test func aTraceWithBrokenLinesIsReadAsFarAsItGoes() throws {
        let path = try Self.trace()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let text = try String(contentsOfFile: path, encoding: .utf8) + "{\"time\":2,\"direction\":\"sent\"}\nnonsense\n"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        let traffic = try Explanation.read(path)
        #expect(traffic.messages.count == 2)
        #expect(traffic.counters[.messagesUnreadable] == 2)
    }
}
