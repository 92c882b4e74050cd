// SPDX-License-Identifier: Apache-2.0

extension HandsetCommand {
    static func runPhone(_ context: CommandContext) async throws(CommandFailure) -> ExitStatus {
        throw .failed("phone is not wired yet.")
    }
}
