// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

extension Interop {
    /// pjsip (PyPI pjsua2-python) at our server, against our phone.
    @Suite(.serialized) struct PJSIPTests {
        @Test func pjsipCallsUsAndBothHearEachOtherWithDigitsAndHold() async throws {
            let place = try await Place()
            let us = try await place.handset(
                ["answer", "--calls", "1", "--play", Bench.italian, "--record", place.folder + "/us.wav", "--control"], "bob")
            let pjsip = try await place.pjsip("alice", play: Bench.english, record: place.folder + "/pjsip.wav")
            pjsip.write("call sip:bob@\(place.domain)")
            try await us.wait(for: "call", ["state": "confirmed"])
            try await Task.sleep(for: .seconds(5))
            pjsip.write("dtmf 159#")
            for digit in ["1", "5", "9", "#"] { try await us.wait(for: "dtmf", ["direction": "received", "digit": digit], within: 5) }
            us.write(#"{"command":"dtmf","digits":"042"}"#)
            for digit in ["0", "4", "2"] { try await pjsip.wait(for: "dtmf", ["digit": digit], within: 5) }
            try await holdByEither(us, pjsip)
            pjsip.write("hangup")
            #expect(try await us.exitStatus(within: 10) == 0, "\(us.transcript)")
            #expect(us.events("dtmf").filter { $0["direction"] as? String == "received" }.count == 4, "each digit once: \(us.transcript)")
            pjsip.write("quit")
            try await pjsip.exitStatus(within: 10)
            try expectHeard(Bench.english, in: place.folder + "/us.wav", seconds: 5)
            try expectHeard(Bench.italian, in: place.folder + "/pjsip.wav", seconds: 5)
            await place.stop()
        }

        @Test func weCallPjsipAndBothHearEachOtherWithHold() async throws {
            let place = try await Place()
            let pjsip = try await place.pjsip(
                "alice", play: Bench.english, record: place.folder + "/pjsip.wav", more: ["--auto-answer", "200"])
            let us = try await place.handset(
                ["call", "alice", "--play", Bench.italian, "--record", place.folder + "/us.wav", "--control"], "bob")
            try await us.wait(for: "call", ["state": "confirmed"])
            try await Task.sleep(for: .seconds(5))
            try await holdByEither(us, pjsip)
            us.write(#"{"command":"hangup"}"#)
            #expect(try await us.exitStatus(within: 10) == 0, "\(us.transcript)")
            try await pjsip.wait(for: "call", ["state": "DISCONNECTED"], within: 5)
            pjsip.write("quit")
            try await pjsip.exitStatus(within: 10)
            try expectHeard(Bench.english, in: place.folder + "/us.wav", seconds: 5)
            try expectHeard(Bench.italian, in: place.folder + "/pjsip.wav", seconds: 5)
            await place.stop()
        }

        @Test func pjsipOverTCPCallsUs() async throws {
            let place = try await Place()
            let us = try await place.handset(["answer", "--calls", "1"], "bob", transport: "tcp")
            let pjsip = try await place.pjsip("alice", more: ["--transport", "tcp"])
            pjsip.write("call sip:bob@\(place.domain)")
            try await us.wait(for: "call", ["state": "confirmed"])
            try await Task.sleep(for: .seconds(1))
            pjsip.write("hangup")
            #expect(try await us.exitStatus(within: 10) == 0, "\(us.transcript)")
            pjsip.write("quit")
            try await pjsip.exitStatus(within: 10)
            await place.stop()
        }

        @Test func pjsipIsBusy() async throws {
            let place = try await Place()
            let pjsip = try await place.pjsip("alice", more: ["--auto-answer", "486"])
            let us = try await place.handset(["call", "alice"], "bob")
            #expect(try await us.exitStatus(within: 10) == 1)
            #expect(try await us.wait(for: "ended", within: 1)["status"] as? Double == 486, "\(us.transcript)")
            pjsip.write("quit")
            try await pjsip.exitStatus(within: 10)
            await place.stop()
        }

        private func holdByEither(_ us: Subprocess, _ pjsip: Subprocess) async throws {
            pjsip.write("hold")
            try await us.wait(for: "hold", ["by": "remote", "state": "held"], within: 5)
            // pjsip follows its re-INVITE up with one that names a single codec; a person is slower than that.
            try await Task.sleep(for: .milliseconds(700))
            pjsip.write("resume")
            try await us.wait(for: "hold", ["by": "remote", "state": "resumed"], within: 5)
            try await Task.sleep(for: .milliseconds(700))
            us.write(#"{"command":"hold"}"#)
            try await us.wait(for: "hold", ["by": "local", "state": "held"], within: 5)
            us.write(#"{"command":"resume"}"#)
            try await us.wait(for: "hold", ["by": "local", "state": "resumed"], within: 5)
        }
    }
}
