// SPDX-License-Identifier: Apache-2.0
//
// Several flows of one account (RFC 5626 §4.2, §4.3): one for each outbound proxy, each registered, kept and recovered by itself.
//
//   account, reg-id 1 ─ registered as a flow, or it cannot be ─► reg-id 2, 3, … register too
//                     └ registered, but the registrar knows no flows ─► the others are taken back: it would call us on each
//   one is lost ─► the account stays registered as long as another is; requests go over the first that is
//
// A further flow is an account of its own within the agent, with the identity of the first; nobody outside hears of it.

import Essentials
import SIP

extension Account {
    /// This flow and the further ones, in order.
    var flows: [Account] { [self] + further }

    var isRegistered: Bool {
        switch registration.state {
        case .registered: true
        // A refresh is under way.
        case .registering: registration.request != nil && detail.server != nil && registration.failures == 0 && !lostFlow
        case .idle, .waiting, .refused, .unregistering: false
        }
    }

    /// The flow over which requests outside dialogs go: the first that is registered.
    var outgoing: Account {
        if further.isEmpty || isRegistered { return self }
        return further.first { $0.isRegistered } ?? self
    }

    /// The flow whose server a message came from, or a request goes to.
    func flow(of source: MessageSource) -> Account { further.first { $0.isServer(source) } ?? self }
    func flow(to target: SignallingTarget) -> Account { further.first { $0.isServer(target) } ?? self }
}

extension UserAgent {
    /// Flows of one account.
    private static let maximumFlows = 8

    /// Makes the further flows of a new account; they register when the first has shown that the registrar knows flows.
    func addFurtherFlows(_ account: Account) {
        guard account.configuration.registers, account.wantsOutbound else { return }
        for (place, proxy) in account.configuration.furtherProxies.prefix(Self.maximumFlows - 1).enumerated() {
            var configuration = account.configuration
            configuration.proxy = proxy
            configuration.furtherProxies = []
            configuration.instance = account.instance
            configuration.messageWaiting = .off
            // A GRUU is the device's, whatever the flow: the first asks for it.
            configuration.gruu = .off
            lastAccount &+= 1
            let id = AccountID(rawValue: lastAccount)
            let flow = Account(
                id: id, configuration: configuration,
                digest: DigestClient(credentials: configuration.credentials, cryptography: cryptography, random: random),
                flowNumber: place + 2, random: random)
            flow.main = account
            flow.tls = account.tls
            accounts[id] = flow
            accountOrder.append(id)
            account.further.append(flow)
        }
    }

    /// The first flow is registered, or cannot be for now.
    func followWithFurtherFlows(_ account: Account, now: MonotonicTime) {
        guard account.flowNumber == 1, !account.further.isEmpty, life == .running, !account.isRemoved else { return }
        let isUseful: Bool
        if case .registered = account.registration.state { isUseful = account.outbound.isConfirmed } else { isUseful = true }
        for flow in account.further {
            switch flow.registration.state {
            case .idle where isUseful && flow.registration.request == nil: sendRegister(flow, account.detail.trigger, now: now)
            case .registered, .registering, .waiting:
                if !isUseful { unregister(flow.id, now: now) }
            case .idle, .refused, .unregistering: break
            }
        }
    }

    /// What is told of an event: the state of a registration is that of all its flows together; nil: nothing.
    func told(_ event: UserAgentEvent) -> UserAgentEvent? {
        guard case .registration(let id, let state) = event, let flow = accounts[id] else { return event }
        guard let main = flow.flowNumber == 1 ? flow : flow.main, !main.further.isEmpty else { return flow.flowNumber == 1 ? event : nil }
        let others = main.flows.filter { $0 !== flow }
        switch state {
        case .registered:
            return .registration(main.id, state)
        case .registering, .failed, .refused:
            return flow === main && !others.contains { $0.isRegistered } ? event : nil
        case .unregistering, .unregistered: return flow === main ? event : nil
        }
    }
}
