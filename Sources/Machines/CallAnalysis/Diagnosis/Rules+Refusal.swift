// SPDX-License-Identifier: Apache-2.0
//
// Rules about requests that somebody refused.

import SIP
import SIPAgent

/// Each rule looks at one conversation and tells what it finds.
enum Rules {
    /// Who gave a response, as far as it can be seen: the address it came from, and what it calls itself.
    static func speaker(_ scene: Scene, _ index: Int) -> (text: String, evidence: [Cause.Evidence]) {
        let seen = scene.seen(index)
        let name = seen.message.server ?? seen.message.userAgent
        var evidence = [Cause.Evidence("from", "\(seen.source)")]
        if let name { evidence.append(.init("server", Words.shown(name))) }
        return ("\(seen.source)" + (name.map { " (\(Words.shown($0)))" } ?? ""), evidence)
    }

    /// What a message is called: `INVITE` or `486 Busy Here`.
    static func name(_ message: SIPMessage) -> String {
        message.isRequest ? message.method.rawValue : "\(message.statusCode) \(Words.shown(message.reasonPhrase))"
    }

    // MARK: Refusals

    /// A request was refused: with which status, and by whom. The response that was seen first came from nearest to its origin.
    @Sendable static func refused(_ scene: Scene) -> [Finding] {
        var findings: [Finding] = []
        for method in [Method.invite, .register, .subscribe, .message, .options, .bye, .update, .publish] {
            // A call that was answered on another branch was not refused.
            if method == .invite, scene.isAnswered { continue }
            let isChange = method != .invite
            guard let (exchange, index) = firstRefusal(scene, method), !isChange || isLast(scene, exchange) else { continue }
            let status = scene.status(index)
            // Told by rules of their own.
            if status == 401 || status == 407 || status == 487 { continue }
            let hops = scene.exchanges(method).filter { scene.request($0).cseq == scene.request(exchange).cseq }
            let who = speaker(scene, index)
            var evidence = [Cause.Evidence("status", name(scene.message(index)))] + who.evidence
            for field in ["Warning", "Reason", "Retry-After", "Unsupported", "Error-Info"] {
                if let value = scene.message(index).first(HeaderName(field) ?? .warning) {
                    evidence.append(.init(field, Words.shown(value)))
                }
            }
            let hop = hops.firstIndex { $0.requests == exchange.requests }.map { $0 + 1 } ?? 1
            if hops.count > 1 { evidence.append(.init("hop", "\(hop) of \(hops.count)")) }
            let isFarthest = hop == hops.count
            let place = hops.count > 1 && isFarthest ? ", the last hop that was seen" : ""
            findings.append(
                Finding(
                    method == .bye ? .warning : .failure,
                    Cause(
                        code(status, method),
                        "The \(method) was refused with \(name(scene.message(index))) by \(who.text)\(place): \(meaning(status))",
                        status: status, evidence: evidence), messages: [exchange.requests[0], index]))
        }
        return findings
    }

    /// The earliest final refusal of a method that no later request of the same method overcame.
    private static func firstRefusal(_ scene: Scene, _ method: Method) -> (Exchange, Int)? {
        let refused = scene.exchanges(method).compactMap { exchange in
            scene.final(exchange).flatMap { scene.status($0) >= 300 && ![401, 407].contains(scene.status($0)) ? (exchange, $0) : nil }
        }
        return refused.min { $0.1 < $1.1 }
    }

    private static func isLast(_ scene: Scene, _ exchange: Exchange) -> Bool {
        guard let last = scene.exchanges(exchange.method).last else { return true }
        return scene.request(last).cseq.number <= scene.request(exchange).cseq.number
    }

    private static func code(_ status: Int, _ method: Method) -> String {
        if method == .register {
            return status == 403
                ? "registration.refused.forbidden" : status == 404 ? "registration.refused.not-found" : "registration.refused"
        }
        guard method == .invite else { return status == 481 ? "call.dialog-lost" : "seen.refused" }
        return switch status {
        case 300..<400: "call.redirected"
        case 403: "call.forbidden"
        case 404, 410, 604: "call.not-found"
        case 408: "call.no-response"
        case 415, 488, 606: "call.incompatible"
        case 416, 484, 485: "call.bad-address"
        case 480: "call.unavailable"
        case 486, 600: "call.busy"
        case 603: "call.declined"
        case 500..<600: "call.server-failure"
        default: "call.failed"
        }
    }

    private static func meaning(_ status: Int) -> String {
        switch status {
        case 300..<400: "it names another address, and nobody followed."
        case 400: "it does not understand the request."
        case 403: "it does not permit this; some servers say so to a wrong name or password."
        case 404, 604: "it does not know the address."
        case 405, 501: "it cannot do this."
        case 408: "it waited for somebody behind it who never answered."
        case 410: "the address is gone."
        case 413, 513: "the message is too long for it."
        case 415, 488, 606: "the two sides have no kind of media in common."
        case 416, 484, 485: "the address is incomplete, ambiguous or of a kind it cannot use."
        case 420, 421: "one side needs an extension that the other has not."
        case 422: "the session timer is too short for it."
        case 423: "the registration time is too short for it."
        case 480: "nobody is registered there at the moment, or the phone is set not to disturb."
        case 481: "it does not know this call any more."
        case 482, 483: "the request went in a circle."
        case 486, 600: "the called person is busy."
        case 491: "both sides changed the call at once."
        case 500: "it has a fault of its own."
        case 502, 504: "somebody behind it failed or was too slow."
        case 503: "it is overloaded, or what is behind it cannot be reached."
        case 603: "the called person declined."
        default: "it will not."
        }
    }

    // MARK: Passwords

    /// Challenges: answered wrongly, answered with an old nonce, or not answered.
    @Sendable static func wrongPassword(_ scene: Scene) -> [Finding] {
        var findings: [Finding] = []
        for method in [Method.register, .invite, .subscribe, .message, .publish] {
            let challenged = scene.exchanges(method).compactMap { exchange -> (exchange: Exchange, index: Int)? in
                guard let index = scene.final(exchange), [401, 407].contains(scene.status(index)) else { return nil }
                return (exchange, index)
            }
            guard let last = challenged.last else { continue }
            let rejected = challenged.filter { hasCredentials(scene.request($0.exchange)) && !isStale(scene.message($0.index)) }
            let overcome = scene.exchanges(method).contains { exchange in
                scene.final(exchange).map { scene.status($0) < 300 } == true && exchange.requests[0] > last.index
            }
            let stale = challenged.filter { hasCredentials(scene.request($0.exchange)) && isStale(scene.message($0.index)) }
            if !stale.isEmpty, rejected.isEmpty {
                findings.append(staleNonce(scene, stale.map(\.index), overcome))
            } else if overcome {
                continue
            } else if !rejected.isEmpty {
                findings.append(wrongPassword(scene, method, rejected.map(\.index), challenged.count))
            } else if !scene.exchanges(method).contains(where: { $0.requests[0] > last.index }) {
                findings.append(noCredentials(scene, method, last.index))
            }
        }
        return findings
    }

    private static func hasCredentials(_ request: SIPMessage) -> Bool {
        request.contains(.authorization) || request.contains(.proxyAuthorization)
    }

    private static func isStale(_ response: SIPMessage) -> Bool {
        (response.challenges(.wwwAuthenticate) + response.challenges(.proxyAuthenticate)).contains {
            $0.parameters["stale"]?.lowercased() == "true"
        }
    }

    private static func challenge(_ scene: Scene, _ index: Int) -> [Cause.Evidence] {
        let message = scene.message(index)
        let found = (message.challenges(.wwwAuthenticate) + message.challenges(.proxyAuthenticate)).first
        return ["realm", "algorithm"].compactMap { name in (found?.parameters[name]).map { .init(name, Words.shown($0)) } }
    }

    private static func user(_ scene: Scene, _ index: Int) -> [Cause.Evidence] {
        guard let exchange = scene.exchanges.first(where: { $0.responses.contains(index) }) else { return [] }
        let request = scene.request(exchange)
        let credentials = request.credentials(.authorization) + request.credentials(.proxyAuthorization)
        return (credentials.first?.parameters["username"]).map { [.init("username", Words.shown($0))] } ?? []
    }

    private static func wrongPassword(_ scene: Scene, _ method: Method, _ rejected: [Int], _ challenges: Int) -> Finding {
        let who = speaker(scene, rejected[0])
        let user = user(scene, rejected[0])
        let loop =
            rejected.count > 2
            ? " It was tried \(Words.times(rejected.count)) with the same outcome: it will not get better by itself." : ""
        return Finding(
            .failure,
            Cause(
                method == .register ? "registration.refused.password" : "call.unauthorized",
                "\(who.text) did not accept the name and password\(user.first.map { " of \($0.value)" } ?? ""): it asked again after they were given, "
                    + "without saying that only the nonce was old.\(loop)",
                status: scene.status(rejected[0]),
                evidence: user + challenge(scene, rejected[0]) + who.evidence + [
                    .init("rejected", "\(rejected.count)"), .init("challenges", "\(challenges)"),
                ]),
            messages: rejected)
    }

    private static func staleNonce(_ scene: Scene, _ stale: [Int], _ overcome: Bool) -> Finding {
        Finding(
            overcome ? .note : .warning,
            Cause(
                "seen.stale-nonce",
                "The password is right: \(speaker(scene, stale[0]).text) only found the nonce too old and gave a new one"
                    + (overcome ? ", which was taken." : ", which nobody used."),
                status: scene.status(stale[0]), evidence: challenge(scene, stale[0])), messages: stale)
    }

    private static func noCredentials(_ scene: Scene, _ method: Method, _ index: Int) -> Finding {
        let who = speaker(scene, index)
        return Finding(
            .failure,
            Cause(
                method == .register ? "registration.refused.no-credentials" : "call.unauthorized",
                "\(who.text) asked for a name and password for the \(method), and they were never given.",
                status: scene.status(index), evidence: challenge(scene, index) + who.evidence), messages: [index])
    }

    // MARK: Codecs

    /// A refusal because of media, or an answer that takes none of what was offered: both lists.
    @Sendable static func codecMismatch(_ scene: Scene) -> [Finding] {
        for exchange in scene.exchanges(.invite) {
            guard let index = scene.final(exchange) else { continue }
            let offer = scene.audio(exchange.requests[0])
            if [415, 488, 606].contains(scene.status(index)) {
                return [mismatch(scene, exchange, index, offer?.codecs ?? [], theirList(scene, index))]
            }
            guard scene.status(index) < 300, let offer, let answer = scene.audio(index) else { continue }
            let common = answer.codecs.filter { codec in offer.codecs.contains { $0.lowercased() == codec.lowercased() } }
            if answer.isRejected || common.isEmpty {
                return [mismatch(scene, exchange, index, offer.codecs, answer.isRejected ? nil : answer.codecs)]
            }
        }
        return []
    }

    /// What the refusing side can do: its description in the refusal (RFC 3261 §13.3.1.3), or one of its own offers.
    private static func theirList(_ scene: Scene, _ index: Int) -> [String]? { scene.audio(index)?.codecs }

    private static func mismatch(_ scene: Scene, _ exchange: Exchange, _ index: Int, _ offered: [String], _ theirs: [String]?) -> Finding {
        let warning = scene.message(index).warnings.first.map { " It says: \(Words.shown($0.text))." } ?? ""
        let known =
            theirs.map { "\(scene.seen(index).source) can do \(Words.list($0))" }
            ?? "\(scene.seen(index).source) does not say what it can do"
        return Finding(
            .failure,
            Cause(
                "seen.codec-mismatch",
                "The two sides have no codec in common: \(exchange.source) offered \(Words.list(offered)), and \(known).\(warning)",
                status: scene.status(index),
                evidence: [.init("offered", offered.joined(separator: " ")), .init("accepted", (theirs ?? []).joined(separator: " "))]),
            messages: [exchange.requests[0], index])
    }
}
