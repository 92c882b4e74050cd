// SPDX-License-Identifier: Apache-2.0
//
// Watches what one phone says and hears, and knows what the protocol asks of it in turn. A phone may seem to work while
// it breaks these rules, because its peer is patient.

import Essentials
import SIP

/// Rules of RFC 3261 that every phone of a simulated world is held to.
struct ProtocolWatch {
    /// One 2xx to an INVITE, as sent or heard.
    private struct Success {
        var callID: String
        var cseq: UInt32
        var tag: String
        var isOurs: Bool
        var first: MonotonicTime
        var last: MonotonicTime
        var count = 1
        var acknowledged: MonotonicTime?
    }

    private var successes: [Success] = []
    private var byes: [(callID: String, time: MonotonicTime)] = []
    /// Re-INVITEs of the other side: whoever asks for more has had the answer to what they asked before.
    private var invites: [(callID: String, cseq: UInt32, time: MonotonicTime)] = []
    private var stopped: MonotonicTime?

    /// The phone has stopped: nothing more is expected of it.
    mutating func stop(_ now: MonotonicTime) { stopped = stopped ?? now }

    mutating func hears(_ bytes: [UInt8], _ now: MonotonicTime) { note(bytes, isSent: false, now) }
    mutating func says(_ bytes: [UInt8], _ now: MonotonicTime) { note(bytes, isSent: true, now) }

    private mutating func note(_ bytes: [UInt8], isSent: Bool, _ now: MonotonicTime) {
        guard case .message(let message) = SIPMessage.receive(bytes) else { return }
        if !message.isRequest {
            guard (200..<300).contains(message.statusCode), message.cseq.method == .invite else { return }
            let tag = message.to.tag ?? ""
            if let index = index(message, tag) {
                successes[index].count += 1
                successes[index].last = now
            } else {
                successes.append(
                    Success(
                        callID: message.callID, cseq: message.cseq.number, tag: tag, isOurs: isSent, first: now, last: now))
            }
        } else if message.method == .ack {
            guard let index = index(message, message.to.tag ?? ""), successes[index].isOurs != isSent else { return }
            successes[index].acknowledged = successes[index].acknowledged ?? now
        } else if message.method == .invite {
            if !isSent { invites.append((message.callID, message.cseq.number, now)) }
        } else if message.method == .bye {
            byes.append((message.callID, now))
        }
    }

    private func index(_ message: SIPMessage, _ tag: String) -> Int? {
        successes.firstIndex { $0.callID == message.callID && $0.cseq == message.cseq.number && $0.tag == tag }
    }

    /// The rules that were broken.
    var violations: [String] {
        successes.compactMap { success in
            if !success.isOurs {
                // §13.2.2.4: every 2xx to an INVITE gets an ACK.
                return success.acknowledged == nil ? "no ACK for the 2xx of CSeq \(success.cseq)" : nil
            }
            // §13.3.1.4: the 2xx is sent again after T1 until its ACK comes, or the call is over.
            let patience = success.first + .milliseconds(600)
            let ends =
                [success.acknowledged, stopped] + byes.filter { $0.callID == success.callID }.map(\.time)
                + invites.filter { $0.callID == success.callID && $0.cseq > success.cseq }.map(\.time)
            if ends.contains(where: { $0.map { $0 <= patience } ?? false }) { return nil }
            return success.count > 1 ? nil : "the 2xx of CSeq \(success.cseq) was not sent again although no ACK came"
        }
    }
}
