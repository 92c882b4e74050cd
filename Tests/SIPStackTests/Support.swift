// SPDX-License-Identifier: Apache-2.0

import Crypto
import Essentials
import Foundation
import SIP
import SIPAgent

func seeded(_ seed: UInt64 = 1) -> RandomSource { RandomSource(SplitMix64(seed: seed)) }

/// A message from its lines; the empty line and CRLF are added.
func octets(_ lines: String..., body: String = "") -> [UInt8] {
    Array((lines.joined(separator: "\r\n") + "\r\nContent-Length: \(body.utf8.count)\r\n\r\n" + body).utf8)
}

let here = SocketAddress(.v4(0xc000_0201), 5060)  // 192.0.2.1
let there = SocketAddress(.v4(0xc000_0202), 5060)  // 192.0.2.2
let socketFlow = FlowID(rawValue: 1)
let listenerFlow = FlowID(rawValue: 3)

/// A request as `there` sends it.
func request(
    _ method: String, branch: String = "z9hG4bKabc", via: String? = nil, uri: String = "sip:bob@192.0.2.1", to: String = "",
    callID: String = "c1", cseq: Int = 1, cseqMethod: String? = nil, from: String = "f1", extra: [String] = [],
    transport: String = "UDP"
) -> [UInt8] {
    var lines = [
        "\(method) \(uri) SIP/2.0", "Via: " + (via ?? "SIP/2.0/\(transport) 192.0.2.2:5060;branch=\(branch)"),
        "Max-Forwards: 70", "From: <sip:alice@192.0.2.2>;tag=\(from)", "To: <sip:bob@192.0.2.1>\(to)", "Call-ID: \(callID)",
        "CSeq: \(cseq) \(cseqMethod ?? method)",
    ]
    if method == "INVITE" { lines.append("Contact: <sip:alice@192.0.2.2>") }
    lines += extra
    lines.append("Content-Length: 0")
    return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
}

/// A request as the transaction user hands it over: without Via.
func outgoing(_ method: Method, callID: String = "o1", cseq: Int = 1, uri: String = "sip:bob@192.0.2.2") throws -> MessageBuilder {
    var builder = MessageBuilder(request: method, uri: try URI(uri))
    builder.add(.maxForwards, "70")
    builder.add(.from, "<sip:alice@192.0.2.1>;tag=a1")
    builder.add(.to, "<sip:bob@192.0.2.2>")
    builder.add(.callID, callID)
    builder.add(.cseq, "\(cseq) \(method.rawValue)")
    return builder
}

struct Sent {
    var octets: [UInt8]
    var flow: FlowID
    var to: SocketAddress
    var text: String { String(decoding: octets, as: UTF8.self) }
    var message: SIPMessage? { try? SIPMessage(parsing: octets) }
    var status: Int? { message.flatMap { $0.isRequest ? nil : $0.statusCode } }
    var method: Method? { message.flatMap { $0.isRequest ? $0.method : nil } }
}

/// A stack with one UDP socket and a virtual clock; what it does is kept as it comes.
final class Bench {
    let stack: SIPStack
    var now = MonotonicTime.zero
    var sent: [Sent] = []
    var connects: [(FlowID, TransportProtocol, SocketAddress, String?)] = []
    var closes: [FlowID] = []
    var events: [StackEvent] = []

    init(_ configuration: StackConfiguration = StackConfiguration(), seed: UInt64 = 1, opens: Bool = true) {
        stack = SIPStack(configuration: configuration, random: seeded(seed))
        if opens {
            stack.handle(.listening(socketFlow, .udp, local: here), now: now)
            stack.handle(.listening(listenerFlow, .tcp, local: here), now: now)
            drain()
            events = []
        }
    }

    func drain() {
        while let effect = stack.nextEffect() {
            switch effect {
            case .send(let octets, let flow, let to): sent.append(Sent(octets: octets, flow: flow, to: to))
            case .connect(let flow, let transport, let to, let name, _, _): connects.append((flow, transport, to, name))
            case .close(let flow): closes.append(flow)
            }
        }
        while let event = stack.nextEvent() { events.append(event) }
    }

    func receive(_ octets: [UInt8], on flow: FlowID = socketFlow, from remote: SocketAddress = there) {
        stack.handle(.received(octets, flow, from: remote), now: now)
        drain()
    }

    func input(_ input: TransportInput) {
        stack.handle(input, now: now)
        drain()
    }

    /// Lets time pass, every deadline met in its time; gives the times (ms) at which something was sent.
    @discardableResult
    func pass(_ interval: Interval) -> [Int64] {
        let end = now + interval
        var times: [Int64] = []
        while let deadline = stack.nextDeadline, deadline <= end {
            now = max(now, deadline)
            let before = sent.count
            stack.advance(to: now)
            drain()
            for _ in before..<sent.count { times.append(now.nanoseconds / 1_000_000) }
        }
        now = end
        return times
    }

    func send(_ builder: MessageBuilder, _ target: SignallingTarget = SignallingTarget(.udp, there)) -> TransactionID {
        let id = stack.sendRequest(builder, to: target, now: now)
        drain()
        return id
    }

    func respond(_ id: TransactionID, _ status: Int, toTag: String? = "b1") {
        guard let message = requests.last(where: { $0.1 == id })?.0 else { return }
        stack.respond(id, message.makeResponse(status: status, toTag: status == 100 ? nil : toTag), now: now)
        drain()
    }

    /// A response to the request that was sent last, as the other side makes it.
    func answer(_ status: Int, toTag: String = "t1", to index: Int? = nil) {
        guard let message = sent[index ?? (sent.count - 1)].message else { return }
        receive(message.makeResponse(status: status, toTag: toTag).build().bytes)
    }

    var requests: [(SIPMessage, TransactionID, MessageSource)] {
        events.compactMap { if case .request(let message, let id, let source) = $0 { (message, id, source) } else { nil } }
    }
    var responses: [Int] {
        events.compactMap { if case .response(let message, _, _) = $0 { message.statusCode } else { nil } }
    }
    var acks: [(SIPMessage, TransactionID?)] {
        events.compactMap { if case .ack(let message, let id, _) = $0 { (message, id) } else { nil } }
    }
    var failures: [(TransactionID, TransactionFailure)] {
        events.compactMap { if case .failed(let id, let failure) = $0 { (id, failure) } else { nil } }
    }
    var notices: [StackNotice] {
        events.compactMap { if case .notice(let notice) = $0 { notice } else { nil } }
    }
    var ended: [TransactionID] {
        events.compactMap { if case .ended(let id) = $0 { id } else { nil } }
    }
    var cancelled: [TransactionID] {
        events.compactMap { if case .cancelled(let id, _) = $0 { id } else { nil } }
    }
    /// Nothing is left over.
    var isQuiet: Bool { stack.pendingTimerCount == 0 && stack.transactionCount == 0 && stack.nextDeadline == nil }
}

/// A fixture of the corpus that is kept beside the tests.
func fixture(_ path: String, file: String = #filePath) throws -> [UInt8] {
    let root = URL(fileURLWithPath: file).deletingLastPathComponent().deletingLastPathComponent()
    return Array(try Data(contentsOf: root.appendingPathComponent("Fixtures").appendingPathComponent(path)))
}
