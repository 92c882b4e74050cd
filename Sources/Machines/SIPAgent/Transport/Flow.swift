// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP

/// One flow as the transport layer keeps it (RFC 3261 §18).
final class Flow {
    enum State {
        /// A datagram socket: sends and receives.
        case datagram
        /// A listener: its connections come as flows of their own.
        case listener
        /// Asked for; what is to be sent waits.
        case connecting(queue: [[UInt8]], octets: Int)
        case connected
        /// We asked for the end; nothing is sent or taken any more.
        case closing
    }

    let id: FlowID
    let transport: TransportProtocol
    var state: State
    var local: SocketAddress
    /// Of connections.
    let remote: SocketAddress?
    /// The TLS name that the connection was opened for.
    let name: String?
    let profile: TLSProfile
    /// Of connections that carry a stream of octets.
    var framer: StreamFramer?
    /// Keep-alives of ours go over it, so signs of life are told.
    var isKept = false
    /// Runs while a message is unfinished.
    var unfinishedTimer: TimerHandle?
    /// `SIP/2.0/UDP 192.0.2.1:5060;rport;branch=`: what stands before the branch in the Via of our requests.
    var viaPrefix = ""
    /// What a connection is found by when it is to be used again.
    var reuseKey: ConnectionKey?

    init(
        _ id: FlowID, _ transport: TransportProtocol, _ state: State, local: SocketAddress, remote: SocketAddress? = nil,
        name: String? = nil, profile: TLSProfile = .standard
    ) {
        self.id = id
        self.transport = transport
        self.state = state
        self.local = local
        self.remote = remote
        self.name = name
        self.profile = profile
    }

    /// Whether something can be given to it to be sent, now or when it is up.
    var isUsable: Bool {
        switch state {
        case .datagram, .connecting, .connected: true
        case .listener, .closing: false
        }
    }

    /// Whether it counts among the connections.
    var isConnection: Bool { remote != nil }
}

/// What makes two connections the same for reuse (RFC 3261 §18.1.1; for TLS also the name, RFC 5922 §4, and whom the
/// account trusts and shows itself as).
struct ConnectionKey: Hashable {
    var transport: TransportProtocol
    var address: SocketAddress
    var name: String?
    var profile = TLSProfile.standard

    init(_ transport: TransportProtocol, _ address: SocketAddress, name: String?, profile: TLSProfile = .standard) {
        self.transport = transport
        self.address = address
        guard transport.isSecure else { return }
        self.name = name?.lowercased()
        self.profile = profile
    }
}
