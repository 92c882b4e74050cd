// SPDX-License-Identifier: Apache-2.0
//
// One bridge, one clock, frames of 10 ms. Drive it so:
//
//     handle(command, now)      openPlayer / openRecorder      receive(packet, …)      tick(now) every 10 ms
//     └── after each: nextPacket() and nextEvent() until they give nothing

import Essentials
import RTP

/// The media of a phone: streams, files, tones and the bridge that joins them.
///
/// A machine without input or output: it belongs to one isolation (on a device the real-time thread), reads no clock and
/// allocates nothing on `receive` and `tick` once streams run.
public final class MediaEngine {
    struct Connection: Comparable {
        var to: PortID
        var from: PortID
        static func < (left: Self, right: Self) -> Bool { (left.to, left.from) < (right.to, right.from) }
    }

    public let configuration: MediaConfiguration
    /// Samples of one frame of 10 ms on the bridge.
    public let frameSize: Int
    let random: RandomSource
    let outbox: MediaOutbox
    let filters = ResamplerFilters()
    /// Ascending; `ports` has the same order.
    var ids: [PortID] = []
    var ports: [BridgePort] = []
    /// Ascending; may name ports that are not open yet.
    var connections: [Connection] = []
    private var sums: [Int32]
    private var mixed: [Int16]
    private var scaled: [Int16]
    private let silence: [Int16]
    /// Ports that hear what others hear, by the port that is tapped.
    var taps: [(port: PortID, of: PortID)] = []

    public init(configuration: MediaConfiguration, random: RandomSource) {
        self.configuration = configuration
        self.random = random
        outbox = MediaOutbox(configuration)
        frameSize = configuration.bridgeRate / 100
        sums = [Int32](repeating: 0, count: frameSize)
        mixed = [Int16](repeating: 0, count: frameSize)
        scaled = mixed
        silence = mixed
    }

    public var counters: Counters<MediaCounter> { outbox.counters }

    /// Takes a datagram that arrived on a stream's socket at `at`. On a multiplexed port RTCP is told apart here.
    public func receive(
        _ packet: Span<UInt8>, on port: PortID, kind: PacketKind, from source: SocketAddress, at: MonotonicTime
    ) {
        guard let index = index(of: port), let stream = ports[index] as? StreamPort else {
            return outbox.count(.packetForUnknownPort)
        }
        stream.receive(packet, kind: kind, from: source, at: at, outbox)
    }

    /// Takes a datagram that arrived on a stream's socket at `at`.
    public func receive(
        _ packet: [UInt8], on port: PortID, kind: PacketKind, from source: SocketAddress, at: MonotonicTime
    ) { receive(packet.span, on: port, kind: kind, from: source, at: at) }

    /// Moves one frame of 10 ms through all ports. Call it every 10 ms; when it was missed, as often as it was missed.
    public func tick(now: MonotonicTime) {
        for port in ports { port.prepare(now: now, outbox) }
        for port in ports where port.consumes { deliver(to: port, now) }
        for port in ports where port.meter != nil { meter(port, now) }
    }

    private func meter(_ port: BridgePort, _ now: MonotonicTime) {
        port.meter?.gave(port.output, isSilent: port.isSilent)
        if let levels = port.meter?.due(at: now) { outbox.tell(.levels(port.id, levels)) }
    }

    private func hand(_ frame: [Int16], isSilent: Bool, to port: BridgePort, _ now: MonotonicTime) {
        if port.meter != nil { port.meter?.heard(frame, isSilent: isSilent) }
        guard port.volume != 4096, !isSilent else { return port.consume(frame, isSilent: isSilent, now: now, outbox) }
        guard port.volume != 0 else { return port.consume(silence, isSilent: true, now: now, outbox) }
        Samples.copy(frame, to: &scaled)
        Samples.scale(&scaled, by: port.volume)
        port.consume(scaled, isSilent: false, now: now, outbox)
    }

    /// Gives `port` the sum of what it hears.
    private func deliver(to port: BridgePort, _ now: MonotonicTime) {
        if let tapped = port.tapped, tapped.isMuted { return hand(silence, isSilent: true, to: port, now) }
        var single: Int?
        var count = 0
        for index in port.sources where !ports[index].isSilent {
            count += 1
            if count == 1 {
                single = index
                continue
            }
            if count == 2, let first = single { Samples.add(ports[first].output, to: &sums) }
            Samples.add(ports[index].output, to: &sums)
        }
        switch (count, single) {
        case (1, let index?): hand(ports[index].output, isSilent: false, to: port, now)
        case (2..., _):
            Samples.take(&sums, into: &mixed)
            hand(mixed, isSilent: false, to: port, now)
        default: hand(silence, isSilent: true, to: port, now)
        }
    }

    /// The next datagram to send; nil: there is none until the next input or tick.
    public func nextPacket() -> OutgoingPacket? { outbox.nextPacket() }

    /// The next event; nil: there is none until the next input or tick.
    public func nextEvent() -> MediaEvent? { outbox.nextEvent() }

    /// The figures of a stream as of now; nil: there is no such stream.
    public func statistics(of port: PortID) -> StreamStatistics? {
        index(of: port).flatMap { ports[$0] as? StreamPort }?.currentStatistics()
    }

    func index(of port: PortID) -> Int? {
        var low = 0
        var high = ids.count
        while low < high {
            let middle = (low + high) / 2
            if ids[middle] < port { low = middle + 1 } else { high = middle }
        }
        return low < ids.count && ids[low] == port ? low : nil
    }
}
