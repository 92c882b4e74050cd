// SPDX-License-Identifier: Apache-2.0
//
// The server side of digest authentication: RFC 3261 §22, RFC 7616, RFC 8760.
//
//   nonce = hex( time of issue: 8 octets | H(key | H(key | time | realm)): 16 octets )
//
// A nonce needs no memory when it is issued: whether it is ours, and how old it is, stands in itself. Memory is taken
// only by nonces that valid credentials have used: for the nonce counts seen.

import Crypto
import Essentials
import SIP

/// Settings of a `DigestServer`.
public struct DigestServerConfiguration: Sendable {
    public var realm: String
    /// Offered in this order, one challenge each.
    public var algorithms: [HashAlgorithm] = [.sha256, .md5]
    /// How long a nonce may be used; after it the answer is `stale`.
    public var nonceLifetime = Interval.seconds(300)
    /// Used nonces whose counts are remembered; beyond it the oldest become stale.
    public var rememberedNonces = 10_000
    /// Octets of one Authorization value that is looked at.
    public var fieldOctets = 4096

    public init(realm: String) { self.realm = realm }
}

/// What credentials are worth.
public enum DigestVerdict: Sendable, Hashable {
    /// They prove the password of this user.
    case valid(username: String)
    /// There are none for this realm: challenge.
    case absent
    /// Right, but the nonce is too old, from another run, or its count was used: challenge with `stale: true`.
    case stale
    /// Unknown user or wrong password.
    case wrong(username: String)
    /// Cannot be read, or does not fit the request.
    case malformed
}

/// Issues challenges and checks credentials.
public struct DigestServer {
    /// The nonce counts seen: the highest, and bit n of `window` for the count n below it.
    private struct Use {
        var highest: UInt32
        var window: UInt64
    }

    public let configuration: DigestServerConfiguration
    private let computation: DigestComputation
    private let key: Secret
    private var uses: [String: Use] = [:]
    /// The keys of `uses` in order of first use, from `usesStart` on.
    private var usesInOrder: [(nonce: String, issued: MonotonicTime)] = []
    private var usesStart = 0
    /// Nonces issued before it are stale: what was used of them is forgotten.
    private var floor: MonotonicTime

    /// The time that the last nonce carries.
    private var lastIssue = MonotonicTime(nanoseconds: .min)

    /// `now` at creation: nonces from before are from another run.
    public init(
        configuration: DigestServerConfiguration, cryptography: any Cryptography, random: RandomSource,
        now: MonotonicTime = MonotonicTime(nanoseconds: .min)
    ) {
        self.configuration = configuration
        computation = DigestComputation(cryptography)
        var bytes: [UInt8] = []
        for _ in 0..<4 { bytes.append(contentsOf: octets(random.next())) }
        key = Secret(utf8: bytes)
        floor = now
    }

    /// The values of WWW-Authenticate (or Proxy-Authenticate), one for each algorithm, in order.
    public mutating func challenges(stale: Bool = false, now: MonotonicTime) -> [String] {
        // No two challenges share a nonce, though they leave in the same instant: each counts its uses from one.
        lastIssue = max(now, lastIssue + .nanoseconds(1))
        let nonce = nonce(at: lastIssue)
        return configuration.algorithms.map { algorithm in
            var text = "Digest realm=" + quotedDigestValue(configuration.realm) + ", nonce=\"" + nonce + "\""
            text += ", algorithm=" + DigestAlgorithm(algorithm).token + ", qop=\"auth\""
            if stale { text += ", stale=true" }
            return text
        }
    }

    /// Checks the credentials of a request: those of `field` (Authorization or Proxy-Authorization) for our realm.
    /// `password` is asked for a user name; nil means that there is no such user.
    public mutating func verify(
        _ request: SIPMessage, field: HeaderName = .authorization, now: MonotonicTime, password: (String) -> Secret?
    ) -> DigestVerdict {
        for value in request.values(field).prefix(8) where value.utf8.count <= configuration.fieldOctets {
            guard let credentials = try? Credentials(value), credentials.isDigest,
                credentials.parameters.value("realm") == configuration.realm
            else { continue }
            return verify(credentials, method: request.method, body: Array(request.body), now: now, password: password)
        }
        return .absent
    }

    /// Checks one value.
    public mutating func verify(
        _ credentials: Credentials, method: Method, body: [UInt8], now: MonotonicTime, password: (String) -> Secret?
    ) -> DigestVerdict {
        let parameters = credentials.parameters
        guard let username = parameters.value("username"), let nonce = parameters.value("nonce"),
            let uri = parameters.value("uri"), let response = parameters.value("response"),
            let algorithm = DigestAlgorithm(token: parameters.value("algorithm") ?? "MD5"),
            configuration.algorithms.contains(algorithm.hash)
        else { return .malformed }
        let countText = parameters.value("nc") ?? ""
        // Our challenges offer qop=auth and nothing else: the count is what a replay is seen by.
        guard let protection = DigestProtection(rawValue: parameters.value("qop")?.lowercased() ?? ""),
            countText.utf8.count == 8, let count = UInt32(countText, radix: 16), count > 0,
            let clientNonce = parameters.value("cnonce"), !clientNonce.isEmpty
        else { return .malformed }
        guard let issued = issueTime(of: nonce), issued <= max(now, lastIssue) else { return .stale }
        guard let secret = password(username) else { return .wrong(username: username) }
        let hash = computation.passwordHash(
            algorithm.hash, username: username, realm: configuration.realm, password: secret)
        let expected = computation.response(
            algorithm, passwordHash: hash, nonce: nonce, request: DigestRequest(method: method, uri: uri, body: body),
            protection: protection, nonceCount: countText, clientNonce: clientNonce)
        guard isEqualInConstantTime(expected, response) else { return .wrong(username: username) }
        guard issued >= floor, now - issued <= configuration.nonceLifetime, use(nonce, issued, count, now) else { return .stale }
        return .valid(username: username)
    }

    // MARK: Nonces

    private func nonce(at time: MonotonicTime) -> String {
        let stamp = octets(UInt64(bitPattern: time.nanoseconds))
        return hexadecimal(stamp + seal(stamp))
    }

    private func seal(_ stamp: [UInt8]) -> [UInt8] {
        key.reveal { key in
            let inner = computation.cryptography.hash(.sha256, key + stamp + Array(configuration.realm.utf8))
            return Array(computation.cryptography.hash(.sha256, key + inner).prefix(16))
        }
    }

    private func issueTime(of nonce: String) -> MonotonicTime? {
        guard nonce.utf8.count == 48, let stamp = UInt64(nonce.prefix(16), radix: 16) else { return nil }
        let time = MonotonicTime(nanoseconds: Int64(bitPattern: stamp))
        return isEqualInConstantTime(self.nonce(at: time), nonce) ? time : nil
    }

    /// Notes the use of a count; false if it was used before or lies too far back to know.
    private mutating func use(_ nonce: String, _ issued: MonotonicTime, _ count: UInt32, _ now: MonotonicTime) -> Bool {
        guard var known = uses[nonce] else {
            forgetOld(now)
            guard issued >= floor else { return false }
            uses[nonce] = Use(highest: count, window: 1)
            usesInOrder.append((nonce, issued))
            return true
        }
        if count > known.highest {
            let shift = count - known.highest
            known.window = (shift < 64 ? known.window << UInt64(shift) : 0) | 1
            known.highest = count
        } else {
            let back = known.highest - count
            guard back < 64, known.window & (1 << UInt64(back)) == 0 else { return false }
            known.window |= 1 << UInt64(back)
        }
        uses[nonce] = known
        return true
    }

    private mutating func forgetOld(_ now: MonotonicTime) {
        while usesStart < usesInOrder.count {
            let oldest = usesInOrder[usesStart]
            let isOld = now - oldest.issued > configuration.nonceLifetime
            guard isOld || uses.count >= max(1, configuration.rememberedNonces) else { break }
            if !isOld { floor = max(floor, oldest.issued + .nanoseconds(1)) }
            uses[oldest.nonce] = nil
            usesStart += 1
        }
        if usesStart > 1024, usesStart * 2 > usesInOrder.count {
            usesInOrder.removeFirst(usesStart)
            usesStart = 0
        }
    }
}

private func octets(_ number: UInt64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) } }

/// Compares without telling by its time how much is equal.
private func isEqualInConstantTime(_ one: String, _ other: String) -> Bool {
    let first = Array(one.utf8)
    let second = Array(other.utf8)
    guard first.count == second.count else { return false }
    var difference: UInt8 = 0
    for index in first.indices { difference |= first[index] ^ second[index] }
    return difference == 0
}
