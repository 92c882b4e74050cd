// SPDX-License-Identifier: Apache-2.0

import Essentials
import Handset
import Media
import PhoneCore
import SDP
import SIP
import SIPAgent
import Testing

/// A codec of an application's own: linear samples of 16 bit at 16 kHz, high octet first (RFC 3551 §4.5.11), in packets of a number of its
/// own.
private struct Linear: AudioCodec {
    let name = "L16"
    let clockRate = 16_000
    let sampleRate = 16_000
    let impairment = (equipment: 0.0, robustness: 4.3)

    /// Which codecs were asked for, with what parameters.
    let made: Notes<String>

    /// As descriptions name it.
    static let description: AudioCodecDescription = {
        var codec = AudioCodecDescription("L16", clockRate: 16_000, payloadType: 97, parameters: "emphasis=none")
        codec.encoding = "gain=half"
        return codec
    }()

    func makeEncoder(_ negotiated: NegotiatedCodec) -> any AudioEncoder {
        made.add("encoder \(negotiated.parameters) \(negotiated.encoding)")
        return Encoder()
    }

    func makeDecoder(_ negotiated: NegotiatedCodec) -> any AudioDecoder {
        made.add("decoder")
        return Decoder()
    }

    final class Encoder: AudioEncoder {
        func encode(_ samples: Span<Int16>, into payload: inout MutableSpan<UInt8>) -> Int {
            guard payload.count >= samples.count * 2 else { return 0 }
            for index in 0..<samples.count {
                payload[2 * index] = UInt8(truncatingIfNeeded: samples[index] >> 8)
                payload[2 * index + 1] = UInt8(truncatingIfNeeded: samples[index])
            }
            return samples.count * 2
        }

        func reset() {}
    }

    final class Decoder: AudioDecoder {
        func sampleCount(of payload: Span<UInt8>) -> Int? { payload.count.isMultiple(of: 2) ? payload.count / 2 : nil }

        func decode(_ payload: Span<UInt8>, into samples: inout MutableSpan<Int16>) -> Int {
            let count = min(payload.count / 2, samples.count)
            for index in 0..<count { samples[index] = Int16(payload[2 * index]) << 8 | Int16(payload[2 * index + 1]) }
            return count
        }

        func reset() {}
    }
}

@Suite struct CustomCodecTests {
    @Test func aCodecOfTheApplicationsOwnCarriesACall() throws {
        let stage = try Stage()
        let made = Notes<String>()
        let change: (inout PhoneSettings) -> Void = { settings in
            settings.codecs.register(Linear(made: made))
            settings.core.audio = AudioCapabilities(codecs: [Linear.description, .pcmu])
        }
        let (alice, bob) = (try stage.phone(change), try stage.phone(change))
        let (caller, called) = try stage.establish(alice, bob)
        let tone = try stage.perform { await alice.phone.bridge.openTone(.init(frequency: 800, level: -10)) }
        try stage.perform { await alice.phone.bridge.connect(tone, caller.port) }
        stage.run(.seconds(2))
        try stage.perform { try await bob.phone.requestStatistics(called.id) }
        stage.run(.milliseconds(100))
        let codecs = bob.notes.all.compactMap { if case .media(_, let media) = $0 { media.codec } else { nil } }
        #expect(codecs.last?.name == "L16" && codecs.last?.payloadType == 97 && codecs.last?.clockRate == 16_000)
        #expect(made.all.contains("encoder emphasis=none gain=half") && made.all.contains("decoder"))
        let figures = try required(bob.notes.all.compactMap { if case .statistics(_, let it, _) = $0 { it } else { nil } }.last)
        #expect(figures.packetsReceived > 80 && figures.packetsDropped == 0)
        // Half of a tone of −10 dB.
        #expect((-17 ... -15).contains(figures.receivedLevel), "\(figures.receivedLevel) dB")
        try stage.perform { await caller.hangUp() }
        try stage.perform { await alice.phone.stop() }
        try stage.perform { await bob.phone.stop() }
    }

    @Test func anAccountsCodecsAreItsOwn() throws {
        let stage = try Stage()
        let (alice, bob) = (try stage.phone(), try stage.phone())
        let own = AccountConfiguration(addressOfRecord: SIPURI(user: "alice", host: .address(.loopbackV4)), registers: false)
        let account = try stage.perform {
            try await alice.phone.addAccount(own, audio: AudioCapabilities(codecs: [.pcma]))
        }
        try stage.perform { _ = try await account.call(bob.uri) }
        #expect(stage.run(until: { !bob.incoming.isEmpty }))
        let invite = try required(
            bob.notes.all.compactMap { if case .incomingCall(_, let shown) = $0 { shown.invite } else { nil } }.first)
        let offer = String(decoding: invite.body(ofType: "application", "sdp") ?? [], as: UTF8.self)
        #expect(offer.contains("RTP/AVP 8 101"))
        try stage.perform { await alice.phone.stop() }
        try stage.perform { await bob.phone.stop() }
    }
}
