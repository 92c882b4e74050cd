// SPDX-License-Identifier: Apache-2.0

@preconcurrency import CallKit
import CallServiceTestKit
import Foundation
import Testing

/// Transactions, what is asked of them and what becomes of it (docs/callkit.md, T-8 to T-22, T-26, T-173).
@Suite struct RequestTests {
    @Test("T-8: a transaction without actions is emptyTransaction")
    func emptyTransaction() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            #expect(await app.request() == 3)
            #expect(app.events.all == ["begin"])
        }
    }

    @Test("T-9: without the voip background mode a Start is unentitled")
    func noVoIPMode() async throws {
        try await withSystem { system in
            let app = TestApp(system) { $0.hasVoIPBackgroundMode = false }
            await system.settle()
            #expect(await app.start(UUID(), "A") == 1)
            #expect(system.takePitfalls().contains(.configNoVoipMode))
        }
    }

    @Test("T-10: without a provider, or after invalidate, every request is unknownCallProvider")
    func noProvider() async throws {
        try await withSystem { system in
            let process = system.launch("bare")
            let controller = process.run { CXCallController() }
            await #expect(throws: CXErrorCodeRequestTransactionError(.unknownCallProvider)) {
                try await controller.requestTransaction(with: CXEndCallAction(call: UUID()))
            }
            let app = TestApp(system)
            await system.settle()
            app.provider.invalidate()
            #expect(await app.start(UUID(), "A") == 2)
        }
    }

    @Test("T-11: End for a UUID that nobody knows is unknownCallUUID, and nothing is performed")
    func unknownCall() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            #expect(await app.request(CXEndCallAction(call: UUID())) == 4)
            #expect(system.takePitfalls() == [.requestUnknownCall])
            #expect(app.events.all == ["begin"])
        }
    }

    @Test("T-12: Start with the UUID of a live call is callUUIDAlreadyExists")
    func startTwice() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = try await app.answered("A")
            #expect(await app.start(call, "A") == 5)
            #expect(system.calls.count == 1)
            #expect(system.takePitfalls().allSatisfy { $0 == .uuidReused })
        }
    }

    @Test("T-13: a Start beyond the groups allowed is maximumCallGroupsReached, and the first call is untouched")
    func tooManyGroups() async throws {
        try await withSystem { system in
            let configuration = TestApp.configuration()
            configuration.maximumCallGroups = 1
            let app = TestApp(system, configuration: configuration)
            await system.settle()
            let call = UUID()
            #expect(await app.report(call, "A", change: { $0.supportsHolding = false }) == nil)
            try await system.user.accept(call)
            _ = app.events.take()
            #expect(await app.start(UUID(), "B") == 7)
            #expect(app.events.all == [])
            #expect(system.calls.map(\.hasConnected) == [true])
            system.takePitfalls()
        }
    }

    @Test("T-14: no group allowed: every Start is maximumCallGroupsReached")
    func zeroGroups() async throws {
        try await withSystem { system in
            let configuration = TestApp.configuration()
            configuration.maximumCallGroups = 0
            let app = TestApp(system, configuration: configuration)
            await system.settle()
            #expect(await app.start(UUID(), "A") == 7)
            #expect(system.takePitfalls().contains(.configZeroGroups))
        }
    }

    @Test("T-15: two merged calls are one group, so a third may start")
    func mergedCallsAreOneGroup() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let first = try await app.answered("A")
            let second = UUID()
            #expect(await app.report(second, "B") == nil)
            try await system.user.holdAndAccept(second)
            try await system.user.merge()
            #expect(system.areGrouped(first, second))
            #expect(await app.start(UUID(), "C") == nil)
            #expect(system.calls.count == 3)
            system.takePitfalls()
        }
    }

    @Test("T-16: Answer for an answered call is invalidAction")
    func answerTwice() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = try await app.answered("A")
            #expect(await app.request(CXAnswerCallAction(call: call)) == 6)
            #expect(app.events.all == [])
        }
    }

    @Test("T-17: one bad action refuses the whole transaction")
    func allOrNothing() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = try await app.answered("A")
            #expect(await app.request(CXSetHeldCallAction(call: call, onHold: true), CXEndCallAction(call: UUID())) == 4)
            #expect(app.events.all == [])
            #expect(system.takePitfalls() == [.requestUnknownCall])
        }
    }

    @Test("T-18: a valid transaction is performed action by action in its order")
    func performedInOrder() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let first = try await app.answered("A")
            let second = UUID()
            app.name(second, "B")
            let start = CXStartCallAction(call: second, handle: CXHandle(type: .phoneNumber, value: "+390698765"))
            #expect(await app.request(CXSetHeldCallAction(call: first, onHold: true), start) == nil)
            #expect(app.events.take().filter { !$0.hasPrefix("did") } == ["Held(A,true)", "Start(B)"])
        }
    }

    @Test("T-19: an app that executes the transaction itself gets no perform, and completes its actions")
    func executedByTheApp() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = try await app.answered("A")
            app.executesItself.withLock { $0 = true }
            #expect(await app.request(CXSetHeldCallAction(call: call, onHold: true), CXSetMutedCallAction(call: call, muted: true)) == nil)
            #expect(app.events.take() == ["execute 2"])
            #expect(app.provider.pendingTransactions.count == 1)
            app.kept(CXSetHeldCallAction.self)?.fulfill()
            #expect(app.provider.pendingTransactions.map(\.isComplete) == [false])
            app.kept(CXSetMutedCallAction.self)?.fulfill()
            #expect(app.provider.pendingTransactions.isEmpty)
            await system.settle()
            #expect(system.calls.map(\.isOnHold) == [true])
            #expect(system.isMuted(call))
        }
    }

    @Test("T-20: an accepted request may still fail when it is performed")
    func acceptedThenFailed() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = try await app.answered("A")
            app.policy.withLock { $0 = { _ in .fail } }
            #expect(await app.request(CXSetMutedCallAction(call: call, muted: true)) == nil)
            #expect(!system.isMuted(call))
            app.policy.withLock { $0 = { $0 is CXStartCallAction ? .fail : .fulfil } }
            #expect(await app.start(UUID(), "B") == nil)
            #expect(system.calls.count == 1)
            #expect(system.shown(call)?.state == .held)
            system.takePitfalls()
        }
    }

    @Test("T-21 (our choice): with one-by-one delivery the second action waits for the first")
    func oneByOne() async throws {
        var settings = CallSystem.usualSettings
        settings.deliversOneByOne = true
        try await withSystem(settings) { system in
            let app = TestApp(system)
            await system.settle()
            let first = try await app.answered("A")
            let second = UUID()
            app.name(second, "B")
            app.policy.withLock { $0 = { $0 is CXSetHeldCallAction ? .keep : .fulfil } }
            let start = CXStartCallAction(call: second, handle: CXHandle(type: .phoneNumber, value: "+390698765"))
            #expect(await app.request(CXSetHeldCallAction(call: first, onHold: true), start) == nil)
            #expect(app.events.take() == ["Held(A,true)"])
            app.kept(CXSetHeldCallAction.self)?.fulfill()
            await system.settle()
            #expect(app.events.take().contains("Start(B)"))
        }
    }

    @Test("T-22: the async form throws the error struct; its NSError has domain and code")
    func asyncFormThrows() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            do {
                try await app.controller.request(CXTransaction())
                Issue.record("not refused")
            } catch let error as CXErrorCodeRequestTransactionError {
                #expect(error.code == .emptyTransaction)
                #expect((error as NSError).domain == CXErrorDomainRequestTransaction)
                #expect((error as NSError).code == 3)
            }
        }
    }

    @Test("T-26: pending actions are found by class and call")
    func pendingActions() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let first = try await app.answered("A")
            let second = UUID()
            #expect(await app.report(second, "B") == nil)
            app.policy.withLock { $0 = { _ in .keep } }
            #expect(await app.request(CXSetHeldCallAction(call: first, onHold: true)) == nil)
            #expect(
                await app.request(CXSetHeldCallAction(call: first, onHold: false), CXSetMutedCallAction(call: second, muted: true)) == nil)
            let held = app.provider.pendingCallActions(of: CXSetHeldCallAction.self, withCall: first)
            #expect(held.compactMap { ($0 as? CXSetHeldCallAction)?.isOnHold } == [true, false])
            #expect(app.provider.pendingCallActions(of: CXSetHeldCallAction.self, withCall: second).isEmpty)
            #expect(app.provider.pendingCallActions(of: CXCallAction.self, withCall: second).count == 1)
            #expect(app.provider.pendingTransactions.flatMap(\.actions).count == 3)
            for action in held { action.fulfill() }
            #expect(app.provider.pendingCallActions(of: CXSetHeldCallAction.self, withCall: first).isEmpty)
            #expect(app.provider.pendingTransactions.count == 1)
            system.takePitfalls()
        }
    }

    @Test("T-173 (our choice): without a service a request is answered once, with unknown")
    func noService() async throws {
        let system = CallSystem()
        let app = TestApp(system)
        await system.settle()
        await app.process.kill()
        #expect(await app.start(UUID(), "A") == 0)
    }
}
