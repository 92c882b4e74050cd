// SPDX-License-Identifier: Apache-2.0
//
// Symmetric RTP (RFC 4961) with a bounded source: packets are taken from one address, and ours go there.
//
//     open ──first valid packet──▶ locked ──┬─ signalled: a packet from the address that SDP names, if locked elsewhere
//       ▲                            ▲      ├─ rebinding: same SSRC, sequence goes on, the locked address silent 0.5 s
//       └─ new address signalled ────┴──────┴─ takeover: any source in sequence, the locked address silent 5 s
//
// Everything else is counted and dropped, so that nobody who finds the port can inject or divert audio.

import Essentials

struct SourceLock {
    enum Verdict: Equatable {
        case accepted
        /// Accepted, and this is the source from now on; `moved`: another one was before.
        case locked(moved: Bool)
        case refused
    }

    private let settings: SourceLockSettings
    private(set) var locked: SocketAddress?
    private(set) var signalled: SocketAddress?
    private var lastHeard = MonotonicTime.zero
    private var previous: (address: SocketAddress, until: MonotonicTime)?
    private var candidate: (address: SocketAddress, ssrc: UInt32, next: UInt16, count: Int)?

    init(_ settings: SourceLockSettings) { self.settings = settings }

    /// Where our packets go: the peer's real source, else what it signalled.
    var destination: SocketAddress? { locked ?? signalled }

    /// The session description names this address; an unspecified one tells nothing new.
    mutating func signal(_ remote: SocketAddress?, now: MonotonicTime) {
        guard let remote, !remote.ip.isUnspecified, remote.port != 0, remote != signalled else { return }
        let isFirst = signalled == nil
        signalled = remote
        candidate = nil
        // The peer's packets were here before its answer: behind a NAT they come from another address than the one that the
        // answer names, and ours must go there. A packet from the named address still takes the lock.
        if isFirst { return }
        if let old = locked, old != remote {
            previous = (old, now + settings.handover)
            locked = nil
        }
    }

    /// Judges the source of a valid packet. `expected` is the SSRC and next sequence number of the stream so far.
    mutating func judge(
        _ source: SocketAddress, ssrc: UInt32, sequenceNumber: UInt16, expected: (ssrc: UInt32, next: UInt16)?,
        at now: MonotonicTime
    ) -> Verdict {
        if source == locked {
            lastHeard = now
            candidate = nil
            return .accepted
        }
        guard locked != nil else {
            if let previous, previous.address == source, now < previous.until, source != signalled { return .accepted }
            return lock(source, now)
        }
        if source == signalled { return lock(source, now) }

        var count = 1
        if let candidate, candidate.address == source, candidate.ssrc == ssrc, candidate.next == sequenceNumber {
            count = candidate.count + 1
        }
        candidate = (source, ssrc, sequenceNumber &+ 1, count)
        guard count >= settings.requiredPackets else { return .refused }
        let silence = now - lastHeard
        if silence >= settings.takeoverSilence { return lock(source, now) }
        if let expected, expected.ssrc == ssrc, sequenceNumber &- expected.next < SourceState.maximumDropout,
            silence >= settings.rebindingSilence
        {
            return lock(source, now)
        }
        return .refused
    }

    /// Whether a report may come from `ip`: the address of the peer's packets, or the one it signalled.
    func admitsReport(from ip: IPAddress) -> Bool { ip == locked?.ip || ip == signalled?.ip }

    private mutating func lock(_ source: SocketAddress, _ now: MonotonicTime) -> Verdict {
        let moved = locked != nil || previous != nil && previous?.address != source
        locked = source
        lastHeard = now
        candidate = nil
        previous = nil
        return .locked(moved: moved)
    }
}
