// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import Essentials
import Testing

/// Each mistake is committed and told by its code: outgoing calls, ends, audio, mute, groups (P-35 to P-67).
@Suite struct MediaPitfallTests {
    /// A held and B active, of one app that tells its audio.
    private func two(_ system: TestSystem) -> TestApp {
        let app = system.app()
        app.takeCall(callA)
        app.probe(.audioStarted)
        app.report(callB)
        system.person(.holdAndAccept(callB))
        return app
    }

    @Test func P35_aCallThatIsNeverReportedConnected() {
        system(expecting: [.outgoingNeverConnected]) { system in
            let app = system.app()
            app.start(callA)
            app.probe(.signalling(call: callA, .connected), .mediaStarted(call: callA))
            app.ended(callA)
        }
    }

    @Test func earlyMediaIsNoPitfall() {
        system { system in
            let app = system.app()
            app.start(callA)
            app.probe(.signalling(call: callA, .ringing), .mediaStarted(call: callA))
            app.ended(callA)
        }
    }

    @Test func P36_connectedWhileItRings() {
        system(expecting: [.outgoingConnectedEarly]) { system in
            let app = system.app()
            app.start(callA)
            app.connecting(callA)
            app.probe(.signalling(call: callA, .ringing))
            app.connected(callA)
        }
    }

    @Test func P37_aStartThatIsFulfilledLate() {
        system(expecting: [.outgoingSlowFulfil]) { system in
            let app = system.app()
            app.decide = { _ in nil }
            app.start(callA)
            system.pass(.seconds(30))
            app.completeNext()
        }
    }

    @Test func P38_aCallThatWasNeverStarted() {
        system(expecting: [.outgoingNoStart, .outgoingNoStart]) { system in
            let app = system.app()
            app.connecting(callA)
            app.probe(.mediaStarted(call: callB))
        }
    }

    @Test func P39_aCallThatWasNeverUpdated() {
        system(expecting: [.outgoingUpdateMissing]) { system in
            let app = system.app()
            app.start(callA)
            app.connecting(callA)
            app.connected(callA)
            app.report(callB)
        }
    }

    @Test func P40_aSecondStartWithoutHold() {
        system(expecting: [.outgoingSecondWithoutHold]) { system in
            let app = system.app()
            app.takeCall(callA)
            app.start(callB)
        }
    }

    @Test func P41_aCallTheAppDropped() {
        system(expecting: [.endOrphan]) { system in
            let app = system.app()
            app.takeCall(callA)
            app.probe(.signalling(call: callA, .ended))
            system.pass(.seconds(3))
            #expect(system.state(callA) == .active)
        }
    }

    @Test func P41_aProcessThatLeavesItsCall() {
        system(expecting: [.endOrphan]) { system in
            let app = system.app()
            app.takeCall(callA)
            app.say(.goodbye)
            #expect(system.machine.snapshots == [])
        }
    }

    @Test func P42_mediaReleasedBeforeTheEnd() {
        system(expecting: [.endMediaReleasedEarly]) { system in
            let app = system.app()
            app.takeCall(callA)
            app.probe(.mediaReleased(call: callA))
            app.ended(callA)
        }
    }

    @Test func P43_aCallTakenElsewhereRingsOn() {
        system(expecting: [.endElsewhereMissed]) { system in
            let app = system.app()
            app.report(callA)
            app.probe(.signalling(call: callA, .elsewhere))
            system.pass(.seconds(3))
        }
    }

    @Test func P44_aCallTakenElsewhereIsHungUp() {
        system(expecting: [.endElsewhereHangsUp]) { system in
            let app = system.app()
            app.report(callA)
            app.ended(callA, .answeredElsewhere)
            app.probe(.signalling(call: callA, .hungUp))
        }
    }

    @Test func P45_aRingTimerAfterTheAnswer() {
        system(expecting: [.endTimerKillsEnded, .endTimerKillsEnded]) { system in
            let app = system.app()
            app.takeCall(callA)
            app.probe(.ringTimerFired(call: callA))
            app.ended(callA)
            app.probe(.ringTimerFired(call: callA))
        }
    }

    @Test func P46_ringingForEver() {
        system(expecting: [.endRingForever]) { system in
            system.app().report(callA)
            system.pass(.seconds(121))
        }
    }

    @Test func P47_theWrongCallIsHungUp() {
        system(expecting: [.endWrongCall]) { system in
            let app = two(system)
            app.decide = { action in
                // The current call instead of the one that is named.
                if action.kind == .end { app.probe(.signalling(call: callB, .hungUp)) }
                return .fulfilled(at: nil, engine: nil)
            }
            system.person(.end(callA))
            app.ended(callB)
        }
    }

    @Test func P48_aDeclineThatHangsUp() {
        system(expecting: [.endDeclineAsHangup]) { system in
            let app = system.app()
            app.report(callA)
            app.decide = { _ in
                app.probe(.signalling(call: callA, .hungUp))
                return .fulfilled(at: nil, engine: nil)
            }
            system.person(.decline(callA))
        }
    }

    @Test func P49_anEndThatNobodyTapped() {
        system(expecting: [.endTapAssumed]) { system in
            let app = system.app()
            app.takeCall(callA)
            system.person(.end(callA))
            app.probe(.assumedTap(call: callA))
            app.takeCall(callB)
            app.request((callB, .end))
            app.probe(.assumedTap(call: callB))
        }
    }

    @Test func P50_audioBeforeTheActivation() {
        system(expecting: [.audioBeforeActivate]) { system in
            let app = system.app()
            app.decide = { action in
                if action.kind == .answer { app.probe(.audioStarted) }
                return .fulfilled(at: nil, engine: nil)
            }
            app.takeCall(callA)
            #expect(app.activations == [true])
        }
    }

    @Test func P51_theSessionActivatedByTheApp() {
        system(expecting: [.audioSelfActivated]) { system in
            let app = system.app()
            app.report(callA)
            #expect(app.setActive(true) == nil)
        }
    }

    @Test func P52_aRefusedActivationIsTriedAgain() {
        system(expecting: [.audioPriorityRefused]) { system in
            let one = system.app("one")
            let two = system.app("two")
            one.takeCall(callA)
            for _ in 0..<3 { #expect(two.setActive(true) == 561_017_449) }
        }
    }

    @Test func P53_noCategory() {
        system(expecting: [.audioNoCategory]) { system in
            let app = system.app()
            app.say(.sessionCategory(SessionCategory(category: "playback")))
            app.start(callA)
        }
    }

    @Test func P54_theSessionDeactivatedInACall() {
        system(expecting: [.audioStoppedByOtherEnd]) { system in
            let app = two(system)
            app.ended(callA)
            #expect(app.setActive(false) == nil)
        }
    }

    @Test func P55_audioAfterTheDeactivation() {
        system(expecting: [.audioNotStopped]) { system in
            let app = system.app()
            app.takeCall(callA)
            app.probe(.audioStarted)
            app.ended(callA)
            system.pass(.seconds(1))
        }
    }

    @Test func P56_noAudioAfterResuming() {
        system(expecting: [.audioLostAfterUnhold]) { system in
            let app = system.app()
            app.takeCall(callA)
            app.probe(.audioStarted)
            system.person(.hold(callA, true))
            app.probe(.audioStopped)
            system.person(.hold(callA, false))
            system.pass(.seconds(1))
        }
    }

    @Test func P57_noAudioForTheAcceptedCall() {
        system(expecting: [.audioAfterSwap]) { system in
            let app = two(system)
            app.probe(.audioStopped)
            system.pass(.seconds(1))
        }
    }

    @Test func P58_defaultToSpeaker() {
        system(expecting: [.audioDefaultToSpeaker, .audioCategoryDuringCall, .audioDefaultToSpeaker]) { system in
            let app = system.app()
            app.say(.sessionCategory(SessionCategory(category: "playAndRecord", mode: "voiceChat", options: 0x8)))
            app.takeCall(callA)
            app.say(.sessionCategory(SessionCategory(category: "playAndRecord", mode: "videoChat", options: 0xa)))
        }
    }

    @Test func P59_aRouteThatIsForced() {
        system(expecting: [.audioRouteForced]) { system in
            let app = system.app()
            app.takeCall(callA)
            app.probe(.personActed)
            system.pass(.seconds(2))
            #expect(app.overrideOutput(true) == nil)
        }
    }

    @Test func P60_audioInTheBackgroundWithoutActivation() {
        system(expecting: [.audioStartedWhileSuspended]) { system in
            let app = system.app(describe: { $0.isForeground = false })
            app.report(callA)
            app.probe(.audioStartFailed(code: 561_015_905))
        }
    }

    @Test func P61_muteInsideMute() {
        system(expecting: [.mutePingPong]) { system in
            let app = system.app()
            app.takeCall(callA)
            app.decide = { _ in nil }
            system.person(.mute(callA, true))
            #expect(app.request((callA, .setMuted(true))) == nil)
            app.completeNext()
            app.completeNext()
        }
    }

    @Test func P62_theMicrophoneDiffers() {
        system(expecting: [.muteNotReported, .muteNotReported]) { system in
            let app = system.app()
            app.takeCall(callA)
            app.probe(.audioStarted, .microphone(call: callA, isSending: false))
            system.pass(.seconds(1))
            app.probe(.microphone(call: callA, isSending: true))
            system.person(.mute(callA, true))
            system.pass(.seconds(1))
        }
    }

    @Test func P63_theWrongCallIsMuted() {
        system(expecting: [.muteWrongCall]) { system in
            let app = two(system)
            system.person(.mute(callA, true))
            app.probe(.microphone(call: callB, isSending: false))
        }
    }

    @Test func P64_aHeldCallIsGrouped() {
        system(expecting: [.groupHeldMembers]) { system in
            let app = two(system)
            #expect(app.request((callA, .setGroup(with: callB))) == nil)
        }
    }

    @Test func P65_bothCallsAreHeard() {
        system(expecting: [.groupUnholdMakesConference]) { system in
            let app = two(system)
            app.probe(.mediaStarted(call: callB), .mediaStarted(call: callA))
        }
    }

    @Test func P66_aMergeInWordsOnly() {
        system(expecting: [.groupFalseSuccess]) { system in
            let app = two(system)
            app.updated(callA, CallUpdate(supportsGrouping: true))
            app.probe(.saidMerged(call: callA))
            system.person(.merge)
            app.probe(.saidMerged(call: callA))
        }
    }

    @Test func P67_heldForACallThatMerelyRings() {
        system(expecting: [.holdWhileRinging]) { system in
            let app = system.app()
            app.takeCall(callA)
            app.report(callB)
            app.request((callA, .setHeld(true)))
        }
    }
}
