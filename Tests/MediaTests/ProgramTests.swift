// SPDX-License-Identifier: Apache-2.0

import Essentials
import Media
import Testing

/// A program without a process: what it says lies in memory, what it hears is kept.
final class MemoryProgram: ProgramLink {
    let rate: Int
    var speech: [Int16] = []
    var heard: [Int16] = []
    var isClosed = false

    init(rate: Int) { self.rate = rate }

    func hear(_ samples: Span<Int16>) { for index in samples.indices { heard.append(samples[index]) } }
    func speak(_ count: Int, into samples: inout [Int16]) -> Int {
        let there = min(count, speech.count)
        for index in 0..<there { samples[index] = speech[index] }
        speech.removeFirst(there)
        return there
    }
    func close() { isClosed = true }
}

@Suite struct ProgramPortTests {
    @Test(arguments: [8000, 11_025, 16_000, 22_050, 24_000, 44_100, 48_000], [8000, 16_000, 24_000, 44_100, 48_000])
    func aProgramOfAnyRateHearsAndSpeaksOnAnyBridge(rate: Int, bridgeRate: Int) {
        let engine = BridgeTests.engine(rate: bridgeRate)
        let (program, tone, recorder) = (BridgeTests.port(1), BridgeTests.port(2), BridgeTests.port(3))
        let link = MemoryProgram(rate: rate)
        link.speech = Signals.sine(700, rate: rate, count: rate / 2)
        let sink = Collector()
        engine.handle(.openProgram(program, ProgramSettings(.command("true"), rate: rate)), now: .zero)
        engine.openProgram(program, link: link)
        engine.handle(.openTone(tone, Tone(frequency: 500, level: -10)), now: .zero)
        engine.openRecorder(recorder, sink: sink)
        engine.handle(.connect(from: tone, to: program), now: .zero)
        engine.handle(.connect(from: program, to: recorder), now: .zero)
        BridgeTests.run(engine, 100)
        // A second was heard, to the sample of the filter's look-ahead, and it is the tone.
        #expect(abs(link.heard.count - rate) <= rate / 100, "\(link.heard.count) of \(rate)")
        #expect(Signals.share(500, link.heard[(rate / 10)...], rate: rate) > 0.99)
        // Half a second was said, then silence.
        let half = bridgeRate / 2
        #expect(Signals.share(700, sink.samples[(bridgeRate / 20)..<half - bridgeRate / 50], rate: bridgeRate) > 0.99)
        #expect(Signals.power(sink.samples[(half + bridgeRate / 20)...]) < 1)
        #expect(link.speech.isEmpty)
        engine.handle(.closePort(program), now: .zero)
        #expect(link.isClosed)
    }
}

@Suite struct ProgramSessionTests {
    static func octets(_ frames: ProgramFrame...) -> [UInt8] {
        var bytes: [UInt8] = []
        for frame in frames { frame.encode(into: &bytes) }
        return bytes
    }

    /// What the session has for the program.
    static func frames(_ session: inout ProgramSession) throws -> [ProgramFrame] {
        var reader = ProgramFrameReader()
        session.drain { octets in
            reader.append(octets)
            return octets.count
        }
        var frames: [ProgramFrame] = []
        while let frame = try reader.next() { frames.append(frame) }
        #expect(reader.waiting == 0)
        return frames
    }

    static func effects(_ session: inout ProgramSession) -> [ProgramSession.Effect] {
        var effects: [ProgramSession.Effect] = []
        while let effect = session.nextEffect() { effects.append(effect) }
        return effects
    }

    @Test func aFrameIsTheOctetsThatTheDocumentSays() throws {
        var bytes: [UInt8] = []
        ProgramFrame(.audio, [1, 2, 3, 4], queued: 0x0102_0304, timestamp: 0x0a0b_0c0d_0e0f_1011).encode(into: &bytes)
        #expect(bytes == [0x41, 0, 0, 4, 1, 2, 3, 4, 10, 11, 12, 13, 14, 15, 16, 17, 1, 2, 3, 4])
        // Octet by octet it is read as it was written.
        var reader = ProgramFrameReader()
        for (index, byte) in bytes.enumerated() {
            reader.append([byte])
            let frame = try reader.next()
            #expect((frame != nil) == (index == bytes.count - 1))
            if let frame { #expect(frame.samples == [0x0201, 0x0403] && frame.queued == 0x0102_0304) }
        }
    }

    @Test func whatIsNoFrameIsTold() {
        var session = ProgramSession(ProgramSettings(.command("x")))
        #expect(throws: ProgramFrameError(found: Array("hello".utf8))) { try session.receive(Array("hello".utf8)) }
    }

    @Test func marksAreToldWhenTheyAreReached() throws {
        var session = ProgramSession(ProgramSettings(.command("x"), rate: 8000))
        try session.receive(
            Self.octets(
                ProgramFrame(.mark, Array("now".utf8)), .audio([1, 2, 3]), ProgramFrame(.mark, Array("a".utf8)), .audio([4]),
                ProgramFrame(.mark, Array("b\"\u{1}".utf8))))
        // With nothing before it a mark is reached at once.
        #expect(Self.effects(&session) == [.marked("now"), .speak([1, 2, 3]), .speak([4])])
        session.heard([9, 9].span)
        session.advance(spoken: 2, flushed: 0)
        #expect(Self.effects(&session) == [])
        session.advance(spoken: 3, flushed: 0)
        #expect(Self.effects(&session) == [.marked("a")])
        session.heard([9, 9, 9].span)
        session.advance(spoken: 4, flushed: 0)
        #expect(Self.effects(&session) == [.marked("b\"\u{1}")] && session.isQuiet)
        let frames = try Self.frames(&session)
        #expect(frames.map(\.kind) == [.mark, .audio, .mark, .audio, .mark])
        #expect(frames.map(\.timestamp) == [0, 0, 2, 2, 5])
        #expect(frames.map(\.queued) == [0, 4, 1, 1, 0])
        #expect(session.figures.marks == 3 && session.figures.heard == 5)
    }

    @Test func aFlushGivesBackWhatWasNotPlayed() throws {
        var session = ProgramSession(ProgramSettings(.command("x"), rate: 8000))
        try session.receive(
            Self.octets(.audio([1, 2, 3]), ProgramFrame(.mark, Array("a".utf8)), .audio([4, 5]), ProgramFrame(.mark, Array("b\"".utf8))))
        _ = Self.effects(&session)
        session.advance(spoken: 2, flushed: 0)
        // The flush comes with more behind it.
        try session.receive(Self.octets(ProgramFrame(.flush), .audio([6]), ProgramFrame(.mark, Array("c".utf8))))
        #expect(Self.effects(&session) == [.flush, .speak([6])])
        // Until it was carried out one more sample was played: the mark there was reached.
        session.advance(spoken: 3, flushed: 2)
        #expect(Self.effects(&session) == [.marked("a")])
        session.advance(spoken: 4, flushed: 2)
        #expect(Self.effects(&session) == [.marked("c")])
        let frames = try Self.frames(&session)
        #expect(frames.map(\.kind) == [.mark, .flush, .mark])
        #expect(String(decoding: frames[1].payload, as: UTF8.self) == "{\"flushed\":2,\"marks\":[\"b\\\"\"]}")
        #expect(session.figures.flushed == 2 && session.figures.spoken == 4)
        // Nothing is queued: a flush is answered all the same.
        try session.receive(Self.octets(ProgramFrame(.flush)))
        session.advance(spoken: 4, flushed: 2)
        #expect(try Self.frames(&session).map(\.kind) == [.flush])
    }

    @Test func enoughSpeechIsBackPressureAndNothingIsLost() throws {
        var settings = ProgramSettings(.command("x"), rate: 8000)
        settings.speechLimit = .milliseconds(100)
        var session = ProgramSession(settings)
        try session.receive(Self.octets(.audio([Int16](repeating: 5, count: 799))))
        #expect(session.wantsInput)
        try session.receive(Self.octets(.audio([5])))
        #expect(!session.wantsInput && session.figures.timesFull == 1)
        session.advance(spoken: 80, flushed: 0)
        #expect(session.wantsInput && session.queued == 720)
    }

    @Test func aProgramThatDoesNotReadLosesSoundAndIsCutOffInTheEnd() throws {
        var settings = ProgramSettings(.command("x"), rate: 8000)
        settings.outputLimit = 1000
        var session = ProgramSession(settings)
        let frame = [Int16](repeating: 1, count: 80)
        for _ in 0..<20 { session.heard(frame.span) }
        #expect(session.figures.heard == 400 && session.figures.heardLost == 1200)
        session.lost(80)
        #expect(!session.isDeaf)
        let frames = try Self.frames(&session)
        #expect(frames.count == 5)
        session.heard(frame.span)
        // The times show what is missing.
        #expect(try Self.frames(&session).first?.timestamp == 1680)
        for _ in 0..<200 { session.tell("{\"event\":\"dtmf\"}") }
        #expect(session.isDeaf)
    }

    @Test func marksAreBounded() throws {
        var settings = ProgramSettings(.command("x"), rate: 8000)
        settings.markLimit = 2
        var session = ProgramSession(settings)
        try session.receive(Self.octets(.audio([1])))
        for _ in 0..<5 { try session.receive(Self.octets(ProgramFrame(.mark, [0x61]))) }
        session.advance(spoken: 1, flushed: 0)
        #expect(session.figures.marks == 2 && session.figures.marksLost == 3)
    }

    @Test func anyOctetsDoNoHarm() {
        for seed in 0..<200 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            var session = ProgramSession(ProgramSettings(.command("x"), rate: 8000))
            for _ in 0..<50 {
                let kinds: [UInt8] = [0x41, 0x46, 0x4a, 0x4d]
                var bytes: [UInt8] = [kinds.randomElement(using: &random)!, 0, 0, UInt8.random(in: 0...20, using: &random)]
                bytes += (0..<Int.random(in: 0...40, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
                guard (try? session.receive(bytes)) != nil else { break }
                session.advance(spoken: UInt64.random(in: 0...100, using: &random), flushed: UInt64.random(in: 0...100, using: &random))
                while session.nextEffect() != nil {}
            }
        }
    }

    @Test func aSettingMeansACommandOrASocket() {
        #expect(ProgramSettings(parsing: "python3 agent.py").target == .command("python3 agent.py"))
        #expect(ProgramSettings(parsing: "unix:/run/agent", rate: 99).target == .socket(path: "/run/agent"))
        #expect(ProgramSettings(parsing: "x", rate: 99).rate == 8000)
    }
}
