// SPDX-License-Identifier: Apache-2.0

import Essentials
import Media
import RTP
import Testing

@Suite struct SourceTests {
    static func speech(
        from first: Int, count: Int, ssrc: UInt32, sequence: Int = 0, timestamp: Int? = nil, type: UInt8 = 0
    ) -> [Captures.Packet] {
        let payload = CodecTests.encode(.mu, Signals.sine(400, rate: 8000, count: 160))
        return (0..<count).map { index in
            let header = RTPPacket(
                payloadType: type, sequenceNumber: UInt16(truncatingIfNeeded: sequence + index),
                timestamp: UInt32(truncatingIfNeeded: (timestamp ?? first * 8) + index * 160), ssrc: ssrc)
            return (Double(first + index * 20), header.serialized(payload: payload))
        }
    }

    static let peer = "192.0.2.2:5000"
    static let intruder = "198.51.100.66:6666"

    func party(_ remote: String = SourceTests.peer) -> Party {
        let party = Party("192.0.2.1:4000", bridgeRate: 8000)
        party.record()
        party.configure(remote: remote)
        return party
    }

    static func locks(_ party: Party) -> [String] {
        party.events.compactMap { if case .sourceLocked(_, let address) = $0 { address.description } else { nil } }
    }

    @Test func anotherSourceIsCountedAndDropped() {
        let party = party()
        party.feed(Self.speech(from: 0, count: 50, ssrc: 1), from: Self.peer, for: 1000)
        // It keeps sending while the peer does; the two are interleaved by 500 ms pieces.
        for piece in 0..<4 {
            let start = 1000 + piece * 500
            party.feed(Self.speech(from: start, count: 20, ssrc: 2, sequence: 9000), from: Self.intruder, for: 10, start: start)
            party.feed(
                Self.speech(from: start + 10, count: 24, ssrc: 1, sequence: 50 + piece * 24), from: Self.peer, for: 490, start: start + 10)
        }
        #expect(Self.locks(party) == [Self.peer])
        #expect(party.statistics.packetsDropped > 0)
        #expect(party.engine.counters[.packetFromOtherSource] == party.statistics.packetsDropped)
        #expect(party.sent.filter { $0.packet.kind == .rtp }.allSatisfy { $0.packet.to.description == Self.peer })
    }

    @Test func theFirstValidSourceIsTakenAndTheSignalledOneWins() {
        let party = party()
        party.feed(Self.speech(from: 0, count: 5, ssrc: 1), from: "203.0.113.5:999", for: 100)
        #expect(party.sent.last?.packet.to.description == "203.0.113.5:999")
        party.feed(Self.speech(from: 100, count: 5, ssrc: 1, sequence: 5), from: Self.peer, for: 100, start: 100)
        party.feed(Self.speech(from: 200, count: 5, ssrc: 1, sequence: 10), from: "203.0.113.5:999", for: 100, start: 200)
        #expect(Self.locks(party) == ["203.0.113.5:999", Self.peer])
        #expect(party.sent.last?.packet.to.description == Self.peer)
        #expect(party.engine.counters[.packetFromOtherSource] == 5)
    }

    @Test func aReboundSourceIsFollowedOnlyInSequenceAndAfterSilence() {
        let moved = "203.0.113.5:31000"
        let party = party()
        party.feed(Self.speech(from: 0, count: 50, ssrc: 1), from: Self.peer, for: 1000)
        party.feed(Self.speech(from: 1000, count: 100, ssrc: 1, sequence: 50), from: moved, for: 2000, start: 1000)
        #expect(Self.locks(party) == [Self.peer, moved])
        #expect(party.engine.counters[.sourceMoved] == 1)
        // Half a second was refused, the rest was taken.
        #expect((24...30).contains(Int(party.engine.counters[.packetFromOtherSource])))
        // A stranger with a sequence of its own must wait for five seconds of silence.
        party.feed(Self.speech(from: 3000, count: 400, ssrc: 9, sequence: 30000), from: Self.intruder, for: 4000, start: 3000)
        #expect(Self.locks(party).count == 2)
        party.feed(Self.speech(from: 7000, count: 100, ssrc: 9, sequence: 30200), from: Self.intruder, for: 2000, start: 7000)
        #expect(Self.locks(party) == [Self.peer, moved, Self.intruder])
    }

    @Test func aNewlySignalledAddressIsFollowedAndTheOldOneHeardMeanwhile() {
        let party = party()
        party.feed(Self.speech(from: 0, count: 50, ssrc: 1), from: Self.peer, for: 1000)
        party.configure(remote: "203.0.113.7:7000", now: MonotonicTime(nanoseconds: 1_000_000_000))
        party.feed(Self.speech(from: 1000, count: 25, ssrc: 1, sequence: 50), from: Self.peer, for: 500, start: 1000)
        #expect(party.statistics.packetsReceived == 75)
        #expect(party.sent.last?.packet.to.description == "203.0.113.7:7000")
        party.feed(Self.speech(from: 1500, count: 25, ssrc: 2, sequence: 5), from: "203.0.113.7:7000", for: 500, start: 1500)
        #expect(Self.locks(party) == [Self.peer, "203.0.113.7:7000"])
        party.feed(Self.speech(from: 2000, count: 10, ssrc: 1, sequence: 100), from: Self.peer, for: 200, start: 2000)
        #expect(party.engine.counters[.packetFromOtherSource] == 10)
    }

    /// The power in each 100 ms of what was recorded from `start` milliseconds on.
    static func silentTenths(_ party: Party, from start: Int, to end: Int) -> Int {
        stride(from: start * 8, to: end * 8, by: 800).filter { at in
            Signals.power(party.recording.samples[at..<at + 800]) < 1e6
        }.count
    }

    @Test("B-063: a new SSRC with lower sequence numbers goes on within 100 ms")
    func newSSRC() {
        let party = party()
        let packets =
            Self.speech(from: 0, count: 100, ssrc: 1, sequence: 40000)
            + Self.speech(from: 2000, count: 100, ssrc: 2, sequence: 17, timestamp: 5)
        party.feed(packets, from: Self.peer, for: 4000)
        #expect(party.engine.counters[.ssrcChanged] == 1)
        #expect(Self.silentTenths(party, from: 200, to: 3900) <= 1)
        #expect(party.statistics.packetsLost == 0)
    }

    @Test func interleavedSourcesDoNotFlap() {
        let party = party()
        let packets = zip(Self.speech(from: 0, count: 100, ssrc: 1), Self.speech(from: 0, count: 100, ssrc: 2))
            .flatMap { [$0, $1] }
        party.feed(packets, from: Self.peer, for: 2000)
        #expect(party.engine.counters[.ssrcChanged] == 0)
        #expect(party.engine.counters[.packetOfOtherSSRC] == 100)
    }

    @Test(
        "jumps of sequence numbers and timestamps are survived",
        arguments: [
            (200, 100_000), (5000, 0), (-5000, 0), (0, 3_000_000), (0, -3_000_000), (30000, 2_000_000_000), (0, 1600), (0, -1600),
        ])
    func jumps(sequence: Int, timestamp: Int) {
        let party = party()
        let packets =
            Self.speech(from: 0, count: 100, ssrc: 1, sequence: 10000)
            + Self.speech(from: 2000, count: 150, ssrc: 1, sequence: 10100 + sequence, timestamp: 16000 + timestamp)
        party.feed(packets, from: Self.peer, for: 5000)
        #expect(Self.silentTenths(party, from: 200, to: 2000) == 0)
        #expect(Self.silentTenths(party, from: 2400, to: 4900) == 0, "\(party.engine.counters.nonzero)")
    }

    @Test func aPeerWhoseClockStoodDuringAPauseIsHeardAtOnce() {
        let party = party()
        let packets =
            Self.speech(from: 0, count: 50, ssrc: 1)
            + Self.speech(from: 3000, count: 100, ssrc: 1, sequence: 50, timestamp: 8000)
        party.feed(packets, from: Self.peer, for: 5000)
        #expect(Self.silentTenths(party, from: 3200, to: 4900) == 0, "\(party.engine.counters.nonzero)")
        #expect(party.statistics.bufferMilliseconds < 100)
    }

    @Test func anOutageOfTheNetworkLosesNothingThatCameLate() {
        let party = party()
        // 300 ms are held up and then come all at once.
        var packets = Self.speech(from: 0, count: 200, ssrc: 1)
        for index in 100..<115 { packets[index].milliseconds = 2300 }
        party.feed(packets, from: Self.peer, for: 4000)
        #expect(party.statistics.packetsLate == 0 && party.statistics.packetsLost == 0)
        #expect(Self.silentTenths(party, from: 2400, to: 3900) == 0)
    }

    @Test func whatIsNotRTPOrNotKnownIsCounted() {
        let party = party()
        let source = SocketAddress(Self.peer)!
        for bytes in [[], [1, 2, 3], [UInt8](repeating: 0x80, count: 11)] as [[UInt8]] {
            party.engine.receive(bytes, on: .stream, kind: .rtp, from: source, at: .zero)
        }
        party.engine.receive(Self.speech(from: 0, count: 1, ssrc: 1, type: 55)[0].bytes, on: .stream, kind: .rtp, from: source, at: .zero)
        party.engine.receive([UInt8](repeating: 7, count: 40), on: .stream, kind: .rtcp, from: source, at: .zero)
        #expect(party.statistics.packetsDropped == 5)
        #expect(party.engine.counters[.packetNotRTP] == 3 && party.engine.counters[.packetOfUnknownPayloadType] == 1)
        #expect(party.engine.counters[.packetNotRTCP] == 1)
        #expect(Self.locks(party).isEmpty)
    }

    @Test func anyOctetsInAnyOrderDoNoHarm() {
        var random = SplitMix64(seed: 77)
        let party = party()
        var now = MonotonicTime.zero
        for _ in 0..<6000 {
            var bytes = (0..<Int.random(in: 0...200, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
            if bytes.count > 12, Int.random(in: 0..<4, using: &random) > 0 {
                bytes[0] = [0x80, 0x80, 0x90, 0xa0].randomElement(using: &random)!
                bytes[1] = [0, 8, 13, 101, 128, 200, 201, 202, 203].randomElement(using: &random)!
                for index in 8..<12 { bytes[index] = 0 }
            }
            let kind: PacketKind = Int.random(in: 0..<5, using: &random) == 0 ? .rtcp : .rtp
            party.engine.receive(bytes, on: .stream, kind: kind, from: SocketAddress(Self.peer)!, at: now)
            if Bool.random(using: &random) {
                now += .milliseconds(10)
                party.tick(now)
            }
        }
        #expect(party.recording.samples.count == Int(now.nanoseconds / 10_000_000) * 80)
    }
}
