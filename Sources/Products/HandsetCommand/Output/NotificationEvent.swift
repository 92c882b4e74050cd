// SPDX-License-Identifier: Apache-2.0

import EventPackages
import SIPAgent

/// What the command tells of messages, subscriptions and published state. All of them stand in docs/events.md.
package enum NotificationEvent: Sendable {
    /// A message came in.
    case message(Message)
    /// What became of a message of ours: `delivered`, `accepted` (a server has it) or `failed`.
    case messageSent(to: String, state: String, Cause?)
    case subscription(target: String, package: String, Status)
    case messageWaiting(account: String, MessageSummary)
    case dialogs(target: String, DialogTable)
    case presence(target: String, Presence)
    case publication(account: String, Status)

    package struct Message: Sendable {
        package var from: String
        package var name: String?
        package var text: String
        /// The call in which it came; nil: none.
        package var call: CommandEvent.CallReference?
        /// The account that it was sent to, where there are several.
        package var account: String?
        package init(
            from: String, name: String? = nil, text: String, call: CommandEvent.CallReference? = nil, account: String? = nil
        ) {
            self.account = account
            self.from = from
            self.name = name
            self.text = text
            self.call = call
        }
    }

    package struct Status: Sendable {
        package var state: String
        /// Granted seconds.
        package var expires: Int?
        /// Seconds until it is tried again.
        package var retry: Double?
        package var cause: Cause?
        package init(_ state: String, expires: Int? = nil, retry: Double? = nil, cause: Cause? = nil) {
            self.state = state
            self.expires = expires
            self.retry = retry
            self.cause = cause
        }
    }

    /// The value of `event`.
    package var name: String {
        switch self {
        case .message: "message"
        case .messageSent: "message-sent"
        case .subscription: "subscription"
        case .messageWaiting: "mwi"
        case .dialogs: "dialog-info"
        case .presence: "presence"
        case .publication: "publication"
        }
    }

    // MARK: JSON

    var fields: JSONValue {
        switch self {
        case .message(let it):
            .object(
                ("call", .text(it.call?.call)), ("from", .string(it.from)), ("name", .text(it.name)), ("text", .string(it.text)),
                ("account", .text(it.account)))
        case .messageSent(let target, let state, let cause):
            .object(
                ("to", .string(target)), ("state", .string(state)), ("status", .count(cause?.status)), ("cause", .text(cause?.code)),
                ("text", .text(cause?.sentence)))
        case .subscription(let target, let package, let status):
            .object(
                ("to", .string(target)), ("package", .string(package)), ("state", .string(status.state)),
                ("expires", .count(status.expires)), ("retry", status.retry.map { .hundredths($0) }),
                ("status", .count(status.cause?.status)), ("cause", .text(status.cause?.code)), ("text", .text(status.cause?.sentence)))
        case .messageWaiting(let account, let summary):
            .object(
                ("account", .string(account)), ("waiting", .bool(summary.areWaiting)), ("mailbox", .text(summary.account)),
                ("counts", .array(summary.counts.map(Self.count))))
        case .dialogs(let target, let table):
            .object(
                ("to", .string(target)), ("state", .string(table.state.rawValue)), ("busy", .bool(table.isBusy)),
                ("dialogs", .array(table.dialogs.map(Self.dialog))))
        case .presence(let target, let presence):
            .object(
                ("to", .string(target)), ("status", .string(Self.word(presence.isOpen))), ("note", .text(presence.shownNote)),
                ("activities", .array(presence.activities.map { .string($0) })))
        case .publication(let account, let status):
            .object(
                ("account", .string(account)), ("state", .string(status.state)), ("expires", .count(status.expires)),
                ("retry", status.retry.map { .hundredths($0) }), ("status", .count(status.cause?.status)),
                ("cause", .text(status.cause?.code)), ("text", .text(status.cause?.sentence)))
        }
    }

    private static func count(_ count: MessageSummary.Count) -> JSONValue {
        .object(
            ("kind", .string(count.kind)), ("new", .count(count.new)), ("old", .count(count.old)), ("urgentNew", .count(count.urgentNew)),
            ("urgentOld", .count(count.urgentOld)))
    }

    private static func dialog(_ dialog: DialogInformation.Dialog) -> JSONValue {
        .object(
            ("id", .string(dialog.id)), ("state", .string(dialog.state.rawValue)),
            ("direction", .text(dialog.isInitiator.map { $0 ? "initiator" : "recipient" })), ("remote", .text(dialog.remote.identity)),
            ("name", .text(dialog.remote.displayName)), ("callId", .text(dialog.callID)), ("localTag", .text(dialog.localTag)),
            ("remoteTag", .text(dialog.remoteTag)))
    }

    private static func word(_ isOpen: Bool?) -> String { isOpen.map { $0 ? "open" : "closed" } ?? "unknown" }

    // MARK: For people

    var line: String {
        switch self {
        case .message(let it):
            (it.call.map { "\($0) " } ?? "") + "message from " + (it.name.map { "\"\($0)\" " } ?? "")
                + "<\(it.from)>" + (it.account.map { " to \($0)" } ?? "") + ": \(Self.oneLine(it.text))"
        case .messageSent(let target, let state, let cause): "message to \(target) \(state)" + Self.why(cause)
        case .subscription(let target, let package, let status): "subscription (\(package)) to \(target) " + Self.line(status)
        case .messageWaiting(let account, let summary):
            "\(account): " + (summary.areWaiting ? "messages are waiting" : "no message is waiting")
                + (summary.counts.isEmpty
                    ? "" : " (" + summary.counts.map { "\($0.kind): \($0.new) new, \($0.old) old" }.joined(separator: "; ") + ")")
        case .dialogs(let target, let table):
            "\(target) is \(table.isBusy ? "busy (\(table.state.rawValue))" : "idle")"
        case .presence(let target, let presence):
            "\(target) is \(Self.word(presence.isOpen))"
                + (presence.activities.isEmpty ? "" : ", " + presence.activities.joined(separator: ", "))
                + (presence.shownNote.map { ": \(Self.oneLine($0))" } ?? "")
        case .publication(let account, let status): "presence of \(account) " + Self.line(status)
        }
    }

    private static func line(_ status: Status) -> String {
        status.state + (status.expires.map { ", for \($0) s" } ?? "")
            + (status.retry.map { ", again in \(JSONValue.hundredths($0)) s" } ?? "")
            + why(status.cause)
    }

    private static func why(_ cause: Cause?) -> String { cause.map { ": \($0.sentence) (\($0.code)\(CommandEvent.known(of: $0)))" } ?? "" }

    private static func oneLine(_ text: String) -> String { String(text.map { $0 == "\n" || $0 == "\t" ? " " : $0 }) }
}
