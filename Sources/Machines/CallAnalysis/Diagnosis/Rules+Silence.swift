// SPDX-License-Identifier: Apache-2.0
//
// Rules about requests that nobody answered, or that were taken back.

import Essentials
import SIP
import SIPAgent

extension Rules {
    /// A datagram above this does not go through a usual path in one piece: 1500 less IPv6 and UDP headers; RFC 3261 §18.1.1
    /// keeps requests 200 below.
    static let packetLimit = 1452

    /// A request that got no response at all. Distinguishes one that was too big for the path.
    @Sendable static func noReply(_ scene: Scene) -> [Finding] {
        var told: Set<String> = []
        var findings: [Finding] = []
        for exchange in scene.exchanges where exchange.method != .ack && exchange.responses.isEmpty {
            let first = exchange.requests[0]
            // The end of the capture may have come before the answer.
            guard let end = scene.traffic.messages.last, exchange.requests.count > 1 || (end.time - scene.seen(first).time).seconds > 4,
                !isUnreachable(scene, exchange), told.insert("\(exchange.method) \(exchange.destination)").inserted
            else { continue }
            // Answered on another branch, or after a change to another transport.
            if scene.exchanges.contains(where: {
                $0.method == exchange.method && !$0.responses.isEmpty
                    && scene.request($0).cseq.number >= scene.request(exchange).cseq.number
                    && $0.source.ip == exchange.source.ip
            }) {
                continue
            }
            findings.append(tooBig(scene, exchange) ?? silence(scene, exchange))
        }
        return findings
    }

    private static func silence(_ scene: Scene, _ exchange: Exchange) -> Finding {
        let tries = exchange.requests.count
        let last = exchange.requests[tries - 1]
        let over = tries > 1 ? ", sent \(Words.times(tries)) over \(scene.span(exchange.requests[0], last))," : ""
        return Finding(
            .failure,
            Cause(
                exchange.method == .register ? "registration.no-response" : "call.no-response",
                "The \(exchange.method) to \(exchange.destination)\(over) got no answer at all: nothing listens there, a firewall drops it, "
                    + "or the answer goes elsewhere.",
                evidence: [
                    .init("request", exchange.method.rawValue), .init("to", "\(exchange.destination)"), .init("from", "\(exchange.source)"),
                    .init("transport", exchange.transport.rawValue), .init("tries", "\(tries)"),
                ]), messages: exchange.requests)
    }

    private static func tooBig(_ scene: Scene, _ exchange: Exchange) -> Finding? {
        let first = scene.seen(exchange.requests[0])
        let size = first.message.bytes.count
        let isReported = scene.traffic.unreachable.contains { $0.kind == .tooBig && $0.destination == exchange.destination }
        guard exchange.transport == .udp, first.fragments > 1 || size > packetLimit || isReported else { return nil }
        return Finding(
            .failure,
            Cause(
                "seen.request-too-big",
                "The \(exchange.method) to \(exchange.destination) has \(size) octets"
                    + (first.fragments > 1 ? ", went in \(first.fragments) fragments" : "")
                    + (isReported ? ", and a router said that it is too big for the path" : ", and was never answered")
                    + ": fragments of UDP are often dropped on the way. Fewer codecs or headers, or TCP, would help (RFC 3261 §18.1.1).",
                evidence: [
                    .init("octets", "\(size)"), .init("fragments", "\(first.fragments)"), .init("to", "\(exchange.destination)"),
                    .init("tries", "\(exchange.requests.count)"),
                ]), messages: exchange.requests)
    }

    // MARK: Unreachable

    static func isUnreachable(_ scene: Scene, _ exchange: Exchange) -> Bool { report(scene, exchange) != nil }

    private static func report(_ scene: Scene, _ exchange: Exchange) -> Unreachable? {
        guard let last = exchange.requests.last else { return nil }
        return scene.traffic.unreachable.first {
            $0.kind != .tooBig && $0.destination == exchange.destination && $0.time >= scene.seen(exchange.requests[0]).time
                && ($0.time - scene.seen(last).time).seconds < 5
        }
    }

    /// The network or the machine itself said that nobody takes the request.
    @Sendable static func unreachable(_ scene: Scene) -> [Finding] {
        for exchange in scene.exchanges where exchange.responses.isEmpty {
            guard let report = report(scene, exchange) else { continue }
            let why: String =
                switch report.kind {
                case .portClosed: "the machine is there, and nothing listens on this port"
                case .refused: "the machine refused the connection: nothing listens on this port"
                case .prohibited: "a firewall forbids it"
                case .noRoute, .tooBig: "there is no way to the address"
                }
            return [
                Finding(
                    .failure,
                    Cause(
                        exchange.method == .register ? "registration.unreachable" : "call.unreachable",
                        "The \(exchange.method) cannot reach \(exchange.destination): \(why), says \(report.reporter).",
                        evidence: [
                            .init("to", "\(exchange.destination)"), .init("report", report.kind.rawValue),
                            .init("reporter", "\(report.reporter)"),
                        ]), messages: exchange.requests)
            ]
        }
        return []
    }

    // MARK: Given up

    /// The caller took the call back, and what had happened by then.
    @Sendable static func earlyCancel(_ scene: Scene) -> [Finding] {
        guard !scene.isAnswered, let cancel = scene.exchanges(.cancel).first, let invite = scene.initialInvites.first else { return [] }
        let index = cancel.requests[0]
        let waited = scene.span(invite.requests[0], index)
        let responses = scene.initialInvites.flatMap(\.responses).filter { $0 < index }.sorted()
        let ringing = responses.first { scene.status($0) == 180 || scene.status($0) == 183 }
        let reason = scene.message(index).first("Reason")
        let elsewhere = reason?.contains("200") == true || reason?.lowercased().contains("completed elsewhere") == true
        let what: String =
            if elsewhere {
                "somebody else had answered it."
            } else if let ringing {
                "it had been ringing for \(scene.span(ringing, index)), and nobody had answered."
            } else if responses.isEmpty {
                "nothing had come back by then, not even that it was being tried."
            } else {
                "it was being tried by then, and rang nowhere."
            }
        return [
            Finding(
                elsewhere ? .note : .failure,
                Cause(
                    "call.cancelled", "The caller's side took the call back after \(waited): \(what)", status: 487,
                    evidence: [.init("after", waited), .init("by", "\(cancel.source)")]
                        + (reason.map { [.init("Reason", Words.shown($0))] } ?? [])),
                messages: [invite.requests[0], index])
        ]
    }

    /// It rang, or was tried, and no final answer ever came.
    @Sendable static func neverAnswered(_ scene: Scene) -> [Finding] {
        guard !scene.isAnswered, scene.exchanges(.cancel).isEmpty,
            let invite = scene.initialInvites.first(where: { !$0.responses.isEmpty }),
            !scene.initialInvites.contains(where: { scene.final($0) != nil }), let last = invite.responses.last
        else { return [] }
        let rang = invite.responses.contains { [180, 183].contains(scene.status($0)) }
        return [
            Finding(
                .failure,
                Cause(
                    "seen.never-answered",
                    rang
                        ? "It rang at \(scene.seen(last).source), and nobody answered as long as this was watched."
                        : "\(scene.seen(last).source) said that it tries, and never said more: it got no answer itself, or lost the call.",
                    evidence: [.init("last", name(scene.message(last))), .init("from", "\(scene.seen(last).source)")]),
                messages: [invite.requests[0], last])
        ]
    }

    /// Requests had to be sent again, though an answer came in the end: packets are lost, or somebody is slow.
    @Sendable static func retransmitted(_ scene: Scene) -> [Finding] {
        let again = scene.exchanges.filter { exchange in
            !exchange.responses.isEmpty && !exchange.transport.isReliable
                && exchange.requests.filter {
                    scene.seen($0).source == exchange.source && scene.seen($0).destination == exchange.destination
                }.count > 1
        }
        guard !again.isEmpty else { return [] }
        let count = again.reduce(0) { $0 + $1.requests.count - 1 }
        return [
            Finding(
                .note,
                Cause(
                    "seen.retransmissions",
                    "\(count == 1 ? "One request" : "\(count) requests") had to be sent again before an answer came: packets were lost, "
                        + "or the other side was slower than 500 ms.",
                    evidence: again.map { .init($0.method.rawValue, "\($0.requests.count) times to \($0.destination)") }),
                messages: again.flatMap { $0.requests.dropFirst() })
        ]
    }
}
