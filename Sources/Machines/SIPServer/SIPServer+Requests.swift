// SPDX-License-Identifier: Apache-2.0
//
// What is done with a request: RFC 3261 §10.3 for REGISTER, §16.3 to §16.5 for all that is forwarded.
//
//   request → validate → who is it → route → targets → forward to each (SIPServer+Forwarding)

import Essentials
import SIP
import SIPAgent

/// Where a request goes, after the Route and Request-URI that are the proxy's own were taken off (RFC 3261 §16.4).
struct Routing {
    var uri: URI
    var routes: [NameAddress]
    /// The token of the dialog that this proxy saw begin.
    var token: RouteToken?
    /// Within a dialog, and by a Route of ours whose token cannot be read: it is of a run of this server before a restart.
    var isOfLostDialog = false
}

extension SIPServer {
    func receive(_ request: SIPMessage, _ transaction: TransactionID, _ source: MessageSource, now: MonotonicTime) {
        switch request.method {
        case .register where request.routes.allSatisfy { $0.uri.sip.map { isOwn($0, source) } ?? false }:
            register(request, transaction, source, now: now)
        default:
            proxy(request, transaction, source, now: now)
        }
    }

    // MARK: REGISTER

    private func register(
        _ request: SIPMessage, _ transaction: TransactionID, _ source: MessageSource, now: MonotonicTime
    ) {
        func answer(_ response: MessageBuilder) { stack.respond(transaction, response, now: now) }
        guard let domain = request.requestURI.sip, isOwn(domain, source) else {
            return refuse(request, transaction, source, 403, "Not a Domain of Ours", now: now)
        }
        let missing = request.require.filter { !["path", "gruu"].contains($0.lowercased()) }
        guard missing.isEmpty else {
            return refuse(request, transaction, source, 420, nil, [(.unsupported, missing.joined(separator: ", "))], now: now)
        }
        guard request.paths.count <= configuration.maximumPath else {
            return refuse(request, transaction, source, 403, "Path Too Long", now: now)
        }
        guard let aor = request.to.uri.sip, isOwn(aor, source), let user = aor.user, !user.isEmpty else {
            return refuse(request, transaction, source, 404, nil, now: now)
        }
        if configuration.authenticatesRegistrations {
            switch authenticate(request, asProxy: false, now: now) {
            case .user(let name) where name == user: break
            case .user: return refuse(request, transaction, source, 403, "Not Your Address", now: now)
            case .challenge(let response):
                counters.increment(.registrationsChallenged)
                return answer(response)
            case .refused(let status, let reason):
                counters.increment(.registrationsRefused)
                return refuse(request, transaction, source, status, reason, now: now)
            }
        }
        let outcome = registrar.register(
            request, user: user, source: source, tag: random.token(10), makeName: { "tgruu." + random.token(24) }, now: now)
        switch outcome {
        case .refused(let response, let status, let counter):
            counters.increment(counter)
            emit(.refused(method: .register, user: user, status: status, source: source.remote))
            answer(response)
        case .accepted(let response, let added, let removed):
            counters.increment(.registrationsAccepted)
            for binding in removed { emit(.unregistered(user: user, contact: "\(binding.uri)")) }
            for binding in added {
                let seconds = (binding.expires - now).nanoseconds / 1_000_000_000
                emit(
                    .registered(
                        user: user, contact: "\(binding.uri)", expires: UInt32(clamping: seconds), source: source.remote))
            }
            answer(response)
        }
    }

    // MARK: Everything else

    private func proxy(
        _ request: SIPMessage, _ transaction: TransactionID, _ source: MessageSource, now: MonotonicTime
    ) {
        func refused(_ status: Int, _ reason: String? = nil, _ headers: [(HeaderName, String)] = []) {
            refuse(request, transaction, source, status, reason, headers, now: now)
        }
        // §16.3: can this be forwarded at all?
        guard request.requestURI.sip != nil else { return refused(416) }
        let routing = route(request, source)
        guard let uri = routing.uri.sip else { return refused(416) }
        let isOwnTarget = routing.routes.isEmpty && isOwn(uri, source)
        if isOwnTarget, uri.user ?? "" == "" { return answerForServer(request, transaction, source, now: now) }
        if let left = request.maxForwards, left <= 0 {
            counters.increment(.maxForwardsReached)
            return refused(483)
        }
        guard request.proxyRequire.isEmpty else {
            return refused(420, nil, [(.unsupported, request.proxyRequire.joined(separator: ", "))])
        }
        let fingerprint = fingerprint(of: request, routing)
        if fingerprints[fingerprint] != nil, request.vias.contains(where: isOwnVia) {
            counters.increment(.loopsDetected)
            return refused(482)
        }
        guard contexts.count < configuration.maximumRequests else {
            counters.increment(.requestsLimit)
            return refused(503, "Too Many Requests in Progress", [(.retryAfter, "5")])
        }
        // Inside a dialog that this proxy saw begin nobody is asked again.
        if routing.token == nil {
            // After a restart it cannot tell: whoever goes on is asked, and may reach who is registered here.
            let leadsHome = routing.isOfLostDialog && registeredHop(for: request, uri, source, nil, now: now) != nil
            switch admit(request, source, isOwnTarget: isOwnTarget || leadsHome, now: now) {
            case .admitted: break
            case .challenge(let response):
                counters.increment(.requestsChallenged)
                stack.respond(transaction, response, now: now)
                return
            case .refused(let status, let reason): return refused(status, reason)
            }
        }
        let targets = targets(for: request, routing, source, now: now)
        guard !targets.isEmpty else {
            let user = uri.user ?? ""
            if isOwnTarget { refused(isKnown(user) ? 480 : 404) } else { refused(502, "No Way to the Next Hop") }
            return
        }
        let context = ResponseContext(
            server: transaction, request: request, source: source, routing: routing, fingerprint: fingerprint)
        contexts[transaction] = context
        fingerprints[fingerprint, default: 0] += 1
        if request.method == .invite, request.to.tag == nil {
            emit(.called(from: "\(request.from.uri)", to: "\(request.requestURI)", branches: targets.count))
        }
        context.enqueue(targets, limit: configuration.maximumBranches) { counters.increment(.branchesLimit, by: UInt64($0)) }
        startNextGroup(of: context, now: now)
    }

    private enum Admission {
        case admitted
        case challenge(MessageBuilder)
        case refused(Int, String)
    }

    /// Who may send a request through here: users of ours with the right password to anywhere, others only to ours.
    private func admit(
        _ request: SIPMessage, _ source: MessageSource, isOwnTarget: Bool, now: MonotonicTime
    ) -> Admission {
        guard let from = request.from.uri.sip, isOwn(from, source), let user = from.user else {
            return isOwnTarget ? .admitted : .refused(403, "Relaying Denied")
        }
        if configuration.authenticatesCalls {
            switch authenticate(request, asProxy: true, now: now) {
            case .user(let name): guard name == user else { return .refused(403, "Not Your Address") }
            case .challenge(let response): return .challenge(response)
            case .refused(let status, let reason): return .refused(status, reason)
            }
        }
        guard isOwnTarget || configuration.relaysToOtherDomains else { return .refused(403, "Relaying Denied") }
        return .admitted
    }

    /// A request for the server itself: OPTIONS is answered (RFC 3261 §11), nothing else means anything here.
    private func answerForServer(
        _ request: SIPMessage, _ transaction: TransactionID, _ source: MessageSource, now: MonotonicTime
    ) {
        let allow: (HeaderName, String) = (.allow, "INVITE, ACK, CANCEL, OPTIONS, BYE, REGISTER")
        guard request.method == .options else {
            return refuse(request, transaction, source, request.to.tag == nil ? 405 : 481, nil, [allow], now: now)
        }
        var response = request.makeResponse(status: 200, toTag: random.token(10))
        response.add(allow.0, allow.1)
        stack.respond(transaction, response, now: now)
    }

    func refuse(
        _ request: SIPMessage, _ transaction: TransactionID, _ source: MessageSource, _ status: Int, _ reason: String?,
        _ headers: [(HeaderName, String)] = [], now: MonotonicTime
    ) {
        counters.increment(request.method == .register ? .registrationsRefused : .requestsRefused)
        var response = request.makeResponse(status: status, reason: reason, toTag: random.token(10))
        for (name, value) in headers { response.add(name, value) }
        let user = request.method == .register ? request.to.uri.sip?.user : request.from.uri.sip?.user
        emit(.refused(method: request.method, user: user ?? "", status: status, source: source.remote))
        stack.respond(transaction, response, now: now)
    }

    // MARK: Routes

    /// §16.4: takes off what names this proxy, for loose and strict routers before it.
    func route(_ request: SIPMessage, _ source: MessageSource) -> Routing {
        var routing = Routing(uri: request.requestURI, routes: request.routes, token: nil)
        func token(_ uri: SIPURI) -> RouteToken? {
            uri.user.flatMap { RouteToken($0, callID: request.callID, key: routeKey, cryptography) }
        }
        if let uri = routing.uri.sip, let last = routing.routes.last, isOwn(uri, source), let found = token(uri) {
            routing.token = found
            routing.uri = last.uri
            routing.routes.removeLast()
        }
        while let top = routing.routes.first?.uri.sip, isOwn(top, source) {
            if routing.token == nil { routing.token = token(top) }
            if top.user != nil { routing.isOfLostDialog = true }
            routing.routes.removeFirst()
        }
        routing.isOfLostDialog = routing.isOfLostDialog && routing.token == nil && routing.routes.isEmpty && request.to.tag != nil
        return routing
    }

    func isOwnVia(_ via: Via) -> Bool {
        guard case .address(let ip) = via.host else { return false }
        let port = via.port ?? via.transport?.defaultPort ?? 5060
        return listeners.contains { $0.address.ip.unmapped == ip.unmapped && $0.address.port == port }
    }

    /// What is equal when a request comes round unchanged, and differs when it was meant to (RFC 3261 §16.6 step 8).
    private func fingerprint(of request: SIPMessage, _ routing: Routing) -> String {
        let routes = routing.routes.map { "\($0)" }.joined(separator: ",")
        let tags = "\(request.from.tag ?? "") \(request.to.tag ?? "")"
        return "\(request.callID) \(tags) \(request.cseq.number) \(request.method.rawValue) \(routing.uri) \(routes)"
    }
}
