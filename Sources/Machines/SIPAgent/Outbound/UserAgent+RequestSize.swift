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

    /// What a failure means: a large request that got no answer as a datagram did not get through.
    func meaning(of failure: RequestFailure, _ request: ClientRequest) -> RequestFailure {
        if case .asDatagram(let octets) = request.size { return .tooLarge(octets: octets) }
        return failure
    }
}
