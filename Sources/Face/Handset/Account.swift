// SPDX-License-Identifier: Apache-2.0

import PhoneCore
import SIPAgent

/// An account of a phone: an identity at a SIP server.
///
///     let account = try await phone.addAccount("sip:1001@example.net", password: secret)
///     for await state in account.registration { … }
///     let call = try await account.call("1002")
public final class Account: Sendable {
    public let id: AccountID
    public let configuration: AccountConfiguration
    let phone: Phone
    let registrations = EventChannel<RegistrationState>()

    init(id: AccountID, configuration: AccountConfiguration, phone: Phone) {
        self.id = id
        self.configuration = configuration
        self.phone = phone
    }

    /// The states of the registration from now on (the first sequence made begins with those so far).
    public var registration: AsyncStream<RegistrationState> { registrations.stream() }

    /// Places a call to a number or name at the account's domain, or to a full URI.
    ///
    /// - Throws: `PhoneError` when what was dialled cannot be called.
    public func call(_ dialled: String, options: CallOptions = CallOptions()) async throws(PhoneError) -> Call {
        try await phone.call(from: self, to: dialled, options: options)
    }

    /// Registers now: after `unregister`, or to refresh early.
    public func register() async throws(PhoneError) { try await phone.register(id) }

    /// Takes the registration back; calls go on.
    public func unregister() async throws(PhoneError) { try await phone.unregister(id) }

    /// Unregisters and removes the account from its phone.
    public func remove() async throws(PhoneError) { try await phone.remove(self) }
}
