// SPDX-License-Identifier: Apache-2.0

import Essentials
import Media
import RTP
import Testing

@Suite struct RedundancyTests {
    static func pair(_ packets: Int?, loss: Double = 0, codec: NegotiatedCodec = .pcmu, delay: Int = 20) -> Pair {
        let pair = Pair(bridgeRate: codec.name == "G722" ? 16_000 : 8000, link: Link(seed: 4, loss: loss, delay: delay))
        pair.configure {
            $0.codec = codec
            $0.receivable = [.pcmu, .pcma, .g722]
            $0.redundancy = StreamRedundancy(payloadType: 121, packets: packets)
            $0.receiveRedundancyPayloadTypes = [121]
        }
        return pair
    }

    static func blocks(_ packet: (time: MonotonicTime, header: RTPPacket, payload: [UInt8])) throws -> [RedundantBlock] {
        let payload = try RedundantPayload(parsing: packet.payload.span, at: 0..<packet.payload.count)
        return (0..<payload.count).compactMap { payload.block($0, in: packet.payload.span) }
    }

    @Test("each packet carries the audio of the packets before it, octet for octet", arguments: [NegotiatedCodec.pcmu, .pcma, .g722])
    func copiesAreTheOriginals(codec: NegotiatedCodec) throws {
        let pair = Self.pair(2, codec: codec)
        pair.left.play(Signals.voice(rate: 16_000, seconds: 2), rate: 16_000)
        pair.run(milliseconds: 1000)
        let sent = pair.left.rtp
        #expect(sent.count == 50 && sent[0].header.payloadType == codec.payloadType)
        #expect(sent[1...].allSatisfy { $0.header.payloadType == 121 })
        for index in 3..<sent.count {
            let here = try Self.blocks(sent[index])
            #expect(here.map(\.payloadType) == [codec.payloadType, codec.payloadType, codec.payloadType])
            #expect(here.map(\.timestampOffset) == [320, 160, 0])
            for age in 1...2 {
                let own = try #require(try Self.blocks(sent[index - age]).last)
                #expect(Array(sent[index].payload[here[2 - age].range]) == Array(sent[index - age].payload[own.range]))
            }
        }
        let statistics = pair.left.statistics
        #expect(statistics.redundancy == 2)
        // 48 packets with two copies and one with one: 160 octets and 4 of header a copy, 1 a packet.
        #expect(statistics.redundancyOctetsSent == 97 * 164 + 49)
        #expect(statistics.octetsSent == 50 * 160 + statistics.redundancyOctetsSent)
    }

    @Test func whatIsLostIsRestoredAndHeardAsItWas() throws {
        let voice = Signals.voice(rate: 8000, seconds: 10)
        func call(_ loss: Double, _ packets: Int?) -> (heard: [Int16], statistics: StreamStatistics) {
            let pair = Self.pair(packets, loss: loss)
            if packets == nil { pair.configure { $0.redundancy = nil } }
            pair.left.play(voice, rate: 8000)
            pair.right.record()
            pair.run(milliseconds: 9000)
            return (pair.right.recording.samples, pair.right.statistics)
        }
        let whole = call(0, 2)
        let lossy = call(0.1, 2)
        #expect(whole.statistics.packetsRestored == 0)
        #expect(lossy.statistics.packetsLost > 25)
        // Of 10 % a packet in a thousand is lost with both of its copies; until the delay has grown some come too late.
        #expect(lossy.statistics.packetsRestored + 6 >= lossy.statistics.packetsLost)
        #expect(lossy.statistics.framesConcealed < 30, "\(lossy.statistics.framesConcealed)")
        let without = call(0.1, nil)
        #expect(without.statistics.packetsRestored == 0 && without.statistics.framesConcealed > 60)
        #expect(lossy.statistics.score ?? 0 > (without.statistics.score ?? 5) + 0.3)
    }

    @Test func byItselfItComesWithLossAndGoesWhenThatIsOver() {
        let pair = Self.pair(nil)
        pair.left.play(Signals.voice(rate: 8000, seconds: 20), rate: 8000, loops: true)
        pair.run(milliseconds: 15_000)
        #expect(pair.left.statistics.redundancy == 0 && pair.left.statistics.redundancyOctetsSent == 0)
        #expect(pair.left.rtp.allSatisfy { $0.header.payloadType == 0 })
        pair.there.loss = 0.08
        pair.run(milliseconds: 16_000)
        #expect(pair.left.statistics.redundancy == 2)
        #expect(pair.right.statistics.packetsRestored > 10)
        let cost = pair.left.statistics.redundancyOctetsSent
        #expect(cost > 0)
        pair.there.loss = 0
        pair.run(milliseconds: 60_000)
        #expect(pair.left.statistics.redundancy == 0)
        let after = pair.left.statistics.redundancyOctetsSent
        pair.run(milliseconds: 5000)
        #expect(pair.left.statistics.redundancyOctetsSent == after)
    }

    @Test func digitsAreSentByThemselvesAndOnce() {
        let pair = Self.pair(2)
        pair.left.play(Signals.voice(rate: 8000, seconds: 3), rate: 8000)
        pair.run(milliseconds: 400)
        pair.left.engine.handle(.sendDigits(.stream, "42", milliseconds: 100, inBand: false), now: pair.now)
        pair.run(milliseconds: 1500)
        #expect(pair.right.digits == "42")
        #expect(pair.right.statistics.packetsRestored == 0 && pair.right.statistics.packetsDuplicated == 0)
    }

    @Test("a copy of a payload type that is none, or that is cut off, does no harm", arguments: [0, 1, 2, 3])
    func strangeBlocks(which: Int) throws {
        let party = Party("192.0.2.1:4000", bridgeRate: 8000)
        party.configure(remote: "192.0.2.2:5000") { $0.receiveRedundancyPayloadTypes = [121] }
        let audio = [UInt8](repeating: 0xd5, count: 160)
        let payloads: [[UInt8]] = [
            try #require(RedundantPayload.serialized([(77, 160, audio), (0, 0, audio)])),
            try #require(RedundantPayload.serialized([(121, 160, audio), (121, 0, audio)])),
            [0x80, 0x02],
            try #require(RedundantPayload.serialized([(0, 0, audio), (0, 16_383, audio), (0, 0, audio)])),
        ]
        var packets: [(milliseconds: Double, bytes: [UInt8])] = []
        for index in 0..<50 {
            let header = RTPPacket(payloadType: 121, sequenceNumber: UInt16(index * 2), timestamp: UInt32(index * 320), ssrc: 5)
            packets.append((Double(index * 20), header.serialized(payload: payloads[which])))
        }
        party.feed(packets, from: "192.0.2.2:5000", for: 1200)
        let statistics = party.statistics
        switch which {
        case 0: #expect(statistics.packetsRestored == 0 && statistics.packetsDropped == 0)
        case 1: #expect(party.engine.counters[.packetOfUnknownPayloadType] == 50)
        case 2: #expect(party.engine.counters[.redundancyMalformed] == 50)
        default: #expect(statistics.score ?? 0 > 0)
        }
        #expect(statistics.packetsReceived == 50)
    }

    @Test func aPacketThatWouldBeTooLargeCarriesFewerCopies() {
        let pair = Self.pair(4)
        pair.configure { $0.packetTime = 60 }
        pair.left.play(Signals.voice(rate: 8000, seconds: 2), rate: 8000)
        pair.run(milliseconds: 1000)
        // 480 octets each: one copy fits into 1,200, two do not.
        #expect(pair.left.rtp.dropFirst(4).allSatisfy { $0.payload.count == 480 * 2 + 5 })
    }

    // MARK: Silence

    @Test func silenceIsSentAsComfortNoiseWhereItIsAgreed() {
        let pair = Pair(bridgeRate: 8000, link: Link(seed: 4, delay: 20))
        pair.configure { $0.sendComfortNoisePayloadType = 13 }
        var random = SplitMix64(seed: 8)
        let room = (0..<8000 * 4).map { _ in Int16.random(in: -60...60, using: &random) }
        pair.left.play(Signals.voice(rate: 8000, seconds: 4) + room, rate: 8000)
        pair.right.record()
        pair.run(milliseconds: 4000)
        let spoken = pair.left.rtp
        #expect(spoken.filter { $0.header.payloadType == 0 }.count > 170)
        pair.run(milliseconds: 4000)
        let rest = pair.left.rtp.filter { $0.time > MonotonicTime(nanoseconds: 4_600_000_000) }
        #expect(rest.allSatisfy { $0.header.payloadType == 13 && $0.payload.count == 1 })
        #expect((3...10).contains(rest.count), "\(rest.count)")
        // ±60 evenly distributed is −59.5 dBov.
        #expect(rest.allSatisfy { (57...62).contains($0.payload[0]) })
        let heard = pair.right.recording.samples.suffix(8000)
        #expect((300.0...5000).contains(Signals.power(heard)), "\(Signals.power(heard))")
        #expect(pair.right.statistics.packetsLost == 0)
        #expect(!pair.right.events.contains { if case .streamSilent = $0 { true } else { false } })
    }

    @Test func speechAfterSilenceIsNotCut() {
        let pair = Pair(bridgeRate: 8000, link: Link(seed: 4, delay: 20))
        pair.configure { $0.sendComfortNoisePayloadType = 13 }
        let voice = Signals.voice(rate: 8000, seconds: 2)
        pair.left.play([Int16](repeating: 0, count: 8000 * 2) + voice, rate: 8000)
        pair.run(milliseconds: 4500)
        let audio = pair.left.rtp.filter { $0.header.payloadType == 0 }
        #expect(audio.first?.header.marker == true)
        // All but the faint first and last packets of the two seconds.
        #expect(audio.count >= 90, "\(audio.count)")
    }

    @Test func withoutAnAgreementSilenceIsAudio() {
        let pair = Pair(bridgeRate: 8000)
        pair.configure()
        pair.run(milliseconds: 1000)
        #expect(pair.left.rtp.count == 50 && pair.left.rtp.allSatisfy { $0.header.payloadType == 0 })
    }
}
