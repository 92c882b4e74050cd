// SPDX-License-Identifier: Apache-2.0
//
// Following changes of the network.
//
//   told (API, system) ─┐
//   sends fail ─ check ─┼─► networkChanged ─ settles 20…50 ms ─► applied ─┬─ connections of gone addresses are dropped
//   silence ──── check ─┘                                                 ├─ REGISTER at once, the old Contact removed
//                                                                         ├─ requests in flight from there are sent anew
//                                                                         └─ .network: the phone makes fresh offers

import Essentials
import SIP

extension UserAgent {
    /// The world tells the addresses of this machine: first before anything listens, then whenever they may have changed, and
    /// in answer to `UserAgentEffect.checkNetwork`. An agent that is never told takes the addresses of its flows.
    ///
    /// - Parameter isForced: the network is another one even where the addresses are the same.
    public func networkChanged(_ state: NetworkState, isForced: Bool = false, now: MonotonicTime) {
        guard life != .stopped else { return }
        guard let applied = network.applied else {
            network.applied = state
            if state.isEmpty { network.lostSince = now }
            stack.network = state
            return
        }
        if isForced { network.isForced = true }
        if network.pending == nil, !network.isForced, state == applied { return }
        let since = network.pending?.since ?? now
        network.pending = (state, since)
        let settings = configuration.network
        timers.arm(.network, at: min(now + settings.settling, since + settings.settlingLimit))
    }

    /// Something did not get through: asks the world for the addresses, at most once in `NetworkSettings.checkInterval`.
    public func noticeTrouble(now: MonotonicTime) {
        guard network.applied != nil, life != .stopped else { return }
        if let last = network.lastCheck, now - last < configuration.network.checkInterval { return }
        askForNetwork(now)
    }

    private func askForNetwork(_ now: MonotonicTime) {
        network.lastCheck = now
        network.wantsCheck = true
        counters.increment(.networkChecked)
    }

    /// Whether no address is there any more.
    public var isNetworkLost: Bool { network.lostSince != nil }

    /// The address from which the other side of a session is reached now; nil: no way leads there.
    public func localAddress(of id: SessionID) -> IPAddress? {
        guard let session = sessions[id] else { return nil }
        if let source = session.dialog?.source ?? session.earlyDialogs.first?.source {
            return localAddress(toward: source.remote, source.transport)
        }
        guard let target = session.invite?.target else { return network.applied.flatMap { $0.preferred(isV6: false) } }
        return localAddress(toward: target.address, target.transport)
    }

    /// The address that a session to `target` will probably have: that towards the account's server, or towards an address
    /// that the target names, else that of the default route. nil: the world told of none.
    public func localAddress(of account: AccountID?, toward target: URI?, isV6: Bool) -> IPAddress? {
        guard let state = network.applied else { return nil }
        var remote = account.flatMap { accounts[$0]?.serverAddress?.ip }
        if remote == nil {
            let uri = account.flatMap { accounts[$0]?.serverURI } ?? target?.sip
            if case .address(let ip) = uri?.host { remote = ip }
        }
        if let remote, remote.isV6 == isV6 { return state.address(toward: remote) }
        return state.preferred(isV6: isV6)
    }

    /// Whether the INVITE of a call that nobody answered yet went out from an address that is gone, so that no answer comes.
    public func isStranded(_ id: SessionID) -> Bool {
        guard let invite = sessions[id]?.invite else { return false }
        return invite.isStranded || isGone(invite.sentFrom)
    }

    /// Whether an address of ours was there and is not any more.
    private func isGone(_ address: IPAddress?) -> Bool {
        guard let address, !address.isLoopback, let state = network.applied else { return false }
        return !state.contains(address.unmapped)
    }

    // MARK: The change

    /// The news have settled.
    func applyNetwork(now: MonotonicTime) {
        guard let state = network.pending?.state, let before = network.applied else { return }
        let isForced = network.isForced
        network.pending = nil
        network.isForced = false
        guard isForced || state != before else { return }
        let wasLost = network.lostSince != nil
        network.applied = state
        stack.network = state
        location.forget()
        let gone = before.addresses.map(\.ip).filter { !state.contains($0) }
        if state.isEmpty {
            guard !wasLost else { return }
            lose(gone, now: now)
        } else {
            counters.increment(.networkFollowed)
            network.lostSince = nil
            timers.cancel(.networkCheck)
            timers.cancel(.networkLoss)
            let change = NetworkChange(
                wasLost ? .returned : .moved, addresses: state.addresses.map(\.ip), gone: gone, refreshesAll: isForced || wasLost)
            dropConnections(all: isForced, now: now)
            for id in accountOrder { follow(id, refreshesAll: change.refreshesAll, now: now) }
            emit(.network(change))
            for id in sessions.keys.sorted() { followSession(id, now: now) }
            followSubscriptions(now: now)
        }
    }

    /// The last address is gone: what waits is kept, and tried when there is one again.
    private func lose(_ gone: [IPAddress], now: MonotonicTime) {
        network.lostSince = now
        network.nextCheck = configuration.network.checkInterval
        timers.arm(.networkCheck, at: now + network.nextCheck)
        timers.arm(.networkLoss, at: now + configuration.network.lossLimit)
        dropConnections(all: false, now: now)
        for id in accountOrder { follow(id, refreshesAll: false, now: now) }
        emit(.network(NetworkChange(.gone, addresses: [], gone: gone)))
    }

    /// While no address is there: ask again; without a call, which wants it soon, less and less often.
    func networkCheckDue(now: MonotonicTime) {
        guard network.lostSince != nil, life == .running else { return }
        askForNetwork(now)
        let settings = configuration.network
        network.nextCheck = activeCalls > 0 ? settings.checkInterval : min(network.nextCheck * 2, settings.longestCheckInterval)
        timers.arm(.networkCheck, at: now + network.nextCheck)
    }

    /// The network has been gone for too long: the calls that need it end.
    func networkLossDue(now: MonotonicTime) {
        for id in sessions.keys.sorted() {
            guard let session = sessions[id], session.phase != .over, localAddress(of: id) == nil else { continue }
            hangUp(session, cause: Causes.networkLost, refusal: 480, now: now)
        }
    }

    /// Connections from addresses that are gone carry nothing any more. Requests that wait on them are taken off them first:
    /// their failure says nothing about the peer.
    private func dropConnections(all: Bool, now: MonotonicTime) {
        let dead = stack.connections(all: all)
        guard !dead.isEmpty else { return }
        for id in accountOrder {
            guard let account = accounts[id], let flow = account.flow, dead.contains(flow) else { continue }
            account.flow = nil
            account.lostFlow = true
        }
        for (transaction, request) in requests.sorted(by: { $0.key < $1.key }) {
            guard let flow = stack.flow(of: transaction), dead.contains(flow) else { continue }
            switch request.purpose {
            case .invite, .reinvite:
                // Sent anew when the phone has a fresh offer.
                request.isStranded = true
                stack.strand(transaction)
            case .register(let id):
                accounts[id]?.lostFlow = true
                stack.strand(transaction)
            default: request.lostFlow = true
            }
        }
        for flow in dead { stack.drop(flow, .unreachable, now: now) }
        pump(now)
    }

    // MARK: Accounts

    /// Registers at once where our address towards the server is another one; where none leads there, says so and waits.
    private func follow(_ id: AccountID, refreshesAll: Bool, now: MonotonicTime) {
        guard life == .running, let account = accounts[id] else { return }
        let isWanted: Bool
        switch account.registration.state {
        case .registering, .registered, .waiting: isWanted = true
        case .idle, .refused, .unregistering: isWanted = false
        }
        guard isWanted else { return }
        let fresh = account.serverAddress.map { localAddress(toward: $0, account.detail.transport) } ?? network.applied?.addresses.first?.ip
        guard let fresh else {
            abandonRegister(account)
            timers.cancel(.registration(id))
            account.registration.state = .waiting
            emit(.registration(id, .failed(Causes.noNetwork, retryAfter: nil)))
            return
        }
        let isSame = fresh == account.registeredFrom && !account.lostFlow
        guard refreshesAll || !isSame || account.registration.state == .waiting else { return }
        account.lostFlow = false
        let wanted = account.registration.wanted
        abandonRegister(account)
        if let contact = account.registration.contact { account.registration.outdate(contact) }
        account.publicAddress = nil
        account.mayRewriteContact = true
        account.registration.failures = 0
        account.registration.intervalRounds = 0
        counters.increment(.registrationMoved)
        sendRegister(account, .network, now: now)
        if wanted == .unregister { account.registration.wanted = wanted }
    }

    /// A transport on which nothing of ours listens has the address of the way that leads there.
    func localAddress(toward server: SocketAddress, _ transport: TransportProtocol?) -> IPAddress? {
        stack.localAddress(for: SignallingTarget(transport ?? .udp, server))?.ip ?? network.applied?.address(toward: server.ip)
    }

    /// Takes the REGISTER in progress back: its answer would go to an address that is not ours any more.
    private func abandonRegister(_ account: Account) {
        guard let request = account.registration.request else { return }
        account.registration.request = nil
        account.registration.wanted = nil
        timers.cancel(.registrationLimit(account.id))
        forget(request)
    }

    /// Nothing more is heard of a request.
    private func forget(_ request: ClientRequest) {
        if abandonSearch(of: request) { return }
        guard let transaction = request.transaction else { return }
        requests[transaction] = nil
        forgetPatience(request, transaction)
        request.transaction = nil
        stack.abandon(transaction)
    }

    // MARK: Sessions

    /// What of a session was under way from an address that is gone: the phone is told to offer again, a BYE goes out again.
    private func followSession(_ id: SessionID, now: MonotonicTime) {
        guard let session = sessions[id] else { return }
        if session.phase == .over {
            for (transaction, request) in requests.sorted(by: { $0.key < $1.key }) where request.purpose == .bye(id) {
                guard request.lostFlow || isGone(request.sentFrom), let target = request.target else { continue }
                requests[transaction] = nil
                stack.abandon(transaction)
                raiseSequence(request)
                transmit(request, to: target.elsewhere, now: now)
            }
            return
        }
        confirmWithoutACK(session, now: now)
        guard let request = session.reinvite, request.isStranded || isGone(request.sentFrom) else {
            reinviteIfWanted(session, now: now)
            return
        }
        session.reinvite = nil
        session.openRequests -= 1
        if let target = request.target, let dialog = session.dialog, request.transaction != nil {
            // Its 2xx may have been lost with the address: a peer that waits for the ACK would refuse the next change (§14.2),
            // and hang up in the end (§13.3.1.4). One that did not answer yet ignores an ACK that it does not wait for.
            stack.sendACK(dialog.makeACK(sequence: request.sequence), to: target.elsewhere, now: now)
        }
        forget(request)
        session.reinviteIsWanted = true
        emit(.reinviteFailed(id, Causes.networkMoved, willRetry: true))
        reinviteIfWanted(session, now: now)
    }

    /// Our 2xx told an address that is gone, so its ACK cannot come. The 2xx goes out once more, by the way that is there now, and
    /// the call counts as confirmed: the re-INVITE that follows tells where the ACK of that one can go. Where the answer is in the
    /// ACK (our 2xx has the offer) there is no call without it.
    private func confirmWithoutACK(_ session: InviteSession, now: MonotonicTime) {
        guard session.phase == .awaitingACK, !session.owesBye, let server = session.serverInvite, let success = server.success,
            !server.offerIsOurs, case .address(let told)? = success.contacts.first?.uri.sip?.host, isGone(told),
            told != session.account.flatMap({ accounts[$0]?.publicAddress?.ip })
        else { return }
        counters.increment(.ackGivenUp)
        repeatSuccess(session.id, now: now)
        forgetServerInvite(session)
        releaseSource(session)
        session.phase = .established
        emit(.confirmed(session.id, nil))
    }

    /// The INVITE of a call that nobody answered yet went out from an address that is gone, so its answer cannot come: it is
    /// taken back and sent anew with a fresh offer (nil: it had none), under the same Call-ID with the next number.
    public func reissueInvite(_ id: SessionID, offer: [UInt8]?, now: MonotonicTime) {
        guard let session = sessions[id], session.phase == .calling, let request = session.invite, !request.isAbandoned else { return }
        if !abandonSearch(of: request), let transaction = request.transaction {
            requests[transaction] = nil
            forgetPatience(request, transaction)
            let target = request.target?.elsewhere
            stack.takeBack(transaction, over: target, now: now)
        }
        counters.increment(.inviteReissued)
        request.isStranded = false
        request.lostFlow = false
        request.transaction = nil
        request.source = nil
        request.targets = []
        request.triedTargets = 0
        request.reliable = []
        request.challengeRounds = 0
        request.sequence &+= 1
        request.message.set(.cseq, "\(request.sequence) INVITE")
        if let offer, session.offerWasSent { request.message.setBody(offer, type: "application/sdp") }
        forgetEarlyDialogs(session)
        locate(request.nextHop, account: request.account, source: nil, .request(request), now: now)
        pump(now)
    }

    /// An INVITE that failed because there is no network is kept until there is one, or the call's own limit ends it.
    func keepUntilNetwork(_ request: ClientRequest, _ transaction: TransactionID) -> Bool {
        guard case .invite = request.purpose, !request.isAbandoned else { return false }
        requests[transaction] = nil
        forgetPatience(request, transaction)
        request.transaction = nil
        request.isStranded = true
        return true
    }

    /// A re-INVITE that told a new address failed for want of a network or an answer: again after a while; false: its failure counts.
    func retryMove(_ session: InviteSession, _ cause: Cause, now: MonotonicTime) -> Bool {
        guard session.isMoving || isNetworkLost, session.phase == .established else { return false }
        let settings = configuration.network
        if isNetworkLost {
            // Tried again when there is one (`followSession`).
            session.reinviteIsWanted = true
            emit(.reinviteFailed(session.id, cause, willRetry: true))
            return true
        }
        session.moveRetries += 1
        guard session.moveRetries <= settings.maximumRetries else { return false }
        session.reinviteIsWanted = true
        let doublings = Int64(1) << Int64(min(max(session.moveRetries - 1, 0), 10))
        timers.arm(.reinvite(session.id), at: now + min(settings.retryInterval * doublings, .seconds(8)))
        emit(.reinviteFailed(session.id, cause, willRetry: true))
        return true
    }
}

extension SignallingTarget {
    /// The same, by whatever flow leads there now.
    fileprivate var elsewhere: SignallingTarget {
        var target = self
        target.flow = nil
        return target
    }
}
