// SPDX-License-Identifier: Apache-2.0
//
// Forwarding requests to their targets (RFC 3261 §16.5, §16.6) and ACK of a 2xx.

import Essentials
import SIP
import SIPAgent

extension SIPServer {
    // MARK: Targets

    /// §16.5: where the request goes. Empty: nowhere.
    func targets(
        for request: SIPMessage, _ routing: Routing, _ source: MessageSource, now: MonotonicTime
    ) -> [ProxyTarget] {
        if let next = routing.routes.first?.uri.sip {
            guard let hop = directHop(next) else { return [] }
            if next.isLooseRouter { return [ProxyTarget(uri: routing.uri, hop: hop, routes: routing.routes)] }
            // §16.6 step 6: a strict router wants its own URI in the request line and ours at the end.
            let routes = routing.routes.dropFirst() + [NameAddress(uri: routing.uri)]
            return [ProxyTarget(uri: .sip(next), hop: hop, routes: Array(routes))]
        }
        guard let uri = routing.uri.sip else { return [] }
        if let token = routing.token {
            let isFromCaller = RouteToken.hash(request.from.tag ?? "") == token.callerTag
            if let side = isFromCaller ? token.callee : token.caller, side.contact == RouteToken.hash(uri),
                !side.transport.isReliable || stack.isOpen(FlowID(rawValue: side.flow), to: side.address)
            {
                return [ProxyTarget(uri: routing.uri, hop: side.target, routes: [])]
            }
            // The flow of the dialog is gone; the device may have registered another one since (RFC 5626 §5.3).
            let place = RouteToken.hash(uri)
            let bindings = registrar.store.bindings(of: uri.user ?? "", now: now)
            if let binding = bindings.first(where: { $0.flowIsOpen && RouteToken.hash($0.uri) == place }) {
                return [ProxyTarget(uri: routing.uri, hop: binding.target, routes: [])]
            }
            return directHop(uri).map { [ProxyTarget(uri: routing.uri, hop: $0, routes: [])] } ?? []
        }
        guard isOwn(uri, source), let user = uri.user else {
            return directHop(uri).map { [ProxyTarget(uri: routing.uri, hop: $0, routes: [])] } ?? []
        }
        if let service = configuration.services.first(where: { $0.user == user }) {
            return directHop(service.contact).map { [ProxyTarget(uri: .sip(service.contact), hop: $0, routes: [])] } ?? []
        }
        return bindings(named: uri, user, now: now).map { binding in
            var uri = binding.uri
            uri.headers = []
            // RFC 3327 §5.3: the path is the route; the proxy next to us is where the registration came from.
            if let edge = binding.path.first?.uri.sip {
                let hop = directHop(edge) ?? SignallingTarget(binding.source)
                return ProxyTarget(uri: .sip(uri), hop: hop, routes: binding.path, preference: binding.preference)
            }
            let hop = binding.target
            let side = hop.flow.map {
                RouteToken.Side(
                    transport: hop.transport, address: hop.address, flow: $0.rawValue, contact: RouteToken.hash(uri))
            }
            return ProxyTarget(uri: .sip(uri), hop: hop, routes: [], preference: binding.preference, side: side)
        }
    }

    /// The contacts of an address of record; of a GRUU (RFC 5627 §5.1) those of the one device.
    private func bindings(named uri: SIPURI, _ user: String, now: MonotonicTime) -> [Binding] {
        guard let instance = uri.globallyRoutableInstance else { return Self.oneFlowAtATime(registrar.store.bindings(of: user, now: now)) }
        if instance.isEmpty { return registrar.store.owner(ofTemporary: user, now: now).map { [$0.binding] } ?? [] }
        return Self.oneFlowAtATime(registrar.store.bindings(of: user, now: now).filter { $0.instance == instance })
    }

    /// RFC 5626 §7: a device that registered several flows is called over one of them at a time: those that are open first, then
    /// the one that was refreshed last; the others follow, as contacts of less preference.
    private static func oneFlowAtATime(_ bindings: [Binding]) -> [Binding] {
        guard bindings.count > 1, bindings.contains(where: { $0.flowName != nil }) else { return bindings }
        var ranked = bindings
        for index in bindings.indices {
            guard let name = bindings[index].flowName else { continue }
            let isOpen = bindings[index].flowIsOpen
            ranked[index].preference -= bindings.indices.count { other in
                guard other != index, bindings[other].flowName?.instance == name.instance else { return false }
                guard bindings[other].flowIsOpen == isOpen else { return bindings[other].flowIsOpen }
                return (bindings[other].expires, bindings[other].sequence) > (bindings[index].expires, bindings[index].sequence)
            }
        }
        return ranked.sorted { ($1.preference, $0.sequence) < ($0.preference, $1.sequence) }
    }

    /// The next hop that a URI with a numeric host names; nil for a name, which this server does not look up.
    func directHop(_ uri: SIPURI) -> SignallingTarget? {
        guard case .address(let ip) = uri.host, !ip.isUnspecified, !ip.isMulticast else { return nil }
        let transport = uri.transport ?? (uri.isSecure ? .tls : .udp)
        return SignallingTarget(
            transport: transport, address: SocketAddress(ip, uri.port ?? transport.defaultPort), name: nil, flow: nil)
    }

    // MARK: Requests

    /// Sends the request to every target of the next group at once.
    func startNextGroup(of context: ResponseContext, now: MonotonicTime) {
        guard !context.waiting.isEmpty else { return }
        let group = context.waiting.removeFirst()
        context.groupsStarted += 1
        for target in group {
            let copy = copy(of: context.request, for: target, context: context)
            let client = stack.sendRequest(copy, to: target.hop, now: now)
            counters.increment(.branchesStarted)
            var branch = Branch(client: client)
            if context.request.method == .invite {
                let deadline = now + configuration.timerC
                branch.deadline = deadline
                timers.insert(.branch(context.server, context.branches.count), at: deadline)
            }
            context.branches.append(branch)
            context.openClients += 1
            branchOwners[client] = context.server
        }
        counters.increment(.requestsForwarded)
        if !context.waiting.isEmpty, context.request.method == .invite {
            timers.insert(.ring(context.server, group: context.groupsStarted), at: now + configuration.ringTime)
        }
    }

    /// §16.6 steps 1 to 6: the copy for one target; the Via (step 8) is the stack's.
    private func copy(of request: SIPMessage, for target: ProxyTarget, context: ResponseContext) -> MessageBuilder {
        var copy = forwardable(request, uri: target.uri, routes: target.routes, source: context.source)
        if request.to.tag == nil, [.invite, .subscribe, .refer].contains(request.method) {
            for value in recordRoutes(of: request, for: target, source: context.source) { copy.prepend(.recordRoute, value) }
        }
        return copy
    }

    /// The parts of forwarding that a request and an ACK share.
    private func forwardable(
        _ request: SIPMessage, uri: URI, routes: [NameAddress], source: MessageSource
    ) -> MessageBuilder {
        var copy = MessageBuilder(copying: request)
        if let via = stack.stampedVia(of: request, from: source) {
            copy.removeFirst(.via)
            copy.prepend(.via, via)
        }
        copy.setRequestURI(uri)
        copy.set(.maxForwards, "\(max(0, min(255, request.maxForwards ?? 70) - 1))")
        if !request.routes.isEmpty || !routes.isEmpty {
            copy.removeAll(.route)
            for route in routes { copy.add(.route, route.description) }
        }
        removeOwnCredentials(from: &copy, of: request)
        return copy
    }

    /// §16.6 step 4. Where the two sides differ in transport or address there are two (RFC 5658 §4), the callee's on top.
    private func recordRoutes(
        of request: SIPMessage, for target: ProxyTarget, source: MessageSource
    ) -> [String] {
        var caller: RouteToken.Side?
        if let contact = request.contacts.first?.uri.sip,
            source.transport.isReliable || contact.parameters.contains("ob")
                || isBehindNAT(contact: contact, via: request.topVia, source: source.remote)
        {
            caller = RouteToken.Side(
                transport: source.transport, address: source.remote, flow: source.flow.rawValue,
                contact: RouteToken.hash(contact))
        }
        let token = RouteToken(
            callerTag: RouteToken.hash(request.from.tag ?? ""), caller: caller, callee: target.side)
        let user = token.text(callID: request.callID, key: routeKey, cryptography)
        func value(_ transport: TransportProtocol, _ address: SocketAddress) -> String {
            "<sip:\(user)@\(address)\(transport == .udp ? "" : ";transport=\(transport.rawValue)");lr>"
        }
        let incoming = value(source.transport, source.local)
        let local = stack.localAddress(for: target.hop) ?? source.local
        let outgoing = value(
            target.hop.transport, local.ip.isUnspecified ? SocketAddress(source.local.ip, local.port) : local)
        return incoming == outgoing ? [incoming] : [incoming, outgoing]
    }

    // MARK: ACK

    /// An ACK of a 2xx goes the way of the dialog, outside any transaction (RFC 3261 §16.11, §13.2.2.4).
    func forwardACK(_ ack: SIPMessage, _ source: MessageSource, now: MonotonicTime) {
        let routing = route(ack, source)
        guard ack.maxForwards.map({ $0 > 0 }) ?? true,
            routing.token != nil || routing.uri.sip.map({ isOwn($0, source) && $0.user != nil }) ?? false,
            let target = targets(for: ack, routing, source, now: now).first
        else { return counters.increment(.acksDropped) }
        counters.increment(.acksForwarded)
        stack.sendACK(forwardable(ack, uri: target.uri, routes: target.routes, source: source), to: target.hop, now: now)
    }
}
