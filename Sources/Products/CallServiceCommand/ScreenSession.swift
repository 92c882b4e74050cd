// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import CallServiceHost
import Networking
import Synchronization

/// A terminal as call screen: prints the state whenever it changes, reads commands from standard input.
enum ScreenSession {
    private static func open(_ path: String) -> CallServiceClient? {
        do { return try CallServiceClient(path: path) } catch {
            CallServiceCommand.write("handset-callservice: \(error.reason)", to: 2)
            return nil
        }
    }

    /// Ends with the end of standard input, `quit`, or the service. Status 0, or 1 where there is no service.
    static func run(_ path: String) -> Int32 {
        guard let client = open(path) else { return 1 }
        let screen = Mutex(ScreenState())
        let state = SharedScreen(screen)
        client.send(.openScreen)
        let thread = ReadingThread {
            client.receive { message in
                switch message {
                case .screen(let new):
                    state.screen.withLock { $0 = new }
                    for line in ScreenText.lines(new) { CallServiceCommand.write(line) }
                case .history(let entries): for entry in entries { CallServiceCommand.write("history " + line(entry)) }
                case .diagnostic(let diagnostic): CallServiceCommand.write("pitfall \(diagnostic)")
                case .userAnswer(_, let refusal): CallServiceCommand.write(refusal.map { "refused \($0.rawValue)" } ?? "done")
                case .refused(let code): CallServiceCommand.write("refused \(code)", to: 2)
                case .app, .pushAnswer: break
                }
                return true
            }
        }
        var request: RequestID = 0
        var random = SystemRandomNumberGenerator()
        while let line = readLine(), line != "quit" {
            guard !line.isEmpty else { continue }
            let now = state.screen.withLock { $0 }
            guard
                let command = ScreenText.command(
                    line, screen: now, newCall: { UUIDValue(high: random.next(), low: random.next()) })
            else {
                CallServiceCommand.write("unknown command or call: \(line)")
                continue
            }
            request += 1
            guard client.send(.user(request, command)) else { return 1 }
        }
        client.close()
        thread.join()
        return 0
    }

    static func printHistory(_ path: String) -> Int32 {
        guard let client = open(path) else { return 1 }
        client.send(.openScreen)
        client.receive { message in
            guard case .history(let entries) = message else { return true }
            for entry in entries { CallServiceCommand.write(line(entry)) }
            return false
        }
        return 0
    }

    static func push(_ path: String, bundle: String, payload: String) -> Int32 {
        guard let client = open(path) else { return 1 }
        client.send(.deliverPush(1, bundle: bundle, type: PushType.voIP, payload: Octets(Array(payload.utf8))))
        var status: Int32 = 1
        client.receive { message in
            guard case .pushAnswer(_, let verdict) = message else { return true }
            CallServiceCommand.write(verdict.rawValue)
            status = verdict == .delivered || verdict == .appStarted ? 0 : 1
            return false
        }
        return status
    }

    static func line(_ entry: HistoryEntry) -> String {
        let direction = entry.isOutgoing ? "to" : "from"
        let who = entry.name ?? entry.handle?.value ?? "unknown"
        return "\(entry.number) \(entry.outcome.rawValue) \(direction) \(who) (\(entry.bundle)) \(entry.duration / 1_000_000) s"
    }
}

/// A screen that two threads see.
private final class SharedScreen: Sendable {
    let screen: Mutex<ScreenState>

    init(_ screen: consuming Mutex<ScreenState>) { self.screen = screen }
}
