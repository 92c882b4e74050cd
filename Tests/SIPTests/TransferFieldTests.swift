// SPDX-License-Identifier: Apache-2.0

import SIP
import Testing

@Suite struct TransferFieldTests {
    private func message(_ fields: String...) throws -> SIPMessage {
        let head = ["REFER sip:b@example.net SIP/2.0", "Via: SIP/2.0/UDP 10.0.0.1;branch=z9hG4bK1", "From: <sip:a@example.net>;tag=1"]
        let rest = ["To: <sip:b@example.net>", "Call-ID: x", "CSeq: 1 REFER", "Max-Forwards: 70"] + fields
        return try SIPMessage(parsing: Array(((head + rest).joined(separator: "\r\n") + "\r\n\r\n").utf8))
    }

    @Test func `Replaces and Target-Dialog are read and written`() throws {
        let text = "12adf2f34456gs5;to-tag=12345;from-tag=54321;early-only"
        let replaces = try #require(try message("Replaces: \(text)").replaces)
        #expect(replaces == Replaces(callID: "12adf2f34456gs5", toTag: "12345", fromTag: "54321", isEarlyOnly: true))
        #expect(replaces.description == text)
        #expect(try message("Replaces: a@b ; from-tag=2 ; to-tag=1").replaces == Replaces(callID: "a@b", toTag: "1", fromTag: "2"))
        let dialog = try #require(try message("Target-Dialog: fa77@host;local-tag=kkaz-;remote-tag=6544").targetDialog)
        #expect(dialog == TargetDialog(callID: "fa77@host", localTag: "kkaz-", remoteTag: "6544"))
        #expect(try TargetDialog(dialog.description) == dialog)
    }

    @Test(arguments: [
        "a", "a;to-tag=1", ";to-tag=1;from-tag=2", "a b;to-tag=1;from-tag=2", "a,b;to-tag=1;from-tag=2", "a;to-tag=1;from-tag",
    ])
    func `a Replaces without Call-ID or tags is not read`(text: String) throws {
        #expect(throws: SIPError.self) { try Replaces(text) }
        #expect(try message("Replaces: \(text)").replaces == nil)
    }

    @Test func `a field that stands twice names nothing`() throws {
        #expect(try message("Replaces: a;to-tag=1;from-tag=2", "Replaces: b;to-tag=1;from-tag=2").replaces == nil)
    }

    @Test func `Referred-By and Refer-Sub`() throws {
        let refer = try message("Referred-By: \"A\" <sip:a@example.net>;cid=\"2@a\"", "Refer-Sub: false;x=y")
        #expect(refer.referredBy?.uri.sip?.user == "a" && refer.referSub == false)
        #expect(try message("Refer-Sub: TRUE").referSub == true)
        #expect(try message("Refer-Sub: maybe").referSub == nil && message().referSub == nil)
    }

    @Test func `the status of a sipfrag is its first line`() {
        func read(_ text: String) -> StatusFragment? { StatusFragment(parsing: Array(text.utf8)) }
        #expect(read("SIP/2.0 180 Ringing\r\nContact: <sip:x>\r\n") == StatusFragment(180, "Ringing"))
        #expect(read("SIP/2.0 503 Service Unavailable") == StatusFragment(503, "Service Unavailable"))
        #expect(read("SIP/2.0 200")?.statusCode == 200)
        for text in ["", "SIP/2.0", "HTTP/1.1 200 OK", "SIP/2.0 20 OK", "SIP/2.0 999 No", "SIP/2.0 2x0 OK", "INVITE sip:a SIP/2.0"] {
            #expect(read(text) == nil, "\(text)")
        }
        #expect(StatusFragment(486).description == "SIP/2.0 486 Busy Here\r\n")
        #expect(!StatusFragment(500, "a\r\nb: c").description.dropLast().contains { $0 == "\r\n" })
        #expect(read("SIP/2.0 200 \u{1b}[2J")?.reasonPhrase.unicodeScalars.contains { $0.value == 0x1b } == false)
    }
}
