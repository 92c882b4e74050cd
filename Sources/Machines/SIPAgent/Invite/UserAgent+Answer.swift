// SPDX-License-Identifier: Apache-2.0
//
// The called side of an INVITE (RFC 3261 §13.3), and the peer's re-INVITEs (§14.2).
//
//   INVITE ─► [100 by the stack] ─ring─► 180 ─accept─► 200, again after T1, 2·T1 … T2 ─ACK─► established
//                                                        └ 64·T1 without ACK: BYE (B-039)

import Essentials
import SIP

extension UserAgent {
    /// An INVITE outside any dialog: limits first, then it is offered to the user.
    func handleInitialInvite(_ request: SIPMessage, _ transaction: TransactionID, _ source: MessageSource, now: MonotonicTime) {
        guard life == .running else {
            refuse(request, transaction, 480, now: now)
            return
        }
        let account = account(for: request, source: source)
        let isTrusted = isServer(source)
        if !isTrusted, directCalls(account) == .refuse {
            refuseDirectCall(request, transaction, source, now: now)
            return
        }
        let key = source.remote.ip.unmapped
        if !isTrusted, unansweredBySource[key, default: 0] >= configuration.maximumUnansweredPerSource {
            counters.increment(.unansweredLimit)
            refuse(request, transaction, 503, [(.retryAfter, "\(random.integer(in: 5...15))")], now: now)
            return
        }
        var replaced: InviteSession?
        switch replacement(for: request) {
        case .none: break
        case .session(let session): replaced = session
        case .refused(let status):
            counters.increment(.replacementRefused)
            refuse(request, transaction, status, now: now)
            return
        }
        guard activeCalls < configuration.maximumCalls || replaced != nil else {
            counters.increment(.callLimit)
            refuse(request, transaction, 486, now: now)
            return
        }
        counters.increment(.callsIn)
        let id = newSession(account: account?.id, isOutgoing: false)
        guard let session = sessions[id] else { return }
        let dialog = Dialog(request: request, localTag: random.token(10), source: source)
        session.dialog = dialog
        session.replaces = replaced?.id
        dialogs[dialog.id] = id
        session.serverInvite = InviteSession.ServerInvite(
            transaction: transaction, request: request, isInitial: true, offerIsOurs: request.body.isEmpty)
        session.ringing = reliableRinging(for: request)
        if session.ringing != nil { session.peerAllowsUpdate = request.lists(.allow, Token.update) }
        serverInvites[transaction] = id
        if !isTrusted {
            session.countedSource = key
            unansweredBySource[key, default: 0] += 1
        }
        let limit = request.expires.map { min(.seconds(Int64($0)), configuration.ringLimit) } ?? configuration.ringLimit
        timers.arm(.ringLimit(id), at: now + limit)
        let incoming = IncomingInvite(
            account: account?.id, message: request, source: source, isFromServer: isTrusted, replaces: replaced?.id)
        emit(.incoming(id, incoming))
    }

    /// An INVITE that did not come from the account's server does not ring. The user hears of it, but not of each one:
    /// whoever tries numbers on the network sends hundreds.
    private func refuseDirectCall(_ request: SIPMessage, _ transaction: TransactionID, _ source: MessageSource, now: MonotonicTime) {
        counters.increment(.directCallRefused)
        refuse(request, transaction, 403, now: now)
        guard directCallWarnings.admits(now) else { return }
        emit(.warning(Causes.directCallRefused(request, source, refused: counters[.directCallRefused])))
    }

    /// Tells the caller that the user is being alerted: 180, or another provisional status from 101 to 199.
    /// It is sent reliably where the caller wants that (`ringsReliably`).
    public func ring(
        _ id: SessionID, status: Int = 180, body: [UInt8]? = nil, headers: [(HeaderName, String)] = [], now: MonotonicTime
    ) {
        guard let session = sessions[id], session.phase == .ringing, let server = session.serverInvite else { return }
        let status = min(max(status, 101), 199)
        if session.ringing != nil {
            ringReliably(session, .init(status: status, body: body, headers: headers), now: now)
            return pump(now)
        }
        var response = makeInviteResponse(session, server.request, status: status)
        for (name, value) in headers { response.add(name, value) }
        if let body { response.setBody(body, type: "application/sdp") }
        stack.respond(server.transaction, response, now: now)
        pump(now)
    }

    /// Takes the call: 200 with the answer, or with our offer where the INVITE had none.
    public func accept(_ id: SessionID, answer: [UInt8]?, headers: [(HeaderName, String)] = [], now: MonotonicTime) {
        guard let session = sessions[id], session.phase == .ringing else { return }
        if mustWaitForPrack(session) {
            session.ringing?.acceptance = (answer, headers)
        } else {
            succeedInitial(session, answer, headers, now: now)
        }
        pump(now)
    }

    func succeedInitial(_ session: InviteSession, _ answer: [UInt8]?, _ headers: [(HeaderName, String)], now: MonotonicTime) {
        stopRepeatingProgress(session)
        session.phase = .awaitingACK
        session.wasEstablished = true
        session.dialog?.isEarly = false
        timers.cancel(.ringLimit(session.id))
        succeed(session, body: answer, headers, now: now)
        endReplaced(by: session, now: now)
    }

    /// Refuses the call with a final status from 300 to 699.
    public func reject(
        _ id: SessionID, status: Int, reason: String? = nil, headers: [(HeaderName, String)] = [], now: MonotonicTime
    ) {
        guard let session = sessions[id], session.phase == .ringing else { return }
        let status = min(max(status, 300), 699)
        refuseInvite(session, status, headers, reason: reason, now: now)
        end(session, byRemote: false, Causes.rejected(status), now: now)
        pump(now)
    }

    /// Ends the INVITE that is being served with a final answer other than 2xx.
    func refuseInvite(
        _ session: InviteSession, _ status: Int, _ headers: [(HeaderName, String)] = [], reason: String? = nil,
        now: MonotonicTime
    ) {
        guard let server = session.serverInvite, server.success == nil else { return }
        refuse(server.request, server.transaction, status, headers, tag: responseTag(server, session), reason: reason, now: now)
        forgetServerInvite(session)
    }

    private func responseTag(_ server: InviteSession.ServerInvite, _ session: InviteSession) -> String? {
        server.isInitial ? session.dialog?.id.localTag : nil
    }

    /// A response that makes or refreshes the dialog: Contact and Record-Route with it (§12.1.1).
    func makeInviteResponse(_ session: InviteSession, _ request: SIPMessage, status: Int) -> MessageBuilder {
        let isInitial = session.serverInvite?.isInitial ?? false
        var response = request.makeResponse(status: status, toTag: isInitial ? session.dialog?.id.localTag : nil)
        response.copy(.recordRoute, of: request)
        if let source = session.dialog?.source {
            response.add(.contact, "<\(ownContact(session, source))>")
        }
        if status >= 200 { response.add(.allow, Self.allowedMethods) }
        return response
    }

    /// Sends our 2xx and keeps it until its ACK.
    private func succeed(_ session: InviteSession, body: [UInt8]?, _ headers: [(HeaderName, String)] = [], now: MonotonicTime) {
        guard var server = session.serverInvite else { return }
        var builder = makeInviteResponse(session, server.request, status: 200)
        for (name, value) in headers { builder.add(name, value) }
        agreeTimer(session, server.request, &builder, now: now)
        if let body { builder.setBody(body, type: "application/sdp") }
        let response = builder.build()
        let times = configuration.stack.times
        server.success = response
        server.interval = times.t1
        server.offerIsOurs = server.offerIsOurs && body != nil
        session.serverInvite = server
        stack.respond(server.transaction, response, now: now)
        timers.arm(.repeatSuccess(session.id), at: now + times.t1)
        timers.arm(.awaitACK(session.id), at: now + times.timeout)
    }

    /// §13.3.1.4: the 2xx again after T1, doubling up to T2.
    func repeatSuccess(_ id: SessionID, now: MonotonicTime) {
        guard let session = sessions[id], let server = session.serverInvite, let response = server.success else { return }
        let interval = min(server.interval * 2, configuration.stack.times.t2)
        session.serverInvite?.interval = interval
        if configuration.stack.plantedFault != .noSuccessRepeats { stack.respond(server.transaction, response, now: now) }
        timers.arm(.repeatSuccess(id), at: now + interval)
        // Nobody confirms it: perhaps our address is not ours any more.
        noticeTrouble(now: now)
    }

    /// No ACK in 64*T1: the session is ended with BYE (B-039).
    func ackMissing(_ id: SessionID, now: MonotonicTime) {
        guard let session = sessions[id], let server = session.serverInvite, server.success != nil else { return }
        counters.increment(.missingACK)
        forgetServerInvite(session)
        sendBye(session, now: now)
        let source = session.dialog?.source
        let contact = server.success?.contacts.first.map { "\($0.uri)" } ?? ""
        end(session, byRemote: false, Causes.noACK(contact: contact, caller: source?.remote), now: now)
    }

    /// The ACK of a 2xx of ours.
    func handleACK(_ ack: SIPMessage, _ transaction: TransactionID?, _ source: MessageSource, now: MonotonicTime) {
        let id = DialogID(callID: ack.callID, localTag: ack.toTag, remoteTag: ack.fromTag)
        guard let sessionID = dialogs[id], let session = sessions[sessionID], let server = session.serverInvite,
            server.success != nil, server.request.cseqNumber == ack.cseqNumber
        else {
            counters.increment(.unmatchedACK)
            return
        }
        forgetServerInvite(session)
        releaseSource(session)
        if session.owesBye {
            sendBye(session, now: now)
            removeIfFinished(session)
            return
        }
        if session.phase == .awaitingACK { session.phase = .established }
        if server.offerIsOurs, ack.body.isEmpty {
            // Our offer stays without an answer (B-052).
            counters.increment(.missingAnswer)
            sendBye(session, now: now)
            end(session, byRemote: false, Causes.noAnswerInACK, now: now)
            return
        }
        emit(.confirmed(sessionID, ack))
        reinviteIfWanted(session, now: now)
    }

    func forgetServerInvite(_ session: InviteSession) {
        guard let server = session.serverInvite else { return }
        session.serverInvite = nil
        serverInvites[server.transaction] = nil
        timers.cancel(.repeatSuccess(session.id))
        timers.cancel(.awaitACK(session.id))
        stopRepeatingProgress(session)
    }

    /// CANCEL met an INVITE without a final answer (§9.2).
    func handleCancel(_ cancel: SIPMessage, _ transaction: TransactionID, now: MonotonicTime) {
        guard let id = serverInvites[transaction], let session = sessions[id], let server = session.serverInvite,
            server.transaction == transaction, server.success == nil
        else { return }
        refuseInvite(session, 487, now: now)
        if server.isInitial { end(session, byRemote: true, Causes.cancelled(cancel), now: now) }
        removeIfFinished(session)
    }

    /// The server transaction of an INVITE broke: nobody can be answered any more, or nobody acknowledged.
    func serverInviteFailed(_ session: InviteSession, _ transaction: TransactionID, _ failure: RequestFailure, now: MonotonicTime) {
        guard let server = session.serverInvite, server.transaction == transaction, server.success == nil else { return }
        forgetServerInvite(session)
        if server.isInitial { end(session, byRemote: false, Causes.failure(failure, of: "response to INVITE"), now: now) }
        removeIfFinished(session)
    }

    // MARK: Re-INVITE of the peer

    /// §14.2.
    func handleReinvite(
        _ request: SIPMessage, _ transaction: TransactionID, _ session: InviteSession, _ source: MessageSource, now: MonotonicTime
    ) {
        if session.phase == .over || session.dialog == nil {
            refuse(request, transaction, 481, now: now)
        } else if let server = session.serverInvite, server.success == nil || server.offerIsOurs {
            // One is unanswered, or its answer is still to come in the ACK (B-040).
            counters.increment(.overlappingInvite)
            refuse(request, transaction, 500, [(.retryAfter, "\(random.integer(in: 0...10))")], now: now)
        } else if session.serverUpdate != nil {
            counters.increment(.overlappingInvite)
            refuse(request, transaction, 500, [(.retryAfter, "\(random.integer(in: 0...10))")], now: now)
        } else if session.reinvite != nil || session.phase == .calling || session.phase == .answering {
            counters.increment(.glare)
            refuse(request, transaction, 491, now: now)
        } else {
            // A new INVITE shows that our last 2xx arrived, whatever became of its ACK.
            forgetServerInvite(session)
            if session.phase == .awaitingACK { session.phase = .established }
            releaseSource(session)
            session.dialog?.refreshTarget(from: request)
            session.dialog?.source = source
            session.serverInvite = InviteSession.ServerInvite(
                transaction: transaction, request: request, isInitial: false, offerIsOurs: request.body.isEmpty)
            serverInvites[transaction] = session.id
            emit(.reinvited(session.id, request))
        }
    }

    /// Answers the peer's re-INVITE: 200 with the answer (or our offer, where it had none), or a refusal, after which
    /// the session goes on as before.
    public func answerReinvite(_ id: SessionID, status: Int, answer: [UInt8]?, now: MonotonicTime) {
        guard let session = sessions[id], session.phase == .established, let server = session.serverInvite,
            !server.isInitial, server.success == nil
        else { return }
        if (200..<300).contains(status) {
            succeed(session, body: answer, now: now)
        } else {
            refuseInvite(session, min(max(status, 300), 699), now: now)
            reinviteIfWanted(session, now: now)
        }
        pump(now)
    }
}
