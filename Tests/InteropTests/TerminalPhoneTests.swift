// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

extension Interop {
    /// `handset phone` as a person uses it: at a terminal, by typing.
    @Suite struct TerminalPhoneTests {
        @Test func aPersonCallsIsCalledWhileTypingSwapsAndLeaves() async throws {
            let place = try await Place()
            let phone = try PseudoTerminal(
                Bench.handset,
                [
                    "phone", "--account", "sip:alice@\(place.domain)", "--proxy", "sip:127.0.0.1:\(place.port);lr", "--listen",
                    "127.0.0.1:0", "--device", "null",
                ],
                environment: [
                    "HOME": place.folder, "HANDSET_PASSWORD": "alice-secret", "DBUS_SESSION_BUS_ADDRESS": "", "XDG_RUNTIME_DIR": "",
                ])
            try await phone.wait(for: "alice registered │ no call")
            phone.type("echo\r")
            try await phone.wait(for: "there is no command \"echo\"")
            phone.type("call echo\r")
            try await phone.wait(for: "call 1 confirmed")
            try await phone.wait(for: "1: echo 0:0")
            phone.type("mute\r")
            try await phone.wait(for: "(muted)")
            // Half a word is typed when somebody calls.
            phone.type("quali")
            var mark = try await phone.wait(for: "quali")
            let bob = try await place.handset(["call", "sip:alice@\(place.domain)", "--duration", "20"], "bob")
            mark = try await phone.wait(for: "call 2 incoming", from: mark)
            // The line is drawn again below the news, and goes on where it was.
            mark = try await phone.wait(for: "quali", from: mark)
            phone.type("ty 1\r")
            try await phone.wait(for: "call 1 sent ", from: mark)
            phone.type("hold 1\r")
            try await phone.wait(for: "call 1 held by us", from: mark)
            phone.type("a\r")
            mark = try await phone.wait(for: "call 2 confirmed", from: mark)
            phone.type("swap\r")
            mark = try await phone.wait(for: "call 2 held by us", from: mark)
            try await phone.wait(for: "call 1 resumed by us")
            phone.type("hangup 2\r")
            try await bob.wait(for: "ended", ["cause": "call.remote-hung-up"])
            try await phone.wait(for: "call 2 ended", from: mark)
            phone.type("calls\r")
            try await phone.wait(for: "from", from: mark)
            // The arrow brings the last line back.
            phone.type("\u{1b}[A")
            phone.type("\r")
            phone.type("remember\r")
            try await phone.wait(for: "is remembered", from: mark)
            #expect(phone.text.contains("readable by you alone"))
            phone.type("quit\r")
            #expect(try await phone.exitStatus(within: 5) == 0)
            #expect(!phone.text.contains("alice-secret"))
            // Started again it offers the account.
            let again = try PseudoTerminal(
                Bench.handset, ["phone"],
                environment: ["HOME": place.folder, "HANDSET_PASSWORD": "", "DBUS_SESSION_BUS_ADDRESS": "", "XDG_RUNTIME_DIR": ""])
            try await again.wait(for: "Use sip:alice@example.net? [Y/n]")
            again.type("\r")
            try await again.wait(for: "alice registered │ no call")
            // The history of the last time is there.
            again.type("\u{1b}[A")
            try await again.wait(for: "quit")
            again.type("\u{15}")
            again.type("\u{4}")
            #expect(try await again.exitStatus(within: 5) == 0)
            await bob.stop()
            await place.stop()
        }

        @Test func withoutASoundServerThePhoneWarnsAndWorks() async throws {
            let folder = try Bench.folder()
            let answering = try Bench.handset(["answer", "--listen", "127.0.0.1:0"])
            let port = try #require(try await answering.wait(for: "listening", ["transport": "udp"])["port"] as? Double)
            let phone = try PseudoTerminal(
                Bench.handset, ["phone", "--no-register", "--listen", "127.0.0.1:0"],
                environment: ["HOME": folder, "PULSE_SERVER": "unix:/nonexistent/native"])
            try await phone.wait(for: "direct calls │ no call")
            phone.type("sip:x@127.0.0.1:\(Int(port))\r")
            try await phone.wait(for: "call 1 confirmed")
            try await phone.wait(for: "There is no sound: the device default cannot be used")
            // Ctrl-D on an empty line leaves.
            phone.type("\u{4}")
            #expect(try await phone.exitStatus(within: 5) == 0)
            try await answering.wait(for: "ended", ["cause": "call.remote-hung-up"])
            await answering.stop()
            try? FileManager.default.removeItem(atPath: folder)
        }
    }
}
