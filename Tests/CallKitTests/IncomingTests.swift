// SPDX-License-Identifier: Apache-2.0

@preconcurrency import CallKit
import CallProbe
import CallServiceTestKit
import Foundation
import Testing

/// Incoming calls (docs/callkit.md, T-40 to T-58).
@Suite struct IncomingTests {
    @Test("T-40: a reported call rings by name or address, and the observer sees it")
    func rings() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = UUID()
            #expect(await app.report(call, "A") == nil)
            #expect(system.screen.ringing?.call == UUIDValue(call.uuidString))
            #expect(system.shown(call)?.name == "+390612345")
            #expect(app.observed.take() == ["A incoming"])
            #expect(app.observer.calls.map(\.hasConnected) == [false])
        }
    }

    @Test("T-41: accept: Answer, connected, then the audio session")
    func accept() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = UUID()
            #expect(await app.report(call, "A") == nil)
            #expect(app.events.take() == ["begin"])
            _ = app.observed.take()
            try await system.user.accept(call)
            #expect(app.events.take() == ["Answer(A)", "didActivate"])
            #expect(app.observed.take() == ["A incoming connected"])
            #expect(app.session.isActiveForCall)
        }
    }

    @Test("T-42: an Answer held open shows connecting, and audio waits for it")
    func answerHeldOpen() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            app.policy.withLock { $0 = { _ in .keep } }
            let call = UUID()
            #expect(await app.report(call, "A") == nil)
            try await system.user.accept(call)
            await system.advance(by: .seconds(3))
            #expect(system.shown(call)?.state == .answering)
            #expect(app.events.take() == ["begin", "Answer(A)"])
            app.kept(CXAnswerCallAction.self)?.fulfill()
            await system.settle()
            #expect(app.events.take() == ["didActivate"])
        }
    }

    @Test("T-42 (our choice): with the switch set, audio comes before the fulfilment, and the app is right as well")
    func activationBeforeFulfilment() async throws {
        var settings = CallSystem.usualSettings
        settings.activatesBeforeFulfil = true
        try await withSystem(settings) { system in
            let app = TestApp(system)
            await system.settle()
            app.policy.withLock { $0 = { _ in .keep } }
            let call = UUID()
            try app.session.setCategory(.playAndRecord, mode: .voiceChat)
            #expect(await app.report(call, "A") == nil)
            try await system.user.accept(call)
            #expect(app.events.take() == ["begin", "Answer(A)", "didActivate"])
            app.kept(CXAnswerCallAction.self)?.fulfill()
            await system.settle()
            #expect(app.events.take() == [])
            #expect(system.shown(call)?.state == .active)
        }
    }

    @Test("T-43 (our choice): a failed Answer ends the call without audio")
    func answerFails() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            app.policy.withLock { $0 = { _ in .fail } }
            let call = UUID()
            #expect(await app.report(call, "A") == nil)
            try await system.user.accept(call)
            #expect(app.events.take() == ["begin", "Answer(A)"])
            #expect(system.history.map(\.outcome) == [.missed])
            #expect(system.history.map(\.reason) == [.failed])
        }
    }

    @Test("T-44 (our choice): declining is an End and nothing else")
    func decline() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = UUID()
            #expect(await app.report(call, "A") == nil)
            try await system.user.decline(call)
            #expect(app.events.take() == ["begin", "End(A)"])
            #expect(system.history.map(\.outcome) == [.declined])
        }
    }

    @Test("T-45 (our choice): the caller gives up: no End, missed")
    func callerGivesUp() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = UUID()
            #expect(await app.report(call, "A") == nil)
            app.provider.reportCall(with: call, endedAt: nil, reason: .remoteEnded)
            await system.settle()
            #expect(app.events.take() == ["begin"])
            #expect(app.observed.take() == ["A incoming", "A incoming ended"])
            #expect(system.history.map(\.outcome) == [.missed])
            #expect(system.screen.ringing == nil)
        }
    }

    @Test(
        "T-46 (our choice): a call taken or declined elsewhere is not missed",
        arguments: [
            (CXCallEndedReason.answeredElsewhere, HistoryEntry.Outcome.answeredElsewhere), (.declinedElsewhere, .declinedElsewhere),
        ])
    func elsewhere(reason: CXCallEndedReason, outcome: HistoryEntry.Outcome) async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = UUID()
            #expect(await app.report(call, "A") == nil)
            app.provider.reportCall(with: call, endedAt: nil, reason: reason)
            #expect(system.screen.ringing == nil)
            #expect(system.history.map(\.outcome) == [outcome])
        }
    }

    @Test("T-47 (our choice): ringing ends by itself after two minutes, and the missing limit is told")
    func ringsForever() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            #expect(await app.report(UUID(), "A") == nil)
            await system.advance(by: .seconds(121))
            #expect(system.calls.isEmpty)
            #expect(system.history.map(\.outcome) == [.missed])
            #expect(system.takePitfalls() == [.endRingForever])
        }
    }

    @Test("T-48: reporting a live UUID again is callUUIDAlreadyExists and changes nothing")
    func reportedTwice() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = UUID()
            #expect(await app.report(call, "A") == nil)
            #expect(await app.report(call, "A", from: "+1999") == 2)
            #expect(system.shown(call)?.name == "+390612345")
            system.takePitfalls()
        }
    }

    @Test("T-49 (our choice): the UUID of an ended call makes a new one, and is told")
    func reusedUUID() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = UUID()
            #expect(await app.report(call, "A") == nil)
            app.provider.reportCall(with: call, endedAt: nil, reason: .remoteEnded)
            #expect(await app.report(call, "A") == nil)
            #expect(system.takePitfalls() == [.uuidReused])
        }
    }

    @Test("T-50: Do Not Disturb refuses the report: no call, no ringing")
    func doNotDisturb() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            try await system.user.doNotDisturb()
            #expect(await app.report(UUID(), "A") == 3)
            #expect(system.screen.ringing == nil)
            #expect(app.observed.all == [])
        }
    }

    @Test("T-51 (our choice): a number on the block list is refused and not logged")
    func blocked() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            try await system.user.block("+390612345")
            #expect(await app.report(UUID(), "A", from: "+39 06 12345") == 4)
            #expect(system.history.isEmpty)
            #expect(system.screens.allSatisfy { $0.ringing == nil })
        }
    }

    @Test("T-52: an app that rings although its report was refused is told")
    func ringsAfterRefusal() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            try await system.user.doNotDisturb()
            let call = UUID()
            #expect(await app.report(call, "A") == 3)
            app.process.run { CallProbe.ringsBySound(call) }
            #expect(system.takePitfalls().contains(.reportErrorIgnored))
        }
    }

    @Test("T-53: an update changes what it sets, nothing else")
    func updateIsADifference() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = UUID()
            #expect(await app.report(call, "A", change: { $0.hasVideo = true }) == nil)
            let update = CXCallUpdate()
            update.localizedCallerName = "Ada"
            app.provider.reportCall(with: call, updated: update)
            #expect(system.shown(call)?.name == "Ada")
            #expect(system.shown(call)?.isVideo == true)
        }
    }

    @Test("T-54 (our choice): a fresh update allows everything but has no video")
    func freshUpdate() async throws {
        let update = CXCallUpdate()
        #expect(
            [update.supportsHolding, update.supportsGrouping, update.supportsUngrouping, update.supportsDTMF] == [true, true, true, true])
        #expect(!update.hasVideo)
        #expect(update.remoteHandle == nil && update.localizedCallerName == nil)
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = try await app.answered("A")
            #expect(system.user.offers(call).contains(.hold))
            #expect(system.shown(call)?.isVideo == false)
        }
    }

    @Test("T-55: an update for a call that nobody knows changes nothing and is told")
    func updateOfUnknownCall() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            app.provider.reportCall(with: UUID(), updated: CXCallUpdate())
            #expect(system.takePitfalls() == [.reportUnknownCall])
        }
    }

    @Test("T-56: an Answer that the app asks for is that of the call screen")
    func answerFromTheApp() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = UUID()
            #expect(await app.report(call, "A") == nil)
            _ = app.events.take()
            #expect(await app.request(CXAnswerCallAction(call: call)) == nil)
            #expect(app.events.take() == ["Answer(A)", "didActivate"])
        }
    }

    @Test("T-57: media for a call that the system still shows as ringing is told")
    func answerBypassed() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            let call = UUID()
            #expect(await app.report(call, "A") == nil)
            app.process.run { CallProbe.mediaStarted(call) }
            #expect(system.takePitfalls().contains(.answerBypassed))
        }
    }

    @Test("T-58: the contact's name comes before the list's label, the label before the number")
    func nameOrder() async throws {
        try await withSystem { system in
            let app = TestApp(system)
            await system.settle()
            system.setContacts([("+390611111", "Ada")])
            system.state.withLock {
                $0.machine.setDirectory(
                    "list", index: CallDirectoryTable(labels: [(390_611_111, "Listed"), (390_622_222, "Bakery")]), isEnabled: true)
            }
            for (handle, name) in [("+39 0611111", "Ada"), ("+39 0622222", "Bakery"), ("+39 0633333", "+39 0633333")] {
                let call = UUID()
                #expect(await app.report(call, "A", from: handle) == nil)
                #expect(system.shown(call)?.name == name)
                app.provider.reportCall(with: call, endedAt: nil, reason: .remoteEnded)
            }
        }
    }
}
