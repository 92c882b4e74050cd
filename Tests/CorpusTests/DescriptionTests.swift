// SPDX-License-Identifier: Apache-2.0
//
// The session descriptions of the corpus as the phone gets them: in an INVITE.

import Essentials
import PhoneCore
import SIP
import Testing

@Suite struct DescriptionTests {
    /// These need SRTP or ICE: refused with 488 until then, never answered as plain RTP.
    static let secured = [
        "grandstream-gxp2200.sdp", "zoiper-savp-many-crypto.sdp", "asterisk-savpf-sdes.sdp", "twilio-savp-opus.sdp", "chrome.sdp",
        "safari12.sdp",
    ]

    static func invite(_ body: [UInt8], type: String = "application/sdp") throws -> [UInt8] {
        var builder = MessageBuilder(request: .invite, uri: try URI("sip:1001@10.0.0.1"))
        builder.add(.via, "SIP/2.0/UDP 10.0.0.9:5060;branch=z9hG4bKdesc")
        builder.add(.from, "<sip:peer@10.0.0.9>;tag=p")
        builder.add(.to, "<sip:1001@10.0.0.1>")
        builder.add(.callID, "description")
        builder.add(.cseq, "1 INVITE")
        builder.add(.contact, "<sip:peer@10.0.0.9:5060>")
        builder.add(.maxForwards, "70")
        builder.setBody(body, type: type)
        return builder.build().bytes
    }

    static func lines(_ body: [UInt8]) -> [[Substring]] {
        String(decoding: body, as: UTF8.self).split(whereSeparator: \.isNewline).filter { $0.hasPrefix("m=") }.map {
            $0.dropFirst(2).split(separator: " ")
        }
    }

    @Test(
        "an offer of the corpus rings and is answered line for line, or is refused with 488 where it asks for SRTP or ICE",
        arguments: try Fixture.rows("sdp/index.tsv").map { $0[0] }.filter { $0.hasSuffix(".sdp") })
    func offer(file: String) throws {
        let desk = PhoneOnDesk()
        let offer = try Fixture.bytes("sdp/\(file)")
        desk.receive(try Self.invite(offer))
        if Self.secured.contains(file) {
            #expect(desk.sent.map(\.status) == [488])
        } else {
            let id = try #require(desk.ringing)
            try desk.perform { try $0.answer(id, now: $1) }
            let answer = try #require(desk.responses(.invite).last)
            #expect(answer.statusCode == 200)
            let (offered, answered) = (Self.lines(offer), Self.lines(try #require(answer.body(ofType: "application", "sdp"))))
            #expect(answered.map { $0[0] } == offered.map { $0[0] } && answered.map { $0[2] } == offered.map { $0[2] })
            for (ours, theirs) in zip(answered, offered) { #expect(Set(ours.dropFirst(3)).isSubset(of: theirs.dropFirst(3))) }
            #expect(answered.filter { $0[1] != "0" }.map { $0[0] } == ["audio"])
        }
        #expect(desk.leavesNothing())
    }

    @Test("double-content-headers.sip: the body counts once")
    func doubleHeaders() throws {
        let desk = PhoneOnDesk()
        desk.receive(try Fixture.bytes("sdp/double-content-headers.sip"))
        let id = try #require(desk.ringing)
        try desk.perform { try $0.answer(id, now: $1) }
        #expect(
            Self.lines(try #require(desk.responses(.invite).last?.body(ofType: "application", "sdp"))).first?[3...] == ["0", "8", "101"])
    }

    // MARK: Cases whose scenario needs the whole phone

    @Test("B-055: SDP beside binary ISUP in a multipart body is found, and answered")
    func multipart() throws {
        let isup: [UInt8] = [0x01, 0x00, 0x0d, 0x0a, 0x49, 0x00, 0x00, 0x0a, 0x2d, 0x2d, 0xff, 0x0d, 0x0a, 0x76, 0x3d, 0x31]
        let sdp = try Fixture.bytes("sdp/freeswitch.sdp")
        func part(_ type: String, _ body: [UInt8]) -> [UInt8] {
            Array("--unique\r\nContent-Type: \(type)\r\n\r\n".utf8) + body + Array("\r\n".utf8)
        }
        let end = Array("--unique--\r\n".utf8)
        for body in [
            part("application/sdp", sdp) + part("application/ISUP;version=itu-t92+", isup) + end,
            part("application/ISUP;version=itu-t92+", isup) + part("application/sdp", sdp) + end,
        ] {
            let desk = PhoneOnDesk()
            desk.receive(try Self.invite(body, type: "multipart/mixed;boundary=unique"))
            let id = try #require(desk.ringing)
            try desk.perform { try $0.answer(id, now: $1) }
            #expect(
                Self.lines(try #require(desk.responses(.invite).last?.body(ofType: "application", "sdp"))).first?[3...] == ["0", "101"])
            #expect(desk.leavesNothing())
        }
    }

    @Test("B-056: a multipart INVITE over UDP that is shorter than its Content-Length gets 400, and no call")
    func cutMultipart() throws {
        let body =
            Array("--unique\r\nContent-Type: application/sdp\r\n\r\n".utf8) + (try Fixture.bytes("sdp/freeswitch.sdp"))
            + Array("\r\n--unique--\r\n".utf8)
        let whole = try Self.invite(body, type: "multipart/mixed;boundary=unique")
        for missing in [1, 5, 100, body.count] {
            let desk = PhoneOnDesk()
            desk.receive(Array(whole.dropLast(missing)))
            #expect(desk.sent.map(\.status) == [400] && desk.ringing == nil)
            #expect(desk.leavesNothing())
        }
    }

    @Test(
        "V-004, V-010, V-013, V-020, V-029: hostile bodies are refused or taken by the whole phone, which keeps nothing",
        arguments: [
            "v=", "m", "v=0\r\no=", "v=0\r\nm=audio",
            "v=0\r\no=- 1 1 IN IP4 10.0.0.9\r\ns=-\r\nc=IN IP4 10.0.0.9\r\nt=0 0\r\nm=audio 9000 RTP/AVP x 300 -1\r\n",
            "v=0\r\no=- 1 1 IN IP4 10.0.0.9\r\ns=-\r\nc=IN IP4 10.0.0.9\r\nt=0 0\r\nm=\(String(repeating: "a", count: 1000)) 9000 RTP/AVP 0\r\n",
            "v=0\r\no=- 1 1 IN IP4 10.0.0.9\r\ns=-\r\nc=IN IP4 10.0.0.9\r\nt=0 0\r\nm=audio 9000 RTP/AVP"
                + (0..<900).map { " \($0 % 128)" }.joined() + "\r\n" + (0..<900).map { "a=x-\($0):y\r\n" }.joined(),
        ])
    func hostileBodies(body: String) throws {
        for type in ["application/sdp", "multipart/mixed;boundary=", "multipart/mixed;boundary=\(String(repeating: "b", count: 400))"] {
            let desk = PhoneOnDesk()
            desk.receive(try Self.invite(Array(body.utf8), type: type))
            #expect(
                desk.sent.count == 1 && desk.sent.allSatisfy { [180, 400, 413, 415, 488].contains($0.status ?? 0) },
                "\(desk.sent.map(\.status))")
            #expect(desk.leavesNothing())
        }
    }
}
