// SPDX-License-Identifier: Apache-2.0

extension HandsetCommand {
    /// Registers, shows the result, stays and refreshes; with `--once` takes it back and ends.
    static func runRegister(_ context: CommandContext) async throws -> ExitStatus {
        let session = PhoneSession(context, media: try MediaSettings(context.invocation), incoming: .refuse(status: 480))
        try await session.open(try AccountSettings.all(context.invocation), maximumCalls: 1)
        return try status(await session.run())
    }

    /// The exit status of a session; what failed goes to standard error.
    static func status(_ outcome: PhoneSession.Outcome) throws(CommandFailure) -> ExitStatus {
        switch outcome {
        case .completed, .interrupted(nil): return .success
        case .failed(let sentence), .interrupted(let sentence?): throw .failed(sentence)
        }
    }
}
