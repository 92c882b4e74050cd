// SPDX-License-Identifier: Apache-2.0

extension HandsetCommand {
    /// Waits for calls and answers them.
    static func runAnswer(_ context: CommandContext) async throws -> ExitStatus {
        let settings = try AnswerSettings(context.invocation)
        let media = try MediaSettings(context.invocation)
        try media.checkFiles(numbers: settings.calls != 1)
        let session = PhoneSession(context, media: media, incoming: .answer(settings))
        try await session.open(try AccountSettings.all(context.invocation), maximumCalls: settings.maximumCalls)
        return try status(await session.run())
    }
}
