// SPDX-License-Identifier: Apache-2.0

/// How SIP travels: the `transport` of a Via (RFC 3261 §20.42, RFC 7118 §5.1) and of a URI parameter.
public enum TransportProtocol: String, Sendable, Hashable, CaseIterable {
    case udp
    case tcp
    case tls
    case ws
    case wss

    /// Whether messages may be lost, so that transactions retransmit (RFC 3261 §17.1.1.2).
    public var isReliable: Bool { self != .udp }

    /// Whether messages arrive as a stream of octets that must be framed (RFC 3261 §18.3).
    public var isStream: Bool { self == .tcp || self == .tls }

    /// Whether the transport satisfies a `sips` URI.
    public var isSecure: Bool { self == .tls || self == .wss }

    /// Whether each message is a message of a WebSocket (RFC 7118).
    public var isWebSocket: Bool { self == .ws || self == .wss }

    /// The port used where none is given (RFC 3261 §19.1.2, RFC 7118 §4).
    public var defaultPort: UInt16 {
        switch self {
        case .udp, .tcp: 5060
        case .tls: 5061
        case .ws: 80
        case .wss: 443
        }
    }

    /// The value of `transport` in URIs of ours: `ws` stands for both kinds of WebSocket (RFC 7118 §5.4).
    public var uriParameter: String { self == .wss ? "ws" : rawValue }

    /// The name in a Via: `UDP`, `TCP`, `TLS`, `WS` or `WSS`.
    public var viaName: String { rawValue.uppercased() }
}
