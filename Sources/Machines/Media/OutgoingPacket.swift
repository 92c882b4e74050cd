// SPDX-License-Identifier: Apache-2.0

import Essentials

/// Whether a datagram belongs to the RTP or the RTCP socket of a stream.
public enum PacketKind: UInt8, Sendable, Hashable { case rtp, rtcp }

/// A datagram that the engine wants sent.
public struct OutgoingPacket: Sendable, Hashable {
    public var port: PortID
    /// Which socket it leaves from; on a stream that multiplexes, always `.rtp`.
    public var kind: PacketKind
    public var to: SocketAddress
    /// The whole datagram. Let go of it before the next tick: its storage is then used again.
    public var bytes: [UInt8]

    public init(port: PortID, kind: PacketKind, to: SocketAddress, bytes: [UInt8]) {
        self.port = port
        self.kind = kind
        self.to = to
        self.bytes = bytes
    }
}

/// Gets what a recorder port hears: each frame of 10 ms as it is played, silence too, nothing left out.
public protocol RecorderSink: AnyObject {
    /// `samples` at `rate` samples a second. Called on the thread that ticks: must not block or allocate.
    func write(_ samples: Span<Int16>, rate: Int)
    /// The port was closed: nothing follows.
    func close()
}
