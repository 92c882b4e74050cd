// SPDX-License-Identifier: Apache-2.0
//
// Registrations for life: what wakes them before their time, and what is known of them.

import Essentials
import SIPAgent

extension PhoneCore {
    /// Registers every account anew that is registered or tries to be: the phone was woken by a push, or the network changed.
    public func refreshRegistrations(_ trigger: RegistrationTrigger, now: MonotonicTime) {
        agent.refreshRegistrations(trigger, now: now)
        drainAgent(now: now)
    }

    /// The machine slept for `interval`. Where the clock goes on during sleep, `advance` sees that by itself.
    public func slept(for interval: Interval, now: MonotonicTime) {
        agent.slept(for: interval, now: now)
        drainAgent(now: now)
    }

    /// What is known of an account's registration besides its state; nil: there is no such account.
    public func registrationDetail(of account: AccountID) -> RegistrationDetail? { agent.registrationDetail(of: account) }
}
