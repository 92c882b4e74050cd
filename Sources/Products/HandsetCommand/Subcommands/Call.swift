// SPDX-License-Identifier: Apache-2.0

extension HandsetCommand {
    static func runCall(_ context: CommandContext) async throws(CommandFailure) -> ExitStatus {
        throw .failed("call is not wired yet.")
    }
}
