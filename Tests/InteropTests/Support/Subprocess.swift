// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestArtefacts

/// A program that a test started: its lines of output as they come, its input, its end. Ended with the test, by its id.
final class Subprocess: Sendable {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    private struct State {
        var pending = Data()
        var lines: [String] = []
        var errors = Data()
        /// Where both go as well, for the search for secrets.
        var kept: (output: FileHandle?, errors: FileHandle?)
    }

    private let process = Process()
    private let input = Pipe()
    private let state = Mutex(State())
    let name: String

    init(_ executable: String, _ arguments: [String], environment: [String: String] = [:], directory: String? = nil) throws {
        name = (executable as NSString).lastPathComponent
        let output = Pipe()
        let errors = Pipe()
        process.executableURL = URL(fileURLWithPath: executable)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        if let directory { process.currentDirectoryURL = URL(fileURLWithPath: directory) }
        Artefacts.noteStart(arguments, environment)
        let artefact = name + "-" + (arguments.first.map { ($0 as NSString).lastPathComponent } ?? "")
        state.withLock { $0.kept = (Artefacts.open(artefact + ".out"), Artefacts.open(artefact + ".err")) }
        process.standardInput = input
        process.standardOutput = output
        process.standardError = errors
        output.fileHandleForReading.readabilityHandler = { [weak self] handle in
            let data = handle.availableData
            if data.isEmpty { handle.readabilityHandler = nil } else { self?.take(data) }
        }
        errors.fileHandleForReading.readabilityHandler = { [weak self] handle in
            let data = handle.availableData
            if data.isEmpty { handle.readabilityHandler = nil } else { self?.takeError(data) }
        }
        try Self.withSignalsOpen { try process.run() }
    }

    /// A program inherits the signal mask of the thread that starts it, and the threads of tests block SIGTERM: Kamailio
    /// would not hear that it is to end, and leave its children behind.
    private static func withSignalsOpen(_ body: () throws -> Void) rethrows {
        var none = sigset_t()
        var before = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try body()
    }

    deinit { if isRunning { kill(process.processIdentifier, SIGKILL) } }

    private func takeError(_ data: Data) {
        state.withLock { state in
            try? state.kept.errors?.write(contentsOf: data)
            state.errors.append(data)
        }
    }

    private func take(_ data: Data) {
        state.withLock { state in
            try? state.kept.output?.write(contentsOf: data)
            state.pending.append(data)
            while let end = state.pending.firstIndex(of: 10) {
                state.lines.append(String(decoding: state.pending[state.pending.startIndex..<end], as: UTF8.self))
                state.pending.removeSubrange(state.pending.startIndex...end)
            }
        }
    }

    var identifier: Int32 { process.processIdentifier }
    var isRunning: Bool { exit == nil }

    /// The status with which the program ended; nil: it runs.
    private var exit: Int32? { process.exit }

    var lines: [String] { state.withLock { $0.lines } }
    var errorText: String { state.withLock { String(decoding: $0.errors, as: UTF8.self) } }

    func write(_ line: String) { try? input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8)) }

    func endInput() { try? input.fileHandleForWriting.close() }

    func interrupt() { kill(process.processIdentifier, SIGTERM) }

    /// Waits for the end; ends the program when the time is over, which is a failure.
    @discardableResult
    func exitStatus(within seconds: Double) async throws -> Int32 {
        let limit = Date().addingTimeInterval(seconds)
        while isRunning {
            guard Date() < limit else {
                kill(process.processIdentifier, SIGKILL)
                throw Failure(description: "\(name) did not end within \(seconds) s.\n\(transcript)")
            }
            try await Task.sleep(for: .milliseconds(10))
        }
        // The pipes may hold what the program wrote last.
        try await Task.sleep(for: .milliseconds(50))
        return exit ?? process.terminationStatus
    }

    /// Ends the program: asks first, then insists.
    func stop() async {
        guard isRunning else { return }
        kill(process.processIdentifier, SIGTERM)
        for _ in 0..<300 where isRunning { try? await Task.sleep(for: .milliseconds(10)) }
        if isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    /// Waits until `find` gives something for one of the lines from `start` on.
    func wait<Result>(within seconds: Double, for what: String, from start: Int = 0, _ find: (String) -> Result?) async throws -> Result {
        let limit = Date().addingTimeInterval(seconds)
        var next = start
        while true {
            let lines = lines
            while next < lines.count {
                if let result = find(lines[next]) { return result }
                next += 1
            }
            guard Date() < limit, isRunning || next < self.lines.count else {
                throw Failure(description: "\(name): no \(what) within \(seconds) s.\n\(transcript)")
            }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    var transcript: String {
        "--- output of \(name)\n" + lines.suffix(60).joined(separator: "\n") + "\n--- errors of \(name)\n" + errorText.suffix(3000)
    }
}

extension Process {
    /// The status with which the program ended; nil: it runs. Foundation takes a program for ended that closes what it inherited, as
    /// Kamailio does; it then waits for that one and sees the end of no other. So the kernel is asked as well.
    var exit: Int32? {
        // One that could not be started has no status to ask for.
        guard processIdentifier > 0 else { return 127 }
        guard isRunning else { return terminationStatus }
        var end = siginfo_t()
        let found = waitid(P_PID, id_t(processIdentifier), &end, WEXITED | WNOHANG | WNOWAIT)
        return found == 0 && end.si_signo == SIGCHLD ? end._sifields._sigchld.si_status : nil
    }
}

/// The program's JSON events.
extension Subprocess {
    typealias Event = [String: any Sendable]

    static func event(_ line: String) -> Event? {
        guard line.hasPrefix("{"), let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] else {
            return nil
        }
        return object.compactMapValues { value in
            switch value {
            case let text as String: text as any Sendable
            case let number as NSNumber: number.doubleValue as any Sendable
            default: nil
            }
        }
    }

    var events: [Event] { lines.compactMap(Self.event) }

    /// Waits for an event with these fields, counted from line `start`.
    @discardableResult
    func wait(for event: String, _ fields: [String: String] = [:], within seconds: Double = 10, from start: Int = 0) async throws -> Event {
        try await wait(within: seconds, for: "event \(event) \(fields)", from: start) { line in
            guard let found = Self.event(line), found["event"] as? String == event else { return nil }
            for (name, value) in fields {
                switch found[name] {
                case let text as String: if text != value { return nil }
                case let number as Double: if Double(value) != number { return nil }
                default: return nil
                }
            }
            return found
        }
    }

    /// The events of one kind so far.
    func events(_ name: String) -> [Event] { events.filter { $0["event"] as? String == name } }
}
