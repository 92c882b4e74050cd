// SPDX-License-Identifier: Apache-2.0

import Essentials
import SDP
import Testing

/// What the index of the corpus expects of a file, for a phone with PCMU, PCMA, G722, opus and telephone-event.
struct Expectation: Sendable, CustomTestStringConvertible {
    var file: String
    /// The m= lines of the answer, whole.
    var answer: [String]
    var remote: String
    var codec: (String, UInt8)
    /// Number and clock rate with which we send events; nil: none.
    var events: (UInt8, Int)?
    var direction: Direction = .sendrecv
    var packetTime = 20
    var testDescription: String { file }
}

let corpus: [Expectation] = [
    .init(
        file: "cisco-7965.sdp", answer: ["audio 4000 RTP/AVP 0 8 9 101"], remote: "192.0.2.10:20096", codec: ("PCMU", 0),
        events: (101, 8000)),
    .init(
        file: "polycom-vvx.sdp", answer: ["audio 4000 RTP/AVP 9 0 127"], remote: "192.0.2.20:16478", codec: ("G722", 9),
        events: (127, 8000)),
    .init(
        file: "yealink-t22p.sdp", answer: ["audio 4000 RTP/AVP 9 0 8 101"], remote: "192.0.2.163:11782", codec: ("G722", 9),
        events: (101, 8000)),
    .init(
        file: "yealink-glued-ptime.sdp", answer: ["audio 4000 RTP/AVP 0 101"], remote: "192.0.2.12:11796",
        codec: ("PCMU", 0), events: (101, 8000)),
    .init(
        file: "asterisk-chan_sip-spaces.sdp", answer: ["audio 4000 RTP/AVP 0 8 101"], remote: "192.0.2.105:19516",
        codec: ("PCMU", 0), events: (101, 8000)),
    .init(
        file: "freeswitch.sdp", answer: ["audio 4000 RTP/AVP 0 101"], remote: "192.0.2.189:20638", codec: ("PCMU", 0),
        events: (101, 8000)),
    .init(
        file: "telnyx-text.sdp", answer: ["audio 4000 RTP/AVP 0 120", "text 0 RTP/AVP 100"], remote: "192.0.2.17:27410",
        codec: ("PCMU", 0), events: (120, 8000)),
    .init(
        file: "twilio-siprec.sdp", answer: ["audio 4000 RTP/AVP 0 8 101", "audio 0 RTP/AVP 0"],
        remote: "192.0.2.139:17588", codec: ("PCMU", 0), events: (101, 8000), direction: .recvonly),
    .init(
        file: "broadworks-amr.sdp", answer: ["audio 4000 RTP/AVP 9 8 106"], remote: "198.51.100.19:56236",
        codec: ("G722", 9), events: (106, 8000)),
    .init(
        file: "opal-channels.sdp", answer: ["audio 4000 RTP/AVP 8 0 9"], remote: "192.0.2.70:5000", codec: ("PCMA", 8),
        events: nil),
    .init(
        file: "kurento-avpf.sdp", answer: ["audio 4000 RTP/AVPF 8 0", "video 0 RTP/AVPF 97"], remote: "192.0.2.15:14266",
        codec: ("PCMA", 8), events: nil),
    .init(
        file: "pjmedia-opus-8k-events.sdp", answer: ["audio 4000 RTP/AVP 120 96"], remote: "192.0.2.3:4150",
        codec: ("OPUS", 120), events: (96, 8000)),
    .init(
        file: "two-events-8k.sdp", answer: ["audio 4000 RTP/AVP 8 96 97 101"], remote: "192.0.2.30:11492",
        codec: ("PCMA", 8), events: (101, 8000)),
    .init(
        file: "sipsorcery.sdp", answer: ["audio 4000 RTP/AVP 0 8 9 101"], remote: "192.0.2.201:50632",
        codec: ("PCMU", 0), events: (101, 8000)),
    .init(
        file: "freepbx-maxptime150.sdp", answer: ["audio 4000 RTP/AVP 8 0 9 101"], remote: "192.0.2.17:12752",
        codec: ("PCMA", 8), events: (101, 8000)),
    .init(
        file: "video-first.sdp", answer: ["video 0 RTP/AVP 34", "audio 4000 RTP/AVP 0 8 101"],
        remote: "192.0.2.31:51788", codec: ("PCMU", 0), events: (101, 8000)),
]

/// Rows that cannot be met whole before SRTP or ICE are built. What can be met now: they parse, and are refused with 488.
let open: [(file: String, waitsFor: String)] = [
    ("asterisk-savpf-sdes.sdp", "SRTP keyed by SDES"),
    ("chrome.sdp", "DTLS-SRTP and ICE"),
    ("grandstream-gxp2200.sdp", "DTLS-SRTP"),
    ("safari12.sdp", "DTLS-SRTP and ICE"),
    ("twilio-savp-opus.sdp", "SRTP keyed by SDES"),
    ("zoiper-savp-many-crypto.sdp", "SRTP keyed by SDES"),
]

@Suite struct CorpusTests {
    @Test(arguments: corpus) func `The offer is answered as the index says`(_ row: Expectation) throws {
        var machine = machine()
        let offer = try machine.read(try Fixtures.bytes(row.file))
        let (answer, negotiated) = try machine.answer(offer, local: ourAddress, direction: .sendrecv)
        let audio = try #require(negotiated)
        #expect(answer.media.map { "\($0.type) \($0.port) \($0.protocolName) \($0.formats.joined(separator: " "))" } == row.answer)
        #expect(audio.remote?.description == row.remote)
        #expect(audio.codec.name == row.codec.0)
        #expect(audio.codec.payloadType == row.codec.1)
        #expect(audio.sendEventPayloadType == row.events?.0)
        if let events = row.events { #expect(audio.sendEventClockRate == events.1) }
        #expect(audio.direction == row.direction)
        #expect(answer.direction(ofMedia: audio.mediaIndex) == row.direction)
        #expect(audio.packetTime == row.packetTime)
        #expect(audio.profile == offer.media[audio.mediaIndex].protocolName)
        #expect(!audio.remoteHolds || row.direction == .recvonly)
        for line in answer.media where line.isRejected { #expect(line.attributes.isEmpty) }
    }

    @Test(arguments: corpus) func `The phone with PCMU and PCMA alone takes what it has of the same offer`(_ row: Expectation) throws {
        var machine = machine(.standard)
        let offer = try Fixtures.description(row.file)
        guard row.file != "pjmedia-opus-8k-events.sdp" else {
            let error = #expect(throws: SDPError.self) { try machine.answer(offer, local: ourAddress, direction: .sendrecv) }
            #expect(error?.code == .noCommonCodec)
            #expect(error?.status == 488)
            return
        }
        let audio = try #require(try machine.answer(offer, local: ourAddress, direction: .sendrecv).audio)
        #expect(["PCMU", "PCMA"].contains(audio.codec.name))
        #expect(audio.receivable.allSatisfy { ["PCMU", "PCMA"].contains($0.name) })
    }

    @Test(arguments: open.map(\.file)) func `A line that demands SRTP is parsed and refused with 488 until SRTP is built`(_ file: String)
        throws
    {
        var machine = machine()
        let offer = try machine.read(try Fixtures.bytes(file))
        let error = #expect(throws: SDPError.self) { try machine.answer(offer, local: ourAddress, direction: .sendrecv) }
        #expect(error?.code == .needsSRTP)
        #expect(error?.status == 488)
        #expect(error?.warning == 302)
        #expect(machine.refusal(of: offer)?.code == .needsSRTP)
        #expect(machine.counters[.offersNeedingSRTP] == 1)
        #expect(machine.localDescription == nil)
    }

    @Test func `Every file of the folder is a row here, and every index row a file`() throws {
        #expect(Fixtures.allNames == (corpus.map(\.file) + open.map(\.file)).sorted())
        let index = String(decoding: try Fixtures.bytes("index.tsv"), as: UTF8.self)
        let rows = index.split(separator: "\n").dropFirst().compactMap { $0.split(separator: "\t").first.map(String.init) }
        #expect(rows.filter { $0.hasSuffix(".sdp") }.sorted() == Fixtures.allNames)
    }

    @Test(arguments: Fixtures.allNames) func `What was parsed prints and parses again to the same`(_ file: String) throws {
        let description = try Fixtures.description(file)
        let printed = description.serialized()
        var leniencies = Leniencies()
        #expect(try SessionDescription(parsing: printed, leniencies: &leniencies) == description)
        #expect(leniencies.isEmpty, "\(leniencies)")
    }

    @Test(arguments: ["double-content-headers.sip", "compact-nospace.sip"])
    func `The body of a whole message is read after its empty line`(_ file: String) throws {
        let bytes = try Fixtures.bytes(file)
        let separator = try #require(bytes.indices.dropLast(3).first { Array(bytes[$0..<$0 + 4]) == [13, 10, 13, 10] })
        let body = Array(bytes[(separator + 4)...])
        guard file == "double-content-headers.sip" else {
            #expect(body.isEmpty)
            return
        }
        var machine = machine()
        let offer = try machine.read(body)
        let audio = try #require(try machine.answer(offer, local: ourAddress, direction: .sendrecv).audio)
        #expect(audio.remoteRTCP == (try address("192.0.2.72:40151")))
        #expect(audio.packetTime == 20)
    }

    // Details of single rows.

    @Test func `telnyx-text.sdp, kurento-avpf.sdp: a=rtcp names the port of RTCP`() throws {
        for (file, rtcp) in [("telnyx-text.sdp", "192.0.2.17:27411"), ("kurento-avpf.sdp", "192.0.2.15:14267")] {
            var machine = machine()
            let audio = try machine.answer(try Fixtures.description(file), local: ourAddress, direction: .sendrecv).audio
            #expect(audio?.remoteRTCP == (try address(rtcp)))
        }
    }

    @Test func `two-events-8k.sdp: without opus the answer has 101 and not 97`() throws {
        var machine = machine(.standard)
        let (answer, audio) = try machine.answer(
            try Fixtures.description("two-events-8k.sdp"), local: ourAddress, direction: .sendrecv)
        #expect(answer.media[0].formats == ["8", "101"])
        #expect(audio?.receiveEventPayloadTypes == [101])
    }

    @Test func `broadworks-amr.sdp: 101 is AMR-WB and never taken for events`() throws {
        var machine = machine()
        let audio = try machine.answer(
            try Fixtures.description("broadworks-amr.sdp"), local: ourAddress, direction: .sendrecv
        ).audio
        #expect(audio?.receiveEventPayloadTypes == [106])
        let reoffer = machine.makeOffer(local: ourAddress, direction: .sendrecv)
        #expect(!reoffer.media[0].formats.contains("101"), "101 stays AMR-WB in this session")
        #expect(reoffer.media[0].formats.contains("106"))
    }

    @Test func `The deviations of the devices are named`() throws {
        func found(_ file: String) throws -> Leniencies {
            var machine = machine()
            let offer = try machine.read(try Fixtures.bytes(file))
            _ = try? machine.answer(offer, local: ourAddress, direction: .sendrecv)
            return machine.leniencies
        }
        #expect(try found("asterisk-chan_sip-spaces.sdp").contains(.trailingSpace))
        #expect(try found("grandstream-gxp2200.sdp").contains(.lineOrder))
        #expect(try found("grandstream-gxp2200.sdp").contains(.missingLine))
        #expect(try found("yealink-glued-ptime.sdp").contains(.packetTimeTail))
        #expect(try found("pjmedia-opus-8k-events.sdp").contains(.eventClockRate))
        #expect(try found("freeswitch.sdp").isEmpty)
    }
}
