// SPDX-License-Identifier: Apache-2.0
//
// `handset phone` at a terminal: asks for what is missing, then runs a session whose events print above the line being typed.

import Crypto
import Handset
import PhoneCore

/// The interactive phone.
enum TerminalPhone {
    static func run(_ original: CommandContext) async throws -> ExitStatus {
        var context = original
        let memory = AccountMemory.usualPath().map { AccountMemory(path: $0) }
        let passwords = accounts(&context.invocation, memory)
        let environment: (String) -> String? = { name in
            guard let password = passwords[name] else { return Environment.value(name) }
            return password.reveal { String(decoding: $0, as: UTF8.self) }
        }
        let settings = try AccountSettings.all(context.invocation, environment: environment)
        var media = try MediaSettings(context.invocation)
        if !context.invocation.has("--device") { media.device = "default" }
        let history = AccountMemory.historyPath()
        if let history { try? TextFile.makeFolder(of: history) }
        let terminal = Terminal(history: history)
        try terminal.open()
        context.events = EventPrinter(writing: { terminal.print($0) })
        let board = BoardKeeper(CallBoard(accounts: settings.compactMap { $0.address?.description }))
        terminal.setStatus { columns in board.status(columns) }
        do {
            let session = PhoneSession(context, media: media, incoming: .show)
            await session.show(
                on: board, terminal,
                memory.map { KeptAccount(memory: $0, accounts: kept(context.invocation, settings)) })
            try await session.open(settings, maximumCalls: 1000)
            terminal.print("Type a number or an address to call it; help shows the rest.")
            let keyboard = Task {
                for await line in terminal.typed { await session.type(line) }
                await session.finish(.completed)
            }
            let outcome = await session.run()
            keyboard.cancel()
            await terminal.end()
            if case .failed(let reason) = outcome { throw CommandFailure.failed(reason) }
            return .success
        } catch {
            await terminal.end()
            throw error
        }
    }

    /// What is worth remembering of the accounts, each with its password.
    private static func kept(_ invocation: Invocation, _ settings: [AccountSettings]) -> [RememberedAccount] {
        zip(invocation.perAccount, settings).compactMap { own, settings in
            var account = RememberedAccount(own)
            account?.password = settings.password
            return account
        }
    }

    /// The name in the environment of an account's password.
    private static func variable(_ place: Int) -> String { place == 0 ? "HANDSET_PASSWORD" : "HANDSET_PASSWORD_\(place + 1)" }

    /// The accounts of the command line, else the remembered ones, else one that is asked for. Gives the passwords that are neither in a
    /// file nor in the environment, by the names that they would have there.
    private static func accounts(_ invocation: inout Invocation, _ memory: AccountMemory?) -> [String: Secret] {
        var passwords: [String: Secret] = [:]
        if invocation.has("--account") {
            for (place, own) in invocation.perAccount.enumerated() {
                if own.has("--no-register") || own.has("--password-file") || Environment.value(variable(place)) != nil { continue }
                passwords[variable(place)] = own.value("--account").flatMap(password)
            }
            return passwords
        }
        if invocation.has("--no-register") { return [:] }
        var warning: String?
        let remembered = memory?.recall(warning: &warning) ?? []
        if let warning { LineOutput.standardError.write("warning: \(warning.printable)") }
        if !remembered.isEmpty {
            let answer = Question.ask("Use \(remembered.map(\.address.printable).joined(separator: ", "))? [Y/n]") ?? ""
            if answer.isEmpty || answer.lowercased().hasPrefix("y") {
                RememberedAccount.apply(remembered, to: &invocation)
                for (place, account) in remembered.enumerated() {
                    passwords[variable(place)] = account.password ?? password(of: account.address)
                }
                return passwords
            }
        }
        guard let address = Question.ask("Account (sip:user@domain), or Enter for direct calls:"), !address.isEmpty else { return [:] }
        invocation.setAccounts([["--account": [address]]])
        passwords[variable(0)] = password(of: address)
        return passwords
    }

    private static func password(of address: String) -> Secret? { Question.secret("Password of \(address.printable):").map { Secret($0) } }
}

/// The accounts that the person may have remembered or forgotten.
struct KeptAccount: Sendable {
    var memory: AccountMemory
    var accounts: [RememberedAccount]
}
