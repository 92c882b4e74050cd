// SPDX-License-Identifier: Apache-2.0

import Essentials
import SDP
import Testing

@Suite struct OfferAnswerTests {
    /// Two machines that exchange one offer and answer; the bodies pass through the writer and the parser.
    @discardableResult
    func exchange(
        _ offerer: inout OfferAnswer, _ offered: Direction, _ answerer: inout OfferAnswer, _ wanted: Direction
    ) throws -> (NegotiatedAudio, NegotiatedAudio) {
        let offer = offerer.makeOffer(local: try address("192.0.2.1:4000"), direction: offered)
        let (answer, theirs) = try answerer.answer(
            try answerer.read(offer.serialized()), local: try address("192.0.2.2:5000"), direction: wanted)
        return (try offerer.receiveAnswer(try offerer.read(answer.serialized())), try #require(theirs))
    }

    @Test func anOfferOfEveryCodecStaysSmall() {
        var caller = machine(AudioCapabilities(codecs: AudioCapabilities.allCodecs))
        let offer = caller.makeOffer(local: SocketAddress(.v4(0xc000_0201), 40_000), direction: .sendrecv)
        let text = String(decoding: offer.serialized(), as: UTF8.self)
        #expect(text.contains("m=audio 40000 RTP/AVP 96 9 0 8 "))
        #expect(text.contains("a=rtpmap:96 opus/48000/2") && text.contains("a=fmtp:96 useinbandfec=1"))
        #expect(text.contains("telephone-event/48000") && text.contains("telephone-event/8000"))
        #expect(text.utf8.count < 450, "\(text.utf8.count) octets")
    }

    @Test func `An offer and its answer agree on both sides`() throws {
        var caller = machine()
        var callee = machine()
        let (ours, theirs) = try exchange(&caller, .sendrecv, &callee, .sendrecv)
        #expect(ours.remote == (try address("192.0.2.2:5000")))
        #expect(ours.remoteRTCP == (try address("192.0.2.2:5001")))
        #expect(theirs.remote == (try address("192.0.2.1:4000")))
        #expect(ours.codec == theirs.codec)
        #expect(ours.codec.name == "PCMU")
        #expect(ours.receivable.map(\.name) == ["PCMU", "PCMA", "G722", "OPUS"])
        #expect(ours.direction == .sendrecv && theirs.direction == .sendrecv)
        #expect(!ours.localHolds && !ours.remoteHolds && !theirs.localHolds && !theirs.remoteHolds)
        #expect(!caller.isOfferPending)
    }

    @Test func `The offer of today’s phone is as written here, octet for octet`() throws {
        var caller = machine(.standard)
        let offer = caller.makeOffer(local: try address("[2001:db8::1]:4000"), direction: .sendrecv)
        #expect(
            offer.text
                == """
                v=0
                o=- 42 1 IN IP6 2001:db8::1
                s=-
                c=IN IP6 2001:db8::1
                t=0 0
                m=audio 4000 RTP/AVP 0 8 101
                a=rtpmap:0 PCMU/8000
                a=rtpmap:8 PCMA/8000
                a=rtpmap:101 telephone-event/8000
                a=fmtp:101 0-15
                a=ptime:20
                a=sendrecv
                a=rtcp-xr:voip-metrics

                """.replacing("\n", with: "\r\n"))
    }

    @Test func `B-062: telephone-event is offered once for each clock rate, and used with the rate of the codec`() throws {
        var caller = machine()
        let offer = caller.makeOffer(local: ourAddress, direction: .sendrecv)
        let events = offer.media[0].attributes.values("rtpmap").filter { $0.contains("telephone-event") }
        #expect(events == ["101 telephone-event/8000", "102 telephone-event/48000"])
        let answer = try audio(
            "audio 9000 RTP/AVP 96 101 102", "a=rtpmap:96 opus/48000/2", "a=rtpmap:101 telephone-event/8000",
            "a=rtpmap:102 telephone-event/48000")
        let result = try caller.receiveAnswer(answer)
        #expect(result.sendEventPayloadType == 102)
        #expect(result.sendEventClockRate == 48_000)
        #expect(result.receiveEventPayloadTypes == [101, 102])
    }

    @Test func `B-066: the audio codec is the first real codec of an answer`() throws {
        var caller = machine()
        _ = caller.makeOffer(local: ourAddress, direction: .sendrecv)
        let result = try caller.receiveAnswer(
            try audio("audio 9000 RTP/AVP 101 13 8 0", "a=rtpmap:101 telephone-event/8000"))
        #expect(result.codec.name == "PCMA")
        #expect(result.sendEventPayloadType == 101)
        #expect(result.comfortNoisePayloadTypes == [13])
    }

    @Test func `A number means what its rtpmap says, a static one without rtpmap what RFC 3551 says, else nothing`() throws {
        var callee = machine()
        let (answer, result) = try callee.answer(
            try audio("audio 9000 RTP/AVP 9 0 111 8 102", "a=rtpmap:0 opus/48000/2", "a=rtpmap:102 PCMU/8000"),
            local: ourAddress, direction: .sendrecv)
        #expect(answer.media[0].formats == ["9", "0", "8", "102"])
        #expect(answer.media[0].rtpMap(0) == RTPMap("opus", 48_000, 2))
        #expect(result?.receivable.map { "\($0.name) \($0.payloadType)" } == ["G722 9", "OPUS 0", "PCMA 8", "PCMU 102"])
        #expect(callee.counters[.formatsIgnored] == 1)
    }

    @Test func `The peer's own numbers are used to send, ours to receive`() throws {
        var caller = machine(AudioCapabilities(codecs: [.opus]))
        _ = caller.makeOffer(local: ourAddress, direction: .sendrecv)
        let result = try caller.receiveAnswer(
            try audio(
                "audio 9000 RTP/AVP 120 121", "a=rtpmap:120 OPUS/48000/2", "a=fmtp:120 maxaveragebitrate=16000",
                "a=rtpmap:121 telephone-event/48000"))
        #expect(result.codec.payloadType == 120)
        #expect(result.codec.parameters == "maxaveragebitrate=16000")
        #expect(result.receivable.map(\.payloadType) == [96, 120])
        #expect(result.sendEventPayloadType == 121)
        #expect(result.receiveEventPayloadTypes == [102])
    }

    @Test func `An answer that repeats a dynamic number without rtpmap means what was offered`() throws {
        var caller = machine()
        _ = caller.makeOffer(local: ourAddress, direction: .sendrecv)
        let result = try caller.receiveAnswer(try audio("audio 9000 RTP/AVP 96 102"))
        #expect(result.codec.name == "OPUS")
        #expect(result.sendEventPayloadType == 102)
        #expect(caller.leniencies.contains(.answerWithoutRTPMap))
    }

    @Test func `Bindings stay over re-offers in both roles, and the version goes up only with a change`() throws {
        var callee = machine()
        let first = try audio(
            "audio 9000 RTP/AVP 107 100 101", "a=rtpmap:107 opus/48000/2", "a=rtpmap:100 telephone-event/48000",
            "a=rtpmap:101 AMR/8000")
        let (answer, _) = try callee.answer(first, local: ourAddress, direction: .sendrecv)
        #expect(answer.media[0].formats == ["107", "100"])
        #expect(answer.origin.sessionVersion == "1")
        let reoffer = callee.makeOffer(local: ourAddress, direction: .sendonly)
        #expect(reoffer.origin.sessionID == answer.origin.sessionID)
        #expect(reoffer.origin.sessionVersion == "2")
        #expect(reoffer.media[0].rtpMap(107) == RTPMap("opus", 48_000, 2))
        #expect(reoffer.media[0].rtpMap(100) == RTPMap("telephone-event", 48_000))
        #expect(reoffer.media[0].formats.first == "107", "the codec in use comes first")
        #expect(!reoffer.media[0].formats.contains("101"), "101 is AMR in this session")
        let event = try #require(reoffer.media[0].attributes.values("rtpmap").first { $0.hasSuffix("telephone-event/8000") })
        callee.withdrawOffer()
        let again = callee.makeOffer(local: ourAddress, direction: .sendonly)
        #expect(again == reoffer, "nothing changed: the same version, the same numbers")
        #expect(again.media[0].attributes.values("rtpmap").contains(event))
        #expect(callee.makeOffer(local: ourAddress, direction: .sendrecv).origin.sessionVersion == "3")
    }

    @Test func `B-054: rejected lines stay rejected in their place, in answers and in later offers`() throws {
        var callee = machine()
        let offer = try audio(
            "video 0 RTP/AVP 99 98", "m=audio 9000 RTP/AVP 0", "m=application 5 TCP/BFCP *", "m=image 7 udptl t38")
        let (answer, result) = try callee.answer(offer, local: ourAddress, direction: .sendrecv)
        let expected = ["video 0 99", "audio 4000 0", "application 0 *", "image 0 t38"]
        func shape(_ value: SessionDescription) -> [String] {
            value.media.map { "\($0.type) \($0.port) \($0.formats.first ?? "")" }
        }
        #expect(shape(answer) == expected)
        #expect(result?.mediaIndex == 1)
        #expect(callee.counters[.linesRejected] == 2)
        #expect(shape(callee.makeOffer(local: ourAddress, direction: .sendrecv)) == expected)
        let confirmed = try callee.receiveAnswer(
            try audio("video 0 RTP/AVP 99", "m=audio 9002 RTP/AVP 0", "m=application 0 TCP/BFCP *"))
        #expect(confirmed.remote?.port == 9002)
        #expect(callee.leniencies.contains(.missingAnswerLines))
    }

    @Test func `The line in use is kept when the peer adds another before it`() throws {
        var callee = machine()
        _ = try callee.answer(try audio("video 7 RTP/AVP 99", "m=audio 9000 RTP/AVP 0"), local: ourAddress, direction: .sendrecv)
        let (answer, result) = try callee.answer(
            try audio("audio 8000 RTP/AVP 8", "m=audio 9000 RTP/AVP 0"), local: ourAddress, direction: .sendrecv)
        #expect(answer.media.map(\.port) == [0, 4000])
        #expect(result?.remote?.port == 9000)
    }

    @Test func `A peer that closes the audio line gets port 0 back and may open it again`() throws {
        var callee = machine()
        _ = try callee.answer(try audio("audio 9000 RTP/AVP 0"), local: ourAddress, direction: .sendrecv)
        let closed = try callee.answer(try audio("audio 0 RTP/AVP 0"), local: ourAddress, direction: .sendrecv)
        #expect(closed.audio == nil && callee.audio == nil)
        #expect(closed.answer.media.map(\.port) == [0])
        let opened = try callee.answer(try audio("audio 9004 RTP/AVP 0"), local: ourAddress, direction: .sendrecv)
        #expect(opened.audio?.remote?.port == 9004)
    }

    @Test func `B-053, V-024: an answer that breaks the rules is an error, and what was agreed before stays`() throws {
        func reaction(_ answer: SessionDescription) throws -> SDPError.Code? {
            var caller = machine()
            _ = caller.makeOffer(local: ourAddress, direction: .sendrecv)
            let before = try caller.receiveAnswer(try audio("audio 9000 RTP/AVP 0"))
            _ = caller.makeOffer(local: ourAddress, direction: .sendonly)
            let error = #expect(throws: SDPError.self) { try caller.receiveAnswer(answer) }
            #expect(caller.audio == before)
            #expect(!caller.isOfferPending)
            #expect(caller.counters[.answersRefused] == 1)
            return error?.code
        }
        #expect(try reaction(SessionDescription(origin: Origin())) == .refused)
        #expect(try reaction(try audio("audio 0 RTP/AVP 0")) == .refused)
        #expect(try reaction(try audio("video 9000 RTP/AVP 0")) == .mismatch)
        #expect(try reaction(try audio("audio 9000 RTP/SAVP 0")) == .mismatch)
        #expect(try reaction(try audio("audio 9000 RTP/AVP 18 101")) == .noCommonCodec)
        #expect(try reaction(try audio("audio 9000 RTP/AVP 0", connection: "IN IP4 224.2.1.1/127")) == .unusableAddress)
        var idle = machine()
        #expect(throws: SDPError.self) { try idle.receiveAnswer(try audio("audio 9000 RTP/AVP 0")) }
        var caller = machine()
        _ = caller.makeOffer(local: ourAddress, direction: .sendrecv)
        let more = try caller.receiveAnswer(try audio("audio 9000 RTP/AVP 0", "m=video 9002 RTP/AVP 99"))
        #expect(more.remote?.port == 9000)
        #expect(caller.leniencies.contains(.additionalAnswerLines))
    }

    @Test func `V-020: formats that are no number, above 127 or unknown are passed over; none left is 488`() throws {
        var callee = machine()
        let (answer, _) = try callee.answer(
            try audio("audio 9000 RTP/AVP x 999 128 -1 +0 256 8 8"), local: ourAddress, direction: .sendrecv)
        #expect(answer.media[0].formats == ["8"])
        #expect(callee.leniencies.contains(.unknownFormat))
        for formats in ["x 999", "", "101 102", "\u{e9} 0\u{e9}"] {
            let error = #expect(throws: SDPError.self) {
                try callee.answer(try audio("audio 9000 RTP/AVP \(formats)"), local: ourAddress, direction: .sendrecv)
            }
            #expect(error?.status == 488)
            #expect(error?.warning == 305)
        }
        #expect(callee.counters[.offersRefused] == 4)
    }

    @Test(arguments: [
        ("ptime:60", "maxptime:1", 10), ("ptime:99999999999999999999999", "maxptime:5", 10), ("ptime:0", "x", 20),
        ("ptime:-20", "x", 20), ("ptime:1", "x", 10), ("ptime:30", "maxptime:150", 30), ("ptime:25", "x", 20),
        ("ptime:4294967296", "x", 200), ("ptime:20", "maxptime:0", 20), ("ptime:", "maxptime:", 20), ("ptime:abc", "x", 20),
        ("x", "maxptime:10", 10), ("ptime:40", "maxptime:20", 20),
    ])
    func `V-018: ptime and maxptime are kept within 10...200 ms`(_ row: (String, String, Int)) throws {
        var callee = machine()
        let result = try callee.answer(
            try audio("audio 9000 RTP/AVP 0", "a=\(row.0)", "a=\(row.1)"), local: ourAddress, direction: .sendrecv
        ).audio
        #expect(result?.packetTime == row.2)
        var caller = machine()
        _ = caller.makeOffer(local: ourAddress, direction: .sendrecv)
        #expect(try caller.receiveAnswer(try audio("audio 9000 RTP/AVP 0", "a=\(row.0)", "a=\(row.1)")).packetTime == row.2)
    }

    @Test func `B-051: an offer made in the 200 and answered in the ACK works like any other, with telephone-event`() throws {
        var callee = machine()
        var caller = machine()
        let offer = callee.makeOffer(local: try address("192.0.2.2:5000"), direction: .sendrecv)
        #expect(offer.media[0].attributes.values("rtpmap").contains("101 telephone-event/8000"))
        #expect(callee.isOfferPending)
        let (answer, _) = try caller.answer(offer, local: ourAddress, direction: .sendrecv)
        #expect(try callee.receiveAnswer(answer).remote == ourAddress)
    }

    @Test func `B-052: without an answer in the ACK the offer is still pending and nothing is agreed`() {
        var callee = machine()
        _ = callee.makeOffer(local: ourAddress, direction: .sendrecv)
        #expect(callee.isOfferPending && callee.audio == nil)
    }

    @Test func `An offer that crosses ours is refused with 491 until ours is answered or withdrawn`() throws {
        var caller = machine()
        _ = caller.makeOffer(local: ourAddress, direction: .sendrecv)
        let offer = try audio("audio 9000 RTP/AVP 0")
        let error = #expect(throws: SDPError.self) { try caller.answer(offer, local: ourAddress, direction: .sendrecv) }
        #expect(error?.status == 491)
        caller.withdrawOffer()
        #expect(try caller.answer(offer, local: ourAddress, direction: .sendrecv).audio != nil)
        #expect(caller.counters[.offersWithdrawn] == 1)
    }

    @Test func `A second answer to the same offer (183, then 200) replaces the first`() throws {
        var caller = machine()
        _ = caller.makeOffer(local: ourAddress, direction: .sendrecv)
        #expect(try caller.receiveAnswer(try audio("audio 9000 RTP/AVP 0")).codec.name == "PCMU")
        let second = try caller.receiveAnswer(try audio("audio 9100 RTP/AVP 8"))
        #expect(second.codec.name == "PCMA")
        #expect(caller.audio == second)
    }

    @Test func `rtcp-mux is answered when offered, kept in re-offers, and not offered by ourselves`() throws {
        var callee = machine()
        let (answer, result) = try callee.answer(
            try audio("audio 9000 RTP/AVP 0", "a=rtcp-mux", "a=rtcp:9005"), local: ourAddress, direction: .sendrecv)
        #expect(answer.media[0].attributes.contains(named: "rtcp-mux"))
        #expect(result?.remoteRTCP == result?.remote)
        #expect(callee.makeOffer(local: ourAddress, direction: .sendonly).media[0].attributes.contains(named: "rtcp-mux"))
        var caller = machine()
        #expect(!caller.makeOffer(local: ourAddress, direction: .sendrecv).media[0].attributes.contains(named: "rtcp-mux"))
        #expect(try caller.receiveAnswer(try audio("audio 9000 RTP/AVP 0", "a=rtcp-mux")).multiplexesRTCP == false)
    }

    @Test func `RTCP goes to the port of a=rtcp, never to an address that only the attribute names`() throws {
        func control(_ lines: String..., port: Int = 9000) throws -> SocketAddress? {
            var callee = machine()
            var offer = try audio("audio \(port) RTP/AVP 0")
            for line in lines { offer.media[0].attributes.append(Attribute("rtcp", line)) }
            return try callee.answer(offer, local: ourAddress, direction: .sendrecv).audio?.remoteRTCP
        }
        #expect(try control() == (try address("192.0.2.9:9001")))
        #expect(try control("7000 IN IP4 192.0.2.9") == (try address("192.0.2.9:7000")))
        #expect(try control("7000 IN IP4 203.0.113.1") == nil)
        #expect(try control("9 IN IP4 0.0.0.0") == nil)
        #expect(try control("junk") == nil)
        #expect(try control(port: 65_535) == nil)
    }

    @Test func `A name in c= is kept, a group or broadcast address and a missing c= are refused`() throws {
        var callee = machine()
        let result = try callee.answer(
            try audio("audio 9000 RTP/AVP 0", connection: "IN IP4 media.example.com"), local: ourAddress,
            direction: .sendrecv
        ).audio
        #expect(result?.remote == nil && result?.remoteRTCP == nil)
        #expect(result?.remoteName == "media.example.com")
        #expect(result?.direction == .sendrecv)
        for bad in ["IN IP4 224.2.1.1/127", "IN IP4 255.255.255.255", "IN IP6 ff15::101"] {
            #expect(callee.refusal(of: try audio("audio 9000 RTP/AVP 0", connection: bad))?.code == .unusableAddress)
        }
        var offer = try audio("audio 9000 RTP/AVP 0")
        offer.connection = nil
        #expect(callee.refusal(of: offer)?.warning == 301)
    }

    @Test func `Offers without audio, or over something that is no RTP, are refused; without lines they are answered`() throws {
        let callee = machine()
        #expect(callee.refusal(of: try audio("video 9000 RTP/AVP 34"))?.code == .noAudio)
        #expect(callee.refusal(of: try audio("audio 9000 TCP/XYZ 0"))?.code == .unsupportedProfile)
        #expect(callee.refusal(of: try audio("audio 9000 RTP/AVP 0")) == nil)
        #expect(callee.refusal(of: SessionDescription(origin: Origin())) == nil)
        #expect(callee.refusal(of: try audio("audio 9000 RTP/SAVP 0", "m=audio 9002 RTP/AVP 0")) == nil)
        var copy = callee
        let both = try copy.answer(
            try audio("audio 9000 RTP/SAVP 0", "m=audio 9002 RTP/AVP 0"), local: ourAddress, direction: .sendrecv)
        #expect(both.answer.media.map(\.port) == [0, 4000])
    }

    @Test func `The t= of the answer is that of the offer`() throws {
        var callee = machine()
        var offer = try audio("audio 9000 RTP/AVP 0")
        offer.timings = [Timing(start: 7, stop: 9)]
        #expect(try callee.answer(offer, local: ourAddress, direction: .sendrecv).answer.timings == offer.timings)
    }

    @Test func `Comfort noise is answered only when wanted, at the clock rate of a codec`() throws {
        var capabilities = fullCapabilities
        capabilities.comfortNoise = true
        var callee = machine(capabilities)
        let offer = try audio("audio 9000 RTP/AVP 0 13 105", "a=rtpmap:105 CN/16000")
        #expect(try callee.answer(offer, local: ourAddress, direction: .sendrecv).answer.media[0].formats == ["0", "13"])
        var plain = machine()
        let (answer, result) = try plain.answer(offer, local: ourAddress, direction: .sendrecv)
        #expect(answer.media[0].formats == ["0"])
        #expect(result?.comfortNoisePayloadTypes == [13], "it is taken all the same")
    }

    @Test func `A list of codecs becomes capabilities in its order, an unknown name is an error that names the known ones`() throws {
        #expect(try AudioCapabilities.parse("PCMA, pcmu,pcma").codecs == [.pcma, .pcmu])
        #expect(try AudioCapabilities.parse("opus", available: fullCapabilities.codecs).codecs == [.opus])
        for list in ["opus", "", ",", "pcmu,x"] {
            let error = #expect(throws: SDPError.self) { try AudioCapabilities.parse(list) }
            #expect(error?.code == .unknownCodec)
        }
        #expect(AudioCapabilities(codecs: [.pcmu], packetTime: 9_999).packetTime == 200)
    }
}
