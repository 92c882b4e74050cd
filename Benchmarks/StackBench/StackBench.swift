// SPDX-License-Identifier: Apache-2.0
//
// What the transport and transaction layers cost per call as callee: INVITE – 180 – 200 – ACK – BYE – 200 over UDP, parsing
// and writing included, the user of the stack being a few lines. `StackBench N` handles N calls; callgrind's count for
// two values of N gives the instructions of one.

import Essentials
import SIP
import SIPAgent

struct Generator: RandomNumberGenerator {
    var state: UInt64 = 1
    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state ^ state >> 29
    }
}

@main
struct StackBench {
    static let here = SocketAddress(.v4(0x7f00_0001), 5060)
    static let there = SocketAddress(.v4(0x7f00_0001), 5061)
    static let flow = FlowID(rawValue: 1)
    static let offer =
        "v=0\r\no=user1 53655765 2353687637 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 6000 RTP/AVP 0\r\na=rtpmap:0 PCMU/8000\r\n"

    static func request(_ method: String, _ number: Int, branch: Int, cseq: Int, toTag: Bool, body: String = "") -> [UInt8] {
        var text = "\(method) sip:service@127.0.0.1:5060 SIP/2.0\r\n"
        text += "Via: SIP/2.0/UDP 127.0.0.1:5061;branch=z9hG4bK-4711-\(number)-\(branch)\r\n"
        text += "From: sipp <sip:sipp@127.0.0.1:5061>;tag=4711SIPpTag00\(number)\r\n"
        text += "To: service <sip:service@127.0.0.1:5060>" + (toTag ? ";tag=b\(number)" : "") + "\r\n"
        text += "Call-ID: \(number)-4711@127.0.0.1\r\nCSeq: \(cseq) \(method)\r\nContact: sip:sipp@127.0.0.1:5061\r\n"
        text += "Max-Forwards: 70\r\nSubject: Performance Test\r\n"
        if !body.isEmpty { text += "Content-Type: application/sdp\r\n" }
        text += "Content-Length: \(body.utf8.count)\r\n\r\n" + body
        return Array(text.utf8)
    }

    static func main() {
        let calls = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 1000
        let stack = SIPStack(random: RandomSource(Generator()))
        var now = MonotonicTime.zero
        stack.handle(.listening(flow, .udp, local: here), now: now)
        var octets = 0
        for number in 0..<calls {
            let messages = [
                request("INVITE", number, branch: 0, cseq: 1, toTag: false, body: offer),
                request("ACK", number, branch: 5, cseq: 1, toTag: true), request("BYE", number, branch: 7, cseq: 2, toTag: true),
            ]
            for message in messages {
                now += .milliseconds(20)
                stack.advance(to: now)
                stack.handle(.received(message, flow, from: there), now: now)
                octets += answer(stack, number, now)
            }
        }
        now += .seconds(100)
        stack.advance(to: now)
        while stack.nextEvent() != nil {}
        print("\(calls) calls, \(octets) octets sent, \(stack.transactionCount) transactions left")
    }

    static func answer(_ stack: SIPStack, _ number: Int, _ now: MonotonicTime) -> Int {
        while let event = stack.nextEvent() {
            guard case .request(let message, let id, _) = event else { continue }
            if message.method == .invite {
                stack.respond(id, message.makeResponse(status: 180, toTag: "b"), now: now)
                var response = message.makeResponse(status: 200, toTag: "b")
                response.add(.contact, "<sip:service@127.0.0.1:5060>")
                response.setBody(Array(offer.utf8), type: "application/sdp")
                stack.respond(id, response, now: now)
            } else {
                stack.respond(id, message.makeResponse(status: 200), now: now)
            }
        }
        var octets = 0
        while let effect = stack.nextEffect() {
            if case .send(let message, _, _) = effect { octets += message.count }
        }
        return octets
    }
}
