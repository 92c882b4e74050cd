// SPDX-License-Identifier: Apache-2.0
//
// Our INVITE without an offer (RFC 3261 §13.2.1): the called side makes it in its 2xx, the ACK answers.
//
//   INVITE ─► 200 with an offer ─► ACK with the answer
//                    └ cannot be used: ACK that takes nothing, BYE
//
// The same for a re-INVITE (§14.1): the other side says anew what it can, which a codec or a hold of its own may need.

import Essentials
import SDP
import SIP
import SIPAgent

extension PhoneCore {
    /// Answers the offer in the 2xx; false: it cannot be used, and the call ends.
    func answerLateOffer(_ call: Call, _ session: SessionID, _ message: SIPMessage, now: MonotonicTime) -> Bool {
        guard let local = call.local else { return false }
        var offer: SessionDescription?
        do throws(SDPError) {
            guard let body = message.body(ofType: "application", "sdp"), !body.isEmpty else {
                throw SDPError(.mismatch, "the called side made no offer although the INVITE had none either")
            }
            let description = try SessionDescription(parsing: body)
            offer = description
            let result = try call.negotiation.answer(description, local: local, direction: call.wantedDirection)
            guard let audio = result.audio else { throw SDPError(.noAudio, "the offer has no audio that can be used") }
            call.audio = audio
            agent.acknowledge(session, answer: result.answer.serialized(), now: now)
            return true
        } catch {
            if let offer { agent.acknowledge(session, answer: call.negotiation.refuse(offer, local: local).serialized(), now: now) }
            agent.hangUp(session, cause: PhoneCauses.unusableAnswer(error), now: now)
            return false
        }
    }

    /// Asks the other side of an answered call to make an offer anew, by a re-INVITE without one; `PhoneEvent.media` tells what
    /// changes, `PhoneEvent.holdFailed` that it failed. While another change is under way it waits.
    public func requestOffer(_ id: CallID, now: MonotonicTime) throws(PhoneError) {
        let call = try require(id)
        guard case .established = call.phase else { throw PhoneError(.wrongState, "Only an answered call can be negotiated anew.") }
        call.wantsOffer = true
        reconcileHold(id, now: now)
        drainAgent(now: now)
    }

    /// The 2xx to a re-INVITE without an offer: its offer is answered in the ACK. What cannot be used ends the call (§13.2.2.4).
    func answerRequestedOffer(_ call: Call, _ session: SessionID, _ message: SIPMessage, now: MonotonicTime) {
        call.change = .none
        if message.body(ofType: "application", "sdp")?.isEmpty ?? true {
            // Nothing was offered, so nothing changes.
            agent.acknowledge(session, answer: nil, now: now)
            emit(.holdFailed(call.id, PhoneCauses.unusableChange(SDPError(.mismatch, "The other side made no offer."))))
        } else {
            guard answerLateOffer(call, session, message, now: now) else { return }
            configureStream(call)
            noteHolds(call.id)
            reviewSilence(call.id, now: now)
        }
        reconcileHold(call.id, now: now)
    }
}
