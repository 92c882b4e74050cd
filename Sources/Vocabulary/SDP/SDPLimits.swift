// SPDX-License-Identifier: Apache-2.0

/// How much of a description from outside is taken. Beyond a limit the whole description is refused.
public struct SDPLimits: Sendable, Hashable {
    /// Octets of the body.
    public var octets: Int
    /// Lines, empty ones not counted.
    public var lines: Int
    /// `m=` lines.
    public var media: Int
    /// Formats in one `m=` line.
    public var formatsPerMedia: Int
    /// Attributes in the whole description.
    public var attributes: Int
    /// Octets of a media type, protocol, format or attribute name.
    public var tokenOctets: Int

    public init(
        octets: Int = 32_768, lines: Int = 1_024, media: Int = 32, formatsPerMedia: Int = 128, attributes: Int = 768,
        tokenOctets: Int = 64
    ) {
        self.octets = octets
        self.lines = lines
        self.media = media
        self.formatsPerMedia = formatsPerMedia
        self.attributes = attributes
        self.tokenOctets = tokenOctets
    }

    public static let `default` = SDPLimits()
}
