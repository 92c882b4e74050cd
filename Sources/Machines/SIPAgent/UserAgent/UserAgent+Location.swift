// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP

extension UserAgent {
    /// Looks for the addresses of a next hop (RFC 3263); what waits goes on in `located`, maybe at once.
    func locate(
        _ hop: URI, account: AccountID?, source: MessageSource?, _ waiter: LocationWaiter, now: MonotonicTime
    ) {
        guard let uri = hop.sip else {
            // A tel: target within a dialog, or a Contact of another scheme: back to where the dialog came from.
            let failure = RequestFailure.notLocated(.unsupported("\(hop)"))
            proceed(waiter, source.map { .success([SignallingTarget($0)]) } ?? .failure(failure), source, now: now)
            return
        }
        if let source, case .name(let name) = uri.host, name.hasSuffix(".invalid") {
            // RFC 7118 §5.2: who is called so is reached over the connection of the dialog only.
            proceed(waiter, .success([SignallingTarget(source)]), source, now: now)
            return
        }
        let hint = transportHint(uri, account: account, source: source)
        let id = location.locate(uri, transport: hint, among: offered.isEmpty ? nil : offered, now: now)
        locating[id] = LocationSearch(waiter: waiter, account: account, source: source, hop: uri)
    }

    /// Which transport to use where the URI does not say: the account's to its server; in a dialog the one of the
    /// dialog, if the URI is the address that the dialog's messages come from.
    private func transportHint(_ uri: SIPURI, account: AccountID?, source: MessageSource?) -> TransportProtocol? {
        guard uri.transport == nil, !uri.isSecure else { return nil }
        if let account = account.flatMap({ accounts[$0] }), uri.host == account.serverURI.host {
            return account.configuration.transport ?? account.serverURI.transport
        }
        if let source, case .address(let address) = uri.host, address.unmapped == source.remote.ip.unmapped {
            return source.transport
        }
        return nil
    }

    /// The outcome of a search.
    func located(_ result: LocationResult, now: MonotonicTime) {
        guard let search = locating.removeValue(forKey: result.id) else { return }
        switch result.outcome {
        case .success(let list):
            var targets = list.targets
            let account = search.account.flatMap { accounts[$0] }
            if let account, account.isOwnServer(search.hop) {
                for target in targets { trust(target, account) }
            }
            for index in targets.indices { secure(&targets[index], hop: search.hop, account: account) }
            if let source = search.source {
                // In URIs `ws` stands for both kinds of WebSocket (RFC 7118 §5.4).
                for index in targets.indices
                where source.transport == .wss && targets[index].transport == .ws && targets[index].address == source.remote {
                    targets[index].transport = .wss
                }
                for index in targets.indices
                where targets[index].transport == source.transport && targets[index].address == source.remote {
                    targets[index].flow = source.flow
                    // Within a dialog the server that has it (§4.3), whatever the draw says.
                    if index > 0 { targets.insert(targets.remove(at: index), at: 0) }
                }
            }
            proceed(search.waiter, .success(targets), search.source, now: now)
        case .failure(let failure):
            if case .unsupported(let what) = failure {
                proceed(search.waiter, .failure(.notSecure(what)), search.source, now: now)
            } else {
                proceed(search.waiter, .failure(.notLocated(failure)), search.source, now: now)
            }
        }
    }

    private func trust(_ target: SignallingTarget, _ account: Account) {
        account.remember(server: target)
        if !stack.exemptSources.contains(target.address.ip) { stack.exemptSources.append(target.address.ip) }
    }

    private func proceed(
        _ waiter: LocationWaiter, _ outcome: Result<[SignallingTarget], RequestFailure>, _ source: MessageSource?,
        now: MonotonicTime
    ) {
        switch waiter {
        case .request(let request):
            if request.isAbandoned {
                finish(request, .failure(.timedOut), now: now)
                return
            }
            switch outcome {
            case .success(let targets):
                request.targets = targets
                if targets.count > 1 { request.mayChangeTarget = true }
                if !tryNextTarget(request, now: now) {
                    finish(request, .failure(isNetworkLost ? .noNetwork : .noLocalAddress), now: now)
                }
            case .failure(let failure):
                if !sendBack(request, now: now) { finish(request, .failure(failure), now: now) }
            }
        case .ack(let transaction, let tag):
            guard case .success(let targets) = outcome, let target = targets.first else {
                var failure = RequestFailure.noLocalAddress
                if case .failure(let reason) = outcome { failure = reason }
                return ackHasNoWay(transaction, tag, source, failure, now: now)
            }
            guard let accepted = acceptedInvites[transaction],
                let index = accepted.legs.firstIndex(where: { $0.remoteTag == tag }), let ack = accepted.legs[index].ack
            else { return }
            accepted.legs[index].ack = nil
            send(ack, of: &accepted.legs[index], to: target, now: now)
        }
    }

    /// Gives up a request that still waits for its addresses or its connection; false: it was sent already.
    func abandonSearch(of request: ClientRequest) -> Bool {
        if connecting.remove(request) { return true }
        let found = locating.first { entry in
            if case .request(let waiting) = entry.value.waiter { return waiting === request }
            return false
        }
        guard let id = found?.key else { return abandonRace(of: request) }
        location.abandon(id)
        locating[id] = nil
        return true
    }
}

/// A search in progress and what it is for.
struct LocationSearch {
    var waiter: LocationWaiter
    var account: AccountID?
    var source: MessageSource?
    var hop: SIPURI
}

extension LocationFailure {
    /// For the evidence of a cause.
    var text: String {
        switch self {
        case .noSuchName(let name): "there is no name \(name)"
        case .noAddress(let name): "\(name) has no address"
        case .unanswered(let name, let reason): "no name server answered for \(name): \(reason)"
        case .notOffered(let name): "\(name) offers no SIP"
        case .transportNotOffered(let name, let offered): "\(name) offers only \(offered.joined(separator: ", "))"
        case .unsupported(let what): "\(what) is not supported"
        case .limit: "too many names are being looked up"
        }
    }
}
