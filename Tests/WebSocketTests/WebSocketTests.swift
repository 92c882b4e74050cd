// SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoOpenSSL
import Essentials
import Testing
import WebSocket

struct Numbers: RandomNumberGenerator {
    var state: UInt64 = 7
    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state
    }
}

let start = MonotonicTime.zero

func octets(_ hex: String) -> [UInt8] {
    let digits = hex.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

func server(_ settings: WebSocketServerSettings = WebSocketServerSettings(), limits: WebSocketLimits = WebSocketLimits()) -> WebSocket {
    let socket = WebSocket(server: settings, limits: limits, cryptography: OpenSSLCryptography(), random: RandomSource(Numbers()))
    socket.start(now: start)
    return socket
}

func client(
    _ settings: WebSocketClientSettings = WebSocketClientSettings(host: "sip.example.net"), limits: WebSocketLimits = WebSocketLimits()
) -> WebSocket {
    let socket = WebSocket(client: settings, limits: limits, cryptography: OpenSSLCryptography(), random: RandomSource(Numbers()))
    socket.start(now: start)
    return socket
}

func events(_ socket: WebSocket) -> [WebSocket.Event] {
    var list: [WebSocket.Event] = []
    while let event = socket.nextEvent() { list.append(event) }
    return list
}

func end(_ socket: WebSocket) -> WebSocketEnd? {
    events(socket).compactMap { if case .ended(let reason) = $0 { reason } else { nil } }.first
}

/// The example of RFC 6455 §1.2 and §1.3, with the subprotocol of RFC 7118.
let request = [
    "GET /chat HTTP/1.1", "Host: server.example.com", "Upgrade: websocket", "Connection: keep-alive, Upgrade",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Origin: http://example.com", "Sec-WebSocket-Protocol: chat, SIP",
    "Sec-WebSocket-Version: 13",
]

func head(_ lines: [String]) -> [UInt8] { Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) }

/// A server whose handshake is done.
func openServer(limits: WebSocketLimits = WebSocketLimits()) -> WebSocket {
    let socket = server(limits: limits)
    socket.receive(head(request), now: start)
    _ = socket.takeOutput()
    _ = events(socket)
    return socket
}

@Suite struct HandshakeTests {
    @Test func `the server answers the example of RFC 6455 with the accept key of the RFC`() {
        let socket = server()
        // However the head is cut.
        for byte in head(request) { socket.receive([byte], now: start) }
        let answer = String(decoding: socket.takeOutput(), as: UTF8.self)
        #expect(answer.hasPrefix("HTTP/1.1 101 "))
        #expect(answer.contains("\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"))
        #expect(answer.contains("\r\nSec-WebSocket-Protocol: SIP\r\n") && answer.hasSuffix("\r\n\r\n"))
        #expect(events(socket) == [.opened(path: "/chat")] && socket.nextDeadline == nil)
    }

    @Test(arguments: [
        ("GET /chat HTTP/1.1", "POST /chat HTTP/1.1", 405), ("GET /chat HTTP/1.1", "GET /chat HTTP/1.0", 400),
        ("Upgrade: websocket", "Upgrade: h2c", 426), ("Sec-WebSocket-Version: 13", "Sec-WebSocket-Version: 8", 426),
        ("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Key: short", 400),
        ("Sec-WebSocket-Protocol: chat, SIP", "Sec-WebSocket-Protocol: chat", 400), ("Host: server.example.com", "no field", 400),
        ("GET /chat HTTP/1.1", "GET /other HTTP/1.1", 404), ("Origin: http://example.com", "Origin: http://evil.example", 403),
        ("Host: server.example.com", "Host : server.example.com", 400),
    ]) func `a request that is not right is refused with the status that says why`(line: String, other: String, status: Int) {
        let socket = server(WebSocketServerSettings(allowedOrigins: ["HTTP://example.com"], path: "/chat"))
        socket.receive(head(request.map { $0 == line ? other : $0 }), now: start)
        #expect(String(decoding: socket.takeOutput(), as: UTF8.self).hasPrefix("HTTP/1.1 \(status) "))
        #expect(end(socket) != nil && socket.isEnded)
    }

    @Test func `a list of origins lets its pages and programs without a page in`() {
        let settings = WebSocketServerSettings(allowedOrigins: ["http://example.com"])
        for lines in [request, request.filter { !$0.hasPrefix("Origin") }] {
            let socket = server(settings)
            socket.receive(head(lines), now: start)
            #expect(events(socket) == [.opened(path: "/chat")])
        }
    }

    @Test func `a client and a server open, talk and close`() {
        let (one, other) = (client(WebSocketClientSettings(host: "sip.example.net:8080", path: "/ws")), server())
        other.receive(one.takeOutput(), now: start)
        one.receive(other.takeOutput(), now: start)
        #expect(events(one) == [.opened(path: "/ws")] && events(other) == [.opened(path: "/ws")])
        let message = Array("MESSAGE sip:bob@example.net SIP/2.0\r\n\r\n".utf8)
        for size in [0, 125, 126, 65_535, 65_536] {
            let long = [UInt8](repeating: 0xff, count: size)
            one.send(message)
            one.send(long)
            other.receive(one.takeOutput(), now: start)
            // What is no UTF-8 goes as binary.
            #expect(events(other) == [.message(message, isText: true), .message(long, isText: size == 0)])
            other.send(long)
            one.receive(other.takeOutput(), now: start)
            #expect(events(one) == [.message(long, isText: size == 0)])
        }
        one.close(now: start)
        other.receive(one.takeOutput(), now: start)
        one.receive(other.takeOutput(), now: start)
        #expect(end(other) == WebSocketEnd(.closedByPeer, status: 1000) && end(one) == WebSocketEnd(.closed, status: 1000))
    }

    @Test(arguments: [
        ("101", "404", WebSocketEnd.Code.refused), ("Upgrade: websocket", "Upgrade: tls", .badHandshake),
        ("Connection: Upgrade", "Connection: close", .badHandshake), ("Accept: ", "Accept: x", .badHandshake),
        ("Protocol: sip", "Protocol: chat", .noSubprotocol), ("HTTP/1.1", "SIP/2.0", .badHandshake),
        ("Upgrade: websocket", "Upgrade: websocket\r\nSec-WebSocket-Extensions: x", .badHandshake),
    ]) func `a client takes no answer but the right one`(part: String, other: String, code: WebSocketEnd.Code) {
        let (one, two) = (client(), server())
        two.receive(one.takeOutput(), now: start)
        let answer = String(decoding: two.takeOutput(), as: UTF8.self)
        let changed = answer.split(separator: "\r\n", omittingEmptySubsequences: false).map { line in
            line.firstRange(of: part).map { line.replacingCharacters(in: $0, with: other) } ?? String(line)
        }
        one.receive(Array(changed.joined(separator: "\r\n").utf8), now: start)
        #expect(end(one)?.code == code)
    }

    @Test func `settings with line ends add no field`() {
        let settings = WebSocketClientSettings(host: "a\r\nX: 1", path: "/a b\r\n", origin: "o\nY: 2")
        let text = String(decoding: client(settings).takeOutput(), as: UTF8.self)
        #expect(text.hasPrefix("GET /ab HTTP/1.1\r\nHost: aX:1\r\n") && text.contains("Origin: oY:2\r\n"))
        #expect(!text.contains("\nX") && !text.contains("\nY"))
    }

    @Test func `a handshake that takes too long or is too large ends`() {
        let slow = client()
        #expect(slow.nextDeadline == start + .seconds(10))
        slow.advance(to: start + .seconds(10))
        #expect(end(slow)?.code == .timedOut)
        let large = server()
        large.receive([UInt8](repeating: 65, count: 8193), now: start)
        #expect(String(decoding: large.takeOutput(), as: UTF8.self).hasPrefix("HTTP/1.1 431"))
        #expect(end(large)?.code == .badHandshake)
        let many = server()
        many.receive(head(["GET / HTTP/1.1"] + (0...64).map { "A\($0): b" }), now: start)
        #expect(String(decoding: many.takeOutput(), as: UTF8.self).hasPrefix("HTTP/1.1 431"))
        let cut = client()
        cut.receiveEnd()
        #expect(end(cut)?.code == .lost)
    }
}

extension Substring {
    func replacingCharacters(in range: Range<Index>, with text: String) -> String {
        self[..<range.lowerBound] + text + self[range.upperBound...]
    }
}

@Suite struct FramingTests {
    /// RFC 6455 §5.7: a masked “Hello” in one frame, and what a server sends.
    @Test func `the examples of RFC 6455 are read and written`() {
        let socket = openServer()
        for byte in octets("818537fa213d7f9f4d5158") { socket.receive([byte], now: start) }
        #expect(events(socket) == [.message(Array("Hello".utf8), isText: true)])
        socket.send(Array("Hello".utf8))
        #expect(socket.takeOutput() == octets("810548656c6c6f"))
        // A masked ping is answered by a pong with the same octets.
        socket.receive(octets("898537fa213d7f9f4d5158"), now: start)
        #expect(socket.takeOutput() == octets("8a0548656c6c6f"))
        socket.ping()
        #expect(socket.takeOutput() == octets("8900"))
        socket.receive(octets("8a8000000000"), now: start)
        #expect(events(socket) == [.pong])
    }

    @Test func `fragments become one message, and control frames may stand between them`() {
        let socket = openServer()
        // “Hel”, ping, “lo”; a zero mask leaves the octets as they are.
        socket.receive(octets("018300000000 48656c 898000000000 808200000000 6c6f"), now: start)
        #expect(events(socket) == [.message(Array("Hello".utf8), isText: true)] && socket.takeOutput() == octets("8a00"))
        // A character may be cut by a fragment.
        socket.receive(octets("018100000000 c3 808100000000 bc"), now: start)
        #expect(events(socket) == [.message(Array("ü".utf8), isText: true)])
    }

    @Test(arguments: [
        ("c18000000000", 1002), ("838000000000", 1002), ("8b8000000000", 1002), ("8100", 1002),
        ("098000000000", 1002), ("89fe00000000", 1002), ("808000000000", 1002), ("018000000000 818000000000", 1002),
        ("81fe007d", 1002), ("81ff0000000000000001", 1002), ("81ff8000000000000000", 1002), ("888100000000 03", 1002),
        ("888200000000 03ed", 1002), ("888200000000 0000", 1002), ("888300000000 03e8ff", 1007), ("818100000000 ff", 1007),
        ("818300000000 eda080", 1007), ("81ff0000000000010001", 1009),
    ]) func `what breaks a rule closes with the status that names it`(bytes: String, status: Int) {
        let socket = openServer()
        socket.receive(octets(bytes), now: start)
        #expect(socket.takeOutput() == [0x88, 2, UInt8(status >> 8), UInt8(status & 255)])
        #expect(end(socket)?.status == status && socket.isEnded)
        socket.receive(octets("818000000000"), now: start)
        #expect(events(socket).isEmpty)
    }

    @Test func `a client refuses masked frames and masks its own`() {
        let (one, two) = (client(), server())
        two.receive(one.takeOutput(), now: start)
        one.receive(two.takeOutput(), now: start)
        _ = events(one)
        one.send([65, 65, 65, 65])
        let sent = one.takeOutput()
        #expect(sent.count == 10 && sent[1] == 0x84 && sent[6...] != [65, 65, 65, 65])
        one.receive(octets("818000000000"), now: start)
        #expect(end(one)?.code == .protocolError)
    }

    @Test func `too many fragments or octets of a message close with 1009`() {
        var limits = WebSocketLimits()
        limits.fragments = 2
        limits.messageOctets = 5
        for bytes in ["010000000000 000000000000 000000000000", "018300000000 010203 008300000000 040506"] {
            let socket = openServer(limits: limits)
            socket.receive(octets(bytes).masked, now: start)
            #expect(end(socket)?.status == 1009)
        }
    }

    @Test func `a flood of Pings is one Pong for each piece of the stream, and one of Pongs is one sign of life`() {
        let socket = openServer()
        let pings = (0..<9000).flatMap { octets("89820000000000") + [UInt8($0 & 255)] }
        let clock = ContinuousClock()
        let spent = clock.measure {
            socket.receive(pings, now: start)
            #expect(socket.takeOutput() == octets("8a0200") + [UInt8(8999 & 255)])
            socket.receive(Array(repeating: octets("8a8000000000"), count: 10_000).flatMap { $0 }, now: start)
            #expect(events(socket) == [.pong])
            // Many small messages are taken out one by one, at a cost that grows with their number only.
            socket.receive(Array(repeating: octets("818100000000 41"), count: 40_000).flatMap { $0 }, now: start)
            #expect(events(socket).count == 40_000)
        }
        #expect(spent < .seconds(20))
    }

    @Test func `a message or frame that never comes to its end closes with 1008, whatever control frames come between`() {
        for bytes in ["018100000000 41", "81", "81ff", "818500000000 4142"] {
            let socket = openServer()
            socket.receive(octets(bytes), now: start)
            #expect(socket.nextDeadline == start + .seconds(30))
            if bytes.hasPrefix("01") { socket.receive(octets("898000000000 008100000000 41"), now: start + .seconds(20)) }
            _ = socket.takeOutput()
            socket.advance(to: start + .seconds(30))
            #expect(socket.takeOutput() == octets("880203f0") && end(socket) == WebSocketEnd(.unfinished, status: 1008))
        }
    }

    @Test func `a busy connection whose pieces always end within a message is not taken for a stuck one`() {
        let socket = openServer()
        socket.receive(octets("81"), now: start)
        for second in 1...100 as ClosedRange<Int64> {
            socket.advance(to: start + .seconds(second))
            socket.receive(octets("8100000000 41 81"), now: start + .seconds(second))
            #expect(events(socket).count == 1 && socket.nextDeadline == start + .seconds(second + 30))
        }
        socket.receive(octets("8100000000 41"), now: start + .seconds(101))
        #expect(socket.nextDeadline == nil)
    }

    @Test func `a Close is answered; ours waits only so long`() {
        let asked = openServer()
        asked.receive(octets("888400000000 03e9 6279"), now: start)
        #expect(asked.takeOutput() == octets("880203e9") && end(asked) == WebSocketEnd(.closedByPeer, status: 1001, "by"))
        let closing = openServer()
        closing.close(now: start)
        closing.send([1])
        #expect(closing.takeOutput() == octets("880203e8") && closing.nextDeadline == start + .seconds(2))
        closing.receive(octets("818100000000 41 898000000000"), now: start)
        #expect(events(closing).isEmpty && closing.takeOutput().isEmpty)
        closing.advance(to: start + .seconds(2))
        #expect(end(closing)?.code == .closed)
    }

    @Test func `octets of any kind end in a state, not in a trap`() {
        var numbers = Numbers()
        for _ in 0..<2000 {
            let socket = openServer()
            let bytes = (0..<Int.random(in: 0...40, using: &numbers)).map { _ in UInt8.random(in: 0...255, using: &numbers) }
            socket.receive(bytes, now: start)
            #expect(events(socket).count <= bytes.count)
        }
    }
}

extension [UInt8] {
    /// Frames without payload or with a zero mask, with their mask bit set.
    var masked: [UInt8] {
        var bytes = self
        var at = 0
        while at + 1 < bytes.count {
            let length = Int(bytes[at + 1] & 0x7f)
            bytes[at + 1] |= 0x80
            at += 6 + length
        }
        return bytes
    }
}
