// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

extension Interop {
    /// Transfers with pjsip and baresip in each role.
    @Suite(.serialized) struct TransferTests {
        private let call = ["state": "confirmed"]

        @Test func weTransferPjsipToCarol() async throws {
            let place = try await Place()
            let carol = try await place.handset(["answer", "--calls", "1"], "carol")
            let pjsip = try await place.pjsip("alice", more: ["--auto-answer", "200"])
            let us = try await place.handset(["call", "alice", "--control"], "bob")
            try await us.wait(for: "call", call)
            us.write(#"{"command":"transfer","to":"sip:carol@example.net"}"#)
            try await us.wait(for: "transfer", ["direction": "outgoing", "state": "succeeded", "status": "200"])
            #expect(try await us.exitStatus(within: 10) == 0, "\(us.transcript)")
            try await carol.wait(for: "call", call)
            pjsip.write("hangup")
            #expect(try await carol.exitStatus(within: 10) == 0, "\(carol.transcript)")
            pjsip.write("quit")
            try await pjsip.exitStatus(within: 10)
            await place.stop()
        }

        @Test func pjsipTransfersUsToCarolAndHearsSo() async throws {
            let place = try await Place()
            let carol = try await place.handset(["answer", "--calls", "1"], "carol")
            let us = try await place.handset(["answer", "--calls", "2", "--transfers", "accept", "--control"], "bob")
            let pjsip = try await place.pjsip("alice")
            pjsip.write("call sip:bob@\(place.domain)")
            try await us.wait(for: "call", call)
            pjsip.write("transfer sip:carol@\(place.domain)")
            try await us.wait(for: "transfer", ["direction": "incoming", "state": "succeeded"])
            try await pjsip.wait(for: "transfer", ["state": "told", "status": "200", "final": "true"])
            us.write(#"{"command":"hangup","call":"2"}"#)
            #expect(try await carol.exitStatus(within: 10) == 0, "\(carol.transcript)")
            pjsip.write("hangup")
            #expect(try await us.exitStatus(within: 10) == 0, "\(us.transcript)")
            pjsip.write("quit")
            try await pjsip.exitStatus(within: 10)
            await place.stop()
        }

        @Test func weAskCarolFirstAndJoinPjsipWithHer() async throws {
            let place = try await Place()
            let carol = try await place.handset(["answer", "--calls", "2"], "carol")
            let pjsip = try await place.pjsip("alice", more: ["--auto-answer", "200"])
            let us = try await place.handset(["call", "alice", "--control"], "bob")
            try await us.wait(for: "call", call)
            us.write(#"{"command":"hold"}"#)
            try await us.wait(for: "hold", ["state": "held"])
            us.write(#"{"command":"call","to":"carol"}"#)
            try await us.wait(for: "call", ["state": "confirmed", "call": "2"])
            us.write(#"{"command":"attended","call":"1","with":"2"}"#)
            try await us.wait(for: "transfer", ["direction": "outgoing", "state": "succeeded"])
            #expect(try await us.exitStatus(within: 10) == 0, "\(us.transcript)")
            try await carol.wait(for: "transfer", ["direction": "replaced", "with": "1"])
            pjsip.write("hangup")
            #expect(try await carol.exitStatus(within: 10) == 0, "\(carol.transcript)")
            pjsip.write("quit")
            try await pjsip.exitStatus(within: 10)
            await place.stop()
        }

        @Test func pjsipAsksCarolFirstAndJoinsUsWithHer() async throws {
            let place = try await Place()
            let carol = try await place.handset(["answer", "--calls", "2"], "carol")
            let us = try await place.handset(["answer", "--calls", "2", "--transfers", "accept", "--control"], "bob")
            let pjsip = try await place.pjsip("alice")
            pjsip.write("call sip:bob@\(place.domain)")
            try await us.wait(for: "call", call)
            pjsip.write("hold")
            try await us.wait(for: "hold", ["by": "remote", "state": "held"])
            pjsip.write("call sip:carol@\(place.domain)")
            try await carol.wait(for: "call", call)
            try await Task.sleep(for: .milliseconds(300))
            pjsip.write("attended")
            try await us.wait(for: "transfer", ["direction": "incoming", "state": "succeeded"])
            try await carol.wait(for: "transfer", ["direction": "replaced"])
            us.write(#"{"command":"hangup","call":"2"}"#)
            #expect(try await carol.exitStatus(within: 10) == 0, "\(carol.transcript)")
            pjsip.write("quit")
            #expect(try await us.exitStatus(within: 15) == 0, "\(us.transcript)")
            try await pjsip.exitStatus(within: 10)
            await place.stop()
        }

        @Test func pjsipIsTheOneWhosePlaceIsTaken() async throws {
            let place = try await Place()
            let carol = try await place.handset(["answer", "--calls", "2", "--transfers", "accept", "--control"], "carol")
            let pjsip = try await place.pjsip("alice", more: ["--auto-answer", "200"])
            let us = try await place.handset(["call", "carol", "--control"], "bob")
            try await us.wait(for: "call", call)
            us.write(#"{"command":"call","to":"alice"}"#)
            try await us.wait(for: "call", ["state": "confirmed", "call": "2"])
            us.write(#"{"command":"attended","call":"1","with":"2"}"#)
            try await us.wait(for: "transfer", ["direction": "outgoing", "state": "succeeded"])
            try await pjsip.wait(for: "transfer", ["state": "replaced"])
            #expect(try await us.exitStatus(within: 10) == 0, "\(us.transcript)")
            carol.write(#"{"command":"hangup","call":"2"}"#)
            #expect(try await carol.exitStatus(within: 10) == 0, "\(carol.transcript)")
            pjsip.write("quit")
            try await pjsip.exitStatus(within: 10)
            await place.stop()
        }

        @Test func baresipIsTransferredAndTransfers() async throws {
            let place = try await Place()
            let carol = try await place.handset(["answer", "--calls", "2"], "carol")
            let baresip = try await place.baresip("alice", play: Bench.english, more: ["--auto-answer"])
            let us = try await place.handset(["call", "alice", "--control"], "bob")
            try await us.wait(for: "call", call)
            us.write(#"{"command":"transfer","to":"sip:carol@example.net"}"#)
            try await us.wait(for: "transfer", ["direction": "outgoing", "state": "succeeded"])
            #expect(try await us.exitStatus(within: 10) == 0, "\(us.transcript)")
            try await carol.wait(for: "call", call)
            baresip.write("hangup")
            try await carol.wait(for: "ended")
            let other = try await place.handset(["answer", "--calls", "2", "--transfers", "accept", "--control"], "bob")
            baresip.write("call sip:bob@\(place.domain)")
            try await other.wait(for: "call", call)
            baresip.write("transfer sip:carol@\(place.domain)")
            try await other.wait(for: "transfer", ["direction": "incoming", "state": "succeeded"])
            other.write(#"{"command":"hangup","call":"2"}"#)
            #expect(try await carol.exitStatus(within: 10) == 0, "\(carol.transcript)")
            baresip.write("quit")
            try await baresip.exitStatus(within: 10)
            await place.stop()
        }
    }
}
