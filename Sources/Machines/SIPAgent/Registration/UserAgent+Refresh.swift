// SPDX-License-Identifier: Apache-2.0
//
// Registrations that are refreshed before their time: woken by a push, after a sleep of the machine, after a change of
// the network. And the limit on how long registering may take.
//
//   registered, waiting, registering ─refresh─► a new REGISTER at once, whatever was under way
//   idle, refused, unregistering     ─────────► left alone: the user does not want it, or the server does not

import Essentials
import SIP

extension UserAgent {
    /// Registers every account anew, at once, that is registered or tries to be. What was under way is given up, waits
    /// are cut short, and waits after failures begin with the first again.
    public func refreshRegistrations(_ trigger: RegistrationTrigger, now: MonotonicTime) {
        guard life == .running else { return }
        counters.increment(.registrationsRefreshed)
        for id in accountOrder {
            if let account = accounts[id] { refresh(account, trigger, now: now) }
        }
        pump(now)
    }

    private func refresh(_ account: Account, _ trigger: RegistrationTrigger, now: MonotonicTime) {
        guard !account.isRemoved else { return }
        switch account.registration.state {
        case .registered(let until):
            if until <= now { account.registration.state = .waiting }
        case .waiting: break
        case .registering:
            guard account.registration.wanted != .unregister else { return }
            giveUpRegister(account)
        case .idle, .refused, .unregistering: return
        }
        account.registration.failures = 0
        sendRegister(account, trigger, now: now)
    }

    /// The phone was asleep and is awake again.
    ///
    /// - Parameter interval: how long nothing could be sent or heard.
    public func slept(for interval: Interval, now: MonotonicTime) {
        counters.increment(.clockJumps)
        // Nobody could answer what nobody could hear: requests under way get the time that they had left.
        stack.postpone(by: interval)
        timers.postpone(by: interval)
        if interval >= configuration.connectionSleepLimit { stack.closeOpenedConnections() }
        refreshRegistrations(.woke, now: now)
    }

    /// The REGISTER in progress is given up; nobody hears of its answer.
    private func giveUpRegister(_ account: Account) {
        guard let request = account.registration.request else { return }
        if !abandonSearch(of: request), let transaction = request.transaction {
            requests[transaction] = nil
            stack.abandon(transaction)
        }
        account.registration.request = nil
    }

    /// Registering, or taking it back, took longer than it may.
    func registrationLimitReached(_ id: AccountID, now: MonotonicTime) {
        guard let account = accounts[id], let request = account.registration.request else { return }
        counters.increment(.registrationLimitReached)
        giveUpRegister(account)
        account.registration.request = request
        finish(request, .failure(.timedOut), now: now)
    }
}
