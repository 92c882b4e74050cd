// SPDX-License-Identifier: Apache-2.0

import Codecs
import Essentials
import Foundation
import Media
import RTP

/// One call from a caller that plays speech to a callee that records, under virtual time.
final class SimulatedCall {
    /// A datagram on its way.
    struct Flight {
        var at: Int64
        var order: Int
        var toCallee: Bool
        var kind: PacketKind
        var bytes: [UInt8]
    }

    struct Sent {
        var at: Int64
        var bytes: [UInt8]
        var ways: [Double]
    }

    private static let port = PortID(rawValue: 1)
    private static let player = PortID(rawValue: 2)
    private static let recorder = PortID(rawValue: 3)

    private let caller: MediaEngine
    private let callee: MediaEngine
    private let plan: [[Double]]
    private let seconds: Int
    /// One way without impairment, in nanoseconds: what the way back, and reports, take.
    private let base: Int64
    private var generator: SplitMix64
    private var flights: [Flight] = []
    private var order = 0
    private var sent: [Sent] = []
    private var firstSequence: UInt16?
    private let recording: Recording
    private var growth: [(at: Int64, samples: Int)] = []
    private(set) var back = 0

    init(codec name: String, speech: String, plan path: String, _ options: [String: Int]) throws {
        let audio = try WAVAudio(parsing: [UInt8](Data(contentsOf: URL(fileURLWithPath: speech))))
        let bridgeRate = options["bridge"] ?? (name == "PCMU" || name == "PCMA" ? 8000 : 16_000)
        var opus = OpusSettings(bitRate: (options["bitrate"] ?? 32) * 1000)
        if let complexity = options["complexity"] { opus.complexity = complexity }
        if let loss = options["loss"] { opus.expectedLoss = loss }
        generator = SplitMix64(seed: UInt64(options["phase-seed"] ?? 1))
        plan = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.split(separator: " ").compactMap { Double($0) } }
        base = Int64(options["base"] ?? 20) * 1_000_000
        seconds = audio.samples.count / audio.rate + 3
        recording = Recording(rate: bridgeRate)
        func engine() -> MediaEngine {
            MediaEngine(
                configuration: MediaConfiguration(bridgeRate: bridgeRate, codecs: .complete(bridgeRate: bridgeRate, opus: opus)),
                random: RandomSource(SplitMix64(seed: 7)))
        }
        caller = engine()
        callee = engine()
        let codec =
            switch name {
            case "PCMU": NegotiatedCodec(name: name, payloadType: 0, clockRate: 8000)
            case "PCMA": NegotiatedCodec(name: name, payloadType: 8, clockRate: 8000)
            case "G722": NegotiatedCodec(name: name, payloadType: 9, clockRate: 8000)
            default:
                NegotiatedCodec(name: "OPUS", payloadType: 96, clockRate: 48_000, channels: 2, parameters: "useinbandfec=1")
            }
        for (engine, other, ssrc) in [(caller, Self.calleeAddress, UInt32(1)), (callee, Self.callerAddress, 2)] {
            engine.handle(
                .openStream(Self.port, StreamIdentity(ssrc: ssrc, firstSequenceNumber: 100, firstTimestamp: 5000, cname: "c")),
                now: .zero)
            engine.handle(
                .configureStream(
                    Self.port,
                    StreamConfiguration(
                        remote: other, remoteRTCP: SocketAddress(other.ip, other.port + 1), codec: codec, receivable: [codec])),
                now: .zero)
        }
        caller.openPlayer(Self.player, samples: audio.samples, rate: audio.rate, loops: false)
        caller.handle(.connect(from: Self.player, to: Self.port), now: .zero)
        caller.handle(.startPlayer(Self.player), now: .zero)
        callee.openRecorder(Self.recorder, sink: recording)
        callee.handle(.connect(from: Self.port, to: Self.recorder), now: .zero)
    }

    private static let callerAddress = SocketAddress(.v4(0xc000_0201), 4000)
    private static let calleeAddress = SocketAddress(.v4(0xc000_0202), 5000)

    /// How late a tick of a real-time thread is: mostly by tenths of a millisecond, now and then by more.
    private func lateness() -> Int64 {
        let share = Double.random(in: 0..<1, using: &generator)
        return Int64(share < 0.98 ? share * 300_000 : (share - 0.98) * 75_000_000)
    }

    func run() {
        // The ticks of both lie anywhere to one another.
        let phase = Int64.random(in: 0..<10_000_000, using: &generator)
        let frame: Int64 = 10_000_000
        for tick in 0..<Int64(seconds * 100) {
            let left = tick * frame + lateness()
            deliver(until: left)
            caller.tick(now: MonotonicTime(nanoseconds: left))
            collect(caller, toCallee: true, at: left)
            let right = tick * frame + phase + lateness()
            deliver(until: right)
            callee.tick(now: MonotonicTime(nanoseconds: right))
            collect(callee, toCallee: false, at: right)
            growth.append((right, recording.samples.count))
        }
    }

    private func collect(_ engine: MediaEngine, toCallee: Bool, at now: Int64) {
        while engine.nextEvent() != nil {}
        while let packet = engine.nextPacket() {
            if toCallee, packet.kind == .rtp, let header = try? RTPPacket(parsing: packet.bytes) {
                if firstSequence == nil { firstSequence = header.sequenceNumber }
                let index = Int(header.sequenceNumber &- (firstSequence ?? 0))
                let ways = index < plan.count ? plan[index] : [Double(base) / 1e6]
                sent.append(Sent(at: now, bytes: packet.bytes, ways: ways))
                for way in ways { launch(packet.bytes, .rtp, toCallee, now + Int64(way * 1e6)) }
            } else {
                if packet.kind == .rtp { back += 1 }
                launch(packet.bytes, packet.kind, toCallee, now + base)
            }
        }
    }

    private func launch(_ bytes: [UInt8], _ kind: PacketKind, _ toCallee: Bool, _ at: Int64) {
        order += 1
        let place = flights.lastIndex { $0.at <= at }.map { $0 + 1 } ?? 0
        flights.insert(Flight(at: at, order: order, toCallee: toCallee, kind: kind, bytes: bytes), at: place)
    }

    private func deliver(until now: Int64) {
        while let flight = flights.first, flight.at <= now {
            flights.removeFirst()
            let from = flight.toCallee ? Self.callerAddress : Self.calleeAddress
            (flight.toCallee ? callee : caller).receive(
                flight.bytes, on: Self.port, kind: flight.kind,
                from: SocketAddress(from.ip, from.port + (flight.kind == .rtcp ? 1 : 0)),
                at: MonotonicTime(nanoseconds: flight.at))
        }
    }

    func write(to folder: URL) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try recording.wave.write(to: folder.appendingPathComponent("rec.wav"))
        let packets = sent.map { packet -> String in
            let header = try? RTPPacket(parsing: packet.bytes)
            let octets = packet.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            let ways = packet.ways.map { String($0 / 1000) }.joined(separator: ",")
            return "[\(Double(packet.at) / 1e9),\(header?.sequenceNumber ?? 0),\(header?.timestamp ?? 0),"
                + "\(packet.bytes[1]),[\(ways)],\"\(octets)\"]"
        }
        try Data("{\"back\":\(back),\"rtp\":[\(packets.joined(separator: ","))]}".utf8)
            .write(to: folder.appendingPathComponent("rtp.json"))
        let events = growth.map { "[\(Double($0.at) / 1e9),\(44 + 2 * $0.samples)]" }
        try Data("[\(events.joined(separator: ","))]".utf8).write(to: folder.appendingPathComponent("growth.json"))
        guard let figures = callee.statistics(of: Self.port) else { return }
        let told =
            "{\"received\":\(figures.packetsReceived),\"lost\":\(figures.packetsLost),\"late\":\(figures.packetsLate),"
            + "\"recovered\":\(figures.packetsRecovered),\"concealed\":\(figures.framesConcealed),"
            + "\"played\":\(figures.framesPlayed),\"buffer\":\(figures.bufferMilliseconds)}"
        try Data(told.utf8).write(to: folder.appendingPathComponent("figures.json"))
    }
}

/// What the callee hears, in memory.
final class Recording: RecorderSink {
    let rate: Int
    var samples: [Int16] = []

    init(rate: Int) { self.rate = rate }
    func write(_ part: Span<Int16>, rate: Int) { for index in 0..<part.count { samples.append(part[index]) } }
    func close() {}

    /// A WAV file: mono, 16 bits.
    var wave: Data {
        var data = Data("RIFF".utf8)
        func put(_ value: Int, _ octets: Int) { for place in 0..<octets { data.append(UInt8(value >> (8 * place) & 0xff)) } }
        put(36 + 2 * samples.count, 4)
        data.append(Data("WAVEfmt ".utf8))
        for (value, octets) in [(16, 4), (1, 2), (1, 2), (rate, 4), (2 * rate, 4), (2, 2), (16, 2)] { put(value, octets) }
        data.append(Data("data".utf8))
        put(2 * samples.count, 4)
        for sample in samples { put(Int(UInt16(bitPattern: sample)), 2) }
        return data
    }
}
