// SPDX-License-Identifier: Apache-2.0

extension HandsetCommand {
    static func runParse(_ context: CommandContext) throws(CommandFailure) -> ExitStatus {
        throw .failed("parse is not wired yet.")
    }
}
