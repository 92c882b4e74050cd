// SPDX-License-Identifier: Apache-2.0

@preconcurrency import CallKit
import CallProbe
import CallServiceTestKit
import Foundation
import Testing

/// Further cases (docs/callkit.md, T-167 to T-181).
@Suite struct FurtherTests {
    @Test("T-168: an End for a call that the service does not know never reaches the app")
    func unknownEnd() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            await #expect(throws: UserCommandRefusal.unknownCall) { try await system.user.end(UUID()) }
            #expect(app.events.take() == ["begin"])
        }
    }

    @Test("T-169: a call of the app's earlier run is found in the observer and ended by request")
    func leftover() async throws {
        var settings = CallSystem.usualSettings
        settings.keepsCallsOfLostApps = true
        try await withSystem(settings) { system in
            let first = TestApp(system)
            await system.settle()
            _ = try await first.answered("A")
            await first.process.kill()
            let next = TestApp(system)
            await system.settle()
            let found = next.observer.calls
            #expect(found.count == 1)
            for call in found { #expect(await next.request(CXEndCallAction(call: call.uuid)) == nil) }
            #expect(system.calls.isEmpty)
            #expect(await next.start(UUID(), "B") == nil)
            system.takePitfalls()
        }
    }

    @Test("T-174: of two actions one may be done and the other fail")
    func notAtomic() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = try await app.answered("A")
            app.policy.withLock { $0 = { $0 is CXSetMutedCallAction ? .fail : .fulfil } }
            #expect(await app.request(CXSetHeldCallAction(call: call, onHold: true), CXSetMutedCallAction(call: call, muted: true)) == nil)
            #expect(system.shown(call)?.state == .held)
            #expect(!system.isMuted(call))
            #expect(app.provider.pendingTransactions.isEmpty)
        }
    }

    @Test("T-175: the app's wish and the person's look the same to the provider")
    func sameCallbacks() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = try await app.answered("A")
            #expect(await app.request(CXSetHeldCallAction(call: call, onHold: true)) == nil)
            #expect(await app.request(CXSetHeldCallAction(call: call, onHold: false)) == nil)
            let byApp = app.events.take()
            try await system.user.hold(call)
            try await system.user.resume(call)
            #expect(app.events.take() == byApp)
        }
    }

    @Test("T-178: hasVideo of an update shows on the screen and in the history")
    func becomesVideo() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = try await app.answered("A")
            let update = CXCallUpdate()
            update.hasVideo = true
            app.provider.reportCall(with: call, updated: update)
            #expect(system.shown(call)?.isVideo == true)
            app.provider.reportCall(with: call, endedAt: nil, reason: .remoteEnded)
            #expect(system.history.last?.isVideo == true)
        }
    }

    @Test("T-179 (our choice): translating needs the configuration and a connected call")
    func translating() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = try await app.answered("A")
            func translate() -> CXAction {
                CXSetTranslatingCallAction(call: call, isTranslating: true, localLanguage: "it", remoteLanguage: "en")
            }
            #expect(await app.request(translate()) == 6)
            let configuration = app.provider.configuration
            configuration.supportsAudioTranslation = true
            app.provider.configuration = configuration
            #expect(await app.request(translate()) == nil)
            #expect(system.takePitfalls() == [.actionNotImplemented])
        }
    }

    @Test("T-180 (our choice): a ringtone that is not there is told, and the system's rings")
    func missingRingtone() async throws {
        try await withSystem { system in
            let configuration = TestApp.configuration()
            configuration.ringtoneSound = "nowhere.caf"
            let app = TestApp(system, configuration: configuration)
            await system.settle()
            let call = UUID()
            #expect(await app.report(call, "A") == nil)
            #expect(system.screen.ringing == Ringing(call: UUIDValue(high: 0, low: 0)) || system.screen.ringing?.path == nil)
            #expect(system.takePitfalls().contains(.configRingtoneMissing))
        }
    }

    @Test("T-181: the video button is there when the app supports video")
    func videoButton() async throws {
        for isSupported in [false, true] {
            try await withSystem { system in
                let configuration = TestApp.configuration()
                configuration.supportsVideo = isSupported
                let app = TestApp(system, configuration: configuration)
                await system.settle()
                let call = try await app.answered("A")
                #expect(system.user.offers(call).contains(.video) == isSupported)
            }
        }
    }

    @Test("T-98: a late Muted after the end is fulfilled, and nothing happens")
    func lateMute() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = try await app.answered("A")
            app.policy.withLock { $0 = { $0 is CXSetMutedCallAction ? .keep : .fulfil } }
            #expect(await app.request(CXSetMutedCallAction(call: call, muted: false)) == nil)
            app.provider.reportCall(with: call, endedAt: nil, reason: .remoteEnded)
            await system.settle()
            app.kept(CXSetMutedCallAction.self)?.fulfill()
            #expect(system.takePitfalls() == [.actionCompletedAfterEnd])
            #expect(system.calls.isEmpty)
        }
    }

    @Test("T-95: a headset's odd order of actions leaves the held call active")
    func headsetOrder() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let first = try await app.answered("A")
            let (second, third) = (UUID(), UUID())
            #expect(await app.report(second, "B") == nil)
            try await system.user.holdAndAccept(second)
            #expect(await app.report(third, "C") == nil)
            _ = app.events.take()
            try await system.user.endAndAccept(third)
            try await system.user.end(third)
            #expect(app.events.take() == ["End(B)", "Answer(C)", "End(C)", "Held(A,false)"])
            #expect(system.shown(first)?.state == .active)
            #expect(system.calls.count == 1)
        }
    }

    @Test("T-99: mute belongs to its call: the accepted one is not muted, and muting it is told")
    func muteStaysWithItsCall() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let first = try await app.answered("A")
            let second = UUID()
            #expect(await app.report(second, "B") == nil)
            try await system.user.mute(first)
            try await system.user.holdAndAccept(second)
            #expect(!system.isMuted(second) && system.isMuted(first))
            app.process.run { CallProbe.microphone(second, isSending: false) }
            #expect(system.takePitfalls() == [.muteWrongCall])
        }
    }

    @Test("T-113: whatever the person does, audio alternates, and every action is completed", arguments: 1...12)
    func randomOrder(seed: UInt64) async throws {
        let system = CallSystem(seed: seed)
        let app = TestApp(system)
        await system.settle()
        var random = seed
        func choose(_ count: Int) -> Int {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(random >> 33) % max(1, count)
        }
        for step in 0..<40 {
            let calls = system.screen.calls.compactMap { UUID(uuidString: $0.uuid.description) }
            if calls.count < 2, choose(3) == 0 {
                _ = await app.report(UUID(), "c\(step)")
            } else if !calls.isEmpty {
                let call = calls[choose(calls.count)]
                let offers = system.user.offers(call)
                let name = UUIDValue(call.uuidString) ?? UUIDValue(high: 0, low: 0)
                switch offers.isEmpty ? nil : offers[choose(offers.count)] {
                case .accept: try await system.user.accept(call)
                case .decline: try await system.user.decline(call)
                case .endAndAccept: try await system.user.endAndAccept(call)
                case .holdAndAccept: try await system.user.holdAndAccept(call)
                case .endHeldAndAccept: try await system.user.endHeldAndAccept(call)
                case .end: try await system.user.end(call)
                case .hold: try await system.user.act(.hold(name, true))
                case .resume: try await system.user.act(.hold(name, false))
                case .swap: try await system.user.swap()
                case .merge: try await system.user.merge()
                case .split: try await system.user.split(call)
                case .mute: try await system.user.mute(call, choose(2) == 0)
                case .keypad: try await system.user.press("5", in: call)
                case .video, nil: app.provider.reportCall(with: call, endedAt: nil, reason: .remoteEnded)
                }
            }
            #expect(system.pendingActions == 0)
            #expect(app.observer.calls.allSatisfy { !$0.hasEnded })
            #expect(app.observer.calls.count == system.calls.count)
        }
        let audio = app.events.all.filter { $0.hasPrefix("did") }
        #expect(zip(audio, audio.dropFirst()).allSatisfy { $0 != $1 }, "\(audio)")
        #expect(audio.first != "didDeactivate")
        app.provider.invalidate()
    }

    @Test("T-176: an automatic answer is a request like any other; refused, the call rings on")
    func automaticAnswer() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = UUID()
            #expect(await app.report(call, "A") == nil)
            #expect(await app.request(CXAnswerCallAction(call: call), CXEndCallAction(call: UUID())) == 4)
            #expect(system.shown(call)?.state == .ringing)
            #expect(system.takePitfalls() == [.requestUnknownCall])
            #expect(await app.request(CXAnswerCallAction(call: call)) == nil)
            #expect(app.events.take() == ["begin", "Answer(A)", "didActivate"])
        }
    }

    @Test("T-195: a voice call is heard at the ear, by headset where there is one")
    func defaultRoutes() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            _ = try await app.answered("A")
            #expect(app.session.currentRoute.outputs.map(\.portType) == [.builtInReceiver])
            try await system.user.act(.headset(isPresent: true))
            #expect(app.session.currentRoute.outputs.map(\.portType) == [.headphones])
        }
    }
}
