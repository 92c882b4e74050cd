// SPDX-License-Identifier: Apache-2.0
//
// Rules about answers, their confirmation, and the end of a call.

import Essentials
import SIP
import SIPAgent

extension Rules {
    /// A 2xx whose ACK never came: the caller's side of a call that ends by itself after 32 s, mostly because Contact misleads.
    @Sendable static func missingACK(_ scene: Scene) -> [Finding] {
        for exchange in scene.initialInvites.reversed() {
            let answers = exchange.responses.filter { (200..<300).contains(scene.status($0)) }
            guard let first = answers.first else { continue }
            let answer = scene.message(first)
            let acks = scene.exchanges(.ack).filter { scene.request($0).cseq.number == answer.cseq.number && $0.requests[0] > first }
            // On this hop: the ACK comes from where the INVITE came from, or goes to where the answer came from.
            let here = acks.filter { $0.source.ip == exchange.source.ip || $0.destination.ip == exchange.destination.ip }
            let repeats = answers.filter { scene.seen($0).source == scene.seen(first).source }.count - 1
            let watched = (scene.traffic.messages.last.map { $0.time - scene.seen(first).time } ?? .zero).seconds
            guard here.isEmpty, repeats > 0 || watched > 2 else { continue }
            return [missingACK(scene, exchange, first, repeats, acks)]
        }
        return []
    }

    private static func missingACK(_ scene: Scene, _ exchange: Exchange, _ first: Int, _ repeats: Int, _ acks: [Exchange]) -> Finding {
        let answer = scene.message(first)
        let contact = answer.contacts.first
        var evidence = [
            Cause.Evidence("answer", name(answer)), .init("from", "\(scene.seen(first).source)"),
            .init("to", "\(scene.seen(first).destination)"),
            .init("repeats", "\(repeats)"),
        ]
        var why = "The caller's side did not get the answer, or sent the ACK elsewhere."
        if let contact, let uri = contact.uri.sip {
            evidence.append(.init("Contact", Words.shown("\(uri)")))
            let from = scene.seen(first).source.ip
            if let ip = uri.host.address, ip != from, answer.recordRoutes.isEmpty {
                let kind =
                    ip.isPrivate
                    ? "a private address that nobody outside can reach" : ip.isUnspecified ? "no address at all" : "another address"
                why =
                    "Its Contact leads the ACK to \(uri.host)\(uri.port.map { ":\($0)" } ?? ""), \(kind), while the answer came from \(scene.seen(first).source)."
            }
        } else {
            why = "The answer has no usable Contact, so nobody knows where to send the ACK."
        }
        if let stray = acks.first {
            evidence.append(.init("ack.to", "\(stray.destination)"))
            why += " An ACK was seen on its way to \(stray.destination)."
        }
        let again = repeats > 0 ? " and was sent again \(Words.times(repeats))" : ""
        return Finding(
            .failure,
            Cause(
                "call.no-ack", "The call was answered, but the answer of \(scene.seen(first).source) was never confirmed\(again). \(why)",
                evidence: evidence), messages: [first] + acks.map { $0.requests[0] })
    }

    /// The answer is repeated though it was confirmed: the ACK is lost behind the place of the capture.
    @Sendable static func answerStorm(_ scene: Scene) -> [Finding] {
        for exchange in scene.exchanges(.invite) {
            let answers = exchange.responses.filter { (200..<300).contains(scene.status($0)) }
            guard let first = answers.first else { continue }
            let same = answers.filter {
                scene.message($0).to.tag == scene.message(first).to.tag && scene.seen($0).source == scene.seen(first).source
            }
            guard same.count >= 4 else { continue }
            let acks = scene.exchanges(.ack).filter { scene.request($0).cseq.number == scene.message(first).cseq.number }
            guard let ack = acks.first else { continue }
            return [
                Finding(
                    .failure,
                    Cause(
                        "seen.answer-storm",
                        "\(scene.seen(first).source) answered \(Words.times(same.count)) within \(scene.span(same[0], same[same.count - 1])), though an ACK went to "
                            + "\(ack.destination): it does not arrive there, or does not fit (its Request-URI is \(Words.shown("\(scene.request(ack).requestURI)"))).",
                        evidence: [
                            .init("answers", "\(same.count)"), .init("acks", "\(acks.count)"), .init("ack.to", "\(ack.destination)"),
                        ]), messages: same + acks.map { $0.requests[0] })
            ]
        }
        return []
    }

    /// Several phones answered the same call (RFC 3261 §13.2.2.4).
    @Sendable static func severalAnswers(_ scene: Scene) -> [Finding] {
        var tags: [String] = []
        var indices: [Int] = []
        for exchange in scene.initialInvites {
            for index in exchange.responses where (200..<300).contains(scene.status(index)) {
                guard let tag = scene.message(index).to.tag, !tags.contains(tag) else { continue }
                // A B2BUA on the way has a tag of its own: count what the caller got.
                guard scene.seen(index).destination == scene.initialInvites[0].source else { continue }
                tags.append(tag)
                indices.append(index)
            }
        }
        guard tags.count > 1 else { return [] }
        return [
            Finding(
                .warning,
                Cause(
                    "seen.several-answers", "\(tags.count) phones answered the same call; the caller has to end all but one.",
                    evidence: tags.map { .init("to-tag", Words.shown($0)) }), messages: indices)
        ]
    }

    // MARK: Ends

    /// The call ended because its session timer ran out (RFC 4028 §10): said so by Reason, or told by the time.
    @Sendable static func sessionExpired(_ scene: Scene) -> [Finding] {
        guard let (_, answer) = scene.answer, let bye = scene.exchanges(.bye).first, let timer = scene.message(answer).sessionExpires else {
            return []
        }
        let index = bye.requests[0]
        let reason = scene.message(index).first("Reason")?.lowercased() ?? ""
        let refreshes = scene.exchanges.filter {
            ($0.method == .invite || $0.method == .update) && scene.request($0).to.tag != nil
                && scene.final($0).map { scene.status($0) < 300 } == true
        }
        let lastRefresh = refreshes.compactMap { scene.final($0) }.filter { $0 < index }.last ?? answer
        let silence = scene.seconds(from: lastRefresh, to: index)
        let interval = Double(timer.interval)
        let isOnTime = silence > interval - max(32, interval / 3) - 2 && silence < interval + 5 && interval >= 90
        guard reason.contains("408") || reason.contains("session") || reason.contains("timer") || isOnTime else { return [] }
        let side = timer.refresher.map { $0 == .uac ? "the caller's" : "the called" } ?? "one"
        return [
            Finding(
                .failure,
                Cause(
                    "call.session-expired",
                    "The call was ended by \(scene.seen(index).source) after \(Words.seconds(silence)) without a refresh: the session timer of \(timer.interval) s ran "
                        + "out, which \(side) side should have refreshed.",
                    evidence: [.init("Session-Expires", "\(timer.interval)"), .init("refreshes", "\(refreshes.count)")]
                        + (reason.isEmpty ? [] : [.init("Reason", Words.shown(reason))])), messages: [answer, lastRefresh, index])
        ]
    }

    /// A call that was answered and ended in good order: who ended it, and after how long.
    @Sendable static func ended(_ scene: Scene) -> [Finding] {
        if scene.conversation.kind == .registration { return registered(scene) }
        guard let (exchange, answer) = scene.answer else { return [] }
        guard let bye = scene.exchanges(.bye).first else {
            return [
                Finding(
                    .note,
                    Cause(
                        "seen.no-end", "The call was answered after \(scene.span(exchange.requests[0], answer)), and its end was not seen.",
                        evidence: [.init("answered.by", "\(scene.seen(answer).source)")]), messages: [answer])
            ]
        }
        let index = bye.requests[0]
        let isCaller = scene.message(index).from.tag == scene.request(exchange).from.tag
        return [
            Finding(
                .note,
                Cause(
                    isCaller ? "seen.caller-hung-up" : "seen.callee-hung-up",
                    "The call was answered after \(scene.span(exchange.requests[0], answer)), lasted \(scene.span(answer, index)) and was ended by the "
                        + "\(isCaller ? "caller" : "called side") (\(bye.source)).",
                    evidence: [.init("duration", Words.seconds(scene.seconds(from: answer, to: index)))]), messages: [answer, index])
        ]
    }

    private static func registered(_ scene: Scene) -> [Finding] {
        guard let exchange = scene.exchanges(.register).last(where: { scene.final($0).map { scene.status($0) < 300 } == true }),
            let index = scene.final(exchange)
        else { return [] }
        let granted = scene.message(index).contacts.compactMap(\.expires).max() ?? scene.message(index).expires
        let isLeaving = granted ?? 0 == 0
        return [
            Finding(
                .note,
                Cause(
                    isLeaving ? "seen.unregistered" : "seen.registered",
                    isLeaving
                        ? "\(scene.seen(index).source) holds no registration any more."
                        : "Registered at \(scene.seen(index).source) for \(granted ?? 0) s.",
                    evidence: granted.map { [.init("expires", "\($0)")] } ?? []), messages: [exchange.requests[0], index])
        ]
    }
}
