// SPDX-License-Identifier: Apache-2.0

extension HandsetCommand {
    static func runDemo(_ context: CommandContext) async throws(CommandFailure) -> ExitStatus {
        throw .failed("demo is not wired yet.")
    }
}
