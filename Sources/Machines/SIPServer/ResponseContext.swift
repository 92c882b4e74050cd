// SPDX-License-Identifier: Apache-2.0
//
// What a stateful proxy keeps for one request (RFC 3261 §16.2, "response context").
//
//   waiting groups ──start──▶ calling ──1xx──▶ proceeding ──final, failure──▶ completed
//                                └──────── CANCEL (2xx or 6xx elsewhere, caller) ────┘

import Essentials
import SIP
import SIPAgent

/// A place to which a request is to go.
struct ProxyTarget {
    var uri: URI
    var hop: SignallingTarget
    /// What is left of the Route, the next hop's own first.
    var routes: [NameAddress]
    /// Thousandths; targets of one preference are tried together, the highest first.
    var preference = 1000
    /// Set where only this flow reaches the target.
    var side: RouteToken.Side?
}

/// One attempt for one target.
struct Branch {
    enum State {
        case calling
        case proceeding
        case completed(Outcome)
    }

    enum Outcome {
        case response(SIPMessage)
        /// Timed out (408), unreachable (503), or given up after CANCEL (487).
        case local(Int)

        var status: Int {
            switch self {
            case .response(let message): message.statusCode
            case .local(let status): status
            }
        }
    }

    var client: TransactionID
    var state = State.calling
    var isCancelled = false
    /// Timer C, or the guard after a CANCEL; moves on with each provisional response.
    var deadline: MonotonicTime?

    var isPending: Bool {
        if case .completed = state { return false }
        return true
    }
}

/// What fires in the proxy.
enum ProxyTimer {
    /// Timer C of a branch (RFC 3261 §16.8).
    case branch(TransactionID, Int)
    /// The ring time of the group that was started as the n-th.
    case ring(TransactionID, group: Int)
}

final class ResponseContext {
    let server: TransactionID
    let request: SIPMessage
    let source: MessageSource
    let routing: Routing
    let fingerprint: String
    var branches: [Branch] = []
    /// Targets not tried yet, in groups of falling preference.
    var waiting: [[ProxyTarget]] = []
    var groupsStarted = 0
    /// A final response was forwarded.
    var isAnswered = false
    /// The caller sent CANCEL.
    var isCancelled = false
    /// The server transaction has ended.
    var isServerEnded = false
    /// Client transactions that have not ended.
    var openClients = 0

    init(server: TransactionID, request: SIPMessage, source: MessageSource, routing: Routing, fingerprint: String) {
        self.server = server
        self.request = request
        self.source = source
        self.routing = routing
        self.fingerprint = fingerprint
    }

    var isComplete: Bool { !branches.contains { $0.isPending } }

    /// Puts the targets into groups; those over the limit are left out and their number is told.
    func enqueue(_ targets: [ProxyTarget], limit: Int, dropped: (Int) -> Void) {
        if targets.count > limit { dropped(targets.count - limit) }
        for target in targets.prefix(max(1, limit)) {
            if let last = waiting.last?.last, last.preference == target.preference {
                waiting[waiting.count - 1].append(target)
            } else {
                waiting.append([target])
            }
        }
    }

    /// The best outcome (RFC 3261 §16.7 step 6): a 6xx, else the lowest class, within 4xx what helps the caller most.
    var best: Branch.Outcome? {
        let outcomes = branches.compactMap { branch -> Branch.Outcome? in
            if case .completed(let outcome) = branch.state { return outcome }
            return nil
        }
        func rank(_ outcome: Branch.Outcome) -> Int {
            let status = outcome.status
            if status >= 600 { return 0 }
            if [401, 407, 415, 420, 484].contains(status) { return 400 }
            // A branch that was given up says less than one that was answered.
            if status == 408 || status == 487 { return 499 }
            if status == 503 { return 599 }
            return status / 100 * 100 + 1
        }
        return outcomes.enumerated().min { (rank($0.element), $0.offset) < (rank($1.element), $1.offset) }?.element
    }

    /// Challenges of every 401 and 407 but the one chosen (RFC 3261 §16.7 step 7).
    func otherChallenges(than chosen: SIPMessage) -> [(HeaderName, String)] {
        var challenges: [(HeaderName, String)] = []
        for case .completed(.response(let response)) in branches.map(\.state)
        where response !== chosen && (response.statusCode == 401 || response.statusCode == 407) {
            for name in [HeaderName.wwwAuthenticate, .proxyAuthenticate] {
                challenges += response.values(name).map { (name, $0) }
            }
        }
        return challenges
    }
}
