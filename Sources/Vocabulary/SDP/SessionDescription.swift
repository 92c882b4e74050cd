// SPDX-License-Identifier: Apache-2.0

/// A session description (RFC 8866).
///
///     let offer = try SessionDescription(parsing: message.body)
///     for media in offer.media where media.type == "audio" { print(media.port, media.formats) }
///
/// A value; every text in it is free of line ends when it was parsed, and is made so when it is written.
public struct SessionDescription: Sendable, Hashable {
    public var origin: Origin
    /// `s=`; `-` where there is none.
    public var sessionName: String
    /// `i=`.
    public var information: String?
    /// `u=`.
    public var uri: String?
    /// `e=`.
    public var emails: [String]
    /// `p=`.
    public var phones: [String]
    public var connection: Connection?
    public var bandwidths: [Bandwidth]
    /// Never empty after parsing.
    public var timings: [Timing]
    /// `z=`.
    public var timeZones: String?
    public var attributes: [Attribute]
    /// In the order of the `m=` lines, rejected ones included.
    public var media: [MediaDescription]

    public init(
        origin: Origin, sessionName: String = "-", connection: Connection? = nil, timings: [Timing] = [Timing()],
        attributes: [Attribute] = [], media: [MediaDescription] = []
    ) {
        self.origin = origin
        self.sessionName = sessionName
        self.information = nil
        self.uri = nil
        self.emails = []
        self.phones = []
        self.connection = connection
        self.bandwidths = []
        self.timings = timings
        self.timeZones = nil
        self.attributes = attributes
        self.media = media
    }

    /// The direction of a line: its own, else that of the session, else sendrecv (RFC 8866 §6.7).
    public func direction(ofMedia index: Int) -> Direction {
        guard media.indices.contains(index) else { return .inactive }
        return media[index].direction ?? attributes.direction ?? .sendrecv
    }

    /// The `c=` that counts for a line: its own, else that of the session.
    public func connection(ofMedia index: Int) -> Connection? {
        guard media.indices.contains(index) else { return nil }
        return media[index].connection ?? connection
    }

    /// The value of an attribute of a line: its own, else that of the session.
    public func value(_ name: String, ofMedia index: Int) -> String? {
        guard media.indices.contains(index) else { return nil }
        return media[index].attributes.value(name) ?? attributes.value(name)
    }
}
