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
    /// The resource that its WebSocket asked for.
    let path: String?
    /// What TLS agreed on, once it is up.
    var agreement: TLSAgreement?
    /// Of connections that carry a stream of octets.
    var framer: StreamFramer?
    /// Keep-alives of ours go over it, so signs of life are told.
    var isKept = false
    /// Runs while a message is unfinished.
    var unfinishedTimer: TimerHandle?
    /// Runs until the first message, on connections of strangers.
    var silenceTimer: TimerHandle?
    /// The other side opened it.
    var isAccepted = false
    /// The source under whose share it counts.
    var group: IPAddress?
    /// `SIP/2.0/UDP 192.0.2.1:5060;rport;branch=`: what stands before the branch in the Via of our requests.
    var viaPrefix = ""
    /// What a connection is found by when it is to be used again.
    var reuseKey: ConnectionKey?

    init(
        _ id: FlowID, _ transport: TransportProtocol, _ state: State, local: SocketAddress, remote: SocketAddress? = nil,
        name: String? = nil, profile: TLSProfile = .standard, path: String? = nil
    ) {
        self.id = id
        self.transport = transport
        self.state = state
        self.local = local
        self.remote = remote
        self.name = name
        self.profile = profile
        self.path = path
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
/// account trusts and shows itself as; for WebSocket the resource).
struct ConnectionKey: Hashable {
    var transport: TransportProtocol
    var address: SocketAddress
    var name: String?
    var profile = TLSProfile.standard
    var path: String?

    init(_ target: SignallingTarget) {
        self.init(target.transport, target.address, name: target.name, profile: target.profile)
        if target.transport.isWebSocket { path = target.path }
    }

    init(_ transport: TransportProtocol, _ address: SocketAddress, name: String?, profile: TLSProfile = .standard) {
        self.transport = transport
        self.address = address
        guard transport.isSecure else { return }
        self.name = name?.lowercased()
        self.profile = profile
    }
}
