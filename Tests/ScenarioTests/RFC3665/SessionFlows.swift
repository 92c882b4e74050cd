// SPDX-License-Identifier: Apache-2.0
//
// RFC 3665 §3: sessions, through one proxy that may challenge, redirect and fork. §3.5 is about an application layer gateway,
// a proxy that rewrites addresses in SDP: there is none here, and a phone does the same for it as in §3.2.

import Essentials
import HandsetTestKit
import PhoneCore
import SIP
import SIPAgent
import Testing

@Suite struct SessionFlows {
    @Test("RFC 3665 §3.1: a session between two phones without a server")
    func withoutAServer() throws {
        let scene = SessionWorld(account: {
            $0.registers = false; $0.directCalls = .accept
        })
        scene.bob.follow([.answer(after: .seconds(2)), .untilEnded])
        scene.alice.follow([.call("sip:bob@\(scene.bob.host.address)"), .wait(.seconds(2)), .hangUp])
        scene.world.run(for: .seconds(10))
        #expect(
            scene.missing([
                "alice INVITE bob", "bob 180 alice", "bob 200 alice", "alice ACK bob", "alice BYE bob", "bob 200 alice",
            ]) == nil)
        #expect(scene.troubles() == [])
    }

    @Test("RFC 3665 §3.2 and §3.3: through the proxy, which challenges; the dialog stays on its route")
    func throughAProxy() throws {
        let scene = SessionWorld()
        scene.registered()
        scene.bob.follow([.answer(after: .seconds(2)), .untilEnded])
        scene.alice.follow([.call("bob"), .wait(.seconds(2)), .hangUp])
        scene.world.run(for: .seconds(10))
        #expect(
            scene.missing([
                "alice INVITE server", "server 407 alice", "alice ACK server", "alice INVITE server",
                "server INVITE bob", "bob 180 server", "server 180 alice", "bob 200 server", "server 200 alice",
            ]) == nil)
        let ladder = scene.ladder
        #expect(ladder.contains { $0.hasPrefix("alice ACK") } && ladder.contains { $0.hasPrefix("alice BYE") })
        #expect(scene.alice.ends.map(\.wasEstablished) == [true])
        #expect(scene.troubles() == [])
    }

    @Test("RFC 3665 §3.4: the first proxy fails, the second takes the call")
    func proxyFailure() {
        let world = SimulatedWorld(seed: 3665, trace: .signalling)
        let users: KeyValuePairs = ["alice": "wonder", "bob": "builder"]
        let first = world.addServer("first", domain: "biloxi.test", users: users)
        let second = world.addServer("second", domain: "biloxi.test", users: users)
        world.zone.addAddress("ss1.biloxi.test", first.host.address)
        world.zone.addAddress("ss2.biloxi.test", second.host.address)
        world.zone.addService("_sip._udp.biloxi.test", priority: 1, port: 5060, target: "ss1.biloxi.test")
        world.zone.addService("_sip._udp.biloxi.test", priority: 2, port: 5060, target: "ss2.biloxi.test")
        let alice = world.addPhone("alice", user: "alice", password: "wonder", server: first, configureAccount: { $0.proxy = nil })
        let bob = world.addPhone("bob", user: "bob", password: "builder", server: second)
        bob.follow([.register, .answer(after: .seconds(1)), .untilEnded])
        alice.follow([.register])
        world.run(for: .seconds(2))
        first.host.isUnplugged = true
        alice.follow([.call("bob"), .wait(.seconds(2)), .hangUp])
        world.run(for: .seconds(60))
        #expect(alice.ends.map(\.wasEstablished) == [true] && bob.ends.map(\.wasEstablished) == [true], "\(world.trace.text())")
        for phone in [alice, bob] { phone.shutDown() }
        #expect(world.settle(within: .seconds(120)).isEmpty && alice.violations.isEmpty && bob.violations.isEmpty)
    }

    @Test("RFC 3665 §3.6: a redirection is followed, and the offer comes in the 200, its answer in the ACK")
    func redirectWithSDPInACK() throws {
        let scene = SessionWorld(account: {
            $0.registers = false; $0.directCalls = .accept
        })
        let redirector = scene.world.addPeer("redirector")
        let bobAddress = scene.bob.host.address
        redirector.react = { [unowned redirector] message, source in
            guard message.isRequest, message.method == .invite else { return }
            redirector.answer(message, 302, to: source) { $0.add(.contact, "<sip:bob@\(bobAddress)>") }
        }
        var options = CallOptions()
        options.isLateOffer = true
        scene.bob.follow([.answer(after: .seconds(1)), .untilEnded])
        var call: CallID?
        try scene.alice.perform { core, now throws(PhoneError) in
            call = try core.call(from: nil, to: "sip:bob@\(redirector.address)", options: options, now: now)
        }
        scene.world.run(for: .seconds(5))
        #expect(
            scene.missing([
                "alice INVITE redirector", "redirector 302 alice", "alice ACK redirector", "alice INVITE bob", "bob 180 alice",
                "bob 200 alice", "alice ACK bob",
            ]) == nil)
        let id = try #require(call)
        #expect(scene.alice.core.state(of: id) == .confirmed)
        try scene.alice.perform { core, now throws(PhoneError) in try core.hangUp(id, now: now) }
        scene.world.run(for: .seconds(2))
        #expect(scene.troubles() == [])
    }

    @Test("RFC 3665 §3.7: a re-INVITE changes the session, and the sound goes on")
    func sessionWithReinvite() throws {
        let scene = SessionWorld()
        scene.registered()
        scene.bob.follow([.answer(after: .seconds(1)), .untilEnded])
        scene.alice.follow([.call("bob"), .hold, .wait(.seconds(1)), .resume, .wait(.seconds(1)), .hangUp])
        scene.world.run(for: .seconds(20))
        #expect(scene.ladder.filter { $0.hasPrefix("alice INVITE") }.count >= 4, "\(scene.ladder)")
        let holds = scene.bob.events.compactMap { entry in
            if case .hold(_, let side, let isHeld) = entry.event { "\(side.rawValue) \(isHeld)" } else { nil }
        }
        #expect(holds == ["remote true", "remote false"])
        #expect(scene.troubles() == [])
    }

    @Test("RFC 3665 §3.8: nobody answers, the caller gives up: CANCEL and 487")
    func noAnswer() throws {
        let scene = SessionWorld()
        scene.registered()
        scene.alice.follow([.dial("bob"), .wait(.seconds(5)), .hangUp])
        scene.world.run(for: .seconds(20))
        #expect(
            scene.missing([
                "server 180 alice", "alice CANCEL server", "server 200 alice", "server CANCEL bob", "bob 200 server", "bob 487 server",
                "server ACK bob", "server 487 alice", "alice ACK server",
            ]) == nil)
        #expect(scene.bob.ends.map(\.cause.code) == ["call.cancelled"])
        #expect(scene.alice.ends.map(\.cause.code) == ["call.hung-up"])
        #expect(scene.troubles() == [])
    }

    @Test("RFC 3665 §3.9: the called phone is busy")
    func busy() throws {
        let scene = SessionWorld()
        scene.registered()
        scene.bob.follow([.refuse(status: 486, after: .seconds(1))])
        scene.alice.follow([.dial("bob"), .untilEnded])
        scene.world.run(for: .seconds(20))
        #expect(scene.missing(["bob 486 server", "server ACK bob", "server 486 alice", "alice ACK server"]) == nil)
        #expect(scene.alice.ends.map(\.cause.code) == ["call.busy"])
        #expect(scene.troubles() == [])
    }

    @Test("RFC 3665 §3.10: the called phone does not respond at all")
    func noResponse() throws {
        let scene = SessionWorld()
        scene.registered()
        scene.bob.host.link = LinkConditions(loss: 1)
        scene.alice.follow([.dial("bob"), .untilEnded])
        scene.world.run(for: .seconds(60))
        #expect(scene.ladder.filter { $0 == "server INVITE bob" }.count == 7, "\(scene.ladder)")
        #expect(scene.alice.ends.map { $0.cause.status ?? 0 }.first.map { [408, 480].contains($0) } == true)
    }

    @Test("RFC 3665 §3.11: the called person is not there for now")
    func temporarilyUnavailable() throws {
        let scene = SessionWorld()
        scene.registered()
        scene.bob.follow([.refuse(status: 480, after: .seconds(1))])
        scene.alice.follow([.dial("bob"), .untilEnded])
        scene.world.run(for: .seconds(20))
        #expect(scene.missing(["bob 180 server", "server 180 alice", "bob 480 server", "server 480 alice", "alice ACK server"]) == nil)
        #expect(scene.alice.ends.map(\.cause.code) == ["call.unavailable"])
        #expect(scene.troubles() == [])
    }
}
