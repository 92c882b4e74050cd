// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP
import Testing

/// What a whole phone does with each whole message of the corpus that comes as one datagram while it is idle.
struct Verdict: Sendable, CustomTestStringConvertible {
    var file: String
    /// The statuses of the one answer that are right; empty: nothing may be sent.
    var statuses: [Int] = []
    /// A header of the answer, and a part of its value.
    var header: (HeaderName, String)?
    var testDescription: String { file }

    static let all: [Verdict] = [
        .init(file: "rfc4475/wsinv.sip", statuses: [481]),
        .init(file: "rfc4475/intmeth.sip", statuses: [405, 501], header: (.allow, "INVITE")),
        .init(file: "rfc4475/esc01.sip", statuses: [180]),
        .init(file: "rfc4475/escnull.sip", statuses: [405, 501]),
        .init(file: "rfc4475/longreq.sip", statuses: [180]),
        .init(file: "rfc4475/dblreq.sip", statuses: [405, 501]),
        .init(file: "rfc4475/transports.sip", statuses: [200]),
        .init(file: "rfc4475/mpart01.sip", statuses: [200]),
        .init(file: "rfc4475/badinv01.sip", statuses: [400]),
        .init(file: "rfc4475/clerr.sip", statuses: [400]),
        .init(file: "rfc4475/scalar02.sip", statuses: [400]),
        .init(file: "rfc4475/ltgtruri.sip", statuses: [400]),
        .init(file: "rfc4475/lwsstart.sip", statuses: [400]),
        .init(file: "rfc4475/escruri.sip", statuses: [400]),
        .init(file: "rfc4475/baddate.sip", statuses: [400, 180]),
        .init(file: "rfc4475/badaspec.sip", statuses: [400, 200]),
        .init(file: "rfc4475/baddn.sip", statuses: [400, 200]),
        .init(file: "rfc4475/mismatch01.sip", statuses: [400]),
        .init(file: "rfc4475/bigcode.sip"),
        .init(file: "rfc4475/unkscm.sip", statuses: [416]),
        .init(file: "rfc4475/novelsc.sip", statuses: [416]),
        .init(file: "rfc4475/unksm2.sip", statuses: [405, 501]),
        .init(file: "rfc4475/bext01.sip", statuses: [420], header: (.unsupported, "nothingSupportsThis, nothingSupportsThisEither")),
        .init(file: "rfc4475/invut.sip", statuses: [415], header: (.accept, "application/sdp")),
        .init(file: "rfc4475/regaut01.sip", statuses: [405, 501]),
        .init(file: "rfc4475/multi01.sip", statuses: [400]),
        .init(file: "rfc4475/mcl01.sip", statuses: [400]),
        .init(file: "rfc4475/bcast.sip"),
        .init(file: "rfc4475/cparam01.sip", statuses: [405, 501]),
        .init(file: "rfc4475/regescrt.sip", statuses: [405, 501]),
        .init(file: "rfc4475/sdp01.sip", statuses: [406]),
        .init(file: "rfc4475/inv2543.sip", statuses: [180]),
        .init(file: "rfc5118/ipv6-good.sip", statuses: [405, 501]),
        .init(file: "rfc5118/port-ambiguous.sip", statuses: [405, 501]),
        .init(file: "rfc5118/via-received-with-delim.sip", statuses: [481]),
        .init(file: "rfc5118/via-received-no-delim.sip", statuses: [200]),
        .init(file: "rfc5118/ipv6-in-sdp.sip", statuses: [488]),
        .init(file: "rfc5118/ipv6-in-sdp-as-printed.sip", statuses: [400]),
        .init(file: "rfc5118/mult-ip-in-header.sip", statuses: [481]),
        .init(file: "rfc5118/ipv4-mapped-ipv6.sip", statuses: [488]),
        .init(file: "rfc5118/ipv6-abnf-3-colons.sip", statuses: [400, 200]),
        .init(file: "flows/3665-2.1-F1.sip", statuses: [405, 501]), .init(file: "flows/3665-2.1-F2.sip"),
        .init(file: "flows/3665-2.1-F4.sip"), .init(file: "flows/3665-2.2-F2.sip"), .init(file: "flows/3665-2.3-F2.sip"),
        .init(file: "flows/3665-2.4-F1.sip", statuses: [405, 501]), .init(file: "flows/3665-2.5-F4.sip"),
        .init(file: "flows/3665-3.1-F1.sip", statuses: [180]), .init(file: "flows/3665-3.1-F2.sip"),
        .init(file: "flows/3665-3.1-F3.sip"), .init(file: "flows/3665-3.1-F4.sip"),
        .init(file: "flows/3665-3.1-F5.sip", statuses: [481]), .init(file: "flows/3665-3.2-F2.sip"),
        .init(file: "flows/3665-3.2-F6.sip", statuses: [180]), .init(file: "flows/3665-3.2-F14.sip"),
        .init(file: "flows/3665-3.2-F20.sip", statuses: [481]), .init(file: "flows/3665-3.6-F2.sip"),
        .init(file: "flows/3665-3.6-F5.sip", statuses: [180]), .init(file: "flows/3665-3.6-F12.sip"),
        .init(file: "flows/3665-3.7-F9.sip", statuses: [481]), .init(file: "flows/3665-3.8-F13.sip", statuses: [481]),
        .init(file: "flows/3665-3.8-F19.sip"), .init(file: "flows/3665-3.9-F10.sip"), .init(file: "flows/3665-3.11-F13.sip"),
        // Nobody may transfer this phone, and it has referred nobody.
        .init(file: "flows/3515-4.1-F1.sip", statuses: [603]), .init(file: "flows/3515-4.1-F3.sip", statuses: [400, 481]),
        .init(file: "flows/3515-4.1-F5.sip", statuses: [481]), .init(file: "flows/4916-5.1-F8.sip", statuses: [481]),
        .init(file: "flows/5626-9.2-F1.sip", statuses: [405, 501]),
        .init(file: "flows/5626-9.3-F3.sip"),
        .init(file: "digest/two-algos.sip"), .init(file: "digest/auth-authint.sip"), .init(file: "digest/folded-aka.sip"),
        .init(file: "sdp/double-content-headers.sip", statuses: [180, 400]), .init(file: "sdp/compact-nospace.sip"),
    ]
}

@Suite struct VerdictTests {
    @Test(
        "a phone at rest answers each message of the corpus as the index says, to the sender only, and keeps nothing",
        arguments: Verdict.all)
    func verdict(row: Verdict) throws {
        let desk = PhoneOnDesk()
        let bytes = try Fixture.bytes(row.file)
        desk.receive(bytes)
        desk.run(.milliseconds(100))
        if row.statuses.isEmpty {
            #expect(desk.sent.isEmpty)
        } else {
            #expect(desk.sent.count == 1)
            let answer = try #require(desk.sent.first)
            #expect(row.statuses.contains(try #require(answer.status)), "\(String(decoding: answer.bytes, as: UTF8.self))")
            if let (name, part) = row.header { #expect(answer.message?.values(name).joined(separator: ", ").contains(part) == true) }
        }
        if let answer = desk.sent.first, let request = SIPMessage.receive(bytes).message {
            // RFC 3261 §8.2.6.2; the topmost Via gets `received` and `rport` only.
            let response = try #require(answer.message)
            #expect(response.vias.dropFirst().elementsEqual(request.vias.dropFirst()))
            #expect(response.topVia.branch == request.topVia.branch && response.topVia.host == request.topVia.host)
            #expect(response.from == request.from && response.callID == request.callID && response.cseq == request.cseq)
            #expect(response.to.uri == request.to.uri)
        }
        #expect((desk.ringing != nil) == (desk.sent.first?.status == 180))
        let isResponseOrACK = bytes.starts(with: "SIP/2.0".utf8) || bytes.starts(with: "ACK".utf8)
        #expect(desk.leavesNothing(), "\(desk.phone.agent.leftovers)")
        if isResponseOrACK { #expect(desk.sent.isEmpty) }
        // Never traffic to an address or name that only the message names.
        #expect(desk.sent.allSatisfy { $0.to.ip == desk.peer.ip })
        #expect(desk.questions.isEmpty && desk.streams.isEmpty)
    }

    @Test("the same messages, each twice and in one row, do not disturb a phone that is in a call")
    func storm() throws {
        let desk = PhoneOnDesk()
        desk.receive(try Fixture.bytes("flows/3665-3.1-F1.sip"))
        let call = try #require(desk.ringing)
        try desk.perform { try $0.answer(call, now: $1) }
        let answer = try #require(desk.responses(.invite).last)
        try desk.follow(answer, with: "flows/3665-3.1-F4.sip")
        #expect(desk.phone.state(of: call) == .confirmed)
        for row in Verdict.all where row.file != "flows/3665-3.1-F1.sip" {
            for _ in 0..<2 { desk.receive(try Fixture.bytes(row.file)) }
        }
        #expect(desk.phone.state(of: call) == .confirmed)
        #expect(desk.leavesNothing())
    }

    @Test("mpart01.sip: the text of a message of several parts is shown, the binary part left aside")
    func partsOfAMessage() throws {
        let desk = PhoneOnDesk()
        desk.receive(try Fixture.bytes("rfc4475/mpart01.sip"))
        desk.run(.milliseconds(100))
        let texts = desk.events.compactMap { if case .message(.received(let text)) = $0 { text.text } else { nil } }
        #expect(texts == ["Hello"])
    }

    @Test("no message of the index is without a verdict")
    func completeness() throws {
        let indexed = try ["rfc4475", "rfc5118", "flows", "digest", "sdp"].flatMap { folder in
            try Fixture.rows("\(folder)/index.tsv").map { "\(folder)/\($0[0])" }.filter { $0.hasSuffix(".sip") }
        }
        #expect(indexed.count == 76)
        #expect(Set(indexed) == Set(Verdict.all.map(\.file)) && Verdict.all.count == indexed.count)
    }
}

extension SIPMessage.Reception {
    var message: SIPMessage? { if case .message(let message) = self { message } else { nil } }
}
