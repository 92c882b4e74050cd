// SPDX-License-Identifier: Apache-2.0

/// What is known of the sequence numbers of one SSRC: RFC 3550 appendix A.1 and A.3, with a window against duplicates.
///
/// A source is believed from its first packet on (the source lock has judged the address); a jump is believed when the
/// next packet follows it.
struct SourceState {
    enum Verdict: Equatable {
        /// Take it; the number is extended over cycles and grows with each new packet.
        case accepted(Int64)
        case duplicate
        /// A jump: two packets in a row agree on it, everything before is void.
        case restarted(Int64)
        /// A jump that the next packet must confirm.
        case refused
    }

    static let maximumDropout: UInt16 = 3000
    static let maximumMisorder: UInt16 = 100
    /// The first cycle has a number, so that late packets before the first do not become negative.
    private static let firstCycle: Int64 = 1 << 16

    let ssrc: UInt32
    private(set) var highest: Int64
    private var base: Int64
    private var jumpedTo: UInt16?
    /// Bit n: the packet n before the highest was received.
    private var window: UInt128 = 1
    /// Packets received once each.
    private(set) var received: Int64 = 0
    private var expectedBefore: Int64 = 0
    private var receivedBefore: Int64 = 0

    init(ssrc: UInt32, sequenceNumber: UInt16) {
        self.ssrc = ssrc
        highest = Self.firstCycle + Int64(sequenceNumber) - 1
        base = highest + 1
        window = 0
    }

    /// The sequence number that would follow.
    var nextSequenceNumber: UInt16 { UInt16(truncatingIfNeeded: highest &+ 1) }
    var expected: Int64 { highest - base + 1 }
    var lost: Int64 { max(0, expected - received) }
    /// As RTCP wants it: cycles and sequence number.
    var highestForReport: UInt32 { UInt32(truncatingIfNeeded: highest - Self.firstCycle) }

    /// Whether the packet with this extended number, of the last 128, was received; true for older ones.
    func wasReceived(_ extended: Int64) -> Bool {
        let behind = highest - extended
        return behind >= 128 || behind >= 0 && window & (1 << UInt128(behind)) != 0
    }

    mutating func update(_ sequenceNumber: UInt16) -> Verdict {
        let ahead = sequenceNumber &- UInt16(truncatingIfNeeded: highest)
        if ahead != 0, ahead < Self.maximumDropout {
            jumpedTo = nil
            highest += Int64(ahead)
            window = ahead < 128 ? window << UInt128(ahead) | 1 : 1
            received += 1
            return .accepted(highest)
        }
        let behind = 0 &- ahead
        if behind <= Self.maximumMisorder {
            let bit: UInt128 = 1 << UInt128(behind)
            guard window & bit == 0 else { return .duplicate }
            window |= bit
            received += 1
            let extended = highest - Int64(behind)
            base = min(base, extended)
            return .accepted(extended)
        }
        if sequenceNumber == jumpedTo {
            jumpedTo = nil
            let lostBefore = lost
            // The loss so far is kept, the jump itself is none.
            highest = Self.firstCycle + (highest & ~0xffff) + Int64(sequenceNumber)
            base = highest
            received = 1
            base -= lostBefore
            window = 1
            expectedBefore = expected - 1
            receivedBefore = 0
            return .restarted(highest)
        }
        jumpedTo = sequenceNumber &+ 1
        return .refused
    }

    /// The share lost since the last call, in 1/256 (RFC 3550 A.3).
    mutating func takeFractionLost() -> UInt8 {
        let expectedInterval = expected - expectedBefore
        let receivedInterval = received - receivedBefore
        expectedBefore = expected
        receivedBefore = received
        let lostInterval = expectedInterval - receivedInterval
        guard expectedInterval > 0, lostInterval > 0 else { return 0 }
        return UInt8(clamping: lostInterval * 256 / expectedInterval)
    }
}
