// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import Essentials
import Testing

/// Block and label lists (§4.10) and further cases (§4.11).
@Suite struct FurtherTests {
    private func number(_ value: String) -> CallUpdate { CallUpdate(remoteHandle: Handle(.phoneNumber, value)) }

    @Test func T162_aListedNumberIsBlockedHoweverItIsWritten() {
        system { system in
            let app = system.app()
            system.machine.setDirectory("list", index: CallDirectoryTable(blocked: [8_613_800_000_000]), isEnabled: true)
            #expect(app.report(callA, number("+86 138 0000 0000")) == 4)
            #expect(app.report(callB, number("+86 138 0000 0001")) == nil)
        }
    }

    @Test func T163_aContactsNameIsWorthMoreThanALabel() {
        system { system in
            let app = system.app()
            system.machine.setDirectory("list", index: CallDirectoryTable(labels: [(8_613_800_000_000, "Shop")]), isEnabled: true)
            system.machine.contacts = [("+8613800000000", "Li")]
            app.report(callA, number("+86 138 0000 0000"))
            #expect(system.machine.screen.calls.map(\.name) == ["Li"])
        }
    }

    @Test func T164_aDisabledListDoesNothing() {
        system { system in
            let app = system.app()
            let list = CallDirectoryTable(blocked: [8_613_800_000_000], labels: [(8_613_800_000_000, "Shop")])
            system.machine.setDirectory("list", index: list, isEnabled: true)
            system.person(.enableDirectory(extensionIdentifier: "list", false))
            #expect(app.report(callA, number("+8613800000000")) == nil)
            #expect(system.machine.screen.calls.map(\.name) == ["+8613800000000"])
        }
    }

    @Test func T167_aLateEndOfAnEndedCallIsCompletedWithoutHarm() {
        system(expecting: [.actionCompletedAfterEnd]) { system in
            let app = system.app()
            app.takeCall(callA)
            app.decide = { _ in nil }
            system.person(.end(callA))
            let late = app.held[0]
            app.ended(callA)
            app.complete(late)
            #expect(system.history.count == 1)
        }
    }

    @Test func T168_anEndOfACallTheAppNeverKnewIsFailed() {
        system(expecting: [.actionEndFailed]) { system in
            system.machine = CallServiceMachine(
                settings: keeping, random: RandomSource(SplitMix64(seed: 1)), wallClock: TestSystem.start)
            let first = system.app("one")
            first.takeCall(callA)
            first.crash()
            let second = system.app("one")
            second.decide = { _ in .failed }
            system.person(.end(callA))
            #expect(second.performed == ["end A"])
            #expect(system.machine.snapshots == [])
        }
    }

    private var keeping: CallServiceSettings {
        var settings = CallServiceSettings()
        settings.keepsCallsOfLostApps = true
        return settings
    }

    @Test func T169_callsOfAnEarlierRunAreEndedFirst() {
        for endsThem in [true, false] {
            system({ $0.keepsCallsOfLostApps = true }, expecting: endsThem ? [] : [.endOrphan]) { system in
                let first = system.app("one", configure: { $0.maximumCallGroups = 1 })
                first.takeCall(callA)
                first.crash()
                let second = system.app("one", configure: { $0.maximumCallGroups = 1 })
                #expect(second.calls.map(\.uuid) == [callA])
                if endsThem { #expect(second.request((callA, .end)) == nil) }
                #expect(second.start(callB) == (endsThem ? nil : 7))
            }
        }
    }

    @Test func T170_theEndOfAGroupedCallLeavesTheOther() {
        system { system in
            let app = system.app()
            app.takeCall(callA)
            app.report(callB)
            system.person(.holdAndAccept(callB))
            system.person(.merge)
            system.person(.end(callA))
            #expect(app.calls.map(\.uuid) == [callB] && system.state(callB) == .active)
        }
    }

    @Test func T171_decliningTheSecondLeavesTheFirst() {
        system { system in
            let app = system.app()
            app.takeCall(callA)
            app.report(callB)
            app.events = []
            system.person(.decline(callB))
            #expect(app.heard("perform", "did") == ["perform end B"])
            #expect(system.state(callA) == .active && app.isAudioActive)
        }
    }

    @Test func T172_theHeldCallComesBackOnlyWhereThePersonEndedTheOther() {
        for byPerson in [true, false] {
            system { system in
                let app = system.app()
                app.takeCall(callA)
                app.report(callB)
                system.person(.holdAndAccept(callB))
                if byPerson { system.person(.end(callB)) } else { app.ended(callB) }
                #expect(system.state(callA) == (byPerson ? .active : .held))
                #expect(app.activations == (byPerson ? [true] : [true, false]))
            }
        }
    }

    @Test func T174_eachActionOfATransactionSucceedsAlone() {
        system { system in
            let app = system.app()
            app.takeCall(callA)
            app.decide = { $0.kind == .setHeld(true) ? .fulfilled(at: nil, engine: nil) : .failed }
            app.request((callA, .setHeld(true)), (callA, .setMuted(true)))
            #expect(system.state(callA) == .held && !system.machine.isMuted(callA))
            #expect(system.machine.pendingActions == 0)
        }
    }

    @Test func T175_theProviderSeesNoDifferenceOfOrigin() {
        var seen: [[String]] = []
        for byPerson in [true, false] {
            system { system in
                let app = system.app()
                app.takeCall(callA)
                app.events = []
                if byPerson { system.person(.mute(callA, true)) } else { app.request((callA, .setMuted(true))) }
                if byPerson { system.person(.end(callA)) } else { app.request((callA, .end)) }
                seen.append(app.events.filter { !$0.hasPrefix("completion") })
            }
        }
        #expect(seen[0] == seen[1] && seen[0].count == 6, "\(seen)")
    }

    @Test func T176_anAutomaticAnswerIsARequest() {
        system(expecting: [.configNoVoipMode]) { system in
            let app = system.app()
            app.report(callA)
            #expect(app.request((callA, .answer)) == nil)
            #expect(system.state(callA) == .active)
            // Refused, it rings on: here by an app that lost its right.
            let other = system.app("two", describe: { $0.hasVoIPBackgroundMode = false })
            #expect(other.request((callA, .answer)) == 1)
        }
    }

    @Test func T177_audioIsThereBeforeTheRemoteAnswers() {
        system { system in
            let app = system.app()
            app.start(callA)
            #expect(app.isAudioActive && system.state(callA) == .connecting)
        }
    }

    @Test func T179_translationMustBeAllowed() {
        let wish = ActionKind.setTranslating(true, localLanguage: "en", remoteLanguage: "zh")
        for isAllowed in [true, false] {
            system { system in
                let app = system.app(configure: { $0.supportsAudioTranslation = isAllowed })
                app.report(callA)
                #expect(app.request((callA, wish)) == 6)
                system.person(.accept(callA))
                #expect(app.request((callA, wish)) == (isAllowed ? nil : 6))
                let refusal = system.person(.translate(callA, true, localLanguage: "en", remoteLanguage: "zh"))
                #expect(refusal == (isAllowed ? nil : .notOffered))
            }
        }
    }

    @Test func T180_aRingtoneThatIsNotThereIsToldAndReplaced() {
        system(expecting: [.configRingtoneMissing]) { system in
            let app = system.app(configure: { $0.ringtoneSound = "gone.wav" })
            app.report(callA)
            #expect(system.machine.screen.ringing == Ringing(call: callA))
            app.ended(callA)
            app.configuration.ringtonePath = "resources/bell.wav"
            app.say(.configureProvider(1, app.configuration))
            app.report(callB)
            #expect(system.machine.screen.ringing == Ringing(call: callB, path: "resources/bell.wav"))
        }
    }

    @Test func T186_theAppsNameIsWorthMoreThanALabel() {
        system { system in
            let app = system.app()
            system.machine.setDirectory("list", index: CallDirectoryTable(labels: [(8_613_800_000_000, "Shop")]), isEnabled: true)
            app.report(callA, number("+8613800000000"))
            #expect(system.machine.screen.calls.map(\.name) == ["Shop"])
            app.updated(callA, CallUpdate(localizedCallerName: "Li's shop"))
            #expect(system.machine.screen.calls.map(\.name) == ["Li's shop"])
        }
    }

    @Test func T189_oneAppsListCountsForAnothersCalls() {
        system { system in
            let two = system.app("two")
            system.machine.setDirectory("org.example.one.list", index: CallDirectoryTable(blocked: [8_613_800_000_000]), isEnabled: true)
            #expect(two.report(callA, number("+8613800000000")) == 4)
        }
    }
}
