// SPDX-License-Identifier: Apache-2.0
//
// Changes of the network, as far as calls are concerned: each tells its peer the address that its media has now.
//
//   ringing       the answer that waits gets the new address
//   inviting      from an address that is gone: the INVITE is taken back and sent anew; else a re-INVITE after the answer
//   established   re-INVITE with fresh Contact and SDP; the RTP sockets, SSRC and sequence numbers stay
//
// A media address that the user chose (`keepsMediaAddress`) stays in SDP; only the Contact is another one.
//
// The RTP sockets are bound to every address, so the system sends from the new one by itself.

import Essentials
import SDP
import SIP
import SIPAgent

extension PhoneCore {
    /// The world tells the addresses of this machine: once before anything listens, then whenever they may have changed, and
    /// in answer to `PhoneEffect.checkNetwork`.
    ///
    /// - Parameter isForced: the network is another one even where the addresses are the same: everything is told anew.
    public func networkChanged(_ state: NetworkState, isForced: Bool = false, now: MonotonicTime) {
        agent.networkChanged(state, isForced: isForced, now: now)
        drainAgent(now: now)
    }

    /// Whether no address of this machine is there any more.
    public var isNetworkLost: Bool { agent.isNetworkLost }

    func follow(_ change: NetworkChange, now: MonotonicTime) {
        emit(.network(change))
        guard change.kind != .gone else { return }
        for id in calls.keys.sorted() { if let call = calls[id] { move(call, change, now: now) } }
    }

    private func move(_ call: Call, _ change: NetworkChange, now: MonotonicTime) {
        guard let local = call.local, let session = call.session, let fresh = agent.localAddress(of: session),
            fresh.isV6 == local.ip.isV6
        else { return }
        guard fresh != local.ip || change.refreshesAll else { return }
        let moved = configuration.keepsMediaAddress ? local : SocketAddress(fresh, local.port)
        call.local = moved
        switch call.phase {
        case .openingOutgoing, .openingIncoming: break
        case .ringing(let answer): call.phase = .ringing(answer: answer.map { Self.description($0, at: moved.ip) })
        case .inviting where agent.isStranded(session):
            call.earlyAnswers = []
            call.mediaTag = nil
            var offer: [UInt8]?
            if call.negotiation.isOfferPending {
                call.negotiation.withdrawOffer()
                offer = call.negotiation.makeOffer(local: moved, direction: call.wantedDirection).serialized()
                prepareToReceive(call)
            }
            agent.reissueInvite(session, offer: offer, now: now)
        case .inviting, .accepting: call.needsMove = true
        case .established:
            call.needsMove = true
            reconcileHold(call.id, now: now)
        }
        if call.media != nil, case .established = call.phase { configureStream(call) }
    }

    /// The agent has another flow to its server: the peer is told, again and again until it knows.
    func moveDue(_ session: SessionID, now: MonotonicTime) {
        guard let id = callOfSession[session], let call = calls[id], case .established = call.phase else { return }
        call.needsMove = true
        reconcileHold(id, now: now)
    }

    /// A description of ours with another address: one that was made and not sent yet.
    private static func description(_ bytes: [UInt8], at address: IPAddress) -> [UInt8] {
        guard var description = try? SessionDescription(parsing: bytes) else { return bytes }
        description.connection = Connection(address)
        description.origin.address = address.description
        for index in description.media.indices where description.media[index].connection != nil {
            description.media[index].connection = Connection(address)
        }
        return description.serialized()
    }

    /// Where RTP of a call is reached: a socket that is bound to every address has that which leads to the other side.
    func published(_ rtp: SocketAddress, of call: Call) -> SocketAddress {
        guard rtp.ip.isUnspecified else { return rtp }
        var target: URI?
        if case .openingOutgoing(let uri, _) = call.phase { target = uri }
        let address =
            call.session.flatMap { agent.localAddress(of: $0) }
            ?? agent.localAddress(of: call.account, toward: target, isV6: rtp.ip.isV6)
        return SocketAddress(address ?? (rtp.ip.isV6 ? .loopbackV6 : .loopbackV4), rtp.port)
    }
}
