// SPDX-License-Identifier: Apache-2.0
//
// TLS over a connection: `SecureChannel` does the work, this carries its octets and keeps its time.

import Essentials
import SIPAgent
import SecureChannel

/// A TCP connection with TLS. Belongs to the loop.
public final class SecureStream: ByteStream {
    private let loop: EventLoop
    private let connection: StreamConnection
    private let channel: SecureChannel
    private lazy var timer = LoopTimer(loop: loop) { [weak self] in
        guard let self else { return }
        channel.advance(to: loop.now)
        drain()
    }
    /// Why it ends, where the connection below does not know it.
    private var ending: FlowFailure?
    private var isDrainPlanned = false
    private var isConnectionDone = false
    private var isTold = false

    public var onConnected: (() -> Void)?
    public var onReceive: (([UInt8]) -> Void)?
    public var onClosed: ((FlowFailure) -> Void)?

    public var local: SocketAddress { connection.local }
    public var remote: SocketAddress { connection.remote }
    public var queued: Int { connection.queued }
    public var isOpen: Bool { channel.state == .open && !isConnectionDone }
    public var agreement: TLSAgreement? { session.map { TLSAgreement(version: $0.version, cipher: $0.cipher) } }
    /// What was agreed on in the handshake; nil before.
    public private(set) var session: SecureChannel.Session?

    /// Puts TLS on a connection: one that is being opened with the context of a client and the name that the certificate must
    /// cover, or an accepted one with the context of a server. `onConnected` follows once the handshake is done.
    public init(
        loop: EventLoop, over connection: StreamConnection, context: SecureContext, name: String? = nil
    ) throws(SecureChannelError) {
        self.loop = loop
        self.connection = connection
        channel = try SecureChannel(context, name: name)
        connection.onConnected = { [self] in start() }
        connection.onReceive = { [self] octets in
            channel.receive(octets)
            drain()
        }
        connection.onClosed = { [self] failure in connectionClosed(failure) }
        if connection.isOpen { loop.atEndOfTurn { [self] in start() } }
    }

    public func send(_ bytes: [UInt8]) {
        channel.send(bytes)
        planDrain()
    }

    public func close() {
        guard ending == nil else { return }
        ending = .closedLocally
        channel.close()
        flush()
        connection.close()
    }

    // MARK: Steps

    private func start() {
        channel.start(now: loop.now)
        drain()
    }

    private func planDrain() {
        guard !isDrainPlanned else { return }
        isDrainPlanned = true
        loop.atEndOfTurn { [self] in
            isDrainPlanned = false
            drain()
        }
    }

    private func flush() {
        let octets = channel.takeOutput()
        if !octets.isEmpty { connection.send(octets) }
    }

    /// Hands on what the channel has to say. Called from handlers and at the end of turns only.
    private func drain() {
        flush()
        while let event = channel.nextEvent() {
            switch event {
            case .established(let session):
                self.session = session
                if ending == nil { onConnected?() }
            case .received(let octets): if ending == nil { onReceive?(octets) }
            case .closed(let failure):
                if ending == nil { ending = failure.map { .secure($0) } ?? .closedByPeer }
                flush()
                connection.close()
            }
        }
        timer.set(channel.nextDeadline)
    }

    private func connectionClosed(_ failure: FlowFailure) {
        isConnectionDone = true
        channel.receiveEnd()
        drain()
        guard !isTold else { return }
        isTold = true
        let told = onClosed
        onConnected = nil
        onReceive = nil
        onClosed = nil
        // A connection that was reset while open is told as that; one that broke in the handshake as what the channel says.
        told?(ending == .closedByPeer ? failure == .closedLocally ? .closedByPeer : failure : ending ?? failure)
    }
}
