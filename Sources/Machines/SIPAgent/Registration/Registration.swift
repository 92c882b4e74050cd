// SPDX-License-Identifier: Apache-2.0
//
// The state of one registration (RFC 3261 §10.2).
//
//   idle ─register─► registering ─2xx─► registered ─refresh due─► registering …
//                        │ 401/407 wrong password, 403, 404, other 4xx/6xx ─► refused   (never again by itself)
//                        │ 408, 5xx, time-out, lost network ─► waiting ─back-off─► registering
//   registered ─unregister─► unregistering ─any end─► idle

import Essentials
import SIP

struct Registration {
    enum State: Sendable, Hashable {
        case idle
        case registering
        case registered(until: MonotonicTime)
        /// The retry timer runs.
        case waiting
        case refused
        case unregistering
    }

    var state = State.idle
    /// The same for all REGISTERs of one boot (§10.2), so that the registrar can order them.
    let callID: String
    let fromTag: String
    var sequence: UInt32 = 0
    /// What is asked for: the configured time or the registrar's Min-Expires.
    var expires: Int
    /// Waits so far since the last success.
    var failures = 0
    /// 423 answers in a row.
    var intervalRounds = 0
    /// The REGISTER in progress.
    var request: ClientRequest?
    /// The Contact that the last REGISTER carried, to find our binding and to take it back after a change.
    var contact: SIPURI?
    /// Contacts that are no longer ours and are removed with the next REGISTER, the latest four.
    var outdatedContacts: [SIPURI] = []
    /// An `unregister` or `register` that came while a REGISTER was in progress.
    var wanted: Wanted?

    enum Wanted: Sendable, Hashable { case register, unregister }

    init(expires: Int, random: RandomSource) {
        callID = random.token(22)
        fromTag = random.token(10)
        self.expires = min(max(expires, 1), Int(UInt32.max))
    }

    /// A Contact that was told is not ours any more.
    mutating func outdate(_ contact: SIPURI) {
        guard !outdatedContacts.contains(where: { $0.matchesBinding(contact) }) else { return }
        if outdatedContacts.count >= 4 { outdatedContacts.removeFirst() }
        outdatedContacts.append(contact)
    }

    /// Whether the registrar may hold a binding of ours.
    var mayBeBound: Bool {
        switch state {
        case .registered, .registering: true
        case .waiting: contact != nil
        case .idle, .refused, .unregistering: false
        }
    }

    /// How long after a grant of `seconds` to refresh: early enough for a time-out and one more try (B-025), and `margin`
    /// seconds before the end if the network asks for that (RFC 8599 §5.5).
    static func refreshDelay(granted seconds: Int, margin: Int? = nil) -> Interval {
        let whole = Interval.seconds(Int64(clamping: seconds))
        let delay = max(whole / 2, whole - .seconds(60))
        guard let margin, margin < seconds else { return delay }
        return min(delay, whole - .seconds(Int64(clamping: margin)))
    }
}
