// SPDX-License-Identifier: Apache-2.0

@preconcurrency import CallKit
import CallServiceTestKit
import Foundation
import Testing

/// Performing, completing, timing out (docs/callkit.md, T-28 to T-38).
@Suite struct ActionTests {
    @Test("T-28, T-29: an Answer that is not completed times out once, its call fails, and completing it later is told")
    func answerTimesOut() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            app.policy.withLock { $0 = { _ in .keep } }
            let call = UUID()
            #expect(await app.report(call, "A") == nil)
            try await system.user.accept(call)
            let action = try #require(app.kept(CXAnswerCallAction.self))
            #expect(abs(action.timeoutDate.timeIntervalSince(system.now) - 60) < 0.01)
            await system.advance(by: .seconds(59))
            #expect(app.events.take() == ["begin", "Answer(A)"])
            await system.advance(by: .seconds(2))
            #expect(app.events.take() == ["timedOut CXAnswerCallAction"])
            #expect(system.calls.isEmpty)
            #expect(system.history.map(\.reason) == [.failed])
            #expect(system.takePitfalls() == [.actionUnanswered])
            action.fulfill()
            #expect(system.takePitfalls() == [.actionCompletedAfterTimeout])
            #expect(system.calls.isEmpty)
        }
    }

    @Test("T-30: fulfilled, then failed: it stays fulfilled")
    func completedTwice() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = try await app.answered("A")
            app.policy.withLock { $0 = { _ in .keep } }
            #expect(await app.request(CXSetMutedCallAction(call: call, muted: true)) == nil)
            let action = try #require(app.kept(CXSetMutedCallAction.self))
            #expect(!action.isComplete)
            action.fulfill()
            #expect(action.isComplete)
            action.fail()
            #expect(action.isComplete)
            #expect(system.isMuted(call))
            #expect(system.takePitfalls() == [.actionCompletedTwice])
        }
    }

    @Test("T-31 (our choice): a Muted that times out leaves call and mute as they were")
    func muteTimesOut() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = try await app.answered("A")
            app.policy.withLock { $0 = { _ in .keep } }
            #expect(await app.request(CXSetMutedCallAction(call: call, muted: true)) == nil)
            await system.advance(by: .seconds(6))
            #expect(app.events.take() == ["Muted(A,true)", "timedOut CXSetMutedCallAction"])
            #expect(!system.isMuted(call))
            #expect(system.calls.count == 1)
            #expect(system.takePitfalls() == [.actionUnanswered])
        }
    }

    @Test("T-32 (our choice): a failed End ends the call all the same")
    func failedEnd() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = try await app.answered("A")
            app.policy.withLock { $0 = { _ in .fail } }
            #expect(await app.request(CXEndCallAction(call: call)) == nil)
            #expect(system.calls.isEmpty)
            #expect(system.takePitfalls() == [.actionEndFailed])
        }
    }

    /// Writes no method for groups.
    final class Simple: NSObject, CXProviderDelegate, @unchecked Sendable {
        func providerDidReset(_ provider: CXProvider) {}
        func provider(_ provider: CXProvider, perform action: CXAnswerCallAction) { action.fulfill() }
        func provider(_ provider: CXProvider, perform action: CXSetHeldCallAction) { action.fulfill() }
    }

    @Test("T-33 (our choice): an action without a method fails and is told")
    func notImplemented() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            let simple = Simple()
            app.provider.setDelegate(simple, queue: nil)
            await system.settle()
            system.takePitfalls()
            let (first, second) = (UUID(), UUID())
            #expect(await app.report(first, "A") == nil)
            try await system.user.accept(first)
            #expect(await app.report(second, "B") == nil)
            try await system.user.holdAndAccept(second)
            system.takePitfalls()
            #expect(await app.request(CXSetGroupCallAction(call: first, callUUIDToGroupWith: second)) == nil)
            #expect(system.takePitfalls().contains(.actionNotImplemented))
            #expect(!system.areGrouped(first, second))
            #expect(system.pendingActions == 0)
        }
    }

    @Test("T-34 (our choice): the end of a call drops its other actions, and completing one later changes nothing")
    func droppedActions() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = try await app.answered("A")
            app.policy.withLock { $0 = { _ in .keep } }
            #expect(await app.request(CXSetHeldCallAction(call: call, onHold: true)) == nil)
            app.provider.reportCall(with: call, endedAt: nil, reason: .remoteEnded)
            await system.advance(by: .seconds(30))
            #expect(app.events.take().filter { $0.hasPrefix("timedOut") } == [])
            app.kept(CXSetHeldCallAction.self)?.fulfill()
            #expect(system.takePitfalls() == [.actionCompletedAfterEnd])
            #expect(app.provider.pendingTransactions.isEmpty)
        }
    }

    @Test("T-35: the date of fulfill(withDateConnected:) is that of the history and the call's timer")
    func connectedDate() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            app.policy.withLock { $0 = { _ in .keep } }
            let call = UUID()
            #expect(await app.report(call, "A") == nil)
            try await system.user.accept(call)
            await system.advance(by: .seconds(4))
            let connected = system.now.addingTimeInterval(-1)
            app.kept(CXAnswerCallAction.self)?.fulfill(withDateConnected: connected)
            await system.advance(by: .seconds(10))
            #expect(abs((system.shown(call)?.connectedAt?.secondsSince1970 ?? 0) - connected.timeIntervalSince1970) < 0.001)
            app.provider.reportCall(with: call, endedAt: nil, reason: .remoteEnded)
            let duration = try #require(system.history.last?.duration)
            #expect(abs(Double(duration) / 1e6 - 11) < 0.01)
        }
    }

    @Test("T-36 (our choice): a date in the future is clamped and told")
    func dateInTheFuture() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            app.policy.withLock { $0 = { _ in .keep } }
            let call = UUID()
            #expect(await app.report(call, "A") == nil)
            try await system.user.accept(call)
            app.kept(CXAnswerCallAction.self)?.fulfill(withDateConnected: system.now.addingTimeInterval(3600))
            await system.settle()
            let connected = try #require(system.shown(call)?.connectedAt?.secondsSince1970)
            #expect(connected <= system.now.timeIntervalSince1970)
            #expect(system.takePitfalls() == [.actionDateClamped])
        }
    }

    @Test("T-37: an action may be completed from any queue")
    func completedElsewhere() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = try await app.answered("A")
            app.policy.withLock { $0 = { _ in .keep } }
            #expect(await app.request(CXSetMutedCallAction(call: call, muted: true)) == nil)
            let box = TestApp.Box(app.kept(CXSetMutedCallAction.self))
            await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
                DispatchQueue.global().async {
                    box.value?.fulfill()
                    done.resume()
                }
            }
            #expect(system.isMuted(call))
        }
    }

    @Test("T-38: the uuid of an action is not that of its call")
    func confusedUUID() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = try await app.answered("A")
            app.policy.withLock { $0 = { _ in .keep } }
            #expect(await app.request(CXSetMutedCallAction(call: call, muted: true)) == nil)
            let action = try #require(app.kept(CXSetMutedCallAction.self))
            app.provider.reportCall(with: action.uuid, endedAt: nil, reason: .remoteEnded)
            #expect(system.takePitfalls() == [.actionUuidConfused])
            #expect(system.calls.count == 1)
            action.fulfill()
        }
    }

    @Test("P-2: an action that the app lets go of is told at once")
    func abandoned() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = try await app.answered("A")
            app.policy.withLock { $0 = { _ in .drop } }
            #expect(await app.request(CXSetMutedCallAction(call: call, muted: true)) == nil)
            #expect(system.takePitfalls() == [.actionAbandoned])
            await system.advance(by: .seconds(6))
            #expect(system.takePitfalls() == [.actionUnanswered])
        }
    }

    @Test func anActionThatTheAppLooksUpLaterIsNotAbandoned() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = try await app.answered("A")
            #expect(app.provider.pendingTransactions.isEmpty)
            app.policy.withLock { $0 = { _ in .drop } }
            #expect(await app.request(CXSetMutedCallAction(call: call, muted: true)) == nil)
            for action in app.provider.pendingCallActions(of: CXSetMutedCallAction.self, withCall: call) { action.fulfill() }
            #expect(system.isMuted(call))
        }
    }
}
