// SPDX-License-Identifier: Apache-2.0

/// Why octets from the network are no RTP or RTCP packet, or no part of one.
public struct RTPError: Error, Sendable, Hashable {
    /// A stable name of the reason.
    public enum Code: String, Sendable, Hashable {
        /// Shorter than the fixed header, or than a header says.
        case truncated = "rtp.truncated"
        /// The version is not 2.
        case wrongVersion = "rtp.wrong-version"
        /// The header extension runs over the end of the packet.
        case extensionOverrun = "rtp.extension-overrun"
        /// The padding count is 0 or larger than what there is.
        case badPadding = "rtp.bad-padding"
        /// A count or length inside an RTCP packet contradicts its length.
        case malformedReport = "rtcp.malformed"
        /// The payload of a telephone-event is too short.
        case malformedEvent = "rtp.malformed-event"
        /// A block of a redundant payload (RFC 2198) runs over its end, or there are too many.
        case malformedRedundancy = "rtp.malformed-redundancy"
    }

    public var code: Code
    /// The octet, from the start of the datagram, at which it was noticed.
    public var offset: Int

    public init(_ code: Code, at offset: Int) {
        self.code = code
        self.offset = offset
    }
}
