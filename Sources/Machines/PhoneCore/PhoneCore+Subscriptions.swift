// SPDX-License-Identifier: Apache-2.0
//
// Subscriptions, published state and messages: what the agent tells, read and put into words.
//
//   subscribe(mwi)      message summaries (RFC 3842)      ─► .messageSummary
//   subscribe(dialog)   the calls of a line (RFC 4235)    ─► .dialogs: a table that follows full and partial documents
//   subscribe(presence) who can be reached (RFC 3856)     ─► .presence

import Essentials
import EventPackages
import SIP
import SIPAgent

/// What can be subscribed to.
public enum EventPackage: String, Sendable, Hashable, CaseIterable {
    /// Waiting messages (RFC 3842).
    case mwi
    /// The calls of a line, for a busy lamp (RFC 4235).
    case dialog
    /// Presence (RFC 3856).
    case presence

    var eventType: EventType {
        switch self {
        case .mwi: .messageSummary
        case .dialog: .dialog
        case .presence: .presence
        }
    }

    var mediaType: MediaType {
        switch self {
        case .mwi: MediaType("application", "simple-message-summary")
        case .dialog: MediaType("application", "dialog-info+xml")
        case .presence: MediaType("application", "pidf+xml")
        }
    }
}

/// What happens on one subscription.
public enum SubscriptionEvent: Sendable {
    case status(SubscriptionStatus)
    case messageSummary(MessageSummary)
    /// The calls of the line as far as they are known; a forked subscription tells each notifier's.
    case dialogs(DialogTable)
    case presence(Presence)
    /// A notification that cannot be read; the subscription goes on.
    case unreadable(Cause)
}

/// A text that came in (RFC 3428).
public struct ReceivedText: Sendable {
    /// The account that it was sent to; nil: none fits.
    public var account: AccountID?
    /// The call in which it came; nil: none.
    public var call: CallID?
    /// Who wrote it, by the From header field: not proven.
    public var from: NameAddress
    /// Safe to show; lines are parted by LF.
    public var text: String
    /// The MESSAGE, for whoever wants more.
    public var message: SIPMessage
}

/// What happens with messages.
public enum MessageEvent: Sendable {
    case received(ReceivedText)
    /// What became of a message of ours; comes once for each.
    case answered(MessageID, MessageDelivery)
}

/// The phone's books of subscriptions, publications and subscribers.
struct Correspondence {
    struct Watch {
        var package: EventPackage
        /// For the mailbox that the phone watches by itself: whose it is.
        var mailboxOf: AccountID?
        /// The dialogs that each notifier told of.
        var tables: [Int: DialogTable] = [:]
    }

    var watches: [SubscriptionID: Watch] = [:]
    /// The subscription to the mailbox of each account that wants one, even when it has ended.
    var mailboxes: [AccountID: SubscriptionID] = [:]
    var publications: [AccountID: PublicationID] = [:]
    /// Subscribers to our lines: whose line, and the version of the last document.
    var subscribers: [SubscriberID: (account: AccountID, version: UInt32)] = [:]
    /// A call changed its state since the subscribers were told.
    var isLineChanged = false
}

extension PhoneCore {
    /// Subscribes; the agent keeps the subscription until `unsubscribe`, or until the other side ends it for good.
    ///
    /// - Parameters:
    ///   - account: whose identity and server are used; nil subscribes directly.
    ///   - dialled: a number or name at the account's domain, or a full URI; nil: the account's own mailbox or address.
    ///   - expires: seconds to ask for; 0 fetches the state once.
    public func subscribe(
        from account: AccountID?, to dialled: String?, _ package: EventPackage, expires: Int = 3600, now: MonotonicTime
    ) throws(PhoneError) -> SubscriptionID {
        if isStopping { throw PhoneError(.stopping, "The phone is being shut down.") }
        if let account { try require(account) }
        let configuration = account.flatMap { accounts[$0] }
        let target: URI
        if let dialled {
            target = try Dialling.target(dialled, account: configuration)
        } else if let configuration {
            target = .sip(package == .mwi ? configuration.mailbox ?? configuration.addressOfRecord : configuration.addressOfRecord)
        } else {
            throw PhoneError(.badTarget, "A subscription without an account needs an address.")
        }
        let id = try subscribe(account, target, package, expires: expires, mailboxOf: nil, now: now)
        drainAgent(now: now)
        return id
    }

    private func subscribe(
        _ account: AccountID?, _ target: URI, _ package: EventPackage, expires: Int, mailboxOf: AccountID?, now: MonotonicTime
    ) throws(PhoneError) -> SubscriptionID {
        let options = SubscriptionOptions(
            event: package.eventType, accept: [package.mediaType], expires: expires, allowsForks: package == .dialog)
        do throws(AgentError) {
            let id = try agent.subscribe(from: account, to: target, options, now: now)
            correspondence.watches[id] = Correspondence.Watch(package: package, mailboxOf: mailboxOf)
            return id
        } catch {
            throw PhoneError(error)
        }
    }

    /// Ends a subscription; `.status(.ended)` follows. One that is over is left alone.
    public func unsubscribe(_ id: SubscriptionID, now: MonotonicTime) {
        agent.unsubscribe(id, now: now)
        drainAgent(now: now)
    }

    /// Publishes the presence of an account (RFC 3903), in place of what it had published, and keeps it so.
    ///
    /// - Parameters:
    ///   - isOpen: whether the account can be reached.
    ///   - activities: RFC 4480 §3.2: `away`, `busy`, `on-the-phone` and others; what is no such word is left out.
    ///   - expires: seconds to ask for, if nothing is published yet.
    @discardableResult
    public func publish(
        _ account: AccountID, isOpen: Bool, note: String? = nil, activities: [String] = [], expires: Int = 3600, now: MonotonicTime
    ) throws(PhoneError) -> PublicationID {
        if isStopping { throw PhoneError(.stopping, "The phone is being shut down.") }
        try require(account)
        guard let address = accounts[account]?.addressOfRecord else { throw PhoneError(.noSuchAccount, "There is no such account.") }
        let uri = "\(URI.sip(address))"
        let body = Presence(entity: uri, isOpen: isOpen, contact: uri, note: note, activities: activities).serialized()
        defer { drainAgent(now: now) }
        do throws(AgentError) {
            if let known = correspondence.publications[account] {
                try agent.publish(known, body: body, now: now)
                return known
            }
            let id = try agent.publish(account, event: .presence, body: body, type: Presence.mediaType, expires: expires, now: now)
            correspondence.publications[account] = id
            return id
        } catch {
            throw PhoneError(error)
        }
    }

    /// Takes the published presence of an account back.
    public func unpublish(_ account: AccountID, now: MonotonicTime) throws(PhoneError) {
        try require(account)
        if let id = correspondence.publications[account] { agent.unpublish(id, now: now) }
        drainAgent(now: now)
    }

    // MARK: Messages

    /// Sends a text; `MessageEvent.answered` follows in any case.
    ///
    /// - Parameters:
    ///   - account: whose identity and server are used; nil sends directly.
    ///   - dialled: a number or name at the account's domain, or a full URI.
    public func sendMessage(
        from account: AccountID?, to dialled: String, text: String, now: MonotonicTime
    ) throws(PhoneError) -> MessageID {
        if isStopping { throw PhoneError(.stopping, "The phone is being shut down.") }
        if let account { try require(account) }
        let target = try Dialling.target(dialled, account: account.flatMap { accounts[$0] })
        defer { drainAgent(now: now) }
        do throws(AgentError) {
            return try agent.sendMessage(from: account, to: target, body: Array(text.utf8), now: now)
        } catch {
            throw PhoneError(error)
        }
    }

    /// Sends a text within an established call.
    public func sendMessage(on id: CallID, text: String, now: MonotonicTime) throws(PhoneError) -> MessageID {
        let call = try require(id)
        guard let session = call.session, case .established = call.phase else {
            throw PhoneError(.wrongState, "Only an established call carries messages.")
        }
        defer { drainAgent(now: now) }
        do throws(AgentError) {
            return try agent.sendMessage(in: session, body: Array(text.utf8), now: now)
        } catch {
            throw PhoneError(error)
        }
    }

    // MARK: What the agent tells

    func handle(_ news: EventNews, now: MonotonicTime) {
        switch news {
        case .subscription(let id, let status): subscriptionChanged(id, status)
        case .notified(let id, let leg, let message): notified(id, leg, message, now: now)
        case .legEnded(let id, let leg): correspondence.watches[id]?.tables[leg] = nil
        case .unsolicited(let account, let message):
            guard !message.body.isEmpty else { return }
            do throws(EventBodyError) {
                emit(.messageWaiting(account, try MessageSummary(parsing: Array(message.body))))
            } catch {
                emit(.warning(nil, PhoneCauses.unreadable(error)))
            }
        case .publication(let id, let status):
            if case .ended = status {
                for (account, known) in correspondence.publications where known == id { correspondence.publications[account] = nil }
            }
            emit(.publication(id, status))
        case .message(let received):
            guard let text = received.message.plainText else { return }
            let call = received.session.flatMap { callOfSession[$0] }
            emit(
                .message(
                    .received(
                        ReceivedText(
                            account: received.account, call: call, from: received.message.from, text: text, message: received.message))))
        case .messageAnswered(let id, let delivery): emit(.message(.answered(id, delivery)))
        case .stateWanted(let id, let account):
            correspondence.subscribers[id] = (account, correspondence.subscribers[id]?.version ?? 0)
            tell(id, now: now)
        case .subscriberEnded(let id): correspondence.subscribers[id] = nil
        }
    }

    private func subscriptionChanged(_ id: SubscriptionID, _ status: SubscriptionStatus) {
        guard let watch = correspondence.watches[id] else { return }
        if watch.mailboxOf == nil {
            emit(.subscription(id, .status(status)))
        } else if case .ended(let cause) = status, cause.code != "subscription.ended" {
            emit(.warning(nil, cause))
        }
        if case .ended = status { correspondence.watches[id] = nil }
    }

    private func notified(_ id: SubscriptionID, _ leg: Int, _ message: SIPMessage, now: MonotonicTime) {
        guard let watch = correspondence.watches[id], !message.body.isEmpty else { return }
        let body = Array(message.body)
        do throws(EventBodyError) {
            switch watch.package {
            case .mwi:
                let summary = try MessageSummary(parsing: body)
                emit(watch.mailboxOf.map { .messageWaiting($0, summary) } ?? .subscription(id, .messageSummary(summary)))
            case .presence: emit(.subscription(id, .presence(try Presence(parsing: body))))
            case .dialog:
                var table = watch.tables[leg] ?? DialogTable()
                let outcome = table.apply(try DialogInformation(parsing: body))
                correspondence.watches[id]?.tables[leg] = table
                switch outcome {
                case .changed: emit(.subscription(id, .dialogs(table)))
                case .gap: agent.refreshSubscription(id, leg: leg, now: now)
                case .outdated: break
                case .overLimit: throw EventBodyError(.limit)
                }
            }
        } catch {
            let cause = PhoneCauses.unreadable(error)
            emit(watch.mailboxOf == nil ? .subscription(id, .unreadable(cause)) : .warning(nil, cause))
        }
    }

    // MARK: The account's own mailbox

    /// Watches the mailbox of an account while it is registered.
    func registrationChanged(_ account: AccountID, _ state: RegistrationState, now: MonotonicTime) {
        guard let configuration = accounts[account], configuration.messageWaiting == .subscribe else { return }
        switch state {
        case .registered where correspondence.mailboxes[account] == nil && !isStopping:
            let target = URI.sip(configuration.mailbox ?? configuration.addressOfRecord)
            do throws(PhoneError) {
                correspondence.mailboxes[account] = try subscribe(
                    account, target, .mwi, expires: 3600, mailboxOf: account, now: now)
            } catch {
                emit(.warning(nil, PhoneCauses.notSubscribed(error)))
            }
        case .unregistering, .unregistered:
            if let id = correspondence.mailboxes.removeValue(forKey: account) { agent.unsubscribe(id, now: now) }
        default: break
        }
    }

    // MARK: Subscribers to our lines

    /// Tells all subscribers that a call has changed.
    func tellSubscribers(now: MonotonicTime) {
        correspondence.isLineChanged = false
        for id in correspondence.subscribers.keys.sorted() { tell(id, now: now) }
    }

    /// The calls of a line, without who is on the other side: that the line is busy is all that a lamp shows.
    private func tell(_ id: SubscriberID, now: MonotonicTime) {
        guard let subscriber = correspondence.subscribers[id], let account = accounts[subscriber.account] else { return }
        guard agent.canNotify(id) else {
            agent.notify(id, body: [], type: "", now: now)
            return
        }
        let entity = "\(URI.sip(account.addressOfRecord))"
        let dialogs = calls.keys.sorted().compactMap { key -> DialogInformation.Dialog? in
            guard let call = calls[key], call.account == subscriber.account else { return nil }
            let state: DialogInformation.State =
                switch self.state(of: key) {
                case .calling: .trying
                case .incoming, .early: .early
                case .connecting, .confirmed: .confirmed
                case .disconnected: .terminated
                }
            return DialogInformation.Dialog(
                id: "\(key)", isInitiator: call.direction == .outgoing, state: state, local: .init(identity: entity))
        }
        let document = DialogInformation(version: subscriber.version, isFull: true, entity: entity, dialogs: dialogs)
        correspondence.subscribers[id]?.version &+= 1
        agent.notify(id, body: document.serialized(), type: DialogInformation.mediaType, now: now)
    }
}

extension PhoneError {
    /// Why the agent did not take a command.
    init(_ error: AgentError) {
        let code: Code =
            switch error.code {
            case .unknownAccount: .noSuchAccount
            case .stopped: .stopping
            case .unusableTarget: .badTarget
            case .messageTooLong: .messageTooLong
            case .unknownDialog: .wrongState
            default: .limit
            }
        self.init(code, "It cannot be done: \(error.reason).")
    }
}
