// SPDX-License-Identifier: Apache-2.0

import Crypto
import Essentials
import SIP

extension UserAgent {
    /// Adds an account; registers it if its configuration says so.
    @discardableResult
    public func addAccount(_ configuration: AccountConfiguration, now: MonotonicTime) -> AccountID {
        lastAccount &+= 1
        let id = AccountID(rawValue: lastAccount)
        accounts[id] = Account(
            id: id, configuration: configuration,
            digest: DigestClient(credentials: configuration.credentials, cryptography: cryptography, random: random),
            random: random)
        accounts[id]?.tls = stack.profile(for: configuration.tls)
        accountOrder.append(id)
        if let account = accounts[id] { addFurtherFlows(account) }
        if !configuration.registers, !configuration.tls.verifiesCertificate { emit(.warning(Causes.unverified(configuration))) }
        if configuration.registers { register(id, now: now) }
        return id
    }

    /// Removes an account: unregisters it first where it is bound; its calls go on.
    public func removeAccount(_ id: AccountID, now: MonotonicTime) {
        guard let account = accounts[id] else { return }
        account.isRemoved = true
        for flow in account.further { removeAccount(flow.id, now: now) }
        endSubscriptions(of: id, now: now)
        if account.registration.mayBeBound { unregister(id, now: now) } else { forgetIfRemoved(account) }
    }

    /// Forgets a removed account when its registration is at rest.
    func forgetIfRemoved(_ account: Account) {
        guard account.isRemoved, account.registration.request == nil else { return }
        timers.cancel(.registration(account.id))
        leaveFlow(account)
        accounts[account.id] = nil
        accountOrder.removeAll { $0 == account.id }
    }

    /// The configuration of an account; nil: unknown.
    public func configuration(of id: AccountID) -> AccountConfiguration? { accounts[id]?.configuration }

    /// The account that a request is for: by the user of the Request-URI, by To, by the server it comes from, else the
    /// only one there is.
    func account(for request: SIPMessage, source: MessageSource) -> Account? {
        let all = accountOrder.compactMap { accounts[$0] }.filter { !$0.isRemoved && $0.flowNumber == 1 }
        guard all.count > 1 else { return all.first }
        let called = request.requestURI.sip?.user
        let to = request.to.uri.sip
        let fromServer = all.filter { $0.isServer(source) }
        let candidates = fromServer.isEmpty ? all : fromServer
        return candidates.first {
            $0.contactUser == called && to?.user == called && to?.host == $0.configuration.addressOfRecord.host
        } ?? candidates.first { $0.contactUser == called }
            ?? candidates.first { $0.contactUser == to?.user && to?.host == $0.configuration.addressOfRecord.host }
            ?? fromServer.first
    }

    /// Whether a message came from an account's own server.
    func isServer(_ source: MessageSource) -> Bool {
        accountOrder.contains { accounts[$0]?.isServer(source) ?? false }
    }

    /// Whether an INVITE may come from anybody: as its account says; one that fits none of the accounts is as strange as
    /// any, so the strictest account decides.
    func directCalls(_ account: Account?) -> DirectCalls {
        if let account { return account.configuration.directCalls }
        let isRefused = accountOrder.contains { accounts[$0]?.configuration.directCalls == .refuse }
        return isRefused ? .refuse : configuration.directCalls
    }

    // MARK: Addresses of our own

    /// Our Contact towards `target` (RFC 3261 §8.1.1.8), to which our address is `own`; nil: it is reached over its connection only.
    func contactURI(account: Account?, target: SignallingTarget, own: SocketAddress?, isSecure: Bool = false) -> SIPURI {
        guard let own, !stack.isReachedByConnectionOnly(target.transport) else {
            return connectionContact(account, target.transport, isSecure: isSecure)
        }
        let isServer = account?.isServer(target) ?? false
        let address = target.transport == .udp && isServer ? account?.flow(to: target).publicAddress ?? own : own
        return contactURI(account: account, transport: target.transport, address: address, isSecure: isSecure)
    }

    /// Our Contact in a response to what came from `source`.
    func contactURI(account: Account?, source: MessageSource) -> SIPURI {
        if stack.isReachedByConnectionOnly(source.transport) { return connectionContact(account, source.transport) }
        var address = source.local
        if source.transport == .udp, let account, account.isServer(source), let rewritten = account.flow(of: source).publicAddress {
            address = rewritten
        } else {
            let target = SignallingTarget(transport: source.transport, address: source.remote, name: nil, flow: source.flow)
            if let own = stack.localAddress(for: target) { address = own }
        }
        return contactURI(account: account, transport: source.transport, address: address)
    }

    private func contactURI(
        account: Account?, transport: TransportProtocol, address: SocketAddress, isSecure: Bool = false
    ) -> SIPURI {
        var uri = SIPURI(host: .address(address.ip), port: address.port)
        uri.user = account.map { $0.contactUser } ?? configuration.user
        mark(&uri, as: transport, isSecure: isSecure || account?.configuration.addressOfRecord.isSecure == true)
        return uri
    }

    private func mark(_ uri: inout SIPURI, as transport: TransportProtocol, isSecure: Bool) {
        if isSecure, transport.isSecure {
            uri.isSecure = true
            // RFC 5630 §3.1.3: sips says TLS, so `transport=tls` does not stand beside it.
            if transport == .wss { uri.parameters.set("transport", "ws") }
        } else if transport != .udp {
            uri.parameters.set("transport", transport.uriParameter)
        }
    }

    /// RFC 7118 §5.2: who cannot be connected to has a Contact whose host cannot exist; it is reached over the connection.
    private func connectionContact(_ account: Account?, _ transport: TransportProtocol, isSecure: Bool = false) -> SIPURI {
        var uri = SIPURI(host: .name(stack.invalidHost), port: nil)
        uri.user = account.map { $0.contactUser } ?? configuration.user
        mark(&uri, as: transport, isSecure: isSecure || account?.configuration.addressOfRecord.isSecure == true)
        return uri
    }
}
