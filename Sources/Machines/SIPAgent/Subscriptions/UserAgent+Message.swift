// SPDX-License-Identifier: Apache-2.0
//
// Instant messages (RFC 3428), outside dialogs and within those of calls, both ways.

import Essentials
import SIP

extension UserAgent {
    /// The types that are shown: text, and bodies of several parts with text among them.
    static let acceptedMessages = "text/plain, multipart/mixed, multipart/alternative"

    /// Sends a message outside dialogs; `messageAnswered` follows in any case.
    ///
    /// - Parameter accountID: who writes; nil: nobody in particular, straight to the target.
    public func sendMessage(
        from accountID: AccountID?, to target: URI, body: [UInt8], type: String = "text/plain;charset=UTF-8", now: MonotonicTime
    ) throws(AgentError) -> MessageID {
        var account: Account?
        if let accountID {
            guard let known = accounts[accountID] else { throw AgentError(.unknownAccount, "\(accountID) is not known") }
            account = known
        }
        let hop = try nextHop(to: target, account: account)
        let id = try newMessage(body)
        var local = account?.identity ?? NameAddress(uri: .sip(SIPURI(host: .name("invalid"), port: nil)))
        local.tag = random.token(10)
        let request = makeRequest(
            .message, .message(id, nil), account: account, to: target, nextHop: hop, local: local, callID: random.token(22),
            sequence: UInt32(random.integer(in: 1...30_000)), contact: .none)
        request.message.setBody(body, type: type)
        start(request, now: now)
        pump(now)
        return id
    }

    /// Sends a message within the dialog of an established call; `messageAnswered` follows in any case.
    public func sendMessage(
        in sessionID: SessionID, body: [UInt8], type: String = "text/plain;charset=UTF-8", now: MonotonicTime
    ) throws(AgentError) -> MessageID {
        guard let session = sessions[sessionID], session.phase == .established, var dialog = session.dialog else {
            throw AgentError(.unknownDialog, "the call is not established")
        }
        let id = try newMessage(body)
        let request = makeRequest(.message, .event(.message(id, sessionID)), in: &dialog, account: session.account)
        session.dialog = dialog
        request.message.setBody(body, type: type)
        start(request, now: now)
        pump(now)
        return id
    }

    private func newMessage(_ body: [UInt8]) throws(AgentError) -> MessageID {
        guard life == .running else { throw AgentError(.stopped, "the agent has been shut down") }
        guard body.count <= configuration.maximumMessageOctets else {
            counters.increment(.messageTooLong)
            throw AgentError(
                .messageTooLong, "the message has \(body.count) octets, the limit is \(configuration.maximumMessageOctets)")
        }
        guard subscriptions.pendingMessages < configuration.maximumPendingMessages else {
            counters.increment(.subscriptionLimit)
            throw AgentError(.tooManySubscriptions, "\(subscriptions.pendingMessages) messages wait for their answers")
        }
        subscriptions.pendingMessages += 1
        subscriptions.lastMessage &+= 1
        counters.increment(.messagesOut)
        return MessageID(rawValue: subscriptions.lastMessage)
    }

    /// RFC 3428 §8: a message that is too large for a datagram goes over a connection or not at all.
    func isTooLong(_ request: ClientRequest) -> Bool {
        if case .asDatagram = request.size { request.method == .message } else { false }
    }

    func handleMessageOutcome(
        _ outcome: RequestOutcome, _ request: ClientRequest, _ id: MessageID, _ sessionID: SessionID?, now: MonotonicTime
    ) {
        subscriptions.pendingMessages -= 1
        switch outcome {
        case .failure(.tooLarge(let octets)):
            counters.increment(.messageTooLong)
            emit(.event(.messageAnswered(id, .failed(EventCauses.messageTooLong(octets)))))
        case .failure(let failure):
            emit(.event(.messageAnswered(id, .failed(EventCauses.messageFailure(failure)))))
        case .response(let response, _, _) where response.statusCode == 200:
            emit(.event(.messageAnswered(id, .delivered)))
        case .response(let response, _, _) where response.statusCode < 300:
            emit(.event(.messageAnswered(id, .accepted(status: response.statusCode))))
        case .response(let response, _, _):
            emit(.event(.messageAnswered(id, .failed(EventCauses.messageRefused(response, request.challengeFailure)))))
            if response.statusCode == 481, let session = sessionID.flatMap({ sessions[$0] }) {
                loseDialog(session, Causes.dialogLost(response), now: now)
            }
        }
    }

    // MARK: What comes in

    /// A MESSAGE, within the dialog of `session` or outside dialogs.
    func handleMessage(
        _ request: SIPMessage, _ transaction: TransactionID, _ source: MessageSource, session: InviteSession?, now: MonotonicTime
    ) {
        if let session, session.phase == .over {
            refuse(request, transaction, 481, now: now)
            return
        }
        let account = session == nil ? account(for: request, source: source) : session?.account.flatMap { accounts[$0] }
        // What fits no account's server is a direct message, as with calls.
        if session == nil, !isServer(source), directCalls(account) == .refuse {
            counters.increment(.messageRefused)
            refuse(request, transaction, 403, now: now)
            return
        }
        guard request.body.count <= configuration.maximumMessageOctets else {
            counters.increment(.messageTooLong)
            refuse(request, transaction, 413, now: now)
            return
        }
        guard request.contentEncoding.allSatisfy({ $0 == "identity" }), request.body.isEmpty || request.plainText != nil else {
            counters.increment(.unsupportedMedia)
            refuse(request, transaction, 415, [(.accept, Self.acceptedMessages), (.acceptEncoding, "identity")], now: now)
            return
        }
        refuse(request, transaction, 200, now: now)
        counters.increment(.messagesIn)
        guard !request.body.isEmpty else { return }
        emit(.event(.message(ReceivedMessage(account: account?.id, session: session?.id, message: request, source: source))))
    }
}
