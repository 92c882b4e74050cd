// SPDX-License-Identifier: Apache-2.0

import Essentials
import Media
import RTP
import Testing

@Suite struct VoiceLinkTests {
    @Test("what Handset adds from microphone to loudspeaker is at most 31 ms on a clean link, whatever the phase of both clocks")
    func ownDelay() {
        var worst = 0.0
        for phase in 0..<20 {
            let speech = Signals.voice(rate: 8000, seconds: 4, seed: UInt64(phase + 1))
            let left = Party("192.0.2.1:4000", bridgeRate: 8000)
            let right = Party("192.0.2.2:5000", bridgeRate: 8000, seed: 9)
            left.configure(remote: "192.0.2.2:5000")
            right.configure(remote: "192.0.2.1:4000")
            left.play(speech, rate: 8000)
            right.record()
            let offset = Int64(phase) * 500_000
            for tick in 1...420 {
                let now = MonotonicTime(nanoseconds: Int64(tick) * 10_000_000)
                let sent = left.sent.count
                left.tick(now)
                for item in left.sent[sent...] where item.packet.kind == .rtp {
                    right.engine.receive(item.packet.bytes, on: .stream, kind: .rtp, from: left.address, at: now)
                }
                right.tick(MonotonicTime(nanoseconds: now.nanoseconds + offset))
            }
            // Both recordings begin with tick 1. A sample is spoken during the 10 ms before its tick, and heard during those after.
            let lag = Signals.lag(speech, right.recording.samples, rate: 8000, limit: 800)
            let delay = Double(lag) / 8 + 10 + Double(offset) / 1e6
            worst = max(worst, delay)
            #expect(delay >= 20 && delay <= 31, "phase \(Double(phase) / 2) ms: \(delay) ms")
            #expect(right.statistics.framesConcealed == 0)
        }
        #expect(worst > 20)
    }

    @Test("ten seconds after the last stall of 250 ms the delay is small again, and it grew to hold the stalls")
    func stallsPass() {
        let pair = Pair(bridgeRate: 8000)
        pair.left.play(Signals.voice(rate: 8000, seconds: 60), rate: 8000)
        pair.right.record()
        pair.configure()
        for _ in 0..<5 {
            pair.run(milliseconds: 3000)
            pair.there.delay = 250
            pair.run(milliseconds: 20)
            pair.there.delay = 0
        }
        pair.run(milliseconds: 500)
        let rough = pair.right.statistics.bufferMilliseconds
        pair.run(milliseconds: 9500)
        let calm = pair.right.statistics.bufferMilliseconds
        #expect(calm <= 50, "\(calm) ms after \(rough)")
    }

    @Test(
        "a gap of one packet in a voice is bridged from both sides: what is played there is like what was lost",
        arguments: ["PCMU", "G722"])
    func bridging(codec: String) {
        let rate = codec == "G722" ? 16_000 : 8000
        let negotiated = codec == "G722" ? NegotiatedCodec.g722 : .pcmu
        // A vowel with a gliding pitch.
        var phase = 0.0
        let voice = (0..<rate * 4).map { index -> Int16 in
            phase += (120 + 20 * Double(index) / Double(rate)) / Double(rate)
            let value = (1...8).reduce(0.0) { $0 + Mathematics.sine(2 * .pi * phase * Double($1)) / Double($1) }
            return Int16(value * 5000)
        }
        func play(losing: Bool) -> [Int16] {
            let sender = Party("192.0.2.1:4000", bridgeRate: rate)
            sender.configure(remote: "192.0.2.2:5000") {
                $0.codec = negotiated; $0.receivable = [negotiated]
            }
            sender.play(voice, rate: rate)
            for tick in 1...400 { sender.tick(MonotonicTime(nanoseconds: Int64(tick) * 10_000_000)) }
            let receiver = Party("192.0.2.2:5000", bridgeRate: rate)
            receiver.record()
            receiver.configure(remote: "192.0.2.1:4000") {
                $0.codec = negotiated; $0.receivable = [negotiated]
            }
            let packets = sender.sent.filter { $0.packet.kind == .rtp }.enumerated().filter { !losing || $0.offset % 10 != 5 }
            receiver.feed(packets.map { ($0.element.time.milliseconds, $0.element.packet.bytes) }, from: "192.0.2.1:4000", for: 4000)
            return receiver.recording.samples
        }
        let (whole, lossy) = (play(losing: false), play(losing: true))
        let (from, length) = (rate * 2, rate)
        var best = -1.0
        for lag in 0...rate / 20 {
            best = max(best, Signals.correlation(whole[from..<from + length], lossy[from + lag..<from + lag + length]))
        }
        #expect(best > 0.93, "\(codec): \(best)")
    }
}

extension MonotonicTime {
    fileprivate var milliseconds: Double { Double(nanoseconds) / 1e6 }
}
