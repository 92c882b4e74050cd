// SPDX-License-Identifier: Apache-2.0
//
// The command `handset`: reads options, wires the face to files and the terminal, prints. Its contract stands in README.md
// and docs/events.md.

import Networking

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@main
package struct HandsetCommand {
    package static let version = "0.1.0"

    /// The work runs on other threads; this one waits for signals. (As an `async` function it would end in
    /// `dispatch_main`, which unblocks every signal on Linux, so that SIGTERM would kill the process.)
    static func main() {
        // Before the first other thread: they inherit the mask.
        Interruption.block()
        Task.detached {
            let status = await run(Array(CommandLine.arguments.dropFirst()))
            exit((status == .success && LineOutput.standardOutput.hasLostLines ? .failed : status).rawValue)
        }
        Interruption.wait()
    }

    /// Runs the command line `arguments`, without the program's name.
    static func run(_ arguments: [String]) async -> ExitStatus {
        do {
            switch try Invocation.parse(arguments) {
            case .help(let subcommand):
                LineOutput.standardOutput.write(String(Help.text(for: subcommand).dropLast()))
                return .success
            case .version:
                LineOutput.standardOutput.write("handset \(version)")
                return .success
            case .run(let invocation): return try await run(CommandContext(invocation))
            }
        } catch let error as UsageError {
            LineOutput.standardError.write("handset: \(error.sentence.printable)")
            return .usage
        } catch let failure as CommandFailure {
            LineOutput.standardError.write("handset: \(failure.sentence.printable)")
            return failure.status
        } catch let error as NetworkError {
            LineOutput.standardError.write("handset: \(error.reason.printable)")
            return .failed
        } catch {
            LineOutput.standardError.write("handset: \("\(error)".printable)")
            return .failed
        }
    }

    private static func run(_ context: CommandContext) async throws -> ExitStatus {
        switch context.invocation.subcommand {
        case .demo: try await runDemo(context)
        case .serve: try await runServe(context)
        case .register: try await runRegister(context)
        case .call: try await runCall(context)
        case .answer: try await runAnswer(context)
        case .phone: try await runPhone(context)
        case .message: try await runMessage(context)
        case .subscribe: try await runSubscribe(context)
        case .explain: try runExplain(context)
        case .parse: try runParse(context)
        case .sdpAnswer: try runSDPAnswer(context)
        case .devices: try runDevices(context)
        }
    }
}
