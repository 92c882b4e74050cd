// SPDX-License-Identifier: Apache-2.0
//
// Registrations and calls through the loss of a server that DNS names first, and its return.

import Essentials
import HandsetTestKit
import PhoneCore
import SIP
import SIPAgent
import Testing

@Suite struct FailoverScenarioTests {
    /// Two servers of one domain; SRV prefers the first.
    private final class Place {
        let world: SimulatedWorld
        let first: SimulatedServer
        let second: SimulatedServer
        let alice: SimulatedPhone
        let bob: SimulatedPhone

        init(seed: UInt64, transport: TransportProtocol) {
            let world = SimulatedWorld(seed: seed, trace: .signalling)
            self.world = world
            let users: KeyValuePairs = ["1001": "first", "1002": "second"]
            first = world.addServer("first", domain: "example.test", users: users)
            second = world.addServer("second", domain: "example.test", users: users)
            let service = "_sip._\(transport.rawValue).example.test"
            world.zone.addAddress("a.example.test", first.host.address)
            world.zone.addAddress("b.example.test", second.host.address)
            world.zone.addService(service, priority: 1, port: 5060, target: "a.example.test")
            world.zone.addService(service, priority: 2, port: 5060, target: "b.example.test")
            func phone(_ name: String, _ user: String, _ password: String, _ server: SimulatedServer) -> SimulatedPhone {
                world.addPhone(
                    name, user: user, password: password, server: server, transport: transport,
                    configureAccount: { account in
                        account.proxy = nil
                        account.expires = 60
                    })
            }
            alice = phone("alice", "1001", "first", first)
            bob = phone("bob", "1002", "second", first)
        }

        func server(of phone: SimulatedPhone) -> SocketAddress? {
            phone.accountID.flatMap { phone.core.registrationDetail(of: $0)?.server }
        }
    }

    @Test(arguments: [TransportProtocol.udp, .tcp], 1...3)
    func `DNS failover: call and registration survive, and all goes back to the preferred server`(
        transport: TransportProtocol, seed: UInt64
    ) {
        let place = Place(seed: seed, transport: transport)
        let (world, alice, bob) = (place.world, place.alice, place.bob)
        // The end of the first call is heard of by silence only: that takes a while.
        bob.user.patience = .seconds(400)
        bob.follow([.register, .answer(after: .milliseconds(300)), .untilEnded])
        alice.follow([.register, .wait(.seconds(1)), .call("1002")])
        #expect(world.run(within: .seconds(20)) { alice.user.isDone && alice.core.callCount == 1 }, "\(alice.user.failure ?? "")")
        #expect(place.server(of: alice) == place.first.address)
        world.run(for: .seconds(2))

        place.first.host.isUnplugged = true
        #expect(
            world.run(within: .seconds(60)) {
                place.server(of: alice) == place.second.address && place.server(of: bob) == place.second.address
            }, "both registered at the second server")
        #expect(alice.isRegistered && bob.isRegistered)
        world.run(for: .seconds(20))
        #expect(alice.ends.isEmpty && bob.ends.isEmpty, "the call goes on")

        // The route of the old call leads over the dead server; a new call goes by the other one.
        alice.follow([.hangUp])
        #expect(world.run(within: .seconds(120)) { alice.ends.count == 1 && bob.ends.count == 1 })
        bob.follow([.answer(after: .milliseconds(300)), .untilEnded])
        alice.follow([.call("1002"), .wait(.seconds(2)), .hangUp])
        #expect(
            world.run(within: .seconds(30)) { alice.user.isDone && bob.user.isDone },
            "\(alice.user.failure ?? "") \(bob.user.failure ?? "")")
        #expect(alice.ends.last?.wasEstablished == true)

        place.first.host.isUnplugged = false
        #expect(
            world.run(within: .seconds(150)) {
                place.server(of: alice) == place.first.address && place.server(of: bob) == place.first.address
            }, "back at the preferred server")
        alice.follow([.shutDown])
        bob.follow([.shutDown])
        #expect(world.settle(within: .seconds(120)) == [])
    }
}
