// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import CallServiceHost
import DesktopNotifications
import Essentials
import Foundation
import Media
import Networking
import Synchronization
import Testing

/// A loudspeaker that keeps what it is given, by 10 ms: whether there was a sound in it.
final class Loudspeaker: SoundDevice {
    private let heard = Mutex<[Bool]>([])
    private let closed = Mutex(false)

    func play(_ frame: Span<Int16>) {
        var isLoud = false
        for index in 0..<frame.count where frame[index] > 500 { isLoud = true }
        heard.withLock { $0.append(isLoud) }
    }
    func capture(_ frame: inout [Int16]) -> Bool { false }
    var state: SoundDeviceState { .ready }
    var figures: SoundDeviceFigures { SoundDeviceFigures() }
    func close() { closed.withLock { $0 = true } }

    var frames: [Bool] { heard.withLock { $0 } }
    var isClosed: Bool { closed.withLock { $0 } }
}

/// A service in virtual time, which rings; its person speaks to it without a socket, and the mobile network calls.
struct RingingService {
    let folder: URL
    let loop: EventLoop
    let host: CallServiceHost
    let events = Kept<CallServiceHostEvent>()
    let speakers = Kept<Loudspeaker>()

    init(_ change: (inout CallServiceHost.Settings) -> Void = { _ in }) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "handset-ringing-\(UUID().uuidString.prefix(8))")
        var settings = CallServiceHost.Settings(
            files: CallServiceFiles(socket: folder.path + "/run/s.sock", state: folder.path + "/state", apps: folder.path + "/apps"))
        var ringing = RingSettings()
        ringing.devices = { [speakers] _, _ in
            let speaker = Loudspeaker()
            speakers.add(speaker)
            return speaker
        }
        settings.ringing = ringing
        change(&settings)
        loop = try EventLoop.manual()
        host = CallServiceHost(settings, loop: loop) { [events] in events.add($0) }
        onLoop { try? $0.start() }
    }

    /// Does it on the loop, and what follows at once.
    func onLoop(_ body: @escaping @Sendable (isolated CallServiceHost) -> Void) {
        loop.execute { [host] in host.assumeIsolated { body($0) } }
        loop.run(for: .zero)
    }

    func person(_ command: UserCommand) {
        onLoop { _ = $0.perform(command) }
    }

    func stop() {
        onLoop { $0.stop() }
        try? FileManager.default.removeItem(at: folder)
    }

    var ringing: [RingerEvent] { events.all.compactMap { if case .ringing(let event) = $0 { event } else { nil } } }
}

/// Values in the order in which they came, from any thread.
final class Kept<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])
    func add(_ value: Value) { values.withLock { $0.append(value) } }
    var all: [Value] { values.withLock { $0 } }
}

/// In virtual time.
@Suite struct RingerTests {
    static let ends: [(String, @Sendable (RingingService) -> Void)] = [
        ("accepted", { $0.person(.accept(callA)) }), ("declined", { $0.person(.decline(callA)) }),
        ("given up by the caller", { $0.person(.cellularRemoteEnded(callA)) }), ("do not disturb", { $0.person(.doNotDisturb(true)) }),
    ]

    @Test(arguments: ends.indices)
    func aCallRingsAtOnceAndIsSilentAtOnce(_ index: Int) throws {
        let service = try RingingService()
        service.person(.cellularIncoming(callA, name: "Ana"))
        service.loop.run(for: .milliseconds(500))
        let speaker = try #require(service.speakers.all.first)
        #expect(speaker.frames.filter(\.self).count >= 45, "half a second of the tone")
        Self.ends[index].1(service)
        let before = speaker.frames.count
        service.loop.run(for: .seconds(10))
        #expect(speaker.frames.count <= before + 1 && speaker.isClosed, "silent after \(Self.ends[index].0)")
        #expect(service.ringing == [.began(call: callA, file: nil), .ended])
        #expect(service.speakers.all.count == 1)
        service.stop()
    }

    @Test func theToneIsOneSecondInFive() throws {
        let service = try RingingService()
        service.person(.cellularIncoming(callA, name: "Ana"))
        service.loop.run(for: .seconds(10))
        let frames = try #require(service.speakers.all.first).frames
        let sounding = frames.filter(\.self).count
        #expect((195...205).contains(sounding), "\(sounding) frames of \(frames.count)")
        #expect(!frames[150..<490].contains(true) && frames[510..<590].contains(true))
        service.stop()
    }

    @Test func aCallThatNobodyTakesIsSilentAfterItsTime() throws {
        let service = try RingingService { $0.service.maxRingTime = .seconds(30) }
        // An app that reports a call, and never ends it.
        let app = try CallServiceClient(path: service.folder.path + "/run/s.sock")
        app.send(.app(.hello(AppDescriptor(bundle: "org.example.one", displayName: "one"))))
        app.send(.app(.registerProvider(1, ProviderConfiguration())))
        app.send(.app(.reportNewIncomingCall(1, 1, call: callA, CallUpdate(remoteHandle: Handle(.generic, "ana")))))
        for _ in 0..<10 { service.loop.run(for: .milliseconds(1)) }
        service.loop.run(for: .seconds(29))
        #expect(service.ringing == [.began(call: callA, file: nil)])
        service.loop.run(for: .seconds(1))
        #expect(service.ringing == [.began(call: callA, file: nil), .ended])
        let speaker = try #require(service.speakers.all.first)
        #expect((2995...3005).contains(speaker.frames.count), "\(speaker.frames.count) frames of 10 ms")
        service.stop()
    }

    @Test func aFileOfTheSettingsIsPlayedAgainAndAgain() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "handset-ring-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.path + "/ring.wav"
        // 100 ms loud, 100 ms quiet.
        let samples = (0..<3200).map { Int16($0 < 1600 ? ($0 / 8 % 2 == 0 ? 8000 : -8000) : 0) }
        try Data(WAVEncoder.file(WAVAudio(rate: 16_000, samples: samples))).write(to: URL(filePath: file))
        let service = try RingingService { $0.ringing?.file = file }
        service.person(.cellularIncoming(callA, name: "Ana"))
        service.loop.run(for: .seconds(2))
        let loud = try #require(service.speakers.all.first).frames.filter(\.self).count
        #expect((90...115).contains(loud), "\(loud) of 200 frames")
        #expect(service.ringing == [.began(call: callA, file: file)])
        service.stop()
    }

    @Test func aFileThatCannotBePlayedGivesTheTone() throws {
        let service = try RingingService { $0.ringing?.file = "/nonexistent/ring.caf" }
        service.person(.cellularIncoming(callA, name: "Ana"))
        service.loop.run(for: .milliseconds(500))
        #expect(try #require(service.speakers.all.first).frames.contains(true))
        guard case .fileFailed(let reason)? = service.ringing.last else {
            Issue.record("\(service.ringing)")
            return
        }
        #expect(reason.contains("/nonexistent/ring.caf"))
        #expect(service.events.all.compactMap(\.code) == ["service.ring-file"])
        service.stop()
    }

    @Test func aFileDeviceHoldsTheSoundAndNothingBehindIt() throws {
        let output = FileManager.default.temporaryDirectory.appending(path: "handset-ring-\(UUID().uuidString.prefix(8)).wav")
        defer { try? FileManager.default.removeItem(at: output) }
        let service = try RingingService { $0.ringing?.device = "file:,\(output.path)" }
        service.person(.cellularIncoming(callA, name: "Ana"))
        service.loop.run(for: .milliseconds(700))
        service.person(.decline(callA))
        service.loop.run(for: .seconds(5))
        service.stop()
        let audio = try WAVAudio(parsing: Array(Data(contentsOf: output)))
        let milliseconds = audio.samples.count * 1000 / audio.rate
        #expect((690...720).contains(milliseconds), "\(milliseconds) ms")
        #expect(audio.samples.filter { $0 > 500 }.count > audio.samples.count / 4)
    }

    @Test func aDeviceThatIsNotThereIsToldOnceAndTheCallGoesOn() throws {
        let service = try RingingService { settings in
            settings.ringing?.devices = { _, _ in BrokenDevice() }
        }
        service.person(.cellularIncoming(callA, name: "Ana"))
        service.loop.run(for: .seconds(5))
        #expect(service.ringing == [.began(call: callA, file: nil), .deviceFailed(reason: "no such device")])
        service.onLoop { #expect($0.screen.calls.map(\.state) == [.ringing]) }
        service.stop()
    }
}

private final class BrokenDevice: SoundDevice {
    func play(_ frame: Span<Int16>) {}
    func capture(_ frame: inout [Int16]) -> Bool { false }
    var state: SoundDeviceState { .failed(reason: "no such device") }
    var figures: SoundDeviceFigures { SoundDeviceFigures() }
    func close() {}
}

/// The joint with the desktop, played by the test.
@Suite struct NotificationScreenTests {
    final class FakeServer: NotificationServer {
        let shown = Mutex<[String: DesktopNotification]>([:])
        let said = Mutex<(@Sendable (NotificationEvent) -> Void)?>(nil)

        func start(_ tell: @escaping @Sendable (NotificationEvent) -> Void) { said.withLock { $0 = tell } }
        func show(_ key: String, _ notification: DesktopNotification) { shown.withLock { $0[key] = notification } }
        func close(_ key: String) { shown.withLock { $0[key] = nil } }
        func stop() { said.withLock { $0 = nil } }
        func press(_ key: String, _ action: String) { said.withLock { $0 }?(.invoked(key: key, action: action)) }
    }

    @Test func aButtonIsThePersonsWish() throws {
        let server = FakeServer()
        let service = try RingingService { $0.notifications = server }
        service.person(.cellularIncoming(callA, name: "Ana"))
        let key = callA.description
        #expect(server.shown.withLock { $0[key]?.summary } == "Ana")
        server.press(key, "dance")
        server.press("another", "accept")
        service.loop.run(for: .zero)
        service.onLoop { #expect($0.screen.calls.map(\.state) == [.ringing]) }
        server.press(key, "accept")
        service.loop.run(for: .zero)
        service.onLoop { #expect($0.screen.calls.map(\.state) == [.active]) }
        #expect(server.shown.withLock { $0.isEmpty })
        server.press(key, "decline")
        service.loop.run(for: .zero)
        service.onLoop { #expect($0.screen.calls.map(\.state) == [.active]) }
        service.stop()
        #expect(server.said.withLock { $0 == nil })
    }
}
