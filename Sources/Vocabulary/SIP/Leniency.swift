// SPDX-License-Identifier: Apache-2.0

/// Every place where the parser takes more than the grammar of RFC 3261 §25.1 allows. There is no other.
///
/// A message and each field that is read say which of these they needed, so a trace can tell what the peer does wrong.
/// The writer needs none of them: whatever was read leniently is written canonically when it is written anew.
public struct Leniency: OptionSet, Sendable, Hashable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Empty lines before the start line of a datagram (RFC 3261 §7.5 asks for this one).
    public static let leadingEmptyLines = Leniency(rawValue: 1 << 0)
    /// No empty line after the header fields: the datagram just ends.
    public static let missingEmptyLine = Leniency(rawValue: 1 << 1)
    /// Octets after the body of a datagram, ignored (RFC 3261 §18.3 asks for this one).
    public static let octetsAfterBody = Leniency(rawValue: 1 << 2)
    /// A field that may stand once stands there several times with the same value; relays add their own Content-Length.
    public static let repeatedSameValue = Leniency(rawValue: 1 << 3)
    /// A status line that ends after the status code, without the space before an empty reason.
    public static let missingReasonSpace = Leniency(rawValue: 1 << 4)
    /// White space just inside the angle brackets of an address.
    public static let spaceInBrackets = Leniency(rawValue: 1 << 5)
    /// A display name with characters that only a quoted one may have: commas, 8-bit octets.
    public static let unquotedDisplayName = Leniency(rawValue: 1 << 6)
    /// A display name before an address without angle brackets.
    public static let missingBrackets = Leniency(rawValue: 1 << 7)
    /// A user part of no octets: `sip:@host`. Read as no user.
    public static let emptyUser = Leniency(rawValue: 1 << 8)
    /// A user part or password with characters that had to be escaped: `#`, `^`, `|`, `{`, `}`, `` ` `` or 8-bit octets.
    public static let unescapedUser = Leniency(rawValue: 1 << 9)
    /// A host name with an underscore.
    public static let underscoreInHost = Leniency(rawValue: 1 << 10)
    /// Three colons in an IPv6 reference, which a slip in the grammar of RFC 3261 produced (RFC 5118 §4.10).
    public static let tripleColon = Leniency(rawValue: 1 << 11)
    /// A URI parameter or header with characters that had to be escaped, quotation marks for example.
    public static let unescapedURIParameter = Leniency(rawValue: 1 << 12)
    /// A parameter with an equals sign and no value: `;x=`.
    public static let emptyParameterValue = Leniency(rawValue: 1 << 13)
    /// An unquoted parameter value with characters that only a quoted one may have, equals signs for example.
    public static let unquotedParameterValue = Leniency(rawValue: 1 << 14)
    /// A Call-ID with characters outside `word`.
    public static let callIDCharacters = Leniency(rawValue: 1 << 15)
    /// A CSeq number of 2^31 or more that still fits in 32 bits (RFC 3261 §8.1.1.5).
    public static let largeCSeq = Leniency(rawValue: 1 << 16)
    /// No tag in From, as RFC 2543 had it.
    public static let missingFromTag = Leniency(rawValue: 1 << 17)
    /// Numbers that are too large for their field are read as the largest (Expires, expires: RFC 4475 §3.1.2.4).
    public static let clampedNumber = Leniency(rawValue: 1 << 18)
    /// A number field that is no number is treated as absent (Expires, Max-Forwards, Date and the like).
    public static let unreadableOptionalField = Leniency(rawValue: 1 << 19)
    /// A multipart body without its closing delimiter: the last part goes to the end.
    public static let missingCloseDelimiter = Leniency(rawValue: 1 << 20)

    private static let names = [
        "leading-empty-lines", "missing-empty-line", "octets-after-body", "repeated-same-value", "missing-reason-space",
        "space-in-brackets", "unquoted-display-name", "missing-brackets", "empty-user", "unescaped-user",
        "underscore-in-host", "triple-colon", "unescaped-uri-parameter", "empty-parameter-value",
        "unquoted-parameter-value", "call-id-characters", "large-cseq", "missing-from-tag", "clamped-number",
        "unreadable-optional-field", "missing-close-delimiter",
    ]

    /// The names of the leniencies in the set, in order of declaration.
    public var all: [String] {
        Self.names.enumerated().filter { rawValue >> UInt32($0.offset) & 1 == 1 }.map(\.element)
    }
}
