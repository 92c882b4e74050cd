// SPDX-License-Identifier: Apache-2.0

import Foundation
import HandsetCommand
import Testing

/// What `parse` and `sdp-answer` print.
@Suite struct ReportTests {
    static let message = """
        INVITE sip:bob%40home@example.net:5070;transport=tcp SIP/2.0\r
        v: SIP/2.0/TCP 192.0.2.1;branch=z9hG4bK1;rport, SIP/2.0/UDP [2001:db8::1]:5080;branch=z9hG4bK2\r
        From: "A \\"B\\"" <sip:alice@example.net>;tag=1\r
        To: <sip:bob@example.net>\r
        Call-ID: x@y\r
        CSeq: 7 INVITE\r
        X-Other: kept, as it is\r
        Content-Length: 2\r
        \r
        hi
        """

    @Test func aMessageIsPrintedInOrderAndTyped() throws {
        let report = ParseReport(Array(Self.message.utf8))
        #expect(report.complaint == nil)
        let json = report.json
        #expect(json["start"]?["method"] == "INVITE")
        #expect(json["start"]?["uri"]?["user"] == "bob@home")
        #expect(json["start"]?["uri"]?["port"] == 5070)
        guard case .array(let headers) = json["headers"] else {
            Issue.record("no headers")
            return
        }
        #expect(headers.map { $0["name"]?.text } == ["v", "From", "To", "Call-ID", "CSeq", "X-Other", "Content-Length"])
        guard case .array(let vias) = headers[0]["typed"] else {
            Issue.record("Via is not typed")
            return
        }
        #expect(vias.map { $0["host"]?.text } == ["192.0.2.1", "[2001:db8::1]"])
        #expect(vias[0]["parameters"]?["rport"] == true)
        #expect(headers[1]["typed"]?["display"] == "A \"B\"")
        #expect(headers[4]["typed"]?["number"] == 7)
        #expect(headers[5]["value"] == "kept, as it is")
        #expect(headers[5]["typed"] == nil)
        #expect(json["body"]?["text"] == "hi")
        #expect(try JSONValue(parsing: json.indented) == json)
    }

    @Test func aFaultIsToldWithItsPlace() {
        let report = ParseReport(Array(Self.message.replacingOccurrences(of: "CSeq: 7 INVITE", with: "CSeq: x INVITE").utf8))
        #expect(report.json["error"]?["code"] == "sip.cseq")
        #expect(report.json["error"]?["line"] == 6)
        #expect(report.json["error"]?["status"] == 400)
        #expect(report.complaint?.contains("line 6") == true)
        #expect(ParseReport([]).complaint != nil)
    }

    static let offer =
        "v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\nm=audio 4000 RTP/AVP 8 0 96\r\na=rtpmap:96 telephone-event/8000\r\n"

    @Test func anOfferIsAnsweredAlsoInsideAMessage() throws {
        let plain = try SDPAnswerReport.answer(to: Array(Self.offer.utf8), codecs: nil)
        #expect(plain.text.contains("m=audio 10000 RTP/AVP 8 0 96\r\n"))
        #expect(plain.json["audio"]?["codec"] == "PCMA")
        let narrow = try SDPAnswerReport.answer(to: Array(Self.offer.utf8), codecs: "pcmu")
        #expect(narrow.json["audio"]?["codec"] == "PCMU")
        let inside = Self.message.replacingOccurrences(
            of: "Content-Length: 2", with: "Content-Type: application/sdp\r\nContent-Length: \(Self.offer.utf8.count)"
        )
        .replacingOccurrences(of: "\r\n\r\nhi", with: "\r\n\r\n" + Self.offer)
        #expect(try SDPAnswerReport.answer(to: Array(inside.utf8), codecs: nil).text == plain.text)
    }

    @Test func anOfferThatCannotBeTakenSaysWhy() {
        #expect(throws: (any Error).self) {
            try SDPAnswerReport.answer(to: Array(Self.offer.replacingOccurrences(of: "RTP/AVP", with: "RTP/SAVP").utf8), codecs: nil)
        }
        #expect(throws: (any Error).self) { try SDPAnswerReport.answer(to: [0xff], codecs: nil) }
    }
}
