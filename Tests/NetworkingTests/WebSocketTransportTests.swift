// SPDX-License-Identifier: Apache-2.0

import CryptoOpenSSL
import Essentials
import Networking
import SIPAgent
import Testing

/// A driver with WebSockets on a loop, its inputs one by one.
private struct WebSocketSide {
    let loop: EventLoop
    let inputs = Inbox<TransportInput>()
    let driver: OnLoop<SIPTransportDriver>

    init(_ loop: EventLoop, _ settings: WebSocketSettings = WebSocketSettings()) {
        self.loop = loop
        let inputs = inputs
        driver = loop.sync {
            let support = WebSocketSupport(settings, cryptography: OpenSSLCryptography(), random: RandomSource(SecureRandom()))
            return OnLoop(
                value: SIPTransportDriver(loop: loop, webSockets: support) { batch in for input in batch { inputs.put(input) } })
        }
    }

    func listen() -> SocketAddress? {
        let driver = driver
        _ = loop.sync { (try? driver.value.listen(.ws, at: SocketAddress(.loopbackV4, 0))) != nil }
        guard case .listening(_, .ws, let local)? = inputs.take() else { return nil }
        return local
    }

    func perform(_ effect: TransportEffect) {
        let driver = driver
        loop.execute { driver.value.perform(effect) }
    }
}

@Suite struct WebSocketTransportTests {
    private let flow = FlowID(rawValue: 2)

    @Test func `messages go whole both ways, keep-alives are pings, and the end is told`() throws {
        try withLoop { loop in
            var settings = WebSocketSettings()
            settings.path = "/ws"
            settings.server.path = "/ws"
            let (client, server) = (WebSocketSide(loop, settings), WebSocketSide(loop, settings))
            let address = try #require(server.listen())
            client.perform(.connect(flow, .ws, to: address, name: nil, tls: nil))
            guard case .connected(flow, let local, _)? = client.inputs.take(),
                case .accepted(let accepted, _, address, local)? = server.inputs.take()
            else {
                Issue.record("no connection")
                return
            }
            let message = Array("MESSAGE sip:bob@example.net SIP/2.0\r\n\r\n".utf8) + [UInt8](repeating: 255, count: 20_000)
            client.perform(.send(message, flow, to: address))
            guard case .received(message, accepted, local)? = server.inputs.take() else {
                Issue.record("no message")
                return
            }
            server.perform(.send(Array("SIP/2.0 200 OK".utf8), accepted, to: local))
            guard case .received(Array("SIP/2.0 200 OK".utf8), flow, address)? = client.inputs.take() else {
                Issue.record("no answer")
                return
            }
            // The ping is answered by the machine of the other side, which never sees it.
            client.perform(.send([13, 10, 13, 10], flow, to: address))
            guard case .received([13, 10], flow, address)? = client.inputs.take() else {
                Issue.record("no pong")
                return
            }
            client.perform(.close(flow))
            guard case .closed(flow, .closedLocally)? = client.inputs.take(),
                case .closed(accepted, .closedByPeer)? = server.inputs.take()
            else {
                Issue.record("no end")
                return
            }
        }
    }

    @Test func `a server that refuses the WebSocket is told with its status`() throws {
        try withLoop { loop in
            var settings = WebSocketSettings()
            settings.server.path = "/ws"
            let (client, server) = (WebSocketSide(loop), WebSocketSide(loop, settings))
            let address = try #require(server.listen())
            client.perform(.connect(flow, .ws, to: address, name: nil, tls: nil))
            guard case .closed(flow, .other(let words))? = client.inputs.take() else {
                Issue.record("it came up")
                return
            }
            #expect(words == "the server refused the WebSocket (404 Not Found)")
            if server.inputs.take(seconds: 0.2) != nil { Issue.record("what was no WebSocket is told") }
        }
    }

    @Test func `a driver without WebSockets says so`() throws {
        try withLoop { loop in
            let inbox = Inbox<TransportInput>()
            let driver = loop.sync { OnLoop(value: SIPTransportDriver(loop: loop) { for input in $0 { inbox.put(input) } }) }
            let refused = loop.sync { () -> NetworkError.Code? in
                do throws(NetworkError) {
                    try driver.value.listen(.ws, at: SocketAddress(.loopbackV4, 0))
                    return nil
                } catch { return error.code }
            }
            #expect(refused == .transportNotSupported)
        }
    }
}
