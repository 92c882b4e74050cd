// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

extension Interop {
    /// Presence and messages through Kamailio's presence modules, and with pjsip on the other side.
    @Suite(.serialized) struct PresenceTests {
        @Test func whatOnePublishesTheOtherSeesAndAMessagePasses() async throws {
            let kamailio = try await PresenceServer.start()
            let bob = try kamailio.handset(["register", "--control"], "bob")
            try await bob.wait(for: "registration", ["state": "registered"])
            let alice = try kamailio.handset(["subscribe", "bob", "--event", "presence", "--control"], "alice")
            try await alice.wait(for: "subscription", ["state": "active"])
            bob.write(#"{"command":"publish","status":"open","note":"At my desk"}"#)
            try await bob.wait(for: "publication", ["state": "published"])
            let seen = try await alice.wait(for: "presence", ["status": "open"])
            #expect(seen["note"] as? String == "At my desk")
            bob.write(#"{"command":"publish","status":"closed"}"#)
            try await alice.wait(for: "presence", ["status": "closed"])
            alice.write(#"{"command":"message","to":"bob","text":"Good morning"}"#)
            try await alice.wait(for: "message-sent", ["state": "delivered"])
            try await bob.wait(for: "message", ["text": "Good morning"])
            bob.write(#"{"command":"publish","status":"off"}"#)
            try await bob.wait(for: "publication", ["state": "ended"])
            alice.write(#"{"command":"unsubscribe","to":"bob","package":"presence"}"#)
            #expect(try await alice.exitStatus(within: 5) == 0, "\(alice.transcript)")
            await bob.stop()
            await kamailio.stop()
        }

        @Test func aMailboxIsAskedOnceAndAMessageToNobodyFails() async throws {
            let kamailio = try await PresenceServer.start()
            let mailbox = try kamailio.handset(["subscribe", "--event", "mwi", "--once"], "alice")
            #expect(try await mailbox.exitStatus(within: 10) == 0, "\(mailbox.transcript)")
            let message = try kamailio.handset(["message", "nobody", "Anybody there?"], "alice")
            #expect(try await message.exitStatus(within: 10) == 1)
            #expect(message.events("message-sent").last?["cause"] as? String == "message.not-found", "\(message.transcript)")
            #expect(message.errorText.contains("does not exist"))
            await kamailio.stop()
        }

        @Test func pjsipAndWeWriteToEachOther() async throws {
            let place = try await Place()
            let us = try await place.handset(["answer", "--control"], "bob")
            let pjsip = try await place.pjsip("alice")
            pjsip.write("message sip:bob@\(place.domain) Hello from pjsip")
            try await us.wait(for: "message", ["text": "Hello from pjsip"], within: 5)
            try await pjsip.wait(for: "message-sent", ["status": "200"], within: 5)
            us.write(#"{"command":"message","to":"alice","text":"Hello from us"}"#)
            try await pjsip.wait(for: "message", ["text": "Hello from us"], within: 5)
            try await us.wait(for: "message-sent", ["state": "delivered"], within: 5)
            pjsip.write("quit")
            try await pjsip.exitStatus(within: 10)
            await us.stop()
            await place.stop()
        }

        @Test func pjsipSeesOurPresenceAndWeSeeIts() async throws {
            let kamailio = try await PresenceServer.start()
            let us = try kamailio.handset(["register", "--control"], "bob")
            try await us.wait(for: "registration", ["state": "registered"])
            us.write(#"{"command":"publish","status":"open","note":"Handset"}"#)
            try await us.wait(for: "publication", ["state": "published"])
            let pjsip = try await kamailio.pjsip("alice", more: ["--publish"])
            pjsip.write("watch sip:bob@\(kamailio.domain)")
            try await pjsip.wait(for: "buddy", ["status": "1"], within: 5)
            us.write(#"{"command":"publish","status":"closed"}"#)
            try await pjsip.wait(for: "buddy", ["status": "2"], within: 5)
            us.write(#"{"command":"subscribe","to":"alice","package":"presence"}"#)
            try await us.wait(for: "subscription", ["state": "active"], within: 5)
            pjsip.write("status Away from the desk")
            try await us.wait(for: "presence", ["status": "open"], within: 5)
            pjsip.write("quit")
            try await pjsip.exitStatus(within: 10)
            await us.stop()
            await kamailio.stop()
        }
    }
}
