// SPDX-License-Identifier: Apache-2.0
//
// Flows, Via and limits: RFC 3261 §18, RFC 3581, RFC 5626 §3.5.1.

import Essentials
import SIP
import SIPAgent
import Testing

private let accepted = FlowID(rawValue: 5)
private let peer = SocketAddress(.v4(0xc000_0202), 49_152)

extension Bench {
    /// Somebody connects to the TCP listener.
    func connect(_ flow: FlowID = accepted, from remote: SocketAddress = peer) {
        input(.accepted(flow, listener: listenerFlow, local: here, remote: remote))
    }
}

@Suite("Via and the way of responses") struct ViaTests {
    private func answered(_ via: String, from remote: SocketAddress) throws -> Sent {
        let bench = Bench()
        bench.receive(request("OPTIONS", via: via), from: remote)
        bench.respond(try #require(bench.requests.first).1, 200)
        return try #require(bench.sent.last)
    }

    @Test("B-027: received and rport are the source of the packet, and the response goes there")
    func rport() throws {
        let sent = try answered("SIP/2.0/UDP 10.1.1.1:5070;rport;branch=z9hG4bKa", from: peer)
        let via = try #require(sent.message).topVia
        #expect(via.received == peer.ip && via.rport == peer.port && via.branch == "z9hG4bKa")
        #expect(via.host == .address(IPAddress.v4(0x0a01_0101)) && via.port == 5070)
        #expect(sent.to == peer)
    }

    @Test("B-027: with rport the received parameter is there even if the address is the same (RFC 3581 §4)")
    func rportSameAddress() throws {
        let sent = try answered("SIP/2.0/UDP 192.0.2.2:5060;branch=z9hG4bKa;rport", from: peer)
        let via = try #require(sent.message).topVia
        #expect(via.received == peer.ip && via.rport == peer.port)
        #expect(sent.text.contains("rport=49152"))
    }

    @Test("What the sender says of received and rport is overwritten")
    func forged() throws {
        let sent = try answered("SIP/2.0/UDP 192.0.2.2:5060;branch=z9hG4bKa;rport=9;received=203.0.113.9", from: peer)
        let via = try #require(sent.message).topVia
        #expect(via.received == peer.ip && via.rport == peer.port && sent.to == peer)
    }

    @Test("Without rport the response goes to the source address at the port of the Via, 5060 if there is none")
    func withoutRport() throws {
        let named = try answered("SIP/2.0/UDP 192.0.2.2:5080;branch=z9hG4bKa", from: peer)
        #expect(named.to == SocketAddress(peer.ip, 5080) && named.message?.topVia.received == nil)
        let plain = try answered("SIP/2.0/UDP phone.example.net;branch=z9hG4bKa", from: peer)
        #expect(plain.to == SocketAddress(peer.ip, 5060) && plain.message?.topVia.received == peer.ip)
    }

    @Test("maddr and sent-by never choose whom we send to")
    func maddr() throws {
        let sent = try answered("SIP/2.0/UDP 203.0.113.7:5060;maddr=203.0.113.8;branch=z9hG4bKa", from: peer)
        #expect(sent.to.ip == peer.ip)
    }

    @Test("Further Vias in the same field stay below the stamped one")
    func joined() throws {
        let sent = try answered(
            "SIP/2.0/UDP 192.0.2.2:5060;branch=z9hG4bKa;rport, SIP/2.0/UDP 192.0.2.9;branch=z9hG4bKb", from: peer)
        let vias = try #require(sent.message).vias
        #expect(vias.map(\.branch) == ["z9hG4bKa", "z9hG4bKb"] && vias.first?.received == peer.ip)
    }

    @Test("IPv6 sources are written without brackets")
    func v6() throws {
        let bench = Bench(opens: false)
        let local = SocketAddress(.v6(0x2001_0db8 << 32, 1), 5060)
        let remote = SocketAddress(.v6(0x2001_0db8 << 32, 2), 5061)
        bench.input(.listening(socketFlow, .udp, local: local))
        bench.receive(request("OPTIONS", via: "SIP/2.0/UDP [2001:db8::9]:5060;branch=z9hG4bKa;rport"), from: remote)
        bench.respond(try #require(bench.requests.first).1, 200)
        let sent = try #require(bench.sent.last)
        #expect(sent.text.contains("received=2001:db8::2") && sent.to == remote)
        _ = bench.send(try outgoing(.options), SignallingTarget(.udp, remote))
        #expect(bench.sent.last?.text.contains("Via: SIP/2.0/UDP [2001:db8::1]:5060;rport;branch=z9hG4bK") == true)
    }

    @Test("A Via with anything odd in its parameters is stamped all the same")
    func odd() throws {
        for parameters in [
            ";x=\";rport\";rport;branch=z9hG4bKa", ";rport=;branch=z9hG4bKa", ";RPORT;branch=z9hG4bKa", ";rportal;rport;branch=z9hG4bKa",
        ] {
            let sent = try answered("SIP/2.0/UDP 10.0.0.1:5070" + parameters, from: peer)
            let via = try #require(sent.message).topVia
            #expect(via.received == peer.ip && via.rport == peer.port && sent.to == peer, "\(parameters)")
        }
    }
}

@Suite("Datagram sockets") struct SocketTests {
    @Test("The socket fits the family and the loopback of the target; an unspecified one is told with an address of the host")
    func choice() throws {
        var configuration = StackConfiguration()
        configuration.addresses = [.v4(0xc000_0205)]
        let bench = Bench(configuration, opens: false)
        bench.input(.listening(FlowID(rawValue: 1), .udp, local: SocketAddress(.loopbackV4, 5070)))
        bench.input(.listening(FlowID(rawValue: 3), .udp, local: SocketAddress(.anyV4, 5060)))
        #expect(bench.stack.localAddress(for: SignallingTarget(.udp, there)) == SocketAddress(.v4(0xc000_0205), 5060))
        let loopback = SignallingTarget(.udp, SocketAddress(.loopbackV4, 5060))
        #expect(bench.stack.localAddress(for: loopback) == SocketAddress(.loopbackV4, 5070))
        #expect(bench.stack.localAddress(for: SignallingTarget(.udp, SocketAddress(.loopbackV6, 5060))) == nil)
        _ = bench.send(try outgoing(.options), loopback)
        #expect(bench.sent.last?.flow == FlowID(rawValue: 1))
        _ = bench.send(try outgoing(.options))
        #expect(bench.sent.last?.flow == FlowID(rawValue: 3))
        #expect(bench.stack.flows(for: .udp).map(\.local.port) == [5070, 5060])
    }

    @Test("A response leaves by the socket on which the request came")
    func sameSocket() throws {
        let bench = Bench()
        let other = FlowID(rawValue: 7)
        bench.input(.listening(other, .udp, local: SocketAddress(here.ip, 5099)))
        bench.receive(request("OPTIONS"), on: other)
        bench.respond(bench.requests[0].1, 200)
        #expect(bench.sent.last?.flow == other)
    }

    @Test("Keep-alives of a datagram socket are counted and not answered")
    func keepAlive() {
        let bench = Bench()
        for octets in [[13, 10, 13, 10], [13, 10], [0, 0, 0, 0], []] as [[UInt8]] { bench.receive(octets) }
        #expect(bench.sent.isEmpty && bench.events.isEmpty)
        #expect(bench.stack.counters[.keepAlivesReceived] == 3 && bench.stack.counters[.emptyDatagrams] == 1)
    }

    @Test("A request that is too large for a datagram fails by event")
    func tooLarge() throws {
        let bench = Bench()
        var builder = try outgoing(.message)
        builder.setBody([UInt8](repeating: 65, count: 65_100), type: "text/plain")
        _ = bench.send(builder)
        #expect(bench.failures.count == 1 && bench.sent.isEmpty && bench.isQuiet)
        #expect(bench.stack.counters[.datagramsTooLarge] == 1)
    }

    @Test("Octets of a flow that nobody knows are dropped and counted")
    func unknownFlow() {
        let bench = Bench()
        bench.receive(request("OPTIONS"), on: FlowID(rawValue: 99))
        bench.input(.closed(FlowID(rawValue: 99), .reset))
        #expect(bench.events.isEmpty && bench.stack.counters[.unknownFlows] == 2)
    }
}

@Suite("Connections") struct ConnectionTests {
    @Test("A request opens a connection, waits for it, and the next one uses it again")
    func reuse() throws {
        let bench = Bench()
        let target = SignallingTarget(.tcp, there)
        _ = bench.send(try outgoing(.options), target)
        #expect(bench.connects.map(\.2) == [there] && bench.sent.isEmpty)
        _ = bench.send(try outgoing(.options, callID: "o2"), target)
        #expect(bench.connects.count == 1)
        let flow = bench.connects[0].0
        #expect(flow.rawValue % 2 == 0)
        bench.input(.connected(flow, local: SocketAddress(here.ip, 40_000)))
        #expect(bench.sent.count == 2 && bench.sent.allSatisfy { $0.flow == flow && $0.to == there })
        let via = try #require(bench.sent[0].message).topVia
        #expect(via.transport == .tcp && via.port == 5060, "sent-by is the listener")
        let response = try #require(bench.sent[0].message).makeResponse(status: 200, toTag: "t").build()
        bench.receive(response.bytes, on: flow)
        #expect(bench.responses == [200] && bench.stack.counters[.connectionsOpened] == 1)
    }

    @Test("A connection that cannot be opened fails what waited for it")
    func refused() throws {
        let bench = Bench()
        let id = bench.send(try outgoing(.invite), SignallingTarget(.tcp, there))
        bench.input(.closed(bench.connects[0].0, .refused))
        #expect(bench.failures.map(\.0) == [id] && bench.failures.map(\.1) == [.transport(.refused)])
        #expect(bench.isQuiet && bench.stack.connectionCount == 0)
        _ = bench.send(try outgoing(.invite), SignallingTarget(.tcp, there))
        #expect(bench.connects.count == 2, "the next request tries anew")
    }

    @Test("V-016: a TLS connection is used again for its own name only")
    func names() throws {
        let bench = Bench()
        for name in ["a.example", "b.example", "A.example"] {
            _ = bench.send(try outgoing(.options, callID: name), SignallingTarget(.tls, there, name: name))
        }
        #expect(bench.connects.map(\.3) == ["a.example", "b.example"])
    }

    @Test("A target that names a flow uses it, and falls back to the address when it is gone")
    func namedFlow() throws {
        let bench = Bench()
        bench.connect()
        let target = SignallingTarget(.tcp, there, flow: accepted)
        _ = bench.send(try outgoing(.options), target)
        #expect(bench.sent.last?.flow == accepted && bench.sent.last?.to == peer && bench.connects.isEmpty)
        bench.input(.closed(accepted, .closedByPeer))
        _ = bench.send(try outgoing(.options, callID: "o2"), target)
        #expect(bench.connects.map(\.2) == [there])
    }

    @Test("Too much waiting for a connection, and too many connections, fail and are counted")
    func limits() throws {
        var configuration = StackConfiguration()
        configuration.queuedOctetsPerConnection = 400
        configuration.connections = 1
        let bench = Bench(configuration)
        _ = bench.send(try outgoing(.options), SignallingTarget(.tcp, there))
        _ = bench.send(try outgoing(.options), SignallingTarget(.tcp, there))
        #expect(bench.failures.map(\.1) == [.transport(.limit)] && bench.stack.counters[.queueOverflows] == 1)
        _ = bench.send(try outgoing(.options), SignallingTarget(.tcp, peer))
        #expect(bench.failures.count == 2 && bench.stack.counters[.connectionsRefused] == 1)
        bench.connect(from: SocketAddress(peer.ip, 1))
        #expect(bench.closes == [accepted] && bench.stack.counters[.connectionsRefused] == 2)
        #expect(bench.stack.connectionCount == 1)
    }

    @Test("Connections that come in leave room for our own")
    func acceptedLimit() throws {
        var configuration = StackConfiguration()
        configuration.acceptedConnections = 1
        let bench = Bench(configuration)
        bench.connect()
        let further = FlowID(rawValue: 7)
        bench.connect(further, from: SocketAddress(peer.ip, 1))
        #expect(bench.closes == [further] && bench.stack.counters[.connectionsRefused] == 1)
        _ = bench.send(try outgoing(.options), SignallingTarget(.tcp, there))
        #expect(bench.connects.map(\.2) == [there])
        bench.input(.closed(accepted, .closedByPeer))
        let next = FlowID(rawValue: 9)
        bench.connect(next, from: SocketAddress(peer.ip, 2))
        #expect(bench.closes == [further])
    }

    @Test("Who connects and brings no message is let go after a time; who has brought one, or has one coming from us, may be silent")
    func silent() throws {
        let bench = Bench()
        bench.connect()
        let others = (1...4).map { (FlowID(rawValue: 5 + 2 * $0), SocketAddress(peer.ip, UInt16($0))) }
        for (flow, remote) in others { bench.connect(flow, from: remote) }
        // Keep-alives and half a message prove nothing.
        bench.receive(Array("\r\n\r\n".utf8), on: others[0].0)
        bench.receive(Array("nonsense\r\n\r\n".utf8), on: others[1].0)
        bench.receive(request("OPTIONS", transport: "TCP"), on: others[2].0)
        _ = bench.send(try outgoing(.options), SignallingTarget(.tcp, others[3].1))
        #expect(bench.closes == [others[1].0], "what is no SIP")
        bench.pass(.seconds(63))
        #expect(bench.closes == [others[1].0])
        bench.pass(.seconds(1))
        #expect(bench.closes == [others[1].0, accepted, others[0].0])
        #expect(bench.stack.counters[.silentConnections] == 2 && bench.notices.map(\.cause.code) == ["transport.connection-silent"])
        for (flow, _) in [(accepted, peer), others[0], others[1]] { bench.input(.closed(flow, .closedLocally)) }
        bench.pass(.seconds(1000))
        #expect(bench.closes.count == 3 && bench.stack.connectionCount == 2)
    }

    @Test("A server of ours may dial and wait, and the limit can be switched off")
    func silentServer() {
        let bench = Bench()
        bench.stack.exemptSources = [peer.ip]
        bench.connect()
        bench.pass(.seconds(1000))
        #expect(bench.closes.isEmpty)
        var configuration = StackConfiguration()
        configuration.silentConnection = .zero
        let patient = Bench(configuration)
        patient.connect()
        patient.pass(.seconds(1000))
        #expect(patient.closes.isEmpty && patient.isQuiet)
    }

    @Test("One address takes no more than its share of connections, and leaves room for others")
    func connectionShare() throws {
        var configuration = StackConfiguration()
        configuration.acceptedConnectionsPerSource = 2
        let bench = Bench(configuration)
        for number in 1...4 as ClosedRange<UInt64> {
            bench.connect(FlowID(rawValue: 5 + 2 * number), from: SocketAddress(peer.ip, UInt16(number)))
        }
        #expect(bench.closes.map(\.rawValue) == [11, 13] && bench.stack.counters[.connectionsOverShare] == 2)
        #expect(bench.notices.map(\.cause.code) == ["transport.connection-share"])
        #expect(bench.notices[0].cause.evidence.contains(.init("limit", "acceptedConnectionsPerSource 2")))
        bench.connect(FlowID(rawValue: 101), from: SocketAddress(.v4(0xc000_0299), 1))
        bench.input(.closed(FlowID(rawValue: 7), .closedByPeer))
        bench.connect(FlowID(rawValue: 103), from: SocketAddress(peer.ip, 9))
        #expect(bench.closes.count == 2 && bench.stack.connectionCount == 3)
        // A whole IPv6 network is one source.
        for number in 1...3 as ClosedRange<UInt64> {
            bench.connect(FlowID(rawValue: 201 + 2 * number), from: SocketAddress(.v6(0x2001_0db8_0000_0001, number), 5060))
        }
        #expect(bench.closes.map(\.rawValue) == [11, 13, 207])
    }

    /// A response with so many header fields more.
    private func bloated(_ message: SIPMessage, _ fields: Int) -> [UInt8] {
        var builder = message.makeResponse(status: 200, toTag: "t")
        for number in 0..<fields { if let name = HeaderName("X-\(number)") { builder.add(name, "1") } }
        return builder.build().bytes
    }

    @Test("A response beyond a limit is counted and told once, with the limit's name; others' are dropped in silence")
    func unreadableResponse() throws {
        let bench = Bench()
        let id = bench.send(try outgoing(.options))
        let message = try #require(bench.sent.last?.message)
        bench.receive(bloated(message, 300))
        bench.receive(bloated(message, 300))
        let cause = try #require(bench.notices.first?.cause)
        #expect(bench.notices.count == 1 && cause.code == "transport.response-unreadable")
        #expect(cause.evidence.contains(.init("error", "sip.limit.fields")) && cause.evidence.contains(.init("limit", "headerFields 256")))
        #expect(bench.stack.counters[.dropped] == 2 && bench.stack.counters[.unreadableResponses] == 1)
        // Nobody's transaction, and no response.
        let stranger = String(decoding: bloated(message, 300), as: UTF8.self).replacing(message.topVia.branch ?? "", with: "z9hG4bKother")
        bench.receive(Array(stranger.utf8))
        bench.receive(Array("INVITE sip:bob@192.0.2.1 SIP/2.0\r\n\r\n".utf8))
        #expect(bench.notices.count == 1)
        bench.pass(.seconds(33))
        #expect(bench.failures.map(\.0) == [id] && bench.failures.map(\.1) == [.timedOut] && bench.isQuiet)
    }

    @Test(
        "Every limit of the parser that a response passes is told by its name",
        arguments: [
            ("headerFields 256", "sip.limit.fields"), ("headLength 32768", "sip.limit.head"),
            ("startLineLength 8192", "sip.limit.start-line"),
        ])
    func everyLimit(limit: String, code: String) throws {
        let bench = Bench()
        _ = bench.send(try outgoing(.options))
        let message = try #require(bench.sent.last?.message)
        let text = String(decoding: message.makeResponse(status: 200, toTag: "t").build().bytes, as: UTF8.self)
        let changed =
            switch code {
            case "sip.limit.fields": String(decoding: bloated(message, 300), as: UTF8.self)
            case "sip.limit.head": text.replacing("Call-ID:", with: "X: " + String(repeating: "x", count: 33_000) + "\r\nCall-ID:")
            default: text.replacing("200 OK", with: "200 " + String(repeating: "x", count: 9_000))
            }
        bench.receive(Array(changed.utf8))
        #expect(bench.notices.first?.cause.evidence.prefix(2) == [.init("error", code), .init("limit", limit)])
    }

    @Test("A stream that breaks off in a response beyond the limits says so before it is closed")
    func unreadableStream() throws {
        let bench = Bench()
        let id = bench.send(try outgoing(.options), SignallingTarget(.tcp, there))
        bench.input(.connected(bench.connects[0].0, local: here))
        let head = "SIP/2.0 200 OK\r\nX: " + String(repeating: "x", count: 40_000)
        bench.receive(Array(head.utf8), on: bench.connects[0].0)
        #expect(bench.notices.first?.cause.evidence.contains(.init("limit", "headLength 32768")) == true && bench.notices.count == 1)
        #expect(bench.closes == [bench.connects[0].0])
        bench.input(.closed(bench.connects[0].0, .closedLocally))
        #expect(bench.failures.map(\.0) == [id])
    }

    @Test("A busy stream whose pieces always end within a message is not taken for a stuck one; a stuck one is closed")
    func busyStream() {
        let bench = Bench()
        bench.connect()
        let message = request("OPTIONS", transport: "TCP")
        let half = message.count / 2
        bench.receive(Array(message[..<half]), on: accepted)
        for _ in 0..<20 {
            bench.pass(.seconds(5))
            bench.receive(Array(message[half...] + message[..<half]), on: accepted)
        }
        #expect(bench.closes.isEmpty && bench.stack.counters[.streamMessagesReceived] == 20)
        bench.pass(.seconds(29))
        #expect(bench.closes.isEmpty)
        bench.pass(.seconds(1))
        #expect(bench.closes == [accepted] && bench.stack.counters[.unfinishedMessages] == 1)
    }

    @Test("Over TCP nothing is sent twice")
    func reliable() throws {
        let bench = Bench()
        bench.connect()
        _ = bench.send(try outgoing(.invite), SignallingTarget(.tcp, peer))
        #expect(bench.sent.count == 1)
        #expect(bench.pass(.seconds(31)).isEmpty)
        bench.receive(request("INVITE", transport: "TCP"), on: accepted)
        bench.respond(bench.requests[0].1, 486)
        #expect(bench.pass(.seconds(33)).isEmpty)
        #expect(bench.failures.count == 2 && bench.isQuiet, "timers B and H")
    }

    @Test("B-017 B-019: keep-alives between messages are answered, and harm no message")
    func keepAlives() {
        let bench = Bench()
        bench.connect()
        bench.receive(Array("\r\n\r\n".utf8), on: accepted)
        #expect(bench.sent.map(\.text) == ["\r\n"])
        bench.receive(Array("\r\n\r\n\r\n\r\n".utf8) + request("OPTIONS", transport: "TCP"), on: accepted)
        #expect(bench.sent.count == 3 && bench.requests.count == 1)
        #expect(bench.stack.counters[.keepAlivesAnswered] == 3)
    }

    @Test("B-018: a REGISTER cut at each octet, or before each CRLF, is taken")
    func splits() {
        let whole = request("REGISTER", uri: "sip:192.0.2.1", transport: "TCP")
        for cut in 1..<whole.count {
            let bench = Bench()
            bench.connect()
            bench.receive(Array(whole[..<cut]), on: accepted)
            bench.receive(Array(whole[cut...]), on: accepted)
            #expect(bench.requests.count == 1, "cut at \(cut)")
            #expect(bench.stack.pendingTimerCount == 0)
        }
        let bench = Bench()
        bench.connect()
        var piece: [UInt8] = []
        for octet in whole {
            if octet == 13 {
                bench.receive(piece, on: accepted)
                piece = []
            }
            piece.append(octet)
            if octet == 10 {
                bench.receive(piece, on: accepted)
                piece = []
            }
        }
        #expect(bench.requests.count == 1)
    }

    @Test("A stream that cannot be framed is closed; a message that does not end is waited for so long and no longer")
    func broken() {
        let bench = Bench()
        bench.connect()
        bench.receive(Array("GARBAGE GARBAGE\r\n\r\n".utf8), on: accepted)
        #expect(bench.closes == [accepted] && bench.stack.counters[.framingFailures] == 1)
        bench.input(.closed(accepted, .closedLocally))
        let slow = FlowID(rawValue: 7)
        bench.connect(slow)
        bench.receive(Array("OPTIONS sip:bob@192.0.2.1 SIP/2.0\r\nVia: S".utf8), on: slow)
        bench.pass(.seconds(29))
        #expect(bench.closes.count == 1)
        bench.pass(.seconds(1))
        #expect(bench.closes == [accepted, slow] && bench.stack.counters[.unfinishedMessages] == 1)
        bench.input(.closed(slow, .closedLocally))
        #expect(bench.isQuiet && bench.stack.connectionCount == 0)
    }

    @Test("§18.2.2: when the connection of a request is gone, the response goes over a new one to its source, at the port of the Via")
    func fallback() throws {
        let bench = Bench()
        bench.connect()
        bench.receive(request("INVITE", via: "SIP/2.0/TCP 203.0.113.5:5080;branch=z9hG4bKx"), on: accepted)
        bench.input(.closed(accepted, .closedByPeer))
        #expect(bench.failures.isEmpty)
        bench.respond(bench.requests[0].1, 486)
        #expect(bench.connects.map(\.2) == [SocketAddress(peer.ip, 5080)] && bench.stack.counters[.responseFallbacks] == 1)
        bench.input(.connected(bench.connects[0].0, local: SocketAddress(here.ip, 40_001)))
        #expect(bench.sent.compactMap(\.status) == [486])
    }

    @Test("V-021: many INVITEs over TCP, then the connection is cut: all transactions end")
    func cut() {
        let bench = Bench()
        bench.connect()
        for number in 0..<80 {
            bench.receive(request("INVITE", branch: "z9hG4bK\(number)", callID: "c\(number)", transport: "TCP"), on: accepted)
        }
        #expect(bench.requests.count == 80)
        bench.input(.closed(accepted, .reset))
        for (index, (_, id, _)) in bench.requests.enumerated() { bench.respond(id, index % 2 == 0 ? 480 : 200) }
        #expect(bench.connects.count == 1)
        bench.input(.closed(bench.connects[0].0, .refused))
        bench.pass(.seconds(64))
        #expect(bench.ended.count == 80 && bench.isQuiet && bench.stack.connectionCount == 0)
    }

    @Test("B-020: a connection lost while a re-INVITE is pending ends that request only, and a new one opens a new connection")
    func lostWhilePending() throws {
        let bench = Bench()
        let id = bench.send(try outgoing(.invite), SignallingTarget(.tcp, there))
        let flow = bench.connects[0].0
        bench.input(.connected(flow, local: SocketAddress(here.ip, 40_000)))
        bench.input(.closed(flow, .reset))
        #expect(bench.failures.map(\.0) == [id] && bench.failures.map(\.1) == [.transport(.reset)])
        _ = bench.send(try outgoing(.invite, cseq: 2), SignallingTarget(.tcp, there))
        #expect(bench.connects.count == 2)
    }

    @Test("A message from each of two connections is answered on its own")
    func ownConnection() {
        let bench = Bench()
        let second = FlowID(rawValue: 7)
        bench.connect()
        bench.connect(second, from: SocketAddress(peer.ip, 50_000))
        bench.receive(request("OPTIONS", branch: "z9hG4bK1", callID: "1", transport: "TCP"), on: accepted)
        bench.receive(request("OPTIONS", branch: "z9hG4bK2", callID: "2", transport: "TCP"), on: second)
        bench.respond(bench.requests[1].1, 200)
        bench.respond(bench.requests[0].1, 200)
        #expect(bench.sent.map(\.flow) == [second, accepted])
    }
}

/// Rows of cases.tsv, kind transport, which need more than this half.
@Suite("Transport cases that wait for the user agent") struct OpenTransportCases {
    /// id, and the capability that meets it.
    static let open = [
        ("B-020", "user agent: the session outlives a failed re-INVITE; this half is met above"),
        ("B-021", "user agent: re-REGISTER and re-INVITE after a change of address; met in SimulationTests"),
        ("B-022", "user agent: walks the TargetList; order and failure are met in LocationTests and ClientTransactionTests"),
        ("B-023", "user agent: Retry-After of a 503 to REGISTER"),
    ]

    @Test("Each row names what it waits for", arguments: open)
    func names(_ row: (id: String, waitsFor: String)) {
        #expect(row.id.hasPrefix("B-") && row.waitsFor.contains("user agent"))
    }
}
