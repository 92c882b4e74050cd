// SPDX-License-Identifier: Apache-2.0

import Essentials
import Media
import RTP
import Testing

@Suite struct StreamTests {
    @Test("on a clean link each second of speech correlates 0.98 and nothing is missing between", arguments: [8000, 16000, 48000])
    func cleanSpeech(bridgeRate: Int) {
        let pair = Pair(bridgeRate: bridgeRate)
        let reference = Signals.voice(rate: 8000, seconds: 6)
        pair.left.play(reference, rate: 8000)
        pair.right.record()
        pair.configure()
        pair.run(milliseconds: 6500)
        // Compared at 8 kHz: the codec's rate.
        let recorded =
            bridgeRate == 8000
            ? pair.right.recording.samples
            : ResamplerTests.convert(pair.right.recording.samples, from: bridgeRate, to: 8000)
        let lag = Signals.lag(reference, recorded, rate: 8000, limit: 1200)
        for second in 0..<6 {
            let window = second * 8000..<second * 8000 + 8000
            guard window.upperBound + lag <= recorded.count else { Issue.record("recording too short"); return }
            let value = Signals.correlation(
                reference[window], recorded[window.lowerBound + lag..<window.upperBound + lag])
            #expect(value >= 0.98, "second \(second): \(value)")
        }
        let statistics = pair.right.statistics
        #expect(statistics.framesConcealed == 0 && statistics.packetsLost == 0 && statistics.packetsLate == 0)
        #expect(statistics.packetsDropped == 0 && statistics.score ?? 0 > 4.2)
        #expect(lag * 1000 / 8000 < 90, "delay \(lag / 8) ms")
        #expect(pair.right.recording.samples.count == 650 * bridgeRate / 100)
        #expect(pair.left.engine.counters.nonzero.isEmpty && pair.right.engine.counters.nonzero.isEmpty)
    }

    @Test("audio survives loss, jitter, reordering and duplication of any seed", arguments: 1...6)
    func badLinks(seed: UInt64) {
        let loss = Double(seed) * 0.03
        let link = Link(seed: seed, loss: loss, duplication: 0.05, delay: 30, jitter: Int(seed) * 15)
        let pair = Pair(bridgeRate: 8000, seed: seed, link: link)
        pair.left.play(Signals.sine(440, rate: 8000, count: 8000), rate: 8000, loops: true)
        pair.right.record()
        pair.configure()
        pair.run(milliseconds: 12000)
        let statistics = pair.right.statistics
        let share = Double(statistics.packetsLost) / Double(statistics.packetsLost + statistics.packetsReceived)
        #expect(abs(share - loss) < 0.05, "loss \(share)")
        #expect(statistics.packetsDuplicated > 0)
        // Late packets are few once the buffer knows the jitter.
        #expect(Double(statistics.packetsLate) < 0.06 * Double(statistics.packetsReceived))
        // Sound goes on: most of the second half is there.
        let recorded = pair.right.recording.samples
        #expect(recorded.count == 96000)
        #expect(Signals.power(recorded[48000...]) > 5e7 * (1 - loss) * 0.75)
        #expect(statistics.score ?? 5 < 4.4)
    }

    @Test func theBufferGrowsWithJitterAtOnceAndShrinksLater() {
        let pair = Pair(bridgeRate: 8000)
        pair.left.play(Signals.voice(rate: 8000, seconds: 40), rate: 8000)
        pair.right.record()
        pair.configure()
        pair.run(milliseconds: 3000)
        let calm = pair.right.statistics.bufferMilliseconds
        #expect(calm <= 60)
        pair.there.jitter = 120
        pair.run(milliseconds: 3000)
        let late = pair.right.statistics.packetsLate
        pair.run(milliseconds: 3000)
        let rough = pair.right.statistics
        #expect(rough.bufferMilliseconds > calm + 30)
        #expect(rough.packetsLate - late <= 12, "late after it has grown: \(rough.packetsLate - late)")
        pair.there.jitter = 0
        pair.run(milliseconds: 28000)
        #expect(pair.right.statistics.bufferMilliseconds < calm + 50, "\(pair.right.statistics.bufferMilliseconds)")
    }

    @Test func lossIsConcealedRatherThanMuted() {
        let pair = Pair(bridgeRate: 8000, link: Link(seed: 4, loss: 0.05))
        pair.left.play(Signals.sine(200, rate: 8000, count: 80000), rate: 8000)
        pair.right.record()
        pair.configure()
        pair.run(milliseconds: 6000)
        let recorded = pair.right.recording.samples
        let lag = 1200
        // A periodic tone goes on through a gap of one packet: 10 ms windows never fall far below its power.
        var weakest = Double.infinity
        for start in stride(from: lag, to: recorded.count - 80, by: 80) {
            weakest = min(weakest, Signals.power(recorded[start..<start + 80]))
        }
        #expect(weakest > 5e7 * 0.3, "\(weakest)")
        #expect(pair.right.statistics.framesConcealed > 10)
        #expect(Signals.share(200, recorded[lag...], rate: 8000) > 0.97)
    }

    @Test("B-064: packets of 30 ms leave every 30 ms with 240 octets", arguments: [10, 20, 30, 60, 200])
    func packetTimes(milliseconds: Int) {
        let party = Party("192.0.2.1:4000")
        party.configure(remote: "192.0.2.2:5000") { $0.packetTime = milliseconds }
        for tick in 1...120 { party.tick(MonotonicTime(nanoseconds: Int64(tick) * 10_000_000)) }
        let rtp = party.rtp
        #expect(rtp.count == 1200 / milliseconds)
        for (first, second) in zip(rtp, rtp.dropFirst()) {
            #expect((second.time - first.time).milliseconds == Double(milliseconds))
            #expect(second.header.timestamp &- first.header.timestamp == UInt32(milliseconds * 8))
            #expect(second.header.sequenceNumber == first.header.sequenceNumber &+ 1)
            #expect(!second.header.marker)
        }
        #expect(rtp.allSatisfy { $0.payload.count == milliseconds * 8 })
        #expect(rtp[0].header.marker && rtp[0].header.sequenceNumber == 65530 && rtp[0].header.timestamp == 0xffff_ff00)
    }

    @Test("B-065: packets of odd sizes are played whole", arguments: [80, 160, 240, 333, 1024, 1600])
    func oddSizes(octets: Int) {
        let party = Party("192.0.2.1:4000", bridgeRate: 8000)
        party.record()
        party.configure(remote: "192.0.2.2:5000")
        let tone = Signals.sine(500, rate: 8000, count: octets * 20)
        let coded = CodecTests.encode(.mu, tone)
        let packets = (0..<20).map { index in
            let header = RTPPacket(
                payloadType: 0, sequenceNumber: UInt16(index), timestamp: UInt32(index * octets), ssrc: 7)
            let bytes = header.serialized(payload: Array(coded[index * octets..<(index + 1) * octets]))
            return (milliseconds: Double(index * octets) / 8, bytes: bytes)
        }
        let total = octets * 20 / 8
        party.feed(packets, from: "192.0.2.2:5000", for: total + 200)
        #expect(party.statistics.framesConcealed <= 25)
        #expect(party.engine.counters.nonzero.isEmpty)
        let recorded = party.recording.samples
        let lag = Signals.lag(tone, recorded, rate: 8000, limit: 600)
        #expect(Signals.correlation(tone[...], recorded[lag...]) > 0.999)
    }

    @Test("V-018: absurd packet times and clock rates of a peer are brought into range", arguments: [Int.min, -1, 0, 5, 77, Int.max])
    func absurdNumbers(number: Int) {
        let party = Party("192.0.2.1:4000", bridgeRate: 8000)
        party.configure(remote: "192.0.2.2:5000") {
            $0.packetTime = number
            $0.sendEventClockRate = number
            $0.receiveEventPayloadTypes = [255, 0]
            $0.comfortNoisePayloadTypes = [255, 200]
        }
        party.engine.handle(.sendDigits(.stream, "1", milliseconds: number, inBand: false), now: .zero)
        for tick in 1...80 { party.tick(MonotonicTime(nanoseconds: Int64(tick) * 10_000_000)) }
        let sizes = Set(party.rtp.filter { $0.header.payloadType == 0 }.map(\.payload.count))
        #expect(sizes == [min(max(number, 10), 200) / 10 * 80])
    }

    @Test func onHoldNothingIsSentButReports() {
        let party = Party("192.0.2.1:4000")
        party.configure(remote: "192.0.2.2:5000")
        var tick = 0
        func run(_ count: Int) { for _ in 0..<count { tick += 1; party.tick(MonotonicTime(nanoseconds: Int64(tick) * 10_000_000)) } }
        run(100)
        let before = party.rtp
        party.configure(remote: "192.0.2.2:5000") { $0.sends = false }
        run(2000)
        #expect(party.rtp.count == before.count)
        #expect(party.sent.contains { $0.packet.kind == .rtcp })
        party.configure(remote: "192.0.2.2:5000") { $0.sends = true }
        run(100)
        let after = party.rtp[before.count]
        // The timestamps ran on, the sequence numbers did not.
        #expect(after.header.sequenceNumber == before.last!.header.sequenceNumber &+ 1)
        #expect(after.header.timestamp &- before.last!.header.timestamp == 160 + 2000 * 80)
        #expect(after.header.marker)
    }

    @Test func withoutARemoteNothingIsSentUntilASourceShows() {
        let party = Party("192.0.2.1:4000")
        party.configure(remote: "0.0.0.0:0")
        for tick in 1...50 { party.tick(MonotonicTime(nanoseconds: Int64(tick) * 10_000_000)) }
        #expect(party.sent.isEmpty)
        let packet = RTPPacket(payloadType: 0, sequenceNumber: 1, timestamp: 2, ssrc: 3).serialized(
            payload: [UInt8](repeating: 255, count: 160))
        party.feed([(600, packet)], from: "192.0.2.9:777", for: 200, start: 600)
        #expect(party.rtp.count >= 9)
        #expect(party.sent.allSatisfy { $0.packet.to == SocketAddress("192.0.2.9:777") })
    }

    @Test func silenceAndReturnAreToldOnce() {
        let pair = Pair(bridgeRate: 8000)
        pair.configure()
        pair.run(milliseconds: 1000)
        pair.there.loss = 1
        pair.run(milliseconds: 12000)
        pair.there.loss = 0
        pair.run(milliseconds: 1000)
        let told = pair.right.events.compactMap { event -> String? in
            switch event {
            case .streamSilent(.stream, let time): "silent \(Int(time.seconds))"
            case .streamResumed(.stream): "resumed"
            default: nil
            }
        }
        #expect(told == ["silent 5", "resumed"])
    }

    @Test func unsupportedCodecIsAnEventNotATrap() {
        let party = Party("192.0.2.1:4000")
        party.configure(remote: "192.0.2.2:5000") { $0.codec = NegotiatedCodec(name: "X", payloadType: 255, clockRate: 1) }
        party.drain(.zero)
        #expect(party.events.contains { if case .streamFailed = $0 { true } else { false } })
    }
}

@Suite struct ReportTests {
    @Test func roundTripAndLossComeFromReports() throws {
        let pair = Pair(bridgeRate: 8000, link: Link(seed: 3, loss: 0.1, delay: 70))
        pair.configure()
        pair.run(milliseconds: 30000)
        let roundTrip = try #require(pair.left.statistics.roundTripMilliseconds)
        #expect(abs(roundTrip - 140) < 12, "\(roundTrip)")
        let lost = try #require(pair.left.statistics.remoteFractionLost)
        #expect(lost > 0.02 && lost < 0.25)
        let reports = pair.left.sent.filter { $0.packet.kind == .rtcp }
        #expect((4...8).contains(reports.count))
        #expect(reports.allSatisfy { $0.packet.to == SocketAddress("192.0.2.2:5001") })
        let gaps = zip(reports, reports.dropFirst()).map { ($1.time - $0.time).seconds }
        #expect(gaps.allSatisfy { $0 > 2.4 && $0 < 7.6 } && Set(gaps).count > 1)
    }

    @Test func closingSendsByeAndTellsTheFigures() throws {
        let pair = Pair(bridgeRate: 8000)
        pair.configure()
        pair.run(milliseconds: 1000)
        pair.left.engine.handle(.closePort(.stream), now: pair.now)
        pair.left.drain(pair.now)
        guard case .statistics(.stream, let figures)? = pair.left.events.last else { Issue.record("no figures"); return }
        #expect(figures.packetsSent == 50 && figures.octetsSent == 8000)
        let last = try #require(pair.left.sent.last)
        #expect(last.packet.kind == .rtcp && Array(last.packet.bytes.suffix(8).prefix(2)) == [0x81, 203])
        pair.right.engine.receive(last.packet.bytes, on: .stream, kind: .rtcp, from: SocketAddress("192.0.2.1:4001")!, at: pair.now)
        pair.right.drain(pair.now)
        #expect(pair.right.events.contains { if case .remoteLeft = $0 { true } else { false } })
        // Nothing of the port is left.
        pair.left.engine.receive(last.packet.bytes, on: .stream, kind: .rtp, from: SocketAddress("192.0.2.1:4001")!, at: pair.now)
        #expect(pair.left.engine.counters[.packetForUnknownPort] == 1)
    }

    @Test func onASharedPortReportsAreToldApart() {
        let pair = Pair(bridgeRate: 8000)
        pair.configure { $0.multiplexesRTCP = true }
        pair.run(milliseconds: 20000)
        #expect(pair.left.sent.allSatisfy { $0.packet.kind == .rtp && $0.packet.to == SocketAddress("192.0.2.2:5000") })
        #expect(pair.left.statistics.roundTripMilliseconds != nil)
        #expect(pair.left.engine.counters.nonzero.isEmpty)
    }
}
