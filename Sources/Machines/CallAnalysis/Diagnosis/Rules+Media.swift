// SPDX-License-Identifier: Apache-2.0
//
// Rules about the voice itself: what descriptions promised, and what was seen of it.

import Essentials
import SDP
import SIP
import SIPAgent

extension Rules {
    /// One side's promise: where it wants its media, and who said so.
    private struct Side {
        var index: Int
        var audio: Audio
        var speaker: SocketAddress
    }

    /// The last offer and answer that were agreed on, on the first hop: the caller's side first.
    private static func sides(_ scene: Scene) -> (Side, Side)? {
        guard let (exchange, answer) = scene.answer else { return nil }
        let callee = ([answer] + exchange.responses.filter { $0 < answer }.reversed()).first { scene.audio($0) != nil }
        var caller: Int? = scene.audio(exchange.requests[0]) != nil ? exchange.requests[0] : nil
        // Offered late: the caller's description is in the ACK.
        if caller == nil { caller = scene.exchanges(.ack).first { scene.audio($0.requests[0]) != nil }?.requests[0] }
        guard let caller, let callee, let first = scene.audio(caller), let second = scene.audio(callee) else { return nil }
        return (
            Side(index: caller, audio: first, speaker: scene.seen(caller).source),
            Side(index: callee, audio: second, speaker: scene.seen(callee).source)
        )
    }

    private static func flows(_ scene: Scene) -> [MediaFlow] { scene.conversation.media.map { scene.traffic.media[$0] } }

    /// Media that a side sends or the other one gets: from or to the announced address, or by its port behind a NAT.
    private static func between(_ scene: Scene, from: Side, to: Side) -> [MediaFlow] {
        flows(scene).filter { flow in
            let leaves = from.audio.address.map { flow.source == $0 || flow.source.port == $0.port } ?? false
            let arrives = to.audio.address.map { flow.destination == $0 || flow.destination.port == $0.port } ?? false
            return leaves || arrives
        }
    }

    // MARK: Addresses

    /// A description wants media at a private address though its sender speaks from a public one: nothing will arrive there.
    @Sendable static func privateMediaAddress(_ scene: Scene) -> [Finding] {
        var findings: [Finding] = []
        var told: Set<SocketAddress> = []
        for index in scene.conversation.messages {
            guard let audio = scene.audio(index), let address = audio.address else { continue }
            let seen = scene.seen(index)
            guard address.ip != seen.source.ip, address.ip.isPrivate || address.ip.isLoopback || address.ip.isUnspecified,
                // A trace of a phone that listens on every address does not say from which it spoke.
                !seen.source.ip.isPrivate, !seen.source.ip.isLoopback, !seen.source.ip.isUnspecified,
                !address.ip.isUnspecified || audio.direction == .sendrecv,
                told.insert(address).inserted
            else { continue }
            let arrives = flows(scene).contains { $0.destination.port == address.port }
            findings.append(
                Finding(
                    scene.isAnswered && scene.traffic.seesMedia && !arrives ? .failure : .warning,
                    Cause(
                        "seen.media-private-address",
                        "\(seen.source) wants its voice at \(address), a private address that the other side cannot reach: "
                            + "the session description was made behind a NAT by a phone that does not know its outside address.",
                        evidence: [.init("c", "\(address.ip)"), .init("m", "\(address.port)"), .init("from", "\(seen.source)")]),
                    messages: [index]))
        }
        return findings
    }

    /// Media is sent to a port that nobody listens on.
    @Sendable static func mediaPortClosed(_ scene: Scene) -> [Finding] {
        for flow in flows(scene) {
            let reports = scene.traffic.unreachable.filter { $0.destination == flow.destination && $0.source.ip == flow.source.ip }
            guard let report = reports.first, reports.count * 4 > min(flow.packets, 16) else { continue }
            return [
                Finding(
                    .failure,
                    Cause(
                        "seen.media-port-closed",
                        "The voice from \(flow.source) to \(flow.destination) is not taken: \(report.reporter) says \(report.kind.rawValue) "
                            + "(\(reports.count) reports for \(flow.packets) packets).",
                        evidence: [
                            .init("to", "\(flow.destination)"), .init("report", report.kind.rawValue), .init("reports", "\(reports.count)"),
                            .init("packets", "\(flow.packets)"),
                        ]))
            ]
        }
        return []
    }

    // MARK: Presence

    /// An answered call without media, or with media in one direction alone.
    @Sendable static func missingMedia(_ scene: Scene) -> [Finding] {
        guard scene.traffic.seesMedia, let (caller, callee) = sides(scene), let (_, answer) = scene.answer, !caller.audio.isRejected,
            !callee.audio.isRejected
        else { return [] }
        // Ended at once, or not watched for long: no time for media.
        let end = scene.exchanges(.bye).first?.requests[0] ?? scene.traffic.messages.indices.last ?? answer
        let watched = max(
            scene.seconds(from: answer, to: end),
            (flows(scene).map(\.last).max() ?? scene.seen(answer).time).seconds(since: scene.seen(answer).time))
        guard watched >= 2 else { return [] }
        let toCaller = between(scene, from: callee, to: caller)
        let toCallee = between(scene, from: caller, to: callee)
        let wantsCaller = caller.audio.direction.receives && callee.audio.direction.sends
        let wantsCallee = callee.audio.direction.receives && caller.audio.direction.sends
        switch (toCaller.isEmpty && wantsCaller, toCallee.isEmpty && wantsCallee) {
        case (true, true): return [none(scene, caller, callee, answer)]
        case (true, false):
            return toCallee.isEmpty
                ? [] : [oneWay(scene, hears: callee, deaf: caller, toCallee, who: "the called side", deafName: "the caller")]
        case (false, true):
            return toCaller.isEmpty
                ? [] : [oneWay(scene, hears: caller, deaf: callee, toCaller, who: "the caller", deafName: "the called side")]
        case (false, false): return []
        }
    }

    private static func none(_ scene: Scene, _ caller: Side, _ callee: Side, _ answer: Int) -> Finding {
        Finding(
            .failure,
            Cause(
                "seen.media-none",
                "The call was answered, and no voice was seen in either direction: none between \(place(caller)) and \(place(callee)) came past here.",
                evidence: [.init("caller", place(caller)), .init("callee", place(callee))]), messages: [caller.index, callee.index, answer])
    }

    private static func oneWay(_ scene: Scene, hears: Side, deaf: Side, _ flows: [MediaFlow], who: String, deafName: String) -> Finding {
        let packets = flows.reduce(0) { $0 + $1.packets }
        let hint: String =
            if let address = deaf.audio.address, address.ip.isPrivate, !deaf.speaker.ip.isPrivate {
                " \(deafName.capitalizedFirst) asked for it at the private address \(address.ip), which is the reason."
            } else if let address = deaf.audio.address, address.ip != deaf.speaker.ip {
                " \(deafName.capitalizedFirst) asked for it at \(address), which is not where it speaks from (\(deaf.speaker.ip))."
            } else {
                ""
            }
        return Finding(
            .failure,
            Cause(
                "seen.media-one-way",
                "The voice goes one way only: \(who) is sent \(packets) packets, and nothing was seen on its way to \(deafName) at \(place(deaf)).\(hint)",
                evidence: [.init("hears", place(hears)), .init("deaf", place(deaf)), .init("packets", "\(packets)")]),
            messages: [hears.index, deaf.index])
    }

    private static func place(_ side: Side) -> String { side.audio.address.map { "\($0)" } ?? "an address that is not told" }

    // MARK: Loss

    /// A stream that loses more than 2 %, by its own numbers or by its receiver's report.
    @Sendable static func lossyMedia(_ scene: Scene) -> [Finding] {
        flows(scene).compactMap { flow in
            let seen = Double(flow.lost) / Double(max(1, flow.packets + flow.lost))
            let reported = flow.reportedLoss ?? 0
            guard max(seen, reported) > 0.02, flow.packets > 50 else { return nil }
            let place = seen >= reported ? "before this place" : "behind this place, as the receiver reports"
            return Finding(
                .warning,
                Cause(
                    "seen.media-loss",
                    "The voice from \(flow.source) to \(flow.destination) loses \(Words.percent(max(seen, reported))) of its packets \(place).",
                    evidence: [
                        .init("packets", "\(flow.packets)"), .init("lost", "\(flow.lost)"), .init("reported", Words.percent(reported)),
                    ]))
        }
    }
}

extension MonotonicTime {
    fileprivate func seconds(since earlier: MonotonicTime) -> Double { (self - earlier).seconds }
}

extension String {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
