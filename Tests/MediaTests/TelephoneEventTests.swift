// SPDX-License-Identifier: Apache-2.0

import Essentials
import Media
import RTP
import Testing

@Suite struct TelephoneEventTests {
    static let captures = [
        ("dtmf_2833_0.pcap", "0"), ("dtmf_2833_1.pcap", "1"), ("dtmf_2833_2.pcap", "2"), ("dtmf_2833_4.pcap", "4"),
        ("dtmf_2833_5.pcap", "5"), ("dtmf_2833_6.pcap", "6"), ("dtmf_2833_8.pcap", "8"), ("dtmf_2833_pound.pcap", "#"),
    ]

    static func receive(_ packets: [Captures.Packet], type: UInt8 = 101) -> Party {
        let party = Party("192.0.2.1:4000", bridgeRate: 8000)
        party.configure(remote: "192.0.2.2:5000") { $0.receiveEventPayloadTypes = [type] }
        party.feed(packets, from: "192.0.2.2:5000", for: 1500)
        return party
    }

    @Test("dtmf-*.rtp: one digit, once, whichever packets are lost", arguments: captures)
    func captured(file: String, digit: String) throws {
        let packets = try Captures.sipTester(file)
        try #require(packets.count == 10)
        #expect(Self.receive(packets).digits == digit)
        #expect(Self.receive(Array(packets.dropFirst())).digits == digit, "first lost")
        #expect(Self.receive(Array(packets.dropLast(2))).digits == digit, "all but one end lost")
        #expect(Self.receive(Array(packets.dropLast(3))).digits == digit, "all ends lost")
        #expect(Self.receive([packets[9]]).digits == digit, "all but the last lost")
        #expect(Self.receive(packets + packets.map { ($0.milliseconds + 500, $0.bytes) }).digits == digit, "all twice")
        var random = SplitMix64(seed: 8)
        for _ in 0..<10 {
            let shuffled = packets.map { ($0.milliseconds + Double.random(in: 0...60, using: &random), $0.bytes) }
                .sorted { $0.0 < $1.0 }
            #expect(Self.receive(shuffled).digits == digit, "reordered")
        }
    }

    static func event(
        _ code: UInt8, _ timestamp: UInt32, _ duration: UInt16, end: Bool, marker: Bool = false, sequence: UInt16, type: UInt8 = 101
    ) -> [UInt8] {
        RTPPacket(payloadType: type, marker: marker, sequenceNumber: sequence, timestamp: timestamp, ssrc: 5)
            .serialized(payload: TelephoneEvent(code: code, isEnd: end, duration: duration).serialized)
    }

    @Test("B-059: events are known by the negotiated payload type")
    func negotiatedType() {
        let packet = Self.event(3, 0, 800, end: true, sequence: 1, type: 102)
        #expect(Self.receive([(0, packet)], type: 102).digits == "3")
        #expect(Self.receive([(0, packet)], type: 101).digits == "")
    }

    @Test("B-060: events without any marker are keys")
    func noMarker() {
        #expect(
            Self.receive([
                (0, Self.event(1, 0, 400, end: false, sequence: 1)), (50, Self.event(1, 0, 800, end: true, sequence: 2)),
                (300, Self.event(1, 2400, 400, end: false, sequence: 3)), (350, Self.event(1, 2400, 800, end: true, sequence: 4)),
            ]).digits == "11")
    }

    @Test func aKeyOfManySecondsInSegmentsIsOne() {
        var packets: [Captures.Packet] = []
        for index in 0..<13 {
            packets.append((Double(index * 100), Self.event(9, 0, UInt16(clamping: index * 6000), end: false, sequence: UInt16(index))))
        }
        packets.append((1300, Self.event(9, 0xffff, 800, end: false, sequence: 13)))
        packets.append((1350, Self.event(9, 0xffff, 1600, end: true, sequence: 14)))
        #expect(Self.receive(packets).digits == "9")
    }

    @Test("bad-tev-16.hex and bad-tev-255.hex are no keys", arguments: ["bad-tev-16.hex", "bad-tev-255.hex"])
    func noKeys(file: String) throws {
        let party = Self.receive([(0, try Fixture.hex("rtp/\(file)"))])
        #expect(party.digits.isEmpty)
        #expect(party.engine.counters[.eventUnknown] == 1)
    }

    @Test("B-061: marker on the first packet, one timestamp, growing duration, three ends; the audio's clock runs on")
    func sending() throws {
        let party = Party("192.0.2.1:4000", bridgeRate: 8000)
        party.configure(remote: "192.0.2.2:5000")
        party.engine.handle(.sendDigits(.stream, "5#", milliseconds: 100, inBand: false), now: .zero)
        for tick in 1...60 { party.tick(MonotonicTime(nanoseconds: Int64(tick) * 10_000_000)) }
        let events = party.rtp.filter { $0.header.payloadType == 101 }
        let first = events.filter { $0.payload[0] == 5 }
        #expect(first.map { $0.header.marker } == [true] + [Bool](repeating: false, count: 6))
        #expect(first.map { Int($0.payload[2]) << 8 | Int($0.payload[3]) } == [160, 320, 480, 640, 800, 800, 800])
        #expect(first.map { $0.payload[1] & 0x80 != 0 } == [false, false, false, false, true, true, true])
        #expect(Set(first.map(\.header.timestamp)) == [0xffff_ff00])
        let second = events.filter { $0.payload[0] == 11 }
        #expect(second.count == 7 && second[0].header.marker)
        // 80 ms from the end of one key to the beginning of the next, on the line of the audio's timestamps.
        let between = try #require(second.first).header.timestamp &- 0xffff_ff00
        #expect(between >= UInt32(180 * 8) && between <= UInt32(200 * 8) && between % 160 == 0)
        for packet in party.rtp where packet.header.payloadType == 0 {
            let place = packet.header.timestamp &- 0xffff_ff00
            #expect(place % 160 == 0)
            #expect((packet.time.nanoseconds / 1_000_000 - 20) * 8 == Int64(place))
            #expect(place >= 800 && !(place >= between && place < between + 800), "audio inside a key")
        }
        let sequence = party.rtp.map(\.header.sequenceNumber)
        #expect(zip(sequence, sequence.dropFirst()).allSatisfy { $1 == $0 &+ 1 })
        let told = party.events.compactMap { event -> Character? in
            if case .digitSent(_, let digit, 100, false) = event { digit } else { nil }
        }
        #expect(told == ["5", "#"])
    }

    @Test("B-062: durations count in the negotiated clock of the events")
    func eventClock() {
        let party = Party("192.0.2.1:4000", bridgeRate: 8000)
        party.configure(remote: "192.0.2.2:5000") { $0.sendEventClockRate = 48000 }
        party.engine.handle(.sendDigits(.stream, "1", milliseconds: 100, inBand: false), now: .zero)
        for tick in 1...30 { party.tick(MonotonicTime(nanoseconds: Int64(tick) * 10_000_000)) }
        let last = party.rtp.last { $0.header.payloadType == 101 }!
        #expect(Int(last.payload[2]) << 8 | Int(last.payload[3]) == 4800)
    }

    @Test("each digit arrives once at 20 % loss with reordering and doubles", arguments: 1...12)
    func lossyDigits(seed: UInt64) {
        let pair = Pair(bridgeRate: 8000, seed: seed, link: Link(seed: seed, loss: 0.2, duplication: 0.1, delay: 20, jitter: 50))
        pair.configure()
        pair.run(milliseconds: 200)
        pair.left.engine.handle(.sendDigits(.stream, "1122,3*#D", milliseconds: 100, inBand: false), now: pair.now)
        pair.run(milliseconds: 4000)
        #expect(pair.right.digits == "11223*#D")
    }

    @Test func tonesInTheAudioAreKeysWhenNothingElseWasNegotiated() {
        let pair = Pair(bridgeRate: 16000)
        pair.configure {
            $0.sendEventPayloadType = nil
            $0.receiveEventPayloadTypes = []
        }
        pair.left.engine.handle(.sendDigits(.stream, "0123456789*#ABCD", milliseconds: 80, inBand: true), now: .zero)
        pair.run(milliseconds: 4000)
        #expect(pair.right.digits == "0123456789*#ABCD")
        #expect(pair.left.rtp.allSatisfy { $0.header.payloadType == 0 })
    }

    @Test func speechIsNoKey() {
        for seed in UInt64(1)...3 {
            let pair = Pair(bridgeRate: 8000)
            pair.configure { $0.receiveEventPayloadTypes = [] }
            pair.left.play(Signals.voice(rate: 8000, seconds: 20, seed: seed), rate: 8000)
            pair.run(milliseconds: 20000)
            #expect(pair.right.digits.isEmpty)
        }
    }

    @Test func unknownCharactersAndTooManyDigitsAreCounted() {
        let party = Party("192.0.2.1:4000", bridgeRate: 8000)
        party.engine.handle(.sendDigits(.stream, "1x", milliseconds: 100, inBand: false), now: .zero)
        party.engine.handle(.sendDigits(.stream, String(repeating: "1", count: 300), milliseconds: 100, inBand: false), now: .zero)
        #expect(party.engine.counters[.digitUnknown] == 1 && party.engine.counters[.limitDigits] == 1)
    }
}
