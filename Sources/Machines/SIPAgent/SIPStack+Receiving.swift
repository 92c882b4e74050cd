// SPDX-License-Identifier: Apache-2.0
//
// What comes from flows: datagrams and streams become messages (§18.3), messages find their transactions (§17.1.3, §17.2.3).

import Essentials
import SIP

extension SIPStack {
    /// Takes what the world tells.
    public func handle(_ input: TransportInput, now: MonotonicTime) {
        switch input {
        case .received(let octets, let id, let remote): receive(octets, id, remote, now)
        case .listening(let id, let kind, let local):
            transport.opened(id, kind, local: local)
            events.append(.listening(id, kind, local: transport.published(local)))
        case .connected(let id, let local, let agreement):
            guard transport.connected(id, local: local, agreement) else { return }
            if let flow = transport.flow(id), let timer = flow.unfinishedTimer {
                flowTimers.cancel(timer)
                flow.unfinishedTimer = nil
            }
            events.append(.connected(id))
        case .accepted(let id, let listener, let local, let remote):
            accept(id, listener, local: local, remote: remote, now)
        case .sendFailed(let id, let destination, let failure): sendFailed(id, destination, failure, now)
        case .closed(let id, let failure): flowClosed(id, failure, now)
        }
    }

    // MARK: Octets

    private func receive(_ octets: [UInt8], _ id: FlowID, _ remote: SocketAddress, _ now: MonotonicTime) {
        guard let flow = transport.flow(id) else {
            count(.unknownFlows)
            return
        }
        let source = MessageSource(
            flow: id, transport: flow.transport, remote: flow.remote ?? remote,
            local: transport.published(flow.local, toward: remote.ip))
        if flow.framer != nil {
            receiveStream(octets, flow, source, now)
            return
        }
        if case .closing = flow.state { return }
        count(.datagramsReceived)
        guard let first = octets.first, octets.count > 4 || !isKeepAlive(octets) else {
            keepAlive(octets, flow, source)
            return
        }
        if first < 4 {
            // RFC 7983: STUN, not SIP.
            takeSTUN(octets, flow, source)
            return
        }
        take(octets, flow, source, now)
    }

    /// Only CR, LF or NUL: something to keep a NAT's binding alive.
    private func isKeepAlive(_ octets: [UInt8]) -> Bool {
        octets.allSatisfy { $0 == 13 || $0 == 10 || $0 == 0 }
    }

    private func keepAlive(_ octets: [UInt8], _ flow: Flow, _ source: MessageSource) {
        count(octets.isEmpty ? .emptyDatagrams : .keepAlivesReceived)
        if octets.count == 2, flow.isConnection { takePong(flow) }
        // RFC 7118 §6: a WebSocket message may be a ping too. A datagram is not answered (RFC 5626 §4.4.2: STUN does that there).
        guard octets.count == 4, flow.isConnection else { return }
        pong(flow, source)
    }

    private func pong(_ flow: Flow, _ source: MessageSource) {
        count(.keepAlivesAnswered)
        _ = transport.send([13, 10], on: flow, to: source.remote)
    }

    private func receiveStream(_ octets: [UInt8], _ flow: Flow, _ source: MessageSource, _ now: MonotonicTime) {
        if case .closing = flow.state { return }
        flow.framer?.append(octets)
        var hasFinished = false
        while let frame = flow.framer?.next() {
            switch frame {
            case .message(let message):
                count(.streamMessagesReceived)
                hasFinished = true
                take(message, flow, source, now)
            case .keepAlivePing:
                count(.keepAlivesReceived)
                pong(flow, source)
            case .keepAlivePong:
                count(.keepAlivesReceived)
                takePong(flow)
            case .failure(let error):
                noticeUnreadable(streamOf: flow, error, source)
                // RFC 3261 §18.3: where the next message begins is not known any more.
                count(.framingFailures)
                transport.close(flow)
            }
            if case .closing = flow.state { break }
        }
        watchUnfinished(flow, now, restarts: hasFinished)
    }

    /// A message that does not come to its end takes memory and a connection: only for so long.
    ///
    /// - Parameter restarts: another message came to its end since, so what is unfinished is a new one.
    private func watchUnfinished(_ flow: Flow, _ now: MonotonicTime, restarts: Bool) {
        let isUnfinished: Bool
        if case .closing = flow.state { isUnfinished = false } else { isUnfinished = (flow.framer?.pendingCount ?? 0) > 0 }
        if let timer = flow.unfinishedTimer {
            if isUnfinished, !restarts { return }
            flowTimers.cancel(timer)
            flow.unfinishedTimer = nil
        }
        if isUnfinished {
            flow.unfinishedTimer = flowTimers.arm(now + configuration.unfinishedMessage, .unfinished(flow.id))
        }
    }

    func unfinishedMessageTimedOut(_ id: FlowID, _ now: MonotonicTime) {
        guard let flow = transport.flow(id) else { return }
        flow.unfinishedTimer = nil
        if case .connecting = flow.state {
            transport.close(flow)
            flowClosed(id, .timedOut, now)
            return
        }
        count(.unfinishedMessages)
        transport.close(flow)
    }

    // MARK: Messages

    private func take(_ octets: [UInt8], _ flow: Flow, _ source: MessageSource, _ now: MonotonicTime) {
        switch SIPMessage.receive(octets, limits: configuration.messageLimits) {
        case .message(let message):
            prove(flow)
            if message.isRequest { receiveRequest(message, source, now) } else { receiveResponse(message, source, now) }
        case .refuse(let message, let status, _):
            count(.refused)
            guard message.isRequest, message.method != .ack else { return }
            respondStatelessly(to: message, status: status, source)
        case .drop(let error):
            count(.dropped)
            noticeUnreadable(octets, error, source)
        }
    }

    private func receiveRequest(_ message: SIPMessage, _ source: MessageSource, _ now: MonotonicTime) {
        let method = message.method
        if method == .ack {
            receiveACK(message, source, now)
            return
        }
        let key = ServerKey(message, method: method)
        if let transaction = transactions.server(key) {
            let step = transaction.machine.receiveRepeat()
            if step.actions.contains(.transmit) { count(.responseRetransmissions) }
            perform(step, transaction, now)
            return
        }
        guard transactions.serverCount < configuration.serverTransactions else {
            count(.serverLimit)
            respondStatelessly(to: message, status: 503, source)
            return
        }
        if method == .cancel {
            receiveCancel(message, key, source, now)
            return
        }
        let isInitial = !message.hasToTag
        var mergeKey: MergeKey?
        if isInitial, configuration.detectsMergedRequests {
            let merge = MergeKey(message)
            if transactions.hasMerge(merge) {
                count(.mergedRequests)
                respondStatelessly(to: message, status: 482, source)
                return
            }
            mergeKey = merge
        }
        var counted: IPAddress?
        if isInitial, method == .invite, !isExempt(source.remote.ip) {
            let address = sourceGroup(source.remote.ip)
            let unanswered = transactions.unansweredInvites(from: address)
            guard unanswered < configuration.unansweredInvitesPerSource,
                unanswered > 0 || transactions.invitingSourceCount < configuration.invitingSources
            else {
                count(.sourceLimit)
                respondStatelessly(to: message, status: 503, source)
                return
            }
            counted = address
        }
        let transaction = makeServerTransaction(message, key, source)
        transaction.mergeKey = mergeKey
        transactions.insert(transaction)
        if let counted { transactions.count(transaction, under: counted) }
        perform(transaction.machine.start(configuration.times), transaction, now, message: message, source: source)
    }

    func isExempt(_ address: IPAddress) -> Bool {
        exemptSources.contains { $0.unmapped == address.unmapped }
    }

    /// An IPv6 host has a whole /64 to call from.
    func sourceGroup(_ address: IPAddress) -> IPAddress {
        switch address.unmapped {
        case .v4: address.unmapped
        case .v6(let high, _): .v6(high, 0)
        }
    }

    private func makeServerTransaction(_ message: SIPMessage, _ key: ServerKey, _ source: MessageSource) -> Transaction {
        let method = message.method
        let isReliable = source.transport.isReliable
        let stamp = ViaStamp(message, source)
        let machine: TransactionMachine =
            method == .invite
            ? .inviteServer(InviteServerTransaction(isReliable: isReliable))
            : .nonInviteServer(NonInviteServerTransaction(isReliable: isReliable))
        let transaction = Transaction(
            id: transactions.makeID(), method: method, machine: machine, flow: source.flow, destination: stamp.destination,
            transport: source.transport)
        transaction.serverKey = key
        transaction.stampedVia = stamp.via
        if method == .invite { transaction.request = message }
        count(.serverTransactions)
        return transaction
    }

    private func receiveACK(_ message: SIPMessage, _ source: MessageSource, _ now: MonotonicTime) {
        guard let transaction = transactions.server(ServerKey(message, method: .invite)) else {
            count(.strayACKs)
            events.append(.ack(message, of: nil, source))
            return
        }
        perform(transaction.machine.receiveACK(configuration.times), transaction, now, message: message, source: source)
    }

    /// §9.2: the CANCEL is answered by itself, 200 if it met something and 481 if not; the INVITE is the user's to answer.
    private func receiveCancel(_ message: SIPMessage, _ key: ServerKey, _ source: MessageSource, _ now: MonotonicTime) {
        let invite = transactions.server(ServerKey(message, method: .invite))
        let transaction = makeServerTransaction(message, key, source)
        transaction.isInternal = true
        transactions.insert(transaction)
        _ = transaction.machine.start(configuration.times)
        if invite == nil { count(.strayCancels) }
        let tag = invite?.provisional?.to.tag ?? statelessTag(message)
        var builder = message.makeResponse(status: invite == nil ? 481 : 200, toTag: tag)
        if let userAgent = configuration.userAgent { builder.add(.server, userAgent) }
        respond(transaction.id, builder, now: now)
        if let invite, case .inviteServer(let machine) = invite.machine, case .proceeding = machine.state {
            events.append(.cancelled(invite.id, message))
        }
    }

    private func receiveResponse(_ message: SIPMessage, _ source: MessageSource, _ now: MonotonicTime) {
        let method = message.method
        let key = ClientKey(message, method: method)
        guard let transaction = transactions.client(key), transaction.method == method else {
            count(.strayResponses)
            events.append(.strayResponse(message, source))
            return
        }
        // A branch that was seen on the way makes no answer: it is that of another exchange, or forged.
        guard transaction.fingerprint == message.exchangeFingerprint else {
            count(.mismatchedResponses)
            events.append(.strayResponse(message, source))
            return
        }
        let step = transaction.machine.receive(status: message.statusCode, configuration.times)
        perform(step, transaction, now, message: message, source: source)
    }

    // MARK: Without state

    /// Answers where no transaction is made (§8.2.7): to the source of the packet, and the same for each repeat.
    func respondStatelessly(to message: SIPMessage, status: Int, _ source: MessageSource) {
        guard let flow = transport.flow(source.flow) else { return }
        let stamp = ViaStamp(message, source)
        var builder = message.makeResponse(status: status, toTag: message.hasToTag ? nil : statelessTag(message))
        if let via = stamp.via { builder.replaceTopVia(via) }
        if status == 503 { builder.add(.retryAfter, "5") }
        if let userAgent = configuration.userAgent { builder.add(.server, userAgent) }
        if transport.send(builder.build().bytes, on: flow, to: stamp.destination) != nil { count(.responsesUndeliverable) }
    }

    /// FNV-1a over branch and Call-ID, keyed.
    func statelessTag(_ message: SIPMessage) -> String {
        var value = statelessKey ^ 0xcbf2_9ce4_8422_2325
        func mix(_ range: ByteRange) {
            for byte in message.bytes(in: range) { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
            value ^= value >> 29
        }
        mix(message.branchRange)
        mix(message.callIDRange)
        return String(value, radix: 32)
    }
}

extension SIPMessage {
    /// FNV-1a over Call-ID and CSeq number: what request and response have in common (RFC 3261 §8.2.6.2).
    var exchangeFingerprint: UInt64 {
        var value: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in bytes(in: callIDRange) { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return (value ^ UInt64(cseqNumber)) &* 0x100_0000_01b3
    }
}
