// SPDX-License-Identifier: Apache-2.0
//
// Challenges to our requests (RFC 3261 §22). Only the account's own server gets an answer. A server is known by its realm, as
// whatever it passes on comes from its address: REGISTER teaches it; without that it is the name of the account's domain, registrar or
// proxy, or what is configured. Within a dialog only a realm counts that was used before: a peer that challenges our BYE to harvest a
// digest gets nothing (V-027).

import Crypto
import Essentials
import SIP

extension UserAgent {
    /// Credentials that are likely to be wanted, from nonces known before: for the registrar all, for a proxy only what
    /// proxies consume, for anyone else none.
    func addKnownCredentials(to request: ClientRequest) {
        guard let account = request.account.flatMap({ accounts[$0] }),
            request.targets.allSatisfy({ account.isServer($0) })
        else { return }
        let isRegister = request.method == .register
        let fields = account.digest.preemptive(for: digestRequest(request), attempt: &request.attempt)
        guard !fields.isEmpty else { return }
        // What is kept back was not sent, so a challenge for it is the first one.
        if !isRegister { request.attempt.answers.removeAll { !$0.isProxy } }
        setCredentials(fields.filter { isRegister || $0.name == .proxyAuthorization }, on: request)
    }

    /// Sends the request again with credentials (§22.2: the same Call-ID, From and To, CSeq + 1); false: the challenge is
    /// not to be answered, and `request.challengeFailure` says why.
    func answerChallenge(_ response: SIPMessage, _ request: ClientRequest, now: MonotonicTime) -> Bool {
        guard let account = request.account.flatMap({ accounts[$0] }), let target = request.target, account.isServer(target) else {
            counters.increment(.challengeIgnored)
            let realm = DigestChallenge.all(in: response, limit: 1).first?.realm
            let hasPassword = request.account.flatMap { accounts[$0] }?.configuration.credentials.isEmpty == false
            request.challengeFailure = realm.map { hasPassword ? .notOurServer(realm: $0) : .noCredentials(realm: $0) } ?? .noChallenge
            return false
        }
        guard request.challengeRounds < configuration.maximumChallengeRounds else {
            counters.increment(.challengeRoundsExceeded)
            request.challengeFailure = .tooManyRounds
            return false
        }
        request.challengeRounds += 1
        let fields: [(name: HeaderName, value: String)]
        do {
            fields = try account.digest.authorize(
                response, for: digestRequest(request), attempt: &request.attempt
            ) { isKnown($0, account) || mayLearn($0, request, account) }
        } catch {
            counters.increment(.challengeIgnored)
            request.challengeFailure = error
            return false
        }
        setCredentials(fields, on: request)
        for answer in request.attempt.answers where mayLearn(answer.realm, request, account) { account.remember(realm: answer.realm) }
        raiseSequence(request)
        return transmit(request, to: target, now: now)
    }

    private func digestRequest(_ request: ClientRequest) -> DigestRequest {
        DigestRequest(method: request.method, uri: "\(request.requestURI)")
    }

    private func setCredentials(_ fields: [(name: HeaderName, value: String)], on request: ClientRequest) {
        request.message.removeAll(.authorization)
        request.message.removeAll(.proxyAuthorization)
        request.credentials = fields.map { ($0.name, $0.value) }
        for (name, value) in fields { request.message.add(name, value) }
    }

    /// REGISTER goes to the account's own server and no further, so what it asks under is its realm. Another request goes on to
    /// somebody who may challenge too: under a realm of the server's own name only, and not once somebody was reached.
    private func mayLearn(_ realm: String, _ request: ClientRequest, _ account: Account) -> Bool {
        switch request.purpose {
        case .register: true
        case .invite(let id): account.names(realm) && (sessions[id]?.earlyDialogs.isEmpty ?? false)
        case .refer(let id): account.names(realm) && referrals.sent[id]?.session == nil
        case .event(let purpose): account.names(realm) && !purpose.isInDialog
        case .reinvite, .bye, .info, .prack, .update, .notify, .abandonFork: false
        }
    }

    private func isKnown(_ realm: String, _ account: Account) -> Bool {
        account.realms.contains(realm) || account.configuration.credentials.contains { $0.realm == realm }
    }

    /// The next sequence number, also for the session's dialog (§22.2).
    func raiseSequence(_ request: ClientRequest) {
        switch request.purpose {
        case .register(let id):
            if let account = accounts[id] {
                account.registration.sequence &+= 1
                request.sequence = account.registration.sequence
            }
        case .reinvite(let id), .bye(let id), .info(let id):
            request.sequence = sessions[id]?.dialog?.nextSequence() ?? (request.sequence &+ 1)
        case .prack(let id, let tag), .update(let id, let tag):
            request.sequence = sessions[id].flatMap { nextSequence(of: $0, tag: tag) } ?? (request.sequence &+ 1)
        case .refer(let id):
            let dialog = referrals.sent[id]?.dialog
            request.sequence = dialog.flatMap { withDialog($0) { $0.nextSequence() } } ?? (request.sequence &+ 1)
        case .notify(let id):
            let dialog = referrals.received[id]?.dialog
            request.sequence = dialog.flatMap { withDialog($0) { $0.nextSequence() } } ?? (request.sequence &+ 1)
        case .event(let purpose): request.sequence = nextSequence(of: purpose) ?? (request.sequence &+ 1)
        case .invite, .abandonFork:
            request.sequence &+= 1
        }
        request.message.set(.cseq, "\(request.sequence) \(request.method.rawValue)")
    }
}
