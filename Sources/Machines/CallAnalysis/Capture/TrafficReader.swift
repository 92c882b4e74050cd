// SPDX-License-Identifier: Apache-2.0

import Essentials
import RTP
import SDP
import SIP

/// Reads a capture file into what was said and heard.
///
///     var reader = TrafficReader()
///     for chunk in file { try reader.append(chunk) }
///     let analysis = CallAnalysis(reader.finish())
public struct TrafficReader: Sendable {
    private struct Direction: Hashable {
        var source: SocketAddress
        var destination: SocketAddress
    }

    private let limits: CaptureLimits
    private var frames: CaptureReader
    private var fragments: FragmentAssembler
    private var directions: [Direction: Int] = [:]
    /// In the order in which they began.
    private var streams: [(direction: Direction, stream: StreamAssembler, last: MonotonicTime)] = []
    /// By the place of their stream: connections that are not seen into.
    private var sealed: [Int: CaptureCounter] = [:]
    private var ledger: MediaLedger
    private var traffic = Traffic()
    /// Of the messages that are kept.
    private var messageOctets = 0

    public init(limits: CaptureLimits = CaptureLimits()) {
        self.limits = limits
        frames = CaptureReader(limits: limits)
        fragments = FragmentAssembler(limits)
        ledger = MediaLedger(limit: limits.mediaFlows)
        traffic.seesMedia = true
    }

    /// Takes a piece of the file.
    ///
    /// - Throws: `CaptureError` where it is no capture, or breaks off; what was read before is kept.
    public mutating func append(_ bytes: [UInt8]) throws(CaptureError) {
        frames.append(bytes)
        while let frame = try frames.next() { take(frame) }
    }

    /// All that was read, in the order of time.
    public mutating func finish() -> Traffic {
        for place in streams.indices {
            for message in streams[place].stream.finish(&traffic.counters) {
                note(
                    message, .tcp, streams[place].direction.source, streams[place].direction.destination, streams[place].last, fragments: 1)
            }
        }
        fragments.finish(&traffic.counters)
        traffic.lostDatagrams = fragments.neverWhole.filter { Traffic.looksLikeSIP($0.head[...]) }
        traffic.media = ledger.finish()
        // Stable: what came at the same time keeps its order.
        traffic.messages = traffic.messages.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }.map(
            \.element)
        return traffic
    }

    private mutating func take(_ frame: CapturedFrame) {
        traffic.counters.increment(.frames)
        guard let packet = IPPacket(frame: frame) else { return traffic.counters.increment(.framesNotRead) }
        if frame.bytes.count < frame.originalLength { traffic.counters.increment(.framesCut) }
        guard let fragment = packet.fragment else { return take(packet, packet.payload, 1, frame.time) }
        if let whole = fragments.add(packet, fragment, at: frame.time, &traffic.counters) {
            take(packet, whole.payload, whole.fragments, frame.time)
        }
    }

    private mutating func take(_ packet: IPPacket, _ payload: ArraySlice<UInt8>, _ fragments: Int, _ time: MonotonicTime) {
        switch packet.protocolNumber {
        case 17:
            guard payload.count > 8 else { return }
            let length = Int(payload.number(4))
            let bytes = payload.dropFirst(8).prefix(length > 8 ? length - 8 : .max)
            takeDatagram(
                bytes, SocketAddress(packet.source, payload.number(0)), SocketAddress(packet.destination, payload.number(2)), fragments,
                time)
        case 6: takeSegment(payload, packet, time)
        case 1, 58: takeControl(payload, packet, time)
        default: traffic.counters.increment(.framesNotRead)
        }
    }

    // MARK: UDP

    private mutating func takeDatagram(
        _ bytes: ArraySlice<UInt8>, _ source: SocketAddress, _ destination: SocketAddress, _ fragments: Int, _ time: MonotonicTime
    ) {
        if Traffic.looksLikeSIP(bytes) {
            note(Array(bytes), .udp, source, destination, time, fragments: fragments)
        } else if bytes.count >= 8, bytes.octet(0) >> 6 == 2 {
            ledger.add(Array(bytes), from: source, to: destination, at: time, &traffic.counters)
        }
    }

    private mutating func note(
        _ bytes: [UInt8], _ transport: TransportProtocol, _ source: SocketAddress, _ destination: SocketAddress, _ time: MonotonicTime,
        fragments: Int
    ) {
        let message: SIPMessage
        switch SIPMessage.receive(bytes) {
        case .message(let found): message = found
        case .refuse(let found, _, _):
            traffic.counters.increment(.messagesUnreadable)
            message = found
        case .drop: return traffic.counters.increment(.messagesUnreadable)
        }
        guard traffic.messages.count < limits.messages, messageOctets + bytes.count <= limits.messageOctets else {
            return traffic.counters.increment(.messagesDropped)
        }
        // A capture of two interfaces shows each packet twice; nobody retransmits within 20 ms.
        let isAgain = traffic.messages.suffix(16).contains {
            $0.source == source && $0.destination == destination && (time - $0.time).nanoseconds < 20_000_000
                && $0.message.bytes == message.bytes
        }
        guard !isAgain else { return traffic.counters.increment(.messagesSeenTwice) }
        traffic.counters.increment(.messages)
        messageOctets += bytes.count
        if let body = message.body(ofType: "application", "sdp"), let description = try? SessionDescription(parsing: body) {
            ledger.note(description)
        }
        traffic.messages.append(
            SeenMessage(time: time, transport: transport, source: source, destination: destination, message: message, fragments: fragments))
    }

    // MARK: TCP

    private mutating func takeSegment(_ segment: ArraySlice<UInt8>, _ packet: IPPacket, _ time: MonotonicTime) {
        let headerLength = Int(segment.octet(12) >> 4) * 4
        guard segment.count >= 20, headerLength >= 20, segment.count >= headerLength else { return }
        let source = SocketAddress(packet.source, segment.number(0))
        let destination = SocketAddress(packet.destination, segment.number(2))
        let flags = segment.octet(13)
        if flags & 0x04 != 0 {
            // RST with nothing said before is the answer to a SYN.
            if directions[Direction(source: source, destination: destination)] == nil,
                directions[Direction(source: destination, destination: source)] != nil
            {
                add(Unreachable(time: time, kind: .refused, reporter: packet.source, source: destination, destination: source))
            }
            return
        }
        let bytes = segment.dropFirst(headerLength)
        guard flags & 0x02 != 0 || !bytes.isEmpty else { return }
        let direction = Direction(source: source, destination: destination)
        let place: Int
        if let known = directions[direction] {
            place = known
        } else {
            guard streams.count < limits.streams else { return traffic.counters.increment(.streamsDropped) }
            place = streams.count
            directions[direction] = place
            streams.append((direction, StreamAssembler(limit: limits.streamPending), time))
        }
        streams[place].last = time
        if sealed[place] == nil, !streams[place].stream.hasOctets { sealed[place] = Self.seal(bytes) }
        if let seal = sealed[place] {
            if !bytes.isEmpty { traffic.counters.increment(seal) }
            return
        }
        let messages = streams[place].stream.add(
            sequence: segment.longNumber(4), bytes: bytes, isStart: flags & 0x02 != 0, &traffic.counters)
        for message in messages { note(message, .tcp, source, destination, time, fragments: 1) }
    }

    /// What hides SIP in a connection that begins so: a record of TLS (RFC 8446 §5.1), or the handshake of WebSocket (RFC 6455 §4).
    private static func seal(_ bytes: ArraySlice<UInt8>) -> CaptureCounter? {
        if bytes.count > 5, (20...23).contains(bytes.octet(0)), bytes.octet(1) == 3, bytes.octet(2) <= 4 { return .packetsOfTLS }
        guard bytes.starts(with: "GET ".utf8) || bytes.starts(with: "HTTP/1.1 101".utf8) else { return nil }
        return String(decoding: bytes.prefix(2048), as: UTF8.self).lowercased().contains("websocket") ? .packetsOfWebSocket : nil
    }

    // MARK: ICMP

    /// The report quotes the packet that could not be delivered.
    private mutating func takeControl(_ bytes: ArraySlice<UInt8>, _ packet: IPPacket, _ time: MonotonicTime) {
        let kind: Unreachable.Kind
        switch (packet.protocolNumber, bytes.octet(0), bytes.octet(1)) {
        case (1, 3, 3), (58, 1, 4): kind = .portClosed
        case (1, 3, 4), (58, 2, _): kind = .tooBig
        case (1, 3, 9), (1, 3, 10), (1, 3, 13), (58, 1, 1): kind = .prohibited
        case (1, 3, _), (58, 1, _): kind = .noRoute
        default: return
        }
        guard bytes.count > 8, let quoted = IPPacket(parsing: bytes.dropFirst(8)), [6, 17].contains(quoted.protocolNumber),
            quoted.payload.count >= 4, (quoted.fragment?.offset ?? 0) == 0
        else { return }
        add(
            Unreachable(
                time: time, kind: kind, reporter: packet.source, source: SocketAddress(quoted.source, quoted.payload.number(0)),
                destination: SocketAddress(quoted.destination, quoted.payload.number(2))))
    }

    private mutating func add(_ report: Unreachable) {
        if traffic.unreachable.count < limits.unreachables { traffic.unreachable.append(report) }
    }
}
