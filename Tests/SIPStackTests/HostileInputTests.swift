// SPDX-License-Identifier: Apache-2.0
//
// Anything in any state: nothing traps, nothing is sent to an address that only a message names, no response or ACK is
// answered, and when it is quiet again nothing is left over.

import Essentials
import SIP
import SIPAgent
import Testing

/// Throws mutated messages, pieces of streams and reports of the world at a stack whose user answers at random.
private final class Storm {
    let bench: Bench
    let random: RandomSource
    let sources = [there, SocketAddress(.v4(0xc000_0299), 5062), SocketAddress(.v4(0x7f00_0001), 0)]
    var openFlows: [FlowID] = []
    var nextFlow: UInt64 = 101

    init(seed: UInt64) {
        random = seeded(seed)
        bench = Bench(seed: seed)
    }

    private func pick<T>(_ items: [T]) -> T { items[random.integer(in: 0...(items.count - 1))] }

    private func message() -> [UInt8] {
        let branch = "z9hG4bK\(random.integer(in: 0...6))"
        let callID = "c\(random.integer(in: 0...3))"
        if random.integer(in: 0...3) == 0, let sent = bench.sent.last(where: { $0.method != nil })?.message {
            return sent.makeResponse(status: pick([100, 180, 200, 302, 404, 487, 503, 699]), toTag: pick(["a", "b"])).build().bytes
        }
        let via = pick([
            "SIP/2.0/UDP 192.0.2.2:5060;branch=\(branch)", "SIP/2.0/UDP 203.0.113.66;rport;branch=\(branch)",
            "SIP/2.0/TCP victim.example:0;maddr=203.0.113.67;branch=\(branch)", "SIP/2.0/UDP 192.0.2.2;branch=old",
            "SIP/2.0/SCTP [2001:db8::1]:1;branch=\(branch);received=203.0.113.68, SIP/2.0/UDP 203.0.113.69",
        ])
        return request(
            pick(["INVITE", "ACK", "BYE", "CANCEL", "OPTIONS", "REGISTER", "FOO"]), via: via, to: pick(["", ";tag=b1"]),
            callID: callID, cseq: random.integer(in: 0...2))
    }

    private func mutated(_ octets: [UInt8]) -> [UInt8] {
        var octets = octets
        for _ in 0..<random.integer(in: 0...3) where !octets.isEmpty {
            let place = random.integer(in: 0...(octets.count - 1))
            switch random.integer(in: 0...4) {
            case 0: octets[place] = UInt8(truncatingIfNeeded: random.next())
            case 1: octets.remove(at: place)
            case 2: octets.insert(pick([13, 10, 0, 44, 59, 34, 255]), at: place)
            case 3: octets.removeSubrange(place..<min(octets.count, place + random.integer(in: 1...40)))
            default: octets.insert(contentsOf: octets.prefix(random.integer(in: 1...60)), at: place)
            }
        }
        return octets
    }

    func step() throws {
        let before = bench.sent.count
        let eventsBefore = bench.events.count
        switch random.integer(in: 0...11) {
        case 0...5:
            let octets = random.integer(in: 0...2) == 0 ? mutated(message()) : message()
            let source = pick(sources)
            bench.receive(octets, from: source)
            for sent in bench.sent[before...] where sent.flow == socketFlow {
                if let response = sent.message, !response.isRequest {
                    #expect(sent.to.ip == source.ip || sources.contains { $0.ip == sent.to.ip })
                }
            }
            if case .message(let taken) = SIPMessage.receive(octets), !taken.isRequest || taken.method == .ack {
                let answers = bench.sent[before...].filter { $0.status != nil }
                #expect(answers.isEmpty, "an ACK or a response was answered")
            }
        case 6:
            let flow = FlowID(rawValue: nextFlow)
            nextFlow += 2
            openFlows.append(flow)
            bench.input(.accepted(flow, listener: pick([listenerFlow, FlowID(rawValue: 98)]), local: here, remote: pick(sources)))
        case 7:
            if let flow = openFlows.randomElement(using: &generator) {
                let octets = mutated(message())
                let cut = random.integer(in: 0...octets.count)
                bench.receive(Array(octets[..<cut]), on: flow)
                bench.receive(Array(octets[cut...]), on: flow)
            }
        case 8:
            let target = SignallingTarget(pick([.udp, .tcp, .tls]), pick(sources), flow: openFlows.last)
            _ = bench.send(try outgoing(pick([.invite, .bye, .options])), target)
        case 9:
            let flows = openFlows + bench.connects.map(\.0) + [socketFlow]
            let flow = pick(flows)
            switch random.integer(in: 0...2) {
            case 0: bench.input(.connected(flow, local: here))
            case 1: if flow != socketFlow { bench.input(.closed(flow, pick([.reset, .refused, .closedByPeer]))) }
            default: bench.input(.sendFailed(flow, to: pick(sources), .unreachable))
            }
        case 10: bench.pass(.milliseconds(Int64(random.integer(in: 0...3000))))
        default:
            if let (_, id, _) = bench.requests.last { bench.respond(id, pick([100, 180, 200, 200, 404, 500])) }
        }
        for event in bench.events[eventsBefore...] {
            if case .request(let message, let id, _) = event, random.integer(in: 0...1) == 0 {
                bench.respond(id, message.method == .invite ? pick([180, 200, 486]) : 200)
            }
        }
    }

    private lazy var generator = SplitMix64(seed: random.next())

    /// Answers what is still open and lets the timers run out.
    func calm() {
        for (_, id, _) in bench.requests { bench.respond(id, 500) }
        for (flow, _, _, _) in bench.connects { bench.input(.closed(flow, .closedByPeer)) }
        for flow in openFlows { bench.input(.closed(flow, .closedByPeer)) }
        bench.pass(.seconds(100))
        for (flow, _, _, _) in bench.connects { bench.input(.closed(flow, .closedByPeer)) }
        // INVITEs of ours that only got a provisional response wait for ever, as RFC 3261 wants: give them up.
        for event in bench.events { if case .response(_, let id, _) = event { bench.stack.cancel(id, now: bench.now) } }
        bench.drain()
        bench.pass(.seconds(100))
        for (flow, _, _, _) in bench.connects { bench.input(.closed(flow, .closedByPeer)) }
    }
}

@Suite("Hostile input") struct HostileInputTests {
    @Test("80 storms of 300 steps: no trap, no answer to an ACK or a response, nothing left over")
    func storms() throws {
        for seed in 0..<80 as Range<UInt64> {
            let storm = Storm(seed: seed)
            for _ in 0..<300 { try storm.step() }
            storm.calm()
            let stack = storm.bench.stack
            #expect(stack.transactionCount == 0, "seed \(seed)")
            #expect(stack.pendingTimerCount == 0 && stack.connectionCount == 0, "seed \(seed)")
        }
    }

    @Test("Octets of every length and value as a datagram and as a stream")
    func noise() {
        let random = seeded(99)
        let bench = Bench()
        let flow = FlowID(rawValue: 101)
        for _ in 0..<3_000 {
            let octets = (0..<random.integer(in: 0...80)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            bench.receive(octets)
            bench.input(.accepted(flow, listener: listenerFlow, local: here, remote: there))
            bench.receive(octets, on: flow)
            bench.input(.closed(flow, .closedByPeer))
        }
        #expect(bench.sent.allSatisfy { $0.text == "\r\n" } && bench.requests.isEmpty && bench.isQuiet)
    }

    @Test("A request keeps no memory beyond its transaction: keys, counts and timers go with it")
    func nothingKept() {
        let bench = Bench()
        for number in 0..<500 {
            bench.receive(request("INVITE", branch: "z9hG4bK\(number)", callID: "c\(number)"))
            bench.respond(bench.requests[number].1, number % 2 == 0 ? 200 : 404)
            bench.receive(request("ACK", branch: "z9hG4bK\(number)", to: ";tag=b1", callID: "c\(number)"))
        }
        bench.pass(.seconds(40))
        #expect(bench.ended.count == 500 && bench.isQuiet)
        bench.receive(request("INVITE", branch: "z9hG4bKagain", callID: "c1"))
        #expect(bench.requests.count == 501, "the merge key is gone too")
    }
}
