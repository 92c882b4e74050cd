// SPDX-License-Identifier: Apache-2.0

extension HandsetCommand {
    static func runAnswer(_ context: CommandContext) async throws(CommandFailure) -> ExitStatus {
        throw .failed("answer is not wired yet.")
    }
}
