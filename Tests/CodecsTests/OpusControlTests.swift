// SPDX-License-Identifier: Apache-2.0

import Codecs
import Essentials
import Media
import RTP
import Testing

/// What turns the encoder's knobs: the peer's fmtp (RFC 7587 §6.1), its reports, redundancy, and what one account wants.
@Suite struct OpusControlTests {
    static func packets(
        _ settings: OpusSettings = OpusSettings(), _ parameters: String = "useinbandfec=1", encoding: String = "",
        voice: [Int16] = Speech.voice(rate: 16_000, seconds: 2), prepare: (any AudioEncoder) -> Void = { _ in }
    ) -> [[UInt8]] {
        var negotiated = NegotiatedCodec.opus(parameters)
        negotiated.encoding = encoding
        let encoder = Opus(sampleRate: 16_000, settings: settings).makeEncoder(negotiated)
        prepare(encoder)
        return Speech.packets(voice, frame: 320, encoder)
    }

    static func copies(_ packets: [[UInt8]]) -> Int {
        let decoder = Opus(sampleRate: 16_000).makeDecoder(.opus())
        return packets.count { OpusTests.recover(decoder, 320, $0) != nil }
    }

    static func octets(_ packets: [[UInt8]]) -> Int { packets.map(\.count).reduce(0, +) }

    @Test func silenceIsSentUnlessThatIsSwitchedOnOrThePeerPrefersIt() {
        let silence = [Int16](repeating: 0, count: 16_000 * 3)
        #expect(Self.packets(voice: silence).allSatisfy { $0.count > 0 })
        #expect(Self.packets(OpusSettings(isDiscontinuous: true), voice: silence).count { $0.isEmpty } > 100)
        #expect(Self.packets(OpusSettings(), "useinbandfec=1;usedtx=1", voice: silence).count { $0.isEmpty } > 100)
        #expect(Self.packets(OpusSettings(), "useinbandfec=1;usedtx=0", voice: silence).allSatisfy { $0.count > 0 })
    }

    @Test func withCopiesOfPacketsTheEncoderSparesItsOwn() {
        let expecting = OpusSettings(expectedLoss: 5)
        #expect(Self.copies(Self.packets(expecting)) > 30)
        let spared = Self.packets(expecting) { $0.noteRedundancy(2) }
        #expect(Self.copies(spared) == 0)
        let again = Self.packets(expecting) {
            $0.noteRedundancy(2)
            $0.noteRedundancy(0)
        }
        #expect(Self.copies(again) > 30)
    }

    @Test func theLossThatThePeerReportsDrivesTheCopies() {
        let settings = OpusSettings(expectedLoss: 0)
        #expect(Self.copies(Self.packets(settings)) == 0)
        #expect(Self.copies(Self.packets(settings) { $0.noteLoss(0.15) }) > 30)
        // It is let go slowly: a quarter of it with each report that says nothing is lost.
        let healed = Self.packets(settings) { encoder in
            encoder.noteLoss(0.15)
            for _ in 0..<20 { encoder.noteLoss(0) }
        }
        #expect(Self.copies(healed) == 0)
    }

    @Test func oneAccountMayWantOtherSettings() {
        let usual = Self.octets(Self.packets())
        #expect(Self.octets(Self.packets(encoding: "bitrate=8000")) < usual / 2)
        #expect(Self.copies(Self.packets(encoding: "fec=0")) == 0)
        #expect(Self.packets(encoding: "dtx=1", voice: [Int16](repeating: 0, count: 32_000)).contains { $0.isEmpty })
        for packet in Self.packets(encoding: "rate=8000") { #expect(packet[0] >> 3 <= 3 || (16...19).contains(packet[0] >> 3)) }
        // What is no number, out of range or unknown changes nothing, or as little as can be.
        for text in ["bitrate=x", "=;;", "complexity=-3", "colour=blue", "loss"] {
            #expect(Self.packets(encoding: text) == Self.packets(), "\(text)")
        }
        #expect(Self.packets(encoding: "complexity=99") == Self.packets(OpusSettings(complexity: 10)))
    }

    @Test(
        "the narrower of our limit and the peer's counts",
        arguments: [(8000, "", 3), (48_000, "maxplaybackrate=8000", 3), (16_000, "maxplaybackrate=8000", 3)])
    func bands(rate: Int, parameters: String, highest: UInt8) {
        for packet in Self.packets(OpusSettings(maximumRate: rate), parameters) {
            #expect(packet[0] >> 3 <= highest || (16...19).contains(packet[0] >> 3))
        }
    }

    @Test func copiesOfOpusPacketsRestoreWhatIsLost() throws {
        let voice = Speech.voice(rate: 16_000, seconds: 6)
        func heard(_ packets: Int?, loses: @escaping (Int) -> Bool) -> (Party, Party) {
            let redundancy = packets.map { StreamRedundancy(payloadType: 121, packets: $0) }
            return Party.call(bridgeRate: 16_000, speech: voice, milliseconds: 6000, redundancy: redundancy, loses: loses)
        }
        let bursts: (Int) -> Bool = { $0 > 40 && $0 % 20 >= 18 }
        let (left, right) = heard(2, loses: bursts)
        #expect(right.statistics.packetsLost >= 20)
        #expect(right.statistics.packetsRestored + 2 >= right.statistics.packetsLost)
        #expect(left.statistics.redundancy == 2 && left.statistics.redundancyOctetsSent > left.statistics.octetsSent / 2)
        let (_, whole) = heard(2, loses: { _ in false })
        #expect(Speech.likeness(voice, right.heard, rate: 16_000) > Speech.likeness(voice, whole.heard, rate: 16_000) - 0.05)
        let (_, without) = heard(nil, loses: bursts)
        #expect(without.statistics.framesConcealed > right.statistics.framesConcealed * 4)
    }
}
