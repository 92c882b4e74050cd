// SPDX-License-Identifier: Apache-2.0

import Essentials
import Networking
import SIP
import SIPAgent
import Testing

/// A driver on a loop, its inputs one by one.
struct Side {
    let loop: EventLoop
    let inputs = Inbox<TransportInput>()
    let driver: OnLoop<SIPTransportDriver>

    init(_ loop: EventLoop, limits: TransportLimits = TransportLimits()) {
        self.loop = loop
        let inputs = inputs
        driver = loop.sync {
            OnLoop(value: SIPTransportDriver(loop: loop, limits: limits) { batch in for input in batch { inputs.put(input) } })
        }
    }

    func listen(
        _ transport: TransportProtocol, _ address: SocketAddress, tls: TLSServerSettings? = nil
    ) throws -> (FlowID, SocketAddress) {
        let driver = driver
        let failure = loop.sync { () -> NetworkError? in
            do throws(NetworkError) {
                try driver.value.listen(transport, at: address, tls: tls)
                return nil
            } catch { return error }
        }
        if let failure { throw failure }
        guard case .listening(let flow, transport, let local)? = inputs.take() else { throw Missing() }
        return (flow, local)
    }

    func perform(_ effect: TransportEffect) {
        let driver = driver
        loop.execute { driver.value.perform(effect) }
    }

    func counter(_ name: TransportCounter) -> UInt64 {
        let driver = driver
        return loop.sync { driver.value.counters[name] }
    }

    struct Missing: Error {}
}

@Suite struct SIPTransportDriverTests {
    @Test(arguments: [loopbackV4, loopbackV6]) func `messages go over UDP between two drivers`(local: SocketAddress) throws {
        try withLoop { loop in
            let (one, two) = (Side(loop), Side(loop))
            let (flow, from) = try one.listen(.udp, local)
            let (other, to) = try two.listen(.udp, local)
            #expect(flow.rawValue % 2 == 1)
            one.perform(.send(Array("OPTIONS".utf8), flow, to: to))
            guard case .received(let bytes, other, from: from)? = two.inputs.take() else {
                Issue.record("nothing arrived")
                return
            }
            #expect(bytes == Array("OPTIONS".utf8))
        }
    }

    @Test func `a wildcard listener tells an address that others can reach`() throws {
        try withLoop { loop in
            let (_, local) = try Side(loop).listen(.udp, SocketAddress(.anyV4, 0))
            #expect(!local.ip.isUnspecified)
            #expect(local.port != 0)
        }
    }

    @Test func `a connection is opened, used both ways and closed`() throws {
        try withLoop { loop in
            let (client, server) = (Side(loop), Side(loop))
            let (listener, address) = try server.listen(.tcp, loopbackV4)
            let flow = FlowID(rawValue: 2)
            client.perform(.connect(flow, .tcp, to: address, name: nil, tls: nil))
            client.perform(.send(Array("one".utf8), flow, to: address))
            guard case .connected(flow, let clientAddress, _)? = client.inputs.take() else {
                Issue.record("not connected")
                return
            }
            guard case .accepted(let accepted, listener, local: address, remote: clientAddress)? = server.inputs.take() else {
                Issue.record("not accepted")
                return
            }
            #expect(accepted.rawValue % 2 == 1 && accepted != listener)
            guard case .received(let bytes, accepted, from: clientAddress)? = server.inputs.take() else {
                Issue.record("nothing arrived")
                return
            }
            #expect(bytes == Array("one".utf8))
            server.perform(.send(Array("two".utf8), accepted, to: clientAddress))
            server.perform(.close(accepted))
            guard case .received(let answer, flow, from: address)? = client.inputs.take() else {
                Issue.record("no answer")
                return
            }
            #expect(answer == Array("two".utf8))
            guard case .closed(flow, .closedByPeer)? = client.inputs.take(),
                case .closed(accepted, .closedLocally)? = server.inputs.take()
            else {
                Issue.record("not closed")
                return
            }
        }
    }

    @Test func `a connection to nobody is closed as refused, and nothing leaks`() throws {
        try withLoop { loop in
            let side = Side(loop)
            let (listener, address) = try side.listen(.tcp, loopbackV4)
            side.perform(.close(listener))
            guard case .closed(listener, .closedLocally)? = side.inputs.take() else {
                Issue.record("not closed")
                return
            }
            side.perform(.connect(FlowID(rawValue: 4), .tcp, to: address, name: nil, tls: nil))
            guard case .closed(FlowID(rawValue: 4), .refused)? = side.inputs.take() else {
                Issue.record("not refused")
                return
            }
            side.perform(.send([1], FlowID(rawValue: 4), to: address))
            guard case .sendFailed? = side.inputs.take() else {
                Issue.record("sent on a flow that is gone")
                return
            }
            #expect(side.counter(.unknownFlow) == 1)
        }
    }

    @Test func `connections over the limit are refused and counted`() throws {
        try withLoop { loop in
            var limits = TransportLimits()
            limits.connections = 1
            let (client, server) = (Side(loop), Side(loop, limits: limits))
            let (_, address) = try server.listen(.tcp, loopbackV4)
            client.perform(.connect(FlowID(rawValue: 2), .tcp, to: address, name: nil, tls: nil))
            guard case .connected? = client.inputs.take(), case .accepted? = server.inputs.take() else {
                Issue.record("not connected")
                return
            }
            client.perform(.connect(FlowID(rawValue: 4), .tcp, to: address, name: nil, tls: nil))
            while let input = client.inputs.take() {
                if case .closed(FlowID(rawValue: 4), _) = input { break }
            }
            #expect(server.counter(.connectionsRefused) == 1)
        }
    }

    @Test func `connections that come in leave room for our own`() throws {
        try withLoop { loop in
            var limits = TransportLimits()
            limits.acceptedConnections = 1
            let (client, server) = (Side(loop), Side(loop, limits: limits))
            let (_, address) = try server.listen(.tcp, loopbackV4)
            for id: UInt64 in [2, 4] { client.perform(.connect(FlowID(rawValue: id), .tcp, to: address, name: nil, tls: nil)) }
            while let input = client.inputs.take() {
                if case .closed = input { break }
            }
            #expect(server.counter(.connectionsRefused) == 1)
            let (_, other) = try Side(loop).listen(.tcp, loopbackV4)
            server.perform(.connect(FlowID(rawValue: 2), .tcp, to: other, name: nil, tls: nil))
            while let input = server.inputs.take() {
                guard case .accepted = input else {
                    guard case .connected(FlowID(rawValue: 2), _, _) = input else { break }
                    return
                }
            }
            Issue.record("our own connection was not opened")
        }
    }

    @Test func `a datagram nobody takes is told as refused`() throws {
        try withLoop { loop in
            let side = Side(loop)
            let (flow, _) = try side.listen(.udp, loopbackV4)
            let (other, gone) = try side.listen(.udp, loopbackV4)
            side.perform(.close(other))
            _ = side.inputs.take()
            side.perform(.send([1, 2, 3, 4, 5], flow, to: gone))
            guard case .sendFailed(flow, to: gone, .refused)? = side.inputs.take() else {
                Issue.record("not told")
                return
            }
        }
    }

    @Test(arguments: [TransportProtocol.ws, .wss]) func `WebSocket without its support is a clear error`(
        transport: TransportProtocol
    ) throws {
        try withLoop { loop in
            let side = Side(loop)
            #expect(throws: NetworkError.self) { try side.listen(transport, loopbackV4) }
            side.perform(.connect(FlowID(rawValue: 2), transport, to: loopbackV4, name: "example.net", tls: nil))
            guard case .closed(FlowID(rawValue: 2), .other(let words))? = side.inputs.take() else {
                Issue.record("not told")
                return
            }
            #expect(words.contains("is not there"))
        }
    }

    @Test func `keep-alives are counted, not handed on`() throws {
        try withLoop { loop in
            let side = Side(loop)
            let (flow, local) = try side.listen(.udp, loopbackV4)
            side.perform(.send([13, 10, 13, 10], flow, to: local))
            side.perform(.send([0], flow, to: local))
            side.perform(.send([], flow, to: local))
            side.perform(.send([65], flow, to: local))
            guard case .received([65], flow, from: local)? = side.inputs.take() else {
                Issue.record("something else arrived")
                return
            }
            #expect(side.counter(.emptyDatagrams) == 3)
        }
    }
}
