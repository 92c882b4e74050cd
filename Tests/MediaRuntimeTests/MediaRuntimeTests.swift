// SPDX-License-Identifier: Apache-2.0

import Essentials
import Foundation
import Media
import MediaRuntime
import Networking
import Testing

@Suite(.serialized) struct MediaRuntimeTests {
    @Test func `a stream gets an even port and the next, from the range where one is given`() throws {
        try withLoop { loop in
            let side = Side(loop, loopbackConfiguration())
            defer { side.stop() }
            let any = try side.openStream(PortID(rawValue: 1))
            #expect(any.port % 2 == 0 && any.ip == .loopbackV4)
            let other = try side.openStream(PortID(rawValue: 2))
            #expect(other.port != any.port)
        }
    }

    @Test func `a range of ports is used up to its end, and then a clear reason follows`() throws {
        try withLoop { loop in
            let side = Side(loop, loopbackConfiguration(41_001...41_006))
            defer { side.stop() }
            var ports: Set<UInt16> = []
            var reason = ""
            for index in 1...3 {
                do { ports.insert(try side.openStream(PortID(rawValue: UInt32(index))).port) } catch let error as Side.Failure {
                    reason = error.reason
                }
            }
            #expect(ports == [41_002, 41_004])
            #expect(reason.contains("41001") && reason.contains("41006"))
            side.perform(.closePort(PortID(rawValue: 1)))
            _ = side.events.first { if case .statistics = $0 { true } else { false } }
            #expect(try side.openStream(PortID(rawValue: 4)).port == 41_002)
        }
    }

    @Test func `a thousand ports close while the loop is busy, and the media thread goes on`() throws {
        try withLoop { loop in
            let side = Side(loop, loopbackConfiguration())
            let runtime = side.runtime
            let ports = (1...1200).map { PortID(rawValue: $0) }
            // The loop takes no notice while it gives the orders: more wait than the ring between both holds.
            loop.sync { for port in ports { runtime.value.perform(.openEcho(port)) } }
            loop.sync { for port in ports { runtime.value.perform(.closePort(port)) } }
            let last = PortID(rawValue: 4000)
            _ = try side.openStream(last)
            side.perform(.closePort(last))
            let isTold = side.events.first { if case .statistics(last, _) = $0 { true } else { false } } != nil
            #expect(isTold)
            // A thread that is lost cannot be waited for.
            if isTold { side.stop() }
        }
    }

    @Test func `two runtimes exchange audio, and each records what the other plays`() throws {
        try withDirectory { directory in
            try withLoop { loop in
                let tone = WAVAudio(rate: 8000, samples: sine(440))
                let played = directory + "/tone.wav"
                try Data(WAVEncoder.file(tone)).write(to: URL(fileURLWithPath: played))
                let sides = [Side(loop, loopbackConfiguration(), seed: 1), Side(loop, loopbackConfiguration(), seed: 2)]
                let (stream, player, recorder) = (PortID(rawValue: 1), PortID(rawValue: 2), PortID(rawValue: 3))
                let addresses = try sides.map { try $0.openStream(stream) }
                for (index, side) in sides.enumerated() {
                    side.perform(
                        .openPlayer(player, path: played, loops: false),
                        .openRecorder(recorder, path: directory + "/\(index).wav"),
                        .connect(from: player, to: stream), .connect(from: stream, to: recorder),
                        .configureStream(stream, configuration(to: addresses[1 - index])), .startPlayer(player))
                }
                for side in sides {
                    let finished = side.events.first { if case .playbackFinished = $0 { true } else { false } }
                    #expect(finished != nil)
                }
                for side in sides {
                    side.perform(.reportStatistics(stream))
                    guard
                        case .statistics(stream, let figures)? = side.events.first(where: {
                            if case .statistics = $0 { true } else { false }
                        })
                    else {
                        Issue.record("no statistics")
                        return
                    }
                    #expect(figures.packetsSent >= 40 && figures.packetsReceived >= 40)
                }
                for side in sides { side.stop() }
                for index in sides.indices {
                    let recorded = try readWAV(directory + "/\(index).wav")
                    #expect(recorded.rate == 8000)
                    // Most of the tone came over. How much is concealed depends on how busy the machine is: the
                    // sound itself is judged in virtual time.
                    let energy = recorded.samples.reduce(0.0) { $0 + Double($1) * Double($1) }
                    #expect(energy > 1.2e11)  // half of a second of amplitude 8000
                    #expect(power(recorded.samples, at: 440) > 0.6 * energy)
                }
            }
        }
    }

    @Test func `a recording is a valid file while it is written`() throws {
        try withDirectory { directory in
            try withLoop { loop in
                let side = Side(loop, loopbackConfiguration())
                defer { side.stop() }
                let (tone, recorder) = (PortID(rawValue: 1), PortID(rawValue: 2))
                let path = directory + "/growing.wav"
                side.perform(
                    .openTone(tone, Tone(frequency: 1000)), .openRecorder(recorder, path: path), .connect(from: tone, to: recorder))
                var sizes: [Int] = []
                let limit = ContinuousClock.now + .seconds(20)
                while sizes.count < 5, ContinuousClock.now < limit {
                    let size = (try? readWAV(path).samples.count) ?? 0
                    if size > sizes.last ?? 0 { sizes.append(size) }
                }
                #expect(sizes.count == 5)
                let head = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
                let counted = (0..<4).reduce(0) { $0 | Int(head[40 + $1]) << (8 * $1) }
                #expect(counted > 0 && counted <= head.count - 44)
            }
        }
    }

    @Test func `a file that is not there or no WAV is told with its path`() throws {
        try withDirectory { directory in
            try withLoop { loop in
                let side = Side(loop, loopbackConfiguration())
                defer { side.stop() }
                let text = directory + "/text.wav"
                try Data("hello".utf8).write(to: URL(fileURLWithPath: text))
                side.perform(
                    .openPlayer(PortID(rawValue: 1), path: directory + "/none.wav", loops: false),
                    .openPlayer(PortID(rawValue: 2), path: text, loops: false),
                    .openRecorder(PortID(rawValue: 3), path: directory + "/no/such/folder.wav"))
                var reasons: [PortID: String] = [:]
                while reasons.count < 3, let event = side.events.take() {
                    if case .fileFailed(let port, let reason) = event { reasons[port] = reason }
                }
                #expect(reasons[PortID(rawValue: 1)]?.contains("none.wav") == true)
                #expect(reasons[PortID(rawValue: 2)]?.contains("no WAV") == true)
                #expect(reasons[PortID(rawValue: 3)]?.contains("folder.wav") == true)
            }
        }
    }

    @Test(.timeLimit(.minutes(1))) func `a pipe or a device to play is refused, and does not hold up the end`() throws {
        try withDirectory { directory in
            try withLoop { loop in
                let pipe = directory + "/pipe"
                #expect(unsafe mkfifo(pipe, 0o600) == 0)
                let side = Side(loop, loopbackConfiguration())
                for (index, path) in [pipe, "/dev/zero"].enumerated() {
                    let port = PortID(rawValue: UInt32(index + 1))
                    side.perform(.openPlayer(port, path: path, loops: false))
                    let event = side.events.first { if case .fileFailed(port, _) = $0 { true } else { false } }
                    guard case .fileFailed(_, let reason)? = event else {
                        Issue.record("\(path) did not fail")
                        continue
                    }
                    #expect(reason == "\(path): it is a pipe or a device, not a file")
                }
                side.stop()
            }
        }
    }

    @Test func `the media thread sleeps while no port is open`() throws {
        try withLoop { loop in
            let side = Side(loop, loopbackConfiguration())
            defer { side.stop() }
            let runtime = side.runtime
            func ticks() -> UInt64 { loop.sync { runtime.value.figures?.ticks ?? 0 } }
            #expect(loop.sync { runtime.value.figures } == nil)
            _ = try side.openStream(PortID(rawValue: 1))
            let limit = ContinuousClock.now + .seconds(20)
            while ticks() < 3, ContinuousClock.now < limit {}
            side.perform(.closePort(PortID(rawValue: 1)))
            _ = side.events.first { if case .statistics = $0 { true } else { false } }
            let before = ticks()
            // Ten frames of the loop's own time.
            let later = Inbox<Bool>()
            loop.execute { loop.schedule(at: loop.now + .milliseconds(100)) { later.put(true) } }
            _ = later.take()
            #expect(ticks() == before)
            _ = try side.openStream(PortID(rawValue: 2))
            while ticks() == before, ContinuousClock.now < limit {}
            #expect(ticks() > before)
        }
    }

    @Test func `stopping at any moment is safe`() throws {
        try withDirectory { directory in
            try withLoop { loop in
                for round in 0..<20 {
                    let side = Side(loop, loopbackConfiguration(), seed: UInt64(round))
                    for index in 0..<UInt32(round) {
                        side.perform(
                            .openStream(
                                PortID(rawValue: index * 2),
                                StreamIdentity(ssrc: index, firstSequenceNumber: 0, firstTimestamp: 0, cname: "x")),
                            .openRecorder(PortID(rawValue: index * 2 + 1), path: directory + "/\(round)-\(index).wav"),
                            .connect(from: PortID(rawValue: index * 2), to: PortID(rawValue: index * 2 + 1)))
                    }
                    side.stop()
                    for index in 0..<round {
                        let recorded = try readWAV(directory + "/\(round)-\(index).wav")
                        #expect(recorded.rate == 8000)
                    }
                }
            }
        }
    }

    @Test func `on a manual loop ten seconds of audio pass in a moment`() throws {
        try withDirectory { directory in
            let loop = try EventLoop.manual()
            let (player, recorder) = (PortID(rawValue: 1), PortID(rawValue: 2))
            let path = directory + "/virtual.wav"
            let played = directory + "/sine.wav"
            try Data(WAVEncoder.file(WAVAudio(rate: 8000, samples: sine(500)))).write(to: URL(fileURLWithPath: played))
            let held = OnLoop(value: Held())
            loop.execute {
                let runtime = MediaRuntime(
                    loop: loop, configuration: loopbackConfiguration(), random: RandomSource(SplitMix64(seed: 1))
                ) { _ in }
                held.value.runtime = runtime
                runtime.perform(.openPlayer(player, path: played, loops: true))
                runtime.perform(.openRecorder(recorder, path: path))
                runtime.perform(.connect(from: player, to: recorder))
                runtime.perform(.startPlayer(player))
            }
            loop.run(for: .seconds(10))
            loop.execute { held.value.runtime?.stop() }
            loop.run(for: .zero)
            let recorded = try readWAV(path)
            #expect((79_000...80_080).contains(recorded.samples.count))
            let energy = recorded.samples.reduce(0.0) { $0 + Double($1) * Double($1) }
            #expect(energy > 2.4e12)  // 0.95 of 80 000 samples of amplitude 8000
            #expect(power(recorded.samples, at: 500) > 0.95 * energy)
        }
    }
}

private final class Held { var runtime: MediaRuntime? }

/// One second at 8 kHz.
private func sine(_ frequency: Double) -> [Int16] {
    (0..<8000).map { index -> Int16 in
        let angle = Double(index) * 2 * Double.pi * frequency / 8000
        return Int16(8000 * sin(angle))
    }
}

/// The energy of the samples at one frequency, by Goertzel's sum in windows of 800 samples, so that jumps of phase between
/// windows do not matter.
private func power(_ samples: [Int16], at frequency: Double) -> Double {
    var total = 0.0
    for start in stride(from: 0, to: samples.count - 799, by: 800) {
        var (cosine, sine) = (0.0, 0.0)
        for index in start..<start + 800 {
            let angle = Double(index) * 2 * .pi * frequency / 8000
            cosine += Double(samples[index]) * cos(angle)
            sine += Double(samples[index]) * sin(angle)
        }
        total += (cosine * cosine + sine * sine) / 400
    }
    return total
}
