// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import Essentials
import Testing

/// Outgoing calls: callkit §4.4.
@Suite struct OutgoingTests {
    @Test func T59_fromStartToEnd() {
        system { system in
            let app = system.app()
            app.events = []
            #expect(app.start(callA) == nil)
            app.connecting(callA)
            system.pass(.seconds(4))
            app.connected(callA)
            app.updated(callA, CallUpdate(localizedCallerName: "Ben"))
            system.pass(.seconds(30))
            app.request((callA, .end))
            #expect(
                app.heard("completion", "perform", "did", "observe") == [
                    "completion nil", "observe A new", "perform start A", "didActivate", "observe A connected", "completion nil",
                    "perform end A",
                    "observe A ended", "didDeactivate",
                ])
            #expect(system.history.count == 1 && system.history[0].isOutgoing && system.history[0].outcome == .connected)
            #expect(system.history[0].duration == 30_000_000 && system.history[0].name == "Ben")
        }
    }

    @Test func T60_aFailedStartEndsTheCall() {
        system { system in
            let app = system.app()
            app.decide = { _ in .failed }
            #expect(app.start(callA) == nil)
            #expect(app.activations == [] && app.calls == [])
            #expect(system.history.map(\.outcome) == [.cancelled])
        }
    }

    @Test func T61_aCallThatIsNeverReportedConnectedCountsAsCancelled() {
        system(expecting: [.outgoingNeverConnected]) { system in
            let app = system.app()
            app.start(callA)
            app.probe(.audioStarted, .mediaStarted(call: callA))
            system.pass(.seconds(20))
            app.probe(.mediaStopped(call: callA))
            app.request((callA, .end))
            app.probe(.audioStopped)
            #expect(system.history.map(\.outcome) == [.cancelled])
            #expect(app.heard("observe A connected") == [])
        }
    }

    @Test func T62_anotherCallIsThenOfferedWithAPlainAccept() {
        system { system in
            let app = system.app()
            app.start(callA)
            app.report(callB)
            #expect(system.offers(callB) == [.accept, .decline])
            system.person(.accept(callB))
            #expect(app.performed == ["start A", "end A", "answer B"])
        }
    }

    @Test func T63_aSlowStartIsTold() {
        system(expecting: [.outgoingSlowFulfil]) { system in
            let app = system.app()
            app.decide = { _ in nil }
            app.start(callA)
            system.pass(.seconds(6))
            #expect(system.state(callA) == .dialing)
        }
    }

    @Test func T64_aRefusedCallIsCancelled() {
        system { system in
            let app = system.app()
            app.start(callA)
            app.connecting(callA)
            app.ended(callA)
            #expect(system.history.map(\.outcome) == [.cancelled])
        }
    }

    @Test func T65_aCallNobodyAnswersKeepsItsReason() {
        system { system in
            let app = system.app()
            app.start(callA)
            app.ended(callA, .unanswered)
            #expect(system.history.map(\.reason) == [.unanswered])
            #expect(system.machine.snapshots == [])
        }
    }

    @Test func T66_outgoingProgressOfAnIncomingCallHasNoEffect() {
        system(expecting: [.outgoingWrongDirection]) { system in
            let app = system.app()
            app.report(callA)
            app.connected(callA)
            #expect(system.state(callA) == .ringing)
        }
    }

    @Test func T67_aStartFromTheBackgroundIsRefused() {
        system(expecting: [.requestBackground]) { system in
            let app = system.app(describe: { $0.isForeground = false })
            #expect(app.start(callA) == 6)
        }
    }

    @Test func T68_withACallTheBackgroundMayStart() {
        system { system in
            let app = system.app(describe: { $0.isForeground = false })
            app.report(callA)
            #expect(app.start(callB) == nil)
        }
    }

    @Test func T69_aStartBeforeTheProviderBeganIsRefused() {
        system({ $0.registrationDelay = .milliseconds(5) }, expecting: [.requestBeforeBegin]) { system in
            let app = system.app()
            #expect(app.start(callA) == 7)
            system.pass(.milliseconds(5))
            #expect(app.start(callA) == nil)
        }
    }

    @Test func T70_aSecondStartHoldsTheActiveCall() {
        system(expecting: [.outgoingSecondWithoutHold]) { system in
            let app = system.app()
            app.takeCall(callA)
            #expect(app.start(callB) == nil)
            #expect(app.performed == ["answer A", "hold A", "start B"])
            #expect(system.state(callA) == .held && system.state(callB) == .connecting)
        }
    }

    @Test func aSecondStartMayDropTheFirstCallWhenItConnects() {
        system({ $0.secondStart = .dropOnConnect }) { system in
            let app = system.app()
            app.takeCall(callA)
            app.placeCall(callB)
            #expect(app.performed == ["answer A", "start B", "end A"])
        }
    }

    @Test func aSecondStartMayBeRefused() {
        system({ $0.secondStart = .refuse }) { system in
            let app = system.app()
            app.takeCall(callA)
            #expect(app.start(callB) == 7)
        }
    }

    @Test func progressOutOfOrderIsAcceptedWithARemark() {
        system(expecting: [.outgoingOrder, .outgoingOrder]) { system in
            let app = system.app()
            app.decide = { _ in nil }
            app.start(callA)
            app.connecting(callA)
            #expect(system.state(callA) == .connecting)
            app.completeNext()
            app.ended(callA)
            app.decide = { _ in .fulfilled(at: nil, engine: nil) }
            app.start(callB)
            app.connected(callB)
            #expect(system.state(callB) == .active)
        }
    }
}
