// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP
import Testing

/// Each limit: just within, just beyond, its status and its counter.
@Suite struct LimitTests {
    @Test func `a message of 64 KiB is taken, one octet more is dropped`() {
        let frame = request("MESSAGE", extra: "Content-Type: text/plain\n", without: ["Content-Length"])
        let fits = frame + [UInt8](repeating: 0x61, count: 65_536 - frame.count)
        #expect(SIPMessage.receive(fits).verdict == "message")
        #expect(SIPMessage.receive(fits + [0x61]).verdict == "drop sip.limit.message")
    }

    @Test func `256 header fields`() {
        let base = 7
        #expect(SIPMessage.receive(request(extra: String(repeating: "X: y\n", count: 256 - base))).verdict == "message")
        #expect(SIPMessage.receive(request(extra: String(repeating: "X: y\n", count: 257 - base))).verdict == "refuse 400 sip.limit.fields")
    }

    @Test func `a head of 32 KiB`() {
        #expect(SIPMessage.receive(request(extra: "X: \(String(repeating: "y", count: 32_000))\n")).verdict == "message")
        #expect(SIPMessage.receive(request(extra: "X: \(String(repeating: "y", count: 33_000))\n")).verdict == "refuse 513 sip.limit.head")
    }

    @Test func `a start line of 8 KiB, a method of 128 octets`() {
        #expect(SIPMessage.receive(request(uri: "sip:" + String(repeating: "u", count: 8_000) + "@h")).verdict == "message")
        #expect(
            SIPMessage.receive(request(uri: "sip:" + String(repeating: "u", count: 9_000) + "@h")).verdict
                == "refuse 414 sip.limit.start-line")
        #expect(SIPMessage.receive(request(String(repeating: "M", count: 128))).verdict == "message")
        #expect(SIPMessage.receive(request(String(repeating: "M", count: 129))).verdict == "refuse 400 sip.limit.method")
    }

    @Test func `64 parameters of a value and of a URI`() {
        func from(_ count: Int) -> String {
            SIPMessage.receive(request(extra: "From: <sip:a@b>\(String(repeating: ";p=1", count: count))\n", without: ["From"])).verdict
        }
        #expect(from(64) == "message")
        #expect(from(65) == "refuse 400 sip.limit.parameters")
        func uri(_ count: Int) -> String { SIPMessage.receive(request(uri: "sip:a@b" + String(repeating: ";p=1", count: count))).verdict }
        #expect(uri(64) == "message")
        #expect(uri(65) == "refuse 400 sip.limit.parameters")
    }

    @Test func `everything is counted`() {
        var counters = Counters<SIPCounter>()
        for bytes in [
            request(), request(extra: "From: a, b <sip:a@b>\n", without: ["From"]), "\r\n\r\n".octets, "x".octets,
            request(String(repeating: "M", count: 129)),
            request(without: ["To"]),
        ] { SIPMessage.receive(bytes).count(in: &counters) }
        #expect(counters[.accepted] == 2)
        #expect(counters[.lenient] == 1)
        #expect(counters[.keepAlive] == 1)
        #expect(counters[.dropped] == 1)
        #expect(counters[.refused] == 2)
        #expect(counters[.limitMethod] == 1)
    }

    @Test(arguments: ["Via", "From", "To", "Call-ID", "CSeq"])
    func `a request without a field that every message needs is refused, or dropped if there is no way back`(name: String) {
        let verdict = SIPMessage.receive(request(without: [name])).verdict
        #expect(verdict == (name == "Via" ? "drop sip.via.missing" : "refuse 400 sip.\(name.lowercased()).missing"))
    }

    @Test func `a malformed ACK and a malformed response are never answered`() {
        #expect(SIPMessage.receive(request("ACK", without: ["To"])).verdict == "drop sip.to.missing")
        let response = "SIP/2.0 200 OK\nVia: SIP/2.0/UDP h\nFrom: <sip:a@b>\nTo: <sip:a@b>\nCall-ID: x\nCSeq: x\n\n".crlf.octets
        #expect(SIPMessage.receive(response).verdict == "drop sip.cseq")
    }

    @Test(arguments: [
        ("OPTIONS sip:a@b SIP/3.0", "refuse 505 sip.version"), ("OPTIONS sip:a@b sip/2.0", "message"),
        ("OPTIONS sip:a@b SIP/2.0 ", "refuse 400 sip.request-line"),
        ("OPTIONS  sip:a@b SIP/2.0", "refuse 400 sip.request-line"), ("OPTIONS sip:a@b  SIP/2.0", "refuse 400 sip.request-line"),
        ("OPTIONS sip:a b@c SIP/2.0", "refuse 400 sip.request-uri"), ("OPTIONS SIP/2.0", "refuse 400 sip.request-line"),
        ("OPTIONS sip:a@b HTTP/1.1", "drop sip.not-sip"),
        ("OPT@IONS sip:a@b SIP/2.0", "drop sip.not-sip"), (" OPTIONS sip:a@b SIP/2.0", "drop sip.not-sip"),
        ("OPTIONS tel:911 SIP/2.0", "message"),
    ])
    func `request lines`(line: String, verdict: String) {
        let rest = String(decoding: request(), as: UTF8.self).drop { $0 != "\r\n" }
        #expect(SIPMessage.receive((line + rest).octets).verdict == verdict)
    }

    @Test(arguments: [
        ("SIP/2.0 200 OK", "message"), ("SIP/2.0 200", "message"), ("SIP/2.0 200 ", "message"), ("sip/2.0 699 x", "message"),
        ("SIP/2.0 99 x", "drop sip.status-line"),
        ("SIP/2.0 700 x", "drop sip.status-line"), ("SIP/2.0 2000 x", "drop sip.status-line"),
        ("SIP/2.0 4294967301 x", "drop sip.status-line"),
        ("SIP/2.0  200 OK", "drop sip.status-line"), ("SIP/3.0 200 OK", "drop sip.version"), ("SIP/2.0 20x OK", "drop sip.status-line"),
    ])
    func `status lines`(line: String, verdict: String) {
        let rest = String(decoding: request(), as: UTF8.self).drop { $0 != "\r\n" }
        #expect(SIPMessage.receive((line + rest).octets).verdict == verdict)
    }
}
