// SPDX-License-Identifier: Apache-2.0

import Essentials
import Media
import Testing

@Suite struct RecordingTests {
    /// A call's port that hears a player, and says another one's samples.
    static func call(_ engine: MediaEngine) -> (said: PortID, call: PortID) {
        let (said, call) = (BridgeTests.port(1), BridgeTests.port(2))
        engine.openPlayer(said, samples: [Int16](repeating: 300, count: 800), rate: 8000, loops: true)
        engine.openPlayer(call, samples: [Int16](repeating: 50, count: 800), rate: 8000, loops: true)
        for port in [said, call] { engine.handle(.startPlayer(port), now: .zero) }
        engine.handle(.connect(from: said, to: call), now: .zero)
        return (said, call)
    }

    @Test func bothSidesAreRecordedAChannelEach() {
        for right in [9, 1_000_000] {
            let engine = BridgeTests.engine()
            let (_, call) = Self.call(engine)
            let (left, right) = (BridgeTests.port(10), BridgeTests.port(right))
            let sink = Collector()
            engine.handle(.openSplitRecorder(left, right: right, path: ""), now: .zero)
            engine.openRecorder(left, sink: sink)
            engine.handle(.tap(left, of: call), now: .zero)
            engine.handle(.connect(from: call, to: right), now: .zero)
            BridgeTests.run(engine, 5)
            #expect(sink.samples == (0..<800).map { $0 % 2 == 0 ? 300 : 50 })
            // With one side closed the other goes on beside silence.
            engine.handle(.closePort(right), now: .zero)
            BridgeTests.run(engine, 2, from: 5)
            engine.handle(.closePort(left), now: .zero)
            #expect(sink.samples.suffix(320) == (0..<320).map { $0 % 2 == 0 ? 300 : 0 }[...])
            #expect(sink.isClosed && sink.samples.count == 1120)
        }
    }

    @Test func aTapHearsWhatAPortHearsAndNothingOnceThatIsClosed() {
        let engine = BridgeTests.engine()
        let (said, call) = Self.call(engine)
        let recorder = BridgeTests.port(10)
        let sink = Collector()
        engine.openRecorder(recorder, sink: sink)
        engine.handle(.tap(recorder, of: call), now: .zero)
        engine.handle(.connect(from: call, to: recorder), now: .zero)
        BridgeTests.run(engine, 1)
        #expect(sink.samples == [Int16](repeating: 350, count: 80))
        // It follows what is joined and parted.
        engine.handle(.disconnect(from: said, to: call), now: .zero)
        BridgeTests.run(engine, 1, from: 1)
        #expect(sink.samples.suffix(80) == [Int16](repeating: 50, count: 80)[...])
        engine.handle(.connect(from: said, to: call), now: .zero)
        engine.handle(.closePort(call), now: .zero)
        BridgeTests.run(engine, 1, from: 2)
        #expect(sink.samples.suffix(80).allSatisfy { $0 == 0 })
    }

    @Test func aMutedCallIsSilentForATap() {
        let engine = BridgeTests.engine()
        let (tone, stream, recorder) = (BridgeTests.port(1), BridgeTests.port(2), BridgeTests.port(3))
        let sink = Collector()
        engine.handle(.openTone(tone, Tone(frequency: 440)), now: .zero)
        engine.handle(
            .openStream(stream, StreamIdentity(ssrc: 1, firstSequenceNumber: 0, firstTimestamp: 0, cname: "x")), now: .zero)
        engine.openRecorder(recorder, sink: sink)
        engine.handle(.connect(from: tone, to: stream), now: .zero)
        engine.handle(.tap(recorder, of: stream), now: .zero)
        var configuration = StreamConfiguration(remote: SocketAddress("192.0.2.1:4000"), remoteRTCP: nil, codec: .pcmu, receivable: [.pcmu])
        for (muted, tick) in [(false, 0), (true, 10), (false, 20)] {
            configuration.isMuted = muted
            engine.handle(.configureStream(stream, configuration), now: .zero)
            BridgeTests.run(engine, 10, from: tick)
            #expect((Signals.power(sink.samples.suffix(800)) > 1000) == !muted)
        }
    }

    @Test func volumeIsForWhatIsHeardAndLevelsAreTold() throws {
        let engine = BridgeTests.engine()
        let (said, call) = Self.call(engine)
        let recorder = BridgeTests.port(10)
        let sink = Collector()
        engine.openRecorder(recorder, sink: sink)
        engine.handle(.connect(from: said, to: recorder), now: .zero)
        engine.handle(.connect(from: call, to: recorder), now: .zero)
        engine.handle(.setVolume(recorder, decibels: 6.0206), now: .zero)
        engine.handle(.reportLevels(recorder, every: .milliseconds(100)), now: .zero)
        engine.handle(.reportLevels(said, every: .milliseconds(100)), now: .zero)
        BridgeTests.run(engine, 11)
        #expect(sink.samples.last == 700)
        var levels: [PortID: AudioLevels] = [:]
        while let event = engine.nextEvent() { if case .levels(let port, let told) = event { levels[port] = told } }
        let heard = try #require(levels[recorder])
        #expect(abs(heard.heardPeak - Mathematics.decibels(amplitude: 350.0 / 32768)) < 0.01 && heard.givenPeak == AudioLevels.silence)
        #expect(abs(heard.heardLevel - heard.heardPeak) < 0.01)
        let given = try #require(levels[said])
        #expect(abs(given.givenLevel - Mathematics.decibels(amplitude: 300.0 / 32768)) < 0.01 && given.heardLevel == AudioLevels.silence)
        engine.handle(.setVolume(recorder, decibels: -.infinity), now: .zero)
        engine.handle(.reportLevels(recorder, every: .zero), now: .zero)
        engine.handle(.reportLevels(said, every: .zero), now: .zero)
        BridgeTests.run(engine, 20, from: 11)
        #expect(sink.samples.last == 0 && engine.nextEvent() == nil)
    }

    @Test func aStereoFileSaysSo() throws {
        let header = WAVEncoder(rate: 16_000, channels: 2).header(sampleCount: 4)
        #expect(header[22] == 2 && header[32] == 4)
        let audio = try WAVAudio(parsing: header + [10, 0, 20, 0, 30, 0, 50, 0])
        #expect(audio.samples == [15, 40])
    }

    @Test(arguments: [8000, 12_000, 16_000, 24_000, 32_000, 44_100, 48_000])
    func aBridgeOfAnyRatePlaysAndRecords(rate: Int) {
        let engine = BridgeTests.engine(rate: rate)
        #expect(engine.frameSize == rate / 100)
        let sink = Collector()
        engine.openPlayer(BridgeTests.port(1), samples: Signals.sine(1000, rate: 8000, count: 8000), rate: 8000, loops: false)
        engine.handle(.startPlayer(BridgeTests.port(1)), now: .zero)
        engine.openRecorder(BridgeTests.port(2), sink: sink)
        engine.handle(.connect(from: BridgeTests.port(1), to: BridgeTests.port(2)), now: .zero)
        BridgeTests.run(engine, 100)
        #expect(sink.rate == rate && Signals.share(1000, sink.samples[(rate / 20)..<(rate * 9 / 10)], rate: rate) > 0.99)
    }
}

/// A processor that takes away what was given to the loudspeaker in the tick before.
private final class Subtractor: VoiceProcessor, @unchecked Sendable {
    let name = "test"
    var frames: [[Int16]] = []
    var delays: [Int] = []
    func far(_ frame: Span<Int16>) { frames.append(frame.indices.map { frame[$0] }) }
    func near(_ frame: inout [Int16], delay: Int) {
        delays.append(delay)
        guard let last = frames.last else { return }
        for index in frame.indices { frame[index] -= last[index] }
    }
}

/// A loudspeaker that its own microphone hears in the next tick, at any rate.
private final class Room: SoundDevice, @unchecked Sendable {
    var queue: [Int16]
    let delayMilliseconds = 20
    var played = 0
    var isEchoing = true
    init(frame: Int) { queue = [Int16](repeating: 0, count: frame) }
    func play(_ frame: Span<Int16>) {
        played += frame.count
        for index in frame.indices { queue.append(frame[index]) }
    }
    func capture(_ frame: inout [Int16]) -> Bool {
        for index in frame.indices { frame[index] = index < queue.count ? queue[index] : 0 }
        queue.removeFirst(min(frame.count, queue.count))
        return true
    }
    var state: SoundDeviceState { .ready }
    var figures: SoundDeviceFigures { SoundDeviceFigures() }
    func close() {}
}

@Suite struct DeviceProcessingTests {
    @Test func whatWorksOnVoicesSeesBothSidesInOrder() {
        let engine = BridgeTests.engine()
        let (device, tone, recorder) = (BridgeTests.port(1), BridgeTests.port(2), BridgeTests.port(3))
        let sink = Collector()
        engine.handle(.openDevice(device, name: "x"), now: .zero)
        engine.openDevice(device, device: Room(frame: 80))
        engine.handle(.openTone(tone, Tone(frequency: 440)), now: .zero)
        engine.openRecorder(recorder, sink: sink)
        engine.handle(.connect(from: tone, to: device), now: .zero)
        engine.handle(.connect(from: device, to: recorder), now: .zero)
        BridgeTests.run(engine, 20)
        #expect(Signals.power(sink.samples.suffix(800)) > 1000)
        let processor = Subtractor()
        engine.setProcessor(device, processor)
        BridgeTests.run(engine, 20, from: 20)
        #expect(sink.samples.suffix(800).allSatisfy { $0 == 0 })
        #expect(processor.delays.allSatisfy { $0 == 20 } && processor.frames.count == 20)
        engine.setProcessor(device, nil)
        BridgeTests.run(engine, 20, from: 40)
        #expect(Signals.power(sink.samples.suffix(800)) > 1000)
    }

    @Test(arguments: [8000, 16_000, 32_000, 44_100, 48_000])
    func aDeviceOfAnotherRateIsResampled(rate: Int) {
        let engine = BridgeTests.engine(rate: 16_000)
        let (device, tone, recorder) = (BridgeTests.port(1), BridgeTests.port(2), BridgeTests.port(3))
        let sink = Collector()
        let room = Room(frame: rate / 100)
        engine.openDevice(device, device: room, rate: rate)
        engine.handle(.openTone(tone, Tone(frequency: 440)), now: .zero)
        engine.openRecorder(recorder, sink: sink)
        engine.handle(.connect(from: tone, to: device), now: .zero)
        engine.handle(.connect(from: device, to: recorder), now: .zero)
        BridgeTests.run(engine, 200)
        #expect(abs(room.played - 2 * rate) <= rate / 100)
        // The microphone is asked for as much as the loudspeaker is given.
        #expect(room.queue.count <= 2 * rate / 100)
        #expect(Signals.share(440, sink.samples[3200...], rate: 16_000) > 0.99)
    }
}
