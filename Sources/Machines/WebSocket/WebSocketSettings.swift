// SPDX-License-Identifier: Apache-2.0

import Essentials

/// What a client asks the server for (RFC 6455 §4.1).
public struct WebSocketClientSettings: Sendable, Hashable {
    /// The server as the Host field names it: a name or address, with the port if that is not the scheme's own.
    public var host: String
    /// The resource: path and query. Begins with a slash.
    public var path: String
    /// The subprotocol that both sides must speak (RFC 7118 §4: `sip`).
    public var subprotocol: String
    /// What Origin says; nil: no such field, as programs other than browsers do.
    public var origin: String?

    public init(host: String, path: String = "/", subprotocol: String = "sip", origin: String? = nil) {
        self.host = host
        self.path = path
        self.subprotocol = subprotocol
        self.origin = origin
    }
}

/// What a server takes (RFC 6455 §4.2).
public struct WebSocketServerSettings: Sendable, Hashable {
    /// The subprotocol that both sides must speak (RFC 7118 §4: `sip`).
    public var subprotocol: String
    /// The web pages from which browsers may connect, as Origin names them: `https://phone.example.net`. nil: all. Programs
    /// that are no browsers send no Origin; the list does not concern them.
    public var allowedOrigins: [String]?
    /// The one path that is served; nil: each.
    public var path: String?

    public init(subprotocol: String = "sip", allowedOrigins: [String]? = nil, path: String? = nil) {
        self.subprotocol = subprotocol
        self.allowedOrigins = allowedOrigins
        self.path = path
    }
}

/// The limits of one connection.
public struct WebSocketLimits: Sendable, Hashable {
    /// Octets of one message, all fragments together; more closes with 1009.
    public var messageOctets = 65_536
    /// Fragments of one message; more closes with 1009.
    public var fragments = 256
    /// Octets of the HTTP head of the handshake.
    public var headOctets = 8192
    /// Header fields in it.
    public var headFields = 64
    /// How long the handshake may take.
    public var handshake = Interval.seconds(10)
    /// How long a message or frame that has begun may take to its end; longer closes with 1008. A Ping within resets nothing.
    public var unfinished = Interval.seconds(30)
    /// How long the other side may take to answer our Close.
    public var closing = Interval.seconds(2)

    public init() {}
}

/// Why a connection is at its end.
public struct WebSocketEnd: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Code: String, Sendable, Hashable {
        /// Closed in good order, by us.
        case closed = "websocket.closed"
        /// Closed in good order, by the other side; `status` says why.
        case closedByPeer = "websocket.closed-by-peer"
        /// The connection below ended without a Close.
        case lost = "websocket.lost"
        /// No handshake in the time allowed.
        case timedOut = "websocket.timed-out"
        /// Client: the server answered with another status than 101.
        case refused = "websocket.refused"
        /// What came is no answer, or no request, of the handshake.
        case badHandshake = "websocket.bad-handshake"
        /// The other side does not speak the subprotocol.
        case noSubprotocol = "websocket.no-subprotocol"
        /// Server: a web page connects that is not in the list.
        case originRefused = "websocket.origin-refused"
        /// The other side broke the rules of framing; closed with 1002.
        case protocolError = "websocket.protocol-error"
        /// A text message is no UTF-8; closed with 1007.
        case badText = "websocket.bad-text"
        /// A message is larger than allowed; closed with 1009.
        case tooLarge = "websocket.too-large"
        /// A message began and did not come to its end in the time allowed; closed with 1008.
        case unfinished = "websocket.unfinished"
    }

    public var code: Code
    /// The HTTP status of a refusal, or the status of the Close frame (RFC 6455 §7.4.1).
    public var status: Int?
    /// More, in words: the reason that the other side gave, or the field that was wrong.
    public var detail: String

    public init(_ code: Code, status: Int? = nil, _ detail: String = "") {
        self.code = code
        self.status = status
        self.detail = detail
    }

    /// One plain clause, such as `the server refused the WebSocket (404 Not Found)`.
    public var description: String {
        let more = [status.map { "\($0)" }, detail.isEmpty ? nil : detail].compactMap { $0 }.joined(separator: " ")
        let words =
            switch code {
            case .closed: "the WebSocket was closed"
            case .closedByPeer: "the other side closed the WebSocket"
            case .lost: "the WebSocket ended without a farewell"
            case .timedOut: "the handshake of the WebSocket took too long"
            case .refused: "the server refused the WebSocket"
            case .badHandshake: "what came is no handshake of a WebSocket"
            case .noSubprotocol: "the other side speaks no SIP over this WebSocket"
            case .originRefused: "that web page may not connect"
            case .protocolError: "the other side broke the rules of the WebSocket"
            case .badText: "a text message over the WebSocket is no text"
            case .tooLarge: "a message over the WebSocket is too large"
            case .unfinished: "a message over the WebSocket did not come to its end"
            }
        return more.isEmpty ? words : "\(words) (\(more))"
    }
}
