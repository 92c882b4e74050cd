// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP
import SIPAgent
import Testing

@Suite struct PublicationTests {
    final class Publisher {
        let scene: Scene
        let account: AccountID
        private(set) var id = PublicationID(rawValue: 0)

        init() throws {
            scene = Scene()
            account = scene.addAccount(registers: false)
            id = try scene.phone.agent.publish(
                account, event: .presence, body: Array("<open/>".utf8), type: "application/pidf+xml", now: scene.network.now)
            scene.phone.drain()
            scene.network.run(.milliseconds(30))
        }

        var requests: [SIPMessage] { scene.peer.newRequests(.publish) }
        var statuses: [String] {
            scene.phone.news.compactMap { if case .publication(_, let status) = $0 { status.name } else { nil } }
        }
        var causes: [String] {
            scene.phone.news.compactMap { news in
                switch news {
                case .publication(_, .retrying(let cause, _)), .publication(_, .ended(let cause)): cause.code
                default: nil
                }
            }
        }

        func answer(_ status: Int, etag: String? = nil, expires: Int? = nil, headers: [(HeaderName, String)] = []) throws {
            scene.peer.respond(
                status, to: try required(requests.last),
                headers: headers + (etag.map { [(.sipETag, $0)] } ?? []) + (expires.map { [(.expires, "\($0)")] } ?? []))
            scene.network.run(.milliseconds(30))
        }
    }

    @Test("published, refreshed without a body, changed, and taken back, each by the last ETag (RFC 3903 §4.1)")
    func life() throws {
        let publisher = try Publisher()
        let first = try #require(publisher.requests.last)
        #expect(first.event == .presence && first.sipIfMatch == nil && !first.body.isEmpty && first.expires == 3600)
        #expect(first.requestURI.sip?.user == "1001" && first.from.uri == first.to.uri)
        try publisher.answer(200, etag: "a1", expires: 120)
        #expect(publisher.statuses == ["publishing", "published"])
        publisher.scene.network.run(.seconds(61))
        let refresh = try #require(publisher.requests.last)
        #expect(publisher.requests.count == 2 && refresh.sipIfMatch == "a1" && refresh.body.isEmpty)
        #expect(refresh.callID == first.callID && refresh.cseq.number == first.cseq.number + 1)
        try publisher.answer(200, etag: "a2", expires: 120)
        try publisher.scene.phone.agent.publish(publisher.id, body: Array("<busy/>".utf8), now: publisher.scene.network.now)
        publisher.scene.phone.drain()
        publisher.scene.network.run(.milliseconds(30))
        let change = try #require(publisher.requests.last)
        #expect(change.sipIfMatch == "a2" && String(decoding: change.body, as: UTF8.self) == "<busy/>")
        try publisher.answer(200, etag: "a3", expires: 120)
        publisher.scene.on { $0.unpublish(publisher.id, now: $1) }
        publisher.scene.network.run(.milliseconds(30))
        let removal = try #require(publisher.requests.last)
        #expect(removal.sipIfMatch == "a3" && removal.expires == 0 && removal.body.isEmpty)
        try publisher.answer(200, etag: "a4", expires: 0)
        #expect(publisher.causes == ["publication.ended"])
        publisher.scene.network.run(.seconds(70))
        #expect(publisher.scene.phone.agent.leftovers.isEmpty)
    }

    @Test("412: the server forgot the state, so it gets it whole again")
    func forgotten() throws {
        let publisher = try Publisher()
        try publisher.answer(200, etag: "a1", expires: 120)
        publisher.scene.network.run(.seconds(61))
        try publisher.answer(412)
        let again = try #require(publisher.requests.last)
        #expect(publisher.requests.count == 3 && again.sipIfMatch == nil && !again.body.isEmpty)
        try publisher.answer(200, etag: "b1", expires: 3600)
        #expect(publisher.causes.isEmpty && publisher.scene.phone.agent.counters[.publicationOutdated] == 1)
    }

    @Test("423 is answered with the time that it names; a lost server is tried again; a refusal is the end")
    func failures() throws {
        let short = try Publisher()
        try short.answer(423, headers: [(.minExpires, "7200")])
        #expect(short.requests.last?.expires == 7200 && short.requests.last?.body.isEmpty == false)
        let lost = try Publisher()
        try lost.answer(503, headers: [(.retryAfter, "10")])
        #expect(lost.causes == ["publication.server-failure"])
        lost.scene.network.run(.seconds(11))
        #expect(lost.requests.count == 2 && lost.requests.last?.body.isEmpty == false)
        let refused = try Publisher()
        try refused.answer(489)
        refused.scene.network.run(.seconds(300))
        #expect(refused.causes == ["publication.refused.event"] && refused.requests.count == 1)
        #expect(throws: AgentError.self) { try refused.scene.phone.agent.publish(refused.id, body: [], now: .zero) }
    }

    @Test("a change while the PUBLISH is under way follows it")
    func changeInBetween() throws {
        let publisher = try Publisher()
        try publisher.scene.phone.agent.publish(publisher.id, body: Array("<later/>".utf8), now: publisher.scene.network.now)
        #expect(publisher.requests.count == 1)
        try publisher.answer(200, etag: "a1", expires: 120)
        #expect(publisher.requests.count == 2 && publisher.requests.last?.sipIfMatch == "a1")
    }
}

@Suite struct SubscriberTests {
    private func scene(allowed: Bool = true) -> Scene {
        let scene = Scene()
        var configuration = AccountConfiguration(
            addressOfRecord: SIPURI(user: "1001", host: .address(scene.peer.address.ip)), registers: false, directCalls: .accept)
        configuration.allowsDialogSubscriptions = allowed
        scene.on { $0.addAccount(configuration, now: $1) }
        return scene
    }

    private func subscribe(
        _ scene: Scene, event: String = "dialog", expires: Int = 600, toTag: String? = nil, sequence: UInt32 = 1
    ) -> SIPMessage? {
        scene.peer.send(
            "SUBSCRIBE", scene.phoneURI, to: scene.phone, toTag: toTag, sequence: sequence,
            headers: ["Event: \(event)", "Expires: \(expires)", "Contact: <\(scene.peer.contact)>"])
        scene.network.run(.milliseconds(30))
        return scene.peer.responses(.subscribe).last
    }

    @Test("who may sees the line: 200, NOTIFY; a refresh too; Expires 0 brings the last one")
    func life() throws {
        let scene = scene()
        scene.phone.onEvent = { [unowned phone = scene.phone, network = scene.network] event in
            if case .event(.stateWanted(let id, _)) = event {
                phone.agent.notify(id, body: Array("<lines/>".utf8), type: "application/dialog-info+xml", now: network.now)
            }
        }
        let answer = try #require(subscribe(scene))
        #expect(answer.statusCode == 200 && answer.expires == 600 && answer.contacts.count == 1)
        let notify = try #require(scene.peer.requests(.notify).last)
        #expect(notify.subscriptionState?.state == .active && notify.event == .dialog && notify.from.tag == answer.to.tag)
        #expect(notify.contacts.count == 1 && !notify.body.isEmpty)
        scene.peer.respond(200, to: notify)
        scene.network.run(.milliseconds(30))
        #expect(subscribe(scene, expires: 0, toTag: answer.to.tag, sequence: 2)?.statusCode == 200)
        let last = try #require(scene.peer.requests(.notify).last)
        #expect(last.subscriptionState?.state == .terminated && last.cseq.number == notify.cseq.number + 1)
        scene.peer.respond(200, to: last)
        scene.network.run(.seconds(70))
        #expect(scene.phone.agent.leftovers.isEmpty, "\(scene.phone.agent.leftovers)")
        #expect(subscribe(scene, toTag: answer.to.tag, sequence: 3)?.statusCode == 481)
    }

    @Test("who may not gets 403, another package 489, a short time 423, an unknown dialog 481")
    func refused() throws {
        #expect(subscribe(scene(allowed: false))?.statusCode == 403)
        #expect(subscribe(scene(), event: "presence")?.statusCode == 489)
        let short = try #require(subscribe(scene(), expires: 5))
        #expect(short.statusCode == 423 && short.minExpires == 60)
        #expect(subscribe(scene(), toTag: "gone")?.statusCode == 481)
    }

    @Test("a subscriber that does not answer, or does not know us, is forgotten")
    func vanished() throws {
        let scene = scene()
        scene.phone.onEvent = { [unowned phone = scene.phone, network = scene.network] event in
            if case .event(.stateWanted(let id, _)) = event {
                phone.agent.notify(id, body: Array("<lines/>".utf8), type: "application/dialog-info+xml", now: network.now)
            }
        }
        _ = subscribe(scene)
        scene.network.run(.seconds(33))
        #expect(scene.phone.agent.counters[.subscriberLost] == 1)
        #expect(scene.phone.news.contains { if case .subscriberEnded = $0 { true } else { false } })
    }
}
