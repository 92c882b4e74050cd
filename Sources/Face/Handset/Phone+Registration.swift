// SPDX-License-Identifier: Apache-2.0

import Essentials
import PhoneCore
import SIPAgent

extension Phone {
    /// Registers every account at once that is registered or tries to be: call it when a push arrived (RFC 8599 §4.1.3),
    /// so that the server can deliver what it woke the phone for.
    public func wake(_ trigger: RegistrationTrigger = .push) {
        defer { drain() }
        core.refreshRegistrations(trigger, now: loop.now)
    }

    /// The machine slept for `interval`: registrations and connections are refreshed at once, and what was under way is not
    /// blamed on the other side.
    public func slept(for interval: Interval) {
        defer { drain() }
        core.slept(for: interval, now: loop.now)
    }

    /// What is known of an account's registration besides its state: GRUU, Service-Route, push, why it was last sent.
    public func registrationDetail(of account: AccountID) -> RegistrationDetail? { core.registrationDetail(of: account) }
}

extension Account {
    /// What is known of the registration besides its state; nil after `remove`.
    public var registrationDetail: RegistrationDetail? {
        get async { await phone.registrationDetail(of: id) }
    }
}
