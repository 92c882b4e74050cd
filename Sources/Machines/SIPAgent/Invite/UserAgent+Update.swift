// SPDX-License-Identifier: Apache-2.0
//
// UPDATE (RFC 3311): a change of the session, or only of the target, that needs no three-way handshake and may come before
// the answer. Without a description it also refreshes the session timer (RFC 4028 §7.4) and tells who is connected (RFC 4916).
//
//   theirs, no description ─► 200, `.refreshed`
//   theirs, an offer       ─► `.offered` ─ answerUpdate ─► 200 with the answer
//                             our offer is open ─► 491          theirs is open ─► 500, Retry-After (§5.2)
//   ours, no description   ─► 200: the timer runs anew          405, 501, … ─► by re-INVITE from now on

import Essentials
import SIP

/// What an UPDATE of the peer brings.
public enum UpdateEvent: Sendable {
    /// A new target, another identity, a refreshed timer: nothing is to be answered.
    case refreshed(SIPMessage)
    /// An offer, in UPDATE or PRACK, that waits for `answerUpdate`.
    case offered(SIPMessage)
}

/// The names of methods and options as `SIPMessage.lists` compares them.
enum Token {
    static let update = Array("update".utf8)
    static let reliable = Array("100rel".utf8)
}

/// A request of the peer other than INVITE whose offer waits for the user's answer.
struct ServerUpdate {
    let transaction: TransactionID
    let request: SIPMessage
    let dialog: DialogID
}

extension UserAgent {
    // MARK: Theirs

    func handleUpdate(
        _ request: SIPMessage, _ transaction: TransactionID, _ session: InviteSession, _ id: DialogID, _ source: MessageSource,
        now: MonotonicTime
    ) {
        guard session.phase != .over else { return refuse(request, transaction, 481, now: now) }
        counters.increment(.updatesIn)
        guard !request.body.isEmpty else {
            var response = makeUpdateResponse(request, session, id)
            if session.dialog?.id == id, session.phase == .established { agreeTimer(session, request, &response, now: now) }
            stack.respond(transaction, response, now: now)
            refresh(session, id, from: request, source)
            emit(.update(session.id, .refreshed(request)))
            return
        }
        if isTheirOfferOpen(session) {
            counters.increment(.overlappingInvite)
            return refuse(request, transaction, 500, [(.retryAfter, "\(random.integer(in: 0...10))")], now: now)
        }
        if isOurOfferOpen(session, id) {
            counters.increment(.glare)
            return refuse(request, transaction, 491, now: now)
        }
        refresh(session, id, from: request, source)
        session.serverUpdate = ServerUpdate(transaction: transaction, request: request, dialog: id)
        emit(.update(session.id, .offered(request)))
    }

    /// Answers the offer of the peer's UPDATE (or PRACK): 200 with the answer, or a refusal, after which all is as before.
    public func answerUpdate(_ id: SessionID, status: Int, answer: [UInt8]?, now: MonotonicTime) {
        guard let session = sessions[id], let server = session.serverUpdate else { return }
        session.serverUpdate = nil
        if (200..<300).contains(status) {
            var response = makeUpdateResponse(server.request, session, server.dialog)
            if server.request.method == .update, session.phase == .established {
                agreeTimer(session, server.request, &response, now: now)
            }
            if let answer { response.setBody(answer, type: "application/sdp") }
            stack.respond(server.transaction, response, now: now)
        } else {
            refuse(server.request, server.transaction, min(max(status, 300), 699), now: now)
        }
        reinviteIfWanted(session, now: now)
        pump(now)
    }

    private func makeUpdateResponse(_ request: SIPMessage, _ session: InviteSession, _ id: DialogID) -> MessageBuilder {
        var response = request.makeResponse(status: 200, toTag: nil)
        let source = session.dialog?.id == id ? session.dialog?.source : session.earlyDialogs.first { $0.id == id }?.source
        if request.method == .update, let source {
            response.add(.contact, "<\(ownContact(session, source))>")
            response.add(.allow, Self.allowedMethods)
        }
        return response
    }

    /// The target, where the dialog's messages come from, and who the peer says it is (RFC 4916 §4.4.1).
    private func refresh(_ session: InviteSession, _ id: DialogID, from message: SIPMessage, _ source: MessageSource) {
        if session.dialog?.id == id {
            session.dialog?.refreshTarget(from: message)
            session.dialog?.source = source
        } else if let index = session.earlyDialogs.firstIndex(where: { $0.id == id }) {
            session.earlyDialogs[index].refreshTarget(from: message)
            session.earlyDialogs[index].source = source
        }
    }

    /// An offer of the peer has no answer yet.
    private func isTheirOfferOpen(_ session: InviteSession) -> Bool {
        if session.serverUpdate != nil { return true }
        guard let server = session.serverInvite, server.success == nil, !server.offerIsOurs else { return false }
        return !(server.isInitial && session.ringing?.isAgreed == true)
    }

    /// An offer of ours has no answer yet.
    private func isOurOfferOpen(_ session: InviteSession, _ id: DialogID) -> Bool {
        if session.reinvite != nil { return true }
        if session.phase == .calling { return !session.agreedEarly.contains(id.remoteTag) }
        if session.phase == .answering { return true }
        guard let server = session.serverInvite, server.offerIsOurs else { return false }
        return server.success != nil || !(session.ringing?.isAgreed ?? false)
    }

    /// Looks whether the peer allows UPDATE; one that refused it is not asked again.
    func noteAllowed(_ session: InviteSession, _ message: SIPMessage) {
        guard !session.peerRefusedUpdate else { return }
        session.peerAllowsUpdate = message.lists(.allow, Token.update) || session.peerAllowsUpdate && !message.contains(.allow)
    }

    // MARK: Ours

    /// Changes the session by UPDATE: while it is not answered, where offer and answer were exchanged reliably before; or in an
    /// established one without the wait for a person. What follows is what follows a `reinvite`.
    ///
    /// - Returns: whether it went out; false: the peer does not allow UPDATE, or another exchange is open.
    @discardableResult
    public func update(_ id: SessionID, offer: [UInt8], now: MonotonicTime) -> Bool {
        guard let session = sessions[id], session.phase != .over, session.peerAllowsUpdate, session.update == nil,
            session.reinvite == nil, !timers.isArmed(.reinvite(id)), let dialog = dialogForUpdate(session),
            !isTheirOfferOpen(session), !isOurOfferOpen(session, dialog)
        else { return false }
        guard let request = sendUpdate(session, dialog, offer: offer, now: now) else { return false }
        session.reinvite = request
        pump(now)
        return true
    }

    private func dialogForUpdate(_ session: InviteSession) -> DialogID? {
        if let dialog = session.dialog { return dialog.id }
        return session.earlyDialogs.last { session.agreedEarly.contains($0.id.remoteTag) }?.id
    }

    /// Refreshes the session timer by an UPDATE without a description; false: it has to be a re-INVITE.
    func refreshByUpdate(_ session: InviteSession, now: MonotonicTime) -> Bool {
        guard session.peerAllowsUpdate, session.update == nil, let dialog = session.dialog else { return false }
        guard let request = sendUpdate(session, dialog.id, offer: nil, now: now) else { return false }
        session.update = request
        return true
    }

    private func sendUpdate(_ session: InviteSession, _ id: DialogID, offer: [UInt8]?, now: MonotonicTime) -> ClientRequest? {
        let purpose = RequestPurpose.update(session.id, tag: id.remoteTag)
        let request: ClientRequest
        if var dialog = session.dialog {
            request = makeRequest(.update, purpose, in: &dialog, account: session.account)
            session.dialog = dialog
        } else if let index = session.earlyDialogs.firstIndex(where: { $0.id == id }) {
            request = makeRequest(.update, purpose, in: &session.earlyDialogs[index], account: session.account)
            // The dialog of the 2xx counts on from here.
            if let known = session.invite?.reliable.firstIndex(where: { $0.remoteTag == id.remoteTag }) {
                session.invite?.reliable[known].lastSequence = request.sequence
            }
        } else {
            return nil
        }
        request.isAnonymous = session.isAnonymous
        request.message.add(.allow, Self.allowedMethods)
        keepTimer(request, of: session)
        if let offer { request.message.setBody(offer, type: "application/sdp") }
        counters.increment(.updatesOut)
        start(request, now: now)
        return request
    }

    /// The 2xx to an UPDATE with an offer, in an early dialog or an established one.
    func updateSucceeded(_ response: SIPMessage, _ source: MessageSource, _ session: InviteSession, now: MonotonicTime) {
        session.reinviteRetries = 0
        guard session.phase != .over else { return }
        refresh(session, DialogID(callID: response.callID, localTag: response.fromTag, remoteTag: response.toTag), from: response, source)
        if session.phase == .established { adoptTimer(session, from: response, now: now) }
        emit(.reinviteAnswered(session.id, response))
        reinviteIfWanted(session, now: now)
    }

    func handleUpdateOutcome(_ outcome: RequestOutcome, _ request: ClientRequest, _ session: InviteSession, now: MonotonicTime) {
        if session.update === request {
            session.update = nil
        } else {
            return handleReinviteOutcome(outcome, request, session, now: now)
        }
        guard session.phase != .over else { return }
        switch outcome {
        case .failure(.timedOut): loseDialog(session, Causes.failure(.timedOut, of: "UPDATE"), now: now)
        case .failure: break
        case .response(let response, _, let source):
            switch response.statusCode {
            case 200..<300:
                session.dialog?.refreshTarget(from: response)
                session.dialog?.source = source
                adoptTimer(session, from: response, now: now)
            case 408, 481: loseDialog(session, Causes.dialogLost(response), now: now)
            // Another change is under way: the next reminder tries again.
            case 491, 500: break
            default:
                session.peerAllowsUpdate = false
                session.peerRefusedUpdate = true
                emit(.refreshDue(session.id))
            }
        }
    }
}

extension SIPMessage {
    /// Whether a list of tokens such as Allow names a token, given in lower case; makes nothing.
    func lists(_ name: HeaderName, _ token: [UInt8]) -> Bool {
        guard let range = firstRange(name) else { return false }
        let bytes = self.bytes
        let span = bytes.span
        var index = range.lower
        while index < range.upper {
            var length = 0
            while index + length < range.upper, span[index + length] != 0x2c, span[index + length] > 0x20 { length &+= 1 }
            if length == token.count {
                var same = 0
                while same < length, span[index + same] | 0x20 == token[same] { same &+= 1 }
                if same == length { return true }
            }
            index &+= length &+ 1
        }
        return false
    }
}
