// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP
import SIPAgent

/// One SIP message as it went over a transport; credentials are masked.
public struct TraceRecord: Sendable {
    public enum Direction: String, Sendable {
        case sent
        case received
    }

    public var time: MonotonicTime
    public var direction: Direction
    public var transport: TransportProtocol
    public var local: SocketAddress
    public var remote: SocketAddress
    /// The message as text, credentials masked; octets that are no UTF-8 become U+FFFD.
    public var message: String
}

/// Finds the messages in what goes over flows, and masks what is secret in them.
struct MessageTrace {
    private struct Flow {
        var transport: TransportProtocol
        var local: SocketAddress
        var remote: SocketAddress?
        var received = StreamFramer()
    }

    private var flows: [FlowID: Flow] = [:]

    /// Follows what the world tells; gives the messages in it.
    mutating func note(_ input: TransportInput, now: MonotonicTime) -> [TraceRecord] {
        switch input {
        case .listening(let flow, let transport, let local): flows[flow] = Flow(transport: transport, local: local)
        case .connected(let flow, let local, _): flows[flow]?.local = local
        case .accepted(let flow, let listener, let local, let remote):
            flows[flow] = Flow(transport: flows[listener]?.transport ?? .tcp, local: local, remote: remote)
        case .closed(let flow, _): flows[flow] = nil
        case .sendFailed: break
        case .received(let bytes, let flow, let from): return received(bytes, flow, from, now)
        }
        return []
    }

    /// Follows what the machine orders; gives the message in it.
    mutating func note(_ effect: TransportEffect, now: MonotonicTime) -> [TraceRecord] {
        switch effect {
        case .connect(let flow, let transport, let to, _, _, _):
            flows[flow] = Flow(transport: transport, local: SocketAddress(.anyV4, 0), remote: to)
        case .close: break
        case .send(let bytes, let flow, let to):
            // Keep-alives are no messages: line ends, and STUN (RFC 7983).
            guard let known = flows[flow], bytes.count > 4, bytes[0] > 3 else { return [] }
            return [record(.sent, bytes, known, to, now)]
        }
        return []
    }

    private mutating func received(_ bytes: [UInt8], _ flow: FlowID, _ from: SocketAddress, _ now: MonotonicTime) -> [TraceRecord] {
        guard var known = flows[flow] else { return [] }
        guard known.transport.isStream else { return bytes.count > 4 && bytes[0] > 3 ? [record(.received, bytes, known, from, now)] : [] }
        var records: [TraceRecord] = []
        known.received.append(bytes)
        while let frame = known.received.next() {
            if case .message(let message) = frame { records.append(record(.received, message, known, from, now)) }
            if case .failure = frame { break }
        }
        flows[flow] = known
        return records
    }

    private func record(
        _ direction: TraceRecord.Direction, _ bytes: [UInt8], _ flow: Flow, _ remote: SocketAddress, _ now: MonotonicTime
    ) -> TraceRecord {
        TraceRecord(
            time: now, direction: direction, transport: flow.transport, local: flow.local, remote: remote,
            message: SecretMask.masked(String(decoding: bytes, as: UTF8.self)))
    }
}
