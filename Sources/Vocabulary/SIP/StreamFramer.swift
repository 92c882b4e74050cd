// SPDX-License-Identifier: Apache-2.0
//
// Messages out of a stream (RFC 3261 §18.3), whatever way it is cut:
//
//   between messages    CRLF CRLF = ping, CRLF = pong (RFC 5626 §3.5.1); other line ends are skipped
//   head                up to CRLF CRLF; read by the same pass as every message, so both see the same Content-Length
//   body                as many octets as Content-Length says

/// Cuts a stream of octets into messages and keep-alives.
public struct StreamFramer: Sendable {
    public enum Frame: Sendable {
        /// One whole message, for `SIPMessage.receive`.
        case message([UInt8])
        /// Two line ends: to be answered with one.
        case keepAlivePing
        /// One line end: the answer to our ping.
        case keepAlivePong
        /// The stream cannot be read any further: close it. A message that can be refused was given before.
        case failure(SIPError)
    }

    private let limits: MessageLimits
    private var buffer: [UInt8] = []
    /// Octets before this one are consumed.
    private var start = 0
    /// Up to here the head holds no empty line.
    private var scanned = 0
    /// Head and body of the message that is being waited for.
    private var wholeLength: Int?
    private var failure: SIPError?
    private var isClosed = false
    /// The last thing reported was one line end; a second one makes a ping of both.
    private var halfPing = false
    private var pingsSent = 0

    public init(limits: MessageLimits = .default) { self.limits = limits }

    /// Adds what arrived.
    public mutating func append(_ bytes: [UInt8]) {
        guard !isClosed, failure == nil else { return }
        if start > 0, start == buffer.count || start > 16_384 {
            buffer.removeSubrange(..<start)
            scanned -= start
            start = 0
        }
        buffer.append(contentsOf: bytes)
    }

    /// Tells that we sent a ping, so that the next single line end is the answer to it.
    public mutating func pingSent() { pingsSent = min(pingsSent + 1, 8) }

    /// How many octets wait for the rest of their message.
    public var pendingCount: Int { buffer.count - start }

    /// The next frame, nil until more octets arrive. After a failure nothing comes any more.
    public mutating func next() -> Frame? {
        if isClosed { return nil }
        if let failure {
            isClosed = true
            buffer = []
            start = 0
            return .failure(failure)
        }
        if wholeLength == nil {
            if let frame = keepAlive() { return frame }
            guard start < buffer.count, !isLoneReturn else { return nil }
            guard let end = endOfHead() else {
                return buffer.count - start > limits.headLength ? fail(.limitHead) : nil
            }
            if let frame = readHead(end) { return frame }
        }
        guard let length = wholeLength, buffer.count - start >= length else { return nil }
        let message = Array(buffer[start..<(start + length)])
        consume(length)
        return .message(message)
    }

    /// One CR at the end of what came: it may become a line end.
    private var isLoneReturn: Bool { buffer.count == start + 1 && buffer[start] == 0x0d }

    /// Line ends between messages.
    private mutating func keepAlive() -> Frame? {
        guard buffer.count - start >= 2, buffer[start] == 0x0d, buffer[start + 1] == 0x0a else {
            if start < buffer.count, !isLoneReturn { halfPing = false }
            return nil
        }
        if buffer.count - start >= 4, !halfPing, buffer[start + 2] == 0x0d, buffer[start + 3] == 0x0a {
            consume(4)
            return .keepAlivePing
        }
        consume(2)
        if halfPing {
            halfPing = false
            return .keepAlivePing
        }
        if pingsSent > 0 { pingsSent -= 1 } else { halfPing = true }
        return .keepAlivePong
    }

    /// Behind the empty line that ends the head; nil if it has not come.
    private mutating func endOfHead() -> Int? {
        var i = max(scanned, start)
        let buffer = self.buffer
        let span = buffer.span
        let limit = min(buffer.count, start + limits.headLength + 4)
        while i < limit {
            i = span.firstControl(i, limit)
            guard i + 3 < limit else { break }
            if span[i] == 0x0d, span[i + 1] == 0x0a, span[i + 2] == 0x0d, span[i + 3] == 0x0a { return i + 4 }
            i += 1
        }
        let seen = min(i, buffer.count) - 3
        scanned = max(start, seen)
        return nil
    }

    /// Reads the head with the parser's own pass; sets `wholeLength`, or gives out what is to be refused before closing.
    private mutating func readHead(_ end: Int) -> Frame? {
        let head = Array(buffer[start..<end])
        var index = MessageIndex()
        let span = head.span
        let bodyStart = index.scanHead(span, limits)
        if bodyStart != nil { index.settleHead(span) }
        let length = head.count + max(0, Int(index.contentLength))
        switch index.problem {
        case .notSIP, .empty: return fail(index.problem ?? .notSIP)
        case .bareLineFeed, .bareCarriageReturn, .repeatedField, .contentLength, .limitFields, .limitHead, .headerLine:
            // Where the message ends cannot be trusted: it is refused by `receive`, then the stream is closed.
            failure = SIPError(index.problem ?? .notSIP, at: Int(index.problemOffset))
            consume(head.count)
            return .message(head)
        default: break
        }
        guard index.contentLength >= 0 else { return fail(.missingContentLength) }
        guard length <= limits.messageLength else { return fail(.limitMessage) }
        wholeLength = length
        return nil
    }

    private mutating func consume(_ count: Int) {
        start += count
        scanned = start
        wholeLength = nil
        if count > 4 { halfPing = false }
        if start == buffer.count {
            buffer.removeAll(keepingCapacity: buffer.capacity <= 16_384)
            start = 0
            scanned = 0
        }
    }

    private mutating func fail(_ code: SIPError.Code) -> Frame {
        isClosed = true
        buffer = []
        start = 0
        return .failure(SIPError(code))
    }
}
