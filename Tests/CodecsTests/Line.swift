// SPDX-License-Identifier: Apache-2.0

import Codecs
import Essentials
import Foundation
import Media
import RTP

extension NegotiatedCodec {
    static func opus(_ parameters: String = "useinbandfec=1") -> NegotiatedCodec {
        NegotiatedCodec(name: "OPUS", payloadType: 96, clockRate: 48_000, channels: 2, parameters: parameters)
    }
}

/// Speech, a measure, and one packet after another through a coder.
enum Speech {
    /// A gliding voice in syllables with pauses, never twice the same.
    static func voice(rate: Int, seconds: Double, seed: UInt64 = 3) -> [Int16] {
        var random = SplitMix64(seed: seed)
        var result: [Int16] = []
        let total = Int(Double(rate) * seconds)
        var phase = 0.0
        while result.count < total {
            let length = Int.random(in: rate / 8...rate / 3, using: &random)
            let pitch = Double.random(in: 90...220, using: &random)
            let weights = (1...12).map { _ in Double.random(in: 0.1...1, using: &random) }
            for index in 0..<length {
                phase += pitch / Double(rate)
                var value = 0.0
                for (harmonic, weight) in weights.enumerated() {
                    value += weight / Double(harmonic + 1) * sin(2 * .pi * phase * Double(harmonic + 1))
                }
                result.append(Int16(value * sin(.pi * Double(index) / Double(length)) * 6000))
            }
            result += [Int16](repeating: 0, count: Int.random(in: 0...rate / 8, using: &random))
        }
        return Array(result[..<total])
    }

    static func correlation(_ first: ArraySlice<Int16>, _ second: ArraySlice<Int16>) -> Double {
        var (product, one, two) = (0.0, 0.0, 0.0)
        for (a, b) in zip(first, second) {
            product += Double(a) * Double(b)
            one += Double(a) * Double(a)
            two += Double(b) * Double(b)
        }
        return one == 0 || two == 0 ? 0 : product / (one * two).squareRoot()
    }

    /// How alike what was heard is to what was said: the median over half seconds, each at its own delay of at most 400 ms,
    /// since the buffer changes its delay when packets are lost.
    static func likeness(_ reference: [Int16], _ heard: [Int16], rate: Int) -> Double {
        let step = max(1, rate / 4000)
        let length = rate / 2
        var values: [Double] = []
        for start in stride(from: 0, through: reference.count - length, by: length) {
            let part = stride(from: start, to: start + length, by: step).map { reference[$0] }
            let last = min(start + rate * 2 / 5, heard.count - length)
            guard last >= start else { break }
            let matches = stride(from: start, through: last, by: step).map { lag in
                correlation(part[...], stride(from: lag, to: lag + length, by: step).map { heard[$0] }[...])
            }
            values.append(matches.max() ?? 0)
        }
        return values.isEmpty ? 0 : values.sorted()[values.count / 2]
    }

    static func packets(_ samples: [Int16], frame: Int, _ encoder: any AudioEncoder) -> [[UInt8]] {
        stride(from: 0, through: samples.count - frame, by: frame).map { at in
            var payload = [UInt8](repeating: 0, count: 1500)
            var span = payload.mutableSpan
            let part = Array(samples[at..<at + frame])
            let count = encoder.encode(part.span, into: &span)
            return Array(payload[..<count])
        }
    }
}

/// One engine with an Opus stream, a player and a recorder.
final class Party {
    let engine: MediaEngine
    private let sink = Collector()
    var heard: [Int16] { sink.samples }
    var sent: [OutgoingPacket] = []

    private final class Collector: RecorderSink {
        var samples: [Int16] = []
        func write(_ part: Span<Int16>, rate: Int) { for index in 0..<part.count { samples.append(part[index]) } }
        func close() {}
    }

    init(
        bridgeRate: Int, remote: SocketAddress, codec: NegotiatedCodec, speech: [Int16], packetTime: Int,
        redundancy: StreamRedundancy? = nil
    ) {
        let configuration = MediaConfiguration(bridgeRate: bridgeRate, codecs: .complete(bridgeRate: bridgeRate))
        engine = MediaEngine(configuration: configuration, random: RandomSource(SplitMix64(seed: 5)))
        let identity = StreamIdentity(ssrc: 77, firstSequenceNumber: 65_530, firstTimestamp: 0xffff_ff00, cname: "p")
        let (stream, player, recorder) = (PortID(rawValue: 1), PortID(rawValue: 2), PortID(rawValue: 3))
        engine.handle(.openStream(stream, identity), now: .zero)
        var description = StreamConfiguration(
            remote: remote, remoteRTCP: nil, codec: codec, receivable: [codec], packetTime: packetTime)
        description.redundancy = redundancy
        description.receiveRedundancyPayloadTypes = redundancy.map { [$0.payloadType] } ?? []
        engine.handle(.configureStream(stream, description), now: .zero)
        engine.openPlayer(player, samples: speech, rate: bridgeRate, loops: false)
        engine.openRecorder(recorder, sink: sink)
        engine.handle(.connect(from: player, to: stream), now: .zero)
        engine.handle(.connect(from: stream, to: recorder), now: .zero)
        engine.handle(.startPlayer(player), now: .zero)
    }

    var statistics: StreamStatistics { engine.statistics(of: PortID(rawValue: 1)) ?? StreamStatistics() }

    /// Two parties over loopback in virtual time; `loses` says which packets are not delivered.
    static func call(
        bridgeRate: Int, codec: NegotiatedCodec = .opus(), packetTime: Int = 20, speech: [Int16], milliseconds: Int,
        redundancy: StreamRedundancy? = nil, loses: (Int) -> Bool = { _ in false }
    ) -> (left: Party, right: Party) {
        let (here, there) = (SocketAddress(.v4(0x7f00_0001), 4000), SocketAddress(.v4(0x7f00_0001), 5000))
        let left = Party(
            bridgeRate: bridgeRate, remote: there, codec: codec, speech: speech, packetTime: packetTime, redundancy: redundancy)
        let right = Party(
            bridgeRate: bridgeRate, remote: here, codec: codec, speech: speech, packetTime: packetTime, redundancy: redundancy)
        for tick in 1...milliseconds / 10 {
            let now = MonotonicTime(nanoseconds: Int64(tick) * 10_000_000)
            for (party, other, address) in [(left, right, here), (right, left, there)] {
                party.engine.tick(now: now)
                while let packet = party.engine.nextPacket() {
                    party.sent.append(packet)
                    if packet.kind == .rtp, loses(party.sent.count) { continue }
                    other.engine.receive(packet.bytes, on: PortID(rawValue: 1), kind: packet.kind, from: address, at: now)
                }
                while party.engine.nextEvent() != nil {}
            }
        }
        return (left, right)
    }
}
