// SPDX-License-Identifier: Apache-2.0
//
// One Digest challenge of a 401 or 407 (RFC 7616 §3.3).

import SIP

/// A challenge of the scheme Digest, its values without quotes.
public struct DigestChallenge: Sendable, Hashable {
    public var realm: String
    public var nonce: String
    public var opaque: String?
    /// As it was written; nil means MD5 and is not repeated in the answer.
    public var algorithm: String?
    /// The offered qualities of protection, lower-case; empty: the form without qop.
    public var protections: [String]
    public var isStale: Bool
    public var wantsUserHash: Bool
    /// From Proxy-Authenticate: answered in Proxy-Authorization.
    public var isProxy: Bool

    /// nil for another scheme, or without nonce or realm.
    public init?(_ challenge: Challenge, isProxy: Bool) {
        let parameters = challenge.parameters
        guard challenge.scheme.lowercased() == "digest", let realm = parameters.value("realm"),
            let nonce = parameters.value("nonce")
        else { return nil }
        self.realm = realm
        self.nonce = nonce
        self.isProxy = isProxy
        opaque = parameters.value("opaque")
        algorithm = parameters.value("algorithm")
        protections = (parameters.value("qop") ?? "").split(separator: ",").map { part in
            part.filter { $0 != " " && $0 != "\t" }.lowercased()
        }
        isStale = parameters.value("stale")?.lowercased() == "true"
        wantsUserHash = parameters.value("userhash")?.lowercased() == "true"
    }

    /// What we answer with: `auth` wherever it is offered (B-031), `auth-int` where only that is, nothing where no qop is offered.
    var protection: DigestProtection? {
        if protections.contains("auth") { return .auth }
        return protections.contains("auth-int") ? .authInt : nil
    }

    /// Whether we know a quality of protection that is offered, or none is.
    var hasKnownProtection: Bool { protections.isEmpty || protection != nil }

    /// The challenges of a response, those of WWW-Authenticate first, each kind in order; at most `limit`.
    ///
    /// A response may hold both kinds: a forking proxy gathers them (RFC 3261 §16.7 item 7).
    public static func all(in response: SIPMessage, limit: Int) -> [DigestChallenge] {
        var result: [DigestChallenge] = []
        for (name, isProxy) in [(HeaderName.wwwAuthenticate, false), (HeaderName.proxyAuthenticate, true)] {
            for challenge in response.challenges(name).prefix(limit - result.count) {
                if let digest = DigestChallenge(challenge, isProxy: isProxy) { result.append(digest) }
            }
        }
        return result
    }
}
