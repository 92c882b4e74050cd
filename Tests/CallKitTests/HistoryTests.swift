// SPDX-License-Identifier: Apache-2.0

@preconcurrency import CallKit
import CallServiceTestKit
import Foundation
@preconcurrency import Intents
import Testing

/// The call history and calling back (docs/callkit.md, T-114 to T-120).
@Suite struct HistoryTests {
    /// Takes each activity and notes what it wants; calls back where told to.
    private func watch(_ app: TestApp, _ events: Events, callsBack: Bool) {
        app.process.run {
            CallActivities.handle { [controller = TestApp.Box(app.controller)] activity in
                let contacts: [INPerson]?
                var isVideo = false
                switch activity.interaction?.intent {
                case let intent as INStartCallIntent:
                    contacts = intent.contacts
                    isVideo = intent.callCapability == .videoCall
                case let intent as INStartVideoCallIntent:
                    contacts = intent.contacts
                    isVideo = true
                case let intent as INStartAudioCallIntent: contacts = intent.contacts
                default: contacts = nil
                }
                let value = contacts?.first?.personHandle?.value ?? "?"
                events.add("\(activity.activityType) \(isVideo ? "video" : "audio") \(value)")
                guard callsBack else { return false }
                let start = CXStartCallAction(call: UUID(), handle: CXHandle(type: .generic, value: value))
                controller.value.requestTransaction(with: start) { _ in }
                return true
            }
        }
    }

    private func ended(_ app: TestApp, handle: CXHandle, isVideo: Bool = false) async throws -> HistoryEntry {
        let call = UUID()
        app.name(call, "A")
        let update = CXCallUpdate()
        update.remoteHandle = handle
        update.hasVideo = isVideo
        try await app.provider.reportNewIncomingCall(with: call, update: update)
        app.provider.reportCall(with: call, endedAt: nil, reason: .remoteEnded)
        await app.system.settle()
        return try #require(app.system.history.last)
    }

    @Test("T-114: without includesCallsInRecents nothing is logged")
    func notInRecents() async throws {
        try await withSystem { system in
            let configuration = TestApp.configuration()
            configuration.includesCallsInRecents = false
            let app = TestApp(system, configuration: configuration)
            await system.settle()
            #expect(await app.report(UUID(), "A") == nil)
            app.provider.invalidate()
            #expect(system.history.isEmpty)
        }
    }

    @Test("T-115, T-117: calling back brings the activity with the very handle, as audio or video; the app makes the call")
    func callBack() async throws {
        for isVideo in [false, true] {
            try await withSystem { system in
                let app = TestApp(system)
                let events = Events()
                watch(app, events, callsBack: true)
                await system.settle()
                let entry = try await ended(app, handle: CXHandle(type: .generic, value: "abc"), isVideo: isVideo)
                #expect(system.calls.isEmpty)
                try await system.user.redial(entry)
                await system.settle()
                #expect(events.all == ["INStartCallIntent \(isVideo ? "video" : "audio") abc"])
                #expect(system.calls.map(\.isOutgoing) == [true])
                system.takePitfalls()
            }
        }
    }

    @Test("T-116: a kind of address that the app does not name cannot be called back, and that is told")
    func noCallBack() async throws {
        try await withSystem { system in
            let configuration = CXProviderConfiguration()
            let app = TestApp(system, configuration: configuration)
            await system.settle()
            let entry = try await ended(app, handle: CXHandle(type: .emailAddress, value: "a@example.net"))
            system.takePitfalls()
            await #expect(throws: UserCommandRefusal.noCallBack) { try await system.user.redial(entry) }
            #expect(system.takePitfalls() == [.configHandleTypes])
        }
    }

    @Test("T-118: the video button of a live call is an activity with its handle; a second call for it is told")
    func videoButton() async throws {
        try await withSystem { system in
            let configuration = TestApp.configuration()
            configuration.supportsVideo = true
            let app = TestApp(system, configuration: configuration)
            let events = Events()
            watch(app, events, callsBack: true)
            await system.settle()
            let call = UUID()
            #expect(await app.report(call, "A", change: { $0.remoteHandle = CXHandle(type: .generic, value: "ada") }) == nil)
            try await system.user.accept(call)
            try await system.user.video(call)
            await system.settle()
            #expect(events.all == ["INStartVideoCallIntent video ada"])
            #expect(system.takePitfalls().contains(.historyVideoConfused))
        }
    }

    @Test("T-119: calling back starts an app that does not run; the activity waits until its provider has begun")
    func coldLaunch() async throws {
        try await withSystem { system in
            let events = Events()
            do {
                let app = TestApp(system, "app.cold")
                await system.settle()
                _ = try await ended(app, handle: CXHandle(type: .generic, value: "abc"))
                await app.process.kill()
            }
            let kept = PushTests.Kept<CXProvider>()
            let delegate = ActionTests.Simple()
            system.install("app.cold") { _ in
                CallActivities.handle { activity in
                    events.add(activity.activityType)
                    return true
                }
                let provider = CXProvider(configuration: TestApp.configuration())
                provider.setDelegate(delegate, queue: nil)
                kept.set(provider)
            }
            try await system.user.redial(try #require(system.history.last))
            await system.settle()
            #expect(system.launched == ["app.cold"])
            #expect(events.all == ["INStartCallIntent"])
            kept.value?.invalidate()
            system.takePitfalls()
        }
    }

    @Test("P-89: an activity that no Start follows is told")
    func activityIgnored() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            watch(app, Events(), callsBack: false)
            await system.settle()
            let entry = try await ended(app, handle: CXHandle(type: .generic, value: "abc"))
            try await system.user.redial(entry)
            await system.advance(by: .seconds(11))
            #expect(system.takePitfalls() == [.historyNotHandled])
        }
    }

    @Test("T-120: an app that dies in a call loses it as failed, and may call again")
    func appDies() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            _ = try await app.answered("A")
            await app.process.kill()
            #expect(system.calls.isEmpty)
            #expect(system.history.map(\.reason) == [.failed])
            let next = TestApp(system)
            await system.settle()
            #expect(await next.start(UUID(), "B") == nil)
            system.takePitfalls()
        }
    }
}
