// SPDX-License-Identifier: Apache-2.0

import CAllocationCounter
import Codecs
import Essentials
import Media
import RTP
import Testing

/// The media thread's path takes nothing from the heap and locks nothing: packets in, ticks, packets out.
@Suite(.serialized) struct AllocationTests {
    #if DEBUG
        // Without the optimiser the compiler boxes what it otherwise keeps in registers.
        static let isOptimised = false
    #else
        static let isOptimised = true
    #endif

    struct Steps: RandomNumberGenerator {
        var state: UInt64 = 3
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state
        }
    }

    /// Two engines that talk to each other over a link that loses packets.
    final class Line {
        let engines: [MediaEngine]
        let addresses = [SocketAddress(.v4(0x7f00_0001), 4000), SocketAddress(.v4(0x7f00_0001), 5000)]
        let stream = PortID(rawValue: 1)
        var random = Steps()
        var now = MonotonicTime.zero
        let losesOneOf: UInt64
        var packets = 0

        init(_ codec: NegotiatedCodec, rate: Int, losesOneOf: UInt64, _ change: (inout StreamConfiguration) -> Void) {
            self.losesOneOf = losesOneOf
            engines = (0..<2).map { side in
                MediaEngine(
                    configuration: MediaConfiguration(bridgeRate: rate, codecs: .complete(bridgeRate: rate)),
                    random: RandomSource(Steps(state: UInt64(side + 5))))
            }
            for (side, engine) in engines.enumerated() {
                engine.handle(
                    .openStream(
                        stream, StreamIdentity(ssrc: UInt32(side + 1), firstSequenceNumber: 65_500, firstTimestamp: 5, cname: "line")),
                    now: now)
                let remote = addresses[1 - side]
                var configuration = StreamConfiguration(
                    remote: remote, remoteRTCP: SocketAddress(remote.ip, remote.port + 1), codec: codec, receivable: [codec])
                configuration.extendedReports = [.voiceMetrics, .summary, .receiverRoundTrip]
                change(&configuration)
                engine.handle(.configureStream(stream, configuration), now: now)
                engine.handle(.openTone(PortID(rawValue: 2), Tone(frequency: 440, onMilliseconds: 300, offMilliseconds: 200)), now: now)
                engine.handle(.openEcho(PortID(rawValue: 3)), now: now)
                engine.handle(.connect(from: PortID(rawValue: 2), to: stream), now: now)
                engine.handle(.connect(from: stream, to: PortID(rawValue: 3)), now: now)
                engine.handle(.connect(from: PortID(rawValue: 3), to: stream), now: now)
            }
        }

        func run(ticks: Int) {
            for _ in 0..<ticks {
                now = now + .milliseconds(10)
                for side in 0..<2 {
                    engines[side].tick(now: now)
                    while let packet = engines[side].nextPacket() {
                        packets += 1
                        if random.next() >> 33 % losesOneOf == 0 { continue }
                        let from = SocketAddress(addresses[side].ip, addresses[side].port + (packet.kind == .rtcp ? 1 : 0))
                        engines[1 - side].receive(packet.bytes.span, on: stream, kind: packet.kind, from: from, at: now)
                    }
                    while engines[side].nextEvent() != nil {}
                }
            }
        }
    }

    static func check(_ line: Line) {
        // Buffers grow to what they need once.
        line.run(ticks: 3000)
        let before = line.packets
        allocation_counter_begin()
        line.run(ticks: 2000)
        let taken = allocation_counter_end()
        #expect(line.packets > before + 1900)
        #expect(taken == 0, "\(taken) allocations in 20 s of two streams")
        #expect(allocation_counter_frees() == 0)
        #expect(allocation_counter_locks() == 0)
    }

    @Test func theCounterCounts() {
        guard allocation_counter_works() != 0 else { return }
        allocation_counter_begin()
        var list = [Int](repeating: 1, count: 100_000)
        list.append(2)
        #expect(allocation_counter_end() >= 1)
        #expect(list.count == 100_001)
    }

    @Test(
        "a stream allocates nothing and locks nothing once it runs, with loss and all that is done about it", .enabled(if: isOptimised),
        arguments: [
            (NegotiatedCodec(name: "PCMU", payloadType: 0, clockRate: 8000), 8000),
            (NegotiatedCodec(name: "PCMA", payloadType: 8, clockRate: 8000), 16_000),
            (NegotiatedCodec(name: "G722", payloadType: 9, clockRate: 8000), 16_000),
            (NegotiatedCodec(name: "OPUS", payloadType: 96, clockRate: 48_000, channels: 2, parameters: "useinbandfec=1"), 16_000),
            (NegotiatedCodec(name: "OPUS", payloadType: 96, clockRate: 48_000, channels: 2, parameters: "useinbandfec=1"), 48_000),
        ])
    func streams(codec: NegotiatedCodec, rate: Int) {
        guard allocation_counter_works() != 0 else { return }
        Self.check(Line(codec, rate: rate, losesOneOf: 20) { _ in })
    }

    @Test("copies of packets and comfort noise allocate nothing", .enabled(if: isOptimised), arguments: ["PCMU", "OPUS"])
    func redundancy(name: String) {
        guard allocation_counter_works() != 0 else { return }
        let isOpus = name == "OPUS"
        let codec = NegotiatedCodec(
            name: name, payloadType: isOpus ? 96 : 0, clockRate: isOpus ? 48_000 : 8000, channels: isOpus ? 2 : 1,
            parameters: isOpus ? "useinbandfec=1" : "")
        Self.check(
            Line(codec, rate: 16_000, losesOneOf: 10) {
                $0.redundancy = StreamRedundancy(payloadType: 121, packets: 2)
                $0.receiveRedundancyPayloadTypes = [121]
                $0.sendComfortNoisePayloadType = isOpus ? nil : 13
                $0.comfortNoisePayloadTypes = [13]
            })
    }
}
