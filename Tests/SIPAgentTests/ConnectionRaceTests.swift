// SPDX-License-Identifier: Apache-2.0
//
// IPv6 and IPv4 side by side over TCP (RFC 8305), the agent alone.

import Crypto
import Essentials
import SIP
import SIPAgent
import Testing

/// An agent that registers over TCP at a name with an address of each family.
private final class RaceBench {
    let agent: UserAgent
    var now = MonotonicTime.zero
    var connects: [(flow: FlowID, to: SocketAddress)] = []
    var closes: [FlowID] = []
    var sends: [(flow: FlowID, message: SIPMessage)] = []
    var events: [UserAgentEvent] = []

    init(prefersIPv6: Bool = false, listensOnIPv6: Bool = true) {
        var configuration = UserAgentConfiguration()
        configuration.location.prefersIPv6 = prefersIPv6
        agent = UserAgent(configuration: configuration, cryptography: ToyCryptography(), random: RandomSource(SplitMix64(seed: 7)))
        agent.handle(.listening(FlowID(rawValue: 1), .tcp, local: SocketAddress(.v4(0xc000_0263), 5060)), now: now)
        if listensOnIPv6 {
            agent.handle(.listening(FlowID(rawValue: 3), .tcp, local: SocketAddress(.v6(0x2001_0db8_0000_0000, 99), 5060)), now: now)
        }
        agent.addAccount(
            AccountConfiguration(addressOfRecord: SIPURI(user: "1001", host: .name("example.net")), retryPolicy: .none), now: now)
        drain()
    }

    func drain() {
        while let effect = agent.nextEffect() {
            switch effect {
            case .resolve(let question):
                let result: DNSResult =
                    switch question.type {
                    case .a: .records([DNSRecord(.address(.v4(0xc000_0201)), timeToLive: 60)])
                    case .aaaa: .records([DNSRecord(.address(.v6(0x2001_0db8_0000_0000, 1)), timeToLive: 60)])
                    case .srv, .naptr: DNSResult.none
                    }
                agent.handle(DNSAnswer(question, result), now: now)
            case .transport(.connect(let flow, _, let to, _, _, _)): connects.append((flow, to))
            case .transport(.close(let flow)): closes.append(flow)
            case .transport(.send(let bytes, let flow, _)):
                if let message = try? SIPMessage(parsing: bytes) { sends.append((flow, message)) }
            case .checkNetwork: break
            case .event(let event): events.append(event)
            }
        }
    }

    func wait(_ milliseconds: Int64) {
        now = now + .milliseconds(milliseconds)
        agent.advance(to: now)
        drain()
    }

    func tell(_ input: TransportInput) {
        agent.handle(input, now: now)
        drain()
    }

    func connected(_ index: Int) { tell(.connected(connects[index].flow, local: SocketAddress(.v4(0xc000_0263), 40_000))) }
    func failed(_ index: Int, _ failure: FlowFailure = .refused) { tell(.closed(connects[index].flow, failure)) }
}

@Suite struct ConnectionRaceTests {
    @Test func `the second family is tried after 250 ms, and the request goes over the connection that is up first`() throws {
        let bench = RaceBench()
        #expect(bench.connects.map(\.to.ip.isV6) == [false])
        bench.wait(249)
        #expect(bench.connects.count == 1 && bench.sends.isEmpty)
        bench.wait(1)
        #expect(bench.connects.map(\.to.ip.isV6) == [false, true])
        bench.connected(1)
        #expect(bench.sends.map(\.flow) == [bench.connects[1].flow])
        #expect(bench.sends[0].message.method == .register)
        #expect(bench.closes == [bench.connects[0].flow])
        bench.failed(0, .closedLocally)
        #expect(bench.events.filter { if case .registration(_, .failed) = $0 { true } else { false } }.isEmpty)
        #expect(bench.agent.counters[.connectionRaces] == 1)
    }

    @Test func `a first connection that is quick stays alone`() throws {
        let bench = RaceBench(prefersIPv6: true)
        bench.wait(100)
        bench.connected(0)
        #expect(bench.sends.map(\.flow) == [bench.connects[0].flow])
        bench.wait(1000)
        #expect(bench.connects.map(\.to.ip.isV6) == [true] && bench.closes.isEmpty)
    }

    @Test func `a failure of the first begins the second at once`() throws {
        let bench = RaceBench()
        bench.wait(10)
        bench.failed(0)
        #expect(bench.connects.count == 2)
        bench.connected(1)
        #expect(bench.sends.count == 1 && bench.closes.isEmpty)
    }

    @Test func `both failed is a failure with the network's word`() throws {
        let bench = RaceBench()
        bench.wait(250)
        bench.failed(0, .unreachable)
        bench.failed(1, .refused)
        guard case .registration(_, .failed(let cause, _))? = bench.events.last else {
            Issue.record("not failed: \(bench.events)")
            return
        }
        #expect(cause.code == "registration.nothing-listens")
        #expect(bench.agent.requestCount == 0 && bench.agent.timerCount == 0)
    }

    @Test func `connections that never come up have a limit`() throws {
        let bench = RaceBench()
        bench.wait(250)
        for _ in 0..<10 { bench.wait(1000) }
        #expect(Set(bench.closes) == Set(bench.connects.map(\.flow)))
        guard case .registration(_, .failed(let cause, _))? = bench.events.last else {
            Issue.record("not failed: \(bench.events)")
            return
        }
        #expect(cause.code == "registration.no-response")
    }

    @Test func `without a listener of a family it is tried all the same, and gives way at once where it is not there`() throws {
        let bench = RaceBench(prefersIPv6: true, listensOnIPv6: false)
        #expect(bench.connects.map(\.to.ip.isV6) == [true])
        bench.failed(0, .unreachable)
        #expect(bench.connects.map(\.to.ip.isV6) == [true, false])
        bench.connected(1)
        #expect(bench.sends.map(\.flow) == [bench.connects[1].flow])
    }

    @Test func `taking the registration back ends the race`() throws {
        let bench = RaceBench()
        bench.wait(250)
        bench.agent.unregister(AccountID(rawValue: 1), now: bench.now)
        bench.drain()
        for flow in bench.connects.map(\.flow) { bench.tell(.closed(flow, .closedLocally)) }
        bench.wait(4000)
        bench.wait(4000)
        bench.wait(4000)
        #expect(bench.agent.requestCount == 0 && bench.agent.timerCount == 0, "\(bench.agent.leftovers)")
    }
}
