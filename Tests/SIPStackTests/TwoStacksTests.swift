// SPDX-License-Identifier: Apache-2.0
//
// Two stacks joined by a link that loses, repeats and delays datagrams; all from one seed.

import Essentials
import SIP
import SIPAgent
import Testing

/// A caller and a callee on one link, with a transaction user of a few lines on each side.
private final class Pair {
    struct Packet {
        var time: MonotonicTime
        var order: Int
        var toCallee: Bool
        var octets: [UInt8]
    }

    let caller = SIPStack(random: seeded(1))
    let callee = SIPStack(random: seeded(2))
    let link: RandomSource
    let loss: Double
    var now = MonotonicTime.zero
    var packets: [Packet] = []
    var order = 0
    var trace: [String] = []
    /// Call-ID → what the caller got; what the callee saw.
    var answered: [String] = []
    var byes: [String] = []
    var confirmed: [String] = []
    var failed: [String] = []
    private var acks: [String: MessageBuilder] = [:]
    private var requests: [TransactionID: String] = [:]
    /// 2xx that wait for their ACK: repeated by the callee's user (RFC 3261 §13.3.1.4).
    private var waiting: [(callID: String, id: TransactionID, response: SIPMessage, next: MonotonicTime, interval: Interval)] = []
    private let refuses: Bool

    init(seed: UInt64, loss: Double, refuses: Bool = false) {
        link = seeded(seed)
        self.loss = loss
        self.refuses = refuses
        caller.handle(.listening(socketFlow, .udp, local: here), now: now)
        callee.handle(.listening(socketFlow, .udp, local: there), now: now)
    }

    func call(_ callID: String) throws {
        requests[caller.sendRequest(try outgoing(.invite, callID: callID), to: SignallingTarget(.udp, there), now: now)] = callID
    }

    private func carry(_ stack: SIPStack, toCallee: Bool) {
        while let effect = stack.nextEffect() {
            guard case .send(let octets, _, let to) = effect else { continue }
            #expect(to == (toCallee ? there : here), "nothing goes elsewhere")
            trace.append("\(now.nanoseconds) \(toCallee) \(String(decoding: octets, as: UTF8.self))")
            if link.fraction() < loss { continue }
            for _ in 0..<(link.fraction() < 0.05 ? 2 : 1) {
                order += 1
                let delay = Interval.milliseconds(Int64(link.integer(in: 5...80)))
                packets.append(Packet(time: now + delay, order: order, toCallee: toCallee, octets: octets))
            }
        }
    }

    private func settle() throws {
        while let event = caller.nextEvent() {
            switch event {
            case .response(let message, let id, _):
                if message.statusCode >= 200, message.cseq.method == .invite {
                    let callID = message.callID
                    if message.statusCode < 300 {
                        var ack = try outgoing(.ack, callID: callID)
                        ack.set(.to, "<sip:bob@192.0.2.2>;tag=\(message.to.tag ?? "")")
                        caller.sendACK(ack, to: SignallingTarget(.udp, there), now: now)
                        if !answered.contains(callID) {
                            answered.append(callID)
                            var bye = try outgoing(.bye, callID: callID, cseq: 2)
                            bye.set(.to, "<sip:bob@192.0.2.2>;tag=\(message.to.tag ?? "")")
                            requests[caller.sendRequest(bye, to: SignallingTarget(.udp, there), now: now)] = callID
                        }
                    } else {
                        answered.append("\(callID) \(message.statusCode)")
                    }
                }
                _ = id
            case .failed(let id, _): failed.append(requests[id] ?? "?")
            case .request, .ack, .cancelled, .strayResponse, .ended, .flowClosed, .connected, .keepAlive, .listening, .notice: break
            }
        }
        while let event = callee.nextEvent() {
            switch event {
            case .request(let message, let id, _):
                let isInvite = message.method == .invite
                if !isInvite {
                    byes.append(message.callID)
                    waiting.removeAll { $0.callID == message.callID }
                }
                let response = message.makeResponse(status: isInvite && refuses ? 486 : 200, toTag: "b")
                guard let sent = callee.respond(id, response, now: now), isInvite, !refuses else { break }
                waiting.append((message.callID, id, sent, now + .milliseconds(500), .milliseconds(500)))
            case .ack(let message, _, _):
                if !confirmed.contains(message.callID) { confirmed.append(message.callID) }
                waiting.removeAll { $0.callID == message.callID }
            case .failed: failed.append("callee")
            case .response, .cancelled, .strayResponse, .ended, .flowClosed, .connected, .keepAlive, .listening, .notice: break
            }
        }
        carry(caller, toCallee: true)
        carry(callee, toCallee: false)
    }

    func run() throws {
        try settle()
        while true {
            let arrival = packets.min { ($0.time, $0.order) < ($1.time, $1.order) }
            let times = [arrival?.time, caller.nextDeadline, callee.nextDeadline, waiting.map(\.next).min()].compactMap { $0 }
            guard let next = times.min() else { return }
            now = max(now, next)
            if let arrival, arrival.time <= now {
                packets.removeAll { $0.order == arrival.order }
                let stack = arrival.toCallee ? callee : caller
                stack.handle(.received(arrival.octets, socketFlow, from: arrival.toCallee ? here : there), now: now)
            }
            caller.advance(to: now)
            callee.advance(to: now)
            for index in waiting.indices where waiting[index].next <= now {
                callee.respond(waiting[index].id, waiting[index].response, now: now)
                waiting[index].interval = min(waiting[index].interval * 2, .seconds(4))
                waiting[index].next = now + waiting[index].interval
            }
            waiting.removeAll { callee.transactionCount == 0 && $0.next > now }
            try settle()
        }
    }

    var isQuiet: Bool {
        [caller, callee].allSatisfy { $0.pendingTimerCount == 0 && $0.transactionCount == 0 }
    }
}

@Suite("Two stacks on a bad link") struct TwoStacksTests {
    @Test(
        "With up to 20 % loss, repeats and reordering every call is set up and cleared once, and nothing is left over",
        arguments: [0, 0.05, 0.2])
    func calls(loss: Double) throws {
        for seed in 0..<20 as Range<UInt64> {
            let pair = Pair(seed: seed, loss: loss)
            for number in 0..<10 { try pair.call("call-\(number)") }
            try pair.run()
            #expect(pair.answered.sorted() == (0..<10).map { "call-\($0)" }, "seed \(seed)")
            #expect(pair.byes.sorted() == pair.answered.sorted(), "each BYE once, seed \(seed)")
            #expect(pair.failed.isEmpty && pair.isQuiet, "seed \(seed)")
        }
    }

    @Test("Refusals come through once, acknowledged by the stack", arguments: [0, 0.2])
    func refusals(loss: Double) throws {
        for seed in 0..<20 as Range<UInt64> {
            let pair = Pair(seed: seed, loss: loss, refuses: true)
            for number in 0..<10 { try pair.call("call-\(number)") }
            try pair.run()
            #expect(pair.answered.sorted() == (0..<10).map { "call-\($0) 486" }, "seed \(seed)")
            #expect(pair.failed.isEmpty && pair.isQuiet && pair.confirmed.isEmpty, "seed \(seed)")
        }
    }

    @Test("A dead link ends everything by the timers")
    func dead() throws {
        let pair = Pair(seed: 1, loss: 1)
        try pair.call("lost")
        try pair.run()
        #expect(pair.failed == ["lost"] && pair.isQuiet && pair.now == .zero + .seconds(32))
    }

    @Test("The same seed gives the same trace")
    func determinism() throws {
        func trace() throws -> [String] {
            let pair = Pair(seed: 42, loss: 0.2)
            for number in 0..<10 { try pair.call("call-\(number)") }
            try pair.run()
            return pair.trace
        }
        let first = try trace()
        #expect(first.count > 60)
        #expect(try trace() == first)
    }
}
