// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

extension Interop {
    /// What other phones do with reliable ringing, UPDATE, session timers, digits by each method and a second call.
    @Suite(.serialized) struct CallFeatureTests {
        /// The messages of a trace: method of a request, or status and method of a response, each with its direction.
        private func messages(_ path: String) throws -> [String] {
            try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").compactMap { line in
                let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                guard let direction = object?["direction"] as? String, let text = object?["message"] as? String else { return nil }
                let lines = text.components(separatedBy: "\r\n")
                guard let first = lines.first?.split(separator: " "), first.count > 1 else { return nil }
                guard first[0] == "SIP/2.0" else { return "\(direction) \(first[0])" }
                let sequence = lines.first { $0.hasPrefix("CSeq:") }?.split(separator: " ").last ?? ""
                return "\(direction) \(first[1]) \(sequence)"
            }
        }

        /// pjsip requires 100rel and a session timer: our 180 is acknowledged, its UPDATE is answered, the call goes on.
        @Test func pjsipRequiresReliableRingingAndATimerAndSendsUPDATE() async throws {
            let place = try await Place()
            let trace = place.folder + "/trace"
            let us = try await place.handset(["answer", "--calls", "1", "--delay", "0.5", "--trace", trace], "bob")
            let pjsip = try await place.pjsip("alice", more: ["--prack", "--timer", "90"])
            pjsip.write("call sip:bob@\(place.domain)")
            try await us.wait(for: "call", ["state": "confirmed"])
            pjsip.write("update")
            try await Task.sleep(for: .seconds(1))
            pjsip.write("hangup")
            #expect(try await us.exitStatus(within: 10) == 0, "\(us.transcript)")
            let seen = try messages(trace)
            for step in ["received INVITE", "sent 180 INVITE", "received PRACK", "sent 200 PRACK", "sent 200 INVITE", "received ACK"] {
                #expect(seen.contains(step), "\(step) in \(seen)")
            }
            #expect(seen.contains("received UPDATE") && seen.contains("sent 200 UPDATE"), "\(seen)")
            let text = try String(contentsOfFile: trace, encoding: .utf8)
            #expect(text.contains("Session-Expires: 90"))
            pjsip.write("quit")
            try await pjsip.exitStatus(within: 10)
            await place.stop()
        }

        /// The other role: pjsip rings reliably, and we acknowledge its ringing by PRACK.
        @Test func pjsipRingsReliablyAndWeAcknowledge() async throws {
            let place = try await Place()
            let trace = place.folder + "/trace"
            let pjsip = try await place.pjsip("alice", more: ["--prack", "--auto-answer", "180"])
            let us = try await place.handset(["call", "alice", "--trace", trace], "bob")
            try await us.wait(for: "call", ["state": "early", "status": "180"])
            for _ in 0..<200 where try SignallingTrace(trace).count("received 200 PRACK") == 0 {
                try await Task.sleep(for: .milliseconds(10))
            }
            pjsip.write("answer")
            try await us.wait(for: "call", ["state": "confirmed"])
            pjsip.write("hangup")
            #expect(try await us.exitStatus(within: 10) == 0, "\(us.transcript)")
            let seen = try SignallingTrace(trace)
            let ringing = seen.entries.first { $0.step == "received 180 INVITE" }
            #expect(ringing?.field("Require")?.contains("100rel") == true, "\(ringing?.message ?? "no 180")")
            for step in ["sent PRACK", "received 200 PRACK", "received 200 INVITE", "sent ACK"] {
                #expect(seen.steps.contains(step), "\(step) in \(seen.steps)")
            }
            pjsip.write("quit")
            try await pjsip.exitStatus(within: 10)
            await place.stop()
        }

        /// Digits by INFO both ways, and RFC 4733 where it was negotiated.
        @Test func pjsipTakesAndSendsDigitsByINFO() async throws {
            let place = try await Place()
            let us = try await place.handset(["answer", "--calls", "1", "--control", "--dtmf-method", "info"], "bob")
            let pjsip = try await place.pjsip("alice")
            pjsip.write("call sip:bob@\(place.domain)")
            try await us.wait(for: "call", ["state": "confirmed"])
            pjsip.write("info 7")
            try await us.wait(for: "dtmf", ["direction": "received", "digit": "7", "method": "info"], within: 5)
            us.write(#"{"command":"dtmf","digits":"4"}"#)
            try await us.wait(for: "dtmf", ["direction": "sent", "digit": "4", "method": "info"], within: 5)
            try await pjsip.wait(for: "dtmf", ["digit": "4"], within: 5)
            pjsip.write("hangup")
            #expect(try await us.exitStatus(within: 10) == 0, "\(us.transcript)")
            pjsip.write("quit")
            try await pjsip.exitStatus(within: 10)
            await place.stop()
        }

        /// What baresip hears of our digits, by each method.
        @Test(arguments: ["rfc4733", "info"])
        func baresipTakesOurDigitsByEachMethod(method: String) async throws {
            let place = try await Place()
            let us = try await place.handset(["answer", "--calls", "1", "--control", "--dtmf-method", method], "bob")
            let baresip = try await place.baresip("alice", play: Bench.english)
            baresip.write("call sip:bob@\(place.domain)")
            try await us.wait(for: "call", ["state": "confirmed"])
            try await Task.sleep(for: .milliseconds(500))
            us.write(#"{"command":"dtmf","digits":"7"}"#)
            try await us.wait(for: "dtmf", ["direction": "sent", "digit": "7", "method": method], within: 5)
            try await baresip.wait(for: "baresip", ["type": "CALL_DTMF_START", "param": "7"], within: 5)
            baresip.write("hangup")
            #expect(try await us.exitStatus(within: 10) == 0, "\(us.transcript)")
            baresip.write("quit")
            try await baresip.exitStatus(within: 10)
            await place.stop()
        }

        /// pjsip has one call with us and gets a second one from us, answered with the first on hold, then swapped.
        @Test func aSecondCallIsAnsweredWithHoldAndSwapped() async throws {
            let place = try await Place()
            let us = try await place.handset(["phone", "--control"], "bob")
            try await us.wait(for: "registration", ["state": "registered"])
            let one = try await place.pjsip("alice")
            one.write("call sip:bob@\(place.domain)")
            try await us.wait(for: "call", ["call": "1", "state": "incoming"])
            us.write(#"{"command":"answer","call":"1"}"#)
            try await us.wait(for: "call", ["call": "1", "state": "confirmed"])
            one.write("call sip:bob@\(place.domain)")
            try await us.wait(for: "waiting", ["call": "2"])
            us.write(#"{"command":"answer","call":"2","others":"hold"}"#)
            try await us.wait(for: "hold", ["call": "1", "by": "local", "state": "held"], within: 5)
            try await us.wait(for: "call", ["call": "2", "state": "confirmed"], within: 5)
            us.write(#"{"command":"swap"}"#)
            try await us.wait(for: "hold", ["call": "1", "by": "local", "state": "resumed"], within: 5)
            try await us.wait(for: "hold", ["call": "2", "by": "local", "state": "held"], within: 5)
            us.write(#"{"command":"quit"}"#)
            #expect(try await us.exitStatus(within: 10) == 0, "\(us.transcript)")
            one.write("quit")
            try await one.exitStatus(within: 10)
            await place.stop()
        }
    }
}
