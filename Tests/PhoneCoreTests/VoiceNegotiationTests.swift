// SPDX-License-Identifier: Apache-2.0
//
// What descriptions say about redundancy, comfort noise, reports and codecs, as the media engine is told it, and what it warns of as
// the application is told it.

import Essentials
import Media
import PhoneCore
import SDP
import SIP
import SIPAgent
import Testing

@Suite struct VoiceNegotiationTests {
    private func warned(_ scene: Scene) -> [String] {
        scene.phone.events.compactMap { if case .warning(_, let cause) = $0 { cause.code } else { nil } }
    }

    @Test func whatThePeerAnswersIsSent() throws {
        let scene = Scene { $0.audio.redundancy = .packets(2) }
        let answer = sdp(port: 7100, formats: "0 122") + "a=rtpmap:122 red/8000\r\na=fmtp:122 0/0\r\n"
        _ = try scene.established(answer)
        let stream = try required(scene.phone.stream)
        #expect(stream.redundancy == StreamRedundancy(payloadType: 122, packets: 2))
        #expect(stream.receiveRedundancyPayloadTypes == [122])
        #expect(try required(scene.phone.mediaEvents.last).hasRedundancy)
        #expect(scene.comesToRest())
    }

    @Test func whatItDoesNotAnswerIsNot() throws {
        let scene = Scene { $0.audio.redundancy = .automatic }
        _ = try scene.established(sdp(port: 7100, formats: "0"))
        #expect(try required(scene.phone.stream).redundancy == nil)
        #expect(!(try required(scene.phone.mediaEvents.last).hasRedundancy))
    }

    @Test func reportsAreSentAsThePeerWishes() throws {
        let scene = Scene()
        _ = try scene.established(
            sdp(port: 7100, formats: "0") + "a=rtcp-xr:rcvr-rtt=all voip-metrics\r\n")
        #expect(try required(scene.phone.stream).extendedReports == [.voiceMetrics, .receiverRoundTrip])
    }

    @Test func aWarningIsToldOnceAndItsEndToo() throws {
        let scene = Scene()
        let (call, _) = try scene.established(sdp(port: 7100, formats: "0"))
        let port = try scene.phone.port(call)
        for _ in 0..<3 { scene.phone.give(.warning(port, .loss, value: 12.4, source: nil)) }
        scene.bench.run(.milliseconds(30))
        #expect(warned(scene) == ["media.loss"])
        scene.phone.give(.warningOver(port, .loss))
        scene.phone.give(.warningOver(port, .delay))
        scene.bench.run(.milliseconds(30))
        #expect(scene.phone.notices.last == "mended media.loss")
        scene.phone.give(.warning(port, .loss, value: 12.4, source: nil))
        scene.bench.run(.milliseconds(30))
        #expect(warned(scene) == ["media.loss", "media.loss"])
    }

    @Test("each warning has a cause of its own with a sentence", arguments: MediaWarning.allCases)
    func causes(warning: MediaWarning) throws {
        let scene = Scene()
        let (call, _) = try scene.established(sdp(port: 7100, formats: "0"))
        let port = try scene.phone.port(call)
        scene.phone.give(.sourceLocked(port, SocketAddress(host(9), 7100)))
        scene.phone.give(.warning(port, warning, value: .infinity, source: SocketAddress(host(7), 9)))
        scene.bench.run(.milliseconds(30))
        let cause = try required(
            scene.phone.events.compactMap { if case .warning(_, let cause) = $0 { cause } else { nil } }.last)
        #expect(cause.code.hasPrefix("media.") && cause.sentence.hasSuffix("."))
    }

    @Test func beforeTheAnswerNobodyNeedSend() throws {
        let scene = Scene()
        let (call, _) = try scene.calling()
        scene.phone.give(.warning(try scene.phone.port(call), .nothingReceived, value: 2, source: nil))
        scene.bench.run(.milliseconds(30))
        #expect(warned(scene).isEmpty)
    }

    @Test func anAccountMayHaveCodecsOfItsOwn() throws {
        let scene = Scene()
        var codec = AudioCodecDescription.opus(maximumPlaybackRate: 16_000)
        codec.encoding = "bitrate=20000"
        let configuration = AccountConfiguration(
            addressOfRecord: SIPURI(user: "1001", host: .address(scene.peer.address.ip)), registers: false, directCalls: .accept)
        let audio = AudioCapabilities(codecs: [codec, .pcma])
        let account = try scene.phone.on { try $0.addAccount(configuration, audio: audio, now: $1) }
        _ = try scene.calling(from: account)
        scene.bench.run(.milliseconds(30))
        let stream = try required(scene.phone.stream)
        #expect(stream.receivable.map(\.name) == ["OPUS", "PCMA"])
        #expect(stream.receivable.first?.parameters == "useinbandfec=1;maxplaybackrate=16000")
    }
}
