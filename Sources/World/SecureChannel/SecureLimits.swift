// SPDX-License-Identifier: Apache-2.0

import Essentials

/// What one connection may take.
public struct SecureLimits: Sendable, Hashable {
    /// How long a handshake may take.
    public var handshakeTime = Interval.seconds(10)
    /// Octets that the other side may send before the handshake is done.
    public var handshakeOctets = 256 * 1024
    /// Octets of one certificate chain.
    public var chainOctets = 64 * 1024
    /// Certificates between the own one and the trusted one.
    public var chainLength = 8
    /// Octets of the application that wait for the handshake.
    public var waitingOctets = 256 * 1024

    public init() {}
}

/// What channels of one context count.
public enum SecureCounter: Int, CounterName {
    case started, established, refusedCertificates, refusedByPeer, protocolErrors, timedOut, abandoned
    /// More than `SecureLimits.handshakeOctets` or `waitingOctets`.
    case handshakeOctetsLimit, waitingOctetsLimit
    case octetsEncrypted, octetsDecrypted
}
