// SPDX-License-Identifier: Apache-2.0

/// How far a session has come: what an interruption means for the exit status.
package struct Standing: Sendable, Hashable {
    package var subcommand: Subcommand
    /// `register --once`: all accounts must be registered.
    package var isOnce = false
    /// `answer --calls`: so many calls are waited for.
    package var awaitsCalls = false
    /// Calls that were answered.
    package var calls = 0
    /// Accounts that register, and those of them that ever were registered.
    package var accounts = 0
    package var registered = 0
    /// The subscription of `subscribe` was ever there.
    package var isSubscribed = false
    /// Why an account is not registered, as far as it was told.
    package var reason: String?

    package init(_ subcommand: Subcommand) { self.subcommand = subcommand }

    /// Why a signal at this moment means that the command did not do what it was for (status 1); nil: it did (status 0). A phone
    /// and a server are for as long as somebody wants them.
    package var unfinished: String? {
        switch subcommand {
        case .call: calls > 0 ? nil : "The call was given up before it was answered."
        case .message: "The message was given up before it was answered."
        case .subscribe: isSubscribed ? nil : "The subscription was given up before it was there."
        case .register: isRegistered ? nil : unregistered
        case .answer:
            if calls > 0 {
                nil
            } else if awaitsCalls {
                "The phone was stopped before a call was answered."
            } else {
                isRegistered ? nil : unregistered
            }
        case .phone, .serve, .demo, .explain, .parse, .sdpAnswer, .devices: nil
        }
    }

    private var isRegistered: Bool { registered >= (isOnce ? accounts : min(accounts, 1)) }

    private var unregistered: String {
        "The registration was given up before it was there." + (reason.map { " \($0)" } ?? "")
    }
}
