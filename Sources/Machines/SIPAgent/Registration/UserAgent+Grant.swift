// SPDX-License-Identifier: Apache-2.0
//
// What a registrar gives besides the time: Service-Route (RFC 3608), GRUU (RFC 5627), push (RFC 8599); and how requests
// use it.

import Essentials
import SIP

extension UserAgent {
    /// Routes that a registrar may give; more of them are not followed at all.
    private static let maximumServiceRoutes = 8

    /// The option tags of a REGISTER.
    func registerOptions(_ account: Account) -> String {
        "path" + (account.wantsOutbound ? ", " + Self.outboundTag : "") + (account.wantsGRUU ? ", gruu" : "")
    }

    /// What our Contact says in a REGISTER besides its address and time.
    func describeBinding(_ contact: inout NameAddress, _ account: Account) {
        if let push = account.push, let uri = contact.uri.sip { contact.uri = .sip(push.added(to: uri)) }
        if account.wantsGRUU, let instance = account.configuration.instance {
            contact.parameters.set("+sip.instance", "<" + instance + ">", isQuoted: true)
        }
    }

    /// Reads the answer to our REGISTER.
    func takeGrant(_ response: SIPMessage, _ source: MessageSource, own: NameAddress?, _ account: Account) {
        account.detail.server = source.remote
        account.detail.transport = source.transport
        account.detail.tls = stack.agreement(of: source.flow)
        takeServiceRoute(response, account)
        account.detail.publicGRUU = account.wantsGRUU ? own?.publicGRUU : nil
        account.detail.temporaryGRUU = account.wantsGRUU ? own?.temporaryGRUU : nil
        if account.wantsGRUU, account.gruu == nil { counters.increment(.gruuMissing) }
        takePush(response, account)
    }

    /// RFC 3608 §5: each 2xx names the whole route; one without the field takes it back.
    private func takeServiceRoute(_ response: SIPMessage, _ account: Account) {
        let routes = account.configuration.followsServiceRoute ? response.serviceRoutes : []
        guard routes.count <= Self.maximumServiceRoutes, routes.allSatisfy({ $0.uri.sip?.isLooseRouter ?? false }) else {
            counters.increment(.serviceRouteIgnored)
            account.detail.serviceRoute = []
            return
        }
        account.detail.serviceRoute = routes
    }

    /// RFC 8599 §4.1: a network that does not name our service will not wake us.
    private func takePush(_ response: SIPMessage, _ account: Account) {
        let capabilities = response.featureCapabilities
        account.detail.pushServices = capabilities.compactMap { $0["+sip.pns"] }.flatMap {
            $0.split(separator: ",").map { $0.trimmedASCII }
        }
        account.detail.pushRefresh = capabilities.compactMap { $0["+sip.pnsreg"].flatMap { Int($0) } }.first.flatMap { $0 > 0 ? $0 : nil }
        guard let push = account.push else {
            account.detail.hasPush = false
            return
        }
        let hasPush = account.detail.pushServices.contains { $0.asciiLowercased == push.provider.asciiLowercased }
        if !hasPush, account.detail.hasPush || !account.wasToldOfPush { emit(.warning(Causes.pushNotOffered(account.detail.pushServices))) }
        account.wasToldOfPush = true
        account.detail.hasPush = hasPush
    }

    /// 555: the server does not know our push service. Better registered without push than not at all; true: it is tried.
    func registerWithoutPush(_ response: SIPMessage, _ account: Account, now: MonotonicTime) -> Bool {
        guard account.push != nil else { return false }
        counters.increment(.pushRefused)
        account.pushIsRefused = true
        account.detail.hasPush = false
        emit(.warning(Causes.pushRefused(response)))
        sendRegister(account, account.detail.trigger, now: now)
        return true
    }

    // MARK: For the account's other requests

    /// The Route of a request outside dialogs: the configured proxy, then the registrar's Service-Route.
    func preloadedRoutes(_ account: Account) -> [String] {
        var routes: [String] = []
        let flow = account.outgoing
        let service = flow.detail.serviceRoute
        if let proxy = flow.configuration.proxy {
            // The registrar may name the proxy as the first of its route (RFC 3608 §6.1).
            let isNamed = service.first?.uri.sip.map { $0.host == proxy.host && $0.port == proxy.port } ?? false
            if !isNamed { routes.append(Self.route(proxy)) }
        }
        return routes + service.map { NameAddress(uri: $0.uri).description }
    }

    /// Contact of a dialog: our GRUU where the account uses one, else our address.
    ///
    /// `ob` asks the edge of the network to send the requests of the dialog over the flow on which it began (RFC 5626 §4.3).
    func dialogContact(_ account: Account?, _ address: SIPURI) -> SIPURI {
        var contact = account?.gruu ?? address
        if account?.outbound.isConfirmed ?? false { contact.parameters.set("ob", nil) }
        return contact
    }

    /// What is known of an account's registration besides its state; nil: no such account.
    public func registrationDetail(of id: AccountID) -> RegistrationDetail? {
        guard let account = accounts[id] else { return nil }
        var detail = account.outgoing.detail
        if !account.further.isEmpty { detail.flows = account.flows.count { $0.isRegistered } }
        return detail
    }
}
