// SPDX-License-Identifier: Apache-2.0

import Media
import Synchronization

/// The way of a recorder's frames from the media thread to the file thread: about two seconds of room.
///
/// `@unchecked Sendable`: the media thread only writes, the file thread only reads; samples belong to the writer while
/// they are outside `head..<tail` and to the reader inside.
@safe
final class RecordingSink: RecorderSink, @unchecked Sendable {
    private let capacity: Int
    private let ring: UnsafeMutablePointer<Int16>
    private let head = Atomic<Int>(0)
    private let tail = Atomic<Int>(0)
    private let lost = Atomic<Int>(0)
    private let rateInUse = Atomic<Int>(0)
    private let closed = Atomic<Bool>(false)

    /// `rate`: samples a second of all channels.
    init(rate: Int = 16_000) {
        var size = 1 << 15
        while size < 2 * rate, size < 1 << 20 { size <<= 1 }
        capacity = size
        unsafe ring = .allocate(capacity: size)
    }
    deinit { unsafe ring.deallocate() }

    // MARK: Media thread

    func write(_ samples: Span<Int16>, rate: Int) {
        rateInUse.store(rate, ordering: .relaxed)
        let position = tail.load(ordering: .relaxed)
        guard position + samples.count - head.load(ordering: .acquiring) <= capacity else {
            lost.wrappingAdd(samples.count, ordering: .relaxed)
            return
        }
        for index in samples.indices { unsafe ring[(position + index) & (capacity - 1)] = samples[index] }
        tail.store(position + samples.count, ordering: .releasing)
    }

    func close() { closed.store(true, ordering: .releasing) }

    // MARK: File thread

    /// Samples a second; 0 until something was written.
    var rate: Int { rateInUse.load(ordering: .relaxed) }

    /// Whether nothing follows after the next `take`.
    var isClosed: Bool { closed.load(ordering: .acquiring) }

    /// Appends what was written since the last call, low octet first. What found no room becomes silence of its length.
    func take(into bytes: inout [UInt8]) {
        let end = tail.load(ordering: .acquiring)
        var position = head.load(ordering: .relaxed)
        while position < end {
            let sample = unsafe UInt16(bitPattern: ring[position & (capacity - 1)])
            bytes.append(UInt8(truncatingIfNeeded: sample))
            bytes.append(UInt8(truncatingIfNeeded: sample >> 8))
            position += 1
        }
        head.store(position, ordering: .releasing)
        let missing = lost.exchange(0, ordering: .relaxed)
        if missing > 0 { bytes.append(contentsOf: repeatElement(0, count: missing * 2)) }
    }
}
