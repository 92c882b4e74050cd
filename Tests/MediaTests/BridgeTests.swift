// SPDX-License-Identifier: Apache-2.0

import Essentials
import Media
import RTP
import Testing

@Suite struct BridgeTests {
    static func engine(rate: Int = 8000) -> MediaEngine {
        MediaEngine(configuration: MediaConfiguration(bridgeRate: rate), random: RandomSource(SplitMix64(seed: 1)))
    }

    static func port(_ number: Int) -> PortID { PortID(rawValue: UInt32(number)) }

    static func run(_ engine: MediaEngine, _ ticks: Int, from: Int = 0) {
        for tick in from..<from + ticks { engine.tick(now: MonotonicTime(nanoseconds: Int64(tick) * 10_000_000)) }
    }

    @Test func eachHearsTheSumOfThoseJoinedToItAndSaturates() {
        let engine = Self.engine()
        let sinks = (0..<3).map { _ in Collector() }
        for index in 0..<3 {
            engine.openPlayer(
                Self.port(index), samples: [Int16](repeating: Int16([1000, 200, 32767][index]), count: 8000), rate: 8000, loops: true)
            engine.handle(.startPlayer(Self.port(index)), now: .zero)
            engine.openRecorder(Self.port(10 + index), sink: sinks[index])
        }
        // Recorder n stands for the ear of player n: it hears all but n.
        for from in 0..<3 {
            for to in 0..<3 where from != to { engine.handle(.connect(from: Self.port(from), to: Self.port(10 + to)), now: .zero) }
        }
        Self.run(engine, 5)
        #expect(sinks.map { $0.samples.last } == [32767, 32767, 1200])
        #expect(sinks.allSatisfy { $0.samples.count == 400 })
        engine.handle(.disconnect(from: Self.port(2), to: Self.port(10)), now: .zero)
        engine.handle(.setGain(Self.port(1), decibels: -.infinity), now: .zero)
        Self.run(engine, 1)
        #expect(sinks[0].samples.last == 0 && sinks[2].samples.last == 1000)
        engine.handle(.setGain(Self.port(1), decibels: 6.0206), now: .zero)
        engine.handle(.setGain(Self.port(0), decibels: .nan), now: .zero)
        Self.run(engine, 1)
        #expect(sinks[0].samples.last == 400 && sinks[2].samples.last == 1400)
    }

    @Test func aPlayerPlaysAllFromTheFirstSampleAndTellsItsEnds() {
        for (rate, bridgeRate) in [(8000, 8000), (44100, 16000), (16000, 48000), (8000, 16000)] {
            let engine = Self.engine(rate: bridgeRate)
            let sink = Collector()
            let player = Self.port(1)
            engine.handle(.openPlayer(player, path: "", loops: false), now: .zero)
            engine.handle(.connect(from: player, to: Self.port(2)), now: .zero)
            engine.handle(.startPlayer(player), now: .zero)
            engine.openRecorder(Self.port(2), sink: sink)
            Self.run(engine, 10)
            #expect(sink.samples.allSatisfy { $0 == 0 })
            engine.openPlayer(player, samples: Signals.sine(400, rate: rate, count: rate), rate: rate, loops: false)
            Self.run(engine, 130)
            var told: [String] = []
            while let event = engine.nextEvent() { told.append("\(event)".prefix { $0 != "(" }.description) }
            #expect(told == ["playbackStarted", "playbackFinished"])
            let start = bridgeRate / 10
            let sound = sink.samples[start..<start + bridgeRate]
            #expect(abs(Signals.power(sound) / 5e7 - 1) < 0.02)
            #expect(Signals.power(sink.samples[(start + bridgeRate + bridgeRate / 50)...]) < 1)
        }
    }

    @Test func aLoopHasNoSeam() {
        let engine = Self.engine()
        let sink = Collector()
        engine.openPlayer(Self.port(1), samples: [1, 2, 3], rate: 8000, loops: true)
        engine.openRecorder(Self.port(2), sink: sink)
        engine.handle(.connect(from: Self.port(1), to: Self.port(2)), now: .zero)
        engine.handle(.startPlayer(Self.port(1)), now: .zero)
        Self.run(engine, 3)
        #expect(sink.samples == (0..<240).map { Int16($0 % 3 + 1) })
        engine.handle(.closePort(Self.port(2)), now: .zero)
        #expect(sink.isClosed)
    }

    @Test func aRecorderThatGetsItsSinkLateLosesNothing() {
        let engine = Self.engine()
        let sink = Collector()
        engine.handle(.openRecorder(Self.port(2), path: ""), now: .zero)
        engine.handle(.openTone(Self.port(1), Tone(frequency: 440)), now: .zero)
        engine.handle(.connect(from: Self.port(1), to: Self.port(2)), now: .zero)
        Self.run(engine, 20)
        engine.openRecorder(Self.port(2), sink: sink)
        Self.run(engine, 20)
        #expect(sink.samples.count == 3200)
        #expect(Signals.share(440, sink.samples[...], rate: 8000) > 0.999)
        let level = Mathematics.decibels(amplitude: Signals.power(sink.samples).squareRoot() / 32767 * 2.0.squareRoot())
        #expect(abs(level + 13 + 3.14) < 0.1)
    }

    @Test func aToneHasItsCadence() {
        let engine = Self.engine()
        let sink = Collector()
        engine.openRecorder(Self.port(2), sink: sink)
        engine.handle(.openTone(Self.port(1), Tone(frequency: 425, onMilliseconds: 100, offMilliseconds: 200)), now: .zero)
        engine.handle(.connect(from: Self.port(1), to: Self.port(2)), now: .zero)
        Self.run(engine, 60)
        let powers = (0..<6).map { Signals.power(sink.samples[$0 * 800..<($0 + 1) * 800]) > 1e5 }
        #expect(powers == [true, false, false, true, false, false])
    }

    @Test func anEchoComesBackOneFrameLater() {
        let engine = Self.engine()
        let sink = Collector()
        engine.openRecorder(Self.port(2), sink: sink)
        engine.openPlayer(Self.port(1), samples: [Int16](repeating: 7, count: 80), rate: 8000, loops: false)
        engine.handle(.openEcho(Self.port(3)), now: .zero)
        engine.handle(.connect(from: Self.port(1), to: Self.port(3)), now: .zero)
        engine.handle(.connect(from: Self.port(3), to: Self.port(2)), now: .zero)
        engine.handle(.startPlayer(Self.port(1)), now: .zero)
        Self.run(engine, 3)
        #expect(sink.samples == [Int16](repeating: 0, count: 80) + [Int16](repeating: 7, count: 80) + [Int16](repeating: 0, count: 80))
    }

    @Test func limitsAndUnknownPortsAreCounted() {
        var configuration = MediaConfiguration(bridgeRate: 12345)
        #expect(configuration.bridgeRate == 16000)
        configuration.maximumPorts = 2
        configuration.maximumConnections = 1
        let engine = MediaEngine(configuration: configuration, random: RandomSource(SplitMix64(seed: 1)))
        for index in 0..<3 { engine.handle(.openEcho(Self.port(index)), now: .zero) }
        engine.handle(.openEcho(Self.port(0)), now: .zero)
        engine.handle(.connect(from: Self.port(0), to: Self.port(1)), now: .zero)
        engine.handle(.connect(from: Self.port(1), to: Self.port(0)), now: .zero)
        engine.handle(.closePort(Self.port(9)), now: .zero)
        engine.handle(.sendDigits(Self.port(0), "1", milliseconds: 1, inBand: false), now: .zero)
        engine.receive([1], on: Self.port(0), kind: .rtp, from: SocketAddress("192.0.2.1:1")!, at: .zero)
        #expect(engine.counters[.limitPorts] == 1 && engine.counters[.limitConnections] == 1)
        #expect(engine.counters[.commandForUnknownPort] == 3 && engine.counters[.packetForUnknownPort] == 1)
    }

    @Test func theSameSeedGivesTheSameBytes() {
        func trace() -> [[UInt8]] {
            let pair = Pair(seed: 4, link: Link(seed: 4, loss: 0.1, delay: 10, jitter: 40))
            pair.left.play(Signals.voice(rate: 8000, seconds: 3), rate: 8000)
            pair.configure()
            pair.run(milliseconds: 5000)
            return (pair.left.sent + pair.right.sent).map(\.packet.bytes)
        }
        #expect(trace() == trace())
    }
}
