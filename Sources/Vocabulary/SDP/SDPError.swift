// SPDX-License-Identifier: Apache-2.0

/// Why a description was not taken, or an offer or answer could not be used.
public struct SDPError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Stable and dotted; open to growth.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// The body holds no description: empty, or it does not begin with `v=0`.
        case version = "sdp.syntax.version"
        /// A line is not `letter=value`, or holds an octet that no line may hold.
        case line = "sdp.syntax.line"
        /// The `o=` line is not readable.
        case origin = "sdp.syntax.origin"
        /// A `c=` line is not readable.
        case connection = "sdp.syntax.connection"
        /// An `m=` line is not readable.
        case media = "sdp.syntax.media"
        /// More octets than `SDPLimits.octets`.
        case tooLarge = "sdp.limit.octets"
        /// More lines than `SDPLimits.lines`.
        case tooManyLines = "sdp.limit.lines"
        /// More `m=` lines than `SDPLimits.media`.
        case tooManyMedia = "sdp.limit.media"
        /// More formats in an `m=` line than `SDPLimits.formatsPerMedia`.
        case tooManyFormats = "sdp.limit.formats"
        /// More attributes than `SDPLimits.attributes`.
        case tooManyAttributes = "sdp.limit.attributes"
        /// A name (media type, protocol, format, attribute) longer than `SDPLimits.tokenOctets`.
        case tokenTooLong = "sdp.limit.token"
        /// The offer has no audio line.
        case noAudio = "sdp.offer.no-audio"
        /// The audio is offered with SRTP or DTLS-SRTP only.
        case needsSRTP = "sdp.offer.needs-srtp"
        /// The audio is offered over a protocol that is not RTP.
        case unsupportedProfile = "sdp.offer.profile"
        /// No codec in common.
        case noCommonCodec = "sdp.offer.no-common-codec"
        /// An audio line has no `c=` of its own and the session has none, or the address is a group or broadcast address.
        case unusableAddress = "sdp.offer.address"
        /// An offer came while ours waits for its answer (RFC 3264 §4): 491.
        case offerPending = "sdp.exchange.offer-pending"
        /// An answer came, but no offer of ours.
        case noOffer = "sdp.exchange.no-offer"
        /// The answer refuses our audio line (port 0) or leaves it out.
        case refused = "sdp.answer.refused"
        /// The answer breaks RFC 3264 §6: media type, profile or formats are not those of the offer.
        case mismatch = "sdp.answer.mismatch"
        /// A codec name in a list is not known.
        case unknownCodec = "sdp.capabilities.unknown-codec"
    }

    public var code: Code
    /// One plain sentence, for logs.
    public var reason: String
    /// Where in the body, in octets; 0 where no place is meant.
    public var offset: Int

    public init(_ code: Code, _ reason: String, offset: Int = 0) {
        self.code = code
        self.reason = reason
        self.offset = offset
    }

    public var description: String { "\(code.rawValue): \(reason)" + (offset > 0 ? " (octet \(offset))" : "") }

    /// The status with which a request that carried this offer is answered.
    public var status: Int {
        switch code {
        case .version, .line, .origin, .connection, .media: 400
        case .offerPending: 491
        default: 488
        }
    }

    /// The code of a Warning header field (RFC 3261 §20.43) that fits.
    public var warning: Int {
        switch code {
        case .unusableAddress: 301
        case .needsSRTP, .unsupportedProfile: 302
        case .noAudio: 304
        case .noCommonCodec: 305
        default: 399
        }
    }
}
