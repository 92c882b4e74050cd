// SPDX-License-Identifier: Apache-2.0

/// Why a command could not be carried out.
public struct AgentError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Code: String, Sendable, Hashable {
        /// The account is not known.
        case unknownAccount = "agent.unknown-account"
        /// `UserAgentConfiguration.maximumCalls` is reached.
        case tooManyCalls = "agent.too-many-calls"
        /// The agent has been shut down.
        case stopped = "agent.stopped"
        /// The target is no `sip:`, `sips:` or `tel:` URI, or a `tel:` URI without an account to carry it.
        case unusableTarget = "agent.unusable-target"
        /// `UserAgentConfiguration.maximumSubscriptions` or `.maximumPendingMessages` is reached.
        case tooManySubscriptions = "agent.too-many-subscriptions"
        /// The call, subscription or publication is over or never was.
        case unknownDialog = "agent.unknown-dialog"
        /// A message is longer than `UserAgentConfiguration.maximumMessageOctets`.
        case messageTooLong = "agent.message-too-long"
        /// A header field that the protocol sets itself may not be given.
        case reservedHeader = "agent.reserved-header"
        /// The command does not fit the state of the session.
        case wrongState = "agent.wrong-state"
        /// `UserAgentConfiguration.maximumReferrals` or `maximumReferralsPerCall` is reached.
        case tooManyReferrals = "agent.too-many-referrals"
    }

    public var code: Code
    public var reason: String

    public init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    public var description: String { "\(code.rawValue): \(reason)" }
}
