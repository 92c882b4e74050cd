// SPDX-License-Identifier: Apache-2.0

extension HandsetCommand {
    /// The main job with nothing else needed.
    static func runDemo(_ context: CommandContext) async throws -> ExitStatus {
        let events = context.events
        let directory = context.invocation.value("--out") ?? "handset-demo"
        var demo = Demonstration(directory: directory) { step, text in events.print(.step(step, text: text)) }
        demo.trace = context.trace
        let report = try await demo.run()
        guard report.isGood else { throw CommandFailure.failed("The call was not as it should be: see \(directory)/report.txt.") }
        return .success
    }
}
