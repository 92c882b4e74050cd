// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import CallServiceHost
import Networking
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A terminal as call screen: prints the state whenever it changes, reads commands from standard input.
enum ScreenSession {
    private static func open(_ path: String) -> CallServiceClient? {
        do { return try CallServiceClient(path: path) } catch {
            CallServiceCommand.write("handset-callservice: \(error.reason)", to: 2)
            return nil
        }
    }

    /// Ends with the end of standard input, `quit`, or the service. Status 0, or 1 where there is no service, or none any more.
    static func run(_ path: String) -> Int32 {
        guard let client = open(path) else { return 1 }
        let screen = Mutex(ScreenState())
        let state = SharedScreen(screen)
        let terminal = Terminal()
        terminal.greet()
        client.send(.openScreen)
        let thread = ReadingThread {
            client.receive { message in
                switch message {
                case .screen(let new):
                    let old = state.screen.withLock { screen in
                        defer { screen = new }
                        return screen
                    }
                    terminal.show(new, after: old)
                case .history(let entries): for entry in entries { CallServiceCommand.write("history " + line(entry)) }
                case .diagnostic(let diagnostic): CallServiceCommand.write("pitfall \(diagnostic)")
                case .userAnswer(_, let refusal): CallServiceCommand.write(refusal.map { "refused \($0.rawValue)" } ?? "done")
                case .refused(let code): CallServiceCommand.write("refused \(CallServiceCause.words(code))", to: 2)
                case .app, .pushAnswer: break
                }
                return true
            }
            // Nobody waits for what is typed to a service that is gone.
            guard !state.isLeaving.withLock({ $0 }) else { return }
            CallServiceCommand.write("handset-callservice: the call service is gone", to: 2)
            exit(1)
        }
        var request: RequestID = 0
        var random = SystemRandomNumberGenerator()
        while let line = readLine(), line != "quit" {
            guard !line.isEmpty else { continue }
            if line == "help" {
                CallServiceCommand.write(ScreenText.help)
                continue
            }
            let now = state.screen.withLock { $0 }
            guard
                let command = ScreenText.command(
                    line, screen: now, newCall: { UUIDValue(high: random.next(), low: random.next()) })
            else {
                CallServiceCommand.write(
                    "no command, or none that fits a call now: \(ScreenText.plain(line, limit: 200)) (help lists the commands)")
                continue
            }
            request += 1
            guard client.send(.user(request, command)) else { return 1 }
        }
        state.isLeaving.withLock { $0 = true }
        client.close()
        thread.join()
        return 0
    }

    /// How the state is printed: plain lines for a script; for a person with the time above, what rings in bold, and the bell.
    private struct Terminal {
        private let isPerson = isatty(0) == 1 && isatty(1) == 1
        private let hasStyle = !["", "dumb"].contains(Self.environment("TERM")) && Self.environment("NO_COLOR").isEmpty

        private static func environment(_ name: String) -> String { unsafe getenv(name).map { unsafe String(cString: $0) } ?? "" }

        func greet() {
            if isPerson { CallServiceCommand.write("Calls are shown as they change. help lists the commands, quit leaves.") }
        }

        func show(_ new: ScreenState, after old: ScreenState) {
            let lines = ScreenText.lines(new)
            guard isPerson else {
                for line in lines { CallServiceCommand.write(line) }
                return
            }
            let rings = new.ringing != nil && new.ringing?.call != old.ringing?.call
            CallServiceCommand.write("\n" + (rings ? "\u{7}" : "") + Self.timeOfDay())
            for (place, line) in lines.enumerated() {
                let isLoud = hasStyle && new.calls.indices.contains(place) && new.calls[place].state == .ringing
                CallServiceCommand.write(isLoud ? "\u{1b}[1m\(line)\u{1b}[0m" : line)
            }
        }

        /// The time of day, as the clock on the wall has it.
        private static func timeOfDay() -> String {
            var now = time(nil)
            var parts = unsafe tm()
            unsafe localtime_r(&now, &parts)
            let fields = unsafe [parts.tm_hour, parts.tm_min, parts.tm_sec]
            return fields.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
        }
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
    /// The person leaves; the connection's end is no fault then.
    let isLeaving = Mutex(false)

    init(_ screen: consuming Mutex<ScreenState>) { self.screen = screen }
}
