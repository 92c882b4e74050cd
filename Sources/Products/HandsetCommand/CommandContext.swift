// SPDX-License-Identifier: Apache-2.0

import Essentials

/// What every subcommand is given: its options and the ways out.
package struct CommandContext: Sendable {
    package var invocation: Invocation
    package var events: EventPrinter
    package let log: CommandLog
    /// Where SIP messages are written, if `--trace` was given.
    package let trace: TraceWriter?

    package init(_ invocation: Invocation) throws(CommandFailure) {
        self.invocation = invocation
        events = EventPrinter(asJSON: invocation.has("--json"))
        log = CommandLog(level: invocation.value("--log-level").flatMap(CommandLog.Level.init) ?? .off)
        guard let path = invocation.value("--trace") else {
            trace = nil
            return
        }
        do { trace = TraceWriter(output: try LineOutput(creating: path)) } catch { throw .failed("\(error).") }
    }

    /// The control lines as they come, each a command or what is wrong with it; ends at once without `--control`.
    package func controlLines() -> AsyncStream<Result<ControlCommand, ControlCommand.Failure>> {
        let (stream, continuation) = AsyncStream<Result<ControlCommand, ControlCommand.Failure>>.makeStream()
        guard invocation.has("--control") else {
            continuation.finish()
            return stream
        }
        let task = Task {
            for await line in StandardInput.lines() where !line.isEmpty {
                continuation.yield(Result { () throws(ControlCommand.Failure) in try ControlCommand(parsing: line) })
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }
}
