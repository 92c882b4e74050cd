// SPDX-License-Identifier: Apache-2.0
//
// The face in virtual time (requirements A1, A2, A10): life cycle, typed events in order, streams.

import Essentials
import Handset
import Media
import Networking
import SIP
import Testing

@Suite struct PhoneTests {
    @Test func aCallIsSeenFromItsFirstEventToItsLastStatistics() throws {
        let stage = try Stage()
        let (alice, bob) = (try stage.phone(), try stage.phone())
        let (caller, called) = try stage.establish(alice, bob)
        #expect(caller.direction == .outgoing && called.direction == .incoming)
        #expect(called.incoming?.invite.method == .invite)
        stage.run(.seconds(2))
        try stage.perform { await caller.hangUp() }
        // The reader comes when all is over: nothing is missed, and the sequences end.
        for call in [caller, called] {
            let events = try stage.perform {
                var events: [CallEvent] = []
                for await event in call.events { events.append(event) }
                return events
            }
            let states = events.compactMap { if case .state(let state, _, _) = $0 { state } else { nil } }
            let expected: [CallState] =
                call === caller
                ? [.calling, .early, .connecting, .confirmed, .disconnected] : [.incoming, .connecting, .confirmed, .disconnected]
            #expect(states == expected)
            guard case .ended(let end)? = events.dropLast().last, case .statistics(let figures, isFinal: true)? = events.last else {
                Issue.record("The last events are \(events.suffix(2)).")
                continue
            }
            #expect(end.wasEstablished)
            // Two seconds of speech both ways, a packet each 20 ms.
            #expect(figures.packetsSent > 90 && figures.packetsReceived > 90)
        }
        try stage.perform { await alice.phone.stop() }
        try stage.perform { await bob.phone.stop() }
    }

    @Test func holdMuteDigitsAndStateGoThroughTheCallObject() throws {
        let stage = try Stage()
        let (alice, bob) = (try stage.phone(), try stage.phone())
        let (caller, called) = try stage.establish(alice, bob)
        try stage.perform { try await caller.setMuted(true) }
        try stage.perform { try await caller.setMuted(false) }
        try stage.perform { try await caller.hold() }
        #expect(stage.run(until: { bob.notes.all.contains { if case .hold(_, .remote, true) = $0 { true } else { false } } }))
        try stage.perform { try await caller.resume() }
        #expect(stage.run(until: { bob.notes.all.contains { if case .hold(_, .remote, false) = $0 { true } else { false } } }))
        try stage.perform { try await caller.sendDTMF("19#") }
        stage.run(.seconds(2))
        let digits = bob.notes.all.compactMap { if case .digitReceived(_, let digit, .rfc4733, _) = $0 { digit } else { nil } }
        #expect(digits == ["1", "9", "#"])
        #expect(try stage.perform { await called.state } == .confirmed)
        try stage.perform { await called.hangUp() }
        #expect(try stage.perform { await called.state } == .disconnected)
        // Over: every command says so, but hanging up again is fine.
        try stage.perform { await called.hangUp() }
        #expect(throws: PhoneError.self) { try stage.perform { try await called.hold() } }
        #expect(throws: PhoneError.self) { try stage.perform { try await called.answer() } }
        try stage.perform { await alice.phone.stop() }
        try stage.perform { await bob.phone.stop() }
    }

    @Test func aSecondCallIsAnsweredWithHoldSwappedAndTheFirstEnded() throws {
        let stage = try Stage()
        let (alice, bob, carol) = (try stage.phone(), try stage.phone(), try stage.phone())
        let (_, first) = try stage.establish(alice, bob)
        let calls = Notes<Handset.Call>()
        stage.begin { for await call in bob.phone.incomingCalls { calls.add(call) } }
        func ring() throws -> Handset.Call {
            let before = calls.all.count
            _ = try stage.perform { try await carol.phone.call(from: nil, to: bob.uri) }
            #expect(stage.run(until: { calls.all.count > before }))
            return try #require(calls.all.last)
        }
        let second = try ring()
        #expect(second.incoming?.isWaiting == true)
        try stage.perform { try await second.answerHolding() }
        func held(_ notes: Notes<PhoneEvent>, _ isHeld: Bool) -> Bool {
            notes.all.contains { if case .hold(_, .remote, isHeld) = $0 { true } else { false } }
        }
        #expect(stage.run(until: { held(alice.notes, true) }))
        try stage.perform { try await first.swap() }
        #expect(stage.run(until: { held(alice.notes, false) && held(carol.notes, true) }))
        #expect(carol.notes.all.contains { if case .notice(_, .ringback(.local)) = $0 { true } else { false } })
        let third = try ring()
        try stage.perform { try await third.answerEnding() }
        #expect(stage.run(until: { alice.ends.map(\.cause.code) == ["call.remote-hung-up"] }))
        #expect(try stage.perform { await third.state } != .disconnected)
        for user in [alice, bob, carol] { try stage.perform { await user.phone.stop() } }
    }

    @Test func stopEndsCallsInGoodOrderAndMayBeCalledAgain() throws {
        let stage = try Stage()
        let (alice, bob) = (try stage.phone(), try stage.phone())
        let (caller, _) = try stage.establish(alice, bob)
        let stops = Notes<Int>()
        for number in 0..<3 {
            stage.begin {
                await alice.phone.stop()
                stops.add(number)
            }
        }
        #expect(stage.run(until: { stops.all.count == 3 }))
        try stage.perform { await alice.phone.stop() }
        #expect(alice.hasStopped)
        #expect(alice.ends.map(\.cause.code) == ["call.shut-down"])
        #expect(stage.run(until: { bob.ends.map(\.cause.code) == ["call.remote-hung-up"] }))
        // Every sequence ends, the call's with its last statistics.
        let last = try stage.perform {
            var last: CallEvent?
            for await event in caller.events { last = event }
            for await _ in alice.phone.events {}
            for await _ in alice.phone.incomingCalls {}
            return last
        }
        guard case .statistics(_, isFinal: true)? = last else { throw Missing() }
        // A phone that has stopped refuses, and starts nothing again.
        #expect(throws: PhoneError.self) { _ = try stage.perform { try await alice.phone.call(from: nil, to: bob.uri) } }
        #expect(throws: PhoneError.self) {
            _ = try stage.perform { try await alice.phone.addAccount("sip:a@127.0.0.1", password: .init("x")) }
        }
        let port = try stage.perform { await alice.phone.bridge.openTone(.init(frequency: 1000)) }
        try stage.perform { await alice.phone.bridge.close(port) }
        try stage.perform { await bob.phone.stop() }
    }

    @Test func abandonSaysGoodByeAndWaitsForNobody() throws {
        let stage = try Stage()
        let (alice, bob) = (try stage.phone(), try stage.phone())
        _ = try stage.establish(alice, bob)
        try stage.perform { await alice.phone.abandon() }
        try stage.perform { await alice.phone.abandon() }
        try stage.perform { await alice.phone.stop() }
        #expect(alice.ends.count == 1)
        #expect(stage.run(until: { bob.ends.map(\.cause.code) == ["call.remote-hung-up"] }))
        #expect(throws: PhoneError.self) { _ = try stage.perform { try await alice.phone.call(from: nil, to: bob.uri) } }
        try stage.perform { await bob.phone.stop() }
    }

    @Test func aPeerThatIsDeadDoesNotHoldUpTheStop() throws {
        let stage = try Stage()
        let alice = try stage.phone()
        _ = try stage.perform { try await alice.phone.call(from: nil, to: "sip:nobody@127.0.0.1:9") }
        stage.run(.milliseconds(50))
        let before = stage.loop.now
        try stage.perform { await alice.phone.stop() }
        #expect(stage.loop.now - before < .seconds(3))
    }

    @Test func aPortInUseIsAClearErrorAndLeavesNothingOpen() throws {
        let stage = try Stage()
        let alice = try stage.phone()
        let taken = try required(try stage.perform { await alice.phone.listening.first }).address
        // The first listener could be opened and must not stay so.
        let free = try required(try stage.perform { try await Phone(loopbackSettings(stage.loop)) }.listeningNow(stage)).address
        for _ in 0..<2 {
            let settings = stage.settings { $0.listeners = [.init(.tcp, SocketAddress(.loopbackV4, free.port)), .init(.udp, taken)] }
            do {
                _ = try stage.perform { try await Phone(settings) }
                Issue.record("The port \(taken) was taken twice.")
            } catch let error as NetworkError {
                #expect(error.code == .addressInUse)
                #expect(error.context == "udp \(taken)")
                #expect(error.description.contains("\(taken)"))
            }
        }
        try stage.perform { await alice.phone.stop() }
        // And the port is free once its phone has stopped.
        let again = try stage.phone { $0.listeners = [.init(.udp, taken)] }
        try stage.perform { await again.phone.stop() }
    }

    @Test func anAddressThatIsNotOursIsAClearError() throws {
        let stage = try Stage()
        let settings = stage.settings { $0.listeners = [.init(.udp, SocketAddress(.v4(0xc000_0201), 0))] }
        let error = #expect(throws: NetworkError.self) { _ = try stage.perform { try await Phone(settings) } }
        #expect(error?.code == .addressNotAvailable)
    }

    @Test func thePublishedAddressesAreReported() throws {
        let stage = try Stage()
        let alice = try stage.phone {
            $0.listeners = [.init(.udp, SocketAddress(.loopbackV4, 0)), .init(.tcp, SocketAddress(.loopbackV4, 0))]
        }
        stage.run(.milliseconds(5))
        let told = alice.notes.all.compactMap { event -> PhoneSettings.Listener? in
            if case .listening(let transport, let address) = event { .init(transport, address) } else { nil }
        }
        #expect(told.map(\.transport) == [.udp, .tcp])
        #expect(told.allSatisfy { $0.address.port > 0 })
        #expect(try stage.perform { await alice.phone.listening } == told)
        try stage.perform { await alice.phone.stop() }
    }

    @Test func manyPhonesLiveInOneProcess() throws {
        let stage = try Stage()
        let stations = try (0..<12).map { _ in try stage.phone() }
        for index in stride(from: 0, to: stations.count, by: 2) { _ = try stage.establish(stations[index], stations[index + 1]) }
        for station in stations { #expect(try stage.perform { await station.phone.callCount } == 1) }
        for station in stations { try stage.perform { await station.phone.stop() } }
        for station in stations { #expect(station.ends.count == 1) }
    }
}

extension Phone {
    nonisolated func listeningNow(_ stage: Stage) throws -> PhoneSettings.Listener? {
        let first = try stage.perform { await self.listening.first }
        try stage.perform { await self.stop() }
        return first
    }
}

/// Requirement A16 with real threads.
@Suite struct ConcurrencyTests {
    @Test(.timeLimit(.minutes(2))) func everyCommandMayComeFromAnyTask() async throws {
        let loop = try EventLoop(name: "test")
        defer { loop.stop() }
        let bob = try await Phone(loopbackSettings(loop)) { phone, event, _ in
            if case .incomingCall(let id, _) = event { try? phone.answer(id) }
        }
        let alice = try await Phone(loopbackSettings(loop))
        let target = "sip:bob@\(try #require(await bob.listening.first).address)"
        let durations = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<40 {
                group.addTask {
                    let call = try await alice.call(from: nil, to: target)
                    for await event in call.events {
                        switch event {
                        case .state(.confirmed, _, _):
                            // All at once on one call as well; each is refused or done, none corrupts.
                            await withTaskGroup { inner in
                                inner.addTask { try? await call.hold() }
                                inner.addTask { try? await call.setMuted(true) }
                                inner.addTask { try? await call.sendDTMF("1", method: .info) }
                                inner.addTask { _ = await call.state }
                            }
                            await call.hangUp()
                        case .ended(let end): return end.wasEstablished
                        default: break
                        }
                    }
                    return false
                }
            }
            var results: [Bool] = []
            for try await result in group { results.append(result) }
            return results
        }
        #expect(durations == Array(repeating: true, count: 40))
        #expect(await alice.callCount == 0)
        await alice.stop()
        await bob.stop()
    }
}
