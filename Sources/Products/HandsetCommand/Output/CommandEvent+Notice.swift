// SPDX-License-Identifier: Apache-2.0

import PhoneCore
import SIPAgent

extension CommandEvent {
    /// What happens on a call besides its state and media: each kind is an event of its own name.
    package enum Notice: Sendable {
        /// `off`, `local` or `early`.
        case ringback(String)
        /// Another call is up.
        case waiting
        case continued(target: String, cause: Cause)

        package init(_ notice: CallNotice) {
            switch notice {
            case .ringback(let state): self = .ringback(state.rawValue)
            case .waiting: self = .waiting
            case .continued(let target, let cause): self = .continued(target: "\(target)", cause: cause)
            }
        }

        var name: String {
            switch self {
            case .ringback: "ringback"
            case .waiting: "waiting"
            case .continued: "continued"
            }
        }

        var members: [JSONValue.Member] {
            switch self {
            case .ringback(let state): [.init("state", .string(state))]
            case .waiting: []
            case .continued(let target, let cause):
                [.init("target", .string(target)), .init("cause", .string(cause.code)), .init("text", .string(cause.sentence))]
            }
        }

        var text: String {
            switch self {
            case .ringback("local"): "rings at the other side"
            case .ringback("early"): "plays the sound of the other side before the answer"
            case .ringback: "no longer rings at the other side"
            case .waiting: "waits: another call is up"
            case .continued(let target, let cause): "goes on to \(target): \(cause.sentence) (\(cause.code))"
            }
        }
    }
}
