// SPDX-License-Identifier: Apache-2.0
//
// The way to the server is lost and found again: NATs that forget, connections that break, servers that restart.

import Crypto
import Essentials
import HandsetTestKit
import PhoneCore
import SIP
import SIPAgent
import Testing

@Suite struct FlowTests {
    /// Two phones behind NATs at one server; they talk.
    private struct Scene {
        let world: SimulatedWorld
        let server: SimulatedServer
        let nat: SimulatedNAT
        let alice: SimulatedPhone
        let bob: SimulatedPhone

        init(
            _ transport: TransportProtocol, natTimeout: Interval = .seconds(120), knowsFlows: Bool = true, keepsKey: Bool = false
        ) {
            world = SimulatedWorld(seed: 11, trace: .signalling)
            server = world.addServer(
                "server", domain: "example.test", users: ["1001": "first", "1002": "second"],
                ports: [(.udp, 5060), (.tcp, 5060), (.ws, 8080), (.wss, 8443)]
            ) {
                $0.knowsFlows = knowsFlows
                if keepsKey { $0.routeKey = Secret("a key that outlives the server's runs") }
            }
            nat = world.addNAT("nat-a", .init(timeout: natTimeout))
            alice = world.addPhone(
                "alice", user: "1001", password: "first", server: server, behind: nat, transport: transport,
                configureAccount: { if !knowsFlows { $0.expires = 60 } })
            bob = world.addPhone(
                "bob", user: "1002", password: "second", server: server, behind: world.addNAT("nat-b"), transport: transport)
        }

        func talk() {
            bob.user.patience = .seconds(600)
            alice.user.patience = .seconds(600)
            bob.follow([.register, .answer(after: .milliseconds(200)), .untilEnded])
            alice.follow([.register, .wait(.seconds(60)), .call("1002"), .wait(.seconds(2))])
            #expect(world.run(within: .seconds(120)) { alice.user.isDone }, "\(alice.user.failure ?? "")")
        }

        func warnings(_ phone: SimulatedPhone) -> [String] {
            phone.events.compactMap { event in
                // Two NATs that filter by address and port let no media through; that is not what these tests are about.
                if case .warning(_, let cause) = event.event, !cause.code.hasPrefix("media.") { cause.code } else { nil }
            }
        }

        /// Bob hangs up: the BYE must find Alice where she is now.
        func bobEndsTheCall() {
            bob.user.patience = .seconds(30)
            try? bob.perform { core, now throws(PhoneError) in
                if let call = bob.user.call { try core.hangUp(call, now: now) }
            }
            #expect(world.run(within: .seconds(5)) { alice.ends.count == 1 })
            #expect(alice.ends.first?.isByRemote == true && alice.ends.first?.cause.code == "call.remote-hung-up")
        }
    }

    @Test func `NAT rebinding: registration and call survive`() {
        let scene = Scene(.udp)
        scene.talk()
        let before = scene.server.machine.bindings(of: "1001", now: scene.world.now).map(\.source.remote)
        scene.nat.rebind()
        #expect(scene.world.run(within: .seconds(40)) { !scene.warnings(scene.alice).isEmpty })
        #expect(scene.warnings(scene.alice) == ["registration.flow.moved"])
        scene.world.run(for: .seconds(3))
        let after = scene.server.machine.bindings(of: "1001", now: scene.world.now).map(\.source.remote)
        #expect(before.count == 1 && after.count == 1 && before != after, "the binding of the flow is replaced")
        #expect(scene.alice.isRegistered && scene.alice.ends.isEmpty && scene.bob.ends.isEmpty)
        scene.bobEndsTheCall()
    }

    @Test func `a NAT that forgets after 30 s without traffic is kept open, and calls come in`() {
        let scene = Scene(.udp, natTimeout: .seconds(30))
        scene.alice.follow([.register])
        scene.bob.follow([.register])
        scene.world.run(for: .seconds(400))
        #expect(scene.warnings(scene.alice) == [] && scene.alice.isRegistered)
        scene.alice.follow([.answer(after: .milliseconds(200)), .wait(.seconds(1)), .hangUp])
        scene.bob.follow([.call("1001"), .untilEnded])
        #expect(scene.world.run(within: .seconds(30)) { scene.bob.user.isDone }, "\(scene.bob.user.failure ?? "")")
    }

    @Test(arguments: [false, true]) func `a lost TCP connection in and out of a call: the phone is back within a second`(inCall: Bool) {
        let scene = Scene(.tcp)
        if inCall {
            scene.talk()
        } else {
            scene.alice.follow([.register])
            scene.bob.follow([.register])
            scene.world.run(for: .seconds(60))
        }
        let lost = scene.world.now
        scene.alice.breakConnections()
        #expect(scene.world.run(within: .seconds(1)) { scene.alice.events.contains { $0.time > lost && isRegistered($0.event) } })
        #expect(scene.warnings(scene.alice) == ["registration.flow.closed"])
        scene.world.run(for: .seconds(2))
        #expect(scene.server.machine.bindings(of: "1001", now: scene.world.now).count == 1)
        if inCall { scene.bobEndsTheCall() }
    }

    private func isRegistered(_ event: PhoneEvent) -> Bool {
        if case .registration(_, .registered) = event { true } else { false }
    }

    @Test(arguments: [TransportProtocol.ws, .wss]) func `phones on WebSockets behind NATs call each other, both ways`(
        transport: TransportProtocol
    ) throws {
        let world = SimulatedWorld(seed: 5, trace: .signalling)
        let server = world.addServer(
            "server", domain: "example.test", users: ["1001": "first", "1002": "second"],
            ports: [(.udp, 5060), (.tcp, 5060), (transport, 8080)])
        let alice = world.addPhone(
            "alice", user: "1001", password: "first", server: server, behind: world.addNAT("nat-a"), transport: transport)
        let bob = world.addPhone(
            "bob", user: "1002", password: "second", server: server, behind: world.addNAT("nat-b"), transport: transport)
        bob.follow([.register, .answer(after: .milliseconds(200)), .wait(.seconds(1)), .hangUp])
        alice.follow([.register, .wait(.seconds(1)), .call("1002"), .untilEnded])
        #expect(world.run(within: .seconds(30)) { alice.user.isDone && bob.user.isDone }, "\(alice.user.failure ?? "")")
        let binding = try #require(server.machine.bindings(of: "1001", now: world.now).first)
        #expect(binding.source.transport == transport && binding.uri.parameters["transport"] == "ws")
        guard case .name(let name) = binding.uri.host else {
            Issue.record("\(binding.uri)")
            return
        }
        #expect(name.hasSuffix(".invalid") && binding.sentBy.host == binding.uri.host)
        // Kept by pings, which the server answers.
        world.run(for: .seconds(400))
        #expect(alice.isRegistered && server.machine.bindings(of: "1001", now: world.now).count == 1)
        let warnings = alice.events.filter {
            if case .warning(_, let cause) = $0.event { !cause.code.hasPrefix("media.") } else { false }
        }
        #expect(warnings.isEmpty)
    }

    /// Where the server answers no STUN and registers no flows, the phone sees another address only when it refreshes.
    @Test func `NAT rebinding that only a refresh shows: the call learns the new address too`() {
        let scene = Scene(.udp, knowsFlows: false)
        scene.talk()
        let before = scene.alice.events.count
        scene.nat.rebind()
        #expect(
            scene.world.run(within: .seconds(40)) {
                scene.alice.accountID.flatMap { scene.alice.core.registrationDetail(of: $0)?.trigger } == .addressChanged
                    && scene.alice.events.dropFirst(before).contains { isRegistered($0.event) }
            })
        scene.world.run(for: .seconds(3))
        #expect(scene.alice.isRegistered && scene.alice.ends.isEmpty && scene.bob.ends.isEmpty)
        scene.bobEndsTheCall()
    }

    /// A phone with two flows to a server that listens at two ports, and one that calls it.
    private func twoFlows() -> (world: SimulatedWorld, server: SimulatedServer, alice: SimulatedPhone, bob: SimulatedPhone) {
        let world = SimulatedWorld(seed: 3, trace: .signalling)
        let server = world.addServer(
            "server", domain: "example.test", users: ["1001": "first", "1002": "second"], ports: [(.udp, 5060), (.tcp, 5060), (.tcp, 5070)])
        let alice = world.addPhone(
            "alice", user: "1001", password: "first", server: server, behind: world.addNAT("nat-a"), transport: .tcp,
            configureAccount: { account in
                guard var proxy = account.proxy else { return }
                proxy.port = 5070
                account.furtherProxies = [proxy]
            })
        let bob = world.addPhone("bob", user: "1002", password: "second", server: server, behind: world.addNAT("nat-b"), transport: .tcp)
        alice.follow([.register])
        bob.follow([.register])
        world.run(for: .seconds(5))
        return (world, server, alice, bob)
    }

    private func flows(_ phone: SimulatedPhone) -> Int? { phone.accountID.flatMap { phone.core.registrationDetail(of: $0)?.flows } }

    @Test func `an account with two flows is called once, over either, and stays registered while one is lost`() throws {
        let (world, server, alice, bob) = twoFlows()
        #expect(world.run(within: .seconds(30)) { flows(alice) == 2 && server.machine.bindings(of: "1001", now: world.now).count == 2 })
        let bindings = server.machine.bindings(of: "1001", now: world.now)
        #expect(Set(bindings.compactMap(\.instance)).count == 1)
        for port in [UInt16(5060), 5070] {
            let start = alice.events.count
            alice.follow([.answer(after: .milliseconds(200)), .wait(.seconds(1)), .hangUp])
            alice.breakConnections(toPort: port)
            #expect(alice.isRegistered)
            bob.follow([.call("1001"), .untilEnded])
            #expect(world.run(within: .seconds(30)) { bob.user.isDone && alice.user.isDone }, "\(bob.user.failure ?? "")")
            let seen = alice.events.dropFirst(start)
            #expect(seen.count { if case .incomingCall = $0.event { true } else { false } } == 1, "one call, whatever the flows")
            #expect(!seen.contains { if case .registration(_, .failed) = $0.event { true } else { false } })
            world.run(for: .seconds(10))
            #expect(flows(alice) == 2, "the lost one is back")
        }
        alice.follow([.shutDown])
        world.run(for: .seconds(5))
        #expect(server.machine.bindings(of: "1001", now: world.now).isEmpty, "both are taken back")
    }

    @Test(arguments: [UInt16(5060), 5070]) func `a call survives the loss of one of two flows`(port: UInt16) throws {
        let (world, _, alice, bob) = twoFlows()
        bob.user.patience = .seconds(600)
        alice.user.patience = .seconds(600)
        bob.follow([.answer(after: .milliseconds(200)), .untilEnded])
        alice.follow([.call("1002"), .wait(.seconds(2))])
        #expect(world.run(within: .seconds(20)) { alice.user.isDone }, "\(alice.user.failure ?? "")")
        alice.breakConnections(toPort: port)
        world.run(for: .seconds(10))
        #expect(alice.ends.isEmpty && bob.ends.isEmpty && flows(alice) == 2)
        try bob.perform { core, now throws(PhoneError) in
            if let call = bob.user.call { try core.hangUp(call, now: now) }
        }
        #expect(world.run(within: .seconds(5)) { alice.ends.count == 1 })
        #expect(alice.ends.first?.cause.code == "call.remote-hung-up")
    }

    @Test func `a registrar that knows no flows is asked for one only`() {
        let world = SimulatedWorld(seed: 4, trace: .signalling)
        let server = world.addServer("server", domain: "example.test", users: ["1001": "first"]) { $0.knowsFlows = false }
        let alice = world.addPhone(
            "alice", user: "1001", password: "first", server: server, transport: .tcp,
            configureAccount: { account in account.furtherProxies = account.proxy.map { [$0] } ?? [] })
        alice.follow([.register])
        world.run(for: .seconds(20))
        #expect(server.machine.bindings(of: "1001", now: world.now).count == 1 && flows(alice) == 1)
    }

    @Test func `a server that restarts has its phones back without anybody's help`() {
        let scene = Scene(.tcp)
        scene.alice.follow([.register])
        scene.bob.follow([.register])
        scene.world.run(for: .seconds(60))
        scene.server.restart()
        #expect(
            scene.world.run(within: .seconds(10)) {
                ["1001", "1002"].allSatisfy { scene.server.machine.bindings(of: $0, now: scene.world.now).count == 1 }
            })
    }

    /// How a test of a restart runs: over which transport, and whether the server seals its routes with the same key after it.
    private static let restarts = [TransportProtocol.udp, .tcp, .ws, .wss].flatMap { [($0, false), ($0, true)] }

    @Test(arguments: restarts) func `a call survives the restart of its server`(transport: TransportProtocol, keepsKey: Bool) {
        let scene = Scene(transport, keepsKey: keepsKey)
        scene.talk()
        scene.server.restart()
        scene.world.run(for: .seconds(20))
        #expect(scene.alice.isRegistered && scene.bob.isRegistered)
        #expect(scene.alice.ends.isEmpty && scene.bob.ends.isEmpty)
        scene.bobEndsTheCall()
    }

    @Test(arguments: [TransportProtocol.tcp, .ws, .wss]) func `a call survives the loss of both its connections at once`(
        transport: TransportProtocol
    ) {
        let scene = Scene(transport)
        scene.talk()
        scene.alice.breakConnections()
        scene.bob.breakConnections()
        scene.world.run(for: .seconds(10))
        #expect(scene.alice.isRegistered && scene.bob.isRegistered)
        #expect(scene.alice.ends.isEmpty && scene.bob.ends.isEmpty)
        scene.bobEndsTheCall()
    }
}
