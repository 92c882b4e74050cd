// SPDX-License-Identifier: Apache-2.0

import Crypto
import Essentials
import Foundation
import HandsetCommand
import SIP
import SIPAgent
import Testing

@Suite struct SettingsTests {
    @Test func anAccountHasItsDefaults() throws {
        let it = try AccountSettings(try invocation("answer", "--account", "sip:1001@example.net"), environment: { _ in nil })
        #expect(it.registers)
        #expect(!it.acceptsDirectCalls)
        #expect(it.expires == 600)
        #expect(it.listen == SocketAddress(.anyV4, 0))
        #expect(it.password == nil)
    }

    @Test func withoutRegistrationDirectCallsAreAccepted() throws {
        let none: (String) -> String? = { _ in nil }
        #expect(try AccountSettings(try invocation("answer"), environment: none).acceptsDirectCalls)
        #expect(
            try AccountSettings(try invocation("answer", "--account", "sip:a@b", "--no-register"), environment: none).acceptsDirectCalls)
        #expect(try !AccountSettings(try invocation("answer", "--no-register", "--direct", "refuse"), environment: none).acceptsDirectCalls)
        #expect(
            try AccountSettings(try invocation("answer", "--account", "sip:a@b", "--direct", "accept"), environment: none)
                .acceptsDirectCalls)
    }

    @Test func thePasswordComesFromFileOrEnvironmentAndDoesNotPrint() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("handset-password-\(UUID().uuidString)")
        try Data("file-secret\nsecond line\n".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let environment: (String) -> String? = { $0 == "HANDSET_PASSWORD" ? "environment-secret" : nil }
        let fromFile = try AccountSettings(
            try invocation("register", "--account", "sip:a@b", "--password-file", file.path), environment: environment)
        #expect(fromFile.password == Secret("file-secret"))
        let fromEnvironment = try AccountSettings(try invocation("register", "--account", "sip:a@b"), environment: environment)
        #expect(fromEnvironment.password == Secret("environment-secret"))
        #expect(!"\(fromFile) \(fromEnvironment)".contains("-secret"))
    }

    @Test(arguments: [
        ["--account", "sip:example.net"], ["--account", "tel:1001"], ["--account", "mailto:a@b"], ["--account", "a b@c"],
        ["--registrar", "sip:"],
        ["--proxy", "http://example.net"],
    ])
    func whatIsNoAccountIsWrongUsage(option: [String]) throws {
        let it = try invocation("answer", option[0], option[1])
        let failure = #expect(throws: CommandFailure.self) { try AccountSettings(it, environment: { _ in nil }) }
        #expect(failure?.status == .usage, "\(failure?.sentence ?? "")")
    }

    @Test func everyAccountHasItsOwnPassword() throws {
        let environment: (String) -> String? = { ["HANDSET_PASSWORD": "one", "HANDSET_PASSWORD_3": "three"][$0] }
        let it = try AccountSettings.all(
            try invocation("answer", "--account", "a@x", "--account", "b@x", "--account", "c@x"), environment: environment)
        #expect(it.map(\.password) == [Secret("one"), nil, Secret("three")])
        #expect(it.map { $0.address?.description } == ["sip:a@x", "sip:b@x", "sip:c@x"])
        let none = try AccountSettings.all(try invocation("answer"), environment: environment)
        #expect(none.count == 1 && none[0].address == nil)
        let twice = try invocation("answer", "--account", "a@x", "--account", "sip:a@x")
        let failure = #expect(throws: CommandFailure.self) { try AccountSettings.all(twice, environment: environment) }
        #expect(failure?.sentence == "--account sip:a@x stands twice.")
    }

    @Test func aSchemeMayBeLeftOut() throws {
        let it = try AccountSettings(
            try invocation("answer", "--account", "1001@example.net", "--proxy", "192.0.2.1:5070"), environment: { _ in nil })
        #expect(it.address?.description == "sip:1001@example.net")
        #expect(it.proxy?.sip?.port == 5070)
    }

    @Test func aMissingPasswordFileIsAFailureWithItsReason() throws {
        let it = try invocation("register", "--account", "sip:a@b", "--password-file", "/nonexistent/password")
        let failure = #expect(throws: CommandFailure.self) { try AccountSettings(it) }
        #expect(failure?.status == .failed)
        #expect(failure?.sentence.contains("No such file") == true)
    }

    @Test(arguments: [
        ["call", "a", "--header", "no colon"], ["call", "a", "--header", "Via: SIP/2.0/UDP x"], ["call", "a", "--header", "V: x"],
        ["call", "a", "--header", "A b: c"], ["call", "a", "--header", "X: a\r\nY: b"], ["call", "a", "--header", ": x"],
        ["call", "a", "--dtmf", "12x"],
        ["call", "a", "--hangup-after-play"], ["call", "a", "--hangup-after-play", "--play", "f", "--loop"],
    ])
    func whatACallCannotHaveIsWrongUsage(arguments: [String]) throws {
        guard case .run(let it) = try Invocation.parse(arguments) else { return }
        let failure = #expect(throws: CommandFailure.self) { try CallSettings(it) }
        #expect(failure?.status == .usage)
    }

    @Test func headersKeepTheirValue() throws {
        let it = try CallSettings(
            try invocation("call", "bob", "--header", "X-Note:  a: b, c ", "--header", "Subject: Ol\u{e9}", "--dtmf", "1a,#"))
        #expect(it.headers.map(\.name) == ["X-Note", "Subject"])
        #expect(it.headers.map(\.value) == ["a: b, c", "Ol\u{e9}"])
        #expect(it.digits == "1A,#")
    }

    @Test("nobody is called for a file that cannot be played", arguments: [("not a wave", "no WAV file"), ("RIFF....WAVE", "no format")])
    func aFileThatCannotBePlayedIsRefusedBeforeTheCall(content: String, words: String) throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("handset-sound-\(UUID().uuidString)")
        try Data(content.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let settings = try MediaSettings(try invocation("call", "sip:b@example.net", "--play", file.path))
        #expect {
            try settings.checkFiles(numbers: false)
        } throws: {
            "\($0)".contains(words)
        }
        #expect(throws: Never.self) {
            try MediaSettings(try invocation("call", "sip:b@example.net", "--play", "/dev/null")).checkFiles(numbers: false)
        }
    }

    @Test func filesOfSeveralCallsAreNumberedBeforeTheEnding() {
        #expect(MediaSettings.numbered("talk.wav", 2) == "talk-2.wav")
        #expect(MediaSettings.numbered("/a.b/talk", 1) == "/a.b/talk-1")
        #expect(MediaSettings.numbered("dir/.wav", 3) == "dir/-3.wav")
    }

    @Test func withoutAWordAboutItCertificatesAreVerified() throws {
        let it = try AccountSettings(try invocation("register", "--account", "sips:alice@example.net", "--transport", "tls"))
        #expect(it.address?.sip?.isSecure == true)
        #expect(it.secure.client == TLSSettings())
        #expect(it.secure.client.verifiesCertificate && it.secure.client.trust == .system && it.secure.client.pin == nil)
        let insecure = try AccountSettings(try invocation("register", "--account", "sip:alice@example.net", "--insecure"))
        #expect(!insecure.secure.client.verifiesCertificate)
    }

    @Test func aPinIsRead() throws {
        let pin = String(repeating: "0A", count: 32)
        let it = try AccountSettings(try invocation("register", "--account", "sip:a@b", "--pin", pin))
        #expect(it.secure.client.pin?.description == pin.lowercased())
    }

    @Test(arguments: [
        ["--pin", "ab"], ["--cert", #filePath], ["--key", #filePath], ["--insecure", "--ca", #filePath],
        ["--insecure", "--pin", String(repeating: "00", count: 32)], ["--listen", "tls:127.0.0.1:0"],
    ])
    func whatDoesNotGoTogetherIsWrongUsage(options: [String]) throws {
        guard case .run(let it) = try Invocation.parse(["register", "--account", "sip:a@b"] + options) else { return }
        let failure = #expect(throws: CommandFailure.self) { try AccountSettings(it) }
        #expect(failure?.status == .usage)
    }

    @Test(arguments: [["--ca", "/nonexistent/ca.pem"], ["--cert", "/nonexistent/a.pem", "--key", "/nonexistent/a.key"]])
    func aMissingCertificateIsAFailureWithItsReason(options: [String]) throws {
        guard case .run(let it) = try Invocation.parse(["register", "--account", "sip:a@b"] + options) else { return }
        let failure = #expect(throws: CommandFailure.self) { try AccountSettings(it) }
        #expect(failure?.status == .failed)
        #expect(failure?.sentence.contains("No such file") == true)
    }

    @Test func listenersWithTheirTransportStandBesideTheCommonOne() throws {
        let it = try AccountSettings(
            try invocation(
                "answer", "--listen", "127.0.0.1:5070", "--listen", "tls:127.0.0.1:5071", "--cert", #filePath, "--key", #filePath))
        #expect(it.listen == SocketAddress(.loopbackV4, 5070))
        #expect(it.listeners == [.init(transport: .tls, address: SocketAddress(.loopbackV4, 5071))])
        #expect(it.secureListener != nil)
    }

    @Test func aServerWithTLSNeedsItsCertificate() throws {
        let failure = #expect(throws: CommandFailure.self) {
            try ServeSettings(try invocation("serve", "--listen", "tls:127.0.0.1:5061"))
        }
        #expect(failure?.sentence == "--listen tls needs --cert and --key.")
    }

    @Test func theServersRouteKeyComesFromAFileAndDoesNotPrint() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("handset-key-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("0123456789abcdef-key\n".utf8).write(to: file)
        let it = try ServeSettings(try invocation("serve", "--route-key-file", file.path))
        #expect(it.routeKey == Secret("0123456789abcdef-key") && !"\(it)".contains("abcdef"))
        try Data("short\n".utf8).write(to: file)
        let short = try invocation("serve", "--route-key-file", file.path)
        #expect(#expect(throws: CommandFailure.self) { try ServeSettings(short) }?.status == .usage)
        #expect(try ServeSettings(try invocation("serve")).routeKey == nil)
    }

    @Test func theServerListensOnBothTransportsByDefault() throws {
        let it = try ServeSettings(try invocation("serve", "--user", "alice:a:b"))
        #expect(it.listeners.map(\.transport) == [.udp, .tcp])
        #expect(it.users.map(\.name) == ["alice"])
        #expect(it.users.map(\.password) == [Secret("a:b")])
        let failure = #expect(throws: CommandFailure.self) { try ServeSettings(try invocation("serve", "--user", "hunter2")) }
        #expect(failure?.sentence.contains("hunter2") == false)
    }
}
