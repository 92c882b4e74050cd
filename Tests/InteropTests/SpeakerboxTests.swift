// SPDX-License-Identifier: Apache-2.0

import CallServiceTestKit
import Foundation
import SpeakerboxLike
import Testing

extension Interop {
    /// The example app as bob's phone: pushes, the call screen and history of the call service, SIP through Kamailio, real sound.
    @Suite(.serialized) struct SpeakerboxTests {
        private func caller(_ user: String, _ kamailio: Kamailio, _ call: UUID, _ more: [String]) throws -> Subprocess {
            try Bench.handset(
                ["call", "bob", "--header", "X-Call-UUID: \(call.uuidString)"] + kamailio.account(user, transport: "udp") + more,
                password: "\(user)-secret")
        }

        /// The push has started the app, which rings and is registered.
        private func woken(_ kamailio: Kamailio, _ call: UUID) async throws -> SpeakerboxDevice {
            let device = try SpeakerboxDevice(kamailio)
            try await device.forgetProcess()
            #expect(device.app == nil)
            device.push(call, from: "alice")
            try await device.wait(log: "ringing")
            try await device.wait(log: "registered")
            #expect(device.system.launched == [SpeakerboxDevice.bundle])
            return device
        }

        /// A call that bob has answered from the lock screen; alice plays and records until she is told to hang up.
        private func talking(_ kamailio: Kamailio, duration: Int) async throws -> (SpeakerboxDevice, UUID, Subprocess) {
            let call = UUID()
            let device = try await woken(kamailio, call)
            let alice = try caller(
                "alice", kamailio, call,
                ["--play", Bench.english, "--record", device.folder + "/alice.wav", "--duration", "\(duration)", "--codecs", "pcmu"])
            try await device.wait(log: "invited")
            try await device.system.user.accept(call)
            try await device.wait(log: "connected")
            try await device.wait(log: "audio on")
            return (device, call, alice)
        }

        @Test("B-072: a push wakes the app, the call is answered on the lock screen, and both sides hear each other")
        func pushToHistory() async throws {
            let kamailio = try await Kamailio.start()
            let (device, _, alice) = try await talking(kamailio, duration: 6)
            #expect(try await alice.exitStatus(within: 20) == 0, "\(alice.transcript)")
            try await device.wait(log: "ended remoteEnded")
            try await device.wait(log: "audio off")
            let entry = try #require(device.system.history.last)
            #expect(entry.outcome == .connected && !entry.isOutgoing)
            #expect(entry.handle?.value == "alice")
            #expect(entry.duration > 4_000_000)
            let log = device.log.withLock { $0 }
            // The answer is fulfilled first, then the system gives the sound device.
            let order = [
                "push alice", "ringing", "registered", "invited", "answer", "connected", "audio on", "ended remoteEnded", "audio off",
            ]
            #expect(log == order)
            try await device.stop()
            try expectHeard(Bench.italian, in: device.folder + "/alice.wav", seconds: 3, within: 2)
            try expectHeard(Bench.english, in: device.recording, seconds: 3, within: 2)
            await kamailio.stop()
        }

        @Test func theCallerGaveUpBeforeTheAppWoke() async throws {
            let kamailio = try await Kamailio.start()
            let device = try SpeakerboxDevice(kamailio)
            try await device.forgetProcess()
            let call = UUID()
            // Nobody is registered: her call ends before the push arrives.
            let alice = try caller("alice", kamailio, call, [])
            #expect(try await alice.exitStatus(within: 10) == 1, "\(alice.transcript)")
            let expiry = Date().timeIntervalSince1970 - 1
            device.system.push(["call": call.uuidString, "from": "alice", "expires": expiry], to: SpeakerboxDevice.bundle)
            try await device.wait("an entry of the history") { !device.system.history.isEmpty }
            #expect(device.system.history.map(\.outcome) == [.missed])
            #expect(device.system.calls.isEmpty)
            try await device.stop()
            await kamailio.stop()
        }

        @Test func aPushedCallIsDeclinedOnTheScreen() async throws {
            let kamailio = try await Kamailio.start()
            let call = UUID()
            let device = try await woken(kamailio, call)
            let alice = try caller("alice", kamailio, call, [])
            try await device.wait(log: "invited")
            try await device.system.user.decline(call)
            #expect(try await alice.exitStatus(within: 10) == 1)
            #expect(try await alice.wait(for: "ended", within: 1)["status"] as? Double == 603, "\(alice.transcript)")
            #expect(device.system.history.map(\.outcome) == [.declined])
            try await device.stop()
            await kamailio.stop()
        }

        @Test("B-074: a second call is taken beside or instead of the first, and each ends by its own id, once", arguments: [true, false])
        func aSecondCall(isHeld: Bool) async throws {
            let kamailio = try await Kamailio.start()
            let (device, first, alice) = try await talking(kamailio, duration: 60)
            let second = UUID()
            let carol = try caller("carol", kamailio, second, ["--duration", "60"])
            try await device.wait(log: "ringing", count: 2)
            if isHeld { try await device.system.user.holdAndAccept(second) } else { try await device.system.user.endAndAccept(second) }
            try await device.wait(log: "connected", count: 2)
            if isHeld {
                try await alice.wait(for: "hold", ["by": "remote", "state": "held"])
                #expect(device.system.shown(first)?.state == .held)
            } else {
                #expect(try await alice.exitStatus(within: 10) == 0, "\(alice.transcript)")
            }
            #expect(device.system.shown(second)?.state == .active)
            await device.inApp { $0.end(second) }
            #expect(try await carol.exitStatus(within: 10) == 0, "\(carol.transcript)")
            try await device.wait("the end of the second call") { device.system.shown(second) == nil }
            // Ended again by a late tap: refused, and the other call lives.
            await device.inApp { $0.end(second) }
            try await device.wait(log: "refused 4")
            #expect(device.system.takePitfalls() == [.requestAfterEnd])
            if isHeld {
                // Not the person's end: the held call stays held until the person resumes it.
                #expect(device.system.shown(first)?.state == .held)
                try await device.system.user.resume(first)
                try await alice.wait(for: "hold", ["by": "remote", "state": "resumed"])
                #expect(device.system.shown(first)?.state == .active)
                try await device.system.user.end(first)
                #expect(try await alice.exitStatus(within: 10) == 0, "\(alice.transcript)")
            }
            #expect(device.system.history.map(\.outcome) == [.connected, .connected])
            #expect(Set(device.system.history.map(\.call)).count == 2)
            try await device.stop()
            await kamailio.stop()
        }

        @Test func aMobileCallComesInTheMiddleAndGoes() async throws {
            let kamailio = try await Kamailio.start()
            let (device, call, alice) = try await talking(kamailio, duration: 60)
            let mobile = try await device.system.user.cellularCallComes()
            try await device.system.user.holdAndAccept(mobile)
            try await alice.wait(for: "hold", ["by": "remote", "state": "held"])
            try await device.wait(log: "audio off")
            try await device.system.user.end(mobile)
            try await device.wait(log: "audio on", count: 2)
            #expect(device.system.shown(call)?.state == .active)
            try await device.system.user.end(call)
            #expect(try await alice.exitStatus(within: 10) == 0, "\(alice.transcript)")
            try await device.stop()
            await kamailio.stop()
        }

        @Test("B-075: a mobile call rings in and is declined: the sound, which it interrupted, comes back")
        func interrupted() async throws {
            let kamailio = try await Kamailio.start()
            let (device, _, alice) = try await talking(kamailio, duration: 9)
            let mobile = try await device.system.user.cellularCallComes()
            try await device.system.user.act(.interruption(began: true, shouldResume: false))
            try await device.wait(log: "audio off")
            try await device.system.user.decline(mobile)
            try await device.system.user.act(.interruption(began: false, shouldResume: true))
            try await device.wait(log: "audio on", count: 2)
            #expect(try await alice.exitStatus(within: 20) == 0, "\(alice.transcript)")
            try await device.wait(log: "audio off", count: 2)
            try await device.stop()
            // The speech began anew with the second opening; so did the recording.
            let said = try Sound.read(device.folder + "/alice.wav")
            let half = Array(said.dropFirst(said.count / 2))
            #expect(half.contains { abs(Int($0)) > 1000 }, "alice hears bob again")
            #expect(try Sound.read(device.recording).contains { abs(Int($0)) > 1000 }, "bob hears alice again")
            await kamailio.stop()
        }

        @Test func muteAndHoldFromTheAppAndFromTheScreenAgree() async throws {
            let kamailio = try await Kamailio.start()
            let (device, call, alice) = try await talking(kamailio, duration: 60)
            await device.inApp { $0.mute(call, true) }
            try await device.wait("mute on the screen") { device.system.isMuted(call) }
            try await device.system.user.mute(call, false)
            try await device.wait(log: "unmute")
            #expect(device.app?.isMuted(call) == false)
            try await device.system.user.mute(call, true)
            try await device.wait(log: "mute", count: 2)
            await device.inApp { $0.mute(call, false) }
            try await device.wait("no mute on the screen") { !device.system.isMuted(call) }
            try await device.system.user.hold(call)
            try await alice.wait(for: "hold", ["by": "remote", "state": "held"])
            #expect(device.app?.isHeld(call) == true)
            await device.inApp { $0.hold(call, false) }
            try await device.wait("the call resumed") { device.system.shown(call)?.state == .active }
            let line = alice.lines.count
            await device.inApp { $0.hold(call, true) }
            try await device.wait("the call held") { device.system.shown(call)?.state == .held }
            try await alice.wait(for: "hold", ["by": "remote", "state": "held"], from: line)
            try await device.system.user.resume(call)
            try await device.wait(log: "resume", count: 2)
            #expect(device.app?.isHeld(call) == false)
            await device.inApp { $0.end(call) }
            #expect(try await alice.exitStatus(within: 10) == 0, "\(alice.transcript)")
            try await device.wait("history") { device.system.history.map(\.outcome) == [.connected] }
            try await device.stop()
            await kamailio.stop()
        }
    }
}
