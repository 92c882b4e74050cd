// SPDX-License-Identifier: Apache-2.0
//
// Who asks: digest authentication as registrar (401, RFC 3261 §22.2) and as proxy (407, §22.3).

import Crypto
import Essentials
import SIP
import SIPAgent

/// What the credentials of a request say.
enum Authentication {
    /// The request comes from this user.
    case user(String)
    /// Ask for credentials with this response.
    case challenge(MessageBuilder)
    /// They are wrong: asking again would not help (RFC 3261 §22.1 lets a server answer 403).
    case refused(Int, String)
}

extension SIPServer {
    func authenticate(_ request: SIPMessage, asProxy: Bool, now: MonotonicTime) -> Authentication {
        let field: HeaderName = asProxy ? .proxyAuthorization : .authorization
        let passwords = passwords
        switch digest.verify(request, field: field, now: now, password: { passwords[$0] }) {
        case .valid(let username): return .user(username)
        case .absent: return .challenge(challenge(request, asProxy: asProxy, isStale: false, now: now))
        case .stale: return .challenge(challenge(request, asProxy: asProxy, isStale: true, now: now))
        case .wrong: return .refused(403, "Wrong User Name or Password")
        case .malformed: return .refused(400, "Credentials Not Understood")
        }
    }

    private func challenge(_ request: SIPMessage, asProxy: Bool, isStale: Bool, now: MonotonicTime) -> MessageBuilder {
        var response = request.makeResponse(status: asProxy ? 407 : 401, toTag: random.token(10))
        for value in digest.challenges(stale: isStale, now: now) {
            response.add(asProxy ? .proxyAuthenticate : .wwwAuthenticate, value)
        }
        return response
    }

    /// Takes the credentials that were for this proxy out of what it forwards; those for others stay (RFC 3261 §22.3).
    func removeOwnCredentials(from copy: inout MessageBuilder, of request: SIPMessage) {
        let all = request.values(.proxyAuthorization)
        guard !all.isEmpty else { return }
        let others = all.filter { value in
            (try? Credentials(value))?.parameters.value("realm") != digest.configuration.realm
        }
        guard others.count < all.count else { return }
        copy.removeAll(.proxyAuthorization)
        for value in others { copy.add(.proxyAuthorization, value) }
    }
}
