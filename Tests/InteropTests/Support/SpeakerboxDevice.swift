// SPDX-License-Identifier: Apache-2.0

import CallServiceTestKit
import Foundation
import SpeakerboxLike
import SpeakerboxSIP
import Synchronization
import Testing

/// A device with the example app: the call service on real time, and the app, which the service starts, with SIP and sound of its own.
final class SpeakerboxDevice: Sendable {
    static let bundle = "app.speakerbox"

    let system = CallSystem()
    let folder: String
    private let account: SIPSignalling.Account
    let log = Mutex<[String]>([])
    private let running = Mutex<(app: SpeakerboxApp, signalling: SIPSignalling)?>(nil)
    private let clock = Mutex<Task<Void, Never>?>(nil)

    /// What was recorded of the other side.
    var recording: String { folder + "/bob.wav" }

    init(_ account: SIPSignalling.Account) throws {
        self.account = account
        folder = try Bench.folder()
        system.install(Self.bundle) { [weak self] _ in self?.start() }
        let system = system
        clock.withLock { clock in
            clock = Task {
                var last = ContinuousClock.now
                while !Task.isCancelled {
                    try? await Task.sleep(for: .milliseconds(5))
                    let now = ContinuousClock.now
                    await system.advance(by: now - last)
                    last = now
                }
            }
        }
    }

    /// Bob of Kamailio.
    convenience init(_ kamailio: Kamailio) throws {
        try self.init(
            .init(
                address: "sip:bob@\(kamailio.domain)", password: "bob-secret", proxy: "sip:\(kamailio.address);transport=udp;lr"))
    }

    /// The app's program, on its main queue.
    private func start() {
        let signalling = SIPSignalling(account: account, sound: .files(play: Bench.italian, record: recording))
        let app = SpeakerboxApp(signalling: signalling)
        app.onLog = { [weak self] text in self?.log.withLock { $0.append(text) } }
        running.withLock { $0 = (app, signalling) }
    }

    var app: SpeakerboxApp? { running.withLock { $0?.app } }

    /// A process that ran once, so that the push network knows the app, and that is gone.
    func forgetProcess() async throws {
        let first = system.launch(Self.bundle) { $0.isForeground = false }
        let app = first.run { SpeakerboxApp(signalling: NoSignalling()) }
        try await wait("token") { !system.state.withLock { $0.machine.pushTokens.isEmpty } }
        await first.kill()
        withExtendedLifetime(app) {}
    }

    /// The person opens the app.
    func open() async {
        let process = system.launch(Self.bundle) { $0.isForeground = true }
        await MainActor.run { process.run { start() } }
        await system.settle()
    }

    func wait(_ what: String, within seconds: Double = 15, _ isTrue: () -> Bool) async throws {
        let end = ContinuousClock.now + .seconds(seconds)
        while !isTrue() {
            guard ContinuousClock.now < end else {
                throw Subprocess.Failure(description: "no \(what); the app did: \(log.withLock { $0 })")
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    func wait(log text: String, count: Int = 1, within seconds: Double = 15) async throws {
        try await wait("log of \(text)", within: seconds) { log.withLock { $0.count { $0 == text } } >= count }
    }

    func push(_ call: UUID, from: String) { system.push(["call": call.uuidString, "from": from], to: Self.bundle) }

    func inApp(_ work: @escaping @Sendable (SpeakerboxApp) -> Void) async {
        await MainActor.run { [app] in if let app { work(app) } }
    }

    /// The app leaves; what it did wrong is told.
    func stop(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let found = running.withLock { running in
            defer { running = nil }
            return running
        }
        let pitfalls = system.diagnostics.filter { $0.pitfall != .pushRegistryLost }.map(\.description)
        #expect(pitfalls == [], sourceLocation: sourceLocation)
        await MainActor.run {
            found?.signalling.close()
            found?.app.close()
        }
        // Goodbyes leave, and the recording is written.
        try await Task.sleep(for: .milliseconds(300))
        clock.withLock { $0?.cancel() }
    }
}

/// Signalling of a process that never calls.
final class NoSignalling: Signalling {
    var onEvent: ((SignallingEvent) -> Void)?
    func connect() {}
    func invite(_ call: UUID, to address: String) {}
    func answer(_ call: UUID) {}
    func decline(_ call: UUID) {}
    func hangUp(_ call: UUID) {}
    func setHeld(_ call: UUID, _ isHeld: Bool) {}
    func setMuted(_ call: UUID, _ isMuted: Bool) {}
    func send(_ digits: String, in call: UUID) {}
    func startAudio() {}
    func stopAudio() {}
}
