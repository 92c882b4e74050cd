// SPDX-License-Identifier: Apache-2.0

import Crypto
import Essentials
import WebSocket

/// Any octets over a WebSocket: the first octet chooses the role and whether the handshake is done. Reading ends, however
/// the octets are cut, and gives the same messages.
@Sendable func fuzzWebSocket(_ bytes: [UInt8]) {
    guard let choice = bytes.first else { return }
    let stream = Array(bytes.dropFirst())
    let whole = conversation(choice, [stream])
    let cut = conversation(choice, stride(from: 0, to: stream.count, by: 3).map { Array(stream[$0..<min($0 + 3, stream.count)]) })
    // Of several Pongs in a piece one is told, so how many there are depends on the pieces.
    func butPongs(_ events: [WebSocket.Event]) -> [WebSocket.Event] { events.filter { $0 != .pong } }
    require(butPongs(whole) == butPongs(cut), "what comes out does not depend on how the stream is cut")
}

private func conversation(_ choice: UInt8, _ pieces: [[UInt8]]) -> [WebSocket.Event] {
    let random = RandomSource(Steady())
    let socket: WebSocket
    if choice & 1 == 0 {
        socket = WebSocket(server: WebSocketServerSettings(), cryptography: Sum(), random: random)
    } else {
        socket = WebSocket(client: WebSocketClientSettings(host: "h"), cryptography: Sum(), random: random)
    }
    socket.start(now: .zero)
    if choice & 2 == 0, choice & 1 == 0 {
        let lines = [
            "GET / HTTP/1.1", "Host: h", "Upgrade: websocket", "Connection: upgrade", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Protocol: sip", "Sec-WebSocket-Version: 13", "", "",
        ]
        socket.receive(Array(lines.joined(separator: "\r\n").utf8), now: .zero)
        require(socket.isOpen, "the handshake is done")
    }
    var events: [WebSocket.Event] = []
    for piece in pieces {
        socket.receive(piece, now: .zero)
        while let event = socket.nextEvent() { events.append(event) }
    }
    _ = socket.takeOutput()
    socket.receiveEnd()
    while let event = socket.nextEvent() { events.append(event) }
    require(events.filter { if case .ended = $0 { true } else { false } }.count == 1, "there is one end")
    return events
}

private struct Steady: RandomNumberGenerator {
    mutating func next() -> UInt64 { 0x0123_4567_89ab_cdef }
}

private struct Sum: Cryptography {
    func hash(_ algorithm: HashAlgorithm, _ bytes: [UInt8]) -> [UInt8] {
        (0..<algorithm.length).map { bytes.indices.contains($0) ? bytes[$0] : 0 }
    }
}
