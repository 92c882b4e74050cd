// SPDX-License-Identifier: Apache-2.0
//
// A call that cannot be completed over IP goes on through a gateway to the telephone network as the same call: one
// identifier, one stream that is opened once and closed once, one end.
//
//   INVITE sip:+15551234@example.net ─ 480 ─► INVITE sip:+15551234@gateway.example.net ─ 200

import Essentials
import Media
import SIP
import SIPAgent

extension PhoneCore {
    /// Sends the call on through the account's gateway; false: there is none, or this end is not one that it helps with.
    func continueThroughGateway(_ call: Call, _ end: SessionEnd, now: MonotonicTime) -> Bool {
        guard !isStopping, call.direction == .outgoing, !call.isContinued, !end.wasEstablished, case .inviting = call.phase,
            let account = call.account, let gateway = accounts[account]?.calls.gateway, let local = call.local,
            helps(gateway, end.cause), let target = throughGateway(call, gateway)
        else { return false }
        if let session = call.session { callOfSession[session] = nil }
        call.session = nil
        call.isContinued = true
        call.negotiation.withdrawOffer()
        call.earlyAnswers = []
        call.mediaTag = nil
        call.early.isAlerted = false
        call.early.isHeard = false
        call.early.isForbidden = false
        call.lastStatus = 0
        call.lastReason = ""
        reviewRingback(call)
        emit(.notice(call.id, .continued(to: target, cause: end.cause)))
        emit(.callState(call.id, .calling, status: 0, reason: ""))
        let hadEarlyMedia = call.audio != nil
        call.audio = nil
        let offer = call.negotiation.makeOffer(local: local, direction: call.wantedDirection).serialized()
        // The stream listens already for what an offer of ours may bring, unless an early answer had set it otherwise.
        if hadEarlyMedia { prepareToReceive(call) }
        invite(call.id, account, target, call.options.isLateOffer ? nil : offer, call.options, now: now)
        return true
    }

    private func helps(_ gateway: PSTNGateway, _ cause: Cause) -> Bool {
        switch cause.code {
        case "call.unreachable", "call.not-located", "call.no-transport", "call.no-response": gateway.whenUnreachable
        case "call.hung-up", "call.shut-down", "call.unanswered": false
        default: cause.status.map { gateway.statuses.contains($0) } ?? false
        }
    }

    /// The number at the gateway: what the application gave for it, else the dialled one.
    private func throughGateway(_ call: Call, _ gateway: PSTNGateway) -> URI? {
        var number = call.options.gatewayNumber
        switch call.target {
        case .sip(let uri):
            if uri.host == gateway.domain, uri.port == gateway.port { return nil }
            if number == nil { number = uri.user }
        case .tel(let uri): if number == nil { number = uri.number }
        default: break
        }
        guard let number, Dialling.isNumber(number) else { return nil }
        return .sip(SIPURI(user: Dialling.plain(number), host: gateway.domain, port: gateway.port))
    }
}
