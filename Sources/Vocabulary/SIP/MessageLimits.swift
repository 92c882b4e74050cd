// SPDX-License-Identifier: Apache-2.0
//
// Every limit on what comes from outside, and the counters of what was received.

import Essentials

/// How much of everything a message may bring.
public struct MessageLimits: Sendable, Hashable {
    /// Octets of a whole message. Greater: 513, and a stream is closed.
    public var messageLength = 65_536
    /// Octets of the start line and header fields together. Greater: 513, and a stream is closed.
    public var headLength = 32_768
    /// Octets of the start line. Longer: 414.
    public var startLineLength = 8_192
    /// Octets of a method name. Longer: 400.
    public var methodLength = 128
    /// Header fields (lines) of a message. More: 400.
    public var headerFields = 256

    /// The limits used unless others are given.
    public static let `default` = MessageLimits()

    public init() {}
}

/// Limits of single values; they are the same everywhere, so that a value that was read once can always be read again.
public enum ValueLimits {
    /// Parameters of one header field value or URI.
    public static let parameters = 64
    /// Octets of one parameter of a challenge or of credentials, such as realm or nonce.
    public static let authenticationParameter = 2_048
    /// Parts of a multipart body, all levels together.
    public static let bodyParts = 64
    /// How deep multipart bodies may nest.
    public static let bodyNesting = 4
    /// Octets of a multipart boundary (RFC 2046 §5.1.1).
    public static let boundary = 70
}

/// What is counted of received messages; see `Reception.count(in:)`.
public enum SIPCounter: Int, CounterName {
    /// Messages that were taken.
    case accepted
    /// Requests answered with an error status because of their form.
    case refused
    /// Datagrams dropped because of their form.
    case dropped
    /// Keep-alives: datagrams of line ends only.
    case keepAlive
    /// Messages taken although they bend the grammar (see `Leniency`).
    case lenient
    case limitMessage
    case limitHead
    case limitFields
    case limitStartLine
    case limitMethod
    case limitParameters
    case limitAuthentication
    case limitParts

    /// The counter of a limit, nil for an error that is no limit.
    public init?(limit code: SIPError.Code) {
        switch code {
        case .limitMessage: self = .limitMessage
        case .limitHead: self = .limitHead
        case .limitFields: self = .limitFields
        case .limitStartLine: self = .limitStartLine
        case .limitMethod: self = .limitMethod
        case .limitParameters: self = .limitParameters
        case .limitAuthentication: self = .limitAuthentication
        case .limitParts: self = .limitParts
        default: return nil
        }
    }
}
