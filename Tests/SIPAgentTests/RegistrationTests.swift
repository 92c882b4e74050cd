// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP
import SIPAgent
import Testing

@Suite struct RegistrationTests {
    /// The peer answers each REGISTER: 401 without credentials, else 200 with `contacts` (ours if nil).
    static func serve(_ scene: Scene, expires: Int = 600, contacts: ((SIPMessage) -> [String])? = nil) {
        scene.peer.onMessage = { [weak scene] message in
            guard let scene, message.isRequest, message.method == .register else { return }
            guard message.first(.authorization) != nil else {
                challenge(scene, message)
                return
            }
            let list =
                contacts?(message)
                ?? message.contacts.map { contact in
                    contact.parameters.value("expires") == "0" ? "" : "<\(contact.uri)>;expires=\(expires)"
                }
            scene.peer.respond(200, to: message, headers: list.filter { !$0.isEmpty }.map { (.contact, $0) })
        }
    }

    static func challenge(_ scene: Scene, _ message: SIPMessage, nonce: String = "n1", extra: String = "", status: Int = 401) {
        let value = "Digest realm=\"test\", nonce=\"\(nonce)\", qop=\"auth\", algorithm=MD5\(extra)"
        scene.peer.respond(status, to: message, headers: [(status == 401 ? .wwwAuthenticate : .proxyAuthenticate, value)])
    }

    static func isRegistered(_ scene: Scene) -> Bool {
        if case .registered = scene.phone.states.last { return true }
        return false
    }

    @Test func registeringAnswersTheChallengeOfTheServer() throws {
        let scene = Scene()
        Self.serve(scene)
        scene.addAccount()
        scene.network.run(.seconds(1))
        let requests = scene.peer.requests(.register)
        try #require(requests.count == 2)
        #expect(requests[0].cseq.number + 1 == requests[1].cseq.number)
        #expect(requests[0].callID == requests[1].callID)
        #expect(requests[0].from.tag == requests[1].from.tag)
        #expect(requests[1].to.tag == nil)
        #expect(requests[0].topVia.branch != requests[1].topVia.branch)
        #expect(requests[0].requestURI.sip?.user == nil)
        #expect(scene.phone.states.first == .registering)
        guard case .registered(_, let expires, let status, _) = scene.phone.states.last else {
            Issue.record("not registered: \(scene.phone.states)")
            return
        }
        #expect(expires == 600 && status == 200)
    }

    @Test("B-025: the registration is refreshed before the granted time ends, however short")
    func refreshBeforeTheGrantedTime() {
        let scene = Scene()
        Self.serve(scene, expires: 60)
        scene.addAccount(expires: 120)
        scene.network.run(.seconds(1))
        let before = scene.peer.requests(.register).count
        scene.network.run(.seconds(58))
        let refreshes = scene.peer.requests(.register).count - before
        #expect(refreshes >= 1 && refreshes <= 2)
        scene.network.run(.seconds(600))
        #expect(Self.isRegistered(scene))
        #expect(!scene.phone.states.dropFirst().contains(.registering), "a refresh is not shown as a new registration")
    }

    @Test(
        "our binding is found by user, host and port",
        arguments: [
            ("B-002", ["<sip:1001@10.0.0.1:5060;thinfo=\"..=\">;expires=120"]),
            ("B-003", ["<tel:+15551234>;expires=900", "<sip:1001@10.0.0.1:5060>;expires=120"]),
            ("3665-2.2-F2", ["<mailto:a@example.com>", "<sip:1001@10.0.0.77:5060>;expires=33", "<sip:1001@10.0.0.1>;expires=120"]),
            ("B-001", ["sip:1001@10.0.0.1:5060;expires=120;+sip.instance=\"<urn:gsma:imei:1>\""]),
        ])
    func bindingAmongOthers(row: String, contacts: [String]) {
        let scene = Scene()
        Self.serve(scene) { _ in contacts }
        scene.addAccount(expires: 777)
        scene.network.run(.seconds(1))
        guard case .registered(_, let expires, _, _) = scene.phone.states.last else {
            Issue.record("\(row): not registered")
            return
        }
        #expect(expires == 120, "\(row)")
    }

    @Test("B-024: 423 with Min-Expires is answered with at least that time")
    func intervalTooBrief() {
        let scene = Scene()
        scene.peer.onMessage = { [weak scene] message in
            guard let scene, message.method == .register, message.isRequest else { return }
            if (message.expires ?? 0) < 120 {
                scene.peer.respond(423, to: message, headers: [(.minExpires, "120")])
            } else {
                scene.peer.respond(200, to: message, headers: [(.contact, "<\(message.contacts[0].uri)>;expires=120")])
            }
        }
        scene.addAccount(expires: 60)
        scene.network.run(.seconds(1))
        #expect(scene.peer.requests(.register).map { $0.expires ?? 0 } == [60, 120])
        #expect(Self.isRegistered(scene))
    }

    @Test func aRegistrarThatNeverAcceptsAnIntervalIsNotAskedForEver() {
        let scene = Scene()
        var minimum = 100
        scene.peer.onMessage = { [weak scene] message in
            guard let scene, message.method == .register, message.isRequest else { return }
            minimum *= 2
            scene.peer.respond(423, to: message, headers: [(.minExpires, "\(minimum)")])
        }
        scene.addAccount(expires: 60)
        scene.network.run(.seconds(600))
        #expect(scene.peer.requests(.register).count <= 4)
        guard case .refused(let cause) = scene.phone.states.last else {
            Issue.record("not refused")
            return
        }
        #expect(cause.code == "registration.refused.interval")
    }

    @Test(
        "a server that asks to be tried again at once, or grants nothing, is not hammered",
        arguments: [(503, HeaderName.retryAfter, "0"), (503, .retryAfter, "1"), (200, .expires, "0")])
    func impatientServer(status: Int, header: HeaderName, value: String) {
        let scene = Scene()
        scene.peer.onMessage = { [weak scene] message in
            guard let scene, message.method == .register, message.isRequest else { return }
            scene.peer.respond(status, to: message, headers: [(header, value)])
        }
        scene.addAccount()
        scene.network.run(.seconds(600))
        // Waits of 1–2, 2–4, 4–8 … s up to 60–120 s.
        #expect((8...20).contains(scene.peer.requests(.register).count))
    }

    @Test("B-023: after 503 with Retry-After the registration is tried again at that time")
    func retryAfter() {
        let scene = Scene()
        var first = true
        scene.peer.onMessage = { [weak scene] message in
            guard let scene, message.method == .register, message.isRequest else { return }
            if first {
                scene.peer.respond(503, to: message, headers: [(.retryAfter, "300 (maintenance);duration=60")])
            } else {
                scene.peer.respond(200, to: message, headers: [(.contact, "<\(message.contacts[0].uri)>;expires=600")])
            }
            first = false
        }
        scene.addAccount()
        scene.network.run(.seconds(299))
        #expect(scene.peer.requests(.register).count == 1)
        guard case .failed(let cause, let delay) = scene.phone.states.last else {
            Issue.record("not failed")
            return
        }
        #expect(cause.code == "registration.server-failure" && delay == .seconds(300))
        scene.network.run(.seconds(2))
        #expect(scene.peer.requests(.register).count == 2)
        #expect(Self.isRegistered(scene))
    }

    @Test("3665-2.5-F4: a wrong password is refused and never tried again by itself", arguments: ["", ", stale=FALSE"])
    func wrongPassword(extra: String) {
        let scene = Scene()
        var count = 0
        scene.peer.onMessage = { [weak scene] message in
            guard let scene, message.method == .register, message.isRequest else { return }
            count += 1
            Self.challenge(scene, message, nonce: "n\(count)", extra: extra)
        }
        scene.addAccount()
        scene.network.run(.seconds(3600))
        guard case .refused(let cause) = scene.phone.states.last else {
            Issue.record("not refused: \(scene.phone.states)")
            return
        }
        #expect(cause.code == "registration.refused.password" && cause.status == 401)
        #expect(count <= 3)
        #expect(scene.phone.agent.timerCount == 0)
        scene.on { $0.register(AccountID(rawValue: 1), now: $1) }
        scene.network.run(.seconds(1))
        #expect(count > 3 || scene.phone.states.filter { $0 == .registering }.count == 2, "the user may try again")
    }

    @Test(
        "a final refusal says why and is not tried again",
        arguments: [
            (403, "registration.refused.forbidden"), (404, "registration.refused.not-found"), (400, "registration.refused"),
            (603, "registration.refused"), (302, "registration.refused"),
        ])
    func finalRefusals(status: Int, code: String) {
        let scene = Scene()
        scene.peer.onMessage = { [weak scene] in scene?.peer.respond(status, to: $0) }
        scene.addAccount()
        scene.network.run(.seconds(1000))
        guard case .refused(let cause) = scene.phone.states.last else {
            Issue.record("not refused")
            return
        }
        #expect(cause.code == code && cause.status == status)
        #expect(scene.peer.requests(.register).count == 1)
    }

    @Test func aLostServerIsTriedAgainWithGrowingWaitsAndTheRegistrationComesBack() {
        let scene = Scene()
        var isUp = false
        scene.network.loses = { packet in packet.to == scene.peer.address && !isUp }
        Self.serve(scene)
        scene.addAccount()
        scene.network.run(.seconds(600))
        let waits: [Interval] = scene.phone.states.compactMap {
            if case .failed(let cause, let after) = $0, cause.code == "registration.no-response" { after } else { nil }
        }
        #expect(waits.count >= 5)
        for (index, wait) in waits.enumerated() {
            let longest = min(2.0 * Double(1 << index), 120)
            #expect(wait.seconds <= longest && wait.seconds >= longest / 2 - 0.001, "wait \(index): \(wait.seconds)")
        }
        isUp = true
        scene.network.run(.seconds(200))
        #expect(Self.isRegistered(scene))
    }

    @Test func withoutRetryPolicyALostServerIsReportedOnce() {
        let scene = Scene()
        scene.network.loses = { _ in true }
        scene.addAccount(retry: .none)
        scene.network.run(.seconds(1000))
        #expect(scene.phone.states.count == 2)
        guard case .failed(_, nil) = scene.phone.states.last else {
            Issue.record("not failed")
            return
        }
        #expect(scene.phone.agent.timerCount == 0)
    }

    @Test("B-026: a contact address that the registrar shows differently each time is rewritten once, not in a loop")
    func contactRewriting() {
        let scene = Scene()
        var port = 40_000
        scene.peer.onMessage = { [weak scene] message in
            guard let scene, message.method == .register, message.isRequest else { return }
            port += 1
            var via = message.topVia
            via.parameters.set("received", "203.0.113.5")
            via.parameters.set("rport", "\(port)")
            var response = message.makeResponse(status: 200, toTag: "t")
            response.removeFirst(.via)
            response.prepend(.via, via.description)
            for contact in message.contacts where contact.parameters.value("expires") != "0" {
                response.add(.contact, "<\(contact.uri)>;expires=600")
            }
            scene.network.send(
                Packet(from: scene.peer.address, to: scene.phone.address, transport: .udp, bytes: response.build().bytes))
        }
        scene.addAccount()
        scene.network.run(.seconds(60))
        let requests = scene.peer.requests(.register)
        #expect(requests.count == 2)
        #expect(requests.last?.contacts.first?.uri.sip?.host.description == "203.0.113.5")
        #expect(requests.last?.contacts.count == 2, "the outdated binding is taken back in the same request")
        #expect(requests.last?.contacts.last?.parameters.value("expires") == "0")
        scene.network.run(.seconds(3000))
        #expect(scene.peer.requests(.register).count <= 2 + 6, "one refresh at a time")
    }

    @Test func unregisteringRemovesTheBindingAndEndsUnregistered() throws {
        let scene = Scene()
        Self.serve(scene)
        let id = scene.addAccount()
        scene.network.run(.seconds(1))
        scene.on { $0.unregister(id, now: $1) }
        scene.network.run(.seconds(1))
        let last = try #require(scene.peer.requests(.register).last)
        #expect(last.expires == 0 && last.contacts.first?.parameters.value("expires") == "0")
        #expect(scene.phone.states.last == .unregistered)
        #expect(scene.phone.agent.timerCount == 0)
        let count = scene.peer.requests(.register).count
        scene.network.run(.seconds(3000))
        #expect(scene.peer.requests(.register).count == count)
    }

    @Test func unregisteringWhileRegisteringIsDoneAfterIt() {
        let scene = Scene()
        Self.serve(scene)
        let id = scene.addAccount()
        scene.on { $0.unregister(id, now: $1) }
        scene.network.run(.seconds(2))
        #expect(scene.phone.states.last == .unregistered)
        #expect(scene.peer.requests(.register).last?.expires == 0)
    }

    @Test func theNextServerOfTheNameIsTriedWhenTheFirstIsSilent() {
        let scene = Scene()
        Self.serve(scene)
        scene.phone.zone = [
            "_sip._udp.example.net": [
                DNSRecord(.srv(priority: 1, weight: 0, port: 5060, target: "down.example.net"), timeToLive: 60),
                DNSRecord(.srv(priority: 2, weight: 0, port: 5060, target: "up.example.net"), timeToLive: 60),
            ],
            "down.example.net": [DNSRecord(.address(ip(66)), timeToLive: 60)],
            "up.example.net": [DNSRecord(.address(ip(9)), timeToLive: 60)],
        ]
        scene.on {
            _ = $0.addAccount(
                AccountConfiguration(
                    addressOfRecord: SIPURI(user: "1001", host: .name("example.net")),
                    credentials: [Credential(username: "1001", password: .init("x"))]), now: $1)
        }
        scene.network.run(.seconds(60))
        #expect(Self.isRegistered(scene), "B-022: \(scene.phone.states)")
        #expect(scene.phone.sent(.register).first?.requestURI.description == "sip:example.net")
    }

    @Test("a registration whose TCP connection breaks is made again soon, over a new connection")
    func connectionLost() {
        let scene = Scene()
        scene.peer.transport = .tcp
        Self.serve(scene)
        scene.addAccount(transport: .tcp)
        scene.network.run(.seconds(1))
        #expect(Self.isRegistered(scene) && scene.peer.connections == 1)
        let before = scene.peer.requests(.register).count
        scene.phone.disconnected(from: scene.peer.address, .reset, now: scene.network.now)
        scene.network.run(.seconds(5))
        #expect(scene.peer.connections == 2)
        #expect(scene.peer.requests(.register).count > before)
        #expect(Self.isRegistered(scene))
        #expect(scene.peer.requests(.register).last?.contacts.first?.uri.sip?.transport == .tcp)
    }

    @Test func aNameWithoutAddressIsAFailureThatIsTriedAgain() {
        let scene = Scene()
        scene.on {
            _ = $0.addAccount(
                AccountConfiguration(addressOfRecord: SIPURI(user: "1001", host: .name("nowhere.example"))), now: $1)
        }
        scene.network.run(.seconds(10))
        guard case .failed(let cause, let after) = scene.phone.states.dropFirst().first else {
            Issue.record("no failure: \(scene.phone.states)")
            return
        }
        #expect(cause.code == "registration.not-located.no-records" && after != nil)
    }
}
