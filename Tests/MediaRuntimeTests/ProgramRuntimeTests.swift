// SPDX-License-Identifier: Apache-2.0

import Essentials
import Foundation
import Media
import MediaRuntime
import Networking
import Testing

/// Real programs at a program port: Python's own library is all they use.
@Suite(.serialized) struct ProgramRuntimeTests {
    static let (program, tone, recorder) = (PortID(rawValue: 1), PortID(rawValue: 2), PortID(rawValue: 3))

    /// The program of docs/program-port.md.
    static func example() throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let text = try String(contentsOf: root.appending(path: "docs/program-port.md"), encoding: .utf8)
        let code = try #require(text.components(separatedBy: "```python\n").last).components(separatedBy: "```")[0]
        #expect(code.split(separator: "\n", omittingEmptySubsequences: false).count <= 36)
        return code
    }

    static func event(_ side: Side, _ isWanted: (ProgramEvent) -> Bool) throws -> ProgramEvent {
        let found = side.events.first {
            if case .program(program, let event) = $0 { isWanted(event) } else { false }
        }
        guard case .program(_, let event)? = found else { throw Side.Failure(reason: "no such event of the program") }
        return event
    }

    /// What happens with the example: its events until it hangs up, what was recorded of it, and the figures at the end.
    static func talk(interrupted: Bool) throws -> (events: [ProgramEvent], recording: WAVAudio, figures: ProgramFigures) {
        var result: (events: [ProgramEvent], recording: WAVAudio, figures: ProgramFigures)?
        try withDirectory { directory in
            try withLoop { loop in
                let side = Side(loop, loopbackConfiguration())
                defer { side.stop() }
                try Data(example().utf8).write(to: URL(filePath: directory + "/agent.py"))
                let file = directory + "/said.wav"
                side.perform(
                    .openRecorder(recorder, path: file), .openTone(tone, Tone(frequency: 1000, level: interrupted ? -5 : -40)),
                    .openProgram(program, ProgramSettings(parsing: "exec python3 \(directory)/agent.py", rate: 24_000)),
                    .connect(from: tone, to: program), .connect(from: program, to: recorder))
                var events: [ProgramEvent] = []
                while true {
                    let next = try event(side) { _ in true }
                    events.append(next)
                    if case .said = next { break }
                }
                side.perform(.closePort(program))
                guard case .ended(nil, let figures) = try event(side, { if case .ended = $0 { true } else { false } }) else {
                    throw Side.Failure(reason: "no figures")
                }
                side.perform(.closePort(recorder))
                side.stop()
                result = (events, try readWAV(file), figures)
            }
        }
        return try #require(result)
    }

    @Test func theProgramOfTheDocumentSpeaksAndHangsUp() throws {
        let talk = try Self.talk(interrupted: false)
        guard case .started(let process?) = talk.events.first else { throw Side.Failure(reason: "\(talk.events)") }
        #expect(process > 0)
        #expect(talk.events.dropFirst() == [.marked("said"), .said(#"{"command":"hangup"}"#)])
        let loud = talk.recording.samples.count { abs(Int($0)) > 4000 }
        // Two seconds of a sine of which about 70 % is above that.
        #expect(loud > 10_000 && loud < 12_500, "\(loud)")
        #expect(talk.figures.spoken == 48_000 && talk.figures.flushed == 0 && talk.figures.marks == 1)
        #expect(talk.figures.heard > 40_000)
    }

    @Test func itIsSilentAtOnceWhenSomebodySpeaks() throws {
        let talk = try Self.talk(interrupted: true)
        #expect(talk.events.last == .said(#"{"command":"hangup"}"#) && !talk.events.contains(.marked("said")))
        #expect(talk.figures.flushed > 24_000 && talk.figures.spoken + talk.figures.flushed == 48_000, "\(talk.figures)")
    }

    @Test func aProgramThatEndsIsHeardToItsEndAndThenToldWithItsStatus() throws {
        try withLoop { loop in
            let side = Side(loop, loopbackConfiguration())
            defer { side.stop() }
            // Half a second of speech at once, then the end.
            let script = """
                import struct, sys
                sys.stdout.buffer.write(struct.pack("!cxHIQ", b"A", 8000, 0, 0) + bytes([0, 9]) * 4000)
                sys.stdout.buffer.flush()
                sys.exit(3)
                """
            side.perform(.openProgram(Self.program, ProgramSettings(parsing: "exec python3 -c '\(script)'", rate: 8000)))
            guard case .ended(3, let figures) = try Self.event(side, { if case .ended = $0 { true } else { false } }) else {
                throw Side.Failure(reason: "no end")
            }
            #expect(figures.spoken == 4000)
        }
    }

    @Test(arguments: [("echo hello", "no frame"), ("exec cat /dev/zero", "\\x00")])
    func aProgramThatWritesNoFramesFailsAndIsEnded(command: String, word: String) throws {
        try withLoop { loop in
            let side = Side(loop, loopbackConfiguration())
            defer { side.stop() }
            side.perform(.openProgram(Self.program, ProgramSettings(parsing: command)))
            guard case .failed(let reason) = try Self.event(side, { if case .failed = $0 { true } else { false } }) else { return }
            #expect(reason.contains(word), "\(reason)")
        }
    }

    @Test func aProgramThatIsNotThereEndsWithTheShellsStatus() throws {
        try withLoop { loop in
            let side = Side(loop, loopbackConfiguration())
            defer { side.stop() }
            side.perform(.openProgram(Self.program, ProgramSettings(parsing: "exec /nonexistent/agent 2>/dev/null")))
            guard case .ended(127?, _) = try Self.event(side, { if case .ended = $0 { true } else { false } }) else {
                throw Side.Failure(reason: "no end with 127")
            }
            let other = PortID(rawValue: 9)
            side.perform(.openProgram(other, ProgramSettings(parsing: "unix:/nonexistent/socket")))
            let failed = side.events.first { if case .program(other, .failed) = $0 { true } else { false } }
            #expect(failed != nil)
        }
    }

    @Test(.timeLimit(.minutes(1))) func programsThatDoNotEndAreEnded() throws {
        try withLoop { loop in
            var configuration = loopbackConfiguration()
            configuration.maximumPrograms = 2
            let side = Side(loop, configuration)
            var processes: [Int32] = []
            // One that hears nothing of the end of its input, and one that hears nothing of SIGTERM either.
            for (number, command) in ["exec sleep 1000", "trap '' TERM; sleep 1000; sleep 1000", "true"].enumerated() {
                let port = PortID(rawValue: UInt32(number) + 10)
                side.perform(.openProgram(port, ProgramSettings(parsing: command)))
                let event = side.events.first { if case .program(port, _) = $0 { true } else { false } }
                switch event {
                case .program(_, .started(let process?)): processes.append(process)
                case .program(_, .failed(let reason)): #expect(number == 2 && reason.contains("2 programs"))
                default: Issue.record("\(String(describing: event))")
                }
            }
            #expect(processes.count == 2)
            side.stop()
            for process in processes {
                #expect(kill(process, 0) != 0, "\(process) still runs")
                // What it had started is dead too; somebody else has to take notice of that.
                let limit = ContinuousClock.now + .seconds(20)
                while kill(-process, 0) == 0, ContinuousClock.now < limit {}
                #expect(kill(-process, 0) != 0, "something of \(process) still runs")
            }
        }
    }

    @Test func thePasswordIsNotInItsEnvironment() throws {
        try withDirectory { directory in
            try withLoop { loop in
                setenv("HANDSET_PASSWORD", "not for you", 1)
                defer { unsetenv("HANDSET_PASSWORD") }
                let side = Side(loop, loopbackConfiguration())
                defer { side.stop() }
                side.perform(.openProgram(Self.program, ProgramSettings(parsing: "env > \(directory)/env; exit 0")))
                _ = try Self.event(side) { if case .ended = $0 { true } else { false } }
                let text = try String(contentsOfFile: directory + "/env", encoding: .utf8)
                #expect(text.contains("PATH=") && !text.contains("HANDSET_PASSWORD"))
            }
        }
    }

    @Test func aSocketServesAsWell() throws {
        try withDirectory { directory in
            try withLoop { loop in
                let side = Side(loop, loopbackConfiguration())
                defer { side.stop() }
                let path = directory + "/s"
                let server = """
                    import socket, struct
                    listener = socket.socket(socket.AF_UNIX); listener.bind("\(path)"); listener.listen()
                    peer, _ = listener.accept()
                    peer.sendall(struct.pack("!cxHIQ", b"M", 2, 0, 0) + b"up")
                    while peer.recv(4096): pass
                    """
                let process = Process()
                process.executableURL = URL(filePath: "/usr/bin/env")
                process.arguments = ["python3", "-c", server]
                try process.run()
                defer { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }
                let limit = ContinuousClock.now + .seconds(20)
                while !FileManager.default.fileExists(atPath: path), ContinuousClock.now < limit {}
                side.perform(.openProgram(Self.program, ProgramSettings(parsing: "unix:\(path)")))
                #expect(try Self.event(side) { if case .marked = $0 { true } else { false } } == .marked("up"))
                side.perform(.closePort(Self.program))
                process.waitUntilExit()
                #expect(process.terminationStatus == 0)
            }
        }
    }
}

@Suite(.serialized) struct FileDeviceTests {
    @Test func aDeviceOfFilesHearsOneAndWritesTheOther() throws {
        try withDirectory { directory in
            try withLoop { loop in
                let side = Side(loop, loopbackConfiguration())
                let (device, recorder, tone) = (PortID(rawValue: 1), PortID(rawValue: 2), PortID(rawValue: 3))
                let heard = (0..<16_000).map { Int16(8000 * sin(Double($0) * 2 * .pi * 500 / 16_000)) }
                try Data(WAVEncoder.file(WAVAudio(rate: 16_000, samples: heard))).write(to: URL(filePath: directory + "/in.wav"))
                side.perform(
                    .openDevice(device, name: "file:\(directory)/in.wav,\(directory)/out.wav"),
                    .openRecorder(recorder, path: directory + "/mic.wav"), .openTone(tone, Tone(frequency: 1000)),
                    .connect(from: device, to: recorder), .connect(from: tone, to: device))
                _ = side.events.first { if case .deviceChanged(device, .ready) = $0 { true } else { false } }
                let limit = ContinuousClock.now + .seconds(20)
                while (try? readWAV(directory + "/out.wav").samples.count) ?? 0 < 12_000, ContinuousClock.now < limit {}
                side.perform(.closePort(device), .closePort(recorder))
                side.stop()
                let out = try readWAV(directory + "/out.wav")
                #expect(out.rate == 8000 && out.samples.count >= 12_000)
                #expect(out.samples.count { abs(Int($0)) > 2000 } > out.samples.count / 2)
                // A second of the file at the bridge's rate, then silence.
                let microphone = try readWAV(directory + "/mic.wav").samples
                let loud = microphone.count { abs(Int($0)) > 4000 }
                // Ten of the sixteen samples of a period of 500 Hz.
                #expect(abs(loud - 5000) < 50, "\(loud)")
            }
        }
    }

    @Test func aFileThatIsNotThereIsTold() throws {
        try withLoop { loop in
            let side = Side(loop, loopbackConfiguration())
            defer { side.stop() }
            side.perform(.openDevice(PortID(rawValue: 1), name: "file:/nonexistent.wav,"))
            let event = side.events.first { if case .fileFailed = $0 { true } else { false } }
            guard case .fileFailed(_, let reason)? = event else { return }
            #expect(reason.contains("nonexistent.wav"))
        }
    }
}
