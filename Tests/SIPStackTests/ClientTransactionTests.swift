// SPDX-License-Identifier: Apache-2.0
//
// Client transactions in a stack, in virtual time.

import Essentials
import SIP
import SIPAgent
import Testing

@Suite("Client transactions") struct ClientTransactionTests {
    @Test("An INVITE that nobody answers is sent at 0, 0.5, 1.5, 3.5, 7.5, 15.5 and 31.5 s and times out at 32 s")
    func timersAAndB() throws {
        let bench = Bench()
        let id = bench.send(try outgoing(.invite))
        #expect(bench.sent.count == 1)
        #expect(bench.pass(.milliseconds(31_999)) == [500, 1500, 3500, 7500, 15500, 31500])
        #expect(bench.failures.isEmpty)
        bench.pass(.milliseconds(1))
        #expect(bench.failures.map(\.0) == [id] && bench.failures.map(\.1) == [.timedOut])
        #expect(bench.ended == [id])
        #expect(bench.isQuiet)
        #expect(bench.stack.counters[.requestRetransmissions] == 6 && bench.stack.counters[.timeouts] == 1)
        #expect(Set(bench.sent.map(\.octets)).count == 1, "a retransmission is the same message")
    }

    @Test("A BYE that nobody answers is sent at intervals up to T2 and times out at 32 s")
    func timersEAndF() throws {
        let bench = Bench()
        let id = bench.send(try outgoing(.bye))
        #expect(bench.pass(.seconds(40)) == [500, 1500, 3500, 7500, 11500, 15500, 19500, 23500, 27500, 31500])
        #expect(bench.failures.map(\.0) == [id])
        #expect(bench.isQuiet)
    }

    @Test(
        "A response with our branch but another Call-ID or CSeq number is none of ours",
        arguments: [("Call-ID: o1", "Call-ID: o2"), ("CSeq: 1 ", "CSeq: 2 ")])
    func forgedResponse(part: String, other: String) throws {
        let bench = Bench()
        _ = bench.send(try outgoing(.invite))
        let message = try #require(bench.sent.last?.message)
        let answer = String(decoding: message.makeResponse(status: 200, toTag: "t").build().bytes, as: UTF8.self)
        #expect(answer.contains(part))
        bench.receive(Array(answer.replacing(part, with: other).utf8))
        bench.receive(Array(answer.replacing(message.topVia.branch ?? "?", with: "z9hG4bKother").utf8))
        #expect(bench.responses.isEmpty && bench.stack.counters[.mismatchedResponses] == 1 && bench.stack.counters[.strayResponses] == 1)
        bench.receive(Array(answer.utf8), from: SocketAddress(.v4(0xc000_0299), 5062))
        #expect(bench.responses == [200], "a server with several addresses may answer from another one")
        // The same 2xx with other To tags is that of other forks (§13.2.2.4).
        for tag in ["u", "v", "t"] { bench.receive(message.makeResponse(status: 200, toTag: tag).build().bytes) }
        #expect(bench.responses == [200, 200, 200, 200])
        bench.pass(.seconds(64))
        #expect(bench.isQuiet)
    }

    @Test("The stack puts one Via with branch and rport on top and changes nothing else")
    func topVia() throws {
        let bench = Bench()
        var builder = try outgoing(.options)
        builder.add(.via, "SIP/2.0/UDP 192.0.2.9;branch=z9hG4bKbelow")
        _ = bench.send(builder)
        let message = try #require(bench.sent.first?.message)
        #expect(message.vias.count == 2)
        #expect(message.topVia.host == .address(here.ip) && message.topVia.port == 5060)
        #expect(message.topVia.hasRport && message.topVia.rport == nil)
        #expect(message.topVia.branch?.hasPrefix("z9hG4bK") == true)
        #expect(message.vias.last?.branch == "z9hG4bKbelow")
        #expect(bench.sent.first?.to == there && bench.sent.first?.flow == socketFlow)
    }

    @Test("A refused INVITE is acknowledged on the same branch with the To tag of the response, for each repeat")
    func acknowledging() throws {
        let bench = Bench()
        var builder = try outgoing(.invite)
        builder.add(.route, "<sip:proxy.example.net;lr>")
        let id = bench.send(builder)
        let invite = try #require(bench.sent.first?.message)
        bench.answer(180)
        bench.answer(486, to: 0)
        bench.answer(486, to: 0)
        #expect(bench.responses == [180, 486])
        let acks = bench.sent.compactMap(\.message).filter { $0.method == .ack }
        #expect(acks.count == 2)
        for ack in acks {
            #expect(ack.topVia == invite.topVia && ack.vias.count == 1)
            #expect(ack.to.tag == "t1" && ack.callID == invite.callID && ack.cseq == CSeq(number: 1, method: .ack))
            #expect(ack.requestURI == invite.requestURI && ack.routes == invite.routes && ack.from == invite.from)
        }
        bench.pass(.milliseconds(31_999))
        #expect(bench.ended.isEmpty)
        bench.pass(.milliseconds(1))
        #expect(bench.ended == [id], "timer D")
        #expect(bench.isQuiet)
    }

    @Test("Each 2xx of a fork reaches the user until timer M; later ones are stray")
    func accepted() throws {
        let bench = Bench()
        let id = bench.send(try outgoing(.invite))
        bench.answer(200, toTag: "x", to: 0)
        bench.answer(200, toTag: "y", to: 0)
        bench.answer(200, toTag: "x", to: 0)
        #expect(bench.responses == [200, 200, 200])
        #expect(bench.sent.count == 1, "the ACK of a 2xx is the user's")
        bench.pass(.seconds(32))
        #expect(bench.ended == [id])
        bench.answer(200, toTag: "x", to: 0)
        #expect(bench.responses.count == 3 && bench.stack.counters[.strayResponses] == 1)
        #expect(bench.isQuiet)
    }

    @Test("A response must have the branch and the method of the request")
    func matching() throws {
        let bench = Bench()
        _ = bench.send(try outgoing(.options))
        let message = try #require(bench.sent.first?.message)
        var other = message.makeResponse(status: 200, toTag: "t")
        other.set(.cseq, "1 BYE")
        bench.receive(other.build().bytes)
        var strange = message.makeResponse(status: 200, toTag: "t")
        strange.set(.via, "SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bKnotours")
        bench.receive(strange.build().bytes)
        #expect(bench.responses.isEmpty && bench.stack.counters[.strayResponses] == 2)
        bench.answer(200, to: 0)
        #expect(bench.responses == [200])
        bench.answer(200, to: 0)
        #expect(bench.responses == [200], "timer K absorbs the repeat")
        bench.pass(.seconds(5))
        #expect(bench.isQuiet)
    }

    @Test("CANCEL waits for a provisional response, carries the INVITE's Via and To, and the 487 comes as usual")
    func cancelWaits() throws {
        let bench = Bench()
        let id = bench.send(try outgoing(.invite))
        bench.stack.cancel(id, headers: [(.reason, "SIP;cause=200")], now: bench.now)
        bench.drain()
        #expect(bench.sent.count == 1)
        bench.answer(100, to: 0)
        #expect(bench.sent.count == 2)
        let invite = try #require(bench.sent[0].message)
        let cancel = try #require(bench.sent[1].message)
        #expect(cancel.method == .cancel && cancel.topVia == invite.topVia && cancel.to == invite.to)
        #expect(cancel.cseq == CSeq(number: 1, method: .cancel) && cancel.requestURI == invite.requestURI)
        #expect(cancel.first(.reason) == "SIP;cause=200")
        bench.answer(200, to: 1)
        bench.answer(487, to: 0)
        #expect(bench.responses == [100, 487], "the answer to the CANCEL stays in the stack")
        bench.pass(.seconds(40))
        #expect(bench.isQuiet && bench.ended == [id] && bench.failures.isEmpty)
    }

    @Test("A cancelled INVITE without final response ends 64 T1 later; a CANCEL after the final response is not sent")
    func cancelLimits() throws {
        let bench = Bench()
        let id = bench.send(try outgoing(.invite))
        bench.answer(180, to: 0)
        bench.stack.cancel(id, now: bench.now)
        bench.drain()
        #expect(bench.sent.count == 2)
        bench.pass(.seconds(33))
        #expect(bench.failures.map(\.0) == [id] && bench.isQuiet)
        let other = bench.send(try outgoing(.invite, callID: "o2"))
        bench.answer(200)
        let before = bench.sent.count
        bench.stack.cancel(other, now: bench.now)
        bench.drain()
        #expect(bench.sent.count == before)
    }

    @Test("B-022: an unreachable target fails the request at once, so that the next one can be tried with a new branch")
    func sendFailed() throws {
        let bench = Bench()
        let id = bench.send(try outgoing(.invite))
        bench.input(.sendFailed(socketFlow, to: there, .refused))
        #expect(bench.failures.map(\.0) == [id] && bench.failures.map(\.1) == [.transport(.refused)])
        #expect(bench.isQuiet && bench.stack.counters[.transportFailures] == 1)
        let second = SocketAddress(.v4(0xc000_0203), 5060)
        _ = bench.send(try outgoing(.invite), SignallingTarget(.udp, second))
        #expect(bench.sent.last?.to == second)
        #expect(bench.sent[0].message?.topVia.branch != bench.sent[1].message?.topVia.branch)
    }

    @Test("A failure report for a request that was answered is nothing")
    func lateSendFailure() throws {
        let bench = Bench()
        _ = bench.send(try outgoing(.invite))
        bench.answer(180, to: 0)
        bench.input(.sendFailed(socketFlow, to: there, .refused))
        #expect(bench.failures.isEmpty)
    }

    @Test("Without an open socket a request fails by event")
    func noSocket() throws {
        let bench = Bench(opens: false)
        let id = bench.send(try outgoing(.options))
        #expect(bench.failures.map(\.0) == [id] && bench.ended == [id] && bench.isQuiet)
        #expect(bench.stack.counters[.noFlow] == 1)
    }

    @Test("More client transactions than the limit fail by event and are counted")
    func clientLimit() throws {
        var configuration = StackConfiguration()
        configuration.clientTransactions = 2
        let bench = Bench(configuration)
        for number in 0..<3 { _ = bench.send(try outgoing(.options, callID: "o\(number)")) }
        #expect(bench.failures.map(\.1) == [.transport(.limit)] && bench.stack.counters[.clientLimit] == 1)
        #expect(bench.stack.transactionCount == 2)
    }

    @Test("An ACK of a 2xx has a branch of its own and no transaction, and can be sent again as it was")
    func acknowledging2xx() throws {
        let bench = Bench()
        let ack = try #require(bench.stack.sendACK(try outgoing(.ack), to: SignallingTarget(.udp, there), now: bench.now))
        bench.stack.resend(ack, to: SignallingTarget(.udp, there), now: bench.now)
        bench.drain()
        #expect(bench.sent.count == 2 && bench.sent[0].octets == bench.sent[1].octets)
        #expect(bench.isQuiet)
    }
}
