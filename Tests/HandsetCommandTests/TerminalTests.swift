// SPDX-License-Identifier: Apache-2.0

import Crypto
import Essentials
import Foundation
import HandsetCommand
import PhoneCore
import SIPAgent
import SecretStore
import Synchronization
import Testing

/// What the interactive phone makes of typed lines and of events, without a terminal.
@Suite struct TerminalTests {
    // MARK: Typed lines

    private static func action(_ line: String) -> ControlCommand.Action? { try? PhoneLine.parse(line)?.get().action }

    @Test(arguments: ["1002", "+4930123", "*97#", "sip:bob@example.net", "bob@example.net", "tel:112"])
    func anAddressAloneIsDialled(line: String) {
        let word = line.trimmingCharacters(in: .whitespaces)
        #expect(Self.action(line) == .call(word))
    }

    @Test func commandsTakeTheirOperandsAndTheCall() throws {
        #expect(Self.action("call 1002") == .call("1002"))
        #expect(Self.action("a") == .answer)
        #expect(Self.action("reject 603") == .reject(status: 603))
        #expect(Self.action("d 12#") == .dtmf("12#"))
        #expect(Self.action("transfer sip:carol@example.net") == .transfer(to: "sip:carol@example.net"))
        #expect(Self.action("attended 2") == .attended(with: "2"))
        #expect(try PhoneLine.parse("hold 2")?.get().call == "2")
        #expect(try PhoneLine.parse("transfer carol 3")?.get().call == "3")
        #expect(try PhoneLine.parse("call 1002")?.get().call == nil)
        #expect(PhoneLine.parse("   ") == nil)
    }

    @Test(arguments: ["frobnicate", "call", "transfer", "dtmf x", "hello there"])
    func whatIsWrongIsOneSentence(line: String) {
        guard case .failure(let failure)? = PhoneLine.parse(line) else {
            Issue.record("\(line) is taken")
            return
        }
        #expect(!failure.text.isEmpty)
    }

    // MARK: The board

    private static let id = CallID(rawValue: 7)

    private static func board() -> CallBoard {
        var board = CallBoard(accounts: ["sip:1001@example.net"])
        board.note(.callState(id, .calling, status: 0, reason: ""), number: 1, remote: "sip:bob@example.net", at: .zero)
        return board
    }

    @Test func theStatusLineFollowsACall() {
        var board = Self.board()
        #expect(board.status(at: .zero, columns: 80) == " 1001 not registered │ 1: calling bob ")
        board.note(
            .callState(Self.id, .confirmed, status: 200, reason: "OK"), number: 1, remote: "sip:bob@example.net", at: .zero + .seconds(2))
        #expect(board.status(at: .zero + .seconds(67), columns: 80) == " 1001 not registered │ 1: bob 1:05 ")
        board.note(.hold(Self.id, by: .local, isHeld: true), number: 1, remote: "", at: .zero)
        board.noteMute(1, true)
        #expect(board.status(at: .zero + .seconds(67), columns: 80).contains("1: bob 1:05 (held, muted)"))
        #expect(board.held?.number == 1 && board.active == nil)
        let end = CallEnd(
            cause: Cause("call.hung-up", "The call was hung up here."), isByRemote: false, wasEstablished: true, duration: .seconds(65))
        board.note(.ended(Self.id, end), number: 1, remote: "", at: .zero + .seconds(67))
        #expect(board.status(at: .zero, columns: 80) == " 1001 not registered │ no call ")
        #expect(board.list(at: .zero) == ["  to   sip:bob@example.net  1:05"])
    }

    @Test func theStatusLineShowsEveryAccountAndWhichOneCalls() {
        var board = CallBoard(accounts: ["sip:alice@a.example", "sip:office@b.example", "sip:office@c.example"])
        let cause = Cause("registration.wrong-password", "The password is wrong.")
        board.note(.refused(cause), of: "sip:office@b.example")
        let words = "alice not registered │ *office@b.example refused: The password is wrong. │ office@c.example not registered"
        board.choose("sip:office@b.example")
        #expect(board.status(at: .zero, columns: 200) == " \(words) │ no call ")
    }

    @Test func anAccountIsNamedInACallOrTakenForAll() throws {
        #expect(try PhoneLine.parse("call 1002 from office")?.get().account == "office")
        #expect(try PhoneLine.parse("call 1002")?.get().account == nil)
        #expect(try PhoneLine.parse("use 2")?.get().account == "2")
        #expect(Self.action("use 2") == .use && Self.action("accounts") == .accounts)
    }

    @Test func aCallThatRingsIsAskedFor() {
        var board = CallBoard()
        board.note(.callState(Self.id, .incoming, status: 0, reason: ""), number: 3, remote: "\"Bob B\" <sip:bob@example.net>", at: .zero)
        #expect(board.status(at: .zero, columns: 80) == " direct calls │ 3: INCOMING Bob B │ answer or reject? ")
        #expect(board.ringing?.number == 3)
    }

    @Test func aLongStatusIsCutAndAStrangersNameMovesNoCursor() {
        var board = Self.board()
        #expect(board.status(at: .zero, columns: 20).count == 20)
        board.note(
            .callState(CallID(rawValue: 8), .incoming, status: 0, reason: ""), number: 2, remote: "\"\u{1b}[2J\" <sip:x@y>", at: .zero)
        #expect(!board.status(at: .zero, columns: 200).contains("\u{1b}"))
    }

    @Test func theListKeepsOnlyTheNewest() {
        var board = CallBoard()
        let end = CallEnd(cause: Cause("call.busy", "The called person is busy."), isByRemote: true, wasEstablished: false, duration: .zero)
        for number in 1...200 {
            board.note(.callState(Self.id, .calling, status: 0, reason: ""), number: number, remote: "sip:\(number)@x", at: .zero)
            board.note(.ended(Self.id, end), number: number, remote: "", at: .zero)
        }
        #expect(board.past.count == 50 && board.past.last?.outcome == "The called person is busy.")
        #expect(board.list(at: .zero).count == 10)
    }

    // MARK: The screen

    @Test func linesAreWrittenInPlaceOfTheOneBeingTyped() {
        #expect(ScreenText.insert(["hello"], before: 12, columns: 80) == "\r\u{1b}[Jhello\r\n")
        #expect(ScreenText.insert(["a", "b"], before: 170, columns: 80) == "\u{1b}[2A\r\u{1b}[Ja\r\nb\r\n")
        #expect(ScreenText.insert([], before: 0, columns: 0) == "\r\u{1b}[J")
    }

    @Test func theStatusFillsTheLastRowAndTheCursorComesBack() {
        let text = ScreenText.status("abc", rows: 24, columns: 6)
        #expect(text == "\u{1b}7\u{1b}[24;1H\u{1b}[7mabc   \u{1b}[0m\u{1b}8")
        #expect(ScreenText.status("abcdefgh", rows: 24, columns: 6).contains("[7mabcdef\u{1b}"))
    }

    // MARK: Remembered accounts

    /// A keyring in memory.
    private final class FakeKeyring: Sendable {
        let secrets = Mutex<[String: Secret]>([:])
        let isThere: Bool
        init(isThere: Bool) { self.isThere = isThere }

        var keyring: AccountMemory.Keyring {
            AccountMemory.Keyring(
                store: { [self] (secret, _, account) throws(SecretStoreError) in
                    guard isThere else { throw SecretStoreError(reason: "there is no session bus") }
                    secrets.withLock { $0[account] = secret }
                },
                find: { [self] (account) throws(SecretStoreError) in
                    guard isThere else { throw SecretStoreError(reason: "there is no session bus") }
                    return secrets.withLock { $0[account] }
                },
                forget: { [self] (account) throws(SecretStoreError) in
                    guard isThere else { throw SecretStoreError(reason: "there is no session bus") }
                    return secrets.withLock { $0.removeValue(forKey: account) } != nil
                })
        }
    }

    private static func memory(_ keyring: FakeKeyring) -> (AccountMemory, folder: String) {
        let folder = FileManager.default.temporaryDirectory.appending(path: "handset-\(UUID().uuidString)").path
        return (AccountMemory(path: folder + "/handset/phone.json", keyring: keyring.keyring), folder)
    }

    private static func account() throws -> RememberedAccount {
        var account = try #require(
            RememberedAccount(try invocation("phone", "--account", "sip:1001@example.net", "--transport", "tcp", "--password-file", "x")))
        account.password = Secret("hush")
        return account
    }

    @Test func severalAccountsAreRememberedEachWithItsOwn() throws {
        let keyring = FakeKeyring(isThere: true)
        let (memory, folder) = Self.memory(keyring)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let line = try invocation(
            "phone", "--listen", "127.0.0.1:0", "--account", "a@x", "--transport", "tcp", "--account", "b@y", "--proxy", "sip:p")
        var accounts = line.perAccount.compactMap { RememberedAccount($0) }
        accounts[0].password = Secret("first")
        accounts[1].password = Secret("second")
        #expect(try memory.remember(accounts) == nil)
        var warning: String?
        let recalled = memory.recall(warning: &warning)
        #expect(recalled.map(\.password) == [Secret("first"), Secret("second")])
        var again = try invocation("phone")
        RememberedAccount.apply(recalled, to: &again)
        #expect(again.perAccount.map { $0.value("--account") } == ["a@x", "b@y"])
        #expect(again.perAccount.map { $0.value("--proxy") } == [nil, "sip:p"])
        #expect(again.perAccount.map { $0.value("--transport") } == ["tcp", nil])
        #expect(again.perAccount.allSatisfy { $0.value("--listen") == "127.0.0.1:0" })
        #expect(memory.forget() && keyring.secrets.withLock { $0.isEmpty })
    }

    @Test func anAccountOfBeforeThereCouldBeSeveralIsFound() throws {
        let (memory, folder) = Self.memory(FakeKeyring(isThere: true))
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try TextFile.replace(memory.path, with: "{\"account\":{\"account\":\"sip:1001@example.net\"}}\n")
        var warning: String?
        #expect(memory.recall(warning: &warning).map(\.address) == ["sip:1001@example.net"])
    }

    private static func mode(_ path: String) throws -> Int {
        (try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int) ?? 0
    }

    @Test func anAccountIsRememberedWithItsPasswordInTheKeyring() throws {
        let keyring = FakeKeyring(isThere: true)
        let (memory, folder) = Self.memory(keyring)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(try memory.remember([Self.account()]) == nil)
        let text = try String(contentsOfFile: memory.path, encoding: .utf8)
        #expect(text == "{\"accounts\":[{\"account\":\"sip:1001@example.net\",\"transport\":\"tcp\"}]}\n")
        var warning: String?
        let recalled = memory.recall(warning: &warning)
        #expect(recalled.map(\.password) == [Secret("hush")] && warning == nil)
        var line = try invocation("phone", "--transport", "udp")
        RememberedAccount.apply(recalled, to: &line)
        #expect(line.value("--account") == "sip:1001@example.net" && line.value("--transport") == "udp")
        #expect(memory.forget() && !memory.forget())
        #expect(keyring.secrets.withLock { $0.isEmpty })
    }

    @Test func withoutAKeyringThePasswordIsInAFileForItsOwnerAloneAndAWarningSaysSo() throws {
        let (memory, folder) = Self.memory(FakeKeyring(isThere: false))
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let warning = try memory.remember([Self.account()])
        #expect(warning?.contains("there is no session bus") == true && warning?.contains("hush") == false)
        #expect(try Self.mode(memory.path) == 0o600)
        #expect(try Self.mode(folder + "/handset") == 0o700)
        var other: String?
        #expect(memory.recall(warning: &other).map(\.password) == [Secret("hush")])
        #expect(other == nil)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: memory.path)
        _ = memory.recall(warning: &other)
        #expect(other?.contains("can be read by others") == true)
        // Written again it is closed again.
        _ = try memory.remember([Self.account()])
        #expect(try Self.mode(memory.path) == 0o600)
    }

    @Test func aBrokenFileIsAWarningAndNoAccount() throws {
        let (memory, folder) = Self.memory(FakeKeyring(isThere: true))
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for content in ["", "{", "{\"account\":{}}", "[]"] {
            try TextFile.replace(memory.path, with: content)
            var warning: String?
            #expect(memory.recall(warning: &warning).isEmpty)
            #expect(warning?.contains("cannot be read as remembered settings") == true)
        }
    }

    @Test func foldersFollowTheSpecificationOfTheDesktop() {
        #expect(AccountMemory.usualPath { $0 == "HOME" ? "/h" : nil } == "/h/.config/handset/phone.json")
        #expect(AccountMemory.usualPath { $0 == "XDG_CONFIG_HOME" ? "/c" : "/h" } == "/c/handset/phone.json")
        #expect(AccountMemory.usualPath { $0 == "XDG_CONFIG_HOME" ? "relative" : "/h" } == "/h/.config/handset/phone.json")
        #expect(AccountMemory.historyPath { $0 == "HOME" ? "/h" : nil } == "/h/.local/state/handset/history")
        #expect(AccountMemory.usualPath { _ in nil } == nil)
    }
}
