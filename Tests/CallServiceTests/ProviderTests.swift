// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import Essentials
import Testing

/// Provider, configuration and requests: callkit §4.1.
@Suite struct ProviderTests {
    @Test func T1_aProviderBeginsOnce() {
        system({ $0.registrationDelay = .milliseconds(10) }) { system in
            let app = system.app()
            #expect(app.heard("begin") == [])
            system.pass(.seconds(1))
            #expect(app.heard("begin") == ["begin"])
        }
    }

    @Test func T2_anIncomingReportWorksBeforeTheProviderBegan() {
        system({ $0.registrationDelay = .milliseconds(10) }) { system in
            let app = system.app()
            #expect(app.report(callA) == nil)
            #expect(system.state(callA) == .ringing)
        }
    }

    @Test func T6_aFreshConfigurationHasTheDocumentedDefaults() {
        let fresh = ProviderConfiguration()
        #expect(fresh.maximumCallGroups == 2 && fresh.maximumCallsPerCallGroup == 5 && fresh.includesCallsInRecents && !fresh.supportsVideo)
        #expect(fresh.ringtoneSound == nil && fresh.iconTemplateImage == nil && fresh.supportedHandleTypes == [])
    }

    @Test func T7_aConfigurationCountsFromItsAssignment() {
        system { system in
            let app = system.app()
            app.takeCall(callA)
            app.report(callB)
            #expect(system.offers(callB).contains(.holdAndAccept))
            app.configuration.maximumCallGroups = 1
            #expect(system.offers(callB).contains(.holdAndAccept))
            app.say(.configureProvider(1, app.configuration))
            #expect(!system.offers(callB).contains(.holdAndAccept))
        }
    }

    @Test func T8_aTransactionWithoutActionsIsRefused() {
        system { system in
            let app = system.app()
            #expect(app.request() == 3)
            #expect(app.performed == [])
        }
    }

    @Test func T9_anAppWithoutTheVoIPModeIsUnentitled() {
        system(expecting: [.configNoVoipMode]) { system in
            let app = system.app(describe: { $0.hasVoIPBackgroundMode = false })
            #expect(app.start(callA) == 1)
        }
    }

    @Test func T10_aRequestWithoutAProviderIsRefused() {
        system { system in
            #expect(system.app("none", makesProvider: false).start(callA) == 2)
            let app = system.app()
            app.say(.invalidateProvider(1))
            #expect(app.start(callA) == 2)
        }
    }

    @Test func T11_anEndOfARandomUUIDIsRefused() {
        system(expecting: [.requestUnknownCall]) { system in
            let app = system.app()
            #expect(app.request((callA, .end)) == 4)
            #expect(app.performed == [])
        }
    }

    @Test func T12_aStartWithALiveUUIDIsRefused() {
        system { system in
            let app = system.app()
            app.takeCall(callA)
            #expect(app.start(callA) == 5)
        }
    }

    @Test func T13_oneGroupAllowsOneCall() {
        system { system in
            let app = system.app(configure: { $0.maximumCallGroups = 1 })
            app.takeCall(callA)
            #expect(app.start(callB) == 7)
            #expect(system.state(callA) == .active)
            #expect(app.performed == ["answer A"])
        }
    }

    @Test func T14_noGroupAllowsNoCall() {
        system(expecting: [.configZeroGroups]) { system in
            let app = system.app(configure: { $0.maximumCallGroups = 0 })
            #expect(app.start(callA) == 7)
        }
    }

    @Test func T15_aConferenceIsOneGroup() {
        system(expecting: [.outgoingSecondWithoutHold]) { system in
            let app = system.app()
            app.takeCall(callA)
            app.report(callB)
            system.person(.holdAndAccept(callB))
            system.person(.merge)
            #expect(app.start(callC) == nil)
        }
    }

    @Test func T16_anActiveCallCannotBeAnswered() {
        system { system in
            let app = system.app()
            app.takeCall(callA)
            #expect(app.request((callA, .answer)) == 6)
        }
    }

    @Test func T17_oneBadActionRefusesTheWholeTransaction() {
        system(expecting: [.requestUnknownCall]) { system in
            let app = system.app()
            app.takeCall(callA)
            #expect(app.request((callA, .setHeld(true)), (callB, .end)) == 4)
            #expect(app.performed == ["answer A"])
        }
    }

    @Test func T18_aTransactionIsDeliveredInItsOrder() {
        system { system in
            let app = system.app()
            app.takeCall(callA)
            app.decide = { _ in nil }
            app.events = []
            #expect(
                app.request((callA, .setHeld(true)), (callB, .start(handle: Handle(.generic, "b"), contactIdentifier: nil, isVideo: false)))
                    == nil)
            #expect(
                app.heard("completion", "execute", "perform") == [
                    "completion nil", "execute hold A, start B", "perform hold A", "perform start B",
                ])
        }
    }

    @Test func T19_anExecutedTransactionIsPendingUntilItsActionsComplete() {
        system { system in
            let app = system.app()
            app.takeCall(callA)
            app.decide = { _ in nil }
            app.request((callA, .setHeld(true)), (callA, .setMuted(true)))
            #expect(system.machine.pendingActions == 2)
            app.completeNext()
            #expect(system.machine.pendingActions == 1)
            app.completeNext()
            #expect(system.machine.pendingActions == 0)
        }
    }

    @Test func T20_anAcceptedActionMayStillFail() {
        system { system in
            let app = system.app()
            app.takeCall(callA)
            app.decide = { _ in .failed }
            #expect(app.request((callA, .setMuted(true))) == nil)
            #expect(!system.machine.isMuted(callA))
        }
        system { system in
            let app = system.app()
            app.decide = { _ in .failed }
            #expect(app.start(callB) == nil)
            #expect(system.state(callB) == nil)
        }
    }

    @Test func T21_withTheSwitchOneActionWaitsForTheOther() {
        system({ $0.deliversOneByOne = true }) { system in
            let app = system.app()
            app.takeCall(callA)
            app.decide = { _ in nil }
            app.request((callA, .setHeld(true)), (callB, .start(handle: Handle(.generic, "b"), contactIdentifier: nil, isVideo: false)))
            #expect(app.performed == ["answer A", "hold A"])
            app.completeNext()
            #expect(app.performed == ["answer A", "hold A", "start B"])
            app.completeNext()
        }
    }

    @Test func T23_aRestartResetsEveryProviderAndRegistersItAgain() {
        system { system in
            let app = system.app()
            app.takeCall(callA)
            app.events = []
            system.machine.restart(now: system.now)
            system.pump()
            #expect(app.heard("observe", "didDeactivate", "reset", "begin") == ["observe A ended", "didDeactivate", "reset", "begin"])
            #expect(system.machine.snapshots == [] && system.machine.audioOwner == nil)
            #expect(app.start(callB) == nil)
        }
    }

    @Test func T24_withoutRegistrationRequestsFailUntilAProviderIsMade() {
        system({ $0.registersAgainAfterReset = false }, expecting: [.providerDeadAfterReset]) { system in
            let app = system.app()
            system.machine.restart(now: system.now)
            system.pump()
            #expect(app.start(callA) == 2)
            #expect(app.start(callA) == 2)
            app.say(.registerProvider(2, app.configuration))
            #expect(app.start(callA) == nil)
        }
    }

    @Test func T25_invalidatingEndsTheCallsAndLeavesNoTimeOuts() {
        system { system in
            let app = system.app()
            app.takeCall(callA)
            app.decide = { _ in nil }
            app.request((callA, .setMuted(true)))
            app.say(.invalidateProvider(1))
            #expect(app.events.last { $0.hasPrefix("observe") } == "observe A ended")
            #expect(system.machine.pendingActions == 0)
            system.pass(.seconds(100))
            #expect(app.heard("timed out") == [])
            #expect(system.history.map(\.reason) == [.failed])
        }
    }

    @Test func T27_aSecondProviderIsTold() {
        system(expecting: [.providerMultiple]) { system in
            let app = system.app()
            app.say(.registerProvider(2, app.configuration))
        }
    }
}
