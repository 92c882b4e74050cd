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
    public let configuration: MediaConfiguration
    /// Samples of one frame of 10 ms on the bridge.
    public let frameSize: Int
    public internal(set) var counters = Counters<MediaCounter>()
    private let random: RandomSource

    public init(configuration: MediaConfiguration, random: RandomSource) {
        self.configuration = configuration
        self.random = random
        frameSize = configuration.bridgeRate / 100
    }

    /// Does what a command asks. Files are the world's: for `.openPlayer` and `.openRecorder` the port is made here,
    /// silent until `openPlayer(_:samples:rate:loops:)` or `openRecorder(_:sink:)` gives it its content.
    public func handle(_ command: MediaCommand, now: MonotonicTime) {}

    /// Gives a player its samples: mono, `rate` a second (8000...192000).
    public func openPlayer(_ port: PortID, samples: [Int16], rate: Int, loops: Bool) {}

    /// Gives a recorder its sink; what it heard before (a second at most) is written at once.
    public func openRecorder(_ port: PortID, sink: any RecorderSink) {}

    /// Takes a datagram that arrived on a stream's socket at `at`. On a multiplexed port RTCP is told apart here.
    public func receive(
        _ packet: Span<UInt8>, on port: PortID, kind: PacketKind, from source: SocketAddress, at: MonotonicTime
    ) {}

    /// Takes a datagram that arrived on a stream's socket at `at`.
    public func receive(
        _ packet: [UInt8], on port: PortID, kind: PacketKind, from source: SocketAddress, at: MonotonicTime
    ) { receive(packet.span, on: port, kind: kind, from: source, at: at) }

    /// Moves one frame of 10 ms through all ports. Call it every 10 ms; when it was missed, as often as it was missed.
    public func tick(now: MonotonicTime) {}

    /// The next datagram to send; nil: there is none until the next input or tick.
    public func nextPacket() -> OutgoingPacket? { nil }

    /// The next event; nil: there is none until the next input or tick.
    public func nextEvent() -> MediaEvent? { nil }
}
