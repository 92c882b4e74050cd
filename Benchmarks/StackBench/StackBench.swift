// SPDX-License-Identifier: Apache-2.0
//
// What the transport and transaction layers cost per call as callee: INVITE – 180 – 200 – ACK – BYE – 200 over UDP, parsing
// and writing included, the user of the stack being a few lines. `StackBench N` handles N calls; `StackBench N agent` has
// the whole user agent behind them. callgrind's count for two values of N gives the instructions of one call; those of
// making the requests (`StackBench N none`) are to be taken off.

import Crypto
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

    static func request(_ method: String, _ number: Int, branch: Int, cseq: Int, toTag: String?, body: String = "") -> [UInt8] {
        var text = "\(method) sip:service@127.0.0.1:5060 SIP/2.0\r\n"
        text += "Via: SIP/2.0/UDP 127.0.0.1:5061;branch=z9hG4bK-4711-\(number)-\(branch)\r\n"
        text += "From: sipp <sip:sipp@127.0.0.1:5061>;tag=4711SIPpTag00\(number)\r\n"
        text += "To: service <sip:service@127.0.0.1:5060>" + (toTag.map { ";tag=" + $0 } ?? "") + "\r\n"
        text += "Call-ID: \(number)-4711@127.0.0.1\r\nCSeq: \(cseq) \(method)\r\nContact: sip:sipp@127.0.0.1:5061\r\n"
        text += "Max-Forwards: 70\r\nSubject: Performance Test\r\n"
        if !body.isEmpty { text += "Content-Type: application/sdp\r\n" }
        text += "Content-Length: \(body.utf8.count)\r\n\r\n" + body
        return Array(text.utf8)
    }

    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        let calls = arguments.first.flatMap { Int($0) } ?? 1000
        switch arguments.dropFirst().first {
        case "agent": agent(calls)
        case "none": messages(calls)
        default: stack(calls)
        }
    }

    static func messages(_ calls: Int) {
        var octets = 0
        for number in 0..<calls {
            octets += request("INVITE", number, branch: 0, cseq: 1, toTag: nil, body: offer).count
            octets += request("ACK", number, branch: 5, cseq: 1, toTag: "b").count
            octets += request("BYE", number, branch: 7, cseq: 2, toTag: "b").count
        }
        print("\(calls) calls, \(octets) octets made")
    }

    static func stack(_ calls: Int) {
        let stack = SIPStack(random: RandomSource(Generator()))
        var now = MonotonicTime.zero
        stack.handle(.listening(flow, .udp, local: here), now: now)
        var octets = 0
        func take(_ message: [UInt8], _ number: Int) {
            now += .milliseconds(20)
            stack.advance(to: now)
            stack.handle(.received(message, flow, from: there), now: now)
            octets += answer(stack, number, now)
        }
        for number in 0..<calls {
            take(request("INVITE", number, branch: 0, cseq: 1, toTag: nil, body: offer), number)
            take(request("ACK", number, branch: 5, cseq: 1, toTag: "b"), number)
            take(request("BYE", number, branch: 7, cseq: 2, toTag: "b"), number)
        }
        stack.advance(to: now + .seconds(100))
        while stack.nextEvent() != nil {}
        print("\(calls) calls, \(octets) octets sent, \(stack.transactionCount) transactions left")
    }

    struct NoCryptography: Cryptography {
        func hash(_ algorithm: HashAlgorithm, _ bytes: [UInt8]) -> [UInt8] { [] }
    }

    static func agent(_ calls: Int) {
        var configuration = UserAgentConfiguration()
        configuration.directCalls = .accept
        let agent = UserAgent(configuration: configuration, cryptography: NoCryptography(), random: RandomSource(Generator()))
        var now = MonotonicTime.zero
        var octets = 0
        var ended = 0
        var tag = "b"
        agent.handle(.listening(flow, .udp, local: here), now: now)
        func take(_ message: [UInt8]) {
            now += .milliseconds(20)
            agent.advance(to: now)
            agent.handle(.received(message, flow, from: there), now: now)
            while let effect = agent.nextEffect() {
                switch effect {
                case .transport(.send(let sent, _, _)):
                    octets += sent.count
                    tag = toTag(sent) ?? tag
                case .event(.incoming(let session, _)):
                    agent.ring(session, now: now)
                    agent.accept(session, answer: Array(offer.utf8), now: now)
                case .event(.ended): ended += 1
                default: break
                }
            }
        }
        for number in 0..<calls {
            take(request("INVITE", number, branch: 0, cseq: 1, toTag: nil, body: offer))
            take(request("ACK", number, branch: 5, cseq: 1, toTag: tag))
            take(request("BYE", number, branch: 7, cseq: 2, toTag: tag))
        }
        agent.advance(to: now + .seconds(100))
        print("\(calls) calls, \(octets) octets sent, \(ended) ended")
    }

    /// The tag of To in a response that we made: found without the parser, which is what is measured.
    static func toTag(_ message: [UInt8]) -> String? {
        let name = Array("\r\nTo: ".utf8)
        let mark = Array(";tag=".utf8)
        var place = 0
        while place + 6 < message.count, !message[place...].starts(with: name) { place += 1 }
        while place + 5 < message.count, !message[place...].starts(with: mark) { place += 1 }
        let rest = message[(place + 5)...]
        guard place + 5 < message.count, let end = rest.firstIndex(of: 13) else { return nil }
        return String(decoding: message[(place + 5)..<end], as: UTF8.self)
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
