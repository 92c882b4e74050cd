// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import Essentials
import Testing

/// Mute, digits and audio: callkit §4.6.
@Suite struct AudioTests {
    @Test func T96_muteLeavesTheSessionAlone() {
        system { system in
            let app = system.app()
            app.takeCall(callA)
            system.person(.mute(callA, true))
            #expect(app.performed.last == "mute A")
            #expect(system.machine.isMuted(callA) && app.isAudioActive)
        }
    }

    @Test func T97_aMuteLoopIsCut() {
        system(expecting: [.mutePingPong]) { system in
            let app = system.app()
            app.takeCall(callA)
            var requests = 0
            app.decide = { action in
                guard action.kind == .setMuted(true), requests < 50 else { return .fulfilled(at: nil, engine: nil) }
                requests += 1
                app.request((callA, .setMuted(true)))
                return .fulfilled(at: nil, engine: nil)
            }
            system.person(.mute(callA, true))
            #expect(requests == 3)
            #expect(system.machine.isMuted(callA) && system.machine.pendingActions == 0)
        }
    }

    @Test func T98_aLateUnmuteOfAnEndedCallDoesNothing() {
        system(expecting: [.actionCompletedAfterEnd]) { system in
            let app = system.app()
            app.takeCall(callA)
            app.decide = { _ in nil }
            system.person(.mute(callA, false))
            let late = app.held[0]
            app.ended(callA)
            app.complete(late)
            #expect(system.machine.snapshots == [])
        }
    }

    @Test func T99_theNewCallIsNotMuted() {
        system(expecting: [.muteWrongCall]) { system in
            let app = system.app()
            app.takeCall(callA)
            system.person(.mute(callA, true))
            app.probe(.microphone(call: callA, isSending: false))
            app.report(callB)
            system.person(.holdAndAccept(callB))
            #expect(system.machine.isMuted(callA) && !system.machine.isMuted(callB))
            app.probe(.microphone(call: callB, isSending: false))
        }
    }

    @Test func T100_keysComeOneAfterAnother() {
        system { system in
            let app = system.app()
            app.takeCall(callA)
            app.decide = { _ in nil }
            system.person(.keys(callA, "123"))
            for key in ["1", "2", "3"] {
                #expect(app.held.count == 1 && app.performed.last == "digits \(key): A")
                system.pass(.milliseconds(100))
                app.completeNext()
            }
            #expect(system.machine.pendingActions == 0)
        }
    }

    @Test func T101_digitsAfterAPauseAreOneAction() {
        system { system in
            let app = system.app()
            app.takeCall(callA)
            app.decide = { _ in nil }
            system.person(.pausedDigits(callA, "42#", .softPause))
            #expect(app.held.map(\.kind) == [.playDTMF(digits: "42#", type: .softPause)])
            app.completeNext()
        }
    }

    @Test func T102_digitsCanBeForbidden() {
        system { system in
            let app = system.app()
            app.takeCall(callA, CallUpdate(supportsDTMF: false))
            #expect(app.request((callA, .playDTMF(digits: "1", type: .singleTone))) == 6)
            #expect(system.person(.keys(callA, "1")) == .notOffered)
        }
    }

    @Test(arguments: ["Z", "", "1 2", "a"])
    func T103_onlyDigitsAreDigits(digits: String) {
        system { system in
            let app = system.app()
            app.takeCall(callA)
            #expect(app.request((callA, .playDTMF(digits: digits, type: .singleTone))) == 6)
        }
    }

    @Test func T104_audioBeforeTheActivationLosesIt() {
        system({ $0.mode = .strict }, expecting: [.audioBeforeActivate]) { system in
            let app = system.app()
            app.report(callA)
            app.probe(.audioStarted)
            system.person(.accept(callA))
            #expect(app.activations == [])
            #expect(system.machine.audioOwner == app.id)
        }
    }

    @Test func T105_activatingTheSessionOneselfIsTold() {
        system(expecting: [.audioSelfActivated]) { system in
            let app = system.app()
            app.takeCall(callA)
            #expect(app.setActive(true) == nil)
        }
    }

    @Test func T106_anotherAppsCallRefusesTheActivation() {
        system { system in
            let one = system.app("one")
            let two = system.app("two")
            one.takeCall(callA)
            #expect(two.setActive(true) == 561_017_449)
        }
    }

    @Test func T107_theCategoryMustBeSet() {
        system(expecting: [.audioNoCategory]) { system in
            let app = system.app()
            app.say(.sessionCategory(SessionCategory()))
            app.takeCall(callA)
            #expect(app.isAudioActive)
        }
    }

    @Test func T108_theSpeakerButtonChangesTheRoute() {
        system { system in
            let app = system.app()
            app.takeCall(callA)
            system.person(.speaker(true))
            #expect(app.events.last == "route 4 builtInSpeaker")
            #expect(system.machine.screen.isSpeaker)
            system.person(.speaker(false))
            #expect(app.events.last == "route 4 builtInReceiver")
        }
    }

    @Test func T109_forcingTheRouteIsTold() {
        system(expecting: [.audioRouteForced]) { system in
            let app = system.app()
            app.takeCall(callA)
            #expect(app.overrideOutput(true) == nil)
            app.probe(.personActed)
            #expect(app.overrideOutput(false) == nil)
        }
    }

    @Test func T110_aHeadsetThatIsPulledLeavesTheCall() {
        system { system in
            let app = system.app()
            system.person(.headset(isPresent: true))
            app.takeCall(callA)
            #expect(system.machine.screen.route.output == "headphones")
            system.person(.headset(isPresent: false))
            #expect(app.events.last == "route 2 builtInReceiver")
            #expect(system.state(callA) == .active)
        }
    }

    @Test func T111_aResetOfTheMediaServicesIsToldToEveryone() {
        system { system in
            let app = system.app()
            app.takeCall(callA)
            app.onMessage = { message in
                // The app builds its audio anew.
                if message == .mediaServicesReset { app.probe(.audioStopped, .audioStarted) }
            }
            system.person(.mediaServicesReset)
            #expect(app.events.last == "media reset")
            #expect(system.state(callA) == .active)
            system.pass(.seconds(5))
        }
    }

    @Test func T112_theSessionIsTakenAfterTheEnd() {
        system(expecting: [.audioNotStopped]) { system in
            let app = system.app()
            app.takeCall(callA)
            app.probe(.audioStarted)
            app.events = []
            system.person(.end(callA))
            #expect(app.heard("perform", "observe", "did") == ["perform end A", "observe A ended", "didDeactivate"])
            system.pass(.seconds(2))
        }
    }

    @Test func T182_everyCallIsSeenWithoutItsName() {
        system { system in
            let one = system.app("one")
            let two = system.app("two")
            two.takeCall(callB)
            system.person(.cellularIncoming(cellular, name: "Mother"))
            #expect(
                one.calls == [
                    CallSnapshot(uuid: callB, isOutgoing: false, hasConnected: true), CallSnapshot(uuid: cellular, isOutgoing: false),
                ])
            let late = system.app("late")
            #expect(late.calls.map(\.uuid) == [callB, cellular])
        }
    }

    @Test func T183_anInterruptionLeavesTheCall() {
        system { system in
            let app = system.app()
            app.takeCall(callA)
            app.events = []
            system.person(.interruption(began: true, shouldResume: false))
            system.person(.interruption(began: false, shouldResume: true))
            #expect(app.events == ["interrupted", "interruption ended true"])
            #expect(system.state(callA) == .active && system.machine.audioOwner == app.id)
        }
    }

    @Test func T185_aCategoryThatChangesDuringTheCallIsRemarked() {
        system(expecting: [.audioCategoryDuringCall]) { system in
            let app = system.app()
            app.takeCall(callA)
            app.say(.sessionCategory(SessionCategory(category: "playAndRecord", mode: "videoChat")))
            #expect(app.events.last == "route 3 builtInSpeaker")
        }
    }

    @Test(arguments: [(false, "voiceChat", "builtInReceiver"), (false, "videoChat", "builtInSpeaker"), (true, "voiceChat", "headphones")])
    func T195_theDefaultRoute(hasHeadset: Bool, mode: String, output: String) {
        system { system in
            let app = system.app()
            app.say(.sessionCategory(SessionCategory(category: "playAndRecord", mode: mode)))
            system.person(.headset(isPresent: hasHeadset))
            app.takeCall(callA)
            #expect(system.machine.screen.route.output == output)
        }
    }

    @Test func T184_withoutAMicrophoneTheCallIsUp() {
        system { system in
            let app = system.app()
            app.takeCall(callA)
            // Nothing is sent, and the call lives; what the app says to the person is its own affair.
            system.pass(.seconds(10))
            #expect(system.state(callA) == .active && app.isAudioActive)
        }
    }
}
