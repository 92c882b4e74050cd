// SPDX-License-Identifier: Apache-2.0
//
// Server transactions in a stack, in virtual time.

import Essentials
import SIP
import SIPAgent
import Testing

@Suite("Server transactions") struct ServerTransactionTests {
    @Test("100 is sent after 200 ms without a To tag, and is repeated for each repeat of the INVITE")
    func trying() throws {
        let bench = Bench()
        bench.receive(request("INVITE"))
        #expect(bench.requests.count == 1 && bench.sent.isEmpty)
        bench.receive(request("INVITE"))
        #expect(bench.sent.isEmpty)
        #expect(bench.pass(.milliseconds(300)) == [200])
        let trying = try #require(bench.sent.first?.message)
        #expect(trying.statusCode == 100 && trying.to.tag == nil && trying.cseq.method == .invite)
        bench.receive(request("INVITE"))
        #expect(bench.sent.count == 2 && bench.sent[1].octets == bench.sent[0].octets)
        #expect(bench.requests.count == 1 && bench.stack.counters[.repeatsAbsorbed] == 2)
    }

    @Test("A quick answer takes the place of 100; a setting sends 100 at once")
    func quickAnswer() throws {
        let bench = Bench()
        bench.receive(request("INVITE"))
        bench.respond(bench.requests[0].1, 180)
        bench.pass(.seconds(1))
        #expect(bench.sent.compactMap(\.status) == [180])
        var configuration = StackConfiguration()
        configuration.times.tryingDelay = .zero
        let hasty = Bench(configuration)
        hasty.receive(request("INVITE"))
        #expect(hasty.sent.compactMap(\.status) == [100] && hasty.requests.count == 1)
    }

    @Test("A refusal is sent at 0, 0.5, 1.5, 3.5, 7.5 … 31.5 s until an ACK, which stays in the stack")
    func timerG() throws {
        let bench = Bench()
        bench.receive(request("INVITE"))
        let id = bench.requests[0].1
        bench.respond(id, 486)
        #expect(bench.pass(.seconds(8)) == [500, 1500, 3500, 7500])
        bench.receive(request("INVITE"))
        #expect(bench.sent.count == 6, "each repeat of the INVITE is answered too")
        bench.receive(request("ACK", to: ";tag=b1", cseqMethod: "ACK"))
        bench.receive(request("ACK", to: ";tag=b1", cseqMethod: "ACK"))
        #expect(bench.pass(.seconds(4)).isEmpty && bench.acks.isEmpty)
        bench.pass(.seconds(1))
        #expect(bench.ended == [id] && bench.isQuiet, "timer I")
    }

    @Test("Without an ACK timer H ends the refusal and the user is told")
    func timerH() throws {
        let bench = Bench()
        bench.receive(request("INVITE"))
        let id = bench.requests[0].1
        bench.respond(id, 404)
        #expect(bench.pass(.seconds(40)) == [500, 1500, 3500, 7500, 11500, 15500, 19500, 23500, 27500, 31500])
        #expect(bench.failures.map(\.0) == [id] && bench.failures.map(\.1) == [.timedOut])
        #expect(bench.isQuiet)
    }

    @Test("RFC 6026: after a 2xx INVITEs are absorbed, the user repeats the 2xx, ACKs reach it, timer L ends it")
    func accepted() throws {
        let bench = Bench()
        bench.receive(request("INVITE"))
        let (message, id, _) = bench.requests[0]
        let response = try #require(bench.stack.respond(id, message.makeResponse(status: 200, toTag: "b1"), now: bench.now))
        bench.drain()
        bench.receive(request("INVITE"))
        #expect(bench.sent.count == 1 && bench.pass(.seconds(5)).isEmpty)
        bench.stack.respond(id, response, now: bench.now)
        bench.drain()
        #expect(bench.sent.count == 2 && bench.sent[0].octets == bench.sent[1].octets)
        bench.receive(request("ACK", branch: "z9hG4bKnew", to: ";tag=b1"))
        bench.receive(request("ACK", to: ";tag=b1"))
        #expect(bench.acks.count == 2 && bench.acks[0].1 == nil && bench.acks[1].1 == id)
        bench.respond(id, 486)
        #expect(bench.sent.count == 2 && bench.stack.counters[.unexpected] == 1)
        bench.pass(.seconds(32))
        #expect(bench.ended == [id] && bench.isQuiet)
    }

    @Test("A request other than INVITE is answered again for each repeat, until timer J")
    func timerJ() throws {
        let bench = Bench()
        bench.receive(request("OPTIONS"))
        bench.receive(request("OPTIONS"))
        #expect(bench.requests.count == 1 && bench.sent.isEmpty)
        let id = bench.requests[0].1
        bench.respond(id, 200)
        bench.receive(request("OPTIONS"))
        #expect(bench.sent.count == 2 && bench.sent[0].octets == bench.sent[1].octets)
        bench.pass(.milliseconds(31_999))
        #expect(bench.ended.isEmpty)
        bench.pass(.milliseconds(1))
        #expect(bench.ended == [id] && bench.isQuiet)
        bench.receive(request("OPTIONS"))
        #expect(bench.requests.count == 2, "after timer J it is a new request")
    }

    @Test("CANCEL is answered 200 with the INVITE's To tag and the user hears of it; without a match it is 481")
    func cancel() throws {
        let bench = Bench()
        bench.receive(request("INVITE"))
        let id = bench.requests[0].1
        bench.respond(id, 180, toTag: "ringing")
        bench.receive(request("CANCEL"))
        #expect(bench.cancelled == [id])
        let answer = try #require(bench.sent.last?.message)
        #expect(answer.statusCode == 200 && answer.cseq.method == .cancel && answer.to.tag == "ringing")
        bench.respond(id, 487, toTag: "ringing")
        bench.receive(request("CANCEL"))
        #expect(bench.cancelled.count == 1, "a repeat is absorbed")
        bench.receive(request("ACK", to: ";tag=ringing"))
        bench.receive(request("CANCEL", branch: "z9hG4bKnothing", callID: "c9"))
        #expect(bench.sent.last?.status == 481 && bench.stack.counters[.strayCancels] == 1)
        bench.pass(.seconds(33))
        #expect(bench.isQuiet)
    }

    @Test("A CANCEL that crosses the final response is answered 200 and changes nothing")
    func lateCancel() throws {
        let bench = Bench()
        bench.receive(request("INVITE"))
        bench.respond(bench.requests[0].1, 200)
        bench.receive(request("CANCEL"))
        #expect(bench.cancelled.isEmpty && bench.sent.last?.status == 200)
    }

    @Test("The same request over two paths is answered 482, unless the setting is a proxy's")
    func merged() throws {
        let bench = Bench()
        bench.receive(request("INVITE", branch: "z9hG4bKone"))
        bench.receive(request("INVITE", branch: "z9hG4bKtwo"))
        #expect(bench.requests.count == 1 && bench.sent.compactMap(\.status) == [482])
        #expect(bench.stack.counters[.mergedRequests] == 1)
        var configuration = StackConfiguration()
        configuration.detectsMergedRequests = false
        let proxy = Bench(configuration)
        proxy.receive(request("INVITE", branch: "z9hG4bKone"))
        proxy.receive(request("INVITE", branch: "z9hG4bKtwo"))
        #expect(proxy.requests.count == 2)
    }

    @Test("RFC 2543: without the magic cookie repeats, CANCEL and ACK are found by the header fields")
    func withoutCookie() throws {
        let bench = Bench()
        let via = "SIP/2.0/UDP 192.0.2.2:5060;branch=1"
        bench.receive(request("INVITE", via: via))
        bench.receive(request("INVITE", via: via))
        #expect(bench.requests.count == 1)
        bench.receive(request("CANCEL", via: via))
        #expect(bench.cancelled.count == 1)
        bench.respond(bench.requests[0].1, 487)
        bench.receive(request("ACK", via: via, to: ";tag=b1"))
        #expect(bench.acks.isEmpty)
        bench.receive(request("INVITE", via: via, callID: "c2"))
        #expect(bench.requests.count == 2)
    }

    @Test("Sent-by is part of the match: the same branch of another host is another transaction")
    func sentBy() throws {
        let bench = Bench()
        bench.receive(request("OPTIONS", via: "SIP/2.0/UDP host-a:5060;branch=z9hG4bKsame"))
        bench.receive(request("OPTIONS", via: "SIP/2.0/UDP host-b:5060;branch=z9hG4bKsame", callID: "c2"))
        bench.receive(request("OPTIONS", via: "SIP/2.0/UDP HOST-A:5060;branch=z9hG4bKsame"))
        #expect(bench.requests.count == 2)
    }

    @Test("Unanswered INVITEs of one unknown source are limited, answered 503 and counted; an exempt source is not")
    func sourceLimit() throws {
        var configuration = StackConfiguration()
        configuration.unansweredInvitesPerSource = 3
        let bench = Bench(configuration)
        func invite(_ number: Int, from remote: SocketAddress = there) {
            bench.receive(request("INVITE", branch: "z9hG4bK\(number)", callID: "c\(number)"), from: remote)
        }
        for number in 0..<5 { invite(number) }
        #expect(bench.requests.count == 3 && bench.sent.compactMap(\.status) == [503, 503])
        #expect(bench.stack.counters[.sourceLimit] == 2)
        invite(10, from: SocketAddress(.v4(0xc000_0299), 5060))
        #expect(bench.requests.count == 4, "another source has its own")
        bench.respond(bench.requests[0].1, 200)
        invite(11)
        #expect(bench.requests.count == 5, "an answer makes room")
        bench.stack.exemptSources = [there.ip]
        invite(12)
        #expect(bench.requests.count == 6)
        bench.receive(request("INVITE", branch: "z9hG4bKre", to: ";tag=d", callID: "c13"))
        #expect(bench.requests.count == 7, "an established call is exempt")
    }

    @Test("More server transactions than the limit are answered 503 without state; an ACK never is")
    func serverLimit() throws {
        var configuration = StackConfiguration()
        configuration.serverTransactions = 2
        let bench = Bench(configuration)
        for number in 0..<4 { bench.receive(request("OPTIONS", branch: "z9hG4bK\(number)", callID: "c\(number)")) }
        bench.receive(request("ACK", branch: "z9hG4bKack", callID: "c9"))
        #expect(bench.requests.count == 2 && bench.sent.compactMap(\.status) == [503, 503])
        #expect(bench.sent.allSatisfy { $0.text.contains("Retry-After: ") })
        #expect(bench.stack.counters[.serverLimit] == 2 && bench.stack.transactionCount == 2)
    }

    @Test("A request refused for its form is answered without state; a malformed ACK or response is not")
    func refused() throws {
        let bench = Bench()
        bench.receive(request("OPTIONS", cseqMethod: "INVITE"))
        #expect(bench.sent.compactMap(\.status) == [400] && bench.requests.isEmpty && bench.isQuiet)
        #expect(bench.stack.counters[.refused] == 1)
        bench.receive(request("ACK", cseqMethod: "INVITE"))
        bench.receive(Array("SIP/2.0 200 OK\r\nVia: nonsense\r\n\r\n".utf8))
        bench.receive(Array("hello".utf8))
        bench.receive([0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42])
        #expect(bench.sent.count == 1 && bench.events.isEmpty)
        #expect(bench.stack.counters[.dropped] == 3 && bench.stack.counters[.stunDatagrams] == 1)
    }
}
