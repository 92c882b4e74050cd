// SPDX-License-Identifier: Apache-2.0

extension HandsetCommand {
    static func runRegister(_ context: CommandContext) async throws(CommandFailure) -> ExitStatus {
        throw .failed("register is not wired yet.")
    }
}
