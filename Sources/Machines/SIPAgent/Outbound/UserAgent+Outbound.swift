// SPDX-License-Identifier: Apache-2.0
//
// Outbound (RFC 5626): an account's REGISTER names the device and the flow; what came of it is kept alive, watched, and
// replaced when it is lost.
//
//   2xx to REGISTER ─► the flow is kept ─ closed, silent, or another address ─► lost ─► REGISTER at once over a new one
//                        ▲                                                                     │ fails: RetryPolicy
//                        └──────────── calls are told our new address (re-INVITE) ◄────────────┘

import Essentials
import SIP

/// What an account keeps of its flow.
struct AccountFlow {
    /// The registrar took the registration as one of this flow (§6, `Require: outbound`).
    var isConfirmed = false
    /// The first hop said that it cannot (439, §11.6): not asked for again.
    var isRefused = false
    var keepAlive: FlowKeepAlive?
    /// Flows lost in a row before they were settled.
    var failures = 0
    /// Calls are to be told our new address as soon as the account is registered again.
    var refreshesCalls = false
}

extension Account {
    /// Whether REGISTER asks for outbound.
    var wantsOutbound: Bool { configuration.outbound == .on && !outbound.isRefused }
}

extension UserAgent {
    /// The option tag (RFC 5626 §11.4).
    static let outboundTag = "outbound"

    /// What our Contact says in REGISTER of device and flow.
    func describeFlow(_ contact: inout NameAddress, _ account: Account) {
        guard account.wantsOutbound else { return }
        contact.parameters.set("+sip.instance", "<" + account.instance + ">", isQuoted: true)
        contact.parameters.set("reg-id", "\(account.flowNumber)")
    }

    /// 439: a proxy between here and the registrar cannot (§4.2.1); registered as usual, then. True: it is tried.
    func registerWithoutOutbound(_ account: Account, now: MonotonicTime) -> Bool {
        guard account.wantsOutbound else { return false }
        counters.increment(.outboundRefused)
        account.outbound.isRefused = true
        sendRegister(account, account.detail.trigger, now: now)
        return true
    }

    // MARK: Keeping

    /// A REGISTER succeeded: its flow is kept from now on.
    func keepFlow(_ account: Account, _ response: SIPMessage, _ source: MessageSource, now: MonotonicTime) {
        account.outbound.isConfirmed = account.wantsOutbound && response.require.contains(Self.outboundTag)
        defer { refreshCallsIfWanted(account) }
        let settings = configuration.keepAlive
        guard settings.isOn else { return }
        // RFC 6223 §4.2: `keep` of our Via, then RFC 5626 §4.4: Flow-Timer, then our own.
        let named = [response.topVia.parameters["keep"], response.first(.flowTimer)].compactMap { value in
            value.flatMap { Int64($0.trimmedASCII) }.flatMap { (1...86_400).contains($0) ? Interval.seconds($0) : nil }
        }
        // The server speaks for itself; what it does not know is how soon a NAT forgets datagrams.
        let wanted =
            source.transport.isReliable
            ? named.first ?? settings.connectionInterval : min(named.first ?? settings.datagramInterval, settings.datagramInterval)
        let interval = max(wanted, settings.leastInterval)
        let isPromised = !named.isEmpty || account.outbound.isConfirmed
        if var known = account.outbound.keepAlive, known.source == source {
            known.interval = interval
            account.outbound.keepAlive = known
        } else {
            account.outbound.keepAlive = FlowKeepAlive(
                source, interval: interval, expectsAnswer: isPromised, settings: settings, random: random, now: now)
        }
        armKeepAlive(account)
    }

    /// No flow is kept any more.
    func leaveFlow(_ account: Account) {
        account.outbound.keepAlive = nil
        timers.cancel(.keepAlive(account.id))
    }

    private func armKeepAlive(_ account: Account) {
        if let keepAlive = account.outbound.keepAlive { timers.arm(.keepAlive(account.id), at: keepAlive.deadline) }
    }

    func keepAliveDue(_ id: AccountID, now: MonotonicTime) {
        guard let account = accounts[id], let step = account.outbound.keepAlive?.due(random, now: now) else { return }
        carryOut(step, account, now: now)
    }

    func handleKeepAlive(_ flow: FlowID, _ sign: KeepAliveSign, from remote: SocketAddress, now: MonotonicTime) {
        for id in accountOrder {
            guard let account = accounts[id], let source = account.outbound.keepAlive?.source, source.flow == flow,
                source.remote == remote, let step = account.outbound.keepAlive?.receive(sign, random, now: now)
            else { continue }
            carryOut(step, account, now: now)
        }
    }

    private func carryOut(_ step: FlowKeepAlive.Step, _ account: Account, now: MonotonicTime) {
        guard let source = account.outbound.keepAlive?.source else { return }
        switch step {
        case .nothing: break
        case .ping: stack.ping(source.flow)
        case .bind(let transaction): stack.bind(transaction, source.flow, to: source.remote)
        case .lineEnds: stack.sendLineEnds(source.flow, to: source.remote)
        case .failed(let fault): return flowLost(account, fault, now: now)
        }
        armKeepAlive(account)
    }

    // MARK: Losing and recovering

    /// The way to the server is gone: the server could only reach us over it.
    func flowLost(_ account: Account, _ fault: FlowFault, now: MonotonicTime) {
        guard life == .running, !account.isRemoved else { return }
        let source = account.outbound.keepAlive?.source
        let isSettled = account.outbound.keepAlive.map { now - $0.began >= configuration.keepAlive.settled } ?? false
        leaveFlow(account)
        account.flow = nil
        if case .moved(_, let address) = fault { takeAddress(address, account) }
        if case .closed = fault {} else if let source, source.transport.isReliable { stack.close(source.flow) }
        guard case .registered = account.registration.state else { return }
        counters.increment(.registrationFlowLost)
        let policy = account.configuration.retryPolicy
        guard policy.initial > .zero else { return }
        account.outbound.failures = isSettled ? 0 : account.outbound.failures + 1
        let delay =
            account.outbound.failures <= 1
            ? Interval.seconds(configuration.keepAlive.recoverySpread.seconds * random.fraction())
            : backOff(policy, failures: account.outbound.failures - 2)
        account.lostFlow = true
        account.outbound.refreshesCalls = true
        emit(.warning(Causes.flowLost(fault, source, account.configuration.addressOfRecord)))
        timers.arm(.registration(account.id), at: now + delay)
    }

    /// The NAT's new address is ours from now on; the old one is taken back with the next REGISTER.
    private func takeAddress(_ address: SocketAddress, _ account: Account) {
        if let contact = account.registration.contact, case .address = contact.host { account.registration.outdate(contact) }
        account.publicAddress = address
    }

    /// Calls that the lost flow carried learn our new address: a re-INVITE of what is agreed (RFC 3261 §14, §12.2).
    private func refreshCallsIfWanted(_ account: Account) {
        guard account.outbound.refreshesCalls else { return }
        account.outbound.refreshesCalls = false
        for id in sessions.keys.sorted() {
            guard let session = sessions[id], session.account == (account.main ?? account).id, session.phase == .established else {
                continue
            }
            emit(.moveDue(id))
        }
    }
}
