// SPDX-License-Identifier: Apache-2.0
//
// One connection (RFC 6455): handshake, messages, closing.
//
//      opening ──101──▶ open ──Close sent──▶ closing ──Close came──▶ closed
//         │ refused, late │ Close came (answered)      │ late              ▲
//         └───────────────┴────────────────────────────┴───────────────────┘

import Crypto
import Essentials

/// One WebSocket, as client or server: change one thing, then take `takeOutput()` and drain `nextEvent()`.
/// Not Sendable: it belongs to one isolation.
public final class WebSocket {
    public enum Event: Sendable, Hashable {
        /// The handshake is done. Server: the path that the client asked for.
        case opened(path: String)
        /// One whole message.
        case message([UInt8], isText: Bool)
        /// The answer to `ping`.
        case pong
        /// Nothing more comes or goes. Send what `takeOutput` still gives, then close the connection.
        case ended(WebSocketEnd)
    }

    private enum Role {
        case client(ClientHandshake)
        case server(ServerHandshake)
    }

    private enum State {
        case opening(head: [UInt8])
        case open
        /// Our Close is sent, that of the other side is awaited.
        case closing
        case ended
    }

    private let role: Role
    private let limits: WebSocketLimits
    private let cryptography: any Cryptography
    private let random: RandomSource
    private var state = State.opening(head: [])
    private var reader: FrameReader
    /// The message whose fragments come.
    private var partial: (opcode: Opcode, octets: [UInt8], fragments: Int)?
    private var output: [UInt8] = []
    private var events: [Event] = []
    /// Events before this one are taken: the other side decides how many come at once.
    private var takenEvents = 0
    /// The last Ping of what came, which is answered; a Pong that is not told yet.
    private var pingPayload: [UInt8]?
    private var hasPong = false
    /// A message came to its end.
    private var hasFinished = false
    private var now = MonotonicTime.zero
    public private(set) var nextDeadline: MonotonicTime?

    public init(
        client settings: WebSocketClientSettings, limits: WebSocketLimits = WebSocketLimits(), cryptography: any Cryptography,
        random: RandomSource
    ) {
        role = .client(ClientHandshake(settings, random: random))
        reader = FrameReader(expectsMask: false, limit: limits.messageOctets)
        self.limits = limits
        self.cryptography = cryptography
        self.random = random
    }

    public init(
        server settings: WebSocketServerSettings, limits: WebSocketLimits = WebSocketLimits(), cryptography: any Cryptography,
        random: RandomSource
    ) {
        role = .server(ServerHandshake(settings: settings))
        reader = FrameReader(expectsMask: true, limit: limits.messageOctets)
        self.limits = limits
        self.cryptography = cryptography
        self.random = random
    }

    /// Whether messages flow.
    public var isOpen: Bool { if case .open = state { true } else { false } }
    public var isEnded: Bool { if case .ended = state { true } else { false } }

    // MARK: Inputs

    /// The connection below is up: a client asks, a server waits.
    public func start(now: MonotonicTime) {
        guard case .opening = state, nextDeadline == nil else { return }
        self.now = now
        nextDeadline = now + limits.handshake
        if case .client(let handshake) = role { output += handshake.request }
    }

    /// Octets came.
    public func receive(_ bytes: [UInt8], now: MonotonicTime) {
        self.now = now
        switch state {
        case .opening(var head):
            // Moved, not copied.
            state = .opening(head: [])
            head += bytes
            readHead(head)
        case .open, .closing:
            reader.append(bytes)
            readFrames()
        case .ended: break
        }
    }

    /// The connection below ended.
    public func receiveEnd() {
        switch state {
        case .closing: end(WebSocketEnd(.closed))
        case .opening, .open: end(WebSocketEnd(.lost))
        case .ended: break
        }
    }

    /// Sends one message: as text if it is UTF-8, else as binary (RFC 7118 §4.2). Not before `opened`, not after `close`.
    public func send(_ message: [UInt8]) {
        guard isOpen else { return }
        put(isUTF8(message) ? .text : .binary, message)
    }

    /// Asks the other side for a sign of life; `pong` follows.
    public func ping() {
        if isOpen { put(.ping, []) }
    }

    /// Ends in good order (§7.1.2); `ended` follows when the other side agrees, or after `WebSocketLimits.closing`.
    public func close(status: Int = 1000, now: MonotonicTime) {
        switch state {
        case .opening: end(WebSocketEnd(.closed))
        case .open:
            put(.close, Self.closePayload(status))
            state = .closing
            nextDeadline = now + limits.closing
        case .closing, .ended: break
        }
    }

    /// Lets time pass.
    public func advance(to now: MonotonicTime) {
        guard let deadline = nextDeadline, now >= deadline else { return }
        switch state {
        case .opening: end(WebSocketEnd(.timedOut))
        case .closing: end(WebSocketEnd(.closed))
        case .open:
            put(.close, Self.closePayload(1008))
            end(WebSocketEnd(.unfinished, status: 1008))
        case .ended: nextDeadline = nil
        }
    }

    // MARK: Outcome

    /// What is to be sent over the connection below.
    public func takeOutput() -> [UInt8] {
        defer { output = [] }
        return output
    }

    public func nextEvent() -> Event? {
        guard takenEvents < events.count else { return nil }
        let event = events[takenEvents]
        takenEvents += 1
        if takenEvents == events.count {
            events.removeAll(keepingCapacity: events.count <= 64)
            takenEvents = 0
        }
        return event
    }

    private func put(_ opcode: Opcode, _ payload: [UInt8]) {
        var mask: UInt32?
        if case .client = role { mask = UInt32(truncatingIfNeeded: random.next()) }
        output += frame(opcode, payload, mask: mask)
    }

    private static func closePayload(_ status: Int) -> [UInt8] { [UInt8(status >> 8 & 255), UInt8(status & 255)] }

    private func end(_ reason: WebSocketEnd) {
        guard !isEnded else { return }
        state = .ended
        nextDeadline = nil
        partial = nil
        reader = FrameReader(expectsMask: reader.expectsMask, limit: reader.limit)
        events.append(.ended(reason))
    }

    // MARK: Handshake

    private func readHead(_ bytes: [UInt8]) {
        guard let end = HTTPHead.end(in: bytes), end <= limits.headOctets else {
            guard bytes.count > limits.headOctets else {
                state = .opening(head: bytes)
                return
            }
            failOpening(431, "Request Header Fields Too Large")
            return
        }
        let head: HTTPHead
        do throws(HTTPHead.Fault) { head = try HTTPHead(bytes[..<end], fieldLimit: limits.headFields) } catch {
            switch error {
            case .malformed: failOpening(400, "Bad Request")
            case .tooLarge: failOpening(431, "Request Header Fields Too Large")
            }
            return
        }
        switch role {
        case .client(let handshake):
            if let fault = handshake.fault(in: head, cryptography) { return self.end(fault) }
            open(path: handshake.settings.path)
        case .server(let handshake):
            let (response, fault) = handshake.answer(head, cryptography)
            output += response
            if let fault { return self.end(fault) }
            open(path: head.start[1])
        }
        let rest = bytes[end...]
        guard !rest.isEmpty else { return }
        reader.append(rest)
        readFrames()
    }

    private func open(path: String) {
        state = .open
        nextDeadline = nil
        events.append(.opened(path: path))
    }

    private func failOpening(_ status: Int, _ reason: String) {
        let fault = WebSocketEnd(.badHandshake, reason)
        if case .server(let handshake) = role { output += handshake.refuse(status, reason, fault).response }
        end(fault)
    }

    // MARK: Frames

    private func readFrames() {
        do throws(WebSocketEnd) {
            while !isEnded, let frame = try reader.next() { try take(frame) }
        } catch {
            if isOpen { put(.close, Self.closePayload(error.status ?? 1002)) }
            return end(error)
        }
        // §5.5.3: of several Pings the last one is answered. So a flood of them is one answer for each piece of the stream.
        if let payload = pingPayload, isOpen { put(.pong, payload) }
        pingPayload = nil
        if hasPong, isOpen { events.append(.pong) }
        hasPong = false
        watchUnfinished()
    }

    /// A message that does not come to its end takes memory and the connection: only for so long.
    private func watchUnfinished() {
        defer { hasFinished = false }
        guard isOpen else { return }
        guard partial != nil || reader.pending > 0 else {
            nextDeadline = nil
            return
        }
        // What came since is another one, which has its own time.
        if nextDeadline == nil || hasFinished { nextDeadline = now + limits.unfinished }
    }

    private func take(_ frame: FrameReader.Frame) throws(WebSocketEnd) {
        switch frame.opcode {
        case .text, .binary:
            guard partial == nil else { throw WebSocketEnd(.protocolError, status: 1002, "a message within a message") }
            if frame.isFinal { return try deliver(frame.payload, isText: frame.opcode == .text) }
            partial = (frame.opcode, frame.payload, 1)
        case .continuation:
            guard var message = partial else {
                throw WebSocketEnd(.protocolError, status: 1002, "a continuation of nothing")
            }
            guard message.octets.count + frame.payload.count <= limits.messageOctets, message.fragments < limits.fragments else {
                throw WebSocketEnd(.tooLarge, status: 1009)
            }
            // Moved, not copied.
            partial = nil
            message.octets += frame.payload
            message.fragments += 1
            if frame.isFinal { return try deliver(message.octets, isText: message.opcode == .text) }
            partial = message
        case .ping:
            // After our Close nothing more is sent (§5.5.1).
            pingPayload = frame.payload
        case .pong: hasPong = true
        case .close: try takeClose(frame.payload)
        }
    }

    private func deliver(_ octets: [UInt8], isText: Bool) throws(WebSocketEnd) {
        hasFinished = true
        if isText, !isUTF8(octets) { throw WebSocketEnd(.badText, status: 1007) }
        // Who said Close wants nothing more.
        if isOpen { events.append(.message(octets, isText: isText)) }
    }

    private func takeClose(_ payload: [UInt8]) throws(WebSocketEnd) {
        var status = 1005
        if !payload.isEmpty {
            guard payload.count >= 2 else { throw WebSocketEnd(.protocolError, status: 1002, "Close") }
            status = Int(payload[0]) << 8 | Int(payload[1])
            // §7.4: those that are defined for the wire, and those of libraries and applications.
            guard [1000...1003, 1007...1014, 3000...4999].contains(where: { $0.contains(status) }) else {
                throw WebSocketEnd(.protocolError, status: 1002, "Close")
            }
            guard isUTF8(payload.dropFirst(2)) else { throw WebSocketEnd(.badText, status: 1007) }
        }
        guard isOpen else { return end(WebSocketEnd(.closed, status: status)) }
        put(.close, payload.isEmpty ? [] : Self.closePayload(status))
        let reason = String(decoding: payload.dropFirst(2), as: UTF8.self)
        end(WebSocketEnd(.closedByPeer, status: status, reason))
    }
}
