// SPDX-License-Identifier: Apache-2.0

@preconcurrency import CallKit
import CallServiceTestKit
import Foundation
import Testing

/// More than one call (docs/callkit.md, T-71 to T-95).
@Suite struct SeveralCallsTests {
    /// A is active, B rings.
    private func two(_ system: CallSystem, change: (CXCallUpdate) -> Void = { _ in }) async throws -> (TestApp, UUID, UUID) {
        let app = TestApp(system)
        await system.settle()
        let first = UUID()
        #expect(await app.report(first, "A", change: change) == nil)
        try await system.user.accept(first)
        let second = UUID()
        #expect(await app.report(second, "B") == nil)
        _ = app.events.take()
        _ = app.observed.take()
        return (app, first, second)
    }

    /// A is held, B is active.
    private func heldAndActive(_ system: CallSystem) async throws -> (TestApp, UUID, UUID) {
        let (app, first, second) = try await two(system)
        try await system.user.holdAndAccept(second)
        _ = app.events.take()
        _ = app.observed.take()
        return (app, first, second)
    }

    @Test("T-71: end and accept: End of the one, Answer of the other, in one transaction")
    func endAndAccept() async throws {
        try await withSystem { system in
            let (app, first, second) = try await two(system)
            app.executesItself.withLock { $0 = true }
            try await system.user.endAndAccept(second)
            #expect(app.events.take() == ["execute 2"])
            app.kept(CXEndCallAction.self)?.fulfill()
            app.kept(CXAnswerCallAction.self)?.fulfill()
            await system.settle()
            #expect(system.shown(first) == nil)
            #expect(system.shown(second)?.state == .active)
            #expect(app.events.take() == [], "the session stays with the app")
        }
    }

    @Test("T-72: hold and accept")
    func holdAndAccept() async throws {
        try await withSystem { system in
            let (app, first, second) = try await two(system)
            try await system.user.holdAndAccept(second)
            #expect(app.events.take() == ["Held(A,true)", "Answer(B)"])
            #expect(system.shown(first)?.state == .held)
            #expect(system.shown(second)?.state == .active)
            #expect(app.observed.take() == ["A incoming connected held", "B incoming connected"])
        }
    }

    @Test("T-73: hold and accept is not offered for a call that denies holding")
    func holdingDenied() async throws {
        try await withSystem { system in
            let (app, _, second) = try await two(system, change: { $0.supportsHolding = false })
            defer { app.provider.invalidate() }
            #expect(!system.user.offers(second).contains(.holdAndAccept))
            await #expect(throws: UserCommandRefusal.notOffered) { try await system.user.holdAndAccept(second) }
        }
    }

    @Test("T-74: with one group allowed there is end and accept, and decline")
    func oneGroup() async throws {
        try await withSystem { system in
            let configuration = TestApp.configuration()
            configuration.maximumCallGroups = 1
            let app = TestApp(system, configuration: configuration)
            await system.settle()
            _ = try await app.answered("A")
            let second = UUID()
            #expect(await app.report(second, "B") == nil)
            #expect(Set(system.user.offers(second)) == [.endAndAccept, .decline])
            #expect(system.takePitfalls().allSatisfy { $0 == .configHoldButOneGroup })
        }
    }

    @Test("T-75, T-76: a third call: end the active one, or the held one")
    func thirdCall() async throws {
        try await withSystem { system in
            let (app, first, _) = try await heldAndActive(system)
            let third = UUID()
            #expect(await app.report(third, "C") == nil)
            try await system.user.endAndAccept(third)
            #expect(app.events.take() == ["End(B)", "Answer(C)"])
            #expect(system.shown(first)?.state == .held)
        }
        try await withSystem { system in
            let (app, _, second) = try await heldAndActive(system)
            let third = UUID()
            #expect(await app.report(third, "C") == nil)
            try await system.user.endHeldAndAccept(third)
            #expect(app.events.take() == ["End(A)", "Held(B,true)", "Answer(C)"])
            #expect(system.shown(second)?.state == .held)
        }
    }

    @Test("T-77: when holding fails, the old call ends and the new one goes on")
    func holdFails() async throws {
        try await withSystem { system in
            let (app, _, second) = try await two(system)
            app.policy.withLock { $0 = { $0 is CXSetHeldCallAction ? .fail : .fulfil } }
            try await system.user.holdAndAccept(second)
            #expect(app.events.take() == ["Held(A,true)", "Answer(B)", "End(A)"])
            #expect(system.calls.count == 1)
            #expect(system.shown(second)?.state == .active)
        }
    }

    @Test("T-78: a hold that takes ten seconds is too slow: the old call ends")
    func holdIsSlow() async throws {
        try await withSystem { system in
            let (app, _, second) = try await two(system)
            app.policy.withLock { $0 = { $0 is CXSetHeldCallAction ? .keep : .fulfil } }
            try await system.user.holdAndAccept(second)
            await system.advance(by: .seconds(10))
            #expect(app.events.take().suffix(2) == ["timedOut CXSetHeldCallAction", "End(A)"])
            app.kept(CXSetHeldCallAction.self)?.fulfill()
            #expect(system.takePitfalls() == [.actionHoldSlow, .actionCompletedAfterTimeout])
            #expect(system.calls.count == 1)
        }
    }

    @Test("T-79 (our choice): swapping keeps the session")
    func swap() async throws {
        try await withSystem { system in
            let (app, first, second) = try await heldAndActive(system)
            try await system.user.swap()
            #expect(app.events.take() == ["Held(B,true)", "Held(A,false)"])
            #expect(system.shown(first)?.state == .active)
            #expect(system.shown(second)?.state == .held)
        }
    }

    @Test("T-80: the person merges: resumed, then grouped")
    func merge() async throws {
        try await withSystem { system in
            let (app, first, second) = try await heldAndActive(system)
            try await system.user.merge()
            #expect(app.events.take() == ["Held(A,false)", "Group(A,B)"])
            #expect(system.areGrouped(first, second))
            #expect(system.calls.map(\.isOnHold) == [false, false])
        }
    }

    @Test("T-81: a Group that the app asks for does not resume the held call, and that is told")
    func groupOnly() async throws {
        try await withSystem { system in
            let (app, first, second) = try await heldAndActive(system)
            #expect(await app.request(CXSetGroupCallAction(call: first, callUUIDToGroupWith: second)) == nil)
            #expect(app.events.take() == ["Group(A,B)"])
            #expect(system.calls.first { $0.uuid == UUIDValue(first.uuidString) }?.isOnHold == true)
            #expect(system.takePitfalls() == [.groupHeldMembers])
        }
    }

    @Test("T-82 (our choice): a group that is full takes no more")
    func fullGroup() async throws {
        try await withSystem { system in
            let configuration = TestApp.configuration()
            configuration.maximumCallsPerCallGroup = 2
            configuration.maximumCallGroups = 3
            let app = TestApp(system, configuration: configuration)
            await system.settle()
            let first = try await app.answered("A")
            let second = UUID()
            #expect(await app.report(second, "B") == nil)
            try await system.user.holdAndAccept(second)
            try await system.user.merge()
            let third = UUID()
            #expect(await app.report(third, "C") == nil)
            try await system.user.holdAndAccept(third)
            #expect(await app.request(CXSetGroupCallAction(call: third, callUUIDToGroupWith: first)) == 6)
            system.takePitfalls()
        }
    }

    @Test("T-83 (our choice): leaving a group makes the call active and holds the rest")
    func leaveGroup() async throws {
        try await withSystem { system in
            let (app, first, second) = try await heldAndActive(system)
            try await system.user.merge()
            _ = app.events.take()
            #expect(await app.request(CXSetGroupCallAction(call: first, callUUIDToGroupWith: nil)) == nil)
            #expect(!system.areGrouped(first, second))
            #expect(system.shown(first)?.state == .active)
            #expect(system.shown(second)?.state == .held)
        }
    }

    @Test("T-84, T-85, T-86: a second call waits behind the one that rings")
    func waitingCall() async throws {
        for isAccepted in [true, false] {
            try await withSystem { system in
                let app = TestApp(system)
                await system.settle()
                let (first, second) = (UUID(), UUID())
                #expect(await app.report(first, "A") == nil)
                #expect(await app.report(second, "B") == nil)
                #expect(system.shown(first) != nil && system.shown(second) == nil)
                #expect(app.observer.calls.count == 2)
                _ = app.events.take()
                if isAccepted {
                    try await system.user.accept(first)
                    #expect(app.events.take().filter { !$0.hasPrefix("did") } == ["Answer(A)", "End(B)"])
                } else {
                    try await system.user.decline(first)
                    #expect(app.events.take() == ["End(A)"])
                    #expect(system.screen.ringing?.call == UUIDValue(second.uuidString))
                }
            }
        }
    }

    @Test("T-87: when the other side ends the first call, the second rings on")
    func remoteEndsFirst() async throws {
        try await withSystem { system in
            let (app, first, second) = try await two(system)
            app.provider.reportCall(with: first, endedAt: nil, reason: .remoteEnded)
            await system.settle()
            #expect(system.screen.ringing?.call == UUIDValue(second.uuidString))
            #expect(app.events.take().filter { $0.hasPrefix("End") } == [])
        }
    }

    /// A of the first app is held, B of the second is active.
    private func twoApps(_ system: CallSystem) async throws -> (TestApp, TestApp, UUID, UUID) {
        let (one, two) = (TestApp(system, "app.one"), TestApp(system, "app.two"))
        await system.settle()
        let first = try await one.answered("A")
        let second = UUID()
        #expect(await two.report(second, "B") == nil)
        try await system.user.holdAndAccept(second)
        return (one, two, first, second)
    }

    @Test("T-88, T-89: another app's call holds ours and takes the audio; ended by the person, ours comes back")
    func otherAppsCall() async throws {
        try await withSystem { system in
            let (one, two, _, second) = try await twoApps(system)
            #expect(one.events.take() == ["Held(A,true)", "didDeactivate"])
            #expect(two.events.take() == ["begin", "Answer(B)", "didActivate"])
            #expect(!one.session.isActiveForCall && two.session.isActiveForCall)
            try await system.user.end(second)
            #expect(two.events.take() == ["End(B)", "didDeactivate"])
            #expect(one.events.take() == ["Held(A,false)", "didActivate"])
        }
    }

    @Test("T-90, T-91 (our choice): ended by its other side, ours stays held until the person resumes it")
    func otherAppsRemoteEnd() async throws {
        try await withSystem { system in
            let (one, two, first, second) = try await twoApps(system)
            two.provider.reportCall(with: second, endedAt: nil, reason: .remoteEnded)
            await system.settle()
            _ = one.events.take()
            #expect(system.shown(first)?.state == .held)
            #expect(await one.request(CXSetHeldCallAction(call: first, onHold: false)) == nil)
            #expect(one.events.take() == ["Held(A,false)", "didActivate"])
        }
    }

    @Test("T-92: with the field's fault switched on there is no second didActivate")
    func activationOmitted() async throws {
        var settings = CallSystem.usualSettings
        settings.omitsActivateAfterRemoteEnd = true
        try await withSystem(settings) { system in
            let (one, two, first, second) = try await twoApps(system)
            two.provider.reportCall(with: second, endedAt: nil, reason: .remoteEnded)
            await system.settle()
            _ = one.events.take()
            #expect(await one.request(CXSetHeldCallAction(call: first, onHold: false)) == nil)
            #expect(one.events.take() == ["Held(A,false)"])
        }
    }

    @Test("T-93: resuming ours holds the other app's call first")
    func resumeOverOtherApp() async throws {
        try await withSystem { system in
            let (one, two, first, _) = try await twoApps(system)
            _ = (one.events.take(), two.events.take())
            #expect(await one.request(CXSetHeldCallAction(call: first, onHold: false)) == nil)
            #expect(two.events.take() == ["Held(B,true)", "didDeactivate"])
            #expect(one.events.take() == ["Held(A,false)", "didActivate"])
        }
    }

    @Test("T-94: ending the second of two calls leaves the session with the first")
    func secondEnds() async throws {
        try await withSystem { system in
            let (app, first, second) = try await heldAndActive(system)
            try await system.user.end(second)
            #expect(!app.events.take().contains("didDeactivate"))
            #expect(app.session.isActiveForCall)
            #expect(system.shown(first)?.state == .active)
        }
    }

    @Test("T-171: declining a second call leaves the first alone")
    func declineSecond() async throws {
        try await withSystem { system in
            let (app, first, second) = try await two(system)
            try await system.user.decline(second)
            #expect(app.events.take() == ["End(B)"])
            #expect(system.shown(first)?.state == .active)
        }
    }

    @Test("T-170 (our choice): ending a member of a group leaves the other alone and not held")
    func groupMemberEnds() async throws {
        try await withSystem { system in
            let (app, first, second) = try await heldAndActive(system)
            try await system.user.merge()
            #expect(await app.request(CXEndCallAction(call: first)) == nil)
            #expect(system.calls.count == 1)
            #expect(system.shown(second)?.state == .active)
        }
    }

    @Test("T-172: A held, B active in one app: ended by the person A comes back, ended by its other side it stays held")
    func oneAppTwoEnds() async throws {
        for isRemote in [false, true] {
            try await withSystem { system in
                let (app, first, second) = try await heldAndActive(system)
                if isRemote {
                    app.provider.reportCall(with: second, endedAt: nil, reason: .remoteEnded)
                    await system.settle()
                    #expect(system.shown(first)?.state == .held)
                } else {
                    try await system.user.end(second)
                    #expect(app.events.take() == ["End(B)", "Held(A,false)"])
                    #expect(system.shown(first)?.state == .active)
                }
            }
        }
    }

    @Test("T-182: observers see calls of other apps and of the mobile network, without names")
    func observersSeeAll() async throws {
        try await withSystem { system in
            let (one, two) = (TestApp(system, "app.one"), TestApp(system, "app.two"))
            await system.settle()
            _ = try await one.answered("A")
            let cellular = try await system.user.cellularCallComes()
            #expect(two.observer.calls.count == 2)
            two.name(cellular, "cell")
            try await system.user.decline(cellular)
            #expect(two.observed.take().last == "cell incoming ended")
        }
    }
}
