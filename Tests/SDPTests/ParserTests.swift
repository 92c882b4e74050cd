// SPDX-License-Identifier: Apache-2.0

import Essentials
import SDP
import Testing

@Suite struct ParserTests {
    func code(_ bytes: [UInt8], limits: SDPLimits = .default) -> SDPError.Code? {
        do {
            _ = try SessionDescription(parsing: bytes, limits: limits)
            return nil
        } catch { return error.code }
    }

    @Test func `Every kind of line has its place in the value`() throws {
        let text = """
            v=0
            o=jdoe 3724394400 3724394405 IN IP6 2001:db8::1
            s=Call to John Smith
            i=SDP Offer #1
            u=http://www.jdoe.example.com/home.html
            e=Jane Doe <jane@jdoe.example.com>
            p=+1 617 555-6011
            c=IN IP4 198.51.100.1/127/3
            b=X-YZ:128
            t=3724394400 3724398000
            r=604800 3600 0 90000
            z=3730928400 -1h
            a=tool:x
            m=audio 49170/2 RTP/AVP 0 97
            i=first
            c=IN IP6 2001:db8::2
            b=AS:64
            a=rtpmap:97 opus/48000/2
            a=fmtp:97 useinbandfec=1
            m=video 51372 RTP/AVP 99
            """
        var leniencies = Leniencies()
        let value = try SessionDescription(parsing: lines(text), leniencies: &leniencies)
        #expect(leniencies.isEmpty)
        #expect(
            value.origin
                == Origin(
                    username: "jdoe", sessionID: "3724394400", sessionVersion: "3724394405", addressType: "IP6", address: "2001:db8::1"))
        #expect(value.sessionName == "Call to John Smith")
        #expect(value.information == "SDP Offer #1")
        #expect(value.uri == "http://www.jdoe.example.com/home.html")
        #expect(value.emails == ["Jane Doe <jane@jdoe.example.com>"])
        #expect(value.phones == ["+1 617 555-6011"])
        #expect(value.connection == Connection(addressType: "IP4", address: "198.51.100.1", suffix: "127/3"))
        #expect(value.bandwidths == [Bandwidth(type: "X-YZ", value: 128)])
        #expect(value.timings == [Timing(start: 3_724_394_400, stop: 3_724_398_000, repeats: ["604800 3600 0 90000"])])
        #expect(value.timeZones == "3730928400 -1h")
        #expect(value.attributes == [Attribute("tool", "x")])
        #expect(value.media.count == 2)
        #expect(value.media[0].portCount == 2)
        #expect(value.media[0].information == "first")
        #expect(value.connection(ofMedia: 0)?.ip == .v6(0x2001_0db8_0000_0000, 2))
        #expect(value.connection(ofMedia: 1)?.address == "198.51.100.1")
        #expect(value.media[0].rtpMap(97) == RTPMap("opus", 48_000, 2))
        #expect(value.media[0].rtpMap(0) == RTPMap("PCMU", 8000))
        #expect(value.media[0].rtpMap(98) == nil)
        #expect(value.media[0].formatParameters("97") == "useinbandfec=1")
        #expect(value.text == text.split(separator: "\n").map { $0 + "\r\n" }.joined())
    }

    @Test(arguments: ["v", "v=", "m", "", "\n\n", "v=1", "x=0", " v=0", "hello"])
    func `V-004: a body that does not begin with v=0 is refused with 400`(_ text: String) {
        #expect(code(Array((text + "\r\n").utf8)) == .version)
        #expect(SDPError(.version, "").status == 400)
    }

    @Test(arguments: [
        "m", "a", "c", "o=", "m=", "c=", "m=audio", "m=audio 1", "m=audio x RTP/AVP 0", "m=audio 65536 RTP/AVP 0",
        "m=audio 5/0 RTP/AVP 0", "m=audio -1 RTP/AVP 0", "c=IN", "c=IN IP4", "c=IN IP4 /1", "o=- 1 1 IN IP4", "=",
    ])
    func `V-004: a line that is only a letter, or lacks a field, is refused with 400 wherever the data ends`(_ line: String) throws {
        for end in ["", "\r", "\n", "\r\n"] {
            let body = Array(("v=0\r\ns=-\r\n" + line + end).utf8)
            let error = #expect(throws: SDPError.self) { try SessionDescription(parsing: body) }
            #expect(error?.status == 400)
            #expect((error?.offset ?? 0) >= 10)
        }
    }

    @Test func `Every prefix of a good body is taken or refused, never more`() throws {
        let body = try Fixtures.bytes("chrome.sdp")
        for length in body.indices { _ = code(Array(body[..<length])) }
        #expect(code(body) == nil)
    }

    @Test func `V-013: hundreds of formats or attributes, lines and octets end at named limits`() throws {
        let head = "v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\n"
        let formats = (0..<500).map { " \($0 % 128)" }.joined()
        #expect(code(Array((head + "m=audio 4 RTP/AVP\(formats)\r\n").utf8)) == .tooManyFormats)
        let attributes = String(repeating: "a=x\r\n", count: 769)
        #expect(code(Array((head + attributes).utf8)) == .tooManyAttributes)
        let media = String(repeating: "m=audio 4 RTP/AVP 0\r\n", count: 33)
        #expect(code(Array((head + media).utf8)) == .tooManyMedia)
        #expect(code(Array((head + String(repeating: "b=AS:1\r\n", count: 1_100)).utf8)) == .tooManyLines)
        #expect(code([UInt8](repeating: 65, count: 32_769)) == .tooLarge)
        var machine = machine()
        #expect(throws: SDPError.self) { try machine.read(Array((head + media).utf8)) }
        #expect(machine.counters[.bodiesOverLimit] == 1)
        for code: SDPError.Code in [.tooManyFormats, .tooManyAttributes, .tooManyMedia, .tooManyLines, .tooLarge, .tokenTooLong] {
            #expect(SDPError(code, "").status == 488)
        }
        // Just below the limits it is answered, and the answer is small.
        let most = (0..<128).map { " \($0)" }.joined()
        let offer = try machine.read(Array((head + "m=audio 4 RTP/AVP\(most)\r\n").utf8))
        #expect(try machine.answer(offer, local: ourAddress, direction: .sendrecv).answer.serialized().count < 400)
    }

    @Test func `V-029: a media type of 1000 characters is refused with 488`() {
        let body = Array("v=0\r\nm=\(String(repeating: "a", count: 1000)) 4 RTP/AVP 0\r\n".utf8)
        #expect(code(body) == .tokenTooLong)
    }

    @Test func `A NUL octet is refused; octets that are no UTF-8 are replaced`() throws {
        #expect(code(Array("v=0\r\ns=a\0b\r\n".utf8)) == .line)
        let value = try SessionDescription(parsing: Array("v=0\r\ns=".utf8) + [0xff, 0x61, 13, 10])
        #expect(value.sessionName == "\u{fffd}a")
    }

    @Test func `Line ends of LF or CR alone, empty lines and a missing last end are taken`() throws {
        let good = try Fixtures.description("freeswitch.sdp")
        let text = good.text
        for changed in [
            text.replacing("\r\n", with: "\n"), text.replacing("\r\n", with: "\r"), String(text.dropLast(1)),
            text.replacing("\r\n", with: "\r\n\r\n"),
        ] {
            var leniencies = Leniencies()
            #expect(try SessionDescription(parsing: Array(changed.utf8), leniencies: &leniencies) == good)
            #expect(!leniencies.isEmpty)
        }
    }

    @Test func `Unknown and second lines are left out, a user name may have spaces`() throws {
        var leniencies = Leniencies()
        let value = try SessionDescription(
            parsing: lines(
                """
                v=0
                o=Cisco Phone 1 2 IN IP4 192.0.2.1
                o=- 5 5 IN IP4 192.0.2.5
                s=a
                k=clear:secret
                y=0123
                c=IN IP4 192.0.2.1
                c=IN IP4 192.0.2.2
                b=broken
                t=x
                a=
                a=:x
                a=na me:x
                """), leniencies: &leniencies)
        #expect(value.origin.username == "Cisco Phone")
        #expect(value.origin.sessionID == "1")
        #expect(value.connection?.address == "192.0.2.1")
        #expect(value.bandwidths.isEmpty && value.attributes.isEmpty)
        #expect(value.timings == [Timing()])
        for leniency: Leniency in [.ignoredLine, .originWithSpaces, .unreadableLine, .attributeName, .missingLine] {
            #expect(leniencies.contains(leniency), "\(leniency)")
        }
    }

    @Test func `No value can add a line when it is written`() throws {
        var value = try Fixtures.description("freeswitch.sdp")
        let count = value.text.split(separator: "\r\n").count
        value.sessionName = "x\r\na=evil"
        value.attributes = [Attribute("a\nm=audio 1 RTP/AVP 0", "b\rc\0")]
        value.media[0].formats.append("0\r\nm=video 1 RTP/AVP 0")
        let lines = value.text.split(separator: "\r\n")
        #expect(lines.count == count + 1)
        #expect(value.serialized().filter { $0 == 10 }.count == count + 1)
        #expect(!value.serialized().contains(0))
    }

    @Test func `Random changes of real bodies never break printing and parsing again`() throws {
        var state: UInt64 = 0x5eed
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        let bodies = try Fixtures.allNames.map { try Fixtures.bytes($0) }
        let wide = SDPLimits(octets: .max, lines: .max, media: .max, formatsPerMedia: .max, attributes: .max, tokenOctets: .max)
        var taken = 0
        for _ in 0..<4_000 {
            var body = bodies[next(bodies.count)]
            for _ in 0...next(6) {
                let place = next(body.count)
                switch next(4) {
                case 0: body[place] = UInt8(next(256))
                case 1: body.remove(at: place)
                case 2: body.insert(UInt8([32, 13, 10, 61, 47, 58, 0x80, 49][next(8)]), at: place)
                default: body.replaceSubrange(place..<min(place + next(40), body.count), with: [])
                }
                if body.isEmpty { body = [118] }
            }
            guard let value = try? SessionDescription(parsing: body) else { continue }
            taken += 1
            #expect(try SessionDescription(parsing: value.serialized(), limits: wide) == value)
            var machine = machine()
            if let (answer, _) = try? machine.answer(value, local: ourAddress, direction: .sendrecv) {
                #expect(answer.media.count == value.media.count)
                #expect(try SessionDescription(parsing: answer.serialized(), limits: wide) == answer)
            }
            var offerer = self.offerer()
            if let audio = try? offerer.receiveAnswer(value) { #expect((10...200).contains(audio.packetTime)) }
        }
        #expect(taken > 1_000)
    }

    func offerer() -> OfferAnswer {
        var machine = machine()
        _ = machine.makeOffer(local: ourAddress, direction: .sendrecv)
        return machine
    }
}
