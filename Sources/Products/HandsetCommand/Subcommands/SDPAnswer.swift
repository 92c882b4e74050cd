// SPDX-License-Identifier: Apache-2.0

extension HandsetCommand {
    static func runSDPAnswer(_ context: CommandContext) throws(CommandFailure) -> ExitStatus {
        throw .failed("sdp-answer is not wired yet.")
    }
}
