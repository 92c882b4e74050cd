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
        let password = account(&context.invocation, memory)
        let environment: (String) -> String? = { name in
            guard name == "HANDSET_PASSWORD", let password else { return Environment.value(name) }
            return password.reveal { String(decoding: $0, as: UTF8.self) }
        }
        let settings = try AccountSettings(context.invocation, environment: environment)
        var media = try MediaSettings(context.invocation)
        if !context.invocation.has("--device") { media.device = "default" }
        let history = AccountMemory.historyPath()
        if let history { try? TextFile.makeFolder(of: history) }
        let terminal = Terminal(history: history)
        try terminal.open()
        context.events = EventPrinter(writing: { terminal.print($0) })
        let board = BoardKeeper(CallBoard(account: context.invocation.value("--account").map { CallBoard.short($0) }))
        terminal.setStatus { columns in board.status(columns) }
        do {
            let session = PhoneSession(context, media: media, incoming: .show)
            await session.show(
                on: board, terminal,
                memory.map { KeptAccount(memory: $0, account: RememberedAccount(context.invocation), password: settings.password) })
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

    /// The account of the command line, else the remembered one, else one that is asked for. Gives its password where it is not in a file
    /// or the environment.
    private static func account(_ invocation: inout Invocation, _ memory: AccountMemory?) -> Secret? {
        if invocation.has("--no-register") { return nil }
        if let address = invocation.value("--account") {
            if invocation.has("--password-file") || Environment.value("HANDSET_PASSWORD") != nil { return nil }
            return password(of: address)
        }
        var warning: String?
        let remembered = memory?.recall(warning: &warning)
        if let warning { LineOutput.standardError.write("warning: \(warning.printable)") }
        if let remembered {
            let answer = Question.ask("Use \(remembered.address.printable)? [Y/n]") ?? ""
            if answer.isEmpty || answer.lowercased().hasPrefix("y") {
                remembered.apply(to: &invocation)
                return remembered.password ?? password(of: remembered.address)
            }
        }
        guard let address = Question.ask("Account (sip:user@domain), or Enter for direct calls:"), !address.isEmpty else { return nil }
        invocation.values["--account"] = [address]
        return password(of: address)
    }

    private static func password(of address: String) -> Secret? { Question.secret("Password of \(address.printable):").map { Secret($0) } }
}

/// The account that the person may have remembered or forgotten.
struct KeptAccount: Sendable {
    var memory: AccountMemory
    var account: RememberedAccount?
    var password: Secret?
}
