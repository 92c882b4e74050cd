// SPDX-License-Identifier: Apache-2.0

@preconcurrency import CallKit
import CallProbe
import CallServiceTestKit
import Foundation
@preconcurrency import PushKit
import Synchronization
import Testing

/// Pushes (docs/callkit.md, T-121 to T-140).
@Suite struct PushTests {
    /// An app that lives by pushes: made by its process's start.
    final class PushApp: NSObject, CXProviderDelegate, PKPushRegistryDelegate, @unchecked Sendable {
        let events = Events()
        let provider: CXProvider
        let registry: PKPushRegistry
        /// What the handler does; nil: it reports the call of the payload.
        var handler: (@Sendable (PushApp, PKPushPayload, @escaping @Sendable () -> Void) -> Void)?

        /// Without `isRegistered` the test says when.
        init(isRegistered: Bool = true) {
            provider = CXProvider(configuration: TestApp.configuration())
            registry = PKPushRegistry(queue: nil)
            super.init()
            provider.setDelegate(self, queue: nil)
            registry.delegate = self
            if isRegistered { registry.desiredPushTypes = [.voIP] }
        }

        func providerDidReset(_ provider: CXProvider) {}
        func provider(_ provider: CXProvider, perform action: CXAnswerCallAction) { action.fulfill() }
        func provider(_ provider: CXProvider, perform action: CXEndCallAction) { action.fulfill() }

        func pushRegistry(_ registry: PKPushRegistry, didUpdate pushCredentials: PKPushCredentials, for type: PKPushType) {
            events.add("token \(pushCredentials.token == registry.pushToken(for: type)) \(type == .voIP)")
        }
        func pushRegistry(_ registry: PKPushRegistry, didInvalidatePushTokenFor type: PKPushType) {
            events.add("invalid \(registry.pushToken(for: type) == nil)")
        }
        func pushRegistry(
            _ registry: PKPushRegistry, didReceiveIncomingPushWith payload: PKPushPayload, for type: PKPushType,
            completion: @escaping @Sendable () -> Void
        ) {
            events.add("push \(payload.dictionaryPayload["call"] as? String ?? "?")")
            if let handler { return handler(self, payload, completion) }
            report(payload) { _ in completion() }
        }

        func report(_ payload: PKPushPayload, then: @escaping @Sendable ((any Error)?) -> Void) {
            let call = (payload.dictionaryPayload["call"] as? String).flatMap { UUID(uuidString: $0) } ?? UUID()
            let update = CXCallUpdate()
            update.remoteHandle = CXHandle(type: .generic, value: payload.dictionaryPayload["from"] as? String ?? "unknown")
            provider.reportNewIncomingCall(with: call, update: update) { [events] error in
                events.add("reported \((error as NSError?)?.code ?? 0)")
                then(error)
            }
        }
    }

    /// What an app's start made and a test looks at.
    final class Kept<Value: AnyObject>: Sendable {
        private let box = Mutex<TestApp.Box<Value?>>(TestApp.Box(nil))
        func set(_ value: Value?) {
            let new = TestApp.Box(value)
            box.withLock { $0 = new }
        }
        var value: Value? { box.withLock { $0 }.value }
    }

    private static let payload: @Sendable (UUID) -> [String: Any] = { ["aps": [String: String](), "call": $0.uuidString, "from": "ada"] }

    /// An app in the background that is registered.
    private func background(
        _ system: CallSystem, handler: (@Sendable (PushApp, PKPushPayload, @escaping @Sendable () -> Void) -> Void)? = nil
    ) async -> PushApp {
        let process = system.launch("app") { $0.isForeground = false }
        let app = process.run { PushApp() }
        app.handler = handler
        await system.settle()
        _ = app.events.take()
        return app
    }

    @Test("T-121, T-124, T-125: the token comes, changes and is taken back")
    func token() async throws {
        try await withSystem { system in
            let app = system.launch("app").run { PushApp() }
            await system.settle()
            #expect(app.events.take() == ["token true true"])
            let first = app.registry.pushToken(for: .voIP)
            await system.changePushToken(of: "app")
            #expect(app.events.take() == ["token true true"])
            #expect(app.registry.pushToken(for: .voIP) != first)
            await system.invalidatePushToken(of: "app")
            #expect(app.events.take() == ["invalid true"])
        }
    }

    @Test("T-122: types before the delegate are told")
    func typesBeforeDelegate() async throws {
        try await withSystem { system in
            let registry = system.launch("app").run { PKPushRegistry(queue: nil) }
            registry.desiredPushTypes = [.voIP]
            await system.settle()
            #expect(system.takePitfalls() == [.pushRegistryLost])
            withExtendedLifetime(registry) {}
            system.takePitfalls()
        }
    }

    @Test("T-123: the text form of a token is two lower-case digits an octet; another form is told")
    func tokenText() async throws {
        try await withSystem { system in
            let process = system.launch("app")
            let text = Data([0x00, 0x0f, 0xa0, 0xff]).map { String(format: "%02x", $0) }.joined()
            #expect(text == "000fa0ff")
            process.run { CallProbe.tokenUploaded(text) }
            #expect(system.takePitfalls() == [])
            process.run { CallProbe.tokenUploaded("<000fa0ff>") }
            #expect(system.takePitfalls() == [.pushTokenFormat])
        }
    }

    @Test("T-126: a push whose handler reports in line rings, and nothing is told")
    func reportedInLine() async throws {
        try await withSystem { system in
            let app = await background(system)
            let call = UUID()
            #expect(system.push(Self.payload(call), to: "app") == .delivered)
            await system.settle()
            #expect(app.events.take() == ["push \(call.uuidString)", "reported 0"])
            #expect(system.screen.ringing?.call == UUIDValue(call.uuidString))
            await system.advance(by: .seconds(40))
            app.provider.reportCall(with: call, endedAt: nil, reason: .unanswered)
        }
    }

    @Test("T-127: a report from another queue, after the handler's return, comes too late; strict ends the process")
    func reportedLate() async throws {
        for mode in [DiagnosticMode.report, .strict] {
            var settings = CallSystem.usualSettings
            settings.mode = mode
            try await withSystem(settings) { system in
                let process = system.launch("app") { $0.isForeground = false }
                let app = process.run { PushApp() }
                app.handler = { app, payload, completion in
                    let box = TestApp.Box(payload)
                    process.link.after(0.5, on: DispatchQueue(label: "database")) { app.report(box.value) { _ in completion() } }
                }
                await system.settle()
                system.push(Self.payload(UUID()), to: "app")
                await system.advance(by: .seconds(1))
                let pitfalls = system.takePitfalls()
                #expect(pitfalls.first == .pushNotReported)
                #expect(process.isTerminated == (mode == .strict))
                if mode == .report { #expect(pitfalls.contains(.pushReportedLate)) }
            }
        }
    }

    @Test("T-128: a push without a report is told at the handler's return; strict ends the process")
    func notReported() async throws {
        for mode in [DiagnosticMode.report, .strict] {
            var settings = CallSystem.usualSettings
            settings.mode = mode
            try await withSystem(settings) { system in
                let process = system.launch("app") { $0.isForeground = false }
                let app = process.run { PushApp() }
                app.handler = { _, _, completion in completion() }
                await system.settle()
                system.push(Self.payload(UUID()), to: "app")
                await system.settle()
                #expect(system.takePitfalls() == [.pushNotReported])
                #expect(process.terminationReason?.pitfall == (mode == .strict ? .pushNotReported : nil))
            }
        }
    }

    @Test("T-129: in the foreground a push without a report is no fault")
    func foreground() async throws {
        try await withSystem { system in
            let app = system.launch("app").run { PushApp() }
            app.handler = { _, _, completion in completion() }
            await system.settle()
            system.push(Self.payload(UUID()), to: "app")
            await system.advance(by: .seconds(40))
        }
    }

    @Test("T-130: after three failures nothing is delivered any more, until the app is installed anew")
    func deliveryStops() async throws {
        var settings = CallSystem.usualSettings
        settings.voipFailureLimit = 3
        try await withSystem(settings) { system in
            let app = await background(system) { _, _, completion in completion() }
            for _ in 0..<3 {
                system.push(Self.payload(UUID()), to: "app")
                await system.settle()
            }
            #expect(system.push(Self.payload(UUID()), to: "app") == .stopped)
            #expect(system.takePitfalls().last == .pushDeliveryStopped)
            #expect(app.events.take().count == 3)
            system.reinstall("app")
            #expect(system.push(Self.payload(UUID()), to: "app") == .delivered)
            await system.settle()
            system.takePitfalls()
        }
    }

    @Test("T-131: a report that Do Not Disturb refuses counts; without its completion the push is told")
    func doNotDisturb() async throws {
        try await withSystem { system in
            try await system.user.doNotDisturb()
            let app = await background(system) { app, payload, completion in
                app.report(payload) { error in if error == nil { completion() } }
            }
            system.push(Self.payload(UUID()), to: "app")
            await system.settle()
            #expect(app.events.take().last == "reported 3")
            await system.advance(by: .seconds(31))
            #expect(system.takePitfalls() == [.pushCompletionMissing])
        }
    }

    @Test("T-132, T-135: a push for a call that is over is reported and ended at once")
    func callIsOver() async throws {
        for reason in [CXCallEndedReason.remoteEnded, .unanswered] {
            try await withSystem { system in
                let app = await background(system) { app, payload, completion in
                    let call = (payload.dictionaryPayload["call"] as? String).flatMap { UUID(uuidString: $0) } ?? UUID()
                    app.report(payload) { _ in completion() }
                    app.provider.reportCall(with: call, endedAt: nil, reason: reason)
                }
                system.push(Self.payload(UUID()), to: "app")
                await system.settle()
                #expect(system.calls.isEmpty && system.screen.ringing == nil)
                #expect(system.history.map(\.outcome) == [.missed])
                withExtendedLifetime(app) {}
            }
        }
    }

    @Test("T-133: a payload that says nothing is reported by a placeholder and ended as failed")
    func malformed() async throws {
        try await withSystem { system in
            let app = await background(system) { app, _, completion in
                let call = UUID()
                let update = CXCallUpdate()
                update.remoteHandle = CXHandle(type: .generic, value: "unknown")
                app.provider.reportNewIncomingCall(with: call, update: update) { _ in completion() }
                app.provider.reportCall(with: call, endedAt: nil, reason: .failed)
            }
            #expect(system.push(octets: Array("{\"x\":[1,{\"call\":null}]}".utf8), to: "app") == .delivered)
            await system.settle()
            #expect(system.calls.isEmpty)
            #expect(system.push(octets: Array("nonsense".utf8), to: "app") == .badPayload)
            withExtendedLifetime(app) {}
        }
    }

    @Test("T-194: a VoIP push for anything but a call is refused, and not delivered")
    func pushForNoCall() async throws {
        try await withSystem { system in
            let app = await background(system)
            for content in [["alert": "hi"], ["content-available": 1], ["badge": 3]] as [[String: any Sendable]] {
                #expect(system.push(["aps": content], to: "app") == .notACall)
            }
            await system.settle()
            #expect(app.events.all.filter { $0.hasPrefix("push") } == [])
        }
    }

    @Test("T-134: one call by push and by connection is one call, whichever comes first")
    func twoWays() async throws {
        try await withSystem { system in
            let app = await background(system)
            let call = UUID()
            system.push(Self.payload(call), to: "app")
            await system.settle()
            let update = CXCallUpdate()
            update.remoteHandle = CXHandle(type: .generic, value: "ada")
            await #expect(throws: CXErrorCodeIncomingCallError(.callUUIDAlreadyExists)) {
                try await app.provider.reportNewIncomingCall(with: call, update: update)
            }
            #expect(system.calls.count == 1)
            let other = UUID()
            try await app.provider.reportNewIncomingCall(with: other, update: update)
            _ = app.events.take()
            system.push(Self.payload(other), to: "app")
            await system.settle()
            #expect(app.events.take().last == "reported 2")
            #expect(system.calls.count == 2)
            system.takePitfalls()
        }
    }

    @Test("T-136: the push starts an app that does not run, and the report works")
    func startsTheApp() async throws {
        try await withSystem { system in
            let holder = Kept<PushApp>()
            // The app ran once, so that it is registered.
            let first = system.launch("app") { $0.isForeground = false }
            var early: PushApp? = first.run { PushApp() }
            await system.settle()
            #expect(early?.events.all.count == 1)
            await first.kill()
            early = nil
            system.install("app") { _ in holder.set(PushApp()) }
            let call = UUID()
            #expect(system.push(Self.payload(call), to: "app") == .appStarted)
            await system.settle()
            #expect(system.launched == ["app"])
            #expect(system.screen.ringing?.call == UUIDValue(call.uuidString))
            holder.value?.provider.reportCall(with: call, endedAt: nil, reason: .remoteEnded)
        }
    }

    @Test("T-137: six seconds of start-up work before the registry are too long")
    func slowLaunch() async throws {
        try await withSystem { system in
            let first = system.launch("app") { $0.isForeground = false }
            let early = first.run { PushApp() }
            await system.settle()
            await first.kill()
            withExtendedLifetime(early) {}
            let holder = Kept<PushApp>()
            system.install("app") { app in
                app.link.after(6, on: .main) { holder.set(PushApp()) }
            }
            let call = UUID()
            system.push(Self.payload(call), to: "app")
            await system.advance(by: .seconds(7))
            #expect(system.takePitfalls().contains(.pushSlowLaunch))
            holder.value?.provider.reportCall(with: call, endedAt: nil, reason: .remoteEnded)
        }
    }

    class Form: NSObject, PKPushRegistryDelegate, @unchecked Sendable {
        let events = Events()
        func pushRegistry(_ registry: PKPushRegistry, didUpdate pushCredentials: PKPushCredentials, for type: PKPushType) {}
    }

    final class Oldest: NSObject, PKPushRegistryDelegate, @unchecked Sendable {
        let events = Events()
        func pushRegistry(_ registry: PKPushRegistry, didUpdate pushCredentials: PKPushCredentials, for type: PKPushType) {}
        func pushRegistry(_ registry: PKPushRegistry, didReceiveIncomingPushWith payload: PKPushPayload, for type: PKPushType) {
            events.add("oldest")
        }
    }

    final class Newest: NSObject, PKPushRegistryDelegate, @unchecked Sendable {
        let events = Events()
        func pushRegistry(_ registry: PKPushRegistry, didUpdate pushCredentials: PKPushCredentials, for type: PKPushType) {}
        func pushRegistry(
            _ registry: PKPushRegistry, didReceiveIncomingVoIPPushWith payload: PKPushPayload, metadata: PKVoIPPushMetadata,
            withCompletionHandler completion: @escaping @Sendable () -> Void
        ) {
            events.add("newest \(metadata.mustReport)")
            completion()
        }
    }

    @Test("T-138: of three forms of the handler the one that is written is called exactly once")
    func forms() async throws {
        try await withSystem { system in
            let (oldest, newest, none) = (Oldest(), Newest(), Form())
            var registries: [PKPushRegistry] = []
            for (bundle, delegate) in [("old", oldest), ("new", newest), ("none", none)] as [(String, any PKPushRegistryDelegate)] {
                let registry = system.launch(bundle).run { PKPushRegistry(queue: nil) }
                registry.delegate = delegate
                registry.desiredPushTypes = [.voIP]
                registries.append(registry)
                await system.settle()
                system.push(Self.payload(UUID()), to: bundle)
                await system.advance(by: .seconds(40))
            }
            #expect(oldest.events.all == ["oldest"])
            #expect(newest.events.all == ["newest false"])
            registries = []
            await system.settle()
            system.takePitfalls()
        }
    }

    @Test("T-139: a completion that is not called within half a minute is told")
    func completionMissing() async throws {
        try await withSystem { system in
            let app = await background(system) { app, payload, _ in app.report(payload) { _ in } }
            let call = UUID()
            system.push(Self.payload(call), to: "app")
            await system.advance(by: .seconds(31))
            #expect(system.takePitfalls() == [.pushCompletionMissing])
            app.provider.reportCall(with: call, endedAt: nil, reason: .unanswered)
        }
    }

    @Test("T-140: reporting the call that is known satisfies a second push")
    func knownCall() async throws {
        try await withSystem { system in
            let app = await background(system)
            let call = UUID()
            system.push(Self.payload(call), to: "app")
            await system.settle()
            try await system.user.accept(call)
            system.takePitfalls()
            system.push(Self.payload(call), to: "app")
            await system.advance(by: .seconds(40))
            #expect(app.events.take().last == "reported 2")
            system.takePitfalls()
        }
    }
}
