// SPDX-License-Identifier: Apache-2.0

/// The packets of one stream that wait to be played, in the order of their sequence numbers.
///
/// A ring of slots; the octets of each are kept and used again, so that nothing is allocated once it has run round.
struct JitterBuffer {
    enum Content: Equatable {
        /// Speech of the codec with this index.
        case speech(Int)
        /// Comfort noise begins; level in −dBov.
        case noise(UInt8)
        /// A telephone event: the peer sends no speech meanwhile.
        case event
    }

    struct Slot {
        /// −1: empty.
        var sequence: Int64 = -1
        /// Extended RTP timestamp.
        var timestamp: Int64 = 0
        var content = Content.event
        /// Timestamp units.
        var duration: Int64 = 0
        /// Octets of `bytes` that count.
        var count = 0
        var bytes: [UInt8] = []
    }

    enum Insertion { case stored, late, duplicate, overflow }

    private var slots: [Slot]
    private let mask: Int64
    /// The first sequence number that was not played yet.
    private(set) var next: Int64 = -1
    private(set) var count = 0
    private var newest: Int64 = -1
    private var hasPlayed = false

    init(capacity: Int) {
        var size = 8
        while size < min(capacity, 4096) { size *= 2 }
        slots = [Slot](repeating: Slot(), count: size)
        mask = Int64(size - 1)
    }

    var isEmpty: Bool { count == 0 }

    mutating func removeAll() {
        for index in slots.indices { slots[index].sequence = -1 }
        count = 0
        next = -1
        newest = -1
        hasPlayed = false
    }

    mutating func insert(
        _ payload: Span<UInt8>, sequence: Int64, timestamp: Int64, content: Content, duration: Int64
    ) -> Insertion {
        if next < 0 { next = sequence }
        // Before anything was played, what was overtaken on its way is still in time.
        if !hasPlayed, sequence < next, newest - sequence <= mask { next = sequence }
        guard sequence >= next else { return .late }
        if sequence - next > mask {
            guard count == 0 else { return .overflow }
            next = sequence
        }
        let index = Int(sequence & mask)
        guard slots[index].sequence != sequence else { return .duplicate }
        slots[index].sequence = sequence
        slots[index].timestamp = timestamp
        slots[index].content = content
        slots[index].duration = duration
        slots[index].count = payload.count
        Self.fill(&slots[index].bytes, with: payload)
        count += 1
        newest = max(newest, sequence)
        return .stored
    }

    private static func fill(_ bytes: inout [UInt8], with payload: Span<UInt8>) {
        if bytes.count < payload.count {
            // Packets of a codec that varies grow by a few octets now and then: each slot is made large enough once.
            bytes.reserveCapacity((payload.count + 255) / 256 * 256)
            while bytes.count < payload.count { bytes.append(0) }
        }
        var target = bytes.mutableSpan
        for index in 0..<payload.count { target[index] = payload[index] }
    }

    /// The index of the first packet that waits; nil: there is none.
    mutating func firstIndex() -> Int? {
        guard count > 0 else { return nil }
        var sequence = next
        for _ in 0...mask {
            let index = Int(sequence & mask)
            if slots[index].sequence == sequence { return index }
            sequence += 1
        }
        return nil
    }

    /// Whether the packet of that number waits.
    func holds(_ sequence: Int64) -> Bool { sequence >= 0 && slots[Int(sequence & mask)].sequence == sequence }

    subscript(index: Int) -> Slot { _read { yield slots[index] } }

    /// The packet was played or is not wanted.
    mutating func remove(at index: Int) {
        next = slots[index].sequence + 1
        hasPlayed = true
        slots[index].sequence = -1
        count -= 1
    }
}
