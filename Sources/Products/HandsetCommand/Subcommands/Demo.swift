// SPDX-License-Identifier: Apache-2.0

extension HandsetCommand {
    /// The main job with nothing else needed.
    static func runDemo(_ context: CommandContext) async throws -> ExitStatus {
        let events = context.events
        let demo = Demonstration(directory: context.invocation.value("--out") ?? "handset-demo") { step, text in
            events.print(.step(step, text: text))
        }
        let report = try await demo.run()
        return report.isGood ? .success : .failed
    }
}
