// SPDX-License-Identifier: Apache-2.0

@preconcurrency import CallKit
import CallProbe
import CallServiceTestKit
import Foundation
import Testing

/// Outgoing calls (docs/callkit.md, T-59 to T-70).
@Suite struct OutgoingTests {
    @Test("T-59: an outgoing call from its request to its end")
    func wholeCall() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = UUID()
            #expect(await app.start(call, "A") == nil)
            app.provider.reportOutgoingCall(with: call, startedConnectingAt: nil)
            await system.advance(by: .seconds(2))
            app.provider.reportOutgoingCall(with: call, connectedAt: nil)
            app.update(call)
            await system.advance(by: .seconds(5))
            #expect(await app.request(CXEndCallAction(call: call)) == nil)
            #expect(app.events.take() == ["begin", "Start(A)", "didActivate", "End(A)", "didDeactivate"])
            #expect(app.observed.take() == ["A outgoing", "A outgoing connected", "A outgoing connected ended"])
            let entry = try #require(system.history.last)
            #expect(entry.isOutgoing && entry.outcome == .connected)
            #expect(abs(Double(entry.duration) / 1e6 - 5) < 0.01)
        }
    }

    @Test("T-60: a failed Start ends the call without audio")
    func startFails() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            app.policy.withLock { $0 = { _ in .fail } }
            #expect(await app.start(UUID(), "A") == nil)
            #expect(app.events.take() == ["begin", "Start(A)"])
            #expect(system.history.map(\.outcome) == [.cancelled])
            #expect(system.history.map(\.reason) == [.failed])
            system.takePitfalls()
        }
    }

    @Test("T-61, T-62: a call that never was reported connected is cancelled, and another one is offered a plain accept")
    func neverConnected() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let (call, other) = (UUID(), UUID())
            #expect(await app.start(call, "A") == nil)
            app.update(call)
            app.process.run { CallProbe.mediaStarted(call) }
            #expect(await app.report(other, "B") == nil)
            #expect(system.user.offers(other).contains(.accept))
            #expect(!system.user.offers(other).contains(.holdAndAccept))
            app.provider.reportCall(with: other, endedAt: nil, reason: .remoteEnded)
            #expect(await app.request(CXEndCallAction(call: call)) == nil)
            #expect(system.takePitfalls() == [.outgoingNeverConnected])
            #expect(system.history.last?.outcome == .cancelled)
            #expect(!app.observed.take().contains { $0.contains("A outgoing connected") })
        }
    }

    @Test("T-63: a Start that is not completed soon is told")
    func slowFulfil() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            app.policy.withLock { $0 = { _ in .keep } }
            #expect(await app.start(UUID(), "A") == nil)
            await system.advance(by: .seconds(6))
            #expect(system.takePitfalls() == [.outgoingSlowFulfil])
            app.kept(CXStartCallAction.self)?.fulfill()
        }
    }

    @Test(
        "T-64, T-65: refused or unanswered, the call is cancelled and keeps its reason",
        arguments: [CXCallEndedReason.remoteEnded, .unanswered])
    func notAnswered(reason: CXCallEndedReason) async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = UUID()
            #expect(await app.start(call, "A") == nil)
            app.update(call)
            app.provider.reportCall(with: call, endedAt: nil, reason: reason)
            await system.settle()
            #expect(system.history.map(\.outcome) == [.cancelled])
            #expect(system.history.map(\.reason?.rawValue) == [reason.rawValue])
            #expect(app.observed.take().last == "A outgoing ended")
        }
    }

    @Test("T-66 (our choice): reportOutgoingCall for an incoming call changes nothing and is told")
    func wrongDirection() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = UUID()
            #expect(await app.report(call, "A") == nil)
            app.provider.reportOutgoingCall(with: call, connectedAt: nil)
            #expect(system.takePitfalls() == [.outgoingWrongDirection])
            #expect(system.calls.map(\.hasConnected) == [false])
        }
    }

    @Test("T-67, T-68: a Start from the background is refused without a call, and accepted with one")
    func background() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            await app.process.setForeground(false)
            #expect(await app.start(UUID(), "A") == 6)
            #expect(system.takePitfalls() == [.requestBackground])
            let call = UUID()
            #expect(await app.report(call, "B") == nil)
            try await system.user.accept(call)
            #expect(await app.start(UUID(), "C") == nil)
            system.takePitfalls()
        }
    }

    @Test("T-69: a Start before the provider has begun is refused, and accepted after it")
    func beforeBegin() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            var code: Int?
            let start = CXStartCallAction(call: UUID(), handle: CXHandle(type: .phoneNumber, value: "+391"))
            do { try await app.controller.requestTransaction(with: start) } catch { code = (error as NSError).code }
            #expect(code == 7)
            #expect(system.takePitfalls() == [.requestBeforeBegin])
            await system.settle()
            #expect(await app.start(UUID(), "A") == nil)
            system.takePitfalls()
        }
    }

    @Test("T-70 (our choice): a second Start holds the active call first, and is told")
    func secondStart() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let first = try await app.answered("A")
            #expect(await app.start(UUID(), "B") == nil)
            #expect(app.events.take().filter { !$0.hasPrefix("did") } == ["Held(A,true)", "Start(B)"])
            #expect(system.takePitfalls() == [.outgoingSecondWithoutHold])
            #expect(system.shown(first)?.state == .held)
        }
    }

    @Test("T-177: audio comes with the fulfilled Start, so that the app can play ringback")
    func ringback() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            #expect(await app.start(UUID(), "A") == nil)
            #expect(app.events.take() == ["begin", "Start(A)", "didActivate"])
            #expect(system.calls.map(\.hasConnected) == [false])
        }
    }
}
