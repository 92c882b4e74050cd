// SPDX-License-Identifier: Apache-2.0
//
// Packets between two threads, octets and all, in one block of memory:
//
//      │ head │ octets … pad │ head │ octets … pad │ skip ┄┄┄┄┄│
//
// A packet never wraps around the end of the block: the rest is skipped. An empty ring also starts again at the front,
// so that a quiet phone touches a few pages of it only.

import Essentials
import Media
import Synchronization

/// What stands before the octets of a packet.
package struct PacketHead {
    /// Octets that follow; `PacketRing.skip`: none, go on at the front.
    var length: UInt32
    var port: UInt32
    var kind: UInt8
    var isV6: Bool
    var remotePort: UInt16
    var high: UInt64
    var low: UInt64
    var time: Int64

    init(length: Int, port: PortID, kind: PacketKind, remote: SocketAddress, time: MonotonicTime) {
        self.length = UInt32(truncatingIfNeeded: length)
        self.port = port.rawValue
        self.kind = kind.rawValue
        remotePort = remote.port
        self.time = time.nanoseconds
        switch remote.ip {
        case .v4(let bits): (isV6, high, low) = (false, 0, UInt64(bits))
        case .v6(let upper, let lower): (isV6, high, low) = (true, upper, lower)
        }
    }

    package var portID: PortID { PortID(rawValue: port) }
    package var packetKind: PacketKind { PacketKind(rawValue: kind) ?? .rtp }
    package var arrival: MonotonicTime { MonotonicTime(nanoseconds: time) }
    package var remote: SocketAddress {
        SocketAddress(isV6 ? .v6(high, low) : .v4(UInt32(truncatingIfNeeded: low)), remotePort)
    }
}

/// A queue of packets between two threads; neither ever waits.
///
/// `@unchecked Sendable`: octets belong to the producer while they are outside `head..<tail` and to the consumer
/// inside; the release of one index by its owner is what hands them over.
@safe
package final class PacketRing: @unchecked Sendable {
    /// Octets of one packet at most.
    static let packetLimit = 8192
    private static let skip = UInt32.max
    /// An empty ring goes back to its front when it is past this.
    private static let quietSize = 1 << 15

    private let bytes: UnsafeMutableRawPointer
    private let capacity: Int
    private let head = Atomic<Int>(0)
    private let tail = Atomic<Int>(0)

    /// `capacity` is rounded up to a power of two, 64 KiB at least.
    package init(capacity: Int) {
        var size = 1 << 16
        while size < capacity, size < 1 << 30 { size <<= 1 }
        self.capacity = size
        unsafe bytes = .allocate(byteCount: size, alignment: 64)
    }

    deinit { unsafe bytes.deallocate() }

    /// Producer: false if there is no room or the packet is too long.
    package func push(
        _ packet: Span<UInt8>, port: PortID, kind: PacketKind, remote: SocketAddress, time: MonotonicTime
    ) -> Bool {
        let headSize = MemoryLayout<PacketHead>.stride
        let size = (headSize + packet.count + 7) & ~7
        guard packet.count <= Self.packetLimit else { return false }
        var position = tail.load(ordering: .relaxed)
        let oldest = head.load(ordering: .acquiring)
        let index = position & (capacity - 1)
        if capacity - index < size || (oldest == position && index > Self.quietSize) {
            guard position + capacity - index + size - oldest <= capacity else { return false }
            unsafe bytes.storeBytes(of: Self.skip, toByteOffset: index, as: UInt32.self)
            position += capacity - index
        }
        guard position + size - oldest <= capacity else { return false }
        let start = position & (capacity - 1)
        let description = PacketHead(length: packet.count, port: port, kind: kind, remote: remote, time: time)
        unsafe bytes.storeBytes(of: description, toByteOffset: start, as: PacketHead.self)
        unsafe packet.withUnsafeBytes { source in
            guard let base = source.baseAddress else { return }
            unsafe (bytes + start + headSize).copyMemory(from: base, byteCount: source.count)
        }
        tail.store(position + size, ordering: .releasing)
        return true
    }

    /// Consumer: hands out the oldest packet and drops it; false if there is none.
    package func pop(_ body: (PacketHead, Span<UInt8>) -> Void) -> Bool {
        let headSize = MemoryLayout<PacketHead>.stride
        var position = head.load(ordering: .relaxed)
        guard position < tail.load(ordering: .acquiring) else { return false }
        var start = position & (capacity - 1)
        if unsafe bytes.load(fromByteOffset: start, as: UInt32.self) == Self.skip {
            position += capacity - start
            start = 0
        }
        let description = unsafe bytes.load(fromByteOffset: start, as: PacketHead.self)
        let length = Int(description.length)
        let octets = unsafe UnsafeRawBufferPointer(start: bytes + start + headSize, count: length)
            .assumingMemoryBound(to: UInt8.self)
        unsafe body(description, octets.span)
        head.store(position + ((headSize + length + 7) & ~7), ordering: .releasing)
        return true
    }
}
