// SPDX-License-Identifier: Apache-2.0
//
// Receiving telephone-event (RFC 4733 §2.5.2): every key exactly once, whatever is lost, late or doubled.
//
//     packets   M─┬──┬──┬──E E E            one event = one RTP timestamp
//     told                 │                at the first end packet; or when a newer event begins; or after 200 ms
//                                           without a packet (all end packets lost)
//
// An event longer than 0xFFFF timestamp units goes on under a new timestamp (§2.5.1.3) and is still one key.

import Essentials
import RTP

struct EventReceiver {
    struct Key {
        var digit: Character
        var milliseconds: Int
    }

    /// Time without a packet of the event after which it is taken as ended.
    static let timeout = Interval.milliseconds(200)
    private static let memory = 16

    private struct Identity: Equatable {
        var ssrc: UInt32
        var timestamp: UInt32
        var code: UInt8
    }

    private struct Active {
        var identity: Identity
        /// Of segments before this one.
        var before: Int
        var duration: UInt16
        var lastAt: MonotonicTime
    }

    private var active: Active?
    private var finished: [Identity] = []
    private var nextFinished = 0
    /// Ticks a second of the event's clock.
    var clockRate = 8000

    init() { finished.reserveCapacity(Self.memory) }

    /// Whether an event is going on.
    var isActive: Bool { active != nil }

    /// Takes one packet of an event 0...15 and gives the keys that are complete by it, two at most.
    mutating func receive(
        _ event: TelephoneEvent, ssrc: UInt32, timestamp: UInt32, at now: MonotonicTime
    ) -> (first: Key?, second: Key?) {
        let identity = Identity(ssrc: ssrc, timestamp: timestamp, code: event.code)
        guard !finished.contains(identity) else { return (nil, nil) }
        var ended: Key?
        var before = 0
        if var current = active {
            if current.identity == identity {
                current.duration = max(current.duration, event.duration)
                current.lastAt = now
                active = current
                return (event.isEnd ? finish() : nil, nil)
            }
            let step = timestamp &- current.identity.timestamp
            if current.identity.ssrc == ssrc, step >> 31 == 1 {
                // A key of which all packets were overtaken by the next one.
                remember(identity)
                return (key(event.code, Int(event.duration)), nil)
            }
            if current.identity.ssrc == ssrc, current.identity.code == event.code, current.duration == .max, step == 0xffff {
                remember(current.identity)
                before = current.before + 0xffff
            } else {
                ended = finish()
            }
        }
        active = Active(identity: identity, before: before, duration: event.duration, lastAt: now)
        guard event.isEnd else { return (ended, nil) }
        let own = finish()
        return ended == nil ? (own, nil) : (ended, own)
    }

    /// The key whose end packets were all lost, once its time is over.
    mutating func advance(to now: MonotonicTime) -> Key? {
        guard let active, now - active.lastAt >= Self.timeout else { return nil }
        return finish()
    }

    private mutating func finish() -> Key? {
        guard let done = active else { return nil }
        active = nil
        remember(done.identity)
        return key(done.identity.code, done.before + Int(done.duration))
    }

    private func key(_ code: UInt8, _ duration: Int) -> Key? {
        guard let digit = TelephoneEvent.digit(ofCode: code) else { return nil }
        return Key(digit: digit, milliseconds: duration * 1000 / max(clockRate, 1))
    }

    private mutating func remember(_ identity: Identity) {
        if finished.count < Self.memory {
            finished.append(identity)
        } else {
            finished[nextFinished] = identity
            nextFinished = (nextFinished + 1) % Self.memory
        }
    }
}
