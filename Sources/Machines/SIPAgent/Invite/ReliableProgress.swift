// SPDX-License-Identifier: Apache-2.0
//
// Reliable provisional responses as the caller (RFC 3262 §4).
//
//   INVITE (Supported: 100rel) ─► 183 Require: 100rel, RSeq: 7 ─► PRACK RAck: 7 1 INVITE ─► 200
//                                 183 RSeq: 7 again, or a gap   ─► left aside; the PRACK's transaction repeats it

import Essentials
import SIP

/// What is known of the reliable provisional responses of one early dialog.
struct ReliableProgress {
    let remoteTag: String
    /// The INVITE that they answer; another number starts anew.
    let inviteSequence: UInt32
    var lastNumber: UInt32
    /// The number of our last request in the dialog: what follows the 2xx counts on from it.
    var lastSequence: UInt32
}

extension UserAgent {
    /// The option tag (RFC 3262 §8.1).
    static let reliableTag = "100rel"

    /// The RSeq of a response that is to be acknowledged; nil: an ordinary one (B-058).
    func reliableNumber(of response: SIPMessage, _ request: ClientRequest) -> UInt32? {
        guard response.contains(.rseq), request.message.first(.supported)?.hasPrefix(Self.reliableTag) ?? false,
            response.require.contains(where: { $0.asciiLowercased == Self.reliableTag }), !response.toTag.isEmpty,
            let text = response.first(.rseq)?.trimmedASCII, text.utf8.allSatisfy({ (48...57).contains($0) }),
            let number = UInt32(text), number > 0
        else { return nil }
        return number
    }

    /// The first of its dialog, or the one behind the last: others are neither acknowledged nor looked at (B-057).
    func isNextReliable(_ number: UInt32, _ tag: String, _ request: ClientRequest) -> Bool {
        guard let last = request.reliable.first(where: { $0.remoteTag == tag && $0.inviteSequence == request.sequence })
        else { return true }
        return last.lastNumber < UInt32.max && number == last.lastNumber + 1
    }

    /// Sends the PRACK within the early dialog; false: too many requests are open, and the response is left aside.
    func acknowledgeProgress(
        _ number: UInt32, _ response: SIPMessage, _ request: ClientRequest, _ session: InviteSession, answer: [UInt8]? = nil,
        now: MonotonicTime
    ) -> Bool {
        let tag = response.toTag
        guard session.openRequests < configuration.maximumPendingRequests,
            let index = session.earlyDialogs.firstIndex(where: { $0.id.remoteTag == tag })
        else {
            counters.increment(.reliableProgressLimit)
            return false
        }
        counters.increment(.reliableProgress)
        let prack = makeRequest(
            .prack, .prack(session.id, tag: tag), in: &session.earlyDialogs[index], account: session.account)
        prack.message.add(.rack, "\(number) \(request.sequence) INVITE")
        if let answer { prack.message.setBody(answer, type: "application/sdp") }
        if !response.body.isEmpty, session.offerWasSent, !session.agreedEarly.contains(tag) { session.agreedEarly.append(tag) }
        if response.lists(.allow, Token.update) { session.peerAllowsUpdate = true }
        let progress = ReliableProgress(
            remoteTag: tag, inviteSequence: request.sequence, lastNumber: number, lastSequence: prack.sequence)
        if let known = request.reliable.firstIndex(where: { $0.remoteTag == tag }) {
            request.reliable[known] = progress
        } else {
            request.reliable.append(progress)
        }
        start(prack, now: now)
        return true
    }

    /// The answer to an offer in a reliable provisional response (`earlyOffer`): it goes out in the PRACK.
    public func acknowledgeProgress(_ id: SessionID, _ response: SIPMessage, answer: [UInt8], now: MonotonicTime) {
        guard let session = sessions[id], session.phase == .calling, let request = session.invite,
            let number = reliableNumber(of: response, request)
        else { return }
        if acknowledgeProgress(number, response, request, session, answer: answer, now: now) { emit(.progress(id, response)) }
        pump(now)
    }

    /// The next number of the dialog with that tag, early or not, for a PRACK that is sent again with credentials.
    func nextSequence(of session: InviteSession, tag: String) -> UInt32? {
        if session.dialog?.id.remoteTag == tag { return session.dialog?.nextSequence() }
        guard let index = session.earlyDialogs.firstIndex(where: { $0.id.remoteTag == tag }) else { return nil }
        let number = session.earlyDialogs[index].nextSequence()
        if let known = session.invite?.reliable.firstIndex(where: { $0.remoteTag == tag }) {
            session.invite?.reliable[known].lastSequence = number
        }
        return number
    }
}
