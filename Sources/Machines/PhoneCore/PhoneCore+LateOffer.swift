// SPDX-License-Identifier: Apache-2.0
//
// Our INVITE without an offer (RFC 3261 §13.2.1): the called side makes it in its 2xx, the ACK answers.
//
//   INVITE ─► 200 with an offer ─► ACK with the answer
//                    └ cannot be used: ACK that takes nothing, BYE

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
}
