// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import Essentials
import Testing

/// Actions and their deadlines: callkit §4.2.
@Suite struct ActionTests {
    @Test func T28_anUnansweredAnswerEndsTheCall() {
        system(expecting: [.actionUnanswered]) { system in
            let app = system.app()
            app.decide = { _ in nil }
            app.takeCall(callA)
            system.pass(.seconds(61))
            #expect(app.heard("timed out") == ["timed out answer A"])
            #expect(system.machine.snapshots == [])
            #expect(system.history.map(\.outcome) == [.missed] && system.history[0].reason == .failed)
        }
    }

    @Test func T29_aCompletionAfterTheTimeOutHasNoEffect() {
        system(expecting: [.actionUnanswered, .actionCompletedAfterTimeout]) { system in
            let app = system.app()
            app.decide = { _ in nil }
            app.takeCall(callA)
            let action = app.held[0]
            system.pass(.seconds(61))
            app.complete(action)
            #expect(system.machine.snapshots == [])
        }
    }

    @Test func T30_aSecondCompletionIsIgnored() {
        system(expecting: [.actionCompletedTwice]) { system in
            let app = system.app()
            app.takeCall(callA)
            app.decide = { _ in nil }
            app.request((callA, .setHeld(true)))
            let action = app.held[0]
            app.complete(action)
            app.complete(action, .failed)
            #expect(system.state(callA) == .held)
        }
    }

    @Test func T31_aMutedThatTimesOutChangesNothing() {
        system(expecting: [.actionUnanswered]) { system in
            let app = system.app()
            app.takeCall(callA)
            app.decide = { _ in nil }
            app.request((callA, .setMuted(true)))
            system.pass(.seconds(6))
            #expect(app.heard("timed out") == ["timed out mute A"])
            #expect(system.state(callA) == .active && !system.machine.isMuted(callA))
        }
    }

    @Test func T32_anEndThatFailsEndsTheCallAllTheSame() {
        system(expecting: [.actionEndFailed]) { system in
            let app = system.app()
            app.takeCall(callA)
            app.decide = { _ in .failed }
            system.person(.end(callA))
            #expect(system.machine.snapshots == [])
        }
    }

    @Test func T33_anUnwrittenPerformFailsTheAction() {
        system(expecting: [.actionNotImplemented]) { system in
            let app = system.app()
            app.takeCall(callA)
            app.report(callB)
            system.person(.holdAndAccept(callB))
            app.decide = { action in
                if case .setGroup = action.kind {
                    app.say(.actionNotImplemented(action.uuid))
                    return nil
                }
                return .fulfilled(at: nil, engine: nil)
            }
            system.person(.merge)
            #expect(system.machine.group(of: callA) != system.machine.group(of: callB))
            #expect(system.machine.pendingActions == 0)
        }
    }

    @Test func T34_actionsOfAnEndedCallAreDropped() {
        system(expecting: [.actionCompletedAfterEnd]) { system in
            let app = system.app()
            app.takeCall(callA)
            app.decide = { _ in nil }
            app.request((callA, .setHeld(true)))
            let action = app.held[0]
            app.ended(callA)
            system.pass(.seconds(20))
            #expect(app.heard("timed out") == [])
            app.complete(action)
        }
    }

    @Test func T35_theDateOfAnAnswerCountsInTheHistory() {
        system { system in
            let app = system.app()
            app.decide = { _ in nil }
            app.takeCall(callA)
            system.pass(.seconds(3))
            let connected = WallTime(microseconds: system.wall.microseconds - 1_000_000)
            app.completeNext(.fulfilled(at: connected, engine: nil))
            app.decide = { _ in .fulfilled(at: nil, engine: nil) }
            #expect(system.machine.screen.calls[0].connectedAt == connected)
            system.pass(.seconds(10))
            system.person(.end(callA))
            #expect(system.history[0].connectedAt == connected)
            #expect(system.history[0].duration == 11_000_000)
        }
    }

    @Test func T36_aDateInTheFutureIsClamped() {
        system(expecting: [.actionDateClamped]) { system in
            let app = system.app()
            app.decide = { _ in nil }
            app.takeCall(callA)
            app.completeNext(.fulfilled(at: WallTime(microseconds: system.wall.microseconds + 60_000_000), engine: nil))
            #expect(system.machine.screen.calls[0].connectedAt == system.wall)
        }
    }

    @Test func T38_anActionsUUIDIsNotACalls() {
        system(expecting: [.actionUuidConfused]) { system in
            let app = system.app()
            app.decide = { _ in nil }
            app.takeCall(callA)
            app.ended(app.held[0].uuid)
            #expect(system.state(callA) == .answering)
        }
    }

    @Test func aCompletionThatNobodyAskedForIsTold() {
        system(expecting: [.actionUnknown]) { system in
            let one = system.app("one")
            let two = system.app("two")
            two.decide = { _ in nil }
            two.takeCall(callA)
            one.say(.completeAction(two.held[0].uuid, .failed))
            #expect(system.state(callA) == .answering)
        }
    }

    @Test(arguments: [ActionKind.end, .setMuted(true), .setHeld(true), .playDTMF(digits: "1", type: .singleTone)])
    func shortActionsHaveFiveSeconds(kind: ActionKind) {
        system { system in
            let app = system.app()
            app.takeCall(callA)
            app.decide = { _ in nil }
            app.request([ActionDescription(uuid: app.uuid(), call: callA, kind: kind)])
            #expect(app.held.map { $0.timeoutDate.microseconds - system.wall.microseconds } == [5_000_000])
        }
    }
}
