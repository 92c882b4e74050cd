// SPDX-License-Identifier: Apache-2.0
//
// SIP over WebSocket (RFC 7118): `WebSocket` does the work, this carries its octets and keeps its time.

import Crypto
import Essentials
import SIPAgent
import WebSocket

/// How connections over WebSocket are made and taken (RFC 7118).
public struct WebSocketSettings: Sendable, Hashable {
    /// The path that clients ask for: `/`, or what the server wants, such as `/ws`.
    public var path = "/"
    /// What clients say in Origin; nil: nothing, as programs other than browsers do.
    public var origin: String?
    /// Which clients a listener takes.
    public var server = WebSocketServerSettings()
    public var limits = WebSocketLimits()

    public init() {}
}

/// What a driver needs for WebSockets besides the settings.
public struct WebSocketSupport {
    public var settings: WebSocketSettings
    public var cryptography: any Cryptography
    public var random: RandomSource

    public init(_ settings: WebSocketSettings = WebSocketSettings(), cryptography: any Cryptography, random: RandomSource) {
        self.settings = settings
        self.cryptography = cryptography
        self.random = random
    }

    /// The client's side of a connection to `host`, as the Host field names it.
    func client(host: String, path: String?) -> WebSocket {
        WebSocket(
            client: WebSocketClientSettings(host: host, path: path ?? settings.path, origin: settings.origin), limits: settings.limits,
            cryptography: cryptography, random: random)
    }

    func server() -> WebSocket {
        WebSocket(server: settings.server, limits: settings.limits, cryptography: cryptography, random: random)
    }
}

/// A WebSocket over a connection: `send` takes and `onReceive` gives whole messages. Belongs to the loop.
///
/// The keep-alives of RFC 5626 §3.5.1 become those of WebSocket (RFC 6455 §5.5): two line ends are sent as a Ping, and its Pong
/// is given as one line end, because not every server answers line ends in messages.
public final class WebSocketStream: ByteStream {
    private let loop: EventLoop
    private let stream: any ByteStream
    private let socket: WebSocket
    private lazy var timer = LoopTimer(loop: loop) { [weak self] in
        guard let self else { return }
        socket.advance(to: loop.now)
        drain()
    }
    /// Why it ended, where the connection below does not know it.
    private var ending: FlowFailure?
    private var isDrainPlanned = false
    private var isTold = false

    public var onConnected: (() -> Void)?
    public var onReceive: (([UInt8]) -> Void)?
    public var onClosed: ((FlowFailure) -> Void)?

    public var local: SocketAddress { stream.local }
    public var remote: SocketAddress { stream.remote }
    public var queued: Int { stream.queued }
    public var isOpen: Bool { socket.isOpen }
    public var agreement: TLSAgreement? { stream.agreement }

    /// Puts a WebSocket on a connection; `onConnected` follows once the handshake is done.
    public init(loop: EventLoop, over stream: any ByteStream, socket: WebSocket) {
        self.loop = loop
        self.stream = stream
        self.socket = socket
        stream.onConnected = { [self] in start() }
        stream.onReceive = { [self] octets in
            socket.receive(octets, now: loop.now)
            drain()
        }
        stream.onClosed = { [self] failure in connectionClosed(failure) }
        if stream.isOpen { loop.atEndOfTurn { [self] in start() } }
    }

    public func send(_ bytes: [UInt8]) {
        if bytes == [13, 10, 13, 10] { socket.ping() } else { socket.send(bytes) }
        planDrain()
    }

    public func close() {
        guard ending == nil else { return }
        socket.close(now: loop.now)
        planDrain()
    }

    // MARK: Steps

    private func start() {
        guard !socket.isEnded else { return }
        socket.start(now: loop.now)
        drain()
    }

    private func planDrain() {
        guard !isDrainPlanned else { return }
        isDrainPlanned = true
        loop.atEndOfTurn { [self] in
            isDrainPlanned = false
            drain()
        }
    }

    /// Hands on what the machine has to say. Called from handlers and at the end of turns only.
    private func drain() {
        let octets = socket.takeOutput()
        if !octets.isEmpty { stream.send(octets) }
        while let event = socket.nextEvent() {
            switch event {
            case .opened: onConnected?()
            case .message(let message, _): onReceive?(message)
            case .pong: onReceive?([13, 10])
            case .ended(let reason):
                if ending == nil { ending = FlowFailure(reason) }
                stream.close()
            }
        }
        timer.set(socket.nextDeadline)
    }

    private func connectionClosed(_ failure: FlowFailure) {
        socket.receiveEnd()
        if ending == nil { ending = failure }
        drain()
        guard !isTold else { return }
        isTold = true
        let told = onClosed
        onConnected = nil
        onReceive = nil
        onClosed = nil
        told?(ending ?? failure)
    }
}

extension FlowFailure {
    /// What the end of a WebSocket means for the flow.
    init(_ end: WebSocketEnd) {
        switch end.code {
        case .closed: self = .closedLocally
        case .closedByPeer where end.status == 1000 || end.status == 1001: self = .closedByPeer
        case .lost: self = .closedByPeer
        case .timedOut: self = .timedOut
        default: self = .other("\(end)")
        }
    }
}
