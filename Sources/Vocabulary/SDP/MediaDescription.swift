// SPDX-License-Identifier: Apache-2.0

/// An `m=` line with the lines below it (RFC 8866 §5.14).
public struct MediaDescription: Sendable, Hashable {
    /// `audio`, `video`, `text`, `application`, `message`, `image` or another token.
    public var type: String
    /// 0: rejected or closed (RFC 3264 §6, §8.2).
    public var port: UInt16
    /// How many ports (`/2`), 1 mostly.
    public var portCount: Int
    /// `RTP/AVP`, `RTP/SAVP`, `UDP/TLS/RTP/SAVPF`, `udptl`, …
    public var protocolName: String
    /// Payload types where the protocol is RTP, else tokens; in order of preference.
    public var formats: [String]
    /// `i=`.
    public var information: String?
    public var connection: Connection?
    public var bandwidths: [Bandwidth]
    public var attributes: [Attribute]

    public init(
        type: String, port: UInt16, portCount: Int = 1, protocolName: String = "RTP/AVP", formats: [String],
        connection: Connection? = nil, bandwidths: [Bandwidth] = [], attributes: [Attribute] = []
    ) {
        self.type = type
        self.port = port
        self.portCount = portCount
        self.protocolName = protocolName
        self.formats = formats
        self.information = nil
        self.connection = connection
        self.bandwidths = bandwidths
        self.attributes = attributes
    }

    public var isRejected: Bool { port == 0 }

    /// The direction written in this section; nil: that of the session counts (`SessionDescription.direction(ofMedia:)`).
    public var direction: Direction? { attributes.direction }

    /// The meaning of a payload type: its rtpmap, else the static table of RFC 3551, else nil. Never guessed.
    public func rtpMap(_ payloadType: UInt8) -> RTPMap? {
        for value in attributes.values("rtpmap") {
            if let (number, map) = RTPMap.parse(value), number == payloadType { return map }
        }
        return RTPMap.staticType(payloadType)
    }

    /// The `a=fmtp` parameters of a format, or nil.
    public func formatParameters(_ format: String) -> String? {
        for value in attributes.values("fmtp") {
            let (name, rest) = splitAtSpace(value)
            if name == format { return String(rest) }
        }
        return nil
    }
}

/// The text before the first run of spaces, and the text after it.
func splitAtSpace(_ text: String) -> (Substring, Substring) {
    // By octets: a space is never part of another character's UTF-8.
    let octets = text.utf8
    guard let start = octets.firstIndex(where: { $0 != 0x20 }) else { return ("", "") }
    guard let space = octets[start...].firstIndex(of: 0x20) else { return (text[start...], "") }
    guard let rest = octets[space...].firstIndex(where: { $0 != 0x20 }) else { return (text[start..<space], "") }
    return (text[start..<space], text[rest...])
}
