// SPDX-License-Identifier: Apache-2.0

import SIP
import Testing

@Suite struct CallFieldTests {
    private func message(_ fields: [String]) throws -> SIPMessage {
        let lines =
            [
                "INVITE sip:bob@example.net SIP/2.0", "Via: SIP/2.0/UDP 192.0.2.1;branch=z9hG4bK1", "Max-Forwards: 70",
                "From: <sip:alice@example.org>;tag=1", "To: <sip:bob@example.net>", "Call-ID: 1", "CSeq: 1 INVITE",
                "Contact: <sip:alice@192.0.2.1>",
            ] + fields + ["Content-Length: 0", "", ""]
        return try SIPMessage(parsing: Array(lines.joined(separator: "\r\n").utf8))
    }

    @Test("Reason (RFC 3326): several in one field, quoted text, what cannot be read is left out")
    func reasons() throws {
        let message = try message([
            "Reason: SIP ;cause=200 ;text=\"Call completed elsewhere, really\", Q.850;cause=16;text=\"Terminated\", ;cause=1",
            "Reason: preemption",
        ])
        #expect(message.reasons.map(\.protocol) == ["SIP", "Q.850", "preemption"])
        #expect(message.reasons.map(\.cause) == [200, 16, nil])
        #expect(message.reasons.first?.text == "Call completed elsewhere, really")
        #expect(message.reasons.map(\.isAnsweredElsewhere) == [true, false, false])
        #expect(Reason(cause: 603, text: "a \"b\"").description == "SIP;cause=603;text=\"a \\\"b\\\"\"")
        #expect(try Reason(Reason(cause: 603, text: "a \"b\"").description) == Reason(cause: 603, text: "a \"b\""))
        #expect(try self.message([]).reasons.isEmpty)
    }

    @Test(
        "Privacy (RFC 3323, RFC 3325)",
        arguments: [
            ("id", Privacy.id, true), ("user;id", [.user, .id], true), ("none", .none, false), ("id;none", [.id, .none], false),
            ("header ; session;critical", [.header, .session, .critical], true), ("history", .history, false), ("what", [], false),
        ] as [(String, Privacy, Bool)])
    func privacy(text: String, expected: Privacy, hides: Bool) throws {
        let message = try message(["Privacy: " + text])
        #expect(message.privacy == expected)
        #expect(message.privacy.hidesCaller == hides)
    }

    @Test("Diversion (RFC 5806): the latest first, over several fields")
    func diversions() throws {
        let message = try message([
            "Diversion: \"Desk\" <sip:1003@example.net>;reason=No-Answer;counter=2;privacy=off, <tel:+15551234>;reason=user-busy",
            "Diversion: <sip:x@example.net>",
        ])
        #expect(message.diversions.map { "\($0.by.uri)" } == ["sip:1003@example.net", "tel:+15551234", "sip:x@example.net"])
        #expect(message.diversions.map(\.reason) == ["no-answer", "user-busy", nil])
        #expect(message.diversions.map(\.count) == [2, 1, 1])
        #expect(message.diversions.first?.by.displayName == "Desk")
    }

    @Test("History-Info (RFC 7044): index, change and the Reason in the URI")
    func history() throws {
        let message = try message([
            "History-Info: <sip:bob@example.com?Reason=SIP%3Bcause%3D486%3Btext%3D%22Busy%22>;index=1;foo=bar,"
                + "<sip:office@example.net>;index=1.2;mp=1"
        ])
        #expect(message.history.map(\.index) == ["1", "1.2"])
        #expect(message.history.map { "\($0.target.uri)" } == ["sip:bob@example.com", "sip:office@example.net"])
        #expect(message.history.first?.reason == Reason(cause: 486, text: "Busy"))
        #expect(message.history.map(\.change) == [nil, "mp"])
    }

    @Test("identities (RFC 3325) and Remote-Party-ID")
    func identities() throws {
        let message = try message([
            "P-Asserted-Identity: \"A\" <sip:a@example.net>, <tel:+15551>", "P-Preferred-Identity: <sip:b@example.net>",
            "Remote-Party-ID: \"C\" <sip:c@example.net>;party=calling;screen=yes",
        ])
        #expect(message.assertedIdentities.map { "\($0.uri)" } == ["sip:a@example.net", "tel:+15551"])
        #expect(message.preferredIdentities.map { "\($0.uri)" } == ["sip:b@example.net"])
        #expect(message.remotePartyID?.parameters.value("screen") == "yes")
        #expect(try self.message([]).remotePartyID == nil)
    }

    @Test(
        "Answer-Mode (RFC 5373)",
        arguments: [
            ("Auto", AnswerMode(isAutomatic: true)), ("auto ;require", AnswerMode(isAutomatic: true, isRequired: true)),
            ("Manual", AnswerMode(isAutomatic: false)), ("Maybe", nil), ("", nil),
        ])
    func answerMode(text: String, expected: AnswerMode?) throws {
        #expect(try message(["Answer-Mode: " + text]).answerMode == expected)
        #expect(try message(["Priv-Answer-Mode: " + text]).privilegedAnswerMode == expected)
    }

    @Test(
        "P-Early-Media (RFC 5009)",
        arguments: [
            ("sendrecv", true, true), ("sendonly, gated", true, false), ("recvonly", false, true), ("inactive", false, false),
        ])
    func earlyMedia(text: String, comes: Bool, goes: Bool) throws {
        let permission = try #require(try message(["P-Early-Media: " + text]).earlyMedia)
        #expect(permission.comesToCaller == comes && permission.comesFromCaller == goes)
        #expect(EarlyMediaPermission("supported") == nil)
    }
}
