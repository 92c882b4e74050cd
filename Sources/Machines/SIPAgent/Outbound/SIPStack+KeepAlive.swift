// SPDX-License-Identifier: Apache-2.0
//
// Keep-alives of flows, both sides (RFC 5626 §3.5): line ends on connections, STUN beside SIP on datagram sockets.

import Essentials
import SIP
import STUN

extension SIPStack {
    /// Sends two line ends over a connection; `StackEvent.keepAlive` tells the answer.
    public func ping(_ id: FlowID) {
        guard let flow = transport.flow(id), flow.isConnection, let remote = flow.remote else { return }
        flow.isKept = true
        flow.framer?.pingSent()
        count(.keepAlivesSent)
        if transport.send([13, 10, 13, 10], on: flow, to: remote) != nil { count(.sendFailures) }
    }

    /// Sends a STUN binding request from a datagram socket; `StackEvent.keepAlive` tells the answer.
    public func bind(_ transaction: STUNTransactionID, _ id: FlowID, to remote: SocketAddress) {
        guard let flow = transport.flow(id), !flow.isConnection else { return }
        flow.isKept = true
        count(.keepAlivesSent)
        if transport.send(STUNBinding.request(transaction), on: flow, to: remote) != nil { count(.sendFailures) }
    }

    /// Sends two line ends as a datagram, which nobody answers.
    public func sendLineEnds(_ id: FlowID, to remote: SocketAddress) {
        guard let flow = transport.flow(id), !flow.isConnection else { return }
        count(.keepAlivesSent)
        if transport.send([13, 10, 13, 10], on: flow, to: remote) != nil { count(.sendFailures) }
    }

    /// The answer to a ping came.
    func takePong(_ flow: Flow) {
        if flow.isKept { events.append(.keepAlive(flow.id, .pong, from: flow.remote ?? flow.local)) }
    }

    /// A datagram that begins as STUN (RFC 7983).
    func takeSTUN(_ octets: [UInt8], _ flow: Flow, _ source: MessageSource) {
        count(.stunDatagrams)
        guard flow.isKept || configuration.answersSTUN else { return }
        guard let message = try? STUNMessage(parsing: octets) else {
            count(.stunMalformed)
            return
        }
        switch message.kind {
        case .success, .failure:
            guard flow.isKept, message.method == .binding else { return }
            let sign = STUNSign(transaction: message.transaction, mapped: message.kind == .success ? message.mappedAddress : nil)
            events.append(.keepAlive(flow.id, .binding(sign), from: source.remote))
        case .request:
            guard configuration.answersSTUN, let answer = STUNBinding.response(to: message, from: source.remote) else { return }
            count(.stunAnswered)
            _ = transport.send(answer, on: flow, to: source.remote)
        case .indication: break
        }
    }
}
