// SPDX-License-Identifier: Apache-2.0
//
// Sending requests (RFC 3261 §8.1, RFC 3263 §4): locating, trying the targets in their order, and what comes back.

import Essentials
import SIP

/// Why a request got no answer.
enum RequestFailure: Error, Hashable {
    case timedOut
    case transport(FlowFailure)
    /// Too large for a datagram.
    case tooLarge(octets: Int)
    /// The next hop's name gave no address.
    case notLocated(LocationFailure)
    /// A `sips` address, and a way there without TLS.
    case notSecure(String)
    /// No flow of ours leads to the target.
    case noLocalAddress
    /// This machine has no address at the moment.
    case noNetwork
}

/// The end of a request of ours.
enum RequestOutcome {
    case response(SIPMessage, TransactionID, MessageSource)
    case failure(RequestFailure)
}

/// What waits for the addresses of a name.
enum LocationWaiter {
    case request(ClientRequest)
    /// The ACK of a 2xx: the INVITE's transaction and the tag of the leg.
    case ack(TransactionID, remoteTag: String)
}

extension UserAgent {
    /// Sends a new request: to the addresses of its next hop, one after another.
    func start(_ request: ClientRequest, now: MonotonicTime) {
        if let session = session(of: request.purpose) { session.openRequests += 1 }
        locate(request.nextHop, account: request.account, source: request.source, .request(request), now: now)
    }

    /// Sends the request as it stands as a new transaction.
    @discardableResult
    func transmit(_ request: ClientRequest, to target: SignallingTarget, now: MonotonicTime) -> Bool {
        let account = request.account.flatMap { accounts[$0] }
        let own = stack.localAddress(for: target)
        guard own != nil || stack.isReachedByConnectionOnly(target.transport) else {
            if connect(request, to: target, now: now) { return true }
            noticeTrouble(now: now)
            return false
        }
        var contact = contactURI(account: account, target: target, own: own, isSecure: request.needsSecureContact)
        request.sentFrom = own?.ip ?? localAddress(toward: target.address, target.transport)
        if request.isAnonymous { contact.user = "anonymous" }
        if request.fillsLocalHost { fillLocalHost(request, contact) }
        var message = request.message
        switch request.contact {
        case .none: break
        case .dialog:
            message.set(.contact, NameAddress(uri: .sip(request.isAnonymous ? contact : dialogContact(account, contact))).description)
        case .registration(let expires):
            account?.registeredFrom = request.sentFrom
            addBindings(to: &message, contact, expires: expires, account: account)
        }
        if let account, !account.configuration.calls.headers.isEmpty { addOwnHeaders(to: &message, request, account) }
        if isTooLong(request) { return false }
        // RFC 6223: whether the server wants to be kept alive, and how often.
        let keep = request.method == .register && configuration.keepAlive.isOn ? ";keep" : ""
        let transaction = stack.sendRequest(
            message, to: sized(target, request), octets: octetLimit(request), viaParameters: keep, now: now)
        request.transaction = transaction
        requests[transaction] = request
        armPatience(request, transaction, now: now)
        return true
    }

    /// Without an account our From is the address that the request leaves from.
    private func fillLocalHost(_ request: ClientRequest, _ contact: SIPURI) {
        request.fillsLocalHost = false
        var uri = contact
        uri.parameters.remove("transport")
        guard var local = request.local else { return }
        local.uri = .sip(uri)
        request.local = local
        request.message.set(.from, local.description)
    }

    // MARK: What comes back

    /// A response to a request of ours.
    func handleResponse(_ response: SIPMessage, _ transaction: TransactionID, _ source: MessageSource, now: MonotonicTime) {
        if let accepted = acceptedInvites[transaction] {
            if (200..<300).contains(response.statusCode) {
                handleFurtherSuccess(response, accepted, transaction, source, now: now)
            }
            return
        }
        guard let request = requests[transaction] else {
            counters.increment(.strayResponse)
            return
        }
        let status = response.statusCode
        forgetPatience(request, transaction)
        if status < 200 {
            if status > 100 { handleProvisional(response, request, source, now: now) }
            return
        }
        requests[transaction] = nil
        noteResponse(response, request, now: now)
        if !request.isAbandoned {
            if status == 401 || status == 407, answerChallenge(response, request, now: now) { return }
            if status == 422, raiseInterval(response, request, now: now) { return }
            if status == 503, request.mayChangeTarget, tryNextTarget(request, now: now) { return }
        }
        finish(request, .response(response, transaction, source), now: now)
    }

    /// No response: the next target, or the end.
    func handleFailure(_ failure: RequestFailure, _ request: ClientRequest, now: MonotonicTime) {
        let attempted = request.transaction
        if let attempted {
            requests[attempted] = nil
            forgetPatience(request, attempted)
            // Between two targets there is none.
            request.transaction = nil
        }
        if !request.isAbandoned, changeTransport(request, failure, now: now) { return }
        noteFailure(failure, request, now: now)
        if !request.isAbandoned, request.mayChangeTarget, tryNextTarget(request, now: now) { return }
        finish(request, .failure(meaning(of: failure, request)), now: now)
    }

    /// Tells those for whom the request was.
    func finish(_ request: ClientRequest, _ last: RequestOutcome, now: MonotonicTime) {
        guard let outcome = redirect(request, last, now: now) else { return }
        let session = session(of: request.purpose)
        session?.openRequests -= 1
        switch request.purpose {
        case .register(let account): handleRegisterOutcome(outcome, request, account, now: now)
        case .invite:
            if let session { handleInviteOutcome(outcome, request, session, now: now) }
        case .reinvite:
            if let session { handleReinviteOutcome(outcome, request, session, now: now) }
        case .info:
            if let session { handleInfoOutcome(outcome, session, now: now) }
        case .update:
            if let session { handleUpdateOutcome(outcome, request, session, now: now) }
        case .refer(let id): handleReferOutcome(outcome, request, id, now: now)
        case .notify(let id): handleNotifyOutcome(outcome, id, now: now)
        case .event(let purpose): handleEventOutcome(outcome, request, purpose, now: now)
        case .bye:
            if let session { handleByeOutcome(outcome, request, session, now: now) }
        case .abandonFork, .prack: break
        }
        if let session { removeIfFinished(session) }
    }

    func session(of purpose: RequestPurpose) -> InviteSession? {
        switch purpose {
        case .invite(let id), .reinvite(let id), .bye(let id), .info(let id), .prack(let id, _), .update(let id, _): sessions[id]
        case .event(let purpose): purpose.session.flatMap { sessions[$0] }
        case .register, .refer, .notify, .abandonFork: nil
        }
    }

    // MARK: Events of the stack

    func handle(_ event: StackEvent, now: MonotonicTime) {
        switch event {
        case .request(let message, let transaction, let source):
            handleRequest(message, transaction, source, now: now)
        case .ack(let message, let transaction, let source):
            handleACK(message, transaction, source, now: now)
        case .cancelled(let transaction, let message):
            handleCancel(message, transaction, now: now)
        case .response(let message, let transaction, let source):
            handleResponse(message, transaction, source, now: now)
        case .strayResponse:
            counters.increment(.strayResponse)
        case .failed(let transaction, let failure):
            handleTransactionFailure(transaction, failure, now: now)
        case .ended(let transaction):
            handleTransactionEnd(transaction, now: now)
        case .connected(let flow):
            releaseACKs(flow, isUp: true, now: now)
            raceConnected(flow, now: now)
            connectionOpened(flow, now: now)
        case .flowClosed(let flow, let failure):
            offered = configuration.location.transports.filter(stack.offers)
            releaseACKs(flow, isUp: false, now: now)
            raceFailed(flow, failure, now: now)
            handleFlowClosed(flow, failure, now: now)
            connectionFailed(flow, failure, now: now)
        case .keepAlive(let flow, let sign, let remote):
            handleKeepAlive(flow, sign, from: remote, now: now)
        case .notice(let notice): emit(.warning(notice.cause))
        case .listening(_, let transport, let address):
            offered = configuration.location.transports.filter(stack.offers)
            emit(.listening(transport, address))
        }
    }

    /// A re-INVITE in progress on that connection can only time out now, which must not end the session (B-020). An
    /// account that was registered over it cannot be reached any more, so it registers again soon.
    private func handleFlowClosed(_ flow: FlowID, _ failure: FlowFailure, now: MonotonicTime) {
        for id in accountOrder {
            if let account = accounts[id], account.flow == flow { flowLost(account, .closed(failure), now: now) }
        }
        for request in requests.values where request.source?.flow == flow || request.target?.flow == flow {
            request.lostFlow = true
            request.source = nil
        }
    }

    private func handleTransactionFailure(_ transaction: TransactionID, _ failure: TransactionFailure, now: MonotonicTime) {
        let reason: RequestFailure =
            switch failure {
            case .timedOut: .timedOut
            case .transport(let flow): .transport(flow)
            case .tooLarge(let octets): .tooLarge(octets: octets)
            }
        if let request = requests[transaction] {
            if network.lostSince != nil || network.pending != nil, keepUntilNetwork(request, transaction) { return }
            handleFailure(request.lostFlow ? .transport(.closedByPeer) : reason, request, now: now)
        } else if let id = serverInvites[transaction], let session = sessions[id] {
            serverInviteFailed(session, transaction, reason, now: now)
        }
    }

    private func handleTransactionEnd(_ transaction: TransactionID, now: MonotonicTime) {
        if let request = requests[transaction] { handleFailure(.timedOut, request, now: now) }
        acceptedInvites[transaction] = nil
    }
}
