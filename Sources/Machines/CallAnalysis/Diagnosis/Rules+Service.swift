// SPDX-License-Identifier: Apache-2.0
//
// Rules about transfers and registrations over time.

import Essentials
import SIP
import SIPAgent

extension Rules {
    /// A transfer that was refused, or reported as failed by NOTIFY (RFC 3515 §2.4.5).
    @Sendable static func transferFailed(_ scene: Scene) -> [Finding] {
        guard let refer = scene.exchanges(.refer).last else { return [] }
        let target = scene.request(refer).referTo.map { Words.shown("\($0.uri)") } ?? "somebody"
        if let index = scene.final(refer), scene.status(index) >= 300, ![401, 407].contains(scene.status(index)) {
            return [
                Finding(
                    .failure,
                    Cause(
                        "seen.transfer-refused",
                        "The transfer to \(target) was refused by \(speaker(scene, index).text) with \(name(scene.message(index))).",
                        status: scene.status(index), evidence: [.init("Refer-To", target)] + speaker(scene, index).evidence),
                    messages: [refer.requests[0], index])
            ]
        }
        var outcome: (status: Int, line: String, index: Int)?
        for exchange in scene.exchanges(.notify) {
            let index = exchange.requests[0]
            guard scene.message(index).contentType?.subtype.lowercased() == "sipfrag" else { continue }
            let line = String(decoding: scene.message(index).body.prefix { $0 != 0x0d && $0 != 0x0a }.prefix(120), as: UTF8.self)
            let words = line.split(separator: " ", maxSplits: 2)
            if words.count >= 2, words[0] == "SIP/2.0", let status = Int(words[1]), (100...699).contains(status) {
                outcome = (status, line, index)
            }
        }
        guard let outcome else { return [] }
        if outcome.status >= 300 {
            return [
                Finding(
                    .failure,
                    Cause(
                        "seen.transfer-failed",
                        "The transfer to \(target) failed: the transferred phone reports \(Words.shown(String(outcome.line.dropFirst(8)))).",
                        status: outcome.status, evidence: [.init("Refer-To", target), .init("report", Words.shown(outcome.line))]),
                    messages: [refer.requests[0], outcome.index])
            ]
        }
        let isDone = outcome.status >= 200
        return [
            Finding(
                isDone ? .note : .warning,
                Cause(
                    isDone ? "seen.transferred" : "seen.transfer-open",
                    isDone
                        ? "The call was transferred to \(target)."
                        : "The transfer to \(target) was begun, and how it ended was never reported.",
                    evidence: [.init("report", Words.shown(outcome.line))]), messages: [refer.requests[0], outcome.index])
        ]
    }

    /// More than three new registrations a minute of the same address, or contacts that change again and again.
    static func flapping(_ traffic: Traffic, _ address: String, _ requests: [Int]) -> Finding? {
        func isEnd(_ index: Int) -> Bool {
            let message = traffic.messages[index].message
            return message.expires == 0 || message.hasWildcardContact || message.contacts.first?.expires == 0
        }
        // A program that leaves when its work is done is as it should be: only what comes back is counted.
        let ends = requests.count(where: isEnd)
        let requests = requests.filter { !isEnd($0) }
        // A request with credentials is the second half of the one before.
        let fresh = requests.filter { traffic.messages[$0].message.credentials(.authorization).isEmpty }
        let tries = fresh.count > requests.count / 3 ? fresh : requests
        guard tries.count >= 4, let first = tries.first, let last = tries.last else { return nil }
        let span = (traffic.messages[last].time - traffic.messages[first].time).seconds
        guard span > 0, Double(tries.count - 1) / span > 3.0 / 60 else { return nil }
        // Retransmissions of one request are silence, not flapping.
        guard Set(tries.map { "\(traffic.messages[$0].message.callID) \(traffic.messages[$0].message.cseqNumber)" }).count >= 4 else {
            return nil
        }
        var contacts: [String] = []
        for index in tries {
            let message = traffic.messages[index].message
            for contact in message.contacts {
                let text = contact.uri.sip.map { "\($0.host)" + ($0.port.map { ":\($0)" } ?? "") } ?? "\(contact.uri)"
                if !contacts.contains(text), contacts.count < 8 { contacts.append(text) }
            }
        }
        let why =
            contacts.count > 1
            ? "its address changes between \(Words.list(contacts)): two phones with one account, or a NAT that forgets the way."
            : ends > 0 ? "it leaves \(Words.times(ends)) and comes back." : "it comes back before its time is over."
        return Finding(
            .warning,
            Cause(
                "seen.registration-flapping",
                "\(Words.shown(address)) registers \(Words.times(tries.count)) within \(Words.seconds(span)): \(why)",
                evidence: [
                    .init("requests", "\(tries.count)"), .init("seconds", "\(Int(span))"),
                    .init("contacts", contacts.joined(separator: " ")),
                ]),
            messages: tries)
    }
}
