// SPDX-License-Identifier: Apache-2.0

import CallServiceCore
import Foundation
import Testing

extension Interop {
    /// The example app as a program of its own, started for a push by `handset-callservice` over its socket; SIP through Kamailio, real sound.
    @Suite(.serialized) struct SpeakerboxProcessTests {
        private func talking(
            _ kamailio: Kamailio, _ service: SpeakerboxService, duration: Int, isSecond: Bool = false
        ) async throws -> (UUID, Subprocess) {
            let call = UUID()
            let count = isSecond ? 2 : 1
            #expect(try await service.push(call, from: "alice") == .appStarted)
            try await service.wait(log: "ringing", count: count)
            try await service.wait("the screen") { service.isRinging && service.shown(call)?.name == "alice" }
            try await service.wait(log: "registered", count: count)
            let alice = try Bench.handset(
                [
                    "call", "bob", "--header", "X-Call-UUID: \(call.uuidString)", "--play", Bench.english, "--record",
                    service.folder + "/alice.wav", "--duration", "\(duration)", "--codecs", "pcmu",
                ] + kamailio.account("alice", transport: "udp"), password: "alice-secret")
            try await service.wait(log: "invited", count: count)
            #expect(try await service.person(.accept(UUIDValue(call.uuidString) ?? UUIDValue(high: 0, low: 0))) == nil)
            try await service.wait(log: "audio on", count: count)
            try await service.wait("an active call") { service.shown(call)?.state == .active }
            return (call, alice)
        }

        @Test func aPushStartsTheProgramAndBothSidesHearEachOther() async throws {
            let kamailio = try await Kamailio.start()
            let service = try await SpeakerboxService(kamailio)
            try await service.runOnce()
            #expect(service.started.isEmpty)
            let (call, alice) = try await talking(kamailio, service, duration: 6)
            #expect(service.started.count == 1)
            #expect(try await alice.exitStatus(within: 20) == 0, "\(alice.transcript)")
            try await service.wait(log: "ended remoteEnded")
            try await service.wait("the end on the screen") { service.calls.isEmpty }
            let entry = try #require(service.history.last)
            #expect(entry.call == UUIDValue(call.uuidString) && entry.outcome == .connected && entry.handle?.value == "alice")
            #expect(entry.duration > 4_000_000)
            try await service.wait(log: "audio off")
            #expect(service.process.lines.filter { $0.hasPrefix("pitfall ") } == [])
            try expectHeard(Bench.italian, in: service.folder + "/alice.wav", seconds: 3, within: 2)
            try expectHeard(Bench.english, in: service.recording, seconds: 3, within: 2)
            await service.stop()
            await kamailio.stop()
        }

        @Test func theProgramIsKilledInTheMiddleAndTheNextPushStartsItAnew() async throws {
            let kamailio = try await Kamailio.start()
            let service = try await SpeakerboxService(kamailio)
            try await service.runOnce()
            let (first, alice) = try await talking(kamailio, service, duration: 60)
            try service.killApp()
            try await service.wait("the end on the screen") { service.calls.isEmpty }
            let entry = try #require(service.history.last)
            #expect(entry.call == UUIDValue(first.uuidString) && entry.outcome == .connected && entry.reason == .failed)
            alice.interrupt()
            _ = try await alice.exitStatus(within: 40)
            let (second, again) = try await talking(kamailio, service, duration: 2, isSecond: true)
            #expect(service.started.count == 2)
            #expect(try await again.exitStatus(within: 20) == 0, "\(again.transcript)")
            try await service.wait("the end on the screen") { service.calls.isEmpty }
            #expect(service.history.map(\.call) == [first, second].map { UUIDValue($0.uuidString) })
            #expect(service.process.lines.filter { $0.hasPrefix("pitfall ") } == [])
            await service.stop()
            await kamailio.stop()
        }
    }
}
