// SPDX-License-Identifier: Apache-2.0
//
// Path (RFC 3327), Service-Route (RFC 3608) and GRUU (RFC 5627) of the embedded server.

import Essentials
import HandsetTestKit
import SIP
import SIPAgent
import SIPServer
import Testing

@Suite struct PathTests {
    static let instance = "urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6"

    @Test func `a request to a contact that was registered with a Path takes that way`() throws {
        let bench = ServerBench()
        let edge = bench.peer("edge")
        var register = bench.registerRequest(edge, "alice", contacts: ["<sip:alice@192.0.2.77:5099>"])
        register.add(.require, "path")
        register.add(.path, "<sip:\(edge.address);lr>")
        register.add(.path, "<sip:inner.example.test;lr>")
        let answer = try bench.exchange(edge, register)
        #expect(answer.statusCode == 200)
        #expect(answer.paths.map { "\($0.uri)" } == ["sip:\(edge.address);lr", "sip:inner.example.test;lr"])
        let caller = bench.peer("caller")
        caller.send(bench.invite(caller, "alice"), to: bench.address)
        bench.world.run(for: .seconds(1))
        let invite = try #require(edge.received.first { $0.message.isRequest && $0.message.method == .invite }?.message)
        #expect("\(invite.requestURI)" == "sip:alice@192.0.2.77:5099")
        #expect(invite.routes.map { "\($0.uri)" } == ["sip:\(edge.address);lr", "sip:inner.example.test;lr"])
    }

    @Test func `an endless Path is refused`() throws {
        let bench = ServerBench()
        let edge = bench.peer("edge")
        var register = bench.registerRequest(edge, "alice", contacts: ["<sip:alice@192.0.2.77>"])
        for number in 1...9 { register.add(.path, "<sip:p\(number).example.test;lr>") }
        #expect(try bench.exchange(edge, register).statusCode == 403)
    }

    @Test func `the Service-Route of the configuration stands in the answer`() throws {
        let route = try #require(try URI("sip:orig@core.example.test;lr").sip)
        let bench = ServerBench { $0.serviceRoute = [route] }
        let answer = try bench.register(bench.peer("p"), "alice", contacts: ["<sip:alice@192.0.2.1>"])
        #expect(answer.serviceRoutes.map { "\($0.uri)" } == ["sip:orig@core.example.test;lr"])
    }

    @Test func `a GRUU leads to the one device, the public and the temporary one alike`() throws {
        let bench = ServerBench { $0.givesGRUU = true }
        let desk = bench.peer("desk")
        let mobile = bench.peer("mobile")
        var gruus: [SIPURI] = []
        for (peer, instance) in [(desk, Self.instance), (mobile, "urn:uuid:00000000-0000-1000-8000-000a95a0e128")] {
            var register = bench.registerRequest(
                peer, "alice", contacts: ["<sip:alice@\(peer.address)>;+sip.instance=\"<\(instance)>\""])
            register.add(.supported, "path, gruu")
            let answer = try bench.exchange(peer, register)
            let own = try #require(answer.contacts.first { $0.instance == instance })
            gruus = [try #require(own.publicGRUU), try #require(own.temporaryGRUU)]
            if peer === desk {
                #expect("\(gruus[0])" == "sip:alice@example.test;gr=\(Self.instance)")
                #expect(!"\(gruus[1])".contains("alice"))
            }
        }
        // The last one registered is the mobile.
        for (index, gruu) in gruus.enumerated() {
            let caller = bench.peer("caller\(index)")
            var invite = bench.invite(caller, "alice", callID: "gruu-\(index)")
            invite.setRequestURI(.sip(gruu))
            caller.send(invite, to: bench.address)
            bench.world.run(for: .seconds(1))
            #expect(
                mobile.received.count { $0.message.isRequest && $0.message.method == .invite && $0.message.callID == "gruu-\(index)" } > 0)
        }
        #expect(!desk.received.contains { $0.message.isRequest && $0.message.method == .invite })
        // A device that is not there cannot be called.
        var stranger = bench.invite(desk, "alice", callID: "gone")
        stranger.setRequestURI(try URI("sip:alice@example.test;gr=urn:uuid:11111111-0000-1000-8000-000a95a0e128"))
        #expect(try bench.exchange(desk, stranger).statusCode == 480)
    }

    @Test func `whoever does not ask for a GRUU gets none`() throws {
        let bench = ServerBench { $0.givesGRUU = true }
        let contact = "<sip:alice@192.0.2.1>;+sip.instance=\"<\(Self.instance)>\""
        let answer = try bench.register(bench.peer("p"), "alice", contacts: [contact])
        #expect(answer.contacts.first?.publicGRUU == nil)
    }
}
