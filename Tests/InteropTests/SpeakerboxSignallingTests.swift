// SPDX-License-Identifier: Apache-2.0

import CallServiceTestKit
import Foundation
import SpeakerboxLike
import Testing

extension Interop {
    /// The joint between SIP and the call service in the example app (docs/callkit.md, SIP-1 to SIP-6).
    @Suite(.serialized) struct SpeakerboxSignallingTests {
        /// The app woken by a push at Kamailio, ringing and registered.
        private func woken(_ kamailio: Kamailio, _ call: UUID) async throws -> SpeakerboxDevice {
            let device = try SpeakerboxDevice(kamailio)
            try await device.forgetProcess()
            device.push(call, from: "alice")
            try await device.wait(log: "ringing")
            try await device.wait(log: "registered")
            return device
        }

        private func alice(_ kamailio: Kamailio, _ call: UUID, _ more: [String] = []) throws -> Subprocess {
            try Bench.handset(
                ["call", "bob", "--header", "X-Call-UUID: \(call.uuidString)"] + kamailio.account("alice", transport: "udp") + more,
                password: "alice-secret")
        }

        /// The app, opened by the person, in a call with `peer` that it placed and that was answered.
        private func talking(to peer: ScriptedPhone) async throws -> (SpeakerboxDevice, UUID) {
            let (device, invite) = try await calling(peer)
            peer.respond("200 OK", to: invite, withSound: true)
            try await device.wait(log: "connected")
            try await device.wait(log: "audio on")
            let call = try #require(device.app?.liveCalls.first)
            try await device.wait("an active call") { device.system.shown(call)?.state == .active }
            return (device, call)
        }

        private func calling(_ peer: ScriptedPhone) async throws -> (SpeakerboxDevice, invite: String) {
            // Nobody is where it registers; calls to an address go there directly.
            let device = try SpeakerboxDevice(.init(address: "sip:bob@127.0.0.1:\(try Bench.freePort())", password: ""))
            await device.open()
            await device.inApp { [address = peer.address] in $0.call(address) }
            return (device, try await peer.wait(for: "INVITE"))
        }

        @Test("T-196: accepted before the invitation: the answer is fulfilled after the 200, then the sound comes")
        func acceptedEarly() async throws {
            let kamailio = try await Kamailio.start()
            let call = UUID()
            let device = try await woken(kamailio, call)
            try await device.system.user.accept(call)
            try await Task.sleep(for: .seconds(2))
            #expect(device.system.shown(call)?.state == .answering)
            #expect(device.system.pendingActions == 1)
            let alice = try alice(kamailio, call, ["--duration", "1"])
            try await alice.wait(for: "call", ["state": "confirmed"])
            try await device.wait(log: "audio on")
            #expect(device.system.shown(call)?.state == .active)
            #expect(try await alice.exitStatus(within: 10) == 0, "\(alice.transcript)")
            try await device.wait(log: "audio off")
            let log = device.log.withLock { $0 }
            #expect(log.dropFirst(3) == ["answer", "invited", "connected", "audio on", "ended remoteEnded", "audio off"], "\(log)")
            try await device.stop()
            await kamailio.stop()
        }

        @Test("T-199: the other side is unreachable: End is fulfilled at once, the sound is given back, BYE is repeated behind")
        func unreachable() async throws {
            let peer = try ScriptedPhone()
            let (device, call) = try await talking(to: peer)
            peer.falls(silent: true)
            try await device.system.user.end(call)
            #expect(device.system.shown(call) == nil)
            #expect(device.system.pendingActions == 0)
            try await device.wait(log: "audio off", within: 1)
            #expect(device.system.history.map(\.outcome) == [.connected])
            try await peer.wait(for: "BYE", count: 3)
            peer.falls(silent: false)
            try await peer.wait(for: "BYE", count: 4)
            try await device.stop()
            peer.stop()
        }

        @Test("T-200, B-073: answered on another phone, the ringing ends as answered elsewhere, and that phone's call goes on")
        func answeredElsewhere() async throws {
            let kamailio = try await Kamailio.start()
            let call = UUID()
            let other = try Bench.handset(
                ["answer", "--delay", "1.5", "--calls", "1"] + kamailio.account("bob", transport: "udp"), password: "bob-secret")
            try await other.wait(for: "registration", ["state": "registered"])
            let device = try await woken(kamailio, call)
            let alice = try alice(kamailio, call, ["--duration", "2"])
            try await device.wait(log: "invited")
            try await device.wait(log: "ended answeredElsewhere")
            #expect(device.system.history.map(\.reason) == [.answeredElsewhere])
            #expect(device.system.calls.isEmpty)
            #expect(try await alice.exitStatus(within: 10) == 0, "\(alice.transcript)")
            #expect(try await other.exitStatus(within: 10) == 0, "\(other.transcript)")
            let end = try #require(alice.events("ended").first)
            #expect((end["duration"] as? Double ?? 0) >= 1.9, "nobody else hung up: \(end)")
            try await device.stop()
            await kamailio.stop()
        }

        @Test("T-200: the caller gives up while it rings: ended by the other side, and missed")
        func cancelled() async throws {
            let kamailio = try await Kamailio.start()
            let call = UUID()
            let device = try await woken(kamailio, call)
            let alice = try alice(kamailio, call)
            try await device.wait(log: "invited")
            alice.interrupt()
            try await device.wait(log: "ended remoteEnded")
            #expect(device.system.history.map(\.reason) == [.remoteEnded])
            #expect(device.system.history.map(\.outcome) == [.missed])
            _ = try await alice.exitStatus(within: 10)
            try await device.stop()
            await kamailio.stop()
        }

        @Test("T-201: an outgoing call connects to the other side at 180, and is up at 200, not at 183")
        func progress() async throws {
            let peer = try ScriptedPhone()
            let (device, invite) = try await calling(peer)
            let call = try #require(device.app?.liveCalls.first)
            peer.respond("100 Trying", to: invite)
            try await Task.sleep(for: .milliseconds(200))
            #expect(device.log.withLock { $0 } == ["start", "audio on"])
            peer.respond("180 Ringing", to: invite)
            try await device.wait(log: "reached")
            peer.respond("183 Session Progress", to: invite, withSound: true)
            try await device.wait("sound before the answer") { peer.loudPackets(within: 1) > 0 }
            #expect(device.system.shown(call)?.state == .connecting)
            #expect(device.system.shown(call)?.connectedAt == nil)
            peer.respond("200 OK", to: invite, withSound: true)
            try await device.wait("the answer") { device.system.shown(call)?.state == .active }
            #expect(device.system.shown(call)?.connectedAt != nil)
            await device.inApp { $0.end(call) }
            try await peer.wait(for: "BYE")
            try await device.wait("history") { device.system.history.map(\.outcome) == [.connected] }
            try await device.stop()
            peer.stop()
        }

        @Test("T-202: the other side refuses the re-INVITE of a hold: it is fulfilled, and nothing of ours is heard there")
        func refusedHold() async throws {
            let peer = try ScriptedPhone()
            let (device, call) = try await talking(to: peer)
            try await device.wait("sound") { peer.loudPackets(within: 1) > 10 }
            try await device.system.user.hold(call)
            #expect(device.system.shown(call)?.state == .held)
            #expect(device.system.pendingActions == 0)
            peer.respond("488 Not Acceptable Here", to: try await peer.wait(for: "INVITE", count: 2))
            try await Task.sleep(for: .milliseconds(1200))
            #expect(peer.loudPackets(within: 1) == 0)
            #expect(device.system.shown(call)?.state == .held)
            try await device.system.user.resume(call)
            try await device.wait("sound again") { peer.loudPackets(within: 0.5) > 10 }
            try await device.system.user.end(call)
            try await peer.wait(for: "BYE")
            try await device.stop()
            peer.stop()
        }
    }
}
