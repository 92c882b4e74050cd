// SPDX-License-Identifier: Apache-2.0

@preconcurrency import AVFAudio
@preconcurrency import CallKit
import CallProbe
import CallServiceTestKit
import Foundation
import Testing

/// Mute, digits, audio (docs/callkit.md, T-96 to T-112).
@Suite(.serialized) struct AudioTests {
    @Test("T-96: the person mutes: one Muted, and the session stays active")
    func mute() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = try await app.answered("A")
            try await system.user.mute(call)
            #expect(app.events.take() == ["Muted(A,true)"])
            #expect(system.isMuted(call))
            #expect(app.session.isActiveForCall)
        }
    }

    @Test("T-97: asking for Muted while performing it goes round in circles, is told and cut")
    func mutePingPong() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = try await app.answered("A")
            app.onMute = { [controller = TestApp.Box(app.controller)] action in
                controller.value.requestTransaction(with: CXSetMutedCallAction(call: action.callUUID, muted: action.isMuted)) { _ in }
            }
            try await system.user.mute(call)
            await system.settle()
            app.onMute = nil
            #expect(app.events.take().count <= 4)
            #expect(system.takePitfalls().contains(.mutePingPong))
        }
    }

    @Test("T-100: keys pressed quickly come one after another, one digit each")
    func keys() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = try await app.answered("A")
            app.policy.withLock { $0 = { _ in .keep } }
            try await system.user.press("123", in: call)
            for digit in 1...3 {
                #expect(app.events.take() == ["DTMF(A,\(digit),1)"])
                await system.advance(by: .milliseconds(100))
                app.kept(CXPlayDTMFCallAction.self)?.fulfill()
                await system.settle()
            }
            #expect(app.events.take() == [])
        }
    }

    @Test("T-101: digits after a pause are one action")
    func pausedDigits() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = try await app.connected("A")
            try await system.user.act(.pausedDigits(UUIDValue(call.uuidString) ?? UUIDValue(high: 0, low: 0), "42#", .softPause))
            #expect(app.events.take() == ["DTMF(A,42#,2)"])
        }
    }

    @Test("T-102, T-103: digits are invalid where the call denies them, when empty and when they are none")
    func refusedDigits() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = try await app.answered("A")
            for digits in ["Z", ""] {
                #expect(await app.request(CXPlayDTMFCallAction(call: call, digits: digits, type: .singleTone)) == 6)
            }
            let update = CXCallUpdate()
            update.supportsDTMF = false
            app.provider.reportCall(with: call, updated: update)
            #expect(await app.request(CXPlayDTMFCallAction(call: call, digits: "1", type: .singleTone)) == 6)
        }
    }

    @Test("T-104: audio that starts while the call rings is told; in strict mode the activation is lost")
    func audioTooEarly() async throws {
        for mode in [DiagnosticMode.report, .strict] {
            var settings = CallSystem.usualSettings
            settings.mode = mode
            try await withSystem(settings) { system in
                let app = TestApp(system)
                await system.settle()
                let call = UUID()
                #expect(await app.report(call, "A") == nil)
                app.process.run { CallProbe.audioStarted() }
                #expect(system.takePitfalls() == [.audioBeforeActivate])
                try await system.user.accept(call)
                #expect(app.events.take().contains("didActivate") == (mode == .report))
                app.process.run { CallProbe.audioStopped() }
                await system.advance(by: .seconds(2))
                system.takePitfalls()
            }
        }
    }

    @Test("T-105: an app that activates the session for a call is told")
    func selfActivated() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            _ = try await app.answered("A")
            try app.session.setActive(true)
            #expect(system.takePitfalls() == [.audioSelfActivated])
        }
    }

    @Test("T-106: another app's call has priority: setActive throws")
    func insufficientPriority() async throws {
        try await withSystem { system in
            let (one, two) = (TestApp(system, "app.one"), TestApp(system, "app.two"))
            await system.settle()
            _ = try await one.answered("A")
            do {
                try two.session.setActive(true)
                Issue.record("not refused")
            } catch {
                #expect((error as NSError).domain == NSOSStatusErrorDomain)
                #expect((error as NSError).code == AVAudioSession.ErrorCode.insufficientPriority.rawValue)
            }
        }
    }

    @Test("T-107: a call whose category is not for talking is told at the activation")
    func noCategory() async throws {
        try await withSystem { system in
            let provider = system.launch("app").run { CXProvider(configuration: TestApp.configuration()) }
            let simple = ActionTests.Simple()
            provider.setDelegate(simple, queue: nil)
            await system.settle()
            let call = UUID()
            let update = CXCallUpdate()
            update.remoteHandle = CXHandle(type: .generic, value: "ada")
            try await provider.reportNewIncomingCall(with: call, update: update)
            try await system.user.accept(call)
            #expect(system.takePitfalls() == [.audioNoCategory])
            provider.invalidate()
        }
    }

    @Test("T-108, T-110: the route follows the person and the headset, and the call lives")
    func route() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = try await app.answered("A")
            let changes = Events()
            let token = NotificationCenter.default.addObserver(
                forName: AVAudioSession.routeChangeNotification, object: app.session, queue: nil
            ) { note in
                let reason = (note.userInfo?[AVAudioSessionRouteChangeReasonKey] as? UInt).flatMap(AVAudioSession.RouteChangeReason.init)
                let before = note.userInfo?[AVAudioSessionRouteChangePreviousRouteKey] as? AVAudioSessionRouteDescription
                changes.add("\(reason.map { "\($0)" } ?? "?") from \(before?.outputs.first?.portType.rawValue ?? "?")")
            }
            defer { NotificationCenter.default.removeObserver(token) }
            #expect(app.session.currentRoute.outputs.map(\.portType) == [.builtInReceiver])
            try await system.user.speaker()
            #expect(app.session.currentRoute.outputs.map(\.portType) == [.builtInSpeaker])
            try await system.user.act(.headset(isPresent: true))
            #expect(app.session.currentRoute.inputs.map(\.portType) == [.headsetMic])
            try await system.user.act(.headset(isPresent: false))
            #expect(changes.all.prefix(1) == ["override from Receiver"])
            #expect(changes.all.last?.hasPrefix("oldDeviceUnavailable") == true)
            #expect(system.shown(call)?.state == .active)
        }
    }

    @Test("T-109: a port overridden during the call without the person is told")
    func routeForced() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            _ = try await app.answered("A")
            try app.session.overrideOutputAudioPort(.speaker)
            #expect(system.takePitfalls() == [.audioRouteForced])
            await system.settle()
            app.process.run { CallProbe.personActed() }
            try app.session.overrideOutputAudioPort(.none)
        }
    }

    @Test("T-111: after a reset of the media services the app builds its audio anew")
    func mediaServicesReset() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = try await app.answered("A")
            let session = TestApp.Box(app.session)
            let token = NotificationCenter.default.addObserver(
                forName: AVAudioSession.mediaServicesWereResetNotification, object: session.value, queue: nil
            ) { _ in app.events.add("reset, \(session.value.category == .soloAmbient)") }
            defer { NotificationCenter.default.removeObserver(token) }
            try await system.user.act(.mediaServicesReset)
            #expect(app.events.take().contains("reset, true"))
            #expect(system.shown(call)?.state == .active)
            system.takePitfalls()
        }
    }

    @Test("T-112: the last call ends: End, then the session is taken; audio that runs on is told")
    func lastCallEnds() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = try await app.answered("A")
            app.process.run { CallProbe.audioStarted() }
            #expect(await app.request(CXEndCallAction(call: call)) == nil)
            #expect(app.events.take() == ["End(A)", "didDeactivate"])
            await system.advance(by: .seconds(2))
            #expect(system.takePitfalls() == [.audioNotStopped])
        }
    }

    @Test("T-185: a category changed during the call is a remark")
    func categoryDuringCall() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            _ = try await app.answered("A")
            try app.session.setCategory(.playback)
            #expect(system.takePitfalls() == [.audioCategoryDuringCall])
        }
    }

    @Test("T-183: an interruption begins and ends with shouldResume, and the call lives")
    func interruption() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = try await app.answered("A")
            let notes = Events()
            let token = NotificationCenter.default.addObserver(
                forName: AVAudioSession.interruptionNotification, object: app.session, queue: nil
            ) { note in
                let type = (note.userInfo?[AVAudioSessionInterruptionTypeKey] as? UInt).flatMap(AVAudioSession.InterruptionType.init)
                let options = (note.userInfo?[AVAudioSessionInterruptionOptionKey] as? UInt).map(AVAudioSession.InterruptionOptions.init)
                notes.add("\(type.map { "\($0)" } ?? "?") \(options?.contains(.shouldResume) ?? false)")
            }
            defer { NotificationCenter.default.removeObserver(token) }
            try await system.user.act(.interruption(began: true, shouldResume: false))
            try await system.user.act(.interruption(began: false, shouldResume: true))
            #expect(notes.all == ["began false", "ended true"])
            #expect(system.shown(call)?.state == .active)
        }
    }

    @Test("T-184: without the microphone's permission the call connects all the same")
    func noMicrophone() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            app.session.setPermission(.denied)
            #expect(app.process.run { AVAudioApplication.shared.recordPermission } == .denied)
            #expect(await app.process.run { await AVAudioApplication.requestRecordPermission() } == false)
            let call = try await app.answered("A")
            #expect(system.shown(call)?.state == .active)
        }
    }
}
