// SPDX-License-Identifier: Apache-2.0

extension HandsetCommand {
    static func runServe(_ context: CommandContext) async throws(CommandFailure) -> ExitStatus {
        throw .failed("serve is not wired yet.")
    }
}
