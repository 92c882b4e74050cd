// SPDX-License-Identifier: Apache-2.0
//
// A small world for phones: virtual time, datagrams with a delay of 10 ms, phones whose media world is made by hand, and
// peers that say what the test says.

import Essentials
import SIP
import SIPAgent

protocol BenchNode: AnyObject {
    var address: SocketAddress { get }
    var nextDeadline: MonotonicTime? { get }
    func receive(_ bytes: [UInt8], from: SocketAddress)
    func advance()
}

final class Bench {
    private(set) var now = MonotonicTime.zero
    var nodes: [any BenchNode] = []
    /// Whether a message is lost on its way.
    var loses: (SIPMessage) -> Bool = { _ in false }
    /// All that was sent, in order.
    private(set) var log: [(from: SocketAddress, message: SIPMessage)] = []
    private var queue: [(time: MonotonicTime, order: Int, action: () -> Void)] = []
    private var order = 0

    func later(_ interval: Interval, _ action: @escaping () -> Void) {
        order += 1
        queue.append((now + interval, order, action))
    }

    func send(_ bytes: [UInt8], from: SocketAddress, to: SocketAddress) {
        guard let message = try? SIPMessage(parsing: bytes) else { return }
        log.append((from, message))
        if loses(message) { return }
        later(.milliseconds(10)) { [self] in nodes.first { $0.address == to }?.receive(bytes, from: from) }
    }

    func run(_ interval: Interval) { _ = run(atMost: interval) { false } }

    @discardableResult
    func run(atMost interval: Interval, until done: () -> Bool) -> Bool {
        let end = now + interval
        while true {
            for node in nodes { node.advance() }
            if done() { return true }
            let event = queue.indices.min { (queue[$0].time, queue[$0].order) < (queue[$1].time, queue[$1].order) }
            let deadline = nodes.compactMap(\.nextDeadline).min() ?? .distantFuture
            let next = min(event.map { queue[$0].time } ?? .distantFuture, deadline)
            guard next <= end else {
                now = end
                for node in nodes { node.advance() }
                return done()
            }
            now = max(now, next)
            if let event, queue[event].time <= now { queue.remove(at: event).action() }
        }
    }

    func sent(by node: some BenchNode, _ method: Method) -> [SIPMessage] {
        log.filter { $0.from == node.address && $0.message.isRequest && $0.message.method == method }.map(\.message)
    }

    func statuses(by node: some BenchNode, _ method: Method) -> [Int] {
        log.filter { $0.from == node.address && !$0.message.isRequest && $0.message.cseq.method == method }.map(\.message.statusCode)
    }
}

func host(_ last: UInt32) -> IPAddress { .v4(0x0a00_0000 | last) }

struct Missing: Error {}

func required<Value>(_ value: Value?) throws -> Value {
    guard let value else { throw Missing() }
    return value
}

extension SIPMessage {
    var sdpText: String { body(ofType: "application", "sdp").map { String(decoding: $0, as: UTF8.self) } ?? "" }

    /// The direction that the description states; sendrecv if it states none.
    var sdpDirection: String {
        ["sendonly", "recvonly", "inactive"].first { sdpText.contains("a=\($0)\r\n") } ?? "sendrecv"
    }
}
