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
            let side = isFromCaller ? token.callee : token.caller
            if let side, side.contact == RouteToken.hash(uri), isUsable(side, for: request, source, now: now) {
                return [ProxyTarget(uri: routing.uri, hop: side.target, routes: [])]
            }
            // The flow of the dialog is gone; the device may have registered another one since (RFC 5626 §5.3).
            let hop = registeredHop(for: request, uri, source, side, now: now) ?? directHop(uri)
            return hop.map { [ProxyTarget(uri: routing.uri, hop: $0, routes: [])] } ?? []
        }
        if routing.isOfLostDialog, let hop = registeredHop(for: request, uri, source, nil, now: now) {
            return [ProxyTarget(uri: routing.uri, hop: hop, routes: [])]
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
                    transport: hop.transport, address: hop.address, flow: $0.rawValue, contact: RouteToken.hash(uri), isRegistered: true)
            }
            return ProxyTarget(uri: .sip(uri), hop: hop, routes: [], preference: binding.preference, side: side)
        }
    }

    /// Where the other side of a dialog is registered now: its Contact is one of the bindings; or a binding was at the address of the
    /// dialog before; or its address of record (To, in a dialog) has one device only. nil: that tells nothing.
    ///
    /// - Parameter side: what the token says of that side; nil: there is no token any more.
    func registeredHop(
        for request: SIPMessage, _ uri: SIPURI, _ source: MessageSource, _ side: RouteToken.Side?, now: MonotonicTime
    ) -> SignallingTarget? {
        let place = RouteToken.hash(uri)
        let called = registrar.store.bindings(of: uri.user ?? "", now: now)
        if let binding = called.first(where: { $0.flowIsOpen && RouteToken.hash($0.uri) == place }) { return binding.target }
        let isLost = request.to.tag != nil && side == nil
        guard isLost || side?.isRegistered ?? false else { return nil }
        let bindings = bindings(ofPeerIn: request, source, now: now).filter { $0.flowIsOpen && $0.path.isEmpty }
        if let side, let moved = bindings.first(where: { $0.formerAddresses.contains(side.address) }) { return moved.target }
        guard Set(bindings.map { $0.instance ?? $0.callID }).count == 1 else { return nil }
        return Self.oneFlowAtATime(bindings).first?.target
    }

    /// The bindings of the address of record that the other side of a dialog has.
    private func bindings(ofPeerIn request: SIPMessage, _ source: MessageSource, now: MonotonicTime) -> [Binding] {
        guard let peer = request.to.uri.sip, let user = peer.user, isOwn(peer, source) else { return [] }
        return registrar.store.bindings(of: user, now: now)
    }

    /// Whether the flow on which a dialog began still leads to its side: a connection that is open; for datagrams an address from
    /// which no device has moved on.
    private func isUsable(_ side: RouteToken.Side, for request: SIPMessage, _ source: MessageSource, now: MonotonicTime) -> Bool {
        if side.transport.isReliable { return stack.isOpen(FlowID(rawValue: side.flow), to: side.address) }
        guard side.isRegistered else { return true }
        return !bindings(ofPeerIn: request, source, now: now).contains { $0.formerAddresses.contains(side.address) }
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
            let copy = copy(of: context.request, for: target, context: context, now: now)
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
    private func copy(of request: SIPMessage, for target: ProxyTarget, context: ResponseContext, now: MonotonicTime) -> MessageBuilder {
        var copy = forwardable(request, uri: target.uri, routes: target.routes, source: context.source)
        if request.to.tag == nil, [.invite, .subscribe, .refer].contains(request.method) {
            for value in recordRoutes(of: request, for: target, source: context.source, now: now) { copy.prepend(.recordRoute, value) }
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
        of request: SIPMessage, for target: ProxyTarget, source: MessageSource, now: MonotonicTime
    ) -> [String] {
        var caller: RouteToken.Side?
        if let contact = request.contacts.first?.uri.sip,
            source.transport.isReliable || contact.parameters.contains("ob")
                || isBehindNAT(contact: contact, via: request.topVia, source: source.remote)
        {
            caller = RouteToken.Side(
                transport: source.transport, address: source.remote, flow: source.flow.rawValue, contact: RouteToken.hash(contact),
                isRegistered: isRegistered(request, source, now: now))
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

    /// Whether the sender has registered over the flow by which its request came.
    private func isRegistered(_ request: SIPMessage, _ source: MessageSource, now: MonotonicTime) -> Bool {
        guard let from = request.from.uri.sip, let user = from.user, isOwn(from, source) else { return false }
        return registrar.store.bindings(of: user, now: now).contains { $0.source == source }
    }

    // MARK: ACK

    /// Whether a token says that this proxy saw the dialog begin; of one whose token is lost, whether its other side is registered.
    private func isOfOurDialog(_ ack: SIPMessage, _ routing: Routing, _ source: MessageSource, now: MonotonicTime) -> Bool {
        if routing.token != nil { return true }
        guard routing.isOfLostDialog, let uri = routing.uri.sip else { return false }
        return registeredHop(for: ack, uri, source, nil, now: now) != nil
    }

    /// An ACK of a 2xx goes the way of the dialog, outside any transaction (RFC 3261 §16.11, §13.2.2.4).
    func forwardACK(_ ack: SIPMessage, _ source: MessageSource, now: MonotonicTime) {
        let routing = route(ack, source)
        guard ack.maxForwards.map({ $0 > 0 }) ?? true,
            isOfOurDialog(ack, routing, source, now: now) || routing.uri.sip.map({ isOwn($0, source) && $0.user != nil }) ?? false,
            let target = targets(for: ack, routing, source, now: now).first
        else { return counters.increment(.acksDropped) }
        counters.increment(.acksForwarded)
        stack.sendACK(forwardable(ack, uri: target.uri, routes: target.routes, source: source), to: target.hop, now: now)
    }
}
