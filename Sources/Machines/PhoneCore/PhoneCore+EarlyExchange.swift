// SPDX-License-Identifier: Apache-2.0
//
// Offer and answer outside INVITE and its 2xx (RFC 3261 §13.2.1, RFC 3262 §5, RFC 3311 §5):
//
//   we are called without an offer, reliably:  180 with our offer ─► PRACK with the answer ─► 200 without a description
//   we call without an offer:                  183 with their offer ─► PRACK with our answer ─► 200, ACK
//   UPDATE (or PRACK) with an offer, early or established:            ─► 200 with our answer

import Essentials
import Media
import SDP
import SIP
import SIPAgent

extension PhoneCore {
    /// The answer to our offer in a reliable 180.
    func earlyAnswer(_ session: SessionID, _ message: SIPMessage, now: MonotonicTime) {
        guard let id = callOfSession[session], let call = calls[id] else { return }
        do throws(SDPError) {
            guard let body = message.body(ofType: "application", "sdp"), !body.isEmpty else {
                throw SDPError(.mismatch, "the PRACK holds no session description although the INVITE had none either")
            }
            call.audio = try call.negotiation.receiveAnswer(SessionDescription(parsing: body))
            // Taken by the user already, the call waited for this.
            if case .accepting = call.phase { configureStream(call) }
        } catch {
            agent.hangUp(session, cause: PhoneCauses.unusableAnswer(error), now: now)
        }
    }

    /// The called side made its offer in a reliable provisional response.
    func earlyOffer(_ session: SessionID, _ message: SIPMessage, now: MonotonicTime) {
        guard let id = callOfSession[session], let call = calls[id], let local = call.local else { return }
        var negotiation = call.negotiation
        do throws(SDPError) {
            guard let body = message.body(ofType: "application", "sdp"), !body.isEmpty else {
                throw SDPError(.mismatch, "the description of the called side cannot be read")
            }
            let result = try negotiation.answer(SessionDescription(parsing: body), local: local, direction: call.wantedDirection)
            guard let audio = result.audio else { throw SDPError(.noAudio, "the offer has no audio that can be used") }
            call.earlyAnswers.append(Call.EarlyAnswer(tag: message.to.tag, negotiation: negotiation, audio: audio))
            if call.mediaTag == nil || !call.early.isHeard {
                call.mediaTag = message.to.tag
                call.audio = audio
                configureStream(call)
            }
            agent.acknowledgeProgress(session, message, answer: result.answer.serialized(), now: now)
        } catch {
            agent.hangUp(session, cause: PhoneCauses.unusableAnswer(error), now: now)
        }
    }

    func updated(_ session: SessionID, _ event: UpdateEvent, now: MonotonicTime) {
        guard let id = callOfSession[session], let call = calls[id] else {
            if case .offered = event { agent.answerUpdate(session, status: 500, answer: nil, now: now) }
            return
        }
        switch event {
        case .refreshed(let message): noteIdentity(call, message)
        case .offered(let message):
            noteIdentity(call, message)
            answerChange(call, message, now: now) { status, answer in
                agent.answerUpdate(session, status: status, answer: answer, now: now)
            }
        }
    }

    /// Answers an offer that changes the session, or refuses it and leaves all as it was (RFC 3261 §14.2).
    ///
    /// - Parameter respond: sends the status with the answer; nothing is told before.
    func answerChange(_ call: Call, _ message: SIPMessage, now: MonotonicTime, respond: (Int, [UInt8]?) -> Void) {
        guard let local = call.local, let body = message.body(ofType: "application", "sdp") else { return respond(488, nil) }
        // Of several early dialogs each has its own state.
        let tag = message.from.tag
        var early: Int?
        if case .inviting = call.phase { early = call.earlyAnswers.firstIndex { $0.tag == tag } }
        var negotiation = early.map { call.earlyAnswers[$0].negotiation } ?? call.negotiation
        do throws(SDPError) {
            let result = try negotiation.answer(SessionDescription(parsing: body), local: local, direction: call.wantedDirection)
            if let early, let audio = result.audio {
                call.earlyAnswers[early] = Call.EarlyAnswer(tag: tag, negotiation: negotiation, audio: audio)
                call.mediaTag = tag
            } else {
                call.negotiation = negotiation
            }
            if let audio = result.audio { call.audio = audio } else { closeStream(call) }
            configureStream(call)
            respond(200, result.answer.serialized())
            noteHolds(call.id)
            reviewSilence(call.id, now: now)
        } catch {
            respond(error.status, nil)
            emit(.warning(call.id, PhoneCauses.refusedChange(error)))
        }
    }
}
