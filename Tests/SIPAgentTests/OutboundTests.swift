// SPDX-License-Identifier: Apache-2.0
//
// The way to the account's server: kept alive, watched, recovered (RFC 5626, RFC 6223), and large requests (RFC 3261 §18.1.1).

import Essentials
import Foundation
import SIP
import SIPAgent
import STUN
import Testing

@Suite struct OutboundTests {
    /// A server that grants each REGISTER, with these header fields, and answers pings.
    static func serve(_ scene: Scene, headers: [(HeaderName, String)] = [], keep: String? = nil, answersPings: Bool = true) {
        scene.peer.onMessage = { [weak scene] message in
            guard let scene, message.isRequest, message.method == .register else { return }
            let contacts = message.contacts.filter { $0.parameters["expires"] != "0" }
            var request = message
            if let keep {
                var changed = MessageBuilder(copying: message)
                var via = message.topVia
                via.parameters.set("keep", keep)
                changed.set(.via, via.description)
                request = changed.build()
            }
            let response = request.makeResponse(status: 200, toTag: "peer")
            var builder = response
            for contact in contacts { builder.add(.contact, "<\(contact.uri)>;expires=600") }
            for (name, value) in headers { builder.add(name, value) }
            let to = scene.phone.address
            scene.network.send(Packet(from: scene.peer.address, to: to, transport: scene.peer.transport, bytes: builder.build().bytes))
        }
        guard answersPings else { return }
        scene.peer.onOctets = { [weak scene] octets in
            if octets == [13, 10, 13, 10], let scene, scene.peer.transport == .tcp { scene.peer.sendRaw([13, 10], to: scene.phone) }
        }
    }

    /// When the phone sent what is no SIP message, in seconds.
    static func keepAlives(_ scene: Scene) -> [(time: Double, octets: [UInt8])] {
        scene.network.log.filter { $0.packet.from == scene.phone.address && $0.packet.message == nil }.map {
            (Double($0.time.nanoseconds) / 1e9, $0.packet.bytes)
        }
    }

    static func warnings(_ scene: Scene) -> [Cause] {
        scene.phone.events.compactMap { if case .warning(let cause) = $0 { cause } else { nil } }
    }

    static func tcp(_ scene: Scene) {
        scene.peer.transport = .tcp
        scene.addAccount(transport: .tcp)
    }

    @Test("5626-9.2-F1.sip: REGISTER names the device and the flow as the RFC's example does")
    func registerOfTheRFC() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let example = try SIPMessage(
            parsing: Array(try Data(contentsOf: root.appendingPathComponent("Fixtures/flows/5626-9.2-F1.sip"))))
        let scene = Scene()
        Self.serve(scene, headers: [(.require, "outbound")])
        var account = AccountConfiguration(
            addressOfRecord: SIPURI(user: "bob", host: .address(scene.peer.address.ip), port: scene.peer.address.port), transport: .tcp)
        account.instance = "urn:uuid:00000000-0000-1000-8000-AABBCCDDEEFF"
        scene.peer.transport = .tcp
        let number = scene.phone.agent.addAccount(account, now: scene.network.now)
        scene.phone.drain()
        scene.network.run(.seconds(1))
        let register = try #require(scene.peer.requests(.register).first)
        let (ours, theirs) = (try #require(register.contacts.first), try #require(example.contacts.first))
        #expect(ours.instance == theirs.instance && ours.registrationID == theirs.registrationID && ours.registrationID == 1)
        #expect(register.first(.contact)?.contains("+sip.instance=\"<urn:uuid:00000000-0000-1000-8000-AABBCCDDEEFF>\"") == true)
        #expect(Set(register.supported).isSuperset(of: example.supported))
        #expect(register.topVia.parameters.contains("keep"))
        // The registrar took the flow: what begins a dialog asks to stay on it (§4.3).
        let id = try scene.phone.agent.invite(
            from: number, to: scene.peerURI, offer: sdpBytes, now: scene.network.now)
        scene.phone.drain()
        scene.network.run(.milliseconds(50))
        #expect(scene.peer.requests(.invite).first?.contacts.first?.uri.sip?.parameters.contains("ob") == true)
        #expect(id.rawValue > 0)
    }

    @Test func `a device without a configured instance has a random one that stays`() throws {
        let scene = Scene()
        Self.serve(scene)
        let id = scene.addAccount(expires: 120)
        scene.network.run(.seconds(1))
        scene.on { agent, now in agent.register(id, now: now) }
        scene.network.run(.seconds(1))
        let instances = scene.peer.requests(.register).compactMap { $0.contacts.first?.instance }
        let first = try #require(instances.first)
        #expect(instances.count >= 2 && Set(instances).count == 1)
        #expect(first.wholeMatch(of: /urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil)
        let other = Scene(seed: 2)
        Self.serve(other)
        other.addAccount()
        other.network.run(.seconds(1))
        #expect(other.peer.requests(.register).first?.contacts.first?.instance != first)
    }

    @Test func `439 from a proxy on the way: the phone registers without outbound`() {
        let scene = Scene()
        scene.peer.onMessage = { [weak scene] message in
            guard let scene, message.isRequest, message.method == .register else { return }
            let contact = message.contacts[0]
            if contact.registrationID != nil {
                scene.peer.respond(439, to: message)
            } else {
                scene.peer.respond(200, to: message, headers: [(.contact, "<\(contact.uri)>;expires=600")])
            }
        }
        scene.addAccount()
        scene.network.run(.seconds(2))
        #expect(scene.peer.requests(.register).count == 2 && RegistrationTests.isRegistered(scene))
        #expect(scene.peer.requests(.register).last?.supported.contains("outbound") == false)
    }

    // MARK: Keep-alives

    @Test(
        arguments: [
            ([(HeaderName, String)](), nil, 96.0...120.0), ([(.flowTimer, "40")], nil, 32.0...40.0),
            ([(.flowTimer, "40")], "20", 16.0...20.0), ([(.flowTimer, "1")], nil, 4.0...5.0), ([(.flowTimer, "x")], "", 96.0...120.0),
        ] as [([(HeaderName, String)], String?, ClosedRange<Double>)])
    func `a connection is pinged at 80 to 100 % of the time that the server names`(
        headers: [(HeaderName, String)], keep: String?, range: ClosedRange<Double>
    ) throws {
        let scene = Scene()
        Self.serve(scene, headers: headers, keep: keep)
        Self.tcp(scene)
        scene.network.run(.seconds(500))
        let pings = Self.keepAlives(scene)
        #expect(pings.count >= 3 && pings.allSatisfy { $0.octets == [13, 10, 13, 10] })
        for (one, next) in zip(pings, pings.dropFirst()) {
            // The next interval begins with the pong, 20 ms after the ping.
            #expect(range.contains(next.time - one.time - 0.02))
        }
        let gaps = Set(zip(pings, pings.dropFirst()).map { $1.time - $0.time })
        #expect(gaps.count > 1, "phones do not ping in step")
        #expect(Self.warnings(scene).isEmpty && scene.peer.connections == 1)
    }

    @Test func `a server that answered pings and falls silent is left after ten seconds and registered at anew`() throws {
        let scene = Scene()
        Self.serve(scene)
        Self.tcp(scene)
        scene.network.run(.seconds(130))
        let before = scene.peer.requests(.register).count
        scene.peer.onOctets = nil
        let answered = try #require(Self.keepAlives(scene).last?.time)
        scene.network.run(atMost: .seconds(200)) { scene.peer.requests(.register).count > before }
        let lost = try #require(Self.keepAlives(scene).last?.time)
        #expect(lost > answered && scene.peer.connections == 2)
        let since = Double(scene.network.now.nanoseconds) / 1e9 - lost
        #expect((10...10.3).contains(since), "\(since)")
        #expect(Self.warnings(scene).map(\.code) == ["registration.flow.silent"])
        scene.network.run(.seconds(1))
        #expect(RegistrationTests.isRegistered(scene))
    }

    @Test func `a server that never answers pings, and promised nothing, keeps its phone`() {
        let scene = Scene()
        Self.serve(scene, answersPings: false)
        Self.tcp(scene)
        scene.network.run(.seconds(400))
        #expect(scene.peer.connections == 1 && Self.warnings(scene).isEmpty && Self.keepAlives(scene).count >= 3)
        let promised = Scene()
        Self.serve(promised, headers: [(.flowTimer, "30")], answersPings: false)
        Self.tcp(promised)
        promised.network.run(.seconds(60))
        #expect(promised.peer.connections >= 2 && Self.warnings(promised).first?.code == "registration.flow.silent")
    }

    @Test func `a lost connection is replaced at once, and calls are told`() throws {
        let scene = Scene()
        Self.serve(scene)
        Self.tcp(scene)
        scene.network.run(.seconds(20))
        var uri = scene.peerURI
        if case .sip(var sip) = uri {
            sip.transport = .tcp
            uri = .sip(sip)
        }
        let (id, invite) = try scene.outgoing(account: scene.account, to: uri)
        scene.peer.respond(200, to: invite, contact: scene.peer.contact, body: sdpOffer)
        scene.network.run(.milliseconds(50))
        let before = scene.peer.requests(.register).count
        let lost = scene.network.now
        scene.phone.disconnected(from: scene.peer.address, .reset, now: lost)
        scene.network.run(atMost: .seconds(5)) { scene.peer.requests(.register).count > before }
        #expect(scene.network.now - lost <= .milliseconds(300))
        #expect(Self.warnings(scene).map(\.code) == ["registration.flow.closed"])
        scene.network.run(.seconds(1))
        #expect(RegistrationTests.isRegistered(scene))
        let refreshes = scene.phone.events.filter { if case .moveDue(id) = $0 { true } else { false } }
        #expect(refreshes.count == 1 && scene.phone.ends.isEmpty)
    }

    @Test func `a server that takes connections and drops them is not hammered`() {
        let scene = Scene()
        Self.serve(scene)
        let answer = scene.peer.onMessage
        scene.peer.onMessage = { [weak scene] message in
            guard let scene else { return }
            answer?(message)
            scene.network.later(.milliseconds(50)) {
                scene.phone.disconnected(from: scene.peer.address, .closedByPeer, now: scene.network.now)
            }
        }
        Self.tcp(scene)
        scene.network.run(.seconds(600))
        // At once, then 1–2, 2–4, … up to 60–120 s.
        #expect((8...20).contains(scene.peer.requests(.register).count), "\(scene.peer.requests(.register).count)")
    }

    // MARK: Datagrams

    /// The peer answers STUN with this address.
    static func answerSTUN(_ scene: Scene, _ mapped: @escaping () -> SocketAddress?) {
        scene.peer.onOctets = { [weak scene] octets in
            guard let scene, let request = try? STUNMessage(parsing: octets), let address = mapped() else { return }
            if let answer = STUNBinding.response(to: request, from: address) { scene.peer.sendRaw(answer, to: scene.phone) }
        }
    }

    @Test func `datagrams are kept by STUN, and another address means another registration`() throws {
        let scene = Scene()
        // The server does not know how soon a NAT forgets datagrams: its word holds for connections.
        Self.serve(scene, headers: [(.flowTimer, "120")])
        var mapped = scene.phone.address
        Self.answerSTUN(scene) { mapped }
        scene.addAccount()
        scene.network.run(.seconds(200))
        let times = Self.keepAlives(scene).map(\.time)
        #expect(times.count >= 6 && Self.keepAlives(scene).allSatisfy { STUNMessage.isSTUN($0.octets) })
        for (one, next) in zip(times, times.dropFirst()) { #expect((23.2...29.1).contains(next - one)) }
        #expect(Self.warnings(scene).isEmpty)
        let before = scene.peer.requests(.register).count
        mapped = SocketAddress(ip(1), 6077)
        scene.network.run(atMost: .seconds(31)) { scene.peer.requests(.register).count > before }
        let warning = try #require(Self.warnings(scene).first)
        #expect(warning.code == "registration.flow.moved")
        #expect(warning.evidence.contains { $0.value.contains("10.0.0.1:6077") && $0.value.contains("10.0.0.1:5060") })
        // The new address is registered and the old one taken back in one request.
        let register = try #require(scene.peer.requests(.register).last)
        #expect(register.contacts.map { $0.uri.sip?.port } == [6077, 5060] && register.contacts.last?.parameters["expires"] == "0")
    }

    @Test func `a server without STUN gets it seven times, then line ends, and nothing is lost`() throws {
        let scene = Scene()
        Self.serve(scene)
        scene.addAccount()
        scene.network.run(.seconds(300))
        let sent = Self.keepAlives(scene)
        let requests = sent.prefix { STUNMessage.isSTUN($0.octets) }
        #expect(requests.count == 7)
        let gaps = zip(requests, requests.dropFirst()).map { (($1.time - $0.time) * 10).rounded() / 10 }
        #expect(gaps == [0.5, 1, 2, 4, 8, 16])
        let rest = sent.dropFirst(7)
        #expect(rest.count >= 7 && rest.allSatisfy { $0.octets == [13, 10, 13, 10] })
        #expect(Self.warnings(scene).isEmpty && RegistrationTests.isRegistered(scene))
    }

    @Test func `a STUN answer from elsewhere, or to nothing, means nothing; silence of one that answered does`() {
        let scene = Scene()
        Self.serve(scene)
        let mapped = scene.phone.address
        Self.answerSTUN(scene) { mapped }
        scene.addAccount()
        scene.network.run(.seconds(60))
        var forged = STUNMessageBuilder(.success, transaction: STUNTransactionID(high: 1, low: 2))
        forged.addMapped(SocketAddress(ip(66), 1))
        scene.peer.sendRaw(forged.build(), to: scene.phone)
        scene.peer.sendRaw([0, 1, 0, 0xff] + forged.build().dropFirst(4), to: scene.phone)
        scene.network.run(.seconds(1))
        #expect(Self.warnings(scene).isEmpty)
        #expect(scene.phone.agent.stackCounters[.stunMalformed] == 1)
        Self.answerSTUN(scene) { nil }
        scene.network.run(.seconds(75))
        #expect(Self.warnings(scene).map(\.code) == ["registration.flow.silent"])
    }

    @Test func `with keep-alives off nothing but SIP is sent`() {
        let scene = Scene { $0.keepAlive.isOn = false }
        Self.serve(scene)
        scene.addAccount()
        scene.network.run(.seconds(300))
        #expect(Self.keepAlives(scene).isEmpty && RegistrationTests.isRegistered(scene))
        #expect(scene.peer.requests(.register).first?.topVia.parameters.contains("keep") == false)
    }

    @Test func `who unregisters stops the keep-alives`() throws {
        let scene = Scene()
        Self.serve(scene)
        let id = scene.addAccount()
        scene.network.run(.seconds(1))
        scene.on { agent, now in agent.unregister(id, now: now) }
        scene.network.run(.seconds(200))
        #expect(Self.keepAlives(scene).isEmpty)
    }
}

@Suite struct RequestSizeTests {
    private static let large: [(HeaderName, String)] = [("X-Large", String(repeating: "a", count: 1300))]

    @Test func `a request of more than 1300 octets goes over TCP to the same place`() throws {
        let scene = Scene()
        let id = try scene.phone.agent.invite(
            from: nil, to: scene.peerURI, offer: sdpBytes, headers: Self.large, now: scene.network.now)
        scene.phone.drain()
        scene.network.run(.milliseconds(100))
        let packet = try #require(scene.network.log.first { $0.packet.from == scene.phone.address }?.packet)
        let invite = try #require(packet.message)
        #expect(packet.transport == .tcp && invite.topVia.transport == .tcp && scene.peer.connections == 1)
        // It is about this request only: we stay where we are.
        #expect(invite.contacts.first?.uri.sip?.transport == nil)
        #expect(scene.phone.agent.counters[.requestsOverConnection] == 1)
        scene.on { agent, now in agent.hangUp(id, now: now) }
    }

    /// A call without an offer of ours, whose ACK brings an answer that is too large for a datagram.
    private func acknowledged(_ scene: Scene) throws -> SessionID {
        let id = try scene.phone.agent.invite(from: nil, to: scene.peerURI, offer: nil, now: scene.network.now)
        scene.phone.drain()
        scene.network.run(.milliseconds(100))
        let invite = try #require(scene.peer.requests(.invite).first)
        scene.peer.respond(200, to: invite, contact: scene.peer.contact, body: sdpOffer)
        scene.network.run(.milliseconds(100))
        let answer = sdpBytes + Array("a=x:\(String(repeating: "a", count: 1300))\r\n".utf8)
        scene.on { agent, now in agent.acknowledge(id, answer: answer, now: now) }
        scene.network.run(.milliseconds(300))
        return id
    }

    @Test func `an ACK of more than 1300 octets goes over TCP too`() throws {
        let scene = Scene()
        _ = try acknowledged(scene)
        let packet = try #require(scene.network.log.first { $0.packet.message?.method == .ack }?.packet)
        #expect(packet.transport == .tcp && packet.message?.topVia.transport == .tcp && scene.peer.connections == 1)
        #expect(scene.phone.agent.counters[.requestsOverConnection] == 1 && scene.phone.agent.counters[.requestsBackToDatagrams] == 0)
    }

    @Test func `an ACK whose connection is refused goes as a datagram after all`() throws {
        let scene = Scene()
        scene.phone.refusesConnections = true
        _ = try acknowledged(scene)
        let packets = scene.network.log.map(\.packet).filter { $0.message?.method == .ack }
        #expect(packets.map(\.transport) == [.udp] && packets.first?.message?.topVia.transport == .udp)
        #expect(scene.phone.agent.counters[.requestsBackToDatagrams] == 1)
    }

    @Test func `where TCP is refused it goes as a datagram, and says so if that is not answered`() throws {
        let scene = Scene()
        scene.phone.refusesConnections = true
        _ = try scene.phone.agent.invite(
            from: nil, to: scene.peerURI, offer: sdpBytes, headers: Self.large, now: scene.network.now)
        scene.phone.drain()
        scene.network.run(.milliseconds(200))
        let invite = try #require(scene.peer.requests(.invite).first)
        #expect(invite.topVia.transport == .udp && scene.phone.agent.counters[.requestsBackToDatagrams] == 1)
        scene.network.run(.seconds(40))
        let end = try #require(scene.phone.ends.first)
        #expect(end.cause.code == "call.request-too-big")
        #expect(end.cause.evidence.contains { $0.name == "octets" && (Int($0.value) ?? 0) > 1300 })
    }

    @Test func `the answer to such a datagram counts as any other`() throws {
        let scene = Scene()
        scene.phone.refusesConnections = true
        let id = try scene.phone.agent.invite(
            from: nil, to: scene.peerURI, offer: sdpBytes, headers: Self.large, now: scene.network.now)
        scene.phone.drain()
        scene.network.run(.milliseconds(200))
        scene.peer.respond(200, to: try #require(scene.peer.requests(.invite).first), contact: scene.peer.contact, body: sdpOffer)
        scene.network.run(.milliseconds(100))
        #expect(scene.phone.answered.count == 1 && scene.peer.requests(.ack).count >= 1)
        scene.on { agent, now in agent.hangUp(id, now: now) }
        scene.network.run(.milliseconds(100))
        #expect(scene.peer.requests(.bye).first?.topVia.transport == .udp)
    }
}
