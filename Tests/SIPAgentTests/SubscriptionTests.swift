// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP
import SIPAgent
import Testing

@Suite struct SubscriptionTests {
    @Test("SUBSCRIBE has what RFC 6665 asks for, and the NOTIFY makes the dialog of the refresh")
    func life() throws {
        let watcher = Watcher()
        let (_, request) = try watcher.subscribe()
        #expect(request.event == .presence && request.expires == 3600 && request.first(.accept) == "application/pidf+xml")
        #expect(request.contacts.first?.uri.sip?.host == .address(watcher.scene.phone.address.ip) && request.to.tag == nil)
        watcher.accept(request, expires: 600)
        #expect(watcher.statuses == ["subscribing"], "a 200 alone is no subscription")
        #expect(watcher.notify(request, "pending;expires=600") == 200)
        #expect(watcher.notify(request, "active;expires=600", body: "<x/>") == 200)
        #expect(watcher.statuses == ["subscribing", "pending", "active"] && watcher.notified.count == 2)
        watcher.run(.seconds(545))
        let refresh = try #require(watcher.subscribes.last)
        #expect(watcher.subscribes.count == 2 && refresh.to.tag == "peer" && refresh.callID == request.callID)
        #expect(refresh.cseq.number == request.cseq.number + 1 && refresh.requestURI.sip?.user == "peer")
        #expect(refresh.event == .presence && refresh.contacts.count == 1)
        watcher.accept(refresh, expires: 600)
        watcher.notify(request, "active;expires=600")
        watcher.run(.seconds(300))
        #expect(watcher.subscribes.count == 2 && watcher.causes.isEmpty)
    }

    @Test("a NOTIFY before the 200 is taken, and both orders lead to the same")
    func notifyFirst() throws {
        let watcher = Watcher()
        let (_, request) = try watcher.subscribe()
        #expect(watcher.notify(request, "active;expires=60", body: "<x/>") == 200)
        watcher.accept(request)
        #expect(watcher.statuses == ["subscribing", "active"])
        watcher.run(.seconds(40))
        #expect(watcher.subscribes.count == 2, "the time of the NOTIFY counts, not that of the 200")
    }

    @Test("unsubscribing sends Expires 0 and waits for the last NOTIFY")
    func ending() throws {
        let watcher = Watcher()
        let (id, request) = try watcher.active()
        watcher.scene.on { $0.unsubscribe(id, now: $1) }
        watcher.run(.milliseconds(30))
        let last = try #require(watcher.subscribes.last)
        #expect(last.expires == 0 && last.to.tag == "peer")
        watcher.accept(last, expires: 0)
        #expect(watcher.statuses.last == "active")
        #expect(watcher.notify(request, "terminated;reason=timeout", body: "<last/>") == 200)
        #expect(watcher.causes == ["subscription.ended"] && watcher.notified.count == 2)
        #expect(watcher.notify(request, "active") == 481)
        watcher.run(.seconds(70))
        #expect(watcher.scene.phone.agent.leftovers.isEmpty, "\(watcher.scene.phone.agent.leftovers)")
    }

    @Test("a last NOTIFY that never comes does not keep the subscription for ever")
    func endingUnanswered() throws {
        let watcher = Watcher()
        let (id, _) = try watcher.active()
        watcher.scene.on { $0.unsubscribe(id, now: $1) }
        watcher.run(.milliseconds(30))
        watcher.accept(try #require(watcher.subscribes.last), expires: 0)
        watcher.run(.seconds(33))
        #expect(watcher.causes == ["subscription.ended"])
    }

    @Test("a fetch brings the state once")
    func fetch() throws {
        let watcher = Watcher()
        let (_, request) = try watcher.subscribe(expires: 0)
        #expect(request.expires == 0)
        watcher.accept(request, expires: 0)
        watcher.notify(request, "terminated;reason=timeout", body: "<x/>")
        #expect(watcher.notified.count == 1 && watcher.causes == ["subscription.fetched"])
        watcher.run(.seconds(70))
        #expect(watcher.subscribes.count == 1 && watcher.scene.phone.agent.leftovers.isEmpty)
    }

    @Test("423 is answered with the time that it names, once or twice")
    func interval() throws {
        let watcher = Watcher()
        let (_, request) = try watcher.subscribe(expires: 60)
        watcher.scene.peer.respond(423, to: request, headers: [(.minExpires, "1800")])
        watcher.run(.milliseconds(30))
        let again = try #require(watcher.subscribes.last)
        #expect(again.expires == 1800 && again.callID == request.callID && again.cseq.number == request.cseq.number + 1)
        watcher.scene.peer.respond(423, to: again, headers: [(.minExpires, "1800")])
        watcher.run(.seconds(200))
        #expect(watcher.causes == ["subscription.refused.interval"] && watcher.subscribes.count == 2)
    }

    @Test(
        "refusals that will not change end the subscription",
        arguments: [
            (403, "forbidden"), (404, "not-found"), (489, "event"), (405, "event"), (501, "event"), (603, "forbidden"), (604, "not-found"),
        ])
    func refused(status: Int, cause: String) throws {
        let watcher = Watcher()
        let (_, request) = try watcher.subscribe()
        watcher.scene.peer.respond(status, to: request)
        watcher.run(.seconds(300))
        #expect(watcher.causes == ["subscription.refused.\(cause)"] && watcher.subscribes.count == 1)
        #expect(watcher.scene.phone.agent.leftovers.isEmpty)
    }

    @Test("a server that cannot serve is asked again after its Retry-After, with a new Call-ID")
    func passing() throws {
        let watcher = Watcher()
        let (_, request) = try watcher.subscribe()
        watcher.scene.peer.respond(503, to: request, headers: [(.retryAfter, "30")])
        watcher.run(.seconds(29))
        #expect(watcher.subscribes.count == 1 && watcher.causes == ["subscription.server-failure"])
        watcher.run(.seconds(2))
        #expect(watcher.subscribes.count == 2 && watcher.subscribes.last?.callID != request.callID)
    }

    @Test("a wrong password is tried as often as a challenge allows, then no more")
    func wrongPassword() throws {
        let watcher = Watcher()
        watcher.scene.peer.onMessage = { [scene = watcher.scene] message in
            guard message.isRequest, message.method == .subscribe else { return }
            scene.peer.respond(
                401, to: message,
                headers: [(.wwwAuthenticate, "Digest realm=\"10.0.0.9\", nonce=\"\(message.cseq.number)\", algorithm=MD5")])
        }
        _ = try watcher.subscribe()
        watcher.run(.seconds(300))
        #expect(watcher.causes == ["subscription.refused.password"])
        #expect((2...3).contains(watcher.subscribes.count) && watcher.subscribes.last?.contains(.authorization) == true)
    }

    // MARK: Reasons

    @Test(
        "each reason of a terminated subscription has its own retry (RFC 6665 §4.1.3)",
        arguments: [
            ("deactivated", 1, "subscribing"), ("timeout", 1, "subscribing"), ("rejected", 0, "ended"), ("noresource", 0, "ended"),
            ("invariant", 0, "ended"),
        ])
    func reasonsAtOnce(reason: String, more: Int, last: String) throws {
        let watcher = Watcher()
        let (_, request) = try watcher.active()
        #expect(watcher.notify(request, "terminated;reason=\(reason)") == 200)
        #expect(watcher.subscribes.count == 1 + more && watcher.statuses.last == last)
        if more == 1 { #expect(watcher.subscribes.last?.to.tag == nil && watcher.subscribes.last?.callID != request.callID) }
        if more == 0 {
            watcher.run(.seconds(600))
            #expect(watcher.subscribes.count == 1 && watcher.scene.phone.agent.leftovers.isEmpty)
        }
    }

    @Test(
        "probation, giveup and a missing reason wait, at least for retry-after",
        arguments: ["terminated;reason=probation;retry-after=90", "terminated;reason=giveup;retry-after=90", "terminated;retry-after=90"])
    func reasonsLater(state: String) throws {
        let watcher = Watcher()
        let (_, request) = try watcher.active()
        watcher.notify(request, state)
        #expect(watcher.statuses.last == "retrying")
        watcher.run(.seconds(89))
        #expect(watcher.subscribes.count == 1)
        watcher.run(.seconds(2))
        #expect(watcher.subscribes.count == 2)
    }

    @Test("a notifier that deactivates again and again makes no storm")
    func storm() throws {
        let watcher = Watcher()
        watcher.scene.peer.onMessage = { [weak watcher] message in
            guard let watcher, message.isRequest, message.method == .subscribe else { return }
            watcher.scene.peer.respond(200, to: message, contact: watcher.scene.peer.contact, headers: [(.expires, "600")])
            watcher.scene.peer.send(
                "NOTIFY", watcher.scene.phoneURI, to: watcher.scene.phone, callID: message.callID, toTag: message.from.tag,
                headers: ["Event: presence", "Subscription-State: terminated;reason=deactivated"])
        }
        _ = try watcher.subscribe()
        watcher.run(.seconds(600))
        #expect((5...16).contains(watcher.subscribes.count), "\(watcher.subscribes.count)")
    }

    // MARK: What gets lost

    @Test("timer N: a subscription without a NOTIFY in 32 s is tried again")
    func timerN() throws {
        let watcher = Watcher()
        let (_, request) = try watcher.subscribe()
        watcher.accept(request)
        watcher.run(.seconds(31))
        #expect(watcher.causes.isEmpty)
        watcher.run(.seconds(5))
        #expect(watcher.causes == ["subscription.no-notification"] && watcher.subscribes.count == 2)
    }

    @Test("a refresh that meets 481 is followed by a new subscription at once")
    func lost() throws {
        let watcher = Watcher()
        let (_, request) = try watcher.active(expires: 120)
        watcher.run(.seconds(61))
        let refresh = try #require(watcher.subscribes.last)
        watcher.scene.peer.respond(481, to: refresh)
        watcher.run(.milliseconds(30))
        let anew = try #require(watcher.subscribes.last)
        #expect(watcher.subscribes.count == 3 && anew.to.tag == nil && anew.callID != request.callID)
        watcher.accept(anew, expires: 120)
        watcher.notify(anew, "active;expires=120")
        #expect(watcher.statuses.suffix(2) == ["subscribing", "active"])
        #expect(watcher.notify(request, "active") == 481, "the old dialog is gone")
    }

    @Test("a refresh that fails otherwise leaves the subscription until its time is over")
    func refreshFails() throws {
        let watcher = Watcher()
        let (_, request) = try watcher.active(expires: 120)
        watcher.run(.seconds(61))
        watcher.scene.peer.respond(500, to: try #require(watcher.subscribes.last))
        watcher.run(.milliseconds(30))
        #expect(watcher.notify(request, "active;expires=58") == 200, "still subscribed")
        watcher.run(.seconds(40))
        #expect(watcher.subscribes.count >= 3 && watcher.subscribes.last?.callID == request.callID, "the refresh is tried again")
    }

    @Test("a NOTIFY with a lower number is answered 500, one with another type 415, one of another package or id 481")
    func wrongNotify() throws {
        let watcher = Watcher()
        let (_, request) = try watcher.subscribe(EventType("presence", id: "7"))
        watcher.accept(request)
        #expect(watcher.notify(request, "active", event: "presence;id=7", sequence: 10) == 200)
        #expect(watcher.notify(request, "active", event: "presence;id=7", sequence: 9) == 500)
        #expect(watcher.notify(request, "active", event: "presence;id=8", sequence: 11) == 481)
        #expect(watcher.notify(request, "active", event: "presence", sequence: 12) == 481)
        #expect(watcher.notify(request, "active", event: "dialog;id=7", sequence: 13) == 481)
        #expect(watcher.notify(request, "active", event: "presence;id=7", body: "x", sequence: 14, type: "text/html") == 415)
        #expect(watcher.scene.peer.responses(.notify).last?.first(.accept) == "application/pidf+xml")
        #expect(watcher.notified.count == 1)
    }

    @Test("NOTIFYs of forked notifiers: one leg each where the package allows it, else 481; a limit holds")
    func forks() throws {
        let single = Watcher()
        let (_, first) = try single.active()
        #expect(single.notify(first, "active", tag: "other") == 481)
        let watcher = Watcher { $0.maximumSubscriptionForks = 2 }
        let (id, request) = try watcher.active(allowsForks: true)
        #expect(watcher.notify(request, "active;expires=3600", tag: "second") == 200)
        #expect(watcher.notify(request, "active;expires=3600", tag: "third") == 481)
        #expect(watcher.notified.map(\.leg) == [1, 2])
        watcher.notify(request, "terminated;reason=noresource", tag: "second")
        #expect(watcher.causes.isEmpty, "the other notifier goes on")
        watcher.scene.on { $0.unsubscribe(id, now: $1) }
        watcher.run(.milliseconds(30))
        #expect(watcher.subscribes.count == 2)
    }

    @Test("a NOTIFY without Subscription-State is taken as active, and counted")
    func stateless() throws {
        let watcher = Watcher()
        let (_, request) = try watcher.subscribe()
        watcher.accept(request, expires: 120)
        #expect(watcher.notify(request, nil) == 200)
        #expect(watcher.statuses == ["subscribing", "active"])
        #expect(watcher.scene.phone.agent.counters[.notificationWithoutState] == 1)
    }

    @Test("the number of subscriptions has a limit, and shutting down ends them all")
    func limits() throws {
        let watcher = Watcher { $0.maximumSubscriptions = 1 }
        let (_, request) = try watcher.active()
        #expect(throws: AgentError.self) { try watcher.subscribe() }
        #expect(watcher.scene.phone.agent.counters[.subscriptionLimit] == 1)
        watcher.scene.on { $0.shutDown(now: $1) }
        watcher.run(.milliseconds(30))
        watcher.accept(try #require(watcher.subscribes.last), expires: 0)
        watcher.notify(request, "terminated;reason=timeout")
        watcher.run(.milliseconds(100))
        #expect(watcher.scene.phone.hasStopped && watcher.scene.phone.agent.heldAfterStop.isEmpty)
    }

    @Test("in another network every notifier is told the fresh Contact at once, and what waited waits no longer")
    func anotherNetwork() throws {
        let watcher = Watcher()
        let (_, request) = try watcher.active()
        let state = NetworkState([LocalAddress(watcher.scene.phone.address.ip, prefixLength: 24)])
        watcher.scene.on { $0.networkChanged(state, now: $1) }
        watcher.run(.milliseconds(200))
        #expect(watcher.subscribes.count == 1)
        watcher.scene.on { $0.networkChanged(state, isForced: true, now: $1) }
        watcher.run(.milliseconds(200))
        let refresh = try #require(watcher.subscribes.last)
        #expect(watcher.subscribes.count == 2 && refresh.callID == request.callID && refresh.to.tag == "peer")
        #expect(refresh.contacts.count == 1 && refresh.expires == 3600)
        watcher.accept(refresh)
        watcher.notify(request, "terminated;reason=probation;retry-after=600")
        watcher.scene.on { $0.networkChanged(state, isForced: true, now: $1) }
        watcher.run(.milliseconds(200))
        #expect(watcher.subscribes.count == 3 && watcher.subscribes.last?.to.tag == nil)
    }

    // MARK: Without a subscription

    private func unasked(_ watcher: Watcher, event: String = "message-summary", toTag: String? = nil) -> SIPMessage? {
        watcher.scene.peer.send(
            "NOTIFY", watcher.scene.phoneURI, to: watcher.scene.phone, callID: "unasked-\(watcher.scene.peer.received.count)", toTag: toTag,
            headers: ["Event: \(event)", "Subscription-State: terminated"], type: "application/simple-message-summary",
            body: "Messages-Waiting: yes\r\n")
        watcher.run(.milliseconds(30))
        return watcher.scene.peer.responses(.notify).last
    }

    @Test("B-069: a message summary that the registrar pushes is answered 200 and told; a stranger's is not")
    func unsolicited() throws {
        let watcher = Watcher()
        #expect(unasked(watcher)?.statusCode == 481, "not from the account's server, as far as is known")
        _ = try watcher.active()
        #expect(unasked(watcher)?.statusCode == 200)
        #expect(unasked(watcher, toTag: "old")?.statusCode == 200, "some push within dialogs that they invent")
        let told = watcher.news.compactMap { if case .unsolicited(_, let message) = $0 { message } else { nil } }
        #expect(told.count == 2 && told.first?.body.isEmpty == false)
        #expect(unasked(watcher, event: "dialog")?.statusCode == 481)
        let bad = try #require(unasked(watcher, event: "conference"))
        #expect(bad.statusCode == 489 && bad.first(.allowEvents)?.contains("message-summary") == true)
    }

    @Test("B-069: an account that wants no news of its mailbox answers 481")
    func unsolicitedOff() throws {
        let scene = Scene()
        var configuration = AccountConfiguration(
            addressOfRecord: SIPURI(user: "1001", host: .address(scene.peer.address.ip)), registers: true, directCalls: .accept)
        configuration.messageWaiting = .off
        scene.on { $0.addAccount(configuration, now: $1) }
        scene.peer.send(
            "NOTIFY", scene.phoneURI, to: scene.phone, headers: ["Event: message-summary", "Subscription-State: active"],
            type: "application/simple-message-summary", body: "Messages-Waiting: yes\r\n")
        scene.network.run(.milliseconds(30))
        #expect(scene.peer.responses(.notify).last?.statusCode == 481)
    }

    @Test("the typed fields of RFC 6665 are read as they come and written as they are read")
    func fields() throws {
        let state = try SubscriptionState(parsing: "Terminated ; reason=Probation;retry-after=99999999999")
        #expect(state.state == .terminated && state.reason == .probation && state.retryAfter == .max)
        #expect(try SubscriptionState(parsing: state.description) == state)
        #expect(try SubscriptionState(parsing: "active;expires=x").expires == nil)
        let event = try EventType(parsing: "presence.winfo;id=a1;x=y")
        #expect(event.package == "presence.winfo" && event.id == "a1" && event.parameters["x"] == "y")
        #expect(try EventType(parsing: event.description) == event)
        #expect(throws: SIPError.self) { try EventType(parsing: ";id=1") }
    }
}
