// SPDX-License-Identifier: Apache-2.0
//
// The opening handshake (RFC 6455 §4): a GET that asks to change the protocol, and its 101.

import Crypto
import Essentials

/// What the client sends and expects (§4.1).
struct ClientHandshake {
    let settings: WebSocketClientSettings
    /// The nonce in base 64.
    let key: String

    init(_ settings: WebSocketClientSettings, random: RandomSource) {
        self.settings = settings
        let nonce = (0..<2).flatMap { _ in
            let bits = random.next()
            return (0..<8).map { UInt8(truncatingIfNeeded: bits >> (8 * UInt64($0))) }
        }
        key = base64(nonce)
    }

    var request: [UInt8] {
        var lines = ["GET \(Self.safe(settings.path)) HTTP/1.1", "Host: \(Self.safe(settings.host))"]
        lines += ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: \(key)", "Sec-WebSocket-Version: 13"]
        lines.append("Sec-WebSocket-Protocol: \(Self.safe(settings.subprotocol))")
        if let origin = settings.origin { lines.append("Origin: \(Self.safe(origin))") }
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }

    /// Settings come from users: nothing in them starts a new line or another part of the line.
    private static func safe(_ text: String) -> String {
        String(decoding: text.utf8.filter { $0 > 32 && $0 != 127 }, as: UTF8.self)
    }

    /// Whether the answer opens the WebSocket; nil: it does.
    func fault(in head: HTTPHead, _ cryptography: any Cryptography) -> WebSocketEnd? {
        guard head.start.count >= 2, head.start[0].hasPrefix("HTTP/1."), let status = Int(head.start[1]) else {
            return WebSocketEnd(.badHandshake, "no HTTP")
        }
        guard status == 101 else {
            return WebSocketEnd(.refused, status: status, head.start.count > 2 ? head.start[2] : "")
        }
        guard head.list("upgrade").contains(where: { $0.lowercased() == "websocket" }) else {
            return WebSocketEnd(.badHandshake, "Upgrade")
        }
        guard head.list("connection").contains(where: { $0.lowercased() == "upgrade" }) else {
            return WebSocketEnd(.badHandshake, "Connection")
        }
        guard head.value("sec-websocket-accept") == accept(key, cryptography) else {
            return WebSocketEnd(.badHandshake, "Sec-WebSocket-Accept")
        }
        // What nobody asked for must not be there.
        guard !head.has("sec-websocket-extensions") else { return WebSocketEnd(.badHandshake, "Sec-WebSocket-Extensions") }
        guard head.value("sec-websocket-protocol")?.lowercased() == settings.subprotocol.lowercased() else {
            return WebSocketEnd(.noSubprotocol)
        }
        return nil
    }
}

/// The server's half (§4.2).
struct ServerHandshake {
    let settings: WebSocketServerSettings

    /// The response to a request, and why it refuses; nil: the WebSocket is open.
    func answer(_ head: HTTPHead, _ cryptography: any Cryptography) -> (response: [UInt8], fault: WebSocketEnd?) {
        guard head.start.count == 3, head.start[2] == "HTTP/1.1" else {
            return refuse(400, "Bad Request", .init(.badHandshake, "no HTTP/1.1"))
        }
        guard head.start[0] == "GET" else { return refuse(405, "Method Not Allowed", .init(.badHandshake, "method"), "Allow: GET") }
        let path = head.start[1].prefix { $0 != "?" }
        if let served = settings.path, path != served { return refuse(404, "Not Found", .init(.badHandshake, "path")) }
        guard head.list("upgrade").contains(where: { $0.lowercased() == "websocket" }),
            head.list("connection").contains(where: { $0.lowercased() == "upgrade" })
        else { return refuse(426, "Upgrade Required", .init(.badHandshake, "Upgrade"), "Upgrade: websocket", "Connection: Upgrade") }
        guard head.value("sec-websocket-version") == "13" else {
            return refuse(426, "Upgrade Required", .init(.badHandshake, "Sec-WebSocket-Version"), "Sec-WebSocket-Version: 13")
        }
        // 16 octets in base 64.
        guard let key = head.value("sec-websocket-key"), key.utf8.count == 24, head.value("host") != nil else {
            return refuse(400, "Bad Request", .init(.badHandshake, "Sec-WebSocket-Key or Host"))
        }
        if let allowed = settings.allowedOrigins, head.has("origin") {
            let origin = head.value("origin")?.lowercased()
            guard let origin, allowed.contains(where: { $0.lowercased() == origin }) else {
                return refuse(403, "Forbidden", .init(.originRefused, head.value("origin") ?? ""))
            }
        }
        let offered = head.list("sec-websocket-protocol")
        guard let chosen = offered.first(where: { $0.lowercased() == settings.subprotocol.lowercased() }) else {
            return refuse(400, "Bad Request", .init(.noSubprotocol), "Sec-WebSocket-Protocol: \(settings.subprotocol)")
        }
        let lines = [
            "HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade",
            "Sec-WebSocket-Accept: \(accept(key, cryptography))", "Sec-WebSocket-Protocol: \(chosen)",
        ]
        return (Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8), nil)
    }

    func refuse(
        _ status: Int, _ reason: String, _ fault: WebSocketEnd, _ fields: String...
    ) -> (response: [UInt8], fault: WebSocketEnd?) {
        let lines = ["HTTP/1.1 \(status) \(reason)"] + fields.filter { $0.isEmpty == false } + ["Content-Length: 0", "Connection: close"]
        return (Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8), fault)
    }
}

/// What proves that the server read the key (§4.2.2): its SHA-1 with a fixed name behind it.
private func accept(_ key: String, _ cryptography: any Cryptography) -> String {
    base64(cryptography.hash(.sha1, Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
}
