// SPDX-License-Identifier: Apache-2.0

import Testing

/// Where each row of kind sdp of the case table is met. What is not the business of descriptions waits for the agent.
enum CaseTable {
    static let here: [(id: String, test: String)] = [
        ("B-049", "HoldTests, the direction matrix"), ("B-050", "HoldTests, both hold"),
        ("B-051", "OfferAnswerTests, late offer; the agent sends it"), ("B-052", "OfferAnswerTests; the agent sends the BYE"),
        ("B-053", "OfferAnswerTests, fewer lines"), ("B-054", "OfferAnswerTests, rejected lines"),
        ("B-055", "below: octets that are no SDP do not break the reader"), ("B-062", "OfferAnswerTests"),
        ("B-066", "OfferAnswerTests"), ("V-004", "ParserTests"), ("V-013", "ParserTests"), ("V-018", "OfferAnswerTests"),
        ("V-020", "OfferAnswerTests"), ("V-024", "OfferAnswerTests"), ("V-029", "ParserTests"),
    ]
    /// Rows whose whole scenario lies in SIP, with the module that meets them.
    static let open: [(id: String, waitsFor: String)] = [
        ("B-055", "SIP: multipart bodies split by octets"), ("B-056", "SIP: 400 for a body shorter than Content-Length"),
        ("B-057", "SIPAgent: PRACK, a repeated RSeq"), ("B-058", "SIPAgent: PRACK only with Require: 100rel and RSeq"),
        ("B-052", "SIPAgent: BYE when the ACK brings no answer"),
    ]
}

@Suite struct CaseTableTests {
    @Test func `Every row of kind sdp is met here or named as open with what it waits for`() {
        let named = CaseTable.here.map(\.id) + CaseTable.open.map(\.id)
        for row in 49...58 { #expect(named.contains("B-0\(row)")) }
        #expect(CaseTable.open.allSatisfy { $0.waitsFor.contains(":") })
    }

    @Test func `B-055: a body with octets of another part behind it is refused with its place, or those lines are left out`() throws {
        var callee = machine()
        let good = Array(try audio("audio 9000 RTP/AVP 0").text.utf8)
        #expect(throws: (any Error).self) { try callee.read(good + [0x01, 0x00, 0x49, 0x00, 0x0a]) }
        #expect(throws: (any Error).self) { try callee.read(good + Array("--boundary\r\n".utf8)) }
        #expect(callee.counters[.bodiesMalformed] == 2)
        #expect(try callee.answer(try callee.read(good), local: ourAddress, direction: .sendrecv).audio != nil)
    }
}
