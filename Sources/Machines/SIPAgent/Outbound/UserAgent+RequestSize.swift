// SPDX-License-Identifier: Apache-2.0
//
// A request that is too large for a datagram (RFC 3261 §18.1.1):
//
//   datagram ─ more than `StackConfiguration.requestOctets` ─► TCP to the same place ─ no connection ─► datagram all the same
//
// Its Contact stays that of datagrams: this is about one request, not about where we are.

import Essentials
import SIP

/// How a request goes that is too large.
enum RequestSize: Sendable, Hashable {
    /// Nobody found it too large.
    case fits
    /// Over a connection.
    case overConnection(octets: Int)
    /// As a datagram after all, because the other side takes no connection.
    case asDatagram(octets: Int)
}

extension UserAgent {
    /// The target that a request is really sent to.
    func sized(_ target: SignallingTarget, _ request: ClientRequest) -> SignallingTarget {
        guard case .overConnection = request.size, target.transport == .udp else { return target }
        var target = target
        target.transport = .tcp
        target.flow = nil
        return target
    }

    /// How many octets the request may have as a datagram.
    func octetLimit(_ request: ClientRequest) -> Int {
        if case .asDatagram = request.size { return .max }
        if request.method == .message { return min(configuration.stack.requestOctets, configuration.maximumDatagramMessage) }
        return configuration.stack.requestOctets
    }

    /// The request failed for its size, or its connection did not come about; true: it goes the other way.
    func changeTransport(_ request: ClientRequest, _ failure: RequestFailure, now: MonotonicTime) -> Bool {
        guard let target = request.target, target.transport == .udp else { return false }
        switch (failure, request.size) {
        case (.tooLarge(let octets), .fits):
            counters.increment(.requestsOverConnection)
            request.size = .overConnection(octets: octets)
        case (.transport, .overConnection(let octets)):
            counters.increment(.requestsBackToDatagrams)
            request.size = .asDatagram(octets: octets)
        default: return false
        }
        return transmit(request, to: target, now: now)
    }

    // MARK: ACK, which is in no transaction

    /// Sends the ACK of a 2xx; one that is too large for a datagram goes over a connection too.
    func send(_ ack: MessageBuilder, of leg: inout AcceptedInvite.Leg, to target: SignallingTarget, now: MonotonicTime) {
        leg.target = target
        leg.connection = nil
        leg.sentACK = stack.sendACK(ack, to: target, octets: configuration.stack.requestOctets, now: now)
        guard leg.sentACK == nil, target.transport == .udp else { return }
        var other = target
        other.transport = .tcp
        other.flow = nil
        let isUp = stack.connection(to: other).map(stack.isConnected) ?? false
        guard let sent = stack.sendACK(ack, to: other, now: now) else {
            leg.sentACK = stack.sendACK(ack, to: target, now: now)
            return
        }
        counters.increment(.requestsOverConnection)
        leg.sentACK = sent
        leg.target = other
        if !isUp, let flow = stack.connection(to: other) { leg.connection = (flow, ack, target) }
    }

    /// A connection is up, or did not come about: then the ACKs that waited for it go as datagrams.
    func releaseACKs(_ flow: FlowID, isUp: Bool, now: MonotonicTime) {
        for accepted in acceptedInvites.sorted(by: { $0.key < $1.key }).map(\.value) {
            for index in accepted.legs.indices {
                guard let waiting = accepted.legs[index].connection, waiting.flow == flow else { continue }
                accepted.legs[index].connection = nil
                guard !isUp else { continue }
                counters.increment(.requestsBackToDatagrams)
                accepted.legs[index].target = waiting.datagrams
                accepted.legs[index].sentACK = stack.sendACK(waiting.ack, to: waiting.datagrams, now: now)
            }
        }
    }

    /// What a failure means: a large request that got no answer as a datagram did not get through.
    func meaning(of failure: RequestFailure, _ request: ClientRequest) -> RequestFailure {
        if case .asDatagram(let octets) = request.size { return .tooLarge(octets: octets) }
        return failure
    }
}
