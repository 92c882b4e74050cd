// SPDX-License-Identifier: Apache-2.0
//
// What the transaction user sends: requests (§17.1), responses (§17.2), CANCEL (§9.1), and messages without transaction.

import Essentials
import SIP

extension SIPStack {
    /// Sends a request in a new client transaction. The stack puts the topmost Via on it: nothing else is changed.
    ///
    /// Responses come as `response`, the end as `ended`; a request that cannot be sent fails by event too.
    ///
    /// - Parameters:
    ///   - octets: a request of more than this fails with `TransactionFailure.tooLarge` where it would go by datagram.
    ///   - viaParameters: more of our Via, such as `;keep` (RFC 6223).
    @discardableResult
    public func sendRequest(
        _ request: MessageBuilder, to target: SignallingTarget, octets limit: Int = .max, viaParameters: String = "",
        now: MonotonicTime
    ) -> TransactionID {
        let id = transactions.makeID()
        let branch = newBranch()
        count(.clientTransactions)
        let route: TransportLayer.Route
        if transactions.clientCount < configuration.clientTransactions {
            route = transport.route(target)
        } else {
            count(.clientLimit)
            route = .none(.limit)
        }
        var builder = request
        var flowID = FlowID(rawValue: 0)
        switch route {
        case .flow(let flow):
            flowID = flow.id
            prove(flow)
            builder.prepend(.via, transport.viaPrefix(for: flow) + branch + viaParameters)
        case .none(let failure):
            count(.transportFailures)
            return notSent(id, .transport(failure))
        }
        let message = builder.build()
        if message.bytes.count > limit, target.transport == .udp {
            count(.requestsTooLarge)
            return notSent(id, .tooLarge(octets: message.bytes.count))
        }
        let isReliable = target.transport.isReliable
        let machine: TransactionMachine =
            message.method == .invite
            ? .inviteClient(InviteClientTransaction(isReliable: isReliable))
            : .nonInviteClient(NonInviteClientTransaction(isReliable: isReliable))
        let transaction = Transaction(
            id: id, method: message.method, machine: machine, flow: flowID, destination: target.address,
            transport: target.transport)
        transaction.clientKey = ClientKey(branch: branch, isCancel: false)
        transaction.fingerprint = message.exchangeFingerprint
        transaction.octets = message.bytes
        if message.method == .invite { transaction.request = message }
        transactions.insert(transaction)
        perform(transaction.machine.start(configuration.times), transaction, now)
        return id
    }

    private func notSent(_ id: TransactionID, _ failure: TransactionFailure) -> TransactionID {
        events.append(.failed(id, failure))
        events.append(.ended(id))
        transactions.release(id)
        return id
    }

    /// Sends the ACK of a 2xx, outside any transaction and with a branch of its own (§13.2.2.4). Gives what was sent,
    /// for `resend` when the 2xx comes again; nil if there is no way to the target, or if it would be a datagram of more than
    /// `limit` octets.
    @discardableResult
    public func sendACK(
        _ ack: MessageBuilder, to target: SignallingTarget, octets limit: Int = .max, now: MonotonicTime
    ) -> SIPMessage? {
        if configuration.plantedFault == .droppedACK { return nil }
        return sendStatelessly(ack, to: target, octets: limit, now: now)
    }

    /// Sends a request that no transaction looks after, with a Via of ours on top: an ACK that a proxy passes on.
    @discardableResult
    public func sendStatelessly(
        _ request: MessageBuilder, to target: SignallingTarget, octets limit: Int = .max, now: MonotonicTime
    ) -> SIPMessage? {
        guard case .flow(let flow) = transport.route(target) else {
            count(.sendFailures)
            return nil
        }
        var builder = request
        builder.prepend(.via, transport.viaPrefix(for: flow) + newBranch())
        let message = builder.build()
        if message.bytes.count > limit, target.transport == .udp {
            count(.requestsTooLarge)
            return nil
        }
        if transport.send(message.bytes, on: flow, to: target.address) != nil { count(.sendFailures) }
        return message
    }

    /// Sends a message as it is, once more: the ACK of a 2xx that came again, or a response that a proxy passes on by the Via below.
    public func resend(_ message: SIPMessage, to target: SignallingTarget, now: MonotonicTime) {
        guard case .flow(let flow) = transport.route(target),
            transport.send(message.bytes, on: flow, to: target.address) == nil
        else {
            count(.sendFailures)
            return
        }
    }

    /// Cancels an INVITE (§9.1): at once if a provisional response came, else as soon as one comes; not at all after a final one.
    ///
    /// The INVITE's own final response (487, or the 2xx that crossed the CANCEL) comes as usual, or a time-out 64·T1 later.
    public func cancel(_ invite: TransactionID, headers: [(HeaderName, String)] = [], now: MonotonicTime) {
        guard let transaction = transactions[invite], case .inviteClient(let machine) = transaction.machine else { return }
        switch machine.state {
        case .calling: transaction.waitingCancel = headers.map { ($0.0, $0.1) }
        case .proceeding: sendCancel(of: transaction, headers: headers.map { ($0.0, $0.1) }, now)
        case .completed, .accepted, .terminated: break
        }
    }

    /// Takes no more trouble with a request: it is not repeated any more. A late response still comes, and the end too.
    public func abandon(_ id: TransactionID) {
        guard let transaction = transactions[id], transaction.machine.isClient else { return }
        transactions.applyTimers(TransactionStep(retransmission: .cancel), to: transaction, now: .zero)
    }

    /// Answers a request. The stack completes the topmost Via (`received`, `rport`); a 2xx to an INVITE may be given again.
    /// Gives what was sent, for `respond(_:_:now:)` with a `SIPMessage`; nil if the transaction is over or takes no such response.
    @discardableResult
    public func respond(_ id: TransactionID, _ response: MessageBuilder, now: MonotonicTime) -> SIPMessage? {
        guard let transaction = transactions[id], !transaction.machine.isClient else {
            count(.unexpected)
            return nil
        }
        var builder = response
        if let via = transaction.stampedVia { builder.replaceTopVia(via) }
        let message = builder.build()
        return send(message, of: transaction, now) ? message : nil
    }

    /// Answers a request with a message that stands already, such as the 2xx that `respond` gave back.
    public func respond(_ id: TransactionID, _ response: SIPMessage, now: MonotonicTime) {
        guard let transaction = transactions[id], !transaction.machine.isClient else {
            count(.unexpected)
            return
        }
        if let via = transaction.stampedVia, response.first(.via) != via {
            respond(id, MessageBuilder(copying: response), now: now)
        } else {
            _ = send(response, of: transaction, now)
        }
    }

    /// The topmost Via of a request with `received` and `rport` as §18.2.1 wants them; nil if it needs neither. A proxy
    /// puts it in the place of the topmost Via of what it forwards; responses by `respond` get it by themselves.
    public func stampedVia(of request: SIPMessage, from source: MessageSource) -> String? {
        ViaStamp(request, source).via
    }

    /// Where a response goes that has this Via on top, for a proxy that passes it on without a transaction (§16.11, §18.2.2):
    /// to `received` and `rport`, or to an address that stands in sent-by.
    public func target(forResponseWith via: Via) -> SignallingTarget? {
        guard let address = via.received ?? via.host.address else { return nil }
        let transport = via.transport ?? .udp
        return SignallingTarget(transport, SocketAddress(address, via.rport ?? via.port ?? transport.defaultPort))
    }

    // MARK: Parts

    func newBranch() -> String { "z9hG4bK" + random.token(18) }

    private func send(_ message: SIPMessage, of transaction: Transaction, _ now: MonotonicTime) -> Bool {
        let status = message.statusCode
        let step = transaction.machine.respond(status: status, configuration.times)
        guard step.actions.contains(.transmit) else {
            count(.unexpected)
            return false
        }
        transaction.octets = message.bytes
        transaction.request = nil
        if status >= 200 {
            transaction.provisional = nil
            transactions.stopCounting(transaction)
        } else if transaction.method == .invite, status > 100 {
            transaction.provisional = message
        }
        perform(step, transaction, now)
        // In Accepted the user repeats the 2xx (RFC 6026 §7.1), so it is not kept here.
        if transaction.method == .invite, status >= 200, status < 300 { transaction.octets = [] }
        return true
    }

    func sendCancel(of invite: Transaction, headers: [(name: HeaderName, value: String)], _ now: MonotonicTime) {
        guard let request = invite.request, let key = invite.clientKey else { return }
        var builder = MessageBuilder(request: .cancel, uri: request.requestURI)
        copyForSameHop(request, into: &builder, to: request.first(.to) ?? "", method: .cancel)
        for (name, value) in headers { builder.add(name, value) }
        let message = builder.build()
        invite.waitingCancel = nil
        guard transactions.client(ClientKey(branch: key.branch, isCancel: true)) == nil else { return }
        let id = transactions.makeID()
        let machine = NonInviteClientTransaction(isReliable: invite.transport.isReliable)
        let transaction = Transaction(
            id: id, method: .cancel, machine: .nonInviteClient(machine), flow: invite.flow, destination: invite.destination,
            transport: invite.transport)
        transaction.clientKey = ClientKey(branch: key.branch, isCancel: true)
        transaction.isInternal = true
        transaction.fingerprint = message.exchangeFingerprint
        transaction.octets = message.bytes
        transactions.insert(transaction)
        count(.clientTransactions)
        perform(transaction.machine.start(configuration.times), transaction, now)
        if case .inviteClient(let machine) = invite.machine { perform(machine.cancelSent(configuration.times), invite, now) }
    }

    /// The ACK of a final response other than 2xx (§17.1.1.3).
    func makeACK(of request: SIPMessage, for response: SIPMessage) -> SIPMessage {
        var builder = MessageBuilder(request: .ack, uri: request.requestURI)
        copyForSameHop(request, into: &builder, to: response.first(.to) ?? "", method: .ack)
        return builder.build()
    }

    /// The header fields that ACK and CANCEL take from the INVITE: its topmost Via, From, Call-ID, CSeq number and Route.
    private func copyForSameHop(_ request: SIPMessage, into builder: inout MessageBuilder, to: String, method: Method) {
        builder.add(.via, request.text(in: request.topViaFields.whole))
        builder.add(.maxForwards, "70")
        builder.copy(.from, of: request)
        builder.add(.to, to)
        builder.copy(.callID, of: request)
        builder.add(.cseq, String(request.cseqNumber) + " " + method.rawValue)
        builder.copy(.route, of: request)
        if let userAgent = configuration.userAgent { builder.add(.userAgent, userAgent) }
    }
}
