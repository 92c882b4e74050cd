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
        case identity(CallerIdentity)
        /// Which field asks, after how many seconds, and whether it is allowed.
        case autoAnswer(field: String, delay: Int, isAllowed: Bool)
        /// What a warning told of is over.
        case mended(code: String)

        package init(_ notice: CallNotice) {
            switch notice {
            case .ringback(let state): self = .ringback(state.rawValue)
            case .waiting: self = .waiting
            case .continued(let target, let cause): self = .continued(target: "\(target)", cause: cause)
            case .identity(let identity): self = .identity(identity)
            case .mended(let code): self = .mended(code: code)
            case .autoAnswer(let request, let isAllowed):
                self = .autoAnswer(field: request.field, delay: Int(request.delay.seconds), isAllowed: isAllowed)
            }
        }

        var name: String {
            switch self {
            case .ringback: "ringback"
            case .waiting: "waiting"
            case .continued: "continued"
            case .identity: "identity"
            case .autoAnswer: "autoanswer"
            case .mended: "mended"
            }
        }

        var members: [JSONValue.Member] {
            switch self {
            case .ringback(let state): [.init("state", .string(state))]
            case .waiting: []
            case .continued(let target, let cause):
                [.init("target", .string(target)), .init("cause", .string(cause.code)), .init("text", .string(cause.sentence))]
            case .identity(let identity): Self.members(identity)
            case .mended(let code): [.init("code", .string(code))]
            case .autoAnswer(let field, let delay, let isAllowed):
                [.init("field", .string(field)), .init("delay", .integer(Int64(delay))), .init("allowed", .bool(isAllowed))]
            }
        }

        private static func members(_ it: CallerIdentity) -> [JSONValue.Member] {
            var members = [JSONValue.Member("from", .string("\(it.claimed)"))]
            if let asserted = it.asserted { members.append(.init("asserted", .string("\(asserted)"))) }
            members.append(.init("anonymous", .bool(it.isAnonymous)))
            if !it.diversions.isEmpty {
                let list = it.diversions.map { diversion in
                    JSONValue.object(
                        [.init("by", .string("\(diversion.by)"))] + (diversion.reason.map { [.init("reason", .string($0))] } ?? []))
                }
                members.append(.init("diversions", .array(list)))
            }
            if !it.history.isEmpty {
                members.append(.init("history", .array(it.history.map { .string("\($0.index) \($0.target.uri)") })))
            }
            return members
        }

        private static func text(_ it: CallerIdentity) -> String {
            var text = "is with \(it.asserted ?? it.claimed)"
            if it.asserted == nil { text += " by its own word" }
            if it.isAnonymous { text += ", who asks not to be shown" }
            for diversion in it.diversions {
                text += ", forwarded by \(diversion.by)" + (diversion.reason.map { " (\($0))" } ?? "")
            }
            return text
        }

        var text: String {
            switch self {
            case .mended(let code): "is well again (\(code))"
            case .ringback("local"): "rings at the other side"
            case .ringback("early"): "plays the sound of the other side before the answer"
            case .ringback: "no longer rings at the other side"
            case .waiting: "waits: another call is up"
            case .identity(let identity): Self.text(identity)
            case .autoAnswer(let field, let delay, let isAllowed):
                "asks the phone to answer by itself" + (delay > 0 ? " after \(delay) s" : "") + " (\(field)): "
                    + (isAllowed ? "it will" : "it will not")
            case .continued(let target, let cause): "goes on to \(target): \(cause.sentence) (\(cause.code))"
            }
        }
    }
}
