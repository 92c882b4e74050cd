// SPDX-License-Identifier: Apache-2.0
//
// Registrations of flows (RFC 5626 §6), and STUN on the port of SIP (§8).

import Essentials
import HandsetTestKit
import SIP
import SIPAgent
import SIPServer
import STUN
import Testing

private let device = "+sip.instance=\"<urn:uuid:00000000-0000-1000-8000-AABBCCDDEEFF>\""

@Suite struct FlowRegistrationTests {
    private func register(_ bench: ServerBench, _ peer: ScriptedPeer, _ contact: String, supported: String? = "path, outbound") throws
        -> SIPMessage
    {
        var request = bench.registerRequest(peer, "alice", contacts: [contact], expires: "600")
        if let supported { request.add(.supported, supported) }
        return try bench.exchange(peer, request)
    }

    @Test func `a flow that is registered again takes the place of its binding, though the address is another`() throws {
        let bench = ServerBench()
        let peer = bench.peer("p")
        let first = try register(bench, peer, "<sip:alice@\(peer.address)>;reg-id=1;\(device)")
        #expect(first.statusCode == 200 && first.require == ["outbound"] && first.first(.flowTimer) == "120")
        let second = try register(bench, peer, "<sip:alice@192.0.2.99:7777>;reg-id=1;\(device)")
        #expect(bench.contacts(second) == ["sip:alice@192.0.2.99:7777"])
        // Another flow of the device is another binding.
        let third = try register(bench, peer, "<sip:alice@192.0.2.99:8888>;reg-id=2;\(device)")
        #expect(third.contacts.count == 2)
        // It is called over the flow, not at the address that it gives.
        let binding = try #require(bench.server.machine.bindings(of: "alice", now: bench.world.now).first)
        #expect(binding.flowName == FlowName(instance: "urn:uuid:00000000-0000-1000-8000-AABBCCDDEEFF", number: 1))
        let caller = bench.peer("c")
        caller.send(bench.invite(caller, "alice"), to: bench.address)
        bench.world.run(for: .seconds(1))
        #expect(!bench.requests(peer, .invite).isEmpty)
    }

    @Test(
        arguments: [
            (";reg-id=1;\(device)", nil), (";reg-id=1;\(device)", "path"), (";reg-id=0;\(device)", "outbound"), (";reg-id=1", "outbound"),
            (";\(device)", "outbound"),
        ] as [(String, String?)]) func `without both parameters and the option tag it is a registration as usual`(
            parameters: String, supported: String?
        ) throws
    {
        let bench = ServerBench()
        let peer = bench.peer("p")
        let answer = try register(bench, peer, "<sip:alice@\(peer.address)>\(parameters)", supported: supported)
        #expect(answer.statusCode == 200 && answer.require.isEmpty && answer.first(.flowTimer) == nil)
        #expect(bench.server.machine.bindings(of: "alice", now: bench.world.now).first?.flowName == nil)
    }

    @Test func `STUN on the SIP port is answered with the address that the packet came from, and to nobody else`() throws {
        let bench = ServerBench()
        let nat = bench.world.addNAT("nat")
        let host = bench.world.addHost("inner", behind: nat)
        var answers: [STUNMessage] = []
        let local = try #require(
            host.bind(port: 5060) { bytes, _ in
                if let message = try? STUNMessage(parsing: bytes) { answers.append(message) }
            })
        let transaction = STUNTransactionID(high: 3, low: 4)
        host.send(STUNBinding.request(transaction), from: local, to: bench.address)
        bench.world.run(for: .seconds(1))
        #expect(answers.count == 1 && answers.first?.transaction == transaction)
        #expect(answers.first?.mappedAddress?.ip == nat.publicAddress)
        // Neither a response nor what is broken is answered.
        host.send(STUNMessageBuilder(.success, transaction: transaction).build(), from: local, to: bench.address)
        host.send([0, 1, 0, 99] + STUNBinding.request(transaction).dropFirst(4), from: local, to: bench.address)
        bench.world.run(for: .seconds(1))
        #expect(answers.count == 1)
        #expect(bench.server.machine.leftovers.isEmpty)
    }
}
