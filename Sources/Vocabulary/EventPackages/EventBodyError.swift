// SPDX-License-Identifier: Apache-2.0

/// How much of a body from outside is taken. Beyond a limit the whole body is refused.
public struct EventBodyLimits: Sendable, Hashable {
    /// Octets of a body.
    public var octets: Int
    /// Elements of an XML document.
    public var elements: Int
    /// How deep elements may nest.
    public var depth: Int
    /// Attributes of one element, namespace declarations among them.
    public var attributes: Int
    /// Octets of the name of an element or attribute.
    public var nameOctets: Int
    /// Lines of a message summary.
    public var lines: Int
    /// Dialogs of one dialog information document, and of the table that is kept.
    public var dialogs: Int
    /// Tuples of a presence document.
    public var tuples: Int

    public init(
        octets: Int = 65_536, elements: Int = 2048, depth: Int = 16, attributes: Int = 32, nameOctets: Int = 128, lines: Int = 256,
        dialogs: Int = 128, tuples: Int = 64
    ) {
        self.octets = octets
        self.elements = elements
        self.depth = depth
        self.attributes = attributes
        self.nameOctets = nameOctets
        self.lines = lines
        self.dialogs = dialogs
        self.tuples = tuples
    }

    public static let `default` = EventBodyLimits()
}

/// Why a body cannot be read.
public struct EventBodyError: Error, Sendable, Hashable {
    /// A stable name of the reason.
    public enum Code: String, Sendable, Hashable {
        /// A limit of `EventBodyLimits` is exceeded.
        case limit = "event-body.limit"
        /// No UTF-8, or a character that may not be there.
        case encoding = "event-body.encoding"
        /// The document is not well-formed.
        case malformed = "event-body.malformed"
        /// A document type declaration, or an entity other than the five of XML: never read.
        case forbidden = "event-body.forbidden"
        /// Well-formed, but not what was expected.
        case unexpected = "event-body.unexpected"
    }

    public var code: Code
    /// The octet at which it was noticed, as far as that can be said.
    public var offset: Int

    public init(_ code: Code, at offset: Int = 0) {
        self.code = code
        self.offset = offset
    }

    /// For a sentence.
    public var reason: String {
        switch code {
        case .limit: "it is over a limit"
        case .encoding: "it is not text in UTF-8"
        case .malformed: "it is not well-formed at octet \(offset)"
        case .forbidden: "it holds a document type or an entity, which are never read"
        case .unexpected: "it is a document of another kind"
        }
    }
}
