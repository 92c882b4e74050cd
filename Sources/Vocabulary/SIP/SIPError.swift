// SPDX-License-Identifier: Apache-2.0
//
// What can be wrong with a message, a field or a URI, and how it is counted.

/// Why something is no valid SIP: a stable code, one sentence, and the place.
public struct SIPError: Error, Sendable, Hashable {
    /// The stable reasons; `rawValue` is the dotted form for programs and logs.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// Nothing but line ends: a keep-alive (RFC 5626 §4.4.1), or no octets at all.
        case empty = "sip.empty"
        /// The octets do not begin like SIP: no request line and no status line (RFC 3261 §7.1, §7.2).
        case notSIP = "sip.not-sip"
        case requestLine = "sip.request-line"
        case statusLine = "sip.status-line"
        /// A SIP version other than 2.0 (answered with 505).
        case version = "sip.version"
        /// A Request-URI of a scheme that is neither sip, sips nor tel (answered with 416).
        case requestURIScheme = "sip.request-uri.scheme"
        /// The Request-URI does not follow the grammar of RFC 3261 §25.1.
        case requestURI = "sip.request-uri"
        /// The Request-URI has a headers part, which RFC 3261 §19.1.1 forbids there.
        case requestURIHeaders = "sip.request-uri.headers"
        /// A line feed without a carriage return before it: only CRLF ends a line (RFC 3261 §7).
        case bareLineFeed = "sip.bare-lf"
        /// A carriage return without a line feed after it.
        case bareCarriageReturn = "sip.bare-cr"
        /// A line that is no `name: value`.
        case headerLine = "sip.header-line"
        case missingVia = "sip.via.missing"
        case via = "sip.via"
        case missingFrom = "sip.from.missing"
        case from = "sip.from"
        case missingTo = "sip.to.missing"
        case to = "sip.to"
        case missingCallID = "sip.call-id.missing"
        case callID = "sip.call-id"
        case missingCSeq = "sip.cseq.missing"
        case cseq = "sip.cseq"
        /// The method of CSeq is not that of the request line (RFC 3261 §8.1.1.5).
        case methodMismatch = "sip.cseq.method"
        /// A field that may stand only once stands there with different values.
        case repeatedField = "sip.field.repeated"
        /// A Content-Length that is no number or does not fit.
        case contentLength = "sip.content-length"
        /// Fewer octets than Content-Length says (RFC 3261 §18.3).
        case truncatedBody = "sip.content-length.beyond"
        /// No Content-Length on a stream, where it is needed to find the end (RFC 3261 §20.14).
        case missingContentLength = "sip.content-length.missing"
        /// A URI that does not follow the grammar.
        case uri = "sip.uri"
        /// A header field value that does not follow the grammar.
        case field = "sip.field"
        /// A control character where none may stand.
        case control = "sip.control-character"
        case limitMessage = "sip.limit.message"
        case limitHead = "sip.limit.head"
        case limitFields = "sip.limit.fields"
        case limitStartLine = "sip.limit.start-line"
        case limitMethod = "sip.limit.method"
        case limitParameters = "sip.limit.parameters"
        case limitAuthentication = "sip.limit.authentication"
        case limitParts = "sip.limit.parts"
    }

    public var code: Code
    /// One English sentence; holds nothing of the message, so it is safe to show and to log.
    public var reason: String
    /// Where in the octets it was noticed, from 0.
    public var offset: Int

    public init(_ code: Code, at offset: Int = 0, reason: String? = nil) {
        self.code = code
        self.offset = offset
        self.reason = reason ?? code.sentence
    }
}

extension SIPError: CustomStringConvertible {
    public var description: String { "\(code.rawValue) at octet \(offset): \(reason)" }
}

extension SIPError.Code {
    /// The status that refuses a request for this reason (RFC 3261 §21.4, §21.5).
    public var status: Int {
        switch self {
        case .version: 505
        case .requestURIScheme: 416
        case .limitMessage, .limitHead: 513
        case .limitStartLine: 414
        default: 400
        }
    }

    /// One plain sentence.
    public var sentence: String {
        switch self {
        case .empty: "There is no message, only line ends."
        case .notSIP: "This is no SIP message."
        case .requestLine: "The request line is not METHOD SP URI SP SIP/2.0."
        case .statusLine: "The status line is not SIP/2.0 SP three digits SP reason."
        case .version: "The SIP version is not 2.0."
        case .requestURIScheme: "The scheme of the Request-URI is not supported."
        case .requestURI: "The Request-URI is malformed."
        case .requestURIHeaders: "The Request-URI has a headers part."
        case .bareLineFeed: "A line feed stands without a carriage return."
        case .bareCarriageReturn: "A carriage return stands without a line feed."
        case .headerLine: "A header line has no name and colon."
        case .missingVia: "The Via field is missing."
        case .via: "The Via field is malformed."
        case .missingFrom: "The From field is missing."
        case .from: "The From field is malformed."
        case .missingTo: "The To field is missing."
        case .to: "The To field is malformed."
        case .missingCallID: "The Call-ID field is missing."
        case .callID: "The Call-ID field is malformed."
        case .missingCSeq: "The CSeq field is missing."
        case .cseq: "The CSeq field is malformed."
        case .methodMismatch: "The method of CSeq differs from the request line."
        case .repeatedField: "A field that may stand only once is repeated with another value."
        case .contentLength: "Content-Length is no usable number."
        case .truncatedBody: "Content-Length is greater than the octets that came."
        case .missingContentLength: "Content-Length is missing on a stream."
        case .uri: "The URI is malformed."
        case .field: "The header field is malformed."
        case .control: "A control character stands where none may."
        case .limitMessage: "The message is larger than the limit."
        case .limitHead: "The header is larger than the limit."
        case .limitFields: "There are more header fields than the limit."
        case .limitStartLine: "The start line is longer than the limit."
        case .limitMethod: "The method name is longer than the limit."
        case .limitParameters: "There are more parameters than the limit."
        case .limitAuthentication: "An authentication parameter is longer than the limit."
        case .limitParts: "The body has more parts or levels than the limit."
        }
    }
}
