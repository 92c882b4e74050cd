// SPDX-License-Identifier: Apache-2.0
//
// The world's side of `TransportSeam` (RFC 3261 §18): sockets and connections for a machine.
//
//      machine ── TransportEffect ──▶ perform ──▶ sockets          (sent at the end of the turn)
//      machine ◀── [TransportInput] ── onInput ◀── sockets         (one call a batch, never from inside perform)

import CPosix
import Essentials
import SIP
import SIPAgent
import SecureChannel

/// What the driver counts.
public enum TransportCounter: Int, CounterName {
    case datagramsReceived
    case datagramsSent
    case connectionsAccepted
    case connectionsOpened
    /// More connections than `TransportLimits.connections`, or more accepted ones than may be.
    case connectionsRefused
    /// TLS is up on a connection, either way.
    case handshakesDone
    /// More handshakes at once than `TransportLimits.handshakesPerSource`.
    case handshakesRefused
    /// A certificate was refused, by us or the other side, or what came was no TLS.
    case handshakesFailed
    case sendsFailed
    /// A send or close for a flow that is gone.
    case unknownFlow
    /// A datagram of nothing, or of CR LF only (a keep-alive): not handed on.
    case emptyDatagrams
}

/// The limits of the driver.
public struct TransportLimits: Sendable {
    /// Connections open at once, both ways together.
    public var connections = 4096
    /// Accepted ones among them. Never more than three quarters of the descriptors that the process may have
    /// (RLIMIT_NOFILE): whoever connects without end must not take those of our own connections and of media.
    public var acceptedConnections = 3072
    /// Accepted ones of one address whose handshake (TLS, WebSocket) is not done; each handshake has a time limit of its own
    /// (`SecureLimits.handshakeTime`, `WebSocketLimits.handshake`).
    public var handshakesPerSource = 128
    public var datagrams = DatagramOptions()
    public var streams = StreamOptions()
    public var secure = SecureLimits()
    /// Sets of TLS settings that are kept ready.
    public var secureContexts = 64

    public init() {}
}

/// Opens listeners and connections, sends and receives for one machine. Belongs to the loop, like the machine.
public final class SIPTransportDriver {
    private enum Flow {
        case datagrams(DatagramSocket)
        case listener(StreamListener)
        case connection(any ByteStream)
    }

    private let loop: EventLoop
    private let limits: TransportLimits
    private let webSockets: WebSocketSupport?
    private let onInput: ([TransportInput]) -> Void
    private var flows: [FlowID: Flow] = [:]
    /// Accepted connections whose handshake is not done: the machine does not know them yet.
    private var unannounced: [FlowID: IPAddress] = [:]
    private var handshakes: [IPAddress: Int] = [:]
    private var contexts: [TLSSettings: SecureContext] = [:]
    private var connections = 0
    private var accepted = 0
    private let acceptedLimit: Int
    private var nextID: UInt64 = 1
    private var pending: [TransportInput] = []
    private var isDeliveryPlanned = false
    public private(set) var isOpen = true
    public private(set) var counters = Counters<TransportCounter>()

    /// `onInput` is called on the loop with what happened, in order. `webSockets`: nil: there are none.
    public init(
        loop: EventLoop, limits: TransportLimits = TransportLimits(), webSockets: WebSocketSupport? = nil,
        onInput: @escaping ([TransportInput]) -> Void
    ) {
        self.loop = loop
        self.limits = limits
        acceptedLimit = min(limits.acceptedConnections, Int(cposix_descriptor_limit()) / 4 * 3)
        self.webSockets = webSockets
        self.onInput = onInput
    }

    /// Opens a listener; `TransportInput.listening` follows at the end of the turn. Returns where it listens.
    ///
    /// `address` may have port 0 (any), and may be unspecified (every address of the family): then the address told to
    /// the machine, which it writes into Via and Contact, is the one from which `peer`, the default route without
    /// one, is reached. A machine that is told the addresses itself (`NetworkState`) is told the unspecified one.
    ///
    /// `tls` is needed where the transport is secure. The files that it names are read now.
    @discardableResult
    public func listen(
        _ transport: TransportProtocol, at address: SocketAddress, toward peer: SocketAddress? = nil, tellsUnspecified: Bool = false,
        tls: TLSServerSettings? = nil
    ) throws(NetworkError) -> SocketAddress {
        let id = FlowID(rawValue: nextID)
        let bound: SocketAddress
        switch transport {
        case .udp:
            let socket = try DatagramSocket(loop: loop, local: address, options: limits.datagrams)
            attach(socket, id)
            bound = socket.local
        case .tcp, .tls, .ws, .wss:
            if transport.isWebSocket, webSockets == nil { throw Self.notSupported(transport, address) }
            let context = transport.isSecure ? try serverContext(tls, "\(transport.rawValue) \(address)") : nil
            let listener = try StreamListener(loop: loop, local: address, options: limits.streams)
            attach(listener, id, context, transport)
            bound = listener.local
        }
        nextID += 2
        var told = bound
        if told.ip.isUnspecified {
            let route = peer.flatMap { $0.ip.isV6 == told.ip.isV6 ? localAddress(toward: $0) : nil }
            told.ip = route ?? primaryAddress(like: told.ip)
        }
        emit(.listening(id, transport, local: tellsUnspecified ? bound : told))
        return told
    }

    private static func notSupported(_ transport: TransportProtocol, _ address: SocketAddress) -> NetworkError {
        NetworkError(
            .transportNotSupported, "The transport \(transport.rawValue) is not there.",
            context: "\(transport.rawValue) \(address)")
    }

    /// Does what the machine wants. What comes of it is told later, never from inside this call.
    public func perform(_ effect: TransportEffect) {
        switch effect {
        case .send(let bytes, let id, let remote): send(bytes, id, remote)
        case .connect(let id, let transport, let remote, let name, let tls, let path): connect(id, transport, remote, name, tls, path)
        case .close(let id): close(id)
        }
    }

    /// Closes everything without telling the machine; connections still send what was queued.
    public func close() {
        isOpen = false
        pending = []
        for flow in flows.values {
            switch flow {
            case .datagrams(let socket): socket.close()
            case .listener(let listener): listener.close()
            case .connection(let connection): connection.close()
            }
        }
        flows = [:]
        connections = 0
        accepted = 0
    }

    // MARK: Effects

    private func send(_ bytes: [UInt8], _ id: FlowID, _ remote: SocketAddress) {
        switch flows[id] {
        case .datagrams(let socket):
            counters.increment(.datagramsSent)
            socket.send(bytes, to: remote)
        case .connection(let connection): connection.send(bytes)
        case .listener, nil:
            counters.increment(.unknownFlow)
            emit(.sendFailed(id, to: remote, .closedLocally))
        }
    }

    private func connect(
        _ id: FlowID, _ transport: TransportProtocol, _ remote: SocketAddress, _ name: String?, _ tls: TLSSettings?, _ path: String?
    ) {
        guard transport != .udp, !transport.isWebSocket || webSockets != nil else {
            return emit(.closed(id, .other(Self.notSupported(transport, remote).reason)))
        }
        guard flows[id] == nil else { return }
        guard connections < limits.connections else {
            counters.increment(.connectionsRefused)
            return emit(.closed(id, .limit))
        }
        do throws(FlowError) {
            let connection = try open(to: remote, name: name, tls: transport.isSecure ? tls ?? TLSSettings() : nil)
            let stream = dialled(connection, transport, remote, name, path)
            counters.increment(.connectionsOpened)
            stream.onConnected = { [unowned stream, self] in
                if transport.isSecure { counters.increment(.handshakesDone) }
                emit(.connected(id, local: stream.local, tls: stream.agreement))
                deliver()
            }
            attach(stream, id)
        } catch {
            emit(.closed(id, error.failure))
        }
    }

    /// Why there is no connection, told as an error.
    private struct FlowError: Error {
        var failure: FlowFailure
    }

    /// A connection that is being opened, secured if `tls` is given; whatever carries messages is put upon it.
    private func open(to remote: SocketAddress, name: String?, tls: TLSSettings?) throws(FlowError) -> any ByteStream {
        var context: SecureContext?
        if let tls {
            do throws(SecureChannelError) { context = try clientContext(tls) } catch {
                throw FlowError(failure: .secure(TLSFailure(.unusableSettings, detail: error.reason)))
            }
        }
        let connection: StreamConnection
        do throws(NetworkError) { connection = try StreamConnection(loop: loop, to: remote, options: limits.streams) } catch {
            throw FlowError(failure: FlowFailure(errno: error.errorNumber))
        }
        guard let context else { return connection }
        do throws(SecureChannelError) {
            return try SecureStream(loop: loop, over: connection, context: context, name: name ?? "\(remote.ip.unmapped)")
        } catch {
            connection.close()
            throw FlowError(failure: .secure(TLSFailure(.unusableSettings, detail: error.reason)))
        }
    }

    /// With a WebSocket upon it, where the transport is one.
    private func dialled(
        _ connection: any ByteStream, _ transport: TransportProtocol, _ remote: SocketAddress, _ name: String?, _ path: String?
    ) -> any ByteStream {
        guard transport.isWebSocket, let webSockets else { return connection }
        // The name may be an address as text, without brackets (RFC 3986 §3.2.2 wants them).
        let address = name.map { IPAddress($0) } ?? remote.ip
        let host = address.map { $0.isV6 ? "[\($0)]" : "\($0)" } ?? name ?? ""
        let port = remote.port == transport.defaultPort ? "" : ":\(remote.port)"
        return WebSocketStream(loop: loop, over: connection, socket: webSockets.client(host: host + port, path: path))
    }

    /// Reads the authorities and certificates that the settings name, once.
    private func clientContext(_ settings: TLSSettings) throws(SecureChannelError) -> SecureContext {
        if let context = contexts[settings] { return context }
        if contexts.count >= limits.secureContexts { contexts = [:] }
        let context = try SecureContext(client: settings, limits: limits.secure)
        contexts[settings] = context
        return context
    }

    private func serverContext(_ settings: TLSServerSettings?, _ place: String) throws(NetworkError) -> SecureContext {
        guard let settings else {
            throw NetworkError(.certificate, "Listening on \(place) needs a certificate and its key.", context: place)
        }
        do throws(SecureChannelError) {
            return try SecureContext(server: settings, limits: limits.secure)
        } catch {
            throw NetworkError(.certificate, error.reason, context: place)
        }
    }

    private func close(_ id: FlowID) {
        switch flows[id] {
        case .connection(let connection): connection.close()
        case .datagrams(let socket):
            socket.close()
            flows[id] = nil
            emit(.closed(id, .closedLocally))
        case .listener(let listener):
            listener.close()
            flows[id] = nil
            emit(.closed(id, .closedLocally))
        case nil: counters.increment(.unknownFlow)
        }
    }

    // MARK: Sockets

    private func attach(_ socket: DatagramSocket, _ id: FlowID) {
        flows[id] = .datagrams(socket)
        socket.onReceive = { [self] bytes, from, _ in
            counters.increment(.datagramsReceived)
            guard !Self.isKeepAlive(bytes) else { return counters.increment(.emptyDatagrams) }
            pending.append(.received(bytes.array, id, from: from))
        }
        socket.onBatchEnd = { [self] in deliver() }
        socket.onSendFailed = { [self] remote, failure in
            counters.increment(.sendsFailed)
            emit(.sendFailed(id, to: remote, failure))
        }
    }

    /// Keep-alives of the sort that RFC 3261 §7.5 tells to ignore: nothing but CR and LF, or single NULs that devices send.
    private static func isKeepAlive(_ bytes: Span<UInt8>) -> Bool {
        guard bytes.count <= 4 else { return false }
        for index in bytes.indices where bytes[index] != 13 && bytes[index] != 10 && bytes[index] != 0 { return false }
        return true
    }

    private func attach(_ listener: StreamListener, _ id: FlowID, _ context: SecureContext?, _ transport: TransportProtocol) {
        flows[id] = .listener(listener)
        listener.mayAccept = { [self] in
            if connections < limits.connections, accepted < acceptedLimit { return true }
            counters.increment(.connectionsRefused)
            return false
        }
        listener.onAccept = { [self] connection in
            let hasHandshake = context != nil || transport.isWebSocket
            guard !hasHandshake || handshakes[connection.remote.ip.unmapped] ?? 0 < limits.handshakesPerSource else {
                counters.increment(.handshakesRefused)
                return connection.close()
            }
            counters.increment(.connectionsAccepted)
            guard let stream = secured(connection, context) else { return connection.close() }
            guard transport.isWebSocket, let webSockets else { return accept(stream, listener: id, isSecure: context != nil) }
            let socket = WebSocketStream(loop: loop, over: stream, socket: webSockets.server())
            accept(socket, listener: id, isSecure: context != nil)
        }
    }

    /// The layers of an accepted connection; nil: there is no room for them.
    private func secured(_ connection: StreamConnection, _ context: SecureContext?) -> (any ByteStream)? {
        guard let context else { return connection }
        return try? SecureStream(loop: loop, over: connection, context: context)
    }

    /// Takes up what was accepted; the machine is told once octets flow.
    private func accept(_ stream: any ByteStream, listener: FlowID, isSecure: Bool) {
        let id = FlowID(rawValue: nextID)
        nextID += 2
        accepted += 1
        attach(stream, id)
        let announce = { [unowned stream, self] in
            emit(.accepted(id, listener: listener, local: stream.local, remote: stream.remote))
        }
        guard !stream.isOpen else { return announce() }
        unannounced[id] = stream.remote.ip.unmapped
        handshakes[stream.remote.ip.unmapped, default: 0] += 1
        stream.onConnected = { [self] in
            if isSecure { counters.increment(.handshakesDone) }
            _ = handshakeEnded(id)
            announce()
        }
    }

    /// Whether it was in its handshake till now, so that the machine does not know it.
    private func handshakeEnded(_ id: FlowID) -> Bool {
        guard let source = unannounced.removeValue(forKey: id) else { return false }
        let left = (handshakes[source] ?? 1) - 1
        handshakes[source] = left > 0 ? left : nil
        return true
    }

    private func attach(_ stream: any ByteStream, _ id: FlowID) {
        flows[id] = .connection(stream)
        connections += 1
        let remote = stream.remote
        stream.onReceive = { [self] bytes in
            emit(.received(bytes, id, from: remote))
            deliver()
        }
        stream.onClosed = { [self] failure in
            guard isOpen else { return }
            flows[id] = nil
            connections -= 1
            // Odd: named here, so it was accepted.
            if !id.rawValue.isMultiple(of: 2) { accepted -= 1 }
            if case .secure = failure { counters.increment(.handshakesFailed) }
            if !handshakeEnded(id) { emit(.closed(id, failure)) }
        }
    }

    // MARK: Inputs

    private func emit(_ input: TransportInput) {
        guard isOpen else { return }
        pending.append(input)
        guard !isDeliveryPlanned else { return }
        isDeliveryPlanned = true
        loop.atEndOfTurn { [self] in
            isDeliveryPlanned = false
            deliver()
        }
    }

    /// Hands over what waits for the end of the turn: after the listeners are opened, so that the machine knows them
    /// before its first command.
    public func deliver() {
        guard isOpen, !pending.isEmpty else { return }
        let inputs = pending
        pending = []
        onInput(inputs)
    }
}

extension Span<UInt8> {
    /// The octets, owned.
    package var array: [UInt8] { unsafe withUnsafeBufferPointer { unsafe Array($0) } }
}
