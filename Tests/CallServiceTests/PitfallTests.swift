// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import Essentials
import Testing

/// Each mistake is committed and told by its code: pitfalls of actions, requests and providers (callkit §3, P-1 to P-34).
@Suite struct PitfallTests {
    @Test func P1_anActionNobodyCompletes() {
        system(expecting: [.actionUnanswered]) { system in
            let app = system.app()
            app.takeCall(callA)
            app.decide = { _ in nil }
            system.person(.end(callA))
            system.pass(.seconds(5))
            #expect(system.machine.snapshots == [])
        }
    }

    @Test func P2_anActionThatIsLetGo() {
        system(expecting: [.actionAbandoned]) { system in
            let app = system.app()
            app.decide = { _ in nil }
            app.takeCall(callA)
            app.say(.actionAbandoned(app.held[0].uuid))
        }
    }

    @Test func P3_aCompletionAfterTheTimeOut() {
        system(expecting: [.actionUnanswered, .actionCompletedAfterTimeout]) { system in
            let app = system.app()
            app.takeCall(callA)
            app.decide = { _ in nil }
            app.request((callA, .setMuted(true)))
            let action = app.held[0]
            system.pass(.seconds(5))
            app.say(.completionIgnored(action.uuid, .failed))
        }
    }

    @Test func P4_aSecondCompletion() {
        system(expecting: [.actionCompletedTwice]) { system in
            let app = system.app()
            app.decide = { _ in nil }
            app.takeCall(callA)
            let action = app.held[0]
            app.complete(action)
            app.complete(action)
        }
    }

    @Test func P5_theUUIDOfAnActionForACall() {
        system(expecting: [.actionUuidConfused, .actionUuidConfused]) { system in
            let app = system.app()
            app.decide = { _ in nil }
            app.takeCall(callA)
            let action = app.held[0].uuid
            app.updated(action, CallUpdate(hasVideo: true))
            #expect(app.request((action, .end)) == 4)
        }
    }

    @Test func P6_aPerformThatIsNotWritten() {
        system(expecting: [.actionNotImplemented]) { system in
            let app = system.app()
            app.decide = { _ in nil }
            app.takeCall(callA)
            app.say(.actionNotImplemented(app.held[0].uuid))
            #expect(system.machine.snapshots == [])
        }
    }

    @Test func P7_aMutedThatFailsBeforeTheCallIsUp() {
        system(expecting: [.actionMuteFailedByState]) { system in
            let app = system.app()
            app.decide = { $0.kind == .setMuted(true) ? .failed : .fulfilled(at: nil, engine: nil) }
            app.start(callA)
            app.request((callA, .setMuted(true)))
        }
    }

    @Test func P8_everyHoldIsFailed() {
        system(expecting: [.actionHoldAlwaysFails]) { system in
            let app = system.app()
            app.decide = { $0.kind == .setHeld(true) ? .failed : .fulfilled(at: nil, engine: nil) }
            app.takeCall(callA)
            for _ in 0..<3 { app.request((callA, .setHeld(true))) }
        }
    }

    @Test func P9_aHoldThatTakesTooLong() {
        system(expecting: [.actionHoldSlow]) { system in
            let app = system.app()
            app.takeCall(callA)
            app.decide = { _ in nil }
            app.request((callA, .setHeld(true)))
            system.pass(.seconds(6))
            #expect(system.state(callA) == .active)
        }
    }

    @Test func P10_aDigitThatBlocksOthers() {
        system(expecting: [.actionDtmfBlocked]) { system in
            let app = system.app()
            app.takeCall(callA)
            app.decide = { _ in nil }
            system.person(.keys(callA, "12"))
            system.pass(.seconds(5))
            #expect(app.performed.suffix(2) == ["digits 1: A", "digits 2: A"])
            app.completeNext()
        }
    }

    @Test func P11_anAnswerBeforeSignallingIsReady() {
        system(expecting: [.actionFulfilledBeforeReady]) { system in
            let app = system.app()
            app.takeCall(callA)
            system.pass(.seconds(1))
            app.ended(callA, .failed)
        }
    }

    @Test func P12_aRequestForAnUnknownCall() {
        system(expecting: [.requestUnknownCall]) { system in
            #expect(system.app().request((callC, .setMuted(true))) == 4)
        }
    }

    @Test func P13_aRequestAfterTheEnd() {
        system(expecting: [.requestAfterEnd]) { system in
            let app = system.app()
            app.takeCall(callA)
            app.ended(callA)
            #expect(app.request((callA, .end)) == 4)
        }
    }

    @Test func P14_aRefusalThatIsIgnored() {
        system(expecting: [.requestErrorIgnored]) { system in
            let app = system.app(configure: { $0.maximumCallGroups = 1 })
            app.takeCall(callA)
            #expect(app.start(callB) == 7)
            app.probe(.signalling(call: callB, .inviting))
        }
    }

    @Test func P15_aCompletionTakenForTheDeed() {
        system(expecting: [.requestSuccessMistaken]) { system in
            let app = system.app()
            app.start(callA)
            app.probe(.changedInCompletion(call: callA))
        }
    }

    @Test func P16_aStartBeforeTheProviderBegan() {
        system({ $0.registrationDelay = .milliseconds(5) }, expecting: [.requestBeforeBegin]) { system in
            #expect(system.app().start(callA) == 7)
        }
    }

    @Test func P17_aStartFromTheBackground() {
        system(expecting: [.requestBackground]) { system in
            let app = system.app()
            app.say(.foreground(false))
            #expect(app.start(callA) == 6)
        }
    }

    @Test func P18_aUUIDThatIsUsedAgain() {
        system(expecting: [.uuidReused]) { system in
            let app = system.app()
            app.start(callA)
            app.ended(callA)
            app.start(callA)
        }
    }

    @Test func P19_aRandomUUIDEachTime() {
        system(expecting: [.uuidNotUUID]) { system in
            let app = system.app(describe: { $0.isForeground = false })
            var next = callA
            app.onMessage = { message in
                guard case .push(let number, _, _, _) = message else { return }
                app.report(next)
                app.ended(next)
                next = callB
                app.say(.pushHandlerReturned(number, isImplemented: true))
                app.say(.pushCompleted(number))
            }
            app.say(.registerPush(types: [PushType.voIP], hasDelegate: true))
            for _ in 0..<2 { #expect(system.push("org.example.one", #"{"call":"4711"}"#) == .delivered) }
        }
    }

    @Test func P20_twoSpellingsOfOneUUID() {
        system(expecting: [.uuidCase]) { system in
            let app = system.app()
            let text = callA.description
            app.probe(.lookedUp(text: text), .lookedUp(text: text), .lookedUp(text: text.lowercased()))
        }
    }

    @Test func P21_aSecondProvider() {
        system(expecting: [.providerMultiple]) { system in
            let app = system.app()
            app.say(.registerProvider(7, app.configuration))
        }
    }

    @Test func P22_aProviderMadeAnewDuringCalls() {
        for invalidates in [true, false] {
            system(expecting: [.providerRecreated]) { system in
                let app = system.app()
                app.takeCall(callA)
                if invalidates { app.say(.invalidateProvider(1)) }
                app.say(.registerProvider(2, app.configuration))
            }
        }
    }

    @Test(arguments: [Pitfall.providerDelegateLate, .providerNoDelegate, .directoryUnsorted, .directoryDuplicate])
    func P23_P24_whatTheAPIModuleSeesIsPassedOn(pitfall: Pitfall) {
        system(expecting: [pitfall]) { system in
            let app = system.app()
            app.say(.observed(pitfall, call: callA, seen: "It was seen."))
            #expect(system.diagnostics[0].bundle == "org.example.one" && system.diagnostics[0].call == callA)
        }
    }

    @Test func P25_audioAfterAReset() {
        system(expecting: [.providerResetIgnored]) { system in
            let app = system.app()
            app.takeCall(callA)
            app.probe(.audioStarted, .mediaStarted(call: callA))
            system.machine.restart(now: system.now)
            system.pump()
            system.pass(.seconds(2))
        }
    }

    @Test func P26_requestsGoOnAfterTheReset() {
        system({ $0.registersAgainAfterReset = false }, expecting: [.providerDeadAfterReset]) { system in
            let app = system.app()
            system.machine.restart(now: system.now)
            system.pump()
            for _ in 0..<3 { #expect(app.start(callA) == 2) }
        }
    }

    @Test func P27_aProviderThatIsReleased() {
        system(expecting: [.providerNotInvalidated]) { system in
            let app = system.app()
            app.takeCall(callA)
            app.say(.providerReleased(1))
            #expect(app.calls == [])
        }
    }

    @Test func P28_theVoIPModeIsMissing() {
        system(expecting: [.configNoVoipMode]) { system in
            #expect(system.app(describe: { $0.hasVoIPBackgroundMode = false }).report(callA) == 1)
        }
    }

    @Test func P29_noGroups() {
        system(expecting: [.configZeroGroups]) { system in _ = system.app(configure: { $0.maximumCallGroups = 0 }) }
    }

    @Test func P30_holdingWithOneGroup() {
        system(expecting: [.configHoldButOneGroup]) { system in
            let app = system.app(configure: { $0.maximumCallGroups = 1 })
            app.report(callA, CallUpdate(supportsHolding: true))
        }
    }

    @Test func P31_anAddressThatCannotBeCalledBack() {
        system(expecting: [.configHandleTypes]) { system in
            let app = system.app()
            app.report(callA)
            app.ended(callA)
            #expect(system.person(.redial(system.history[0].number)) == .noCallBack)
        }
    }

    @Test(arguments: [Handle(.generic, "+49 30 1234567"), Handle(.phoneNumber, "ana@example.org"), Handle(.phoneNumber, "")])
    func P32_anAddressOfTheWrongKind(handle: Handle) {
        system(expecting: [.configHandleMismatch]) { system in system.app().report(callA, CallUpdate(remoteHandle: handle)) }
    }

    @Test func P33_anIconThatIsNoTemplate() {
        let icons: [([UInt8], Bool)] = [
            (Icons.good, true), (Icons.palette, true), (Icons.opaque, false), (Icons.wide, false), (Icons.noAlpha, false),
            ([1, 2, 3], false),
            (Array(Icons.good.dropLast(30)), false),
        ]
        for (bytes, isGood) in icons {
            system(expecting: isGood ? [] : [.configOpaqueIcon]) { system in
                _ = system.app(configure: { $0.iconTemplateImage = Octets(bytes) })
            }
        }
    }

    @Test func P34_aConfigurationThatIsNotAssignedAgain() {
        system(expecting: [.configRingtoneStale]) { system in system.app().say(.configurationStale(1)) }
    }
}
