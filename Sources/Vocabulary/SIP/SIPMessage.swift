// SPDX-License-Identifier: Apache-2.0

import Essentials

/// One SIP message: immutable, owning its octets. Fields are ranges of them until somebody asks for text.
public final class SIPMessage: Sendable {
    /// The message as it came or as it was built.
    public let bytes: [UInt8]
    let index: MessageIndex

    init(_ bytes: [UInt8], _ index: MessageIndex) {
        self.bytes = bytes
        self.index = index
    }

    /// What a datagram or a framed message turned out to be.
    public enum Reception: Sendable {
        /// A message to go on with.
        case message(SIPMessage)
        /// A request that is to be answered with this status because of its form. Via, From, To, Call-ID and CSeq are
        /// copied into the answer as far as they are there.
        case refuse(SIPMessage, status: Int, SIPError)
        /// Not to be answered: no SIP, a response or an ACK that is malformed, or a request without a way back.
        case drop(SIPError)
    }

    /// The function for each datagram and each framed message.
    ///
    /// Besides the lines it checks what every message needs: the start line with its URI, the topmost Via, From, To,
    /// Call-ID, CSeq and its method, Content-Length, and that none of these stands there twice with different values.
    public static func receive(_ datagram: [UInt8], limits: MessageLimits = .default) -> Reception {
        var index = MessageIndex()
        guard datagram.count <= limits.messageLength else { return .drop(SIPError(.limitMessage, at: limits.messageLength)) }
        let span = datagram.span
        guard let bodyStart = index.scanHead(span, limits) else {
            return .drop(SIPError(index.problem ?? .notSIP, at: Int(index.problemOffset)))
        }
        index.settleHead(span)
        index.settleBody(bodyStart, datagram.count)
        index.settleFields(span)
        if index.problem == nil { return .message(SIPMessage(datagram, index)) }
        return refusal(datagram, index)
    }

    @inline(never) private static func refusal(_ datagram: [UInt8], _ index: MessageIndex) -> Reception {
        let error = SIPError(index.problem ?? .notSIP, at: Int(index.problemOffset))
        // Without a readable sent-by there is no way back; an ACK and a response are never answered.
        guard index.isRequest, !index.topVia.host.isEmpty else { return .drop(error) }
        let message = SIPMessage(datagram, index)
        guard message.method != .ack else { return .drop(error) }
        return .refuse(message, status: error.code.status, error)
    }

    /// Takes only what `receive` gives out as a message.
    public convenience init(parsing bytes: [UInt8]) throws(SIPError) {
        switch SIPMessage.receive(bytes) {
        case .message(let message): self.init(message.bytes, message.index)
        case .refuse(_, _, let error), .drop(let error): throw error
        }
    }
}

extension SIPMessage.Reception {
    /// Counts this reception.
    public func count(in counters: inout Counters<SIPCounter>) {
        switch self {
        case .message(let message):
            counters.increment(.accepted)
            if message.leniency != [] { counters.increment(.lenient) }
        case .refuse(_, _, let error):
            counters.increment(.refused)
            if let limit = SIPCounter(limit: error.code) { counters.increment(limit) }
        case .drop(let error):
            counters.increment(error.code == .empty ? .keepAlive : .dropped)
            if let limit = SIPCounter(limit: error.code) { counters.increment(limit) }
        }
    }
}
