// SPDX-License-Identifier: Apache-2.0
//
// Carries out what the transaction machines want, and tells them what becomes of their flows.

import Essentials
import SIP

extension SIPStack {
    /// Carries out one step of a transaction.
    func perform(
        _ step: TransactionStep, _ transaction: Transaction, _ now: MonotonicTime, message: SIPMessage? = nil,
        source: MessageSource? = nil, failure: FlowFailure = .closedLocally
    ) {
        transactions.applyTimers(step, to: transaction, now: now)
        let actions = step.actions
        if actions.contains(.absorbed) { count(.repeatsAbsorbed) }
        if actions.contains(.unexpected) { count(.unexpected) }
        if actions.contains(.sendTrying) { sendTrying(transaction) }
        if actions.contains(.acknowledge), let message { acknowledge(message, transaction) }
        var sendFailure: FlowFailure?
        if actions.contains(.transmit) { sendFailure = transmit(transaction) }
        if actions.contains(.deliver), let message, let source { deliver(message, source, transaction) }
        if actions.contains(.timedOut) {
            count(.timeouts)
            if !transaction.isInternal { events.append(.failed(transaction.id, .timedOut)) }
        }
        if actions.contains(.transportFailed) {
            count(.transportFailures)
            if !transaction.isInternal { events.append(.failed(transaction.id, .transport(failure))) }
        }
        if actions.contains(.terminated) {
            if sendFailure != nil { count(.responsesUndeliverable) }
            transactions.remove(transaction)
            if !transaction.isInternal { events.append(.ended(transaction.id)) }
            return
        }
        if actions.contains(.provisionalCame), let headers = transaction.waitingCancel {
            sendCancel(of: transaction, headers: headers, now)
        }
        if let sendFailure {
            perform(transaction.machine.transportFailed(configuration.times), transaction, now, failure: sendFailure)
        }
    }

    private func deliver(_ message: SIPMessage, _ source: MessageSource, _ transaction: Transaction) {
        if transaction.machine.isClient {
            if message.statusCode >= 200 {
                // Nothing is sent again: what is kept for ACK and CANCEL goes too, but for repeats of a refusal.
                transaction.octets = []
                if message.statusCode < 300 { transaction.request = nil }
            }
            if !transaction.isInternal { events.append(.response(message, transaction.id, source)) }
        } else if message.method == .ack {
            events.append(.ack(message, of: transaction.id, source))
        } else {
            events.append(.request(message, transaction.id, source))
        }
    }

    // MARK: Sending for transactions

    private func transmit(_ transaction: Transaction) -> FlowFailure? {
        if let flow = transport.flow(transaction.flow), flow.isUsable {
            return transport.send(transaction.octets, on: flow, to: transaction.destination)
        }
        if transaction.machine.isClient { return .closedLocally }
        // §18.2.2: the connection of the request is gone, so a new one to its source, at the port of its Via.
        count(.responseFallbacks)
        let target = SignallingTarget(transaction.transport, transaction.destination)
        switch transport.route(target) {
        case .none(let failure):
            count(.responsesUndeliverable)
            return failure
        case .flow(let flow):
            transaction.flow = flow.id
            return transport.send(transaction.octets, on: flow, to: transaction.destination)
        }
    }

    private func acknowledge(_ response: SIPMessage, _ transaction: Transaction) {
        guard let request = transaction.request, let flow = transport.flow(transaction.flow) else { return }
        let ack = makeACK(of: request, for: response)
        if transport.send(ack.bytes, on: flow, to: transaction.destination) != nil { count(.sendFailures) }
    }

    /// §17.2.1: 100 (Trying) unless the user was quicker; made without a To tag (§8.2.6.1).
    private func sendTrying(_ transaction: Transaction) {
        guard let request = transaction.request else { return }
        var builder = request.makeResponse(status: 100)
        if let via = transaction.stampedVia { builder.replaceTopVia(via) }
        transaction.octets = builder.build().bytes
        transaction.request = nil
        if case .inviteServer(var machine) = transaction.machine {
            machine.tryingSent()
            transaction.machine = .inviteServer(machine)
        }
        // A failure shows again, and counts, with the user's own response.
        _ = transmit(transaction)
    }

    // MARK: Flows

    /// A connection or socket is gone: requests on it fail, unless their response may still come another way.
    func flowClosed(_ id: FlowID, _ failure: FlowFailure, _ now: MonotonicTime) {
        guard let flow = transport.closed(id) else {
            count(.unknownFlows)
            return
        }
        if let timer = flow.unfinishedTimer { flowTimers.cancel(timer) }
        prove(flow)
        var wasConnecting = false
        if case .connecting = flow.state { wasConnecting = true }
        for transaction in transactions.all(where: { $0.flow == id }) {
            // A server transaction goes on: its response finds a way when it is given. What waited for a connection is lost.
            guard transaction.machine.isClient || wasConnecting else { continue }
            let step = transaction.machine.transportFailed(configuration.times)
            perform(step, transaction, now, failure: failure)
        }
        events.append(.flowClosed(id, failure))
    }

    /// A datagram did not go out, or was reported undeliverable (§18.4): requests to that address fail; responses are
    /// repeated by their timers.
    func sendFailed(_ id: FlowID, _ destination: SocketAddress, _ failure: FlowFailure, _ now: MonotonicTime) {
        count(.sendFailures)
        for transaction in transactions.all(where: { $0.flow == id && $0.destination == destination && $0.machine.isClient }) {
            if case .inviteClient(let machine) = transaction.machine {
                // Only a request that nobody answered yet: what answered is there.
                guard case .calling = machine.state else { continue }
            }
            perform(transaction.machine.transportFailed(configuration.times), transaction, now, failure: failure)
        }
    }
}
