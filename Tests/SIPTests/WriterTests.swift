// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP
import Testing

/// Writing: canonical, and nothing in a value can become a line of its own.
@Suite struct WriterTests {
    private func builder() throws -> MessageBuilder {
        var builder = MessageBuilder(request: .invite, uri: try URI("sip:bob@example.com"))
        builder.add(.via, Via(transport: .udp, host: .address(.loopbackV4), port: 5060, branch: "z9hG4bKx").description)
        builder.add(.maxForwards, "70")
        builder.add(.from, "<sip:alice@example.com>;tag=1")
        builder.add(.to, "<sip:bob@example.com>")
        builder.add(.callID, "abc")
        builder.add(.cseq, "1 INVITE")
        return builder
    }

    @Test func `a message is written with canonical names, Content-Length last`() throws {
        var builder = try builder()
        builder.add("m", "<sip:alice@127.0.0.1>")
        builder.setBody("v=0\r\n".octets, type: "application/sdp")
        let expected =
            "INVITE sip:bob@example.com SIP/2.0\nVia: SIP/2.0/UDP 127.0.0.1:5060;branch=z9hG4bKx\nMax-Forwards: 70\nFrom: <sip:alice@example.com>;tag=1\nTo: <sip:bob@example.com>\nCall-ID: abc\nCSeq: 1 INVITE\nContact: <sip:alice@127.0.0.1>\nContent-Type: application/sdp\nContent-Length: 5\n\nv=0\n"
            .crlf
        #expect(String(decoding: builder.serialized(), as: UTF8.self) == expected)
        let message = builder.build()
        #expect(message.bytes == builder.serialized())
        #expect(message.method == .invite)
        #expect(message.topVia.branch == "z9hG4bKx")
        #expect(message.hasBranch)
        #expect(message.contacts.count == 1)
        #expect(Array(message.body) == "v=0\r\n".octets)
        let again = try SIPMessage(parsing: message.bytes)
        #expect(again.headers.map(\.value) == message.headers.map(\.value))
        #expect(again.leniency == [])
    }

    @Test(arguments: ["a\r\nEvil: 1", "a\nEvil: 1", "a\rEvil: 1", "\r\n\r\nINVITE sip:x SIP/2.0", "a\0b\r\n b", "a\r\n\r\n"])
    func `no value adds a line`(value: String) throws {
        var builder = try builder()
        builder.add("X-Own", value)
        builder.add(.subject, value)
        builder.prepend(.route, value)
        builder.set(.userAgent, value)
        let name = NameAddress(displayName: value, uri: try URI("sip:a@b"), parameters: Parameters([Parameter(value, value)]))
        builder.add(.contact, name.description)
        builder.add(.replyTo, NameAddress(uri: .other(scheme: value, value)).description)
        builder.add(.referTo, SIPURI(user: value, host: .name(value), parameters: Parameters([Parameter(value, value)])).description)
        builder.add(HeaderName(stringLiteral: "X" + value), value)
        builder.setBody([1], type: value)
        for bytes in [builder.serialized(), MessageBuilder(copying: builder.build()).serialized()] {
            let message = try SIPMessage(parsing: bytes)
            #expect(message.headers.count == 16)
            #expect(!message.headers.contains { $0.name == "Evil" })
            #expect(message.body.count == 1)
        }
    }

    @Test(arguments: ["a\r\nEvil: 1", "OK\n\n", "x\0"])
    func `no method, URI or reason adds a line`(value: String) throws {
        for uri in [URI.sip(SIPURI(user: value, host: .name(value))), .tel(TelURI(number: value)), .other(scheme: value, value)] {
            let bytes = MessageBuilder(request: Method(rawValue: value), uri: uri).serialized()
            let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: false)
            #expect(lines.count == 4, "\(lines)")
        }
        let bytes = MessageBuilder(status: 200, reason: value).serialized()
        #expect(String(decoding: bytes, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: false).count == 4)
    }

    @Test func `fields are put before, replaced in place and removed`() throws {
        var builder = try builder()
        builder.prepend(.via, "SIP/2.0/TCP h;branch=z9hG4bK2")
        builder.set(.maxForwards, "69")
        builder.add("X-A", "1")
        builder.add("x-a", "2")
        builder.removeFirst("X-a")
        builder.add(.contentLength, "999")
        let message = builder.build()
        #expect(message.vias.map(\.transport) == [.tcp, .udp])
        #expect(message.topVia.branch == "z9hG4bK2")
        #expect(message.maxForwards == 69)
        #expect(message.values("X-A") == ["2"])
        #expect(message.contentLength == 0)
        builder.removeAll(.via)
        #expect(!builder.contains(.via))
        builder.setRequestURI(try URI("tel:911"))
        #expect(builder.build().requestURI.tel?.number == "911")
    }

    @Test func `a response copies what RFC 3261 8.2.6 says`() throws {
        let message = try SIPMessage(
            parsing: request(
                "INVITE", extra: "v: SIP/2.0/TCP [2001:db8::1];branch=z9hG4bK2 , SIP/2.0/UDP h2\nTimestamp: 54\nRecord-Route: <sip:p;lr>\n")
        )
        var trying = message.makeResponse(status: 100)
        #expect(trying.first(.timestamp) == "54")
        #expect(trying.build().to.tag == nil)
        var ringing = message.makeResponse(status: 180, toTag: "new")
        ringing.copy(.recordRoute, of: message)
        let response = ringing.build()
        #expect(response.statusCode == 180)
        #expect(response.reasonPhrase == "Ringing")
        #expect(response.to.tag == "new")
        #expect(response.vias == message.vias)
        #expect(response.cseq == message.cseq)
        #expect(response.recordRoutes.count == 1)
        #expect(response.method == .invite)
        #expect(try SIPMessage(parsing: response.bytes).statusCode == 180)
        let again = response.makeResponse(status: 200, toTag: "other").build()
        #expect(again.to.tag == "new")
        trying.removeAll(.timestamp)
        #expect(!trying.contains(.timestamp))
    }

    @Test func `a built message without its fields traps nowhere`() {
        touchEverything(MessageBuilder(status: 200).build())
        touchEverything(MessageBuilder(status: -5, reason: "").build())
        touchEverything(MessageBuilder(request: Method(rawValue: ""), uri: .other(scheme: "", "")).build())
    }
}
