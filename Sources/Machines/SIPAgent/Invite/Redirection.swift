// SPDX-License-Identifier: Apache-2.0
//
// Following redirections (RFC 3261 §8.1.3.4, §21.3): the Contacts of a 3xx become targets, highest q first, and those of a
// later 3xx come before what is left of an earlier one. No address is tried twice.
//
//   INVITE b ─ 302 c;q=1, d;q=0.5 ─► INVITE c ─ 302 e ─► INVITE e ─ 486 ─► INVITE d ─ 404 ─► the best failure: 486

import Essentials
import SIP

/// Where a redirected INVITE has been and may still go.
package struct Redirection {
    /// Why an address was not followed.
    enum Reason: String {
        case unusable = "not a SIP or telephone address"
        case downgrade = "less secure"
        case loop = "already tried"
        case limit = "limit reached"
    }

    struct Target {
        var uri: URI
        /// How many redirections led here.
        var depth: Int
    }

    /// Request-URIs in the order of their trying, the called one first.
    private(set) var tried: [URI]
    private(set) var untried: [Target] = []
    /// For the evidence; not more than `memory`.
    private(set) var leftAside: [(uri: URI, reason: Reason)] = []
    private var depth = 0
    private(set) var best: RequestOutcome?

    private static let memory = 8

    init(from uri: URI) { tried = [uri] }

    /// Takes up the Contacts of a 3xx, those with the highest q first.
    mutating func take(
        _ contacts: [NameAddress], maximumDepth: Int, maximumTargets: Int, mayCallNumbers: Bool,
        _ count: (AgentCounter) -> Void
    ) {
        var found: [Target] = []
        for contact in Self.ordered(contacts) {
            let uri = contact.uri.asRequestURI
            let isOverLimit = depth >= maximumDepth || tried.count - 1 + untried.count + found.count >= maximumTargets
            if let reason = objection(uri, found, mayCallNumbers: mayCallNumbers) ?? (isOverLimit ? .limit : nil) {
                count(Self.counter(reason))
                if leftAside.count < Self.memory { leftAside.append((uri, reason)) }
            } else {
                found.append(Target(uri: uri, depth: depth + 1))
            }
        }
        untried.insert(contentsOf: found, at: 0)
    }

    /// The next address to try.
    mutating func next() -> URI? {
        guard !untried.isEmpty else { return nil }
        let target = untried.removeFirst()
        depth = target.depth
        tried.append(target.uri)
        return target.uri
    }

    /// Keeps a failure if it says more than those before; the first of equals stays.
    mutating func note(_ outcome: RequestOutcome) {
        if let best, Self.rank(best) <= Self.rank(outcome) { return }
        best = outcome
    }

    /// Nobody anywhere wants the call: what is left is not tried (§21.6).
    mutating func giveUp() { untried = [] }

    /// The addresses that a call to `uri` would follow, in their order (for tests).
    package static func follows(_ contacts: [NameAddress], from uri: URI) -> [URI] {
        var redirection = Redirection(from: uri)
        redirection.take(contacts, maximumDepth: 1, maximumTargets: 10, mayCallNumbers: true) { _ in }
        return redirection.untried.map(\.uri)
    }

    // MARK: Order

    private static func ordered(_ contacts: [NameAddress]) -> [NameAddress] {
        contacts.enumerated().map { (q: thousandths($0.element.parameters.value("q")), offset: $0.offset, contact: $0.element) }
            .sorted { ($1.q, $0.offset) < ($0.q, $1.offset) }.map(\.contact)
    }

    /// A qvalue (§25.1) in thousandths; none or an unreadable one counts as 1.
    package static func thousandths(_ text: String?) -> Int {
        guard let text else { return 1000 }
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let whole = parts.first, whole == "0" || whole == "" || whole == "1" else { return 1000 }
        if whole == "1" { return 1000 }
        let digits = parts.count > 1 ? parts[1].prefix(3) : ""
        guard digits.utf8.allSatisfy({ (48...57).contains($0) }) else { return 1000 }
        return Int(digits + String(repeating: "0", count: 3 - digits.utf8.count)) ?? 1000
    }

    /// Lower says more: a decision of a person before the trouble of a server, that before silence.
    private static func rank(_ outcome: RequestOutcome) -> Int {
        switch outcome {
        case .response(let response, _, _):
            switch response.statusCode {
            case 600...: 0
            case 408: 3
            case 400..<500: 1
            case 500..<600: 2
            default: 6
            }
        case .failure(.timedOut): 3
        case .failure(.transport): 4
        case .failure: 5
        }
    }

    // MARK: What may be followed

    private func objection(_ uri: URI, _ found: [Target], mayCallNumbers: Bool) -> Reason? {
        if !isUsable(uri, mayCallNumbers: mayCallNumbers) { return .unusable }
        if isDowngrade(uri) { return .downgrade }
        return isKnown(uri, found) ? .loop : nil
    }

    private func isUsable(_ uri: URI, mayCallNumbers: Bool) -> Bool {
        switch uri {
        case .sip: true
        case .tel: mayCallNumbers
        case .other: false
        }
    }

    /// A call to a sips: URI, or one that got to one, stays secure.
    private func isDowngrade(_ uri: URI) -> Bool {
        guard tried.contains(where: { $0.sip?.isSecure ?? false }) else { return false }
        return !(uri.sip?.isSecure ?? false)
    }

    private func isKnown(_ uri: URI, _ found: [Target]) -> Bool {
        tried.contains { Self.isSame($0, uri) } || untried.contains { Self.isSame($0.uri, uri) }
            || found.contains { Self.isSame($0.uri, uri) }
    }

    private static func isSame(_ one: URI, _ other: URI) -> Bool {
        if let one = one.sip, let other = other.sip { return one.isEquivalent(to: other) }
        return one == other
    }

    private static func counter(_ reason: Reason) -> AgentCounter {
        switch reason {
        case .unusable, .downgrade: .redirectionUnusable
        case .loop: .redirectionLoop
        case .limit: .redirectionLimit
        }
    }
}

extension UserAgent {
    /// Sends a redirected INVITE to its next address; nil: it is under way. Else what the user is to be told.
    func redirect(_ request: ClientRequest, _ outcome: RequestOutcome, now: MonotonicTime) -> RequestOutcome? {
        guard case .invite = request.purpose, !request.isAbandoned else { return outcome }
        var response: SIPMessage?
        if case .response(let message, _, _) = outcome { response = message }
        let status = response?.statusCode ?? 0
        if (200..<300).contains(status) { return outcome }
        if let response, (300..<400).contains(status) {
            var redirection = request.redirection ?? Redirection(from: request.requestURI)
            redirection.take(
                response.contacts, maximumDepth: configuration.maximumRedirections,
                maximumTargets: configuration.maximumRedirectionTargets,
                mayCallNumbers: request.account.map { accounts[$0] != nil } ?? false
            ) { counters.increment($0) }
            request.redirection = redirection
        }
        guard request.redirection != nil else { return outcome }
        request.redirection?.note(outcome)
        if status >= 600 { request.redirection?.giveUp() }
        guard life == .running, let uri = request.redirection?.next() else { return request.redirection?.best ?? outcome }
        counters.increment(.redirectionFollowed)
        aim(request, at: uri)
        locate(request.nextHop, account: request.account, source: nil, .request(request), now: now)
        return nil
    }

    /// The same Call-ID, From and To, the next number, another Request-URI; nothing that the old server was told in
    /// confidence goes along.
    private func aim(_ request: ClientRequest, at uri: URI) {
        let account = request.account.flatMap { accounts[$0] }
        request.requestURI = uri
        request.nextHop = uri
        if let account, let hop = account.firstHop ?? (uri.sip == nil ? account.serverURI : nil) { request.nextHop = .sip(hop) }
        request.sequence &+= 1
        request.message.setRequestURI(uri)
        request.message.set(.cseq, "\(request.sequence) INVITE")
        request.message.removeAll(.authorization)
        request.message.removeAll(.proxyAuthorization)
        request.credentials = []
        request.attempt = DigestAttempt()
        request.challengeRounds = 0
        request.challengeFailure = nil
        request.targets = []
        request.triedTargets = 0
        request.transaction = nil
        request.lostFlow = false
        request.reliable = []
        if case .invite(let id) = request.purpose, let session = sessions[id] { forgetEarlyDialogs(session) }
    }
}
