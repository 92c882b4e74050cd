// SPDX-License-Identifier: Apache-2.0
//
// Rules about what boxes on the way did to a message.

import Essentials
import SDP
import SIP
import SIPAgent

extension Rules {
    /// The same message seen at two places with different content: something between them rewrote it.
    @Sendable static func rewritten(_ scene: Scene) -> [Finding] {
        var first: [String: Int] = [:]
        for index in scene.conversation.messages {
            let message = scene.message(index)
            // Each hop answers the CANCEL that it got, and sends one of its own (RFC 3261 §16.10).
            if message.cseq.method == .cancel { continue }
            let key =
                "\(message.isRequest) \(message.cseq.number) \(message.cseq.method) \(message.statusCode) \(message.from.tag ?? "") \(message.to.tag ?? "") "
                + (message.isRequest ? message.vias.last?.branch ?? "" : "")
            guard let earlier = first[key] else {
                first[key] = index
                continue
            }
            let one = scene.seen(earlier)
            let other = scene.seen(index)
            guard one.source != other.source || one.destination != other.destination,
                other.source != one.destination || isPlainNAT(one, other)
            else {
                // The way through a proxy: what it must not touch.
                if let finding = compare(scene, earlier, index, fields: [.contact, .callID]) { return [finding] }
                continue
            }
            if let finding = compare(scene, earlier, index, fields: [.contact, .via, .from, .to]) { return [finding] }
        }
        return []
    }

    /// The same packet before and behind an address translator.
    private static func isPlainNAT(_ one: SeenMessage, _ other: SeenMessage) -> Bool {
        one.message.vias.count == other.message.vias.count
    }

    private static func compare(_ scene: Scene, _ one: Int, _ other: Int, fields: [HeaderName]) -> Finding? {
        var changes: [Cause.Evidence] = []
        for field in fields {
            let before = scene.message(one).first(field) ?? "-"
            let after = scene.message(other).first(field) ?? "-"
            if before != after { changes.append(.init("\(field)", Words.shown("\(before) became \(after)"))) }
        }
        if let before = scene.audio(one)?.address, let after = scene.audio(other)?.address, before != after {
            changes.append(.init("SDP", "\(before) became \(after)"))
        }
        guard !changes.isEmpty else { return nil }
        let (first, second) = (scene.seen(one), scene.seen(other))
        return Finding(
            .warning,
            Cause(
                "seen.rewritten",
                "The \(name(scene.message(one))) was changed on its way: as \(first.source) sent it and as it came to \(second.destination) differ in "
                    + "\(Words.list(changes.map(\.name))). A gateway or a router that wants to help with SIP (ALG) sits between.",
                evidence: changes), messages: [one, other])
    }

    /// A message whose own addresses contradict each other and the packet: made behind a NAT, or touched by a gateway.
    @Sendable static func gateway(_ scene: Scene) -> [Finding] {
        for index in scene.conversation.messages where scene.message(index).isRequest {
            let message = scene.message(index)
            guard message.vias.count == 1, let via = message.topVia.host.address,
                let contact = message.contacts.first?.uri.sip?.host.address
            else { continue }
            let source = scene.seen(index).source.ip
            let evidence = [
                Cause.Evidence("packet", "\(source)"), .init("Via", "\(via)"), .init("Contact", "\(contact)"),
                .init("SDP", scene.audio(index)?.address.map { "\($0.ip)" } ?? "-"),
            ]
            if via != contact, via == source, contact.isPrivate != via.isPrivate {
                return [
                    Finding(
                        .warning,
                        Cause(
                            "seen.gateway",
                            "The \(message.method) of \(scene.seen(index).source) contradicts itself: Via says \(via) and Contact says \(contact). "
                                + "A gateway (ALG) rewrote one of them and forgot the other; requests to the phone will go astray. Switch it off.",
                            evidence: evidence), messages: [index])
                ]
            }
            if via.isPrivate, !source.isPrivate, !source.isLoopback, contact == via, !message.topVia.hasRport {
                return [
                    Finding(
                        .warning,
                        Cause(
                            "seen.nat-unaware",
                            "\(scene.seen(index).source) speaks from behind a NAT without knowing it: Via and Contact say \(via), and it does not ask for "
                                + "rport (RFC 3581). Answers and calls to it may go to an address that leads nowhere.",
                            evidence: evidence), messages: [index])
                ]
            }
        }
        return []
    }
}
