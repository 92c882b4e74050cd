// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import CallServiceHost
import Foundation
import Synchronization

/// A session with `handset-callservice` and the example app's program, which the service starts for a push: three processes with this one.
final class SpeakerboxService: Sendable {
    static let bundle = "app.speakerbox"

    let folder: String
    let process: Subprocess
    private let socket: String
    private let environment: [String: String]
    private let screen: CallServiceClient
    private let heard = Mutex<(screen: ScreenState, history: [HistoryEntry], answers: [FromService])>((ScreenState(), [], []))
    private let request = Mutex<RequestID>(0)

    /// What was recorded of the other side.
    var recording: String { folder + "/bob.wav" }
    private static let program = (Bench.handset as NSString).deletingLastPathComponent + "/SpeakerboxPhone"

    init(_ kamailio: Kamailio) async throws {
        folder = try Bench.folder()
        socket = folder + "/service.sock"
        environment = [
            "HANDSET_CALLSERVICE": socket, "XDG_STATE_HOME": folder + "/state", "XDG_CONFIG_HOME": folder + "/config",
            "SPEAKERBOX_ACCOUNT": "sip:bob@\(kamailio.domain)", "SPEAKERBOX_PASSWORD": "bob-secret",
            "SPEAKERBOX_PROXY": "sip:\(kamailio.address);transport=udp;lr", "SPEAKERBOX_PLAY": Bench.italian,
            "SPEAKERBOX_RECORD": folder + "/bob.wav",
        ]
        let apps = folder + "/config/handset/apps"
        try FileManager.default.createDirectory(atPath: apps, withIntermediateDirectories: true)
        try Self.program.write(toFile: apps + "/" + Self.bundle, atomically: true, encoding: .utf8)
        process = try Subprocess(
            (Bench.handset as NSString).deletingLastPathComponent + "/handset-callservice", ["serve"], environment: environment)
        _ = try await process.wait(within: 10, for: "listening") { $0.hasPrefix("listening ") ? true : nil }
        screen = try CallServiceClient(path: socket)
        screen.send(.openScreen)
        Thread.detachNewThread { [self] in
            screen.receive { message in
                heard.withLock { heard in
                    switch message {
                    case .screen(let state): heard.screen = state
                    case .history(let entries): heard.history += entries
                    default: heard.answers.append(message)
                    }
                }
                return true
            }
        }
    }

    /// Lets the app run once, so that the push network knows it, and ends it.
    func runOnce() async throws {
        let first = try Subprocess(
            Self.program, [], environment: environment.merging(["HANDSET_APP": Self.bundle, "HANDSET_LAUNCHED": "background"]) { $1 })
        _ = try await first.wait(within: 10, for: "token") { $0.hasPrefix("token ") ? true : nil }
        kill(first.identifier, SIGKILL)
        _ = try await first.exitStatus(within: 5)
    }

    /// The process ids of the app that the service started, oldest first.
    var started: [Int32] {
        process.lines.compactMap { $0.hasPrefix("started \(Self.bundle): process ") ? Int32($0.split(separator: " ").last ?? "") : nil }
    }

    /// Every word of the app's log comes out of the service, whose standard output it inherited.
    func wait(log word: String, count: Int = 1) async throws {
        try await wait("\(word), number \(count)") { process.lines.count { $0 == word } >= count }
    }

    func wait(_ what: String, within seconds: Double = 15, _ isTrue: () -> Bool) async throws {
        let end = ContinuousClock.now + .seconds(seconds)
        while !isTrue() {
            guard ContinuousClock.now < end else { throw Subprocess.Failure(description: "no \(what)\n\(process.transcript)") }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    var calls: [ScreenCall] { heard.withLock { $0.screen.calls } }
    var isRinging: Bool { heard.withLock { $0.screen.ringing != nil } }
    var history: [HistoryEntry] { heard.withLock { $0.history } }

    func shown(_ call: UUID) -> ScreenCall? { calls.first { $0.uuid == UUIDValue(call.uuidString) } }

    private func ask(_ question: (RequestID) -> ToService) async throws -> FromService {
        let number = request.withLock { request in
            request += 1
            return request
        }
        screen.send(question(number))
        let mine: () -> FromService? = { [self] in
            heard.withLock { heard in
                heard.answers.first { answer in
                    switch answer {
                    case .userAnswer(number, _), .pushAnswer(number, _): true
                    default: false
                    }
                }
            }
        }
        try await wait("answer \(number)") { mine() != nil }
        return try mine() ?? { throw Subprocess.Failure(description: "no answer \(number)") }()
    }

    /// A push from the network.
    func push(_ call: UUID, from: String) async throws -> PushVerdict? {
        let payload = Octets(Array(#"{"call":"\#(call.uuidString)","from":"\#(from)"}"#.utf8))
        guard
            case .pushAnswer(_, let verdict) = try await ask({
                .deliverPush($0, bundle: Self.bundle, type: PushType.voIP, payload: payload)
            })
        else { return nil }
        return verdict
    }

    /// The person at the screen; nil: done.
    func person(_ command: UserCommand) async throws -> UserCommandRefusal? {
        guard case .userAnswer(_, let refusal) = try await ask({ .user($0, command) }) else { return .notOffered }
        return refusal
    }

    /// Ends the app without a word, as the system's memory guard does.
    func killApp() throws {
        guard let last = started.last else { throw Subprocess.Failure(description: "no app runs") }
        kill(last, SIGKILL)
    }

    func stop() async {
        for app in started { kill(app, SIGTERM) }
        screen.close()
        await process.stop()
        try? FileManager.default.removeItem(atPath: folder)
    }
}
