// SPDX-License-Identifier: Apache-2.0

import SIP
import Testing

/// Security advisories of other stacks that concern the parsing of SIP (V-rows of the corpus).
@Suite struct AdvisoryTests {
    @Test func `V-001 a generic URI such as a slash is never taken for a SIP URI`() throws {
        for name in ["From", "To"] {
            let verdict = SIPMessage.receive(request("INVITE", extra: "\(name): </>;tag=1\n", without: [name])).verdict
            #expect(verdict == "refuse 400 sip.\(name.lowercased())")
        }
        let diverted = try SIPMessage(parsing: request("INVITE", extra: "Diversion: </>, <sip:a@b>\n"))
        #expect(diverted.addresses(.diversion).map(\.uri.description) == ["sip:a@b"])
    }

    @Test(arguments: [1, 127, 128, 255, 256, 1023, 4096, 9000])
    func `V-002 tags and branches of any length are kept whole`(length: Int) throws {
        let long = String(repeating: "t", count: length)
        let message = try SIPMessage(
            parsing: request(
                extra: "Via: SIP/2.0/UDP h;branch=z9hG4bK\(long)\nFrom: <sip:a@b>;tag=\(long)\nTo: <sip:a@b>;tag=\(long)\n",
                without: ["Via", "From", "To"]))
        #expect(message.topVia.branch?.utf8.count == length + 7)
        #expect(message.from.tag == long)
        #expect(message.toTagRange.count == length)
    }

    @Test(arguments: [
        "", "I", "OPT", "OPTIONS", "OPTIONS ", "OPTIONS sip:a@b", "S", "SIP/", "SIP/2.0", "SIP/2.0 2", "\r\n", "\r\n\r\n", "\r", "\n", "v",
        ":",
    ])
    func `V-003 very short input is dropped`(text: String) {
        guard case .drop = SIPMessage.receive(text.octets) else {
            Issue.record("not dropped: \(text.debugDescription)")
            return
        }
    }

    @Test func `V-003 no prefix of a message traps or is taken for a whole one with its body`() {
        let whole = request("INVITE", extra: "Content-Type: application/sdp\n", body: "v=0\r\n")
        for length in whole.indices {
            let reception = SIPMessage.receive(Array(whole[..<length]))
            if let message = reception.message { #expect(message.contentLength == nil) }
        }
    }

    @Test(arguments: [
        "multipart/mixed", "multipart/mixed;boundary=", "multipart/mixed;boundary=\"\"", "multipart/mixed;boundary=\"unterminated",
        "multipart/mixed;boundary=" + String(repeating: "b", count: 500), "multipart/", "/", "multipart/mixed;boundary=a;boundary=b",
    ])
    func `V-010 multipart bodies with a bad boundary have no parts`(type: String) throws {
        let message = try SIPMessage(parsing: request("MESSAGE", extra: "Content-Type: \(type)\n", body: "--x\r\n\r\nhi\r\n--x--\r\n"))
        #expect(message.bodyParts.isEmpty)
        #expect(message.body(ofType: "text", "plain") == nil)
    }

    @Test func `V-010 a missing close delimiter, and levels and parts beyond the limits`() throws {
        let open = try SIPMessage(parsing: request("MESSAGE", extra: "Content-Type: multipart/mixed;boundary=x\n", body: "--x\r\n\r\nhi"))
        #expect(open.bodyParts.map { Array($0.content) } == ["hi".octets])
        var nested = "--x\r\n\r\nhi\r\n--x--\r\n"
        for _ in 0..<10 { nested = "--x\r\nContent-Type: multipart/mixed;boundary=x\r\n\r\n" + nested }
        let deep = try SIPMessage(parsing: request("MESSAGE", extra: "Content-Type: multipart/mixed;boundary=x\n", body: nested))
        #expect(deep.bodyParts.count <= ValueLimits.bodyParts)
        let many = String(repeating: "--x\r\n\r\n\r\n", count: 10_000)
        let wide = try SIPMessage(
            parsing: request("MESSAGE", extra: "Content-Type: multipart/mixed;boundary=x\n", body: String(many.prefix(20_000))))
        #expect(wide.bodyParts.isEmpty)
    }

    @Test func `V-011 a method of thousands of characters is refused with 400`() {
        let long = String(repeating: "M", count: 5000)
        #expect(
            SIPMessage.receive(request("OPTIONS", extra: "CSeq: 1 \(long)\n", without: ["CSeq"])).verdict == "refuse 400 sip.cseq.method")
        #expect(SIPMessage.receive(request(long)).verdict == "refuse 400 sip.limit.method")
    }

    @Test func `V-012 a challenge with a realm or nonce of several kilobytes is not taken`() throws {
        let long = String(repeating: "n", count: 4000)
        let message = try SIPMessage(parsing: request(extra: "WWW-Authenticate: Digest realm=\"r\", nonce=\"\(long)\"\n"))
        #expect(message.challenges(.wwwAuthenticate).isEmpty)
        #expect { try Challenge("Digest realm=\"\(long)\"") } throws: { ($0 as? SIPError)?.code == .limitAuthentication }
    }

    @Test(arguments: ["tel:+15550100", "<tel:911>", "sip:", "<sip:>", "sip:user@", "<sip:user@>", "sip:user@:5060", "<>", ""])
    func `V-025 From or Contact that is a tel URI or has no host`(value: String) throws {
        let reception = SIPMessage.receive(request("INVITE", extra: "From: \(value)\n", without: ["From"]))
        if value.contains("tel") {
            #expect(reception.message?.from.uri.tel != nil)
        } else {
            #expect(reception.verdict == "refuse 400 sip.from")
        }
        let contact = try SIPMessage(parsing: request("INVITE", extra: "Contact: \(value)\n"))
        #expect(contact.contacts.count == (value.contains("tel") ? 1 : 0))
    }

    @Test func `V-028 control characters and direction marks in a display name are replaced, no line ends get out`() throws {
        let message = try SIPMessage(
            parsing: request(extra: "From: \"Pay\\\u{1b}[31m\u{202e}Bank\\\u{7}\" <sip:a@b>;tag=1\nSubject: a\u{8}b\n", without: ["From"]))
        #expect(message.from.displayName == "Pay\u{fffd}[31m\u{fffd}Bank\u{fffd}")
        #expect(message.subject == "a\u{fffd}b")
        let folded = try SIPMessage(parsing: request(extra: "From: \"two\n lines\" <sip:a@b>;tag=1\n", without: ["From"]))
        #expect(folded.from.displayName == "two lines")
    }

    @Test(arguments: [
        "Digest username=\"a\", realm", "Digest", "Digest ", "Digest username", "Digest username=\"a\",", "Digest username=\"a",
        "Digest =x",
    ])
    func `V-030 credentials that are cut off are ignored`(value: String) throws {
        let message = try SIPMessage(parsing: request("REGISTER", extra: "Authorization: \(value)\n"))
        #expect(message.credentials(.authorization).isEmpty)
    }
}
