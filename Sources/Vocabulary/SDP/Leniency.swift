// SPDX-License-Identifier: Apache-2.0
//
// Real devices break RFC 8866 and RFC 3264 in known ways. What is taken all the same stands here and nowhere else;
// each place in the parser or the machine that is lenient names the case.

/// A deviation from the RFCs that is taken instead of refused.
public enum Leniency: Int, Sendable, Hashable, CaseIterable {
    /// Lines end in LF or CR alone, or the last line has no end (RFC 8866 §5 asks parsers for the LF).
    case lineEnding
    /// Spaces or tabs before a line end (chan_sip).
    case trailingSpace
    /// Empty lines between or after the others.
    case emptyLine
    /// Lines in another order than that of RFC 8866 §5: `t=` before `c=`, `b=` after `t=`, fmtp before rtpmap.
    case lineOrder
    /// `o=`, `s=` or `t=` is missing, or `s=` is empty.
    case missingLine
    /// A second `c=`, `s=`, `i=` or `o=` in a section, or a line of an unknown letter, is left out.
    case ignoredLine
    /// A user name with spaces in `o=`: the last five fields are the others.
    case originWithSpaces
    /// A `b=`, `t=`, `r=` line that is not readable is left out.
    case unreadableLine
    /// An attribute without a name, or with a name that is no token, is left out.
    case attributeName
    /// A format with octets that no token has is left out (V-020).
    case formatToken
    /// Text after the digits of `ptime` or `maxptime` is left out (a line end was lost).
    case packetTimeTail
    /// `ptime` or `maxptime` outside 10...200 is brought to the nearest bound (V-018).
    case packetTimeRange
    /// A format that is no number of 0...127, or a number without rtpmap that RFC 3551 does not define, is passed over (V-020).
    case unknownFormat
    /// `opus/48000` without `/2` (RFC 7587 §7 demands it) is opus.
    case opusChannels
    /// telephone-event is offered only at another clock rate than the codec's (RFC 4733 §2.1 asks for the same).
    case eventClockRate
    /// An answer with fewer lines than the offer: the missing ones count as rejected (B-053).
    case missingAnswerLines
    /// An answer with more lines than the offer: the additional ones are passed over.
    case additionalAnswerLines
    /// An answer names a dynamic number of our offer without rtpmap: it means what we offered.
    case answerWithoutRTPMap
    /// An answer with a direction that the offer does not allow (sendrecv to sendonly): narrowed to what the offer allows.
    case answerDirection
    /// A name instead of an address in `c=`: nothing is sent before a packet shows the source.
    case namedAddress
}

/// The deviations that one description showed.
public struct Leniencies: OptionSet, Sendable, Hashable, CustomStringConvertible {
    public let rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }

    public init(_ leniency: Leniency) { rawValue = 1 << UInt32(leniency.rawValue) }

    @inline(__always)
    mutating func note(_ leniency: Leniency) { self = Leniencies(rawValue: rawValue | 1 << UInt32(leniency.rawValue)) }

    public func contains(_ leniency: Leniency) -> Bool { rawValue & 1 << UInt32(leniency.rawValue) != 0 }

    /// In the order of declaration.
    public var all: [Leniency] { Leniency.allCases.filter { contains($0) } }

    public var description: String { all.map { "\($0)" }.joined(separator: " ") }
}
