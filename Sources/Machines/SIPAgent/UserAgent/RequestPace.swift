// SPDX-License-Identifier: Apache-2.0
//
// How many requests of one kind the other side of a call or subscription may send: each of them costs an answer, an event and
// perhaps a new call, so a flood must not become one of ours.

import Essentials
import SIP

/// So many at once, and so many a second after that.
public struct RequestRate: Sendable, Hashable {
    /// At once, 1...
    public var burst: Int
    /// A second, in the long run, 1...1000.
    public var perSecond: Int

    public init(burst: Int, perSecond: Int) {
        self.burst = burst
        self.perSecond = perSecond
    }

    var text: String { "\(burst) at once, \(perSecond) a second" }
}

/// Lets requests through at a rate.
struct RequestPace {
    /// When nothing is used up any more.
    private var full: MonotonicTime?

    /// Whether one more may come now; counts as come.
    mutating func admits(_ now: MonotonicTime, _ rate: RequestRate) -> Bool {
        let step = 1_000_000_000 / Int64(min(max(rate.perSecond, 1), 1000))
        let start = max(full ?? now, now)
        guard (start - now).nanoseconds + step <= step * Int64(max(rate.burst, 1)) else { return false }
        full = start + .nanoseconds(step)
        return true
    }
}

extension UserAgent {
    /// Whether a request in a call's dialog comes at a bearable rate; else it is answered with a time to wait, and the user is told.
    func isBearable(_ request: SIPMessage, _ method: Method, _ transaction: TransactionID, _ session: InviteSession, now: MonotonicTime)
        -> Bool
    {
        let rate: RequestRate
        let name: String
        let isAdmitted: Bool
        switch method {
        case .invite, .update:
            (rate, name) = (configuration.changesPerCall, "changesPerCall")
            isAdmitted = session.changePace.admits(now, rate)
        case .refer:
            (rate, name) = (configuration.referralsPerCall, "referralsPerCall")
            isAdmitted = session.referralPace.admits(now, rate)
        case .info, .message, .options:
            (rate, name) = (configuration.notesPerCall, "notesPerCall")
            isAdmitted = session.notePace.admits(now, rate)
        default: return true
        }
        if !isAdmitted { slowDown(request, transaction, name, rate, now: now) }
        return isAdmitted
    }

    /// The same of a request outside calls: MESSAGE, REFER, and NOTIFY of one subscription.
    func isBearable(
        _ request: SIPMessage, _ transaction: TransactionID, _ pace: inout RequestPace, _ rate: RequestRate, _ name: String,
        now: MonotonicTime
    ) -> Bool {
        if pace.admits(now, rate) { return true }
        slowDown(request, transaction, name, rate, now: now)
        return false
    }

    /// RFC 5057 §5.1: 500 fails the one request and leaves the dialog as it was; 503 might take the next hop for broken.
    private func slowDown(_ request: SIPMessage, _ transaction: TransactionID, _ name: String, _ rate: RequestRate, now: MonotonicTime) {
        counters.increment(.requestFlood)
        refuse(request, transaction, 500, [(.retryAfter, "\(random.integer(in: 2...10))")], reason: "Too Many Requests In a Row", now: now)
        guard floodWarnings.admits(now) else { return }
        emit(.warning(Causes.flood(request, limit: "\(name): \(rate.text)", refused: counters[.requestFlood])))
    }
}

extension Causes {
    static func flood(_ request: SIPMessage, limit: String, refused: UInt64) -> Cause {
        Cause(
            "call.flood", "The other side sends requests faster than this phone takes them; some were refused.",
            evidence: [
                .init("request", printable(request.method.rawValue)), .init("from", printable("\(request.from.uri)")),
                .init("limit", limit), .init("refused", "\(refused)"),
            ])
    }
}
