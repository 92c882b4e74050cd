// SPDX-License-Identifier: Apache-2.0

import PhoneCore

extension HandsetCommand {
    /// The phone for a person: at a terminal with line editing and a status line, else one command a line. With `--control` the lines are
    /// JSON instead.
    static func runPhone(_ context: CommandContext) async throws -> ExitStatus {
        if Terminal.isThere, !context.events.asJSON, !context.invocation.has("--control") { return try await TerminalPhone.run(context) }
        let session = PhoneSession(context, media: try MediaSettings(context.invocation), incoming: .show)
        try await session.open(try AccountSettings.all(context.invocation), maximumCalls: 1000)
        let keyboard = Task {
            guard !context.invocation.has("--control") else { return }
            if !context.events.asJSON { LineOutput.standardOutput.write(PhoneLine.help) }
            for await line in StandardInput.lines() { await session.type(line) }
            await session.finish(.completed)
        }
        defer { keyboard.cancel() }
        return try status(await session.run())
    }
}
