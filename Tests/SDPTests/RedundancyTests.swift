// SPDX-License-Identifier: Apache-2.0

import Essentials
import SDP
import Testing

@Suite struct RedundancyTests {
    static func capabilities(
        _ codecs: [AudioCodecDescription] = AudioCapabilities.allCodecs, _ redundancy: Redundancy = .packets(2)
    ) -> AudioCapabilities {
        var result = AudioCapabilities(codecs: codecs)
        result.redundancy = redundancy
        return result
    }

    /// What an offer of `caller` and the answer of `callee` agree, at both.
    static func agree(
        _ caller: AudioCapabilities, _ callee: AudioCapabilities
    ) throws -> (caller: NegotiatedAudio, callee: NegotiatedAudio, offer: String, answer: String) {
        var one = machine(caller)
        var other = machine(callee)
        let offer = one.makeOffer(local: ourAddress, direction: .sendrecv)
        let (answer, theirs) = try other.answer(
            try other.read(offer.serialized()), local: try address("192.0.2.2:5000"), direction: .sendrecv)
        return (
            try one.receiveAnswer(try one.read(answer.serialized())), try #require(theirs),
            String(decoding: offer.serialized(), as: UTF8.self), String(decoding: answer.serialized(), as: UTF8.self)
        )
    }

    @Test func redundancyIsOfferedOnceForEachClockRate() throws {
        let (caller, callee, offer, _) = try Self.agree(Self.capabilities(), Self.capabilities())
        #expect(offer.contains("m=audio 4000 RTP/AVP 96 9 0 8 121 122 101 102"))
        #expect(offer.contains("a=rtpmap:121 red/48000/2\r\na=fmtp:121 96/96\r\n"))
        #expect(offer.contains("a=rtpmap:122 red/8000\r\na=fmtp:122 9/0/8\r\n"))
        #expect(caller.codec.name == "OPUS" && caller.sendRedundancyPayloadType == 121)
        #expect(callee.sendRedundancyPayloadType == 121 && callee.receiveRedundancyPayloadTypes == [121, 122])
        #expect(caller.redundantPackets == 2)
    }

    @Test func `It is off unless it is switched on, and not offered then`() throws {
        let (caller, callee, offer, answer) = try Self.agree(
            AudioCapabilities(codecs: AudioCapabilities.allCodecs), Self.capabilities())
        #expect(!offer.contains("red/") && !answer.contains("red/"))
        #expect(caller.sendRedundancyPayloadType == nil && callee.sendRedundancyPayloadType == nil)
    }

    @Test func whatThePeerDoesNotAnswerIsNotSent() throws {
        let (caller, callee, _, answer) = try Self.agree(
            Self.capabilities(), AudioCapabilities(codecs: AudioCapabilities.allCodecs))
        #expect(!answer.contains("red/"))
        #expect(caller.sendRedundancyPayloadType == nil && callee.receiveRedundancyPayloadTypes.isEmpty)
    }

    @Test func theAnswerNamesTheFormatsThatItTakes() throws {
        let (caller, callee, _, answer) = try Self.agree(
            Self.capabilities([.pcmu, .pcma, .g722], .automatic), Self.capabilities([.pcma], .packets(1)))
        #expect(answer.contains("a=fmtp:122 8/8"))
        #expect(caller.codec.name == "PCMA" && caller.sendRedundancyPayloadType == 122)
        #expect(caller.redundantPackets == nil && callee.redundantPackets == 1)
    }

    @Test func `A codec that the peer's fmtp does not name is not sent again`() throws {
        var caller = machine(Self.capabilities([.pcmu, .pcma]))
        _ = caller.makeOffer(local: ourAddress, direction: .sendrecv)
        let answer = try audio(
            "audio 9000 RTP/AVP 0 122", "a=rtpmap:122 red/8000", "a=fmtp:122 8/8")
        #expect(try caller.receiveAnswer(answer).sendRedundancyPayloadType == nil)
    }

    @Test func theClockRateHasToBeThatOfTheCodec() throws {
        var caller = machine(Self.capabilities([.opus, .pcmu]))
        _ = caller.makeOffer(local: ourAddress, direction: .sendrecv)
        let answer = try audio(
            "audio 9000 RTP/AVP 96 122", "a=rtpmap:96 opus/48000/2", "a=rtpmap:122 red/8000", "a=fmtp:122 0/0")
        #expect(try caller.receiveAnswer(answer).sendRedundancyPayloadType == nil)
    }

    @Test func aBrowsersOfferIsAnsweredInItsOwnNumbers() throws {
        var callee = machine(Self.capabilities())
        let offer = try audio(
            "audio 9000 RTP/AVP 111 63 0", "a=rtpmap:111 opus/48000/2", "a=fmtp:111 minptime=10;useinbandfec=1",
            "a=rtpmap:63 red/48000/2", "a=fmtp:63 111/111")
        let (answer, theirs) = try callee.answer(offer, local: ourAddress, direction: .sendrecv)
        #expect(answer.media[0].formats == ["111", "63", "0"])
        #expect(answer.media[0].formatParameters("63") == "111/111")
        #expect(theirs?.sendRedundancyPayloadType == 63 && theirs?.receiveRedundancyPayloadTypes == [63])
    }

    @Test func theNumbersStayInAReoffer() throws {
        var caller = machine(Self.capabilities())
        var callee = machine(Self.capabilities())
        let offer = caller.makeOffer(local: ourAddress, direction: .sendrecv)
        let (answer, _) = try callee.answer(offer, local: try address("192.0.2.2:5000"), direction: .sendrecv)
        _ = try caller.receiveAnswer(answer)
        #expect(caller.makeOffer(local: ourAddress, direction: .sendonly).media[0].formats == offer.media[0].formats)
    }

    @Test(
        "copies are one to four",
        arguments: [(.packets(0), 1), (.packets(2), 2), (.packets(99), 4), (.automatic, nil), (.off, nil)] as [(Redundancy, Int?)])
    func counts(redundancy: Redundancy, packets: Int?) { #expect(redundancy.packetCount == packets) }

    // MARK: Comfort noise and reports

    @Test func comfortNoiseIsSentWhereBothHaveIt() throws {
        var noisy = AudioCapabilities(codecs: [.pcmu])
        noisy.comfortNoise = true
        let (caller, callee, offer, _) = try Self.agree(noisy, noisy)
        #expect(offer.contains("RTP/AVP 0 13 101"))
        #expect(caller.sendComfortNoisePayloadType == 13 && callee.sendComfortNoisePayloadType == 13)
        let (one, other, _, _) = try Self.agree(noisy, AudioCapabilities(codecs: [.pcmu]))
        #expect(one.sendComfortNoisePayloadType == nil && other.sendComfortNoisePayloadType == nil)
    }

    @Test func extendedReportsAreSentAsThePeerWishes() throws {
        var full = AudioCapabilities(codecs: [.pcmu])
        full.extendedReports = ExtendedReports(voiceMetrics: true, summary: true, receiverRoundTrip: true)
        let (caller, callee, offer, answer) = try Self.agree(full, AudioCapabilities(codecs: [.pcmu]))
        #expect(offer.contains("a=rtcp-xr:voip-metrics stat-summary=loss,dup,jitt rcvr-rtt=all\r\n"))
        #expect(answer.contains("a=rtcp-xr:voip-metrics\r\n"))
        #expect(callee.extendedReports == full.extendedReports)
        #expect(caller.extendedReports == ExtendedReports())
        var without = full
        without.extendedReports = nil
        let (quiet, wishes, bare, answerToBare) = try Self.agree(without, full)
        #expect(!bare.contains("rtcp-xr") && !answerToBare.contains("rtcp-xr"))
        #expect(quiet.extendedReports == nil && wishes.extendedReports == nil)
    }

    @Test func whatOpusIsAskedForStandsInItsParameters() {
        #expect(AudioCodecDescription.opus().parameters == "useinbandfec=1")
        #expect(
            AudioCodecDescription.opus(
                correctsErrors: false, isDiscontinuous: true, maximumPlaybackRate: 16_000, maximumBitRate: 1
            ).parameters == "usedtx=1;maxplaybackrate=16000;maxaveragebitrate=6000")
    }
}
