// SPDX-License-Identifier: Apache-2.0
//
// The calling side of an INVITE (RFC 3261 §13.2), with forking:
//
//   INVITE ─► 18x tag A, 18x tag B: two early dialogs ─► 2xx tag B: the dialog; ACK
//                                                        2xx tag A: ACK, BYE (§13.2.2.4)

import Essentials
import SIP

extension UserAgent {
    /// Header fields that the protocol sets itself.
    private static let reserved: [HeaderName] = [
        .via, .from, .to, .callID, .cseq, .contact, .maxForwards, .route, .recordRoute, .contentLength, .contentType,
        .authorization, .proxyAuthorization, .require, .allow, .supported, .unsupported, .sessionExpires, .minSE, .rseq, .rack,
    ]

    /// Whether an application may not give a header field of this name: the protocol sets it.
    package static func isReserved(_ name: HeaderName) -> Bool { reserved.contains(name) }

    /// Calls `target`.
    ///
    /// - Parameters:
    ///   - accountID: who calls; nil: nobody in particular, straight to the target.
    ///   - offer: the SDP offer; nil: the peer makes it in its 2xx (§13.2.1), and `acknowledge` answers it.
    ///   - headers: further header fields of the INVITE.
    ///   - isAnonymous: the called side is not told who calls (RFC 3323 §4.1.1); the account's own server is, to vouch for us.
    public func invite(
        from accountID: AccountID?, to target: URI, offer: [UInt8]?, headers: [(HeaderName, String)] = [],
        isAnonymous: Bool = false, now: MonotonicTime
    ) throws(AgentError) -> SessionID {
        guard life == .running else { throw AgentError(.stopped, "the agent has been shut down") }
        guard activeCalls < configuration.maximumCalls else {
            throw AgentError(.tooManyCalls, "\(activeCalls) calls are up, the limit is \(configuration.maximumCalls)")
        }
        var account: Account?
        if let accountID {
            guard let known = accounts[accountID] else { throw AgentError(.unknownAccount, "\(accountID) is not known") }
            account = known
        }
        if let (name, _) = headers.first(where: { Self.reserved.contains($0.0) }) {
            throw AgentError(.reservedHeader, "\(name) is set by the protocol")
        }
        let nextHop = try nextHop(to: target, account: account)
        let id = newSession(account: accountID, isOutgoing: true)
        counters.increment(.callsOut)
        let request = makeInvite(id, account, target, nextHop, offer, headers, isAnonymous: isAnonymous)
        if let session = sessions[id] {
            session.invite = request
            session.offerWasSent = offer != nil
            session.isAnonymous = isAnonymous
        }
        timers.arm(.ringLimit(id), at: now + configuration.ringLimit)
        start(request, now: now)
        pump(now)
        return id
    }

    /// Where a request outside dialogs goes first (§8.1.2): the account's proxy, its server for its own domain and for numbers, else the
    /// target itself.
    func nextHop(to target: URI, account: Account?) throws(AgentError) -> URI {
        switch target {
        case .sip(let uri):
            guard let account else { return target }
            if let hop = account.firstHop { return .sip(hop) }
            let home = account.configuration.addressOfRecord
            return uri.host == home.host && uri.port == home.port ? .sip(account.serverURI) : target
        case .tel:
            guard let account else { throw AgentError(.unusableTarget, "a tel: URI needs an account that carries it") }
            return .sip(account.firstHop ?? account.serverURI)
        case .other(let scheme, _):
            throw AgentError(.unusableTarget, "the scheme \(scheme) cannot be called")
        }
    }

    func newSession(account: AccountID?, isOutgoing: Bool) -> SessionID {
        lastSession &+= 1
        let id = SessionID(rawValue: lastSession)
        sessions[id] = InviteSession(id: id, account: account, isOutgoing: isOutgoing)
        activeCalls += 1
        return id
    }

    private func makeInvite(
        _ id: SessionID, _ account: Account?, _ target: URI, _ nextHop: URI, _ offer: [UInt8]?,
        _ headers: [(HeaderName, String)], isAnonymous: Bool
    ) -> ClientRequest {
        let calledURI = target.asRequestURI
        var requestURI = calledURI
        var routes: [String] = []
        if let account {
            if let proxy = account.configuration.proxy, account.configuration.calls.proxyIsStrictRouter {
                let aimed = Dialog.aim([NameAddress(uri: .sip(proxy.withoutHeaders))], at: calledURI)
                requestURI = aimed.requestURI
                routes = aimed.routes.map(\.description)
            } else {
                routes = preloadedRoutes(account)
            }
        }
        var local = isAnonymous ? Self.anonymous : account?.identity ?? NameAddress(uri: .sip(SIPURI(host: .name("invalid"), port: nil)))
        local.tag = random.token(10)
        let sequence = UInt32(random.integer(in: 1...30_000))
        var message = MessageBuilder(request: .invite, uri: requestURI)
        for route in routes { message.add(.route, route) }
        message.add(.maxForwards, "70")
        message.add(.from, local.description)
        message.add(.to, NameAddress(uri: calledURI).description)
        message.add(.callID, random.token(22))
        message.add(.cseq, "\(sequence) INVITE")
        message.add(.allow, Self.allowedMethods)
        for (name, value) in headers { message.add(name, value) }
        if account != nil || isAnonymous { addIdentity(to: &message, account, nextHop: nextHop, isAnonymous: isAnonymous) }
        let gruuTag = account?.gruu == nil ? "" : ", gruu"
        message.add(.supported, Self.reliableTag + ", " + Self.timerTag + ", " + Self.replacesTag + gruuTag)
        if let offer { message.setBody(offer, type: "application/sdp") }
        let request = ClientRequest(
            .invite(id), account: account?.id, method: .invite, message: message, sequence: sequence, nextHop: nextHop,
            contact: .dialog, local: local, requestURI: requestURI)
        askForTimer(request)
        request.fillsLocalHost = account == nil && !isAnonymous
        request.isAnonymous = isAnonymous
        request.mayChangeTarget = true
        return request
    }

    /// A preloaded route to the account's proxy (§8.1.1.1).
    static func route(_ proxy: SIPURI) -> String {
        var uri = proxy
        uri.headers = []
        if !uri.isLooseRouter { uri.parameters.set("lr", nil) }
        return NameAddress(uri: .sip(uri)).description
    }

    // MARK: Answers

    /// A provisional response above 100.
    func handleProvisional(_ response: SIPMessage, _ request: ClientRequest, _ source: MessageSource, now: MonotonicTime) {
        // After CANCEL a provisional response means nothing: only a 2xx is an answer (B-037).
        guard case .invite(let id) = request.purpose, let session = sessions[id], session.phase == .calling else { return }
        let tag = response.toTag
        let number = reliableNumber(of: response, request)
        if let number, !isNextReliable(number, tag, request) {
            counters.increment(.reliableProgressOutOfOrder)
            return
        }
        if let index = session.earlyDialogs.firstIndex(where: { $0.id.remoteTag == tag }) {
            session.earlyDialogs[index].refreshTarget(from: response)
        } else if session.earlyDialogs.count >= configuration.maximumEarlyDialogs {
            counters.increment(.earlyDialogLimit)
            return
        } else {
            var dialog = makeDialog(request, response)
            dialog.source = source
            session.earlyDialogs.append(dialog)
            dialogs[dialog.id] = id
        }
        if let number {
            // Without an offer of ours the first one of a dialog brings theirs, to be answered in the PRACK (RFC 3262 §5).
            if !session.offerWasSent, !response.body.isEmpty, !session.agreedEarly.contains(tag) {
                session.agreedEarly.append(tag)
                emit(.earlyOffer(id, response))
                return
            }
            guard acknowledgeProgress(number, response, request, session, now: now) else { return }
        }
        emit(.progress(id, response))
    }

    private func makeDialog(_ request: ClientRequest, _ response: SIPMessage) -> Dialog {
        let local = request.local ?? NameAddress(uri: request.requestURI)
        let last = request.reliable.first { $0.remoteTag == response.toTag }?.lastSequence
        return Dialog(target: request.requestURI, local: local, sequence: last ?? request.sequence, response: response)
    }

    /// The final answer to the INVITE of a session.
    func handleInviteOutcome(_ outcome: RequestOutcome, _ request: ClientRequest, _ session: InviteSession, now: MonotonicTime) {
        session.invite = nil
        timers.cancel(.ringLimit(session.id))
        forgetEarlyDialogs(session)
        switch outcome {
        case .response(let response, let transaction, let source) where response.statusCode < 300:
            handleSuccess(response, transaction, source, request, session, now: now)
        case .response(let response, _, _):
            end(session, byRemote: true, Causes.refusal(response, request.redirection, request.challengeFailure), now: now)
        case .failure(let failure):
            end(session, byRemote: false, Causes.failure(failure, of: "INVITE", request.redirection), now: now)
        }
    }

    /// The first 2xx (§13.2.2.4).
    private func handleSuccess(
        _ response: SIPMessage, _ transaction: TransactionID, _ source: MessageSource, _ request: ClientRequest,
        _ session: InviteSession, now: MonotonicTime
    ) {
        var dialog = makeDialog(request, response)
        dialog.source = source
        session.dialog = dialog
        dialogs[dialog.id] = session.id
        let accepted = AcceptedInvite(request: request)
        accepted.legs.append(AcceptedInvite.Leg(remoteTag: dialog.id.remoteTag))
        acceptedInvites[transaction] = accepted
        guard session.phase == .calling else {
            // Hung up while the 2xx was on its way (B-036): it is acknowledged, then ended.
            acknowledge(transaction, dialog, body: nil, now: now)
            sendBye(session, now: now)
            return
        }
        session.wasEstablished = true
        adoptTimer(session, from: response, now: now)
        if session.offerWasSent || session.agreedEarly.contains(dialog.id.remoteTag) {
            session.phase = .established
            acknowledge(transaction, dialog, body: nil, now: now)
            guard session.phase == .established else { return }
        } else {
            session.phase = .answering
            session.acceptedInvite = transaction
        }
        emit(.answered(session.id, response))
    }

    /// The answer to an offer that came in the 2xx: it goes out in the ACK (§13.2.2.4).
    public func acknowledge(_ id: SessionID, answer: [UInt8]?, now: MonotonicTime) {
        guard let session = sessions[id], session.phase == .answering || session.phase == .established,
            let transaction = session.acceptedInvite, let dialog = session.dialog
        else { return }
        session.phase = .established
        session.acceptedInvite = nil
        acknowledge(transaction, dialog, body: answer, now: now)
        reinviteIfWanted(session, now: now)
        pump(now)
    }

    /// Another 2xx to the same INVITE: a copy, or another fork.
    func handleFurtherSuccess(
        _ response: SIPMessage, _ accepted: AcceptedInvite, _ transaction: TransactionID, _ source: MessageSource,
        now: MonotonicTime
    ) {
        let tag = response.toTag
        if let leg = accepted.legs.first(where: { $0.remoteTag == tag }) {
            counters.increment(.repeatedSuccess)
            if let ack = leg.sentACK, let target = leg.target { stack.resend(ack, to: target, now: now) }
            return
        }
        guard case .invite = accepted.request.purpose else { return }
        guard accepted.legs.count < configuration.maximumAnsweredForks else {
            counters.increment(.forkLimit)
            return
        }
        counters.increment(.extraFork)
        var dialog = makeDialog(accepted.request, response)
        dialog.source = source
        accepted.legs.append(AcceptedInvite.Leg(remoteTag: tag))
        acknowledge(transaction, dialog, body: nil, now: now)
        start(makeRequest(.bye, .abandonFork, in: &dialog, account: accepted.request.account), now: now)
    }

    /// Makes the ACK of a 2xx and sends it as soon as its way is known; it stays for the copies of the 2xx.
    func acknowledge(_ transaction: TransactionID, _ dialog: Dialog, body: [UInt8]?, now: MonotonicTime) {
        guard let accepted = acceptedInvites[transaction],
            let index = accepted.legs.firstIndex(where: { $0.remoteTag == dialog.id.remoteTag })
        else { return }
        var ack = dialog.makeACK(sequence: accepted.sequence)
        for (name, value) in accepted.request.credentials { ack.add(name, value) }
        if let body { ack.setBody(body, type: "application/sdp") }
        accepted.legs[index].ack = ack
        locate(
            dialog.nextHop, account: accepted.request.account, source: dialog.source,
            .ack(transaction, remoteTag: dialog.id.remoteTag), now: now)
    }

    func forgetEarlyDialogs(_ session: InviteSession) {
        for dialog in session.earlyDialogs { dialogs[dialog.id] = nil }
        session.earlyDialogs = []
    }
}
