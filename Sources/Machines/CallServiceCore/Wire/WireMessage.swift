// SPDX-License-Identifier: Apache-2.0
//
//   0                   4
//  +-------------------+----------------------------+
//  | length, big-endian| one CBOR item of that many |
//  | 32 bits           | octets                     |
//  +-------------------+----------------------------+

/// What goes over the socket towards the service: an app's words, a call screen's, or a push channel's.
public enum ToService: Hashable, Sendable, Codable {
    case app(AppMessage)
    /// Opens a connection as a call screen instead of `app(.hello)`.
    case openScreen
    /// Answered by `FromService.userAnswer`.
    case user(RequestID, UserCommand)
    /// A push for an app of that bundle, which is started if it is not running. Answered by `FromService.pushAnswer`.
    case deliverPush(RequestID, bundle: String, type: String, payload: Octets)
}

/// What goes over the socket from the service.
public enum FromService: Hashable, Sendable, Codable {
    case app(ServiceMessage)
    case screen(ScreenState)
    /// The newest last.
    case history([HistoryEntry])
    case diagnostic(Diagnostic)
    case userAnswer(RequestID, UserCommandRefusal?)
    case pushAnswer(RequestID, PushVerdict)
    /// The connection ends: why, as a stable code.
    case refused(String)
}

/// What became of a push that was handed in.
public enum PushVerdict: String, Hashable, Sendable, Codable {
    case delivered
    /// The app is being started; the push follows its registration.
    case appStarted = "app-started"
    /// Nobody knows that app, or it never registered for pushes.
    case unregistered
    /// Delivery was stopped after too many pushes without a report (PUSH-8).
    case stopped
    case payloadTooLarge = "payload-too-large"
    /// No JSON object.
    case badPayload = "bad-payload"
    /// A VoIP push that is not for a call is refused (PUSH-15).
    case notACall = "not-a-call"
}

/// Frames of one direction of a connection.
public enum Wire {
    /// The frame of a message, ready to be sent.
    public static func frame(_ message: some Encodable) -> [UInt8] {
        // The messages of this module hold nothing that their encoding could refuse.
        let item = (try? CBOREncoder.encode(message)) ?? .null
        var body: [UInt8] = []
        item.write(to: &body)
        let length = UInt32(clamping: body.count)
        return (0..<4).map { UInt8(truncatingIfNeeded: length >> (24 - 8 * $0)) } + body
    }

    /// Reads the body of a frame.
    public static func message<Message: Decodable>(
        _ type: Message.Type, _ body: [UInt8], limits: WireLimits = WireLimits()
    ) throws(WireError) -> Message {
        try CBORDecoder.decode(type, from: CBORReader.read(body, limits: limits))
    }
}

/// Cuts a stream of octets into the bodies of frames.
public struct FrameReader: Sendable {
    private var buffer: [UInt8] = []
    private var start = 0
    private let limits: WireLimits

    public init(limits: WireLimits = WireLimits()) { self.limits = limits }

    /// Octets that wait for the rest of their frame.
    public var pending: Int { buffer.count - start }

    public mutating func append(_ bytes: some Sequence<UInt8>) { buffer.append(contentsOf: bytes) }

    /// The body of the next whole frame; nil: more octets are needed. After an error the stream cannot be read any further.
    public mutating func next() throws(WireError) -> [UInt8]? {
        guard buffer.count - start >= 4 else { return compact() }
        let length = buffer[start..<(start + 4)].reduce(0) { $0 << 8 | Int($1) }
        guard length <= limits.messageLength else { throw .tooLong }
        guard buffer.count - start - 4 >= length else { return compact() }
        let body = Array(buffer[(start + 4)..<(start + 4 + length)])
        start += 4 + length
        return body
    }

    private mutating func compact() -> [UInt8]? {
        if start > 0 {
            buffer.removeFirst(start)
            start = 0
        }
        return nil
    }
}
