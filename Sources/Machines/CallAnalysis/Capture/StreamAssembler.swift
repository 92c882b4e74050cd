// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP

/// Puts one direction of a TCP connection in order (RFC 9293 §3.4) and cuts it into SIP messages. A capture may begin in the
/// middle and miss segments: reading starts again with the next segment that begins as a message does.
struct StreamAssembler: Sendable {
    private let limit: Int
    private var next: UInt32?
    private var pending: [(sequence: UInt32, bytes: ArraySlice<UInt8>)] = []
    private var pendingCount = 0
    private var framer = StreamFramer()
    /// Whether `framer` is between or inside messages that began where one begins.
    private var isInStep = false
    /// Whether anything came but the opening of the connection.
    private(set) var hasOctets = false

    init(limit: Int) { self.limit = limit }

    /// Takes a segment; gives the messages that are whole now.
    mutating func add(
        sequence: UInt32, bytes: ArraySlice<UInt8>, isStart: Bool, _ counters: inout Counters<CaptureCounter>
    ) -> [[UInt8]] {
        if !bytes.isEmpty { hasOctets = true }
        if isStart {
            next = sequence &+ 1
            reset()
            pending = []
            pendingCount = 0
            return []
        }
        guard !bytes.isEmpty else { return [] }
        guard let expected = next else {
            next = sequence
            return take(bytes)
        }
        let ahead = Int32(bitPattern: sequence &- expected)
        if ahead <= 0 {
            let fresh = bytes.dropFirst(Int(ahead.magnitude))
            return fresh.isEmpty ? [] : take(fresh) + takePending()
        }
        counters.increment(.segmentsOutOfOrder)
        pending.append((sequence, bytes))
        pendingCount += bytes.count
        guard pendingCount > limit else { return [] }
        return skipGap(&counters)
    }

    /// Gives up on what is missing: the messages behind the gaps.
    mutating func finish(_ counters: inout Counters<CaptureCounter>) -> [[UInt8]] {
        var messages: [[UInt8]] = []
        while !pending.isEmpty { messages += skipGap(&counters) }
        return messages
    }

    private mutating func skipGap(_ counters: inout Counters<CaptureCounter>) -> [[UInt8]] {
        guard let expected = next else { return [] }
        guard let nearest = pending.min(by: { $0.sequence &- expected < $1.sequence &- expected }) else { return [] }
        counters.increment(.segmentsMissing)
        reset()
        next = nearest.sequence
        return takePending()
    }

    private mutating func takePending() -> [[UInt8]] {
        var messages: [[UInt8]] = []
        while let expected = next,
            let place = pending.firstIndex(where: { Int32(bitPattern: $0.sequence &- expected) <= 0 })
        {
            let piece = pending.remove(at: place)
            pendingCount -= piece.bytes.count
            let overlap = Int(Int32(bitPattern: piece.sequence &- expected).magnitude)
            let fresh = piece.bytes.dropFirst(overlap)
            if !fresh.isEmpty { messages += take(fresh) }
        }
        return messages
    }

    private mutating func take(_ bytes: ArraySlice<UInt8>) -> [[UInt8]] {
        next = (next ?? 0) &+ UInt32(truncatingIfNeeded: bytes.count)
        if !isInStep {
            guard Traffic.looksLikeSIP(bytes.drop { $0 == 0x0d || $0 == 0x0a }) else { return [] }
            isInStep = true
        }
        framer.append(Array(bytes))
        var messages: [[UInt8]] = []
        while let frame = framer.next() {
            switch frame {
            case .message(let message): messages.append(message)
            case .keepAlivePing, .keepAlivePong: break
            case .failure: reset()
            }
        }
        return messages
    }

    private mutating func reset() {
        framer = StreamFramer()
        isInStep = false
    }
}
