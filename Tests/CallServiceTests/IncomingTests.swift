// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import Essentials
import Testing

/// Incoming calls: callkit §4.3.
@Suite struct IncomingTests {
    @Test func T40_aReportedCallRingsAndIsObserved() {
        system { system in
            let app = system.app()
            #expect(app.report(callA, CallUpdate(remoteHandle: Handle(.generic, "ana"), localizedCallerName: "Ana")) == nil)
            #expect(system.machine.screen.ringing == Ringing(call: callA))
            #expect(system.machine.screen.calls.map(\.name) == ["Ana"])
            #expect(app.calls == [CallSnapshot(uuid: callA, isOutgoing: false)])
        }
    }

    @Test func T41_accepting() {
        system { system in
            let app = system.app()
            app.report(callA)
            app.events = []
            system.person(.accept(callA))
            #expect(app.events == ["execute answer A", "perform answer A", "observe A connected", "didActivate"])
            #expect(system.machine.screen.ringing == nil)
        }
    }

    @Test func T42_anAnswerMayWaitForSignalling() {
        for activatesBefore in [false, true] {
            system({ $0.activatesBeforeFulfil = activatesBefore }) { system in
                let app = system.app()
                app.decide = { _ in nil }
                app.takeCall(callA)
                #expect(system.state(callA) == .answering)
                system.pass(.seconds(3))
                #expect(app.isAudioActive == activatesBefore)
                app.completeNext()
                #expect(app.activations == [true])
                #expect(system.state(callA) == .active)
            }
        }
    }

    @Test func T43_aFailedAnswerEndsTheCall() {
        system { system in
            let app = system.app()
            app.decide = { _ in .failed }
            app.takeCall(callA)
            #expect(app.activations == [])
            #expect(app.calls == [])
            #expect(system.history.map(\.outcome) == [.missed])
        }
    }

    @Test func T44_declining() {
        system { system in
            let app = system.app()
            app.report(callA)
            system.person(.decline(callA))
            #expect(app.performed == ["end A"])
            #expect(system.history.map(\.outcome) == [.declined])
        }
    }

    @Test func T45_theCallerGivesUp() {
        system { system in
            let app = system.app()
            app.report(callA)
            app.ended(callA)
            #expect(app.performed == [])
            #expect(app.events.last == "observe A ended")
            #expect(system.history.map(\.outcome) == [.missed])
            #expect(system.machine.screen.ringing == nil)
        }
    }

    @Test(arguments: [
        (CallEndedReason.answeredElsewhere, HistoryEntry.Outcome.answeredElsewhere), (.declinedElsewhere, .declinedElsewhere),
    ])
    func T46_takenOrDeclinedElsewhere(reason: CallEndedReason, outcome: HistoryEntry.Outcome) {
        system { system in
            let app = system.app()
            app.report(callA)
            app.ended(callA, reason)
            #expect(system.machine.screen.ringing == nil)
            #expect(system.history.map(\.outcome) == [outcome])
        }
    }

    @Test func T47_ringingForEverIsEnded() {
        system(expecting: [.endRingForever]) { system in
            let app = system.app()
            app.report(callA)
            system.pass(.seconds(119))
            #expect(system.state(callA) == .ringing)
            system.pass(.seconds(2))
            #expect(app.performed == ["end A"])
            #expect(system.history.map(\.reason) == [.unanswered] && system.history[0].outcome == .missed)
        }
    }

    @Test func T48_aLiveUUIDIsKnown() {
        system { system in
            let app = system.app()
            app.report(callA)
            #expect(app.report(callA, CallUpdate(localizedCallerName: "other")) == 2)
            #expect(system.machine.screen.calls.map(\.name) == ["ana"])
        }
    }

    @Test func T49_anEndedUUIDIsANewCall() {
        system(expecting: [.uuidReused]) { system in
            let app = system.app()
            app.report(callA)
            app.ended(callA)
            #expect(app.report(callA) == nil)
            #expect(system.state(callA) == .ringing)
        }
    }

    @Test func T50_doNotDisturbRefuses() {
        system { system in
            let app = system.app()
            system.person(.doNotDisturb(true))
            #expect(app.report(callA) == 3)
            #expect(app.calls == [] && system.machine.screen.ringing == nil)
            #expect(system.history.map(\.outcome) == [.missed])
        }
    }

    @Test func doNotDisturbMayOnlySilence() {
        system({ $0.doNotDisturbOnlySilences = true }) { system in
            let app = system.app()
            system.person(.doNotDisturb(true))
            #expect(app.report(callA) == nil)
            #expect(system.state(callA) == .ringing && system.machine.screen.ringing == nil)
        }
    }

    @Test func T51_aBlockedCallerIsRefusedAndNotLogged() {
        system { system in
            let app = system.app()
            system.person(.block("+49 30 1234567", true))
            #expect(app.report(callA, CallUpdate(remoteHandle: Handle(.phoneNumber, "+49301234567"))) == 4)
            #expect(system.history == [] && app.calls == [])
            system.person(.block("+49301234567", false))
            #expect(app.report(callA, CallUpdate(remoteHandle: Handle(.phoneNumber, "+49301234567"))) == nil)
        }
    }

    @Test func T52_anAppThatRingsForARefusedCallIsTold() {
        system(expecting: [.reportErrorIgnored]) { system in
            let app = system.app()
            system.person(.doNotDisturb(true))
            app.report(callA)
            app.probe(.ringing(call: callA, .sound))
        }
    }

    @Test func T53_anUpdateChangesOnlyWhatItSets() {
        system { system in
            let app = system.app()
            app.report(callA, CallUpdate(remoteHandle: Handle(.generic, "ana"), supportsHolding: false, hasVideo: true))
            app.updated(callA, CallUpdate(localizedCallerName: "Ana"))
            let call = system.machine.screen.calls[0]
            #expect(call.name == "Ana" && call.isVideo)
            system.person(.accept(callA))
            #expect(!system.offers(callA).contains(.hold))
        }
    }

    @Test func T54_aFreshUpdateAllowsEverythingButVideo() {
        system { system in
            let app = system.app()
            app.takeCall(callA, CallUpdate())
            #expect(system.offers(callA) == [.end, .mute, .hold, .keypad])
            #expect(!system.machine.screen.calls[0].isVideo)
        }
    }

    @Test func T55_anUpdateOfAnUnknownCallIsTold() {
        system(expecting: [.reportUnknownCall]) { system in
            let app = system.app()
            app.updated(callA, CallUpdate(localizedCallerName: "Ana"))
            #expect(system.machine.snapshots == [])
        }
    }

    @Test func T56_answeringInTheAppIsTheSame() {
        system { system in
            let app = system.app()
            app.report(callA)
            app.events = []
            #expect(app.request((callA, .answer)) == nil)
            #expect(app.events == ["completion nil", "execute answer A", "perform answer A", "observe A connected", "didActivate"])
        }
    }

    @Test func T57_mediaWithoutAnAnswerIsTold() {
        system(expecting: [.answerBypassed]) { system in
            let app = system.app()
            app.report(callA)
            app.probe(.mediaStarted(call: callA))
        }
    }

    @Test func T58_aNameIsLookedForInContactsThenListsThenTheAddress() {
        system { system in
            let app = system.app()
            system.machine.setDirectory(
                "org.example.list", index: CallDirectoryTable(labels: [(49_301_234_567, "Pizza"), (49_301_234_568, "Taxi")]),
                isEnabled: true)
            system.machine.contacts = [("+49 30 1234567", "Ana")]
            var names: [String] = []
            for number in ["+49301234567", "+49 30 123 45 68", "+49301234569"] {
                app.report(callA, CallUpdate(remoteHandle: Handle(.phoneNumber, number)))
                names.append(system.machine.screen.calls[0].name)
                app.ended(callA)
                system.diagnostics = []
            }
            #expect(names == ["Ana", "Taxi", "+49301234569"])
        }
    }
}
