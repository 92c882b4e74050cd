// SPDX-License-Identifier: Apache-2.0
//
// The layers of a connection: each is a stream of octets for the one above.
//
//      SIP messages          WebSocket messages
//           │                       │
//           └──────────┬────────────┘
//                 ByteStream
//             SecureStream (TLS)   or directly
//             StreamConnection (TCP)

import Essentials
import SIPAgent

/// A connection that carries octets in order, secured or not. Belongs to the loop; open until `onClosed` was called, once,
/// whoever ended it. No handler is ever called from inside a method of the stream.
public protocol ByteStream: AnyObject {
    var local: SocketAddress { get }
    var remote: SocketAddress { get }
    /// Whether octets flow: connected, and the handshake, if there is one, is done.
    var isOpen: Bool { get }
    /// Octets that wait to be sent.
    var queued: Int { get }
    /// What TLS agreed on; nil: there is none, or its handshake is not done.
    var agreement: TLSAgreement? { get }

    /// Called once octets flow; not for a plain connection that was accepted, which is open from the beginning.
    var onConnected: (() -> Void)? { get set }
    /// A piece of the stream, up to 64 KiB.
    var onReceive: (([UInt8]) -> Void)? { get set }
    var onClosed: ((FlowFailure) -> Void)? { get set }

    /// Queues octets; they leave at the end of the turn, or as soon as octets flow.
    func send(_ bytes: [UInt8])
    /// Closes after what is queued is sent.
    func close()
}

extension ByteStream {
    public var agreement: TLSAgreement? { nil }
}
