// SPDX-License-Identifier: Apache-2.0

import Essentials
import Media
import RTP
import Testing

@Suite struct CorpusTests {
    static let peer = "192.0.2.2:5000"

    static func play(_ packets: [Captures.Packet], for milliseconds: Int, type: NegotiatedCodec = .pcmu) -> Party {
        let party = Party("192.0.2.1:4000", bridgeRate: 8000)
        party.record()
        party.configure(remote: peer) { $0.codec = type }
        party.feed(packets, from: peer, for: milliseconds)
        return party
    }

    /// Every row of corpus/rtp, with the test that meets it.
    static let met: [String: String] = [
        "dtmf-0.rtp": "captured", "dtmf-1.rtp": "captured", "dtmf-2.rtp": "captured", "dtmf-4.rtp": "captured",
        "dtmf-5.rtp": "captured", "dtmf-6.rtp": "captured", "dtmf-8.rtp": "captured", "dtmf-pound.rtp": "captured",
        "g711a-30ms.rtp": "thirtyMilliseconds", "ssrc-change.rtp": "ssrcChange", "cn-pt13.rtp": "comfortNoise",
        "bad-short11.hex": "dropped", "bad-version1.hex": "dropped", "bad-ext-overrun.hex": "dropped",
        "bad-pad-zero.hex": "dropped", "bad-huge.hex": "dropped", "bad-ext-ok.hex": "accepted", "bad-pad-ok.hex": "accepted",
        "bad-tev-16.hex": "noKeys", "bad-tev-255.hex": "noKeys", "rtcp-good-compound.hex": "goodCompound",
        "rtcp-xr-overrun.hex": "reports", "rtcp-rr-count31.hex": "reports", "rtcp-len-zero-sdes.hex": "reports",
        "rtcp-first-not-report.hex": "reports", "bad-odd-g722.hex": "oddG722",
    ]
    @Test func everyRowIsMet() throws {
        for row in try Fixture.text("rtp/index.tsv").split(separator: "\n").dropFirst() {
            let file = String(row.split(separator: "\t")[0])
            #expect(Self.met[file] != nil, "\(file)")
        }
    }

    @Test("bad-odd-g722.hex: 161 octets of G.722 are 322 samples")
    func oddG722() throws {
        let bytes = try Fixture.hex("rtp/bad-odd-g722.hex")
        let payload = Array(bytes[try RTPPacket(parsing: bytes).payloadRange])
        #expect(G722Tests.decode(payload).count == 322)
        let party = Self.play([(0, bytes)], for: 100, type: .g722)
        #expect(party.statistics.octetsReceived == 161 && party.statistics.packetsDropped == 0)
    }

    @Test(
        "a packet to be dropped leaves nothing behind",
        arguments: [
            "bad-short11.hex", "bad-version1.hex", "bad-ext-overrun.hex", "bad-pad-zero.hex", "bad-huge.hex",
        ])
    func dropped(file: String) throws {
        let party = Self.play([(0, try Fixture.hex("rtp/\(file)"))], for: 100)
        #expect(party.statistics.packetsReceived == 0 && party.statistics.packetsDropped == 1)
        #expect(!party.events.contains { if case .sourceLocked = $0 { true } else { false } })
        #expect(party.recording.samples.allSatisfy { $0 == 0 })
    }

    @Test("160 octets are decoded", arguments: ["bad-ext-ok.hex", "bad-pad-ok.hex"])
    func accepted(file: String) throws {
        let party = Self.play([(0, try Fixture.hex("rtp/\(file)"))], for: 200)
        #expect(party.statistics.octetsReceived == 160 && party.statistics.packetsDropped == 0)
    }

    @Test("g711a-30ms.rtp: 1.8 s of 30 ms packets are played without gaps")
    func thirtyMilliseconds() throws {
        let packets = Array(try Captures.sipTester("g711a.pcap").prefix(60))
        #expect(packets.allSatisfy { $0.bytes.count == 252 })
        let party = Self.play(packets, for: 2000, type: .pcma)
        #expect(party.statistics.packetsReceived == 60 && party.statistics.packetsLost == 0)
        #expect(party.statistics.packetsLate == 0)
        let reference = packets.flatMap { CodecTests.decode(.a, Array($0.bytes[12...])) }
        let recorded = party.recording.samples
        let lag = Signals.lag(Array(reference.prefix(8000)), recorded, rate: 8000, limit: 1000)
        #expect(Signals.correlation(reference[...], recorded[lag...]) > 0.98)
    }

    @Test("ssrc-change.rtp: audio goes on when the SSRC changes to lower sequence numbers")
    func ssrcChange() throws {
        var packets = Array(try Captures.sipTester("g711a.pcap").prefix(60))
        for index in 30..<60 {
            var bytes = packets[index].bytes
            bytes.replaceSubrange(2..<4, with: [0, UInt8(index)])
            bytes.replaceSubrange(8..<12, with: [9, 9, 9, 9])
            packets[index].bytes = bytes
        }
        let party = Self.play(packets, for: 2000, type: .pcma)
        #expect(party.engine.counters[.ssrcChanged] == 1)
        #expect(party.statistics.packetsReceived >= 59)
        let reference = packets[35..<60].flatMap { CodecTests.decode(.a, Array($0.bytes[12...])) }
        let recorded = Array(party.recording.samples[(1000 * 8)...])
        let lag = Signals.lag(reference, recorded, rate: reference.count, limit: 2000)
        #expect(Signals.correlation(reference[...], recorded[lag...]) > 0.95)
    }

    @Test("cn-pt13.rtp: noise for the gap, no loss, no silence told")
    func comfortNoise() throws {
        let packets = try Captures.lines("rtp/cn-pt13.rtp")
        let last = Int(packets.last!.milliseconds)
        let party = Self.play(packets, for: last + 100)
        #expect(party.statistics.packetsLost == 0 && party.statistics.packetsDropped == 0)
        #expect(party.statistics.packetsReceived == UInt64(packets.count))
        let types = try packets.map { try RTPPacket(parsing: $0.bytes).payloadType }
        let noise = try #require(types.firstIndex(of: 13))
        let start = Int(packets[noise].milliseconds) + 200
        let gap = party.recording.samples[start * 8..<(start + 700) * 8]
        // The noise has the level told, far below what decoding the octet as PCMU would give.
        let level = packets[noise].bytes[12] & 0x7f
        let measured = Mathematics.decibels(amplitude: Signals.power(gap).squareRoot() / 32767)
        #expect(level > 80 ? measured < -80 : abs(measured + Double(level)) < 3, "\(measured) for \(level)")
        #expect(!party.events.contains { if case .streamSilent = $0 { true } else { false } })
        // The gap itself is not counted as concealed.
        #expect(party.statistics.framesConcealed < 10)
    }

    @Test func noiseKeepsAStreamFromBeingSilent() {
        let noise = RTPPacket(payloadType: 13, sequenceNumber: 1, timestamp: 160, ssrc: 1).serialized(payload: [40])
        let party = Self.play(SourceTests.speech(from: 0, count: 1, ssrc: 1) + [(20, noise)], for: 9000)
        #expect(!party.events.contains { if case .streamSilent = $0 { true } else { false } })
        let level = Mathematics.decibels(amplitude: Signals.power(party.recording.samples[8000...]).squareRoot() / 32767)
        #expect(abs(level + 40) < 1.5, "\(level)")
    }

    @Test(
        "hostile reports change nothing and are counted",
        arguments: [
            "rtcp-xr-overrun.hex", "rtcp-rr-count31.hex", "rtcp-len-zero-sdes.hex", "rtcp-first-not-report.hex",
        ])
    func reports(file: String) throws {
        for multiplexes in [false, true] {
            let party = Party("192.0.2.1:4000", bridgeRate: 8000)
            party.configure(remote: Self.peer) { $0.multiplexesRTCP = multiplexes }
            let bytes = try Fixture.hex("rtp/\(file)")
            let kind: PacketKind = multiplexes ? .rtp : .rtcp
            party.engine.receive(bytes, on: .stream, kind: kind, from: SocketAddress(Self.peer)!, at: .zero)
            party.drain(.zero)
            #expect(party.events.isEmpty && party.statistics.packetsReceived == 0)
            let isRefused = file == "rtcp-rr-count31.hex" || file == "rtcp-len-zero-sdes.hex"
            #expect(party.statistics.packetsDropped == (isRefused ? 1 : 0))
        }
    }

    @Test("rtcp-good-compound.hex: BYE ends that source only")
    func goodCompound() throws {
        for (ssrc, leaves) in [(UInt32(0xcafe_0001), true), (1, false)] {
            let party = Self.play(SourceTests.speech(from: 0, count: 5, ssrc: ssrc), for: 100)
            let now = MonotonicTime(nanoseconds: 100_000_000)
            party.engine.receive(
                try Fixture.hex("rtp/rtcp-good-compound.hex"), on: .stream, kind: .rtcp, from: SocketAddress("192.0.2.2:5001")!, at: now)
            party.drain(now)
            #expect(party.events.contains { if case .remoteLeft = $0 { true } else { false } } == leaves)
        }
    }

    @Test func reportsFromAStrangerAreDropped() throws {
        let party = Self.play(SourceTests.speech(from: 0, count: 5, ssrc: 0xcafe_0001), for: 100)
        party.engine.receive(
            try Fixture.hex("rtp/rtcp-good-compound.hex"), on: .stream, kind: .rtcp, from: SocketAddress("198.51.100.1:5001")!, at: .zero)
        party.drain(.zero)
        #expect(!party.events.contains { if case .remoteLeft = $0 { true } else { false } })
        #expect(party.engine.counters[.reportFromOtherSource] == 1)
    }

    /// The cases of kind media: where each is met, or what it waits for.
    @Test func everyMediaCaseIsMetOrOpen() {
        let cases: [(id: String, met: String?, open: String?)] = [
            ("B-059", "TelephoneEventTests.negotiatedType", nil), ("B-060", "TelephoneEventTests.noMarker", nil),
            ("B-061", "TelephoneEventTests.sending", nil), ("B-062", "TelephoneEventTests.eventClock", nil),
            ("B-063", "SourceTests.newSSRC", nil), ("B-064", "StreamTests.packetTimes", nil),
            ("B-065", "StreamTests.oddSizes", nil), ("B-066", "CorpusTests.eventFirst", nil),
            ("B-067", nil, "waits for SRTP"), ("V-015", nil, "waits for SRTP"), ("V-026", nil, "waits for SRTP"),
        ]
        #expect(cases.allSatisfy { ($0.met != nil) != ($0.open != nil) })
        #expect(cases.filter { $0.open != nil }.map(\.id) == ["B-067", "V-015", "V-026"])
    }

    @Test("B-066: telephone-event is never the codec of a stream")
    func eventFirst() {
        let party = Party("192.0.2.1:4000", bridgeRate: 8000)
        party.configure(remote: Self.peer) {
            $0.codec = NegotiatedCodec(name: "telephone-event", payloadType: 101, clockRate: 8000)
        }
        party.drain(.zero)
        #expect(party.engine.counters[.commandUnsupportedCodec] == 1)
        #expect(party.events.contains { if case .streamFailed = $0 { true } else { false } })
    }
}
