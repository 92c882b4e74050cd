// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import Essentials
import Testing

/// Several calls: callkit §4.5.
@Suite struct SeveralCallsTests {
    /// A active, B incoming, both of one app.
    private func second(
        _ system: TestSystem, configure: (inout ProviderConfiguration) -> Void = { _ in }, _ update: CallUpdate = CallUpdate()
    )
        -> TestApp
    {
        let app = system.app(configure: configure)
        app.takeCall(callA, update)
        app.report(callB)
        app.events = []
        return app
    }

    /// A held, B active, both of one app.
    private func heldAndActive(_ system: TestSystem, configure: (inout ProviderConfiguration) -> Void = { _ in }) -> TestApp {
        let app = second(system, configure: configure)
        system.person(.holdAndAccept(callB))
        app.events = []
        return app
    }

    /// A of app one held by B of app two.
    private func twoApps(_ system: TestSystem) -> (TestApp, TestApp) {
        let one = system.app("one")
        let two = system.app("two")
        one.takeCall(callA)
        two.report(callB)
        system.log = []
        system.person(.holdAndAccept(callB))
        return (one, two)
    }

    @Test func T71_endAndAccept() {
        system { system in
            let app = second(system)
            #expect(system.offers(callB) == [.endAndAccept, .holdAndAccept, .decline])
            system.person(.endAndAccept(callB))
            #expect(app.heard("execute", "perform") == ["execute end A, answer B", "perform end A", "perform answer B"])
            #expect(app.activations == [true])
        }
    }

    @Test func T72_holdAndAccept() {
        system { system in
            let app = second(system)
            system.person(.holdAndAccept(callB))
            #expect(app.performed == ["hold A", "answer B"])
            #expect(system.state(callA) == .held && system.state(callB) == .active)
            #expect(app.activations == [true])
        }
    }

    @Test func T73_withoutHoldingThereIsNoHoldAndAccept() {
        system { system in
            _ = second(system, CallUpdate(supportsHolding: false))
            #expect(system.offers(callB) == [.endAndAccept, .decline])
            #expect(system.person(.holdAndAccept(callB)) == .notOffered)
        }
    }

    @Test func T74_oneGroupAllowsNoHoldAndAccept() {
        system { system in
            _ = second(system, configure: { $0.maximumCallGroups = 1 })
            #expect(system.offers(callB) == [.endAndAccept, .decline])
        }
    }

    @Test func T75_endAndAcceptLeavesTheHeldCallHeld() {
        system { system in
            let app = heldAndActive(system)
            app.report(callC)
            #expect(system.offers(callC) == [.endAndAccept, .endHeldAndAccept, .decline])
            system.person(.endAndAccept(callC))
            #expect(app.performed == ["end B", "answer C"])
            #expect(system.state(callA) == .held && system.state(callC) == .active)
        }
    }

    @Test func T76_endHeldAndAccept() {
        system { system in
            let app = heldAndActive(system)
            app.report(callC)
            system.person(.endHeldAndAccept(callC))
            #expect(app.performed == ["end A", "hold B", "answer C"])
        }
    }

    @Test func T77_aHoldThatFailsEndsTheCall() {
        system { system in
            let app = second(system)
            app.decide = { $0.kind == .setHeld(true) ? .failed : .fulfilled(at: nil, engine: nil) }
            system.person(.holdAndAccept(callB))
            #expect(app.performed == ["hold A", "answer B", "end A"])
            #expect(app.calls.map(\.uuid) == [callB])
        }
    }

    @Test func T78_aSlowHoldEndsTheCall() {
        system(expecting: [.actionHoldSlow, .actionCompletedAfterTimeout]) { system in
            let app = second(system)
            app.decide = { $0.kind == .setHeld(true) ? nil : .fulfilled(at: nil, engine: nil) }
            system.person(.holdAndAccept(callB))
            let hold = app.held[0]
            system.pass(.seconds(10))
            app.complete(hold)
            #expect(app.performed == ["hold A", "answer B", "end A"])
            #expect(system.state(callB) == .active)
        }
    }

    @Test func T79_swap() {
        system { system in
            let app = heldAndActive(system)
            system.person(.swap)
            #expect(app.heard("perform", "did") == ["perform hold B", "perform unhold A"])
            #expect(system.state(callA) == .active && system.state(callB) == .held)
        }
    }

    @Test func T80_mergeByThePerson() {
        system { system in
            let app = heldAndActive(system)
            system.person(.merge)
            #expect(app.performed == ["unhold A", "group with B: A"])
            #expect(system.machine.group(of: callA) == system.machine.group(of: callB))
            #expect(system.state(callA) == .active && system.state(callB) == .active)
        }
    }

    @Test func T81_aGroupActionAloneDoesNotResume() {
        system(expecting: [.groupHeldMembers]) { system in
            let app = heldAndActive(system)
            #expect(app.request((callA, .setGroup(with: callB))) == nil)
            #expect(app.performed == ["group with B: A"])
            #expect(system.state(callA) == .held)
        }
    }

    @Test func T82_aGroupHasALargestSize() {
        system { system in
            let app = heldAndActive(system, configure: { $0.maximumCallsPerCallGroup = 1 })
            #expect(app.request((callA, .setHeld(false)), (callA, .setGroup(with: callB))) == 6)
            #expect(!system.offers(callB).contains(.merge))
        }
    }

    @Test func T82_fiveCallsFillAGroup() {
        system { system in
            let app = system.app()
            func call(_ number: UInt64) -> UUIDValue { UUIDValue(high: number, low: number) }
            app.takeCall(call(1))
            for number in UInt64(2)...6 {
                app.report(call(number))
                system.person(.holdAndAccept(call(number)))
                if number < 6 { #expect(system.person(.merge) == nil) }
            }
            #expect(system.person(.merge) == .notOffered)
            let wish: [ActionDescription] = [
                ActionDescription(uuid: app.uuid(), call: call(6), kind: .setGroup(with: call(1)))
            ]
            #expect(app.request(wish) == 6)
        }
    }

    @Test func T83_splittingHoldsTheRest() {
        system { system in
            let app = heldAndActive(system)
            system.person(.merge)
            #expect(app.request((callA, .setGroup(with: nil))) == nil)
            #expect(system.state(callA) == .active && system.state(callB) == .held)
            #expect(system.machine.group(of: callA) != system.machine.group(of: callB))
        }
    }

    @Test func T84_aSecondRingingCallWaits() {
        system { system in
            let app = system.app()
            app.report(callA)
            app.report(callB)
            #expect(system.machine.screen.calls.map(\.uuid) == [callA])
            #expect(system.machine.screen.ringing?.call == callA)
            #expect(app.calls.map(\.uuid) == [callA, callB])
        }
    }

    @Test func T85_acceptingTheFirstTurnsTheSecondAway() {
        system { system in
            let app = system.app()
            app.report(callA)
            app.report(callB)
            system.person(.accept(callA))
            #expect(app.performed == ["answer A", "end B"])
            #expect(app.calls.map(\.uuid) == [callA])
        }
    }

    @Test func T86_decliningTheFirstLetsTheSecondRing() {
        system { system in
            let app = system.app()
            app.report(callA)
            app.report(callB)
            system.person(.decline(callA))
            #expect(app.performed == ["end A"])
            #expect(system.machine.screen.ringing?.call == callB)
        }
    }

    @Test func T87_theRemoteEndOfOneLeavesTheOtherRinging() {
        system { system in
            let app = second(system)
            app.ended(callA)
            #expect(system.state(callB) == .ringing)
            #expect(system.offers(callB) == [.accept, .decline])
        }
    }

    @Test func T87_endingTheOtherCallIsTold() {
        system(expecting: [.endWrongCall]) { system in
            let app = second(system)
            app.ended(callA)
            app.probe(.signalling(call: callB, .declined))
            app.ended(callB)
        }
    }

    @Test func T88_anotherAppsCallIsAcceptedWithHold() {
        system { system in
            _ = twoApps(system)
            #expect(
                system.log.filter { !$0.contains("observe") && !$0.contains("execute") } == [
                    "one: perform hold A", "one: didDeactivate", "two: perform answer B", "two: didActivate",
                ])
        }
    }

    @Test func T89_endingTheOtherCallOnTheScreenResumesTheFirst() {
        system { system in
            let (one, two) = twoApps(system)
            one.events = []
            system.person(.end(callB))
            #expect(two.heard("did") == ["didActivate", "didDeactivate"])
            #expect(one.heard("perform", "did") == ["perform unhold A", "didActivate"])
        }
    }

    @Test func T90_theRemoteEndOfTheOtherCallLeavesTheFirstHeld() {
        system { system in
            let (one, two) = twoApps(system)
            one.events = []
            two.ended(callB)
            #expect(one.heard("perform", "did") == [])
            #expect(system.state(callA) == .held)
        }
    }

    @Test func T91_theFirstAppResumesByItself() {
        system { system in
            let (one, two) = twoApps(system)
            two.ended(callB)
            one.events = []
            #expect(one.request((callA, .setHeld(false))) == nil)
            #expect(one.heard("perform", "did") == ["perform unhold A", "didActivate"])
        }
    }

    @Test func T92_whereTheActivationIsLostTheAppMustStartAudioByItself() {
        system({ $0.omitsActivateAfterRemoteEnd = true }, expecting: [.audioLostAfterUnhold]) { system in
            let (one, two) = twoApps(system)
            one.probe(.audioStopped)
            two.ended(callB)
            one.events = []
            one.request((callA, .setHeld(false)))
            #expect(one.heard("did") == [] && system.machine.audioOwner == one.id)
            system.pass(.seconds(2))
            one.probe(.audioStarted)
            one.request((callA, .end))
            one.probe(.audioStopped)
            #expect(one.heard("did") == [])
        }
    }

    @Test func T93_resumingHoldsTheOtherAppsCall() {
        system { system in
            let (one, two) = twoApps(system)
            system.log = []
            #expect(one.request((callA, .setHeld(false))) == nil)
            #expect(
                system.log.filter { $0.contains("perform") || $0.contains("did") } == [
                    "two: perform hold B", "two: didDeactivate", "one: perform unhold A", "one: didActivate",
                ])
            #expect(two.isAudioActive == false)
        }
    }

    @Test func T94_theEndOfOneOfTwoCallsLeavesTheSession() {
        system(expecting: [.audioStoppedByOtherEnd]) { system in
            let app = second(system)
            app.probe(.audioStarted)
            system.person(.decline(callB))
            #expect(app.heard("did") == [])
            #expect(system.machine.audioOwner == app.id)
            app.probe(.audioStopped)
        }
    }

    @Test func T95_aHeadsetsOddSequenceIsObeyed() {
        system { system in
            let app = heldAndActive(system)
            app.report(callC)
            app.request((callB, .end))
            app.request((callC, .answer))
            app.request((callC, .end))
            app.request((callA, .setHeld(false)))
            #expect(app.performed == ["end B", "answer C", "end C", "unhold A"])
            #expect(app.calls.map(\.uuid) == [callA] && system.state(callA) == .active)
        }
    }

    @Test func aMobileCallHoldsAndGivesBack() {
        system { system in
            let app = system.app()
            app.takeCall(callA)
            system.person(.cellularIncoming(cellular, name: "Mother"))
            #expect(app.calls.count == 2)
            app.events = []
            system.person(.holdAndAccept(cellular))
            #expect(app.heard("perform", "did") == ["perform hold A", "didDeactivate"])
            system.person(.end(cellular))
            #expect(app.heard("perform", "did").suffix(2) == ["perform unhold A", "didActivate"])
        }
    }

    @Test func aMobileCallThatTheRemoteEndsLeavesOursHeld() {
        system { system in
            let app = system.app()
            app.takeCall(callA)
            system.person(.cellularOutgoing(cellular, name: "Mother"))
            #expect(system.state(callA) == .held && system.state(cellular) == .active && !app.isAudioActive)
            system.person(.cellularRemoteEnded(cellular))
            #expect(system.state(callA) == .held)
            system.person(.hold(callA, false))
            #expect(system.state(callA) == .active && app.isAudioActive)
        }
    }
}
