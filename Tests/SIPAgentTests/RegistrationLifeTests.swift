// SPDX-License-Identifier: Apache-2.0
//
// Registration for life: Service-Route, GRUU, push, sleep and wake, limits, and why it failed.

import Crypto
import Essentials
import SIP
import SIPAgent
import Testing

@Suite struct RegistrationLifeTests {
    static let instance = "urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6"

    /// The peer answers each REGISTER with 200, our Contact with `parameters` and more header fields.
    static func serve(
        _ scene: Scene, expires: Int = 600, parameters: String = "", headers: [(HeaderName, String)] = []
    ) {
        scene.peer.onMessage = { [weak scene] message in
            guard let scene, message.isRequest, message.method == .register else { return }
            let contact = "<\(message.contacts[0].uri)>\(parameters);expires=\(expires)"
            scene.peer.respond(200, to: message, headers: [(.contact, contact)] + headers)
        }
    }

    static func detail(_ scene: Scene) throws -> RegistrationDetail {
        try required(scene.phone.agent.registrationDetail(of: AccountID(rawValue: 1)))
    }

    /// An account at the peer with more settings.
    static func add(_ scene: Scene, expires: Int = 600, _ configure: (inout AccountConfiguration) -> Void) {
        var home = SIPURI(user: "1001", host: .address(scene.peer.address.ip))
        home.port = scene.peer.address.port
        var configuration = AccountConfiguration(
            addressOfRecord: home, credentials: [Credential(username: "1001", password: .init("secret"))], expires: expires)
        configure(&configuration)
        scene.on { $0.addAccount(configuration, now: $1) }
        scene.network.run(.seconds(1))
    }

    // MARK: Path and Service-Route

    @Test func `REGISTER says that a Path is understood`() throws {
        let scene = Scene()
        Self.serve(scene)
        scene.addAccount()
        scene.network.run(.seconds(1))
        #expect(try required(scene.peer.requests(.register).first).supported.contains("path"))
    }

    @Test func `calls go by the Service-Route of the registrar, REGISTER does not`() throws {
        let scene = Scene()
        let routes = "<sip:\(scene.peer.address);lr>, <sip:orig@core.example.net;lr>"
        Self.serve(scene, headers: [(.serviceRoute, routes)])
        let account = scene.addAccount()
        scene.network.run(.seconds(1))
        #expect(try Self.detail(scene).serviceRoute.count == 2)
        let (_, invite) = try scene.outgoing(account: account, to: URI("sip:bob@elsewhere.example.org"))
        #expect(invite.requestURI == (try URI("sip:bob@elsewhere.example.org")))
        #expect(invite.routes.map { "\($0.uri)" } == ["sip:10.0.0.9:5060;lr", "sip:orig@core.example.net;lr"])
        scene.on { $0.register(account, now: $1) }
        scene.network.run(.seconds(1))
        #expect(try required(scene.peer.requests(.register).last).routes.isEmpty)
    }

    @Test func `a configured proxy stands before the Service-Route, and once`() throws {
        for (route, expected) in [
            ("<sip:core.example.net;lr>", ["sip:10.0.0.9:5060;lr", "sip:core.example.net;lr"]),
            ("<sip:10.0.0.9:5060;lr>, <sip:core.example.net;lr>", ["sip:10.0.0.9:5060;lr", "sip:core.example.net;lr"]),
        ] {
            let scene = Scene()
            Self.serve(scene, headers: [(.serviceRoute, route)])
            let account = scene.addAccount(proxy: SIPURI(host: .address(scene.peer.address.ip), port: 5060))
            scene.network.run(.seconds(1))
            let (_, invite) = try scene.outgoing(account: account)
            #expect(invite.routes.map { "\($0.uri)" } == expected)
        }
    }

    @Test(
        "a Service-Route that cannot be followed is left aside and counted",
        arguments: ["<sip:10.0.0.9:5060>", "<tel:+15550100>", Array(repeating: "<sip:10.0.0.9;lr>", count: 9).joined(separator: ", ")])
    func unusableServiceRoute(route: String) throws {
        let scene = Scene()
        Self.serve(scene, headers: [(.serviceRoute, route)])
        let account = scene.addAccount()
        scene.network.run(.seconds(1))
        let (_, invite) = try scene.outgoing(account: account)
        #expect(invite.routes.isEmpty)
        #expect(scene.phone.agent.counters[.serviceRouteIgnored] == 1)
    }

    // MARK: GRUU

    static let gruus =
        ";pub-gruu=\"sip:1001@10.0.0.9:5060;gr=urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6\""
        + ";temp-gruu=\"sip:tgruu.7hs==jd7vnzga5w7fajsc7-ajd6fabz0f8g5@10.0.0.9:5060;gr\""

    @Test(
        "a GRUU is asked for with the instance, and stands in the Contact of calls both ways",
        arguments: [
            (GRUUUse.public, "sip:1001@10.0.0.9:5060;gr=urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6"),
            (.temporary, "sip:tgruu.7hs==jd7vnzga5w7fajsc7-ajd6fabz0f8g5@10.0.0.9:5060;gr"),
        ])
    func gruu(use: GRUUUse, contact: String) throws {
        let scene = Scene()
        Self.serve(scene, parameters: Self.gruus)
        Self.add(scene) {
            $0.instance = Self.instance
            $0.gruu = use
        }
        let register = try required(scene.peer.requests(.register).first)
        #expect(register.supported.contains("gruu"))
        #expect(register.contacts.first?.instance == Self.instance)
        #expect(try Self.detail(scene).publicGRUU?.globallyRoutableInstance == Self.instance)
        #expect(try Self.detail(scene).temporaryGRUU?.globallyRoutableInstance == "")
        let (_, invite) = try scene.outgoing(account: AccountID(rawValue: 1))
        #expect(invite.contacts.first.map { "\($0.uri)" } == contact)
        #expect(invite.supported.contains("gruu"))
        let id = try scene.incoming()
        scene.on { $0.accept(id, answer: sdpBytes, now: $1) }
        scene.network.run(.milliseconds(50))
        let answer = try required(scene.peer.responses(.invite).last)
        #expect(answer.statusCode == 200 && answer.contacts.first.map { "\($0.uri)" } == contact)
        // The registration itself stays with the address.
        scene.on { $0.register(AccountID(rawValue: 1), now: $1) }
        scene.network.run(.seconds(1))
        #expect(scene.peer.requests(.register).last?.contacts.first?.uri.sip?.host == .address(scene.phone.address.ip))
    }

    @Test func `a registrar without GRUU is counted, and calls keep the address in their Contact`() throws {
        let scene = Scene()
        Self.serve(scene)
        Self.add(scene) {
            $0.instance = Self.instance
            $0.gruu = .public
        }
        let (_, invite) = try scene.outgoing(account: AccountID(rawValue: 1))
        #expect(invite.contacts.first?.uri.sip?.host == .address(scene.phone.address.ip))
        #expect(!invite.supported.contains("gruu"))
        #expect(scene.phone.agent.counters[.gruuMissing] == 1)
    }

    // MARK: Push

    static let push = PushParameters(provider: "apns", prid: Secret("00fc13adff78512"), parameter: "ABCD1234.org.example.phone.voip")

    @Test func `push parameters stand in the Contact URI of REGISTER only`() throws {
        let scene = Scene()
        Self.serve(scene, headers: [(.featureCaps, "*;+sip.pns=\"apns\"")])
        Self.add(scene) { $0.push = Self.push }
        let contact = try required(scene.peer.requests(.register).first?.contacts.first?.uri.sip)
        #expect(contact.parameters["pn-provider"] == "apns")
        #expect(contact.parameters["pn-prid"] == "00fc13adff78512")
        #expect(contact.parameters["pn-param"] == "ABCD1234.org.example.phone.voip")
        #expect(try Self.detail(scene).hasPush)
        let (_, invite) = try scene.outgoing(account: AccountID(rawValue: 1))
        #expect(!"\(invite.contacts[0])".contains("pn-"))
        #expect(scene.phone.warnings.isEmpty)
        #expect(!"\(Self.push)".contains("00fc13adff78512"), "a token is a secret")
    }

    @Test func `a network that does not name our push service is told once`() throws {
        let scene = Scene()
        Self.serve(scene, expires: 60, headers: [(.featureCaps, "*;+sip.pns=\"fcm\"")])
        Self.add(scene) { $0.push = Self.push }
        scene.network.run(.seconds(200))
        #expect(scene.peer.requests(.register).count > 3)
        #expect(scene.phone.warnings.map(\.code) == ["registration.push-not-offered"])
        #expect(scene.phone.warnings[0].evidence.map(\.value) == ["fcm"])
        #expect(try !Self.detail(scene).hasPush)
    }

    @Test func `555 is told, and the phone registers without push`() throws {
        let scene = Scene()
        scene.peer.onMessage = { [weak scene] message in
            guard let scene, message.isRequest, message.method == .register else { return }
            let hasPush = message.contacts.first?.uri.sip?.parameters.contains("pn-prid") ?? false
            if hasPush {
                scene.peer.respond(555, to: message)
            } else {
                scene.peer.respond(200, to: message, headers: [(.contact, "<\(message.contacts[0].uri)>;expires=600")])
            }
        }
        Self.add(scene) { $0.push = Self.push }
        #expect(RegistrationTests.isRegistered(scene))
        #expect(scene.peer.requests(.register).count == 2)
        #expect(scene.phone.warnings.map(\.code) == ["registration.push-refused"])
        #expect(scene.phone.warnings[0].status == 555)
        #expect(scene.phone.agent.counters[.pushRefused] == 1)
        // The user may try again.
        scene.on { $0.register(AccountID(rawValue: 1), now: $1) }
        scene.network.run(.seconds(1))
        #expect(scene.peer.requests(.register).count == 4)
    }

    @Test func `the network says how long before its end a registration is to be refreshed`() throws {
        let scene = Scene()
        Self.serve(scene, expires: 600, headers: [(.featureCaps, "*;+sip.pns=\"apns\";+sip.pnsreg=\"130\"")])
        Self.add(scene) { $0.push = Self.push }
        #expect(try Self.detail(scene).pushRefresh == 130)
        scene.network.run(.seconds(465))
        #expect(scene.peer.requests(.register).count == 1)
        scene.network.run(.seconds(10))
        #expect(scene.peer.requests(.register).count == 2, "600 - 130 s")
    }

    @Test func `a push wakes the registration at once`() throws {
        let scene = Scene()
        Self.serve(scene)
        scene.addAccount()
        scene.network.run(.seconds(10))
        scene.on { $0.refreshRegistrations(.push, now: $1) }
        scene.network.run(.milliseconds(50))
        #expect(scene.peer.requests(.register).count == 2)
        #expect(try Self.detail(scene).trigger == .push)
        #expect(RegistrationTests.isRegistered(scene))
    }

    @Test func `a refresh cuts the wait after a failure short, and leaves alone what nobody wants`() throws {
        let scene = Scene()
        var isUp = false
        scene.network.loses = { packet in packet.to == scene.peer.address && !isUp }
        Self.serve(scene)
        let account = scene.addAccount()
        scene.network.run(.seconds(400))
        isUp = true
        scene.on { $0.refreshRegistrations(.network, now: $1) }
        scene.network.run(.milliseconds(50))
        #expect(RegistrationTests.isRegistered(scene))
        scene.on { $0.unregister(account, now: $1) }
        scene.network.run(.seconds(1))
        let count = scene.peer.requests(.register).count
        scene.on { $0.refreshRegistrations(.network, now: $1) }
        scene.network.run(.seconds(1))
        #expect(scene.peer.requests(.register).count == count)
    }

    // MARK: Sleep

    @Test func `a jump of the clock registers at once, and nothing that slept is blamed on the server`() throws {
        let scene = Scene()
        Self.serve(scene, expires: 60)
        let account = scene.addAccount()
        scene.network.run(.seconds(1))
        // A call is being placed when the machine falls asleep.
        scene.peer.onMessage = nil
        _ = try scene.outgoing(account: account)
        scene.network.sleep(.seconds(100))
        #expect(scene.phone.agent.counters[.clockJumps] == 1)
        #expect(scene.phone.ends.isEmpty, "the call has its time still")
        #expect(scene.phone.states.last == .registering, "the sleep was longer than the registration")
        Self.serve(scene)
        scene.network.run(.seconds(1))
        #expect(RegistrationTests.isRegistered(scene))
        #expect(try Self.detail(scene).trigger == .woke)
        scene.network.run(.seconds(33))
        #expect(scene.phone.ends.map(\.cause.code) == ["call.no-response"], "32 s of being awake are over now")
    }

    @Test func `a connection that slept is opened anew`() throws {
        let scene = Scene()
        scene.peer.transport = .tcp
        Self.serve(scene, expires: 600)
        scene.addAccount(transport: .tcp)
        scene.network.run(.seconds(1))
        #expect(scene.peer.connections == 1)
        scene.network.sleep(.seconds(700))
        scene.network.run(.seconds(1))
        #expect(scene.peer.connections == 2 && scene.peer.disconnections == 1)
        #expect(RegistrationTests.isRegistered(scene))
        #expect(scene.phone.states.filter { if case .failed = $0 { true } else { false } }.isEmpty)
    }

    // MARK: Limits and reasons

    @Test func `registering has a limit, whatever the server's addresses do`() throws {
        let scene = Scene { $0.registrationLimit = .seconds(20) }
        scene.network.loses = { _ in true }
        scene.addAccount(retry: .none)
        scene.network.run(.seconds(19))
        #expect(scene.phone.states == [.registering])
        scene.network.run(.seconds(2))
        guard case .failed(let cause, _) = scene.phone.states.last else {
            Issue.record("not failed")
            return
        }
        #expect(cause.code == "registration.no-response")
        #expect(scene.phone.agent.counters[.registrationLimitReached] == 1)
        #expect(scene.phone.agent.requestCount == 0 && scene.phone.agent.timerCount == 0)
    }

    @Test func `taking a registration back has a limit`() throws {
        let scene = Scene()
        Self.serve(scene)
        let account = scene.addAccount()
        scene.network.run(.seconds(1))
        scene.network.loses = { _ in true }
        scene.on { $0.unregister(account, now: $1) }
        scene.network.run(.seconds(11))
        #expect(scene.phone.states.last == .unregistered)
    }

    @Test(
        "why no server could be reached is told apart",
        arguments: [
            (FlowFailure.unreachable, "registration.no-network"), (.refused, "registration.nothing-listens"),
            (.reset, "registration.unreachable"),
        ])
    func networkFailures(failure: FlowFailure, code: String) throws {
        let scene = Scene()
        scene.addAccount(retry: .none)
        scene.on {
            $0.handle(.sendFailed(FlowID(rawValue: 1), to: SocketAddress(ip(9), 5060), failure), now: $1)
        }
        guard case .failed(let cause, _) = scene.phone.states.last else {
            Issue.record("not failed: \(scene.phone.states)")
            return
        }
        #expect(cause.code == code)
    }

    // MARK: Several accounts

    @Test func `accounts at several registrars live side by side, each with its own identity and server`() throws {
        let scene = Scene()
        let other = ScriptedPeer(scene.network, 8)
        for peer in [scene.peer, other] {
            peer.onMessage = { [weak peer] message in
                guard let peer, message.isRequest, message.method == .register else { return }
                peer.respond(200, to: message, headers: [(.contact, "<\(message.contacts[0].uri)>;expires=600")])
            }
        }
        func account(_ user: String, at peer: ScriptedPeer) -> AccountConfiguration {
            AccountConfiguration(addressOfRecord: SIPURI(user: user, host: .address(peer.address.ip), port: 5060))
        }
        let first = scene.phone.agent.addAccount(account("1001", at: scene.peer), now: scene.network.now)
        let second = scene.phone.agent.addAccount(account("1001", at: other), now: scene.network.now)
        let third = scene.phone.agent.addAccount(account("1003", at: other), now: scene.network.now)
        scene.phone.drain()
        scene.network.run(.seconds(1))
        #expect(scene.peer.requests(.register).count == 1 && other.requests(.register).count == 2)
        // Out: the account says by which server and as whom.
        for (id, peer, user) in [(first, scene.peer, "1001"), (second, other, "1001"), (third, other, "1003")] {
            let before = peer.requests(.invite).count
            let target = URI.sip(SIPURI(user: "bob", host: .address(peer.address.ip), port: 5060))
            _ = try scene.phone.agent.invite(from: id, to: target, offer: sdpBytes, now: scene.network.now)
            scene.phone.drain()
            scene.network.run(.milliseconds(50))
            let invite = try required(peer.requests(.invite).dropFirst(before).first)
            #expect(invite.from.uri.sip?.user == user && invite.from.uri.sip?.host == .address(peer.address.ip))
        }
        // In: the server that it comes from and the user that is called say for which account.
        for (index, (id, peer, user)) in [(first, scene.peer, "1001"), (second, other, "1001"), (third, other, "1003")].enumerated() {
            peer.send(
                "INVITE", "sip:\(user)@\(scene.phone.address)", to: scene.phone, callID: "in-\(index)", type: "application/sdp",
                body: sdpOffer)
            scene.network.run(.milliseconds(50))
            #expect(scene.phone.incoming.last?.1.account == id)
        }
        #expect(scene.phone.incoming.count == 3)
        // One goes, the others stay.
        scene.on { $0.removeAccount(second, now: $1) }
        scene.network.run(.seconds(1))
        #expect(scene.phone.agent.configuration(of: second) == nil && scene.phone.agent.configuration(of: third) != nil)
        #expect(other.requests(.register).last?.contacts.first?.expires == 0)
    }
}
