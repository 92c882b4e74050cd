// SPDX-License-Identifier: Apache-2.0
//
// Connections that must be up before a request can be written: where nobody listens on the transport, Via and Contact name the
// local address of the connection itself (RFC 3261 §8.1.1.7, §18.1.1), and the other side reaches us over it.
//
//   transmit ─► no listener, no connection ─► connect, wait ─► connected ─► transmit
//                                                        └ closed ─► next target, or the end

import Essentials
import SIP

/// Requests that wait for their connection, in the order in which they came.
struct ConnectionWaiters {
    private var waiting: [(flow: FlowID, request: ClientRequest)] = []

    var count: Int { waiting.count }
    /// What is waited for, in the order of the requests.
    var flows: [FlowID] { waiting.map(\.flow) }

    mutating func add(_ request: ClientRequest, on flow: FlowID) { waiting.append((flow, request)) }

    /// Takes out what waits for a connection.
    mutating func take(_ flow: FlowID) -> [ClientRequest] {
        guard !waiting.isEmpty else { return [] }
        let found = waiting.filter { $0.flow == flow }.map(\.request)
        if !found.isEmpty { waiting.removeAll { $0.flow == flow } }
        return found
    }

    /// The same, of those for which `condition` holds.
    mutating func take(_ flow: FlowID, where condition: (ClientRequest) -> Bool) -> [ClientRequest] {
        let found = waiting.filter { $0.flow == flow && condition($0.request) }.map(\.request)
        waiting.removeAll { entry in entry.flow == flow && found.contains { $0 === entry.request } }
        return found
    }

    func isWaiting(on flow: FlowID) -> Bool { waiting.contains { $0.flow == flow } }

    /// Takes a request out; false: it does not wait.
    mutating func remove(_ request: ClientRequest) -> Bool {
        guard let index = waiting.firstIndex(where: { $0.request === request }) else { return false }
        waiting.remove(at: index)
        return true
    }

    mutating func removeAll() { waiting = [] }
}

extension UserAgent {
    /// Opens the connection that a request needs before it can be written; false: no way leads to the target.
    func connect(_ request: ClientRequest, to target: SignallingTarget, now: MonotonicTime) -> Bool {
        guard target.transport.isReliable else { return false }
        switch stack.open(target, now: now) {
        case .ready: return false
        case .opening(let flow):
            connecting.add(request, on: flow)
            armPatience(request, connection: flow, now: now)
            return true
        case .failed: return false
        }
    }

    /// A connection is up: what waited is written now.
    func connectionOpened(_ flow: FlowID, now: MonotonicTime) {
        timers.cancel(.connection(flow))
        for request in connecting.take(flow) {
            guard !request.isAbandoned else {
                finish(request, .failure(.timedOut), now: now)
                continue
            }
            guard let target = request.target, transmit(request, to: target, now: now) else {
                handleFailure(.noLocalAddress, request, now: now)
                continue
            }
        }
    }

    /// A connection did not come up: what waited goes elsewhere, or fails with the reason.
    func connectionFailed(_ flow: FlowID, _ failure: FlowFailure, now: MonotonicTime) {
        timers.cancel(.connection(flow))
        for request in connecting.take(flow) { handleFailure(.transport(failure), request, now: now) }
    }

    /// A connection is so long in coming that those who have another target go there; who has none waits on.
    func connectionPatienceOver(_ flow: FlowID, now: MonotonicTime) {
        let leaving = connecting.take(flow, where: \.hasFurtherTarget)
        guard let target = leaving.first?.target else { return }
        counters.increment(.targetsGivenUp)
        if !connecting.isWaiting(on: flow) { stack.close(flow) }
        location.failed(target, now: now)
        for request in leaving { handleFailure(.timedOut, request, now: now) }
    }

    /// Whose settings, which name and which WebSocket resource hold for a connection of this account to a target (RFC 5922 §4): the host that is
    /// configured, or, where that is numeric and stands for the account's own server, the account's domain.
    func secure(_ target: inout SignallingTarget, hop: SIPURI, account: Account?) {
        guard let account else { return }
        if target.transport.isWebSocket { target.path = account.configuration.webSocketPath }
        guard target.transport.isSecure else { return }
        target.profile = account.tls
        if case .address = hop.host, account.isOwnServer(hop) || account.isServer(target) {
            target.name = account.serverName
        }
    }
}

extension Account {
    /// The name that stands for the account's server: the configured one, or the domain where that is an address; an address as
    /// text, without brackets, where the domain is one too.
    var serverName: String {
        if case .name(let name) = serverURI.host { return name }
        switch configuration.addressOfRecord.host {
        case .name(let name): return name
        case .address(let address): return "\(address)"
        }
    }
}
