// SPDX-License-Identifier: Apache-2.0

@preconcurrency import CallKit
import CallServiceTestKit
import Foundation
import Testing

/// Providers and their configuration (docs/callkit.md, T-1 to T-7, T-23 to T-25, T-27, T-193).
@Suite struct ProviderTests {
    @Test("T-1: a delegate set in the same turn hears providerDidBegin exactly once")
    func beginsOnce() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.advance(by: .seconds(3))
            #expect(app.events.all == ["begin"])
        }
    }

    @Test("T-2: a delegate set after the registration misses providerDidBegin; an incoming report works all the same")
    func missedBegin() async throws {
        var settings = CallSystem.usualSettings
        settings.registrationDelay = .zero
        try await withSystem(settings) { system in
            let app = TestApp(system)
            await system.settle()
            #expect(app.events.all == [])
            #expect(system.takePitfalls() == [.providerDelegateLate])
            #expect(await app.report(UUID(), "A") == nil)
        }
    }

    /// A delegate that notes the queue it is called on.
    final class QueueNote: NSObject, CXProviderDelegate, @unchecked Sendable {
        let key = DispatchSpecificKey<String>()
        let events = Events()
        override init() { DispatchQueue.main.setSpecific(key: key, value: "main") }
        private var place: String { DispatchQueue.getSpecific(key: key) ?? "elsewhere" }
        func providerDidReset(_ provider: CXProvider) {}
        func providerDidBegin(_ provider: CXProvider) { events.add("begin \(place)") }
        func provider(_ provider: CXProvider, perform action: CXAnswerCallAction) {
            events.add("answer \(place)")
            action.fulfill()
        }
        func completed() { events.add("completion \(place)") }
    }

    @Test("T-3: without a queue the delegate is called on the main one")
    func mainQueue() async throws {
        try await withSystem { system in
            let note = QueueNote()
            let provider = system.launch("app").run { CXProvider(configuration: CXProviderConfiguration()) }
            provider.setDelegate(note, queue: nil)
            await system.settle()
            #expect(note.events.all == ["begin main"])
        }
    }

    @Test("T-1: a delegate set in the turn of the main queue that made the provider is not late, however fast the service is")
    func fastService() async throws {
        var settings = CallSystem.usualSettings
        settings.registrationDelay = .zero
        try await withSystem(settings) { system in
            let note = QueueNote()
            let process = system.launch("app")
            let provider = await MainActor.run {
                process.run {
                    let provider = CXProvider(configuration: CXProviderConfiguration())
                    provider.setDelegate(note, queue: nil)
                    return TestApp.Box(provider)
                }
            }
            await system.settle()
            #expect(note.events.all == ["begin main"])
            #expect(system.takePitfalls() == [])
            provider.value.invalidate()
        }
    }

    @Test("T-4: callbacks and the completion of a report come on the queue that the app gave")
    func ownQueue() async throws {
        try await withSystem { system in
            let note = QueueNote()
            let queue = DispatchQueue(label: "own")
            queue.setSpecific(key: note.key, value: "own")
            let provider = system.launch("app").run { CXProvider(configuration: TestApp.configuration()) }
            provider.setDelegate(note, queue: queue)
            let call = UUID()
            let update = CXCallUpdate()
            update.remoteHandle = CXHandle(type: .generic, value: "ada")
            provider.reportNewIncomingCall(with: call, update: update) { _ in note.completed() }
            await system.settle()
            try await system.user.accept(call)
            #expect(note.events.all == ["completion own", "begin own", "answer own"])
            system.takePitfalls()
        }
    }

    @Test("T-5: a delegate that nobody holds is gone; the answered call ends as failed, without a crash")
    func lostDelegate() async throws {
        try await withSystem { system in
            let call = UUID()
            let provider = system.launch("app").run { CXProvider(configuration: TestApp.configuration()) }
            var note: QueueNote? = QueueNote()
            provider.setDelegate(note, queue: nil)
            let update = CXCallUpdate()
            update.remoteHandle = CXHandle(type: .generic, value: "ada")
            try await provider.reportNewIncomingCall(with: call, update: update)
            await system.settle()
            #expect(note?.events.all == ["begin main"])
            note = nil
            try await system.user.accept(call)
            #expect(system.takePitfalls() == [.providerNoDelegate])
            await system.advance(by: .seconds(61))
            #expect(system.calls.isEmpty)
            #expect(system.history.map(\.reason) == [.failed])
            #expect(system.takePitfalls() == [.actionUnanswered])
        }
    }

    @Test("T-7: a configuration counts when it is assigned, not when its object changes")
    func configurationIsCopied() async throws {
        try await withSystem { system in
            let configuration = TestApp.configuration()
            let app = TestApp(system, configuration: configuration)
            await system.settle()
            configuration.includesCallsInRecents = false
            let first = UUID()
            #expect(await app.report(first, "A") == nil)
            #expect(system.takePitfalls() == [.configRingtoneStale])
            app.provider.reportCall(with: first, endedAt: nil, reason: .remoteEnded)
            #expect(system.history.count == 1)
            app.provider.configuration = configuration
            let second = UUID()
            #expect(await app.report(second, "B") == nil)
            app.provider.reportCall(with: second, endedAt: nil, reason: .remoteEnded)
            #expect(system.history.count == 1)
            #expect(!app.provider.configuration.includesCallsInRecents)
        }
    }

    @Test("T-23 (our choice): when the service restarts, the provider is reset, its calls are gone and it begins again")
    func serviceRestarts() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            _ = try await app.answered("A")
            await system.restart()
            #expect(app.events.take() == ["didDeactivate", "reset", "begin"] || app.events.all.isEmpty)
            #expect(system.calls.isEmpty)
            #expect(app.observer.calls.isEmpty)
            #expect(await app.start(UUID(), "B") == nil)
            system.takePitfalls()
        }
    }

    @Test("T-24: without automatic registration requests are unknownCallProvider until a provider is made anew")
    func noAutomaticRegistration() async throws {
        var settings = CallSystem.usualSettings
        settings.registersAgainAfterReset = false
        try await withSystem(settings) { system in
            let app = TestApp(system)
            await system.settle()
            await system.restart()
            for _ in 0..<3 { #expect(await app.start(UUID(), "A") == 2) }
            #expect(system.takePitfalls().contains(.providerDeadAfterReset))
            app.provider.invalidate()
            let next = app.process.run { CXProvider(configuration: TestApp.configuration()) }
            next.setDelegate(app, queue: nil)
            await system.settle()
            #expect(await app.start(UUID(), "A") == nil)
            system.takePitfalls()
            next.invalidate()
        }
    }

    @Test("T-25: invalidate ends the calls as failed, tells observers, and no time-out comes later")
    func invalidateEndsCalls() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = try await app.answered("A")
            app.policy.withLock { $0 = { _ in .keep } }
            #expect(await app.request(CXSetMutedCallAction(call: call, muted: true)) == nil)
            _ = app.events.take()
            app.provider.invalidate()
            await system.advance(by: .seconds(30))
            #expect(app.observed.take() == ["A incoming connected ended"])
            #expect(system.history.map(\.reason) == [.failed])
            #expect(app.events.all == [])
            #expect(system.takePitfalls().allSatisfy { $0 != .actionUnanswered })
        }
    }

    @Test("T-27: a second provider in one process is told")
    func secondProvider() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let second = app.process.run { CXProvider(configuration: TestApp.configuration()) }
            #expect(system.takePitfalls() == [.providerMultiple])
            second.invalidate()
        }
    }

    @Test("P-27: a provider released without invalidate is told")
    func releasedProvider() async throws {
        try await withSystem { system in
            let process = system.launch("app")
            process.run { _ = CXProvider(configuration: TestApp.configuration()) }
            await system.settle()
            #expect(system.takePitfalls() == [.providerNotInvalidated])
        }
    }

    @Test("P-78: a push registry that is let go of is told")
    func releasedRegistry() async throws {
        let system = CallSystem()
        var app: PushTests.PushApp? = system.launch("app").run { PushTests.PushApp() }
        await system.settle()
        #expect(app?.events.all.count == 1)
        app?.provider.invalidate()
        app = nil
        await system.settle()
        #expect(system.takePitfalls() == [.pushRegistryLost])
    }

    @Test("T-193: a payload handed over by an ordinary process is refused at once, once")
    func payloadWithoutEntitlement() async throws {
        let system = CallSystem()
        let answers = Events()
        system.launch("app").run {
            CXProvider.reportNewIncomingVoIPPushPayload(["call": "1"]) { error in
                answers.add("\((error as? CXErrorCodeNotificationServiceExtensionError)?.code.rawValue ?? -1)")
            }
            answers.add("returned")
        }
        #expect(answers.all == ["2", "returned"])
    }
}
