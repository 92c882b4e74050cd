// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP

/// A peer that does exactly what a test tells it: sends any message, sees every message, answers by a closure.
///
/// It has no transactions, no retransmissions and no opinion.
public final class ScriptedPeer: SimulatedNode {
    public let host: SimulatedHost
    /// Its UDP address.
    public let address: SocketAddress
    /// What came, in order.
    public private(set) var received: [(time: MonotonicTime, message: SIPMessage, from: SocketAddress)] = []
    /// What it does with each message.
    public var react: (SIPMessage, SocketAddress) -> Void = { _, _ in }
    /// Its connections by TCP, in order.
    public private(set) var streams: [SimulatedStream] = []
    private var branch = 0

    init(_ host: SimulatedHost, port: UInt16) {
        self.host = host
        address = SocketAddress(host.address, port)
        _ = host.bind(port: port) { [weak self] bytes, source in self?.take(bytes, source) }
    }

    private func take(_ bytes: [UInt8], _ source: SocketAddress) {
        guard case .message(let message) = SIPMessage.receive(bytes) else { return }
        received.append((host.world.now, message, source))
        react(message, source)
    }

    /// Sends octets as one datagram.
    public func send(_ bytes: [UInt8], to remote: SocketAddress) { host.send(bytes, from: address, to: remote) }

    /// Sends a message as one datagram.
    public func send(_ message: MessageBuilder, to remote: SocketAddress) { send(message.build().bytes, to: remote) }

    /// Does something after a while.
    public func schedule(after interval: Interval, _ action: @escaping () -> Void) {
        host.world.schedule(after: interval, action)
    }

    /// Answers a request to where it came from.
    ///
    /// - Parameter more: adds to the response.
    public func answer(
        _ request: SIPMessage, _ status: Int, tag: String? = "peer", to remote: SocketAddress,
        more: (inout MessageBuilder) -> Void = { _ in }
    ) {
        var response = request.makeResponse(status: status, toTag: status > 100 ? tag : nil)
        if (200..<300).contains(status) || status > 100 && status < 200 {
            for route in request.recordRoutes { response.add(.recordRoute, route.description) }
        }
        more(&response)
        send(response, to: remote)
    }

    /// A request with the fields that every request has (RFC 3261 §8.1.1); the branch is a new one each time.
    public func request(
        _ method: Method, _ uri: String, from: String, to: String, callID: String, cseq: UInt32,
        transport: TransportProtocol = .udp
    ) -> MessageBuilder {
        branch += 1
        var request = MessageBuilder(request: method, uri: (try? URI(uri)) ?? .other(scheme: "sip", uri))
        request.add(.via, "SIP/2.0/\(transport.viaName) \(address);branch=z9hG4bK-\(host.name)-\(branch);rport")
        request.add(.maxForwards, "70")
        request.add(.from, from)
        request.add(.to, to)
        request.add(.callID, callID)
        request.add(.cseq, "\(cseq) \(method.rawValue)")
        return request
    }

    /// Opens a connection; messages that come over it are received like datagrams.
    public func connect(to remote: SocketAddress, connected: @escaping (SimulatedStream) -> Void) {
        let framer = FramerBox()
        let stream = SimulatedStream.connect(from: host, to: remote, connected: connected, closed: { _ in })
        stream.received = { [weak self] bytes in
            framer.framer.append(bytes)
            while let frame = framer.framer.next() {
                if case .message(let message) = frame { self?.take(message, remote) }
            }
        }
        streams.append(stream)
    }

    private final class FramerBox {
        var framer = StreamFramer()
    }

    public var leftovers: [String] { [] }
}

extension SimulatedWorld {
    /// Adds a scripted peer at the UDP port.
    public func addPeer(_ name: String, port: UInt16 = 5060, behind nat: SimulatedNAT? = nil) -> ScriptedPeer {
        let peer = ScriptedPeer(addHost(name, behind: nat), port: port)
        add(peer)
        return peer
    }
}
