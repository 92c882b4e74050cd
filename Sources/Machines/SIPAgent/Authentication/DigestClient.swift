// SPDX-License-Identifier: Apache-2.0
//
// Answers challenges: RFC 3261 §22, RFC 7616, RFC 8760.
//
//   request ──► 401/407 nonce A ──► request with credentials for A ──► 2xx            the usual way
//                                     └──► 401 nonce B (stale or not) ──► once more ──► 401 ──► refused
//   next request: credentials for the cached nonce at once, nonce count + 1

import Crypto
import Essentials
import SIP

/// A name and a password for digest authentication.
public struct Credential: Sendable, Hashable {
    /// The realm that it is for; nil: any realm of the account's own server.
    public var realm: String?
    public var username: String
    public var password: Secret

    public init(realm: String? = nil, username: String, password: Secret) {
        self.realm = realm
        self.username = username
        self.password = password
    }
}

/// Bounds on challenges.
public struct DigestLimits: Sendable, Hashable {
    /// Octets of a realm.
    public var realm = 256
    /// Octets of a nonce, and of an opaque value.
    public var nonce = 1024
    /// Challenges looked at in one response.
    public var challenges = 16
    /// Realms whose nonce is kept.
    public var realms = 8
    /// Times that credentials are sent for one request.
    public var rounds = 3

    public init() {}
}

/// Why a challenge is not answered.
public enum DigestFailure: Error, Sendable, Hashable {
    /// The credentials were refused: do not send them again by yourself.
    case refused(realm: String)
    /// No challenge is for a realm that we have credentials for.
    case noCredentials(realm: String)
    /// There are credentials, but the realm is not known as one of the account's own server: somebody else may ask.
    case foreignRealm(String)
    /// The challenge did not come from the account's own server.
    case notOurServer(realm: String)
    /// No challenge names an algorithm and a quality of protection that we support.
    case unsupported(algorithm: String)
    /// A realm, nonce or opaque value beyond `DigestLimits`.
    case tooLong
    /// A 401 or 407 without a challenge that can be read.
    case noChallenge
    /// Challenged again and again (`DigestLimits.rounds`).
    case tooManyRounds

    /// Stable and dotted, for `Cause.code`.
    public var code: String {
        switch self {
        case .refused: "auth.refused"
        case .noCredentials: "auth.noCredentials"
        case .foreignRealm: "auth.foreignRealm"
        case .notOurServer: "auth.notOurServer"
        case .unsupported: "auth.unsupported"
        case .tooLong: "auth.challengeTooLong"
        case .noChallenge: "auth.noChallenge"
        case .tooManyRounds: "auth.tooManyRounds"
        }
    }
}

/// What became of one request's challenges so far: kept by the user of `DigestClient` from the first sending of a
/// request to its final response.
public struct DigestAttempt: Sendable, Hashable {
    struct Answer: Sendable, Hashable {
        var realm: String
        var isProxy: Bool
        var nonce: String
        /// How often a challenge with another nonce, but not stale, was answered after this one.
        var renewals: Int
    }
    var answers: [Answer] = []
    /// How often credentials were sent after a challenge.
    public internal(set) var rounds = 0

    public init() {}
}

/// What a `DigestClient` counts.
public enum DigestCounter: Int, CounterName {
    case challenges, answers, stale, renewed, refused, unsupported, foreignRealm, tooLong, tooManyRounds
}

/// The client side of digest authentication for one account.
///
/// ```swift
/// var attempt = DigestAttempt()
/// for (name, value) in digest.preemptive(for: request, attempt: &attempt) { builder.add(name, value) }
/// // 401 or 407:
/// let fields = try digest.authorize(response, for: request, attempt: &attempt)   // for the request sent again
/// ```
public struct DigestClient {
    private struct Session {
        var realm: String
        var isProxy: Bool
        var algorithm: DigestAlgorithm
        var namesAlgorithm: Bool
        var nonce: String
        var opaque: String?
        var protection: DigestProtection?
        var username: String
        var hashesUsername: Bool
        var passwordHash: Secret
        var clientNonce: String
        var nonceCount: UInt32
    }

    public var credentials: [Credential] {
        didSet { sessions = [] }
    }
    public let limits: DigestLimits
    public private(set) var counters = Counters<DigestCounter>()
    private let computation: DigestComputation
    private let random: RandomSource
    /// In order of their first challenge.
    private var sessions: [Session] = []

    public init(
        credentials: [Credential], cryptography: any Cryptography, random: RandomSource, limits: DigestLimits = DigestLimits()
    ) {
        self.credentials = credentials
        self.limits = limits
        self.random = random
        computation = DigestComputation(cryptography)
    }

    /// Forgets the cached nonces.
    public mutating func forget() { sessions = [] }

    /// The Authorization and Proxy-Authorization fields for a new request, from the nonces known (RFC 7616 §3.6); none before the first challenge.
    public mutating func preemptive(for request: DigestRequest, attempt: inout DigestAttempt) -> [(name: HeaderName, value: String)] {
        var fields: [(name: HeaderName, value: String)] = []
        for index in sessions.indices {
            fields.append(field(at: index, for: request))
            let session = sessions[index]
            record(session.realm, session.isProxy, session.nonce, renewals: 0, in: &attempt)
        }
        return fields
    }

    /// The fields that answer the challenges of `response` (401 or 407): one for each realm that is ours, by its
    /// topmost supported challenge (RFC 8760 §2.4). They replace all such fields of the request.
    ///
    /// - Parameter isOurs: whether a realm is the account's own; others are left unanswered, whatever stands beside them.
    public mutating func authorize(
        _ response: SIPMessage, for request: DigestRequest, attempt: inout DigestAttempt,
        isOurs: (String) -> Bool = { _ in true }
    ) throws(DigestFailure) -> [(name: HeaderName, value: String)] {
        counters.increment(.challenges)
        let chosen = try choose(response, isOurs)
        guard attempt.rounds < limits.rounds else {
            counters.increment(.tooManyRounds)
            throw .tooManyRounds
        }
        for choice in chosen { try admit(choice, in: &attempt) }
        attempt.rounds += 1
        for choice in chosen { open(choice) }
        var fields: [(name: HeaderName, value: String)] = []
        for index in sessions.indices where attempt.answers.contains(where: { names($0, sessions[index]) }) {
            fields.append(field(at: index, for: request))
        }
        counters.increment(.answers)
        return fields
    }

    // MARK: Choice

    private struct Choice {
        var challenge: DigestChallenge
        var algorithm: DigestAlgorithm
        var protection: DigestProtection?
        var credential: Credential
    }

    /// The topmost supported challenge of each of our realms.
    private mutating func choose(_ response: SIPMessage, _ isOurs: (String) -> Bool) throws(DigestFailure) -> [Choice] {
        let challenges = DigestChallenge.all(in: response, limit: limits.challenges)
        var chosen: [Choice] = []
        var failure = DigestFailure.noChallenge
        for challenge in challenges {
            guard challenge.realm.utf8.count <= limits.realm, challenge.nonce.utf8.count <= limits.nonce,
                (challenge.opaque?.utf8.count ?? 0) <= limits.nonce
            else {
                counters.increment(.tooLong)
                failure = .tooLong
                continue
            }
            if chosen.contains(where: { $0.challenge.realm == challenge.realm && $0.challenge.isProxy == challenge.isProxy }) {
                continue
            }
            guard let credential = credential(for: challenge.realm), isOurs(challenge.realm) else {
                counters.increment(.foreignRealm)
                if case .noChallenge = failure {
                    failure = credentials.isEmpty ? .noCredentials(realm: challenge.realm) : .foreignRealm(challenge.realm)
                }
                continue
            }
            guard let algorithm = DigestAlgorithm(token: challenge.algorithm ?? "MD5"), challenge.hasKnownProtection else {
                counters.increment(.unsupported)
                failure = .unsupported(algorithm: challenge.algorithm ?? "MD5")
                continue
            }
            chosen.append(
                Choice(challenge: challenge, algorithm: algorithm, protection: challenge.protection, credential: credential))
        }
        guard !chosen.isEmpty else { throw failure }
        return chosen
    }

    /// One that names the realm goes before one for any realm.
    private func credential(for realm: String) -> Credential? {
        credentials.first { $0.realm == realm } ?? credentials.first { $0.realm == nil }
    }

    /// Whether the challenge may be answered once more for this request.
    private mutating func admit(_ choice: Choice, in attempt: inout DigestAttempt) throws(DigestFailure) {
        let challenge = choice.challenge
        let earlier = attempt.answers.first { $0.realm == challenge.realm && $0.isProxy == challenge.isProxy }
        guard let earlier else {
            record(challenge.realm, challenge.isProxy, challenge.nonce, renewals: 0, in: &attempt)
            return
        }
        if challenge.isStale {
            // RFC 7616 §3.3: the digest was right, the nonce too old.
            counters.increment(.stale)
            record(challenge.realm, challenge.isProxy, challenge.nonce, renewals: earlier.renewals, in: &attempt)
            return
        }
        guard challenge.nonce != earlier.nonce, earlier.renewals == 0 else {
            counters.increment(.refused)
            sessions.removeAll { $0.realm == challenge.realm && $0.isProxy == challenge.isProxy }
            throw .refused(realm: challenge.realm)
        }
        // Servers that do not say stale when a nonce ran out: one silent retry.
        counters.increment(.renewed)
        record(challenge.realm, challenge.isProxy, challenge.nonce, renewals: 1, in: &attempt)
    }

    private func record(_ realm: String, _ isProxy: Bool, _ nonce: String, renewals: Int, in attempt: inout DigestAttempt) {
        let answer = DigestAttempt.Answer(realm: realm, isProxy: isProxy, nonce: nonce, renewals: renewals)
        if let index = attempt.answers.firstIndex(where: { $0.realm == realm && $0.isProxy == isProxy }) {
            attempt.answers[index] = answer
        } else {
            attempt.answers.append(answer)
        }
    }

    private func names(_ answer: DigestAttempt.Answer, _ session: Session) -> Bool {
        answer.realm == session.realm && answer.isProxy == session.isProxy
    }

    // MARK: Sessions

    /// Keeps the challenge's nonce; a nonce that is known already goes on counting (RFC 7616 §3.4).
    private mutating func open(_ choice: Choice) {
        let challenge = choice.challenge
        let known = sessions.firstIndex { $0.realm == challenge.realm && $0.isProxy == challenge.isProxy }
        if let known, sessions[known].nonce == challenge.nonce, sessions[known].algorithm == choice.algorithm { return }
        let credential = choice.credential
        let passwordHash: Secret
        if let known, sessions[known].algorithm.hash == choice.algorithm.hash, sessions[known].username == credential.username {
            passwordHash = sessions[known].passwordHash
        } else {
            passwordHash = computation.passwordHash(
                choice.algorithm.hash, username: credential.username, realm: challenge.realm, password: credential.password)
        }
        let session = Session(
            realm: challenge.realm, isProxy: challenge.isProxy, algorithm: choice.algorithm,
            namesAlgorithm: challenge.algorithm != nil, nonce: challenge.nonce, opaque: challenge.opaque,
            protection: choice.protection, username: credential.username, hashesUsername: challenge.wantsUserHash,
            passwordHash: passwordHash, clientNonce: random.token(20), nonceCount: 0)
        if let known {
            sessions[known] = session
        } else {
            if sessions.count >= limits.realms { sessions.removeFirst() }
            sessions.append(session)
        }
    }

    private mutating func field(at index: Int, for request: DigestRequest) -> (name: HeaderName, value: String) {
        sessions[index].nonceCount &+= 1
        let session = sessions[index]
        let count = nonceCountText(session.nonceCount)
        let response = computation.response(
            session.algorithm, passwordHash: session.passwordHash, nonce: session.nonce, request: request,
            protection: session.protection, nonceCount: count, clientNonce: session.clientNonce)
        let username =
            session.hashesUsername
            ? computation.userHash(session.algorithm.hash, username: session.username, realm: session.realm) : session.username
        var text = "Digest username=" + quotedDigestValue(username)
        text += ", realm=" + quotedDigestValue(session.realm)
        text += ", nonce=" + quotedDigestValue(session.nonce)
        text += ", uri=" + quotedDigestValue(request.uri)
        text += ", response=\"" + response + "\""
        if session.namesAlgorithm { text += ", algorithm=" + session.algorithm.token }
        if session.protection != nil || session.algorithm.isSession {
            text += ", cnonce=\"" + session.clientNonce + "\""
        }
        if let opaque = session.opaque { text += ", opaque=" + quotedDigestValue(opaque) }
        if let protection = session.protection { text += ", qop=" + protection.rawValue + ", nc=" + count }
        if session.hashesUsername { text += ", userhash=true" }
        return (session.isProxy ? .proxyAuthorization : .authorization, text)
    }
}

/// A quoted-string (RFC 3261 §25.1).
func quotedDigestValue(_ text: String) -> String {
    var result: [UInt8] = [UInt8(ascii: "\"")]
    result.reserveCapacity(text.utf8.count + 2)
    for byte in text.utf8 {
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { result.append(UInt8(ascii: "\\")) }
        result.append(byte)
    }
    result.append(UInt8(ascii: "\""))
    return String(decoding: result, as: UTF8.self)
}
