// SPDX-License-Identifier: Apache-2.0
//
// A server of events in a simulated world: takes SUBSCRIBE and PUBLISH, sends NOTIFY, and can do all the things that real
// ones do to their subscribers: restart, lose notifications, end subscriptions for any reason.

import Essentials
import SIP

/// A notifier that does what a test tells it. It repeats a NOTIFY until it is answered (RFC 3261 timer E), and no longer
/// than 32 s.
public final class ScriptedNotifier {
    /// One subscription as the notifier keeps it.
    public struct Subscriber {
        public var callID: String
        public var from: NameAddress
        public var to: NameAddress
        public var event: EventType
        public var contact: URI
        public var source: SocketAddress
        public var expiresAt: MonotonicTime
        var sequence: UInt32 = 0
    }

    public let peer: ScriptedPeer
    public private(set) var subscribers: [Subscriber] = []
    /// The body of the next notifications and its type.
    public var body: [UInt8] = []
    public var type = ""
    /// The longest time that is granted, seconds.
    public var longest = 3600
    /// Answers each SUBSCRIBE and PUBLISH with this instead; nil: it serves.
    public var refuses: (status: Int, headers: [(HeaderName, String)])?
    /// Whether the NOTIFY comes before the 200.
    public var notifiesFirst = false
    /// Whether notifications leave at all.
    public var isMute = false
    /// What was published: the ETag and the body; nil: nothing.
    public private(set) var published: (etag: String, body: [UInt8])?
    private var etags = 0
    private var answered: Set<String> = []

    init(_ peer: ScriptedPeer) {
        self.peer = peer
        peer.react = { [weak self] message, source in self?.take(message, source) }
    }

    /// All SUBSCRIBEs that came, in order, repeats left out.
    public var subscribes: [SIPMessage] { requests(.subscribe) }
    /// All PUBLISHes that came.
    public var publishes: [SIPMessage] { requests(.publish) }
    /// All MESSAGEs that came.
    public var messages: [SIPMessage] { requests(.message) }

    private func requests(_ method: Method) -> [SIPMessage] {
        var branches: Set<String> = []
        return peer.received.map(\.message).filter { message in
            message.isRequest && message.method == method && branches.insert(message.topVia.branch ?? "").inserted
        }
    }

    // MARK: What a test does

    /// Sends a NOTIFY with the present body to everybody.
    public func notify(_ state: SubscriptionState.State = .active) {
        for index in subscribers.indices { send(index, SubscriptionState(state)) }
    }

    /// Ends all subscriptions for that reason.
    public func terminate(_ reason: SubscriptionState.Reason?, retryAfter: UInt32? = nil) {
        for index in subscribers.indices { send(index, SubscriptionState(.terminated, reason: reason, retryAfter: retryAfter)) }
        subscribers = []
    }

    /// Forgets everything, as after a restart: refreshes are answered 481, conditional publications 412.
    public func restart() {
        subscribers = []
        published = nil
    }

    // MARK: Serving

    private func take(_ message: SIPMessage, _ source: SocketAddress) {
        guard message.isRequest else {
            if message.statusCode >= 200 { answered.insert(message.topVia.branch ?? "") }
            return
        }
        if let refuses, message.method == .subscribe || message.method == .publish {
            peer.answer(message, refuses.status, tag: "server", to: source) { response in
                for (name, value) in refuses.headers { response.add(name, value) }
            }
            return
        }
        switch message.method {
        case .subscribe: subscribe(message, source)
        case .publish: publish(message, source)
        case .register:
            peer.answer(message, 200, tag: "server", to: source) { $0.copy(.contact, of: message) }
        default: peer.answer(message, 200, tag: "server", to: source)
        }
    }

    private func subscribe(_ request: SIPMessage, _ source: SocketAddress) {
        guard let event = request.event, let contact = request.contacts.first?.uri else {
            peer.answer(request, 489, tag: "server", to: source)
            return
        }
        let now = peer.host.world.now
        let expires = min(Int(request.expires ?? 3600), longest)
        if request.to.tag != nil {
            guard let index = subscribers.firstIndex(where: { $0.callID == request.callID && $0.from.tag == request.from.tag }) else {
                peer.answer(request, 481, tag: nil, to: source)
                return
            }
            subscribers[index].expiresAt = now + .seconds(Int64(expires))
            grant(request, expires, source)
            tell(index, expires)
            return
        }
        // A repeat of what was served already.
        guard !subscribers.contains(where: { $0.callID == request.callID }) else { return }
        var to = request.to
        to.tag = "notifier-\(peer.received.count)"
        subscribers.append(
            Subscriber(
                callID: request.callID, from: request.from, to: to, event: event, contact: contact, source: source,
                expiresAt: now + .seconds(Int64(expires))))
        let index = subscribers.count - 1
        if notifiesFirst { tell(index, expires) }
        grant(request, expires, source, tag: to.tag)
        if !notifiesFirst { tell(index, expires) }
    }

    private func grant(_ request: SIPMessage, _ expires: Int, _ source: SocketAddress, tag: String? = nil) {
        peer.answer(request, 200, tag: tag, to: source) { [peer] response in
            response.add(.expires, "\(expires)")
            response.add(.contact, "<sip:notifier@\(peer.address)>")
        }
    }

    /// The NOTIFY that follows a SUBSCRIBE; the last one where its time is 0.
    private func tell(_ index: Int, _ expires: Int) {
        if expires > 0 {
            send(index, SubscriptionState(.active, expires: UInt32(clamping: expires)))
        } else {
            send(index, SubscriptionState(.terminated, reason: .timeout))
            subscribers.remove(at: index)
        }
    }

    private func send(_ index: Int, _ state: SubscriptionState) {
        guard !isMute else { return }
        subscribers[index].sequence += 1
        let subscriber = subscribers[index]
        var request = peer.request(
            .notify, "\(subscriber.contact)", from: subscriber.to.description, to: subscriber.from.description,
            callID: subscriber.callID, cseq: subscriber.sequence)
        request.add(.contact, "<sip:notifier@\(peer.address)>")
        request.add(.event, subscriber.event.description)
        request.add(.subscriptionState, state.description)
        if !body.isEmpty { request.setBody(body, type: type) }
        let message = request.build()
        transmit(message, to: subscriber.source, after: .milliseconds(500), spent: .zero)
    }

    private func transmit(_ message: SIPMessage, to remote: SocketAddress, after wait: Interval, spent: Interval) {
        peer.send(message.bytes, to: remote)
        guard spent < .seconds(32) else { return }
        peer.schedule(after: wait) { [weak self] in
            guard let self, !self.answered.contains(message.topVia.branch ?? "") else { return }
            self.transmit(message, to: remote, after: min(wait * 2, .seconds(4)), spent: spent + wait)
        }
    }

    private func publish(_ request: SIPMessage, _ source: SocketAddress) {
        if let wanted = request.sipIfMatch, published?.etag != wanted {
            peer.answer(request, 412, tag: "server", to: source)
            return
        }
        let expires = min(Int(request.expires ?? 3600), longest)
        etags += 1
        let etag = "etag-\(etags)"
        published = expires == 0 ? nil : (etag, request.body.isEmpty ? published?.body ?? [] : Array(request.body))
        peer.answer(request, 200, tag: "server", to: source) { response in
            response.add(.expires, "\(expires)")
            response.add(.sipETag, etag)
        }
    }
}

extension SimulatedWorld {
    /// Adds a server of events.
    public func addNotifier(_ name: String, port: UInt16 = 5060) -> ScriptedNotifier { ScriptedNotifier(addPeer(name, port: port)) }
}
