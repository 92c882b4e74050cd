// SPDX-License-Identifier: Apache-2.0
//
// Changes of an established session: hold and resume from either side (RFC 3261 §14, RFC 3264 §8.4).

import Essentials
import Media
import SDP
import SIP
import SIPAgent

extension PhoneCore {
    /// Puts the call on hold: our audio stops at once, the other side is told by a re-INVITE; before the answer that waits for it.
    public func hold(_ id: CallID, now: MonotonicTime) throws(PhoneError) { try setHold(id, true, now: now) }

    /// Takes the call off hold.
    public func resume(_ id: CallID, now: MonotonicTime) throws(PhoneError) { try setHold(id, false, now: now) }

    private func setHold(_ id: CallID, _ holds: Bool, now: MonotonicTime) throws(PhoneError) {
        let call = try require(id)
        // What the user wants is not taken back when a transfer fails.
        if holds { transfers.outgoing(of: id)?.holds = false }
        guard call.wantsHold != holds else { return }
        call.wantsHold = holds
        // Taken back before the peer agreed, a hold leaves the sound on at once.
        if call.hasMedia { configureStream(call) }
        reviewSilence(id, now: now)
        reconcileHold(id, now: now)
        drainAgent(now: now)
    }

    /// Sends a re-INVITE if what the user wants differs from what is agreed, and no other change is under way.
    func reconcileHold(_ id: CallID, now: MonotonicTime) {
        if !transfers.outgoing.isEmpty { continueTransfer(of: id, now: now) }
        guard let call = calls[id], let session = call.session, let local = call.local else { return }
        guard case .established = call.phase, case .none = call.change,
            call.wantsHold != call.isHeldLocally || call.needsMove || call.wantsOffer
        else { return }
        offerChange(call, session, local, now: now)
    }

    /// The agreed session timer wants a re-INVITE (RFC 4028 §7.4): it offers what is agreed, or what is wanted by now.
    func refreshDue(_ session: SessionID, now: MonotonicTime) {
        guard let id = callOfSession[session], let call = calls[id], let local = call.local,
            case .established = call.phase, case .none = call.change
        else { return }
        offerChange(call, session, local, now: now)
    }

    private func offerChange(_ call: Call, _ session: SessionID, _ local: SocketAddress, now: MonotonicTime) {
        if call.wantsOffer, call.wantsHold == call.isHeldLocally, !call.needsMove {
            call.wantsOffer = false
            call.change = .requested
            return agent.reinvite(session, offer: nil, now: now)
        }
        call.change = .offered(holds: call.wantsHold)
        let offer = call.negotiation.makeOffer(local: local, direction: call.wantedDirection)
        agent.reinvite(session, offer: offer.serialized(), isMove: call.needsMove, now: now)
    }

    /// Our re-INVITE was accepted.
    func reinviteAnswered(_ session: SessionID, _ message: SIPMessage, now: MonotonicTime) {
        guard let id = callOfSession[session], let call = calls[id] else { return }
        if case .requested = call.change { return answerRequestedOffer(call, session, message, now: now) }
        guard case .offered = call.change else { return }
        call.change = .none
        call.needsMove = false
        do throws(SDPError) {
            guard let body = message.body(ofType: "application", "sdp"), !body.isEmpty else {
                throw SDPError(.mismatch, "the answer holds no session description")
            }
            call.audio = try call.negotiation.receiveAnswer(SessionDescription(parsing: body))
        } catch {
            call.wantsHold = call.isHeldLocally
            if call.hasMedia { configureStream(call) }
            reviewSilence(id, now: now)
            emit(.holdFailed(id, PhoneCauses.unusableChange(error)))
            continueTransfer(of: id, now: now)
            return
        }
        configureStream(call)
        noteHolds(id)
        reviewSilence(id, now: now)
        reconcileHold(id, now: now)
    }

    /// Our re-INVITE failed. The old session goes on (RFC 3261 §14.1).
    func reinviteFailed(_ session: SessionID, _ cause: Cause, willRetry: Bool, now: MonotonicTime) {
        guard let id = callOfSession[session], let call = calls[id] else { return }
        call.negotiation.withdrawOffer()
        if willRetry {
            if case .requested = call.change { call.wantsOffer = true }
            call.change = .waiting
            return
        }
        var isRefresh = false
        if case .offered(let holds) = call.change { isRefresh = holds == call.isHeldLocally && holds == call.wantsHold }
        call.change = .none
        if call.needsMove {
            call.needsMove = false
            emit(.warning(id, cause))
        }
        guard !isRefresh else { return }
        call.wantsHold = call.isHeldLocally
        if call.hasMedia { configureStream(call) }
        reviewSilence(id, now: now)
        emit(.holdFailed(id, cause))
        continueTransfer(of: id, now: now)
    }

    /// The wait after a refused re-INVITE is over.
    func reinviteDue(_ session: SessionID, now: MonotonicTime) {
        guard let id = callOfSession[session], let call = calls[id], case .waiting = call.change else { return }
        calls[id]?.change = .none
        reconcileHold(id, now: now)
    }

    /// The peer wants to change the session.
    func reinvited(_ session: SessionID, _ message: SIPMessage, now: MonotonicTime) {
        guard let id = callOfSession[session], let call = calls[id], let local = call.local else {
            agent.answerReinvite(session, status: 500, answer: nil, now: now)
            return
        }
        guard let body = message.body(ofType: "application", "sdp"), !body.isEmpty else {
            let offer = call.negotiation.makeOffer(local: local, direction: call.wantedDirection)
            call.change = .awaitingAnswerInACK
            agent.answerReinvite(session, status: 200, answer: offer.serialized(), now: now)
            return
        }
        noteIdentity(call, message)
        answerChange(call, message, now: now) { status, answer in
            agent.answerReinvite(session, status: status, answer: answer, now: now)
        }
    }

    /// The peer closed the audio line (port 0, RFC 3264 §8.2): as on hold, nothing goes either way until an offer opens it.
    func closeStream(_ call: Call) {
        guard var audio = call.audio else { return }
        audio.direction = .inactive
        audio.remoteHolds = true
        call.audio = audio
    }

    /// Tells the application whose hold changed by the last negotiation, whoever asked for it: an answer of ours to the
    /// peer's offer may hold or resume as well.
    func noteHolds(_ id: CallID) {
        guard let audio = calls[id]?.audio else { return }
        if audio.localHolds != calls[id]?.isHeldLocally {
            calls[id]?.isHeldLocally = audio.localHolds
            emit(.hold(id, by: .local, isHeld: audio.localHolds))
        }
        if audio.remoteHolds != calls[id]?.isHeldRemotely {
            calls[id]?.isHeldRemotely = audio.remoteHolds
            emit(.hold(id, by: .remote, isHeld: audio.remoteHolds))
        }
    }
}
