// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP
import SIPAgent

/// A phone that subscribes, and a scripted peer that plays its server.
final class Watcher {
    let scene: Scene
    let account: AccountID
    private var sequence: UInt32 = 0

    init(retry: RetryPolicy = RetryPolicy(), configure: (inout UserAgentConfiguration) -> Void = { _ in }) {
        scene = Scene(configure: configure)
        account = scene.addAccount(registers: false, directCalls: .refuse, retry: retry)
    }

    var subscribes: [SIPMessage] { scene.peer.newRequests(.subscribe) }
    var news: [EventNews] { scene.phone.news }

    /// The names of the statuses of all subscriptions, in order.
    var statuses: [String] { news.compactMap { if case .subscription(_, let status) = $0 { status.name } else { nil } } }
    /// The causes of breaks and ends, in order.
    var causes: [String] {
        news.compactMap { news in
            switch news {
            case .subscription(_, .retrying(let cause, _)), .subscription(_, .ended(let cause)): cause.code
            default: nil
            }
        }
    }
    var notified: [(leg: Int, message: SIPMessage)] {
        news.compactMap { if case .notified(_, let leg, let message) = $0 { (leg, message) } else { nil } }
    }

    /// Subscribes; the SUBSCRIBE as the peer got it.
    func subscribe(
        _ event: EventType = .presence, expires: Int = 3600, allowsForks: Bool = false
    ) throws -> (id: SubscriptionID, request: SIPMessage) {
        let before = subscribes.count
        let options = SubscriptionOptions(
            event: event, accept: [MediaType("application", "pidf+xml")], expires: expires, allowsForks: allowsForks)
        let id = try scene.phone.agent.subscribe(from: account, to: scene.peerURI, options, now: scene.network.now)
        scene.phone.drain()
        run(.milliseconds(30))
        guard subscribes.count > before else { throw Missing() }
        return (id, try required(subscribes.last))
    }

    /// The peer's 200.
    func accept(_ request: SIPMessage, expires: Int? = 3600, tag: String = "peer") {
        scene.peer.respond(
            200, to: request, tag: tag, contact: scene.peer.contact, headers: expires.map { [(.expires, "\($0)")] } ?? [])
        run(.milliseconds(30))
    }

    /// The peer's NOTIFY; the status that it got.
    @discardableResult
    func notify(
        _ request: SIPMessage, _ state: String?, event: String = "presence", tag: String = "peer", body: String = "",
        sequence: UInt32? = nil,
        type: String = "application/pidf+xml"
    ) -> Int? {
        self.sequence += 1
        let before = scene.peer.responses(.notify).count
        scene.peer.send(
            "NOTIFY", scene.phoneURI, to: scene.phone, callID: request.callID, fromTag: tag, toTag: request.from.tag,
            sequence: sequence ?? self.sequence,
            headers: ["Event: \(event)", "Contact: <\(scene.peer.contact)>"] + (state.map { ["Subscription-State: \($0)"] } ?? []),
            type: body.isEmpty ? nil : type, body: body)
        run(.milliseconds(30))
        let answers = scene.peer.responses(.notify)
        return answers.count > before ? answers.last?.statusCode : nil
    }

    /// Subscribed, with one notification.
    func active(expires: Int = 3600, allowsForks: Bool = false) throws -> (id: SubscriptionID, request: SIPMessage) {
        let (id, request) = try subscribe(allowsForks: allowsForks)
        accept(request, expires: expires)
        notify(request, "active;expires=\(expires)")
        return (id, request)
    }

    func run(_ interval: Interval) { scene.network.run(interval) }
}

extension ScriptedPeer {
    /// The requests that came, without repeats.
    func newRequests(_ method: SIP.Method) -> [SIPMessage] {
        var branches: Set<String> = []
        return requests(method).filter { branches.insert($0.topVia.branch ?? "").inserted }
    }
}

extension AgentNode {
    var news: [EventNews] { events.compactMap { if case .event(let news) = $0 { news } else { nil } } }
}
