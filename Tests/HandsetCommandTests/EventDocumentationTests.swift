// SPDX-License-Identifier: Apache-2.0

import Essentials
import EventPackages
import Foundation
import HandsetCommand
import Media
import PhoneCore
import SIP
import SIPAgent
import Testing

/// docs/events.md is a contract with scripts: its examples are what the command prints.
@Suite struct EventDocumentationTests {
    static let reference = CommandEvent.CallReference("1")

    /// An incoming call of which everything is known.
    static let identity: CallerIdentity = {
        let lines = [
            "INVITE sip:1001@example.net SIP/2.0", "Via: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK1", "Max-Forwards: 70",
            "From: \"Anonymous\" <sip:anonymous@anonymous.invalid>;tag=1", "To: <sip:1001@example.net>", "Call-ID: 1", "CSeq: 1 INVITE",
            "Contact: <sip:a@192.0.2.1>", "Privacy: id", "P-Asserted-Identity: <sip:+15551000@example.net>",
            "Diversion: <sip:1003@example.net>;reason=no-answer",
            "History-Info: <sip:1003@example.net>;index=1, <sip:1001@example.net>;index=1.1",
            "Content-Length: 0", "", "",
        ]
        guard let message = try? SIPMessage(parsing: Array(lines.joined(separator: "\r\n").utf8)) else { fatalError("not a message") }
        return CallerIdentity(message, believesServer: true)
    }()

    /// One event of each kind with every member that may come.
    static let events: [CommandEvent] = [
        .listening(transport: "udp", address: .loopbackV4, port: 5060),
        .registration("sip:1001@example.net", registration),
        .call(
            reference,
            .init(
                direction: "outgoing", state: "early", status: 180, reason: "Ringing", remote: "sip:1002@example.net",
                account: "sip:1001@example.net")),
        .media(
            reference,
            .init(
                codec: "PCMU", direction: "sendrecv", local: SocketAddress("127.0.0.1:10000"), remote: SocketAddress("127.0.0.1:20000"),
                secured: false)),
        .playback(reference, state: "started", file: "hello.wav"),
        .dtmf(reference, .init(direction: "received", digit: "5", method: "rfc4733", milliseconds: 160)),
        .hold(reference, by: "remote", state: "held"),
        .notice(reference, .ringback("local")), .notice(reference, .waiting),
        .notice(
            reference,
            .continued(
                target: "sip:+15551234@gateway.example.net",
                cause: Cause("call.unavailable", "The called person is not available at the moment."))),
        .notice(reference, .autoAnswer(field: "Answer-Mode", delay: 0, isAllowed: true)), .notice(reference, .identity(identity)),
        .notice(reference, .mended(code: "media.loss")),
        .transfer(
            reference,
            .init(
                direction: "outgoing", state: "failed", status: 486, reason: "The transfer failed: the new call was not answered.",
                target: "sip:1003@example.net", by: "sip:1001@example.net", with: "2", cause: "transfer.failed")),
        .conference(members: ["1", "2"]),
        .statistics(reference, StreamStatistics()),
        .network(state: "moved", addresses: [.v4(0xc000_0211)], phone: nil),
        .warning(code: "media.file.failed", text: "hello.wav: No such file or directory", call: reference),
        .ended(
            reference, Cause("call.busy", "The other side is busy.", status: 486, evidence: [.init("reason", "Busy Here")]), duration: nil),
        .binding(user: "1001", state: "added", contact: "sip:1001@127.0.0.1:40112", expires: 600),
        .step("server", text: "starting the embedded server"),
        .notification(
            .message(
                .init(
                    from: "sip:1002@example.net", name: "Bob", text: "Back in five minutes", call: reference,
                    account: "sip:1001@example.net"))),
        .notification(
            .messageSent(
                to: "sip:1002@example.net", state: "failed", Cause("message.not-found", "The address does not exist.", status: 404))),
        .notification(
            .subscription(
                target: "1002", package: "dialog",
                .init(
                    "retrying", expires: 3600, retry: 30,
                    cause: Cause("subscription.server-failure", "The server cannot serve the subscription at the moment.", status: 480)))),
        .notification(
            .messageWaiting(
                account: "sip:1001@example.net",
                MessageSummary(
                    areWaiting: true, account: "sip:voicemail@example.net", counts: [.init(kind: "voice-message", new: 2, old: 8)]))),
        .notification(.dialogs(target: "1002", DialogTable())),
        .notification(
            .presence(
                target: "1002",
                Presence(entity: "sip:1002@example.net", isOpen: true, note: "At my desk", activities: ["on-the-phone"]))),
        .notification(
            .publication(
                account: "sip:1001@example.net",
                .init(
                    "retrying", expires: 3600, retry: 2,
                    cause: Cause("publication.server-failure", "The server cannot take the state at the moment.", status: 503)))),
        .program(
            reference,
            .init("ended", process: 4711, mark: "said", status: 0, reason: "", figures: ProgramFigures())),
        .sound(device: "default", state: "failed", reason: ""), .voice(state: "on", by: "webrtc-audio-processing", reason: ""),
        .level(port: "device", AudioLevels()),
        .device(SoundDeviceInfo(name: "x", description: "y", direction: .output, backend: "pulse", isDefault: true)),
        .done(command: "play", call: reference, port: "p7"),
        .error(command: "dtmf", text: "dtmf needs \"digits\"", call: nil),
    ]

    static var registration: CommandEvent.Registration {
        var it = CommandEvent.Registration("registered", status: 200, reason: "OK", expires: 600)
        it.trigger = "asked"
        it.server = SocketAddress("192.0.2.5:5060")
        it.gruu = "sip:1001@example.net;gr=urn:uuid:00000000-0000-1000-8000-000a95a0e128"
        it.serviceRoute = ["sip:edge.example.net;lr"]
        it.hasPush = true
        return it
    }

    static func document() throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: "docs/events.md"), encoding: .utf8)
    }

    static func lines(of language: String) throws -> [String] {
        try document().components(separatedBy: "```" + language + "\n").dropFirst().flatMap {
            $0.components(separatedBy: "\n```")[0].split(separator: "\n").map(String.init)
        }
    }

    @Test func everyEventHasAnExampleWithItsMembers() throws {
        let examples = try Self.lines(of: "json").map { try JSONValue(parsing: $0) }
        #expect(examples.count == Self.events.count)
        for event in Self.events {
            let example = try #require(examples.first { $0["event"] == .string(event.name) }, "no example of \(event.name)")
            guard case .object(let documented) = example, case .object(let printed) = event.json(at: .zero) else {
                Issue.record("\(event.name) is no object")
                continue
            }
            #expect(documented.map(\.name) == printed.map(\.name), "\(event.name)")
        }
    }

    @Test func everyCodeOfTheCommandStandsInTheListOfCauses() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let list = try String(contentsOf: root.appending(path: "docs/causes.md"), encoding: .utf8)
        var codes: Set<String> = []
        for line in try Self.lines(of: "json") {
            let example = try JSONValue(parsing: line)
            for member in ["code", "cause"] { if case .string(let code)? = example[member] { codes.insert(code) } }
        }
        let sources = root.appending(path: "Sources/Products/HandsetCommand")
        for case let file as URL in try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            for match in text.matches(of: /code: "([a-z.-]+)"/) { codes.insert(String(match.1)) }
        }
        #expect(codes.count >= 3)
        #expect(codes.filter { !list.contains("| `\($0)` |") }.sorted() == [])
    }

    @Test func everyControlLineOfTheDocumentIsUnderstood() throws {
        let lines = try Self.lines(of: "control")
        #expect(lines.count == 43)
        for line in lines { _ = try ControlCommand(parsing: line) }
        #expect(throws: ControlCommand.Failure(command: "dtmf", text: "dtmf needs \"digits\"")) {
            try ControlCommand(parsing: "{\"command\":\"dtmf\"}")
        }
    }

    @Test(arguments: events)
    func aLineForPeopleHasNoControlCharacter(event: CommandEvent) {
        #expect(!event.text.isEmpty)
        let hostile = CommandEvent.call(.init("1"), .init(direction: "incoming", state: "incoming", remote: "\u{1b}[2J\u{202e}\r\nBob"))
        #expect(!hostile.text.unicodeScalars.contains { $0.value < 0x20 || $0 == "\u{202e}" })
        #expect(hostile.json(at: .zero).description.contains("\\u001b[2J"))
        #expect(!hostile.json(at: .zero).description.contains("\n"))
    }
}
