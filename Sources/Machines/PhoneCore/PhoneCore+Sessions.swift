// SPDX-License-Identifier: Apache-2.0
//
// What the user agent tells of INVITE sessions, from the first message to the end.

import Essentials
import Media
import SDP
import SIP
import SIPAgent

extension PhoneCore {
    /// An INVITE for us. It rings when its media can be answered: RTP sockets first, then 180.
    func incoming(_ session: SessionID, _ invite: IncomingInvite, now: MonotonicTime) {
        let replaced = invite.replaces.flatMap { callOfSession[$0] }
        guard calls.count < configuration.maximumCalls || replaced != nil, !isStopping else {
            agent.reject(session, status: 486, reason: nil, now: now)
            emit(.warning(nil, PhoneCauses.limit(calls.count)))
            return
        }
        if let wish = autoAnswer(invite, others: calls.count), wish.request.isRequired, !wish.isAllowed {
            // RFC 5373 §4.4.
            agent.reject(session, status: 403, reason: nil, now: now)
            emit(.warning(nil, PhoneCauses.noAutoAnswer(wish.request.field)))
            return
        }
        guard replaced != nil || !isBusy(invite.account) else {
            agent.reject(session, status: 486, reason: nil, now: now)
            emit(.warning(nil, PhoneCauses.busyLine(calls.count)))
            return
        }
        var offer: ExaminedOffer?
        if let body = invite.message.body(ofType: "application", "sdp"), !body.isEmpty {
            var read: SessionDescription?
            do throws(SDPError) {
                let description = try SessionDescription(parsing: body)
                read = description
                let probe = OfferAnswer(capabilities: audio(of: invite.account), sessionID: 0)
                offer = try probe.examine(description)
            } catch {
                refuse(session, error, offer: read, now: now)
                return
            }
        }
        let call = makeCall(
            account: invite.account, direction: .incoming, phase: .openingIncoming(invite: invite, offer: offer))
        call.session = session
        call.replaces = replaced
        call.remote = invite.remote
        call.peerAllows = invite.message.allow
        calls[call.id] = call
        callOfSession[session] = call.id
    }

    /// A provisional answer to our INVITE.
    func progress(_ session: SessionID, _ message: SIPMessage, now: MonotonicTime) {
        guard let id = callOfSession[session], let call = calls[id] else { return }
        guard message.statusCode > 100 else { return }
        call.lastStatus = message.statusCode
        call.lastReason = message.reasonPhrase
        if let body = message.body(ofType: "application", "sdp"), !body.isEmpty { earlyMedia(call, body, tag: message.to.tag) }
        noteProgress(call, message)
        noteIdentity(call, message)
        emit(.callState(id, .early, status: message.statusCode, reason: message.reasonPhrase))
        reportTransfer(by: id, message.statusCode, message.reasonPhrase, now: now)
    }

    /// The description in a provisional answer: the first one of an early dialog counts, the dialog heard last is played.
    private func earlyMedia(_ call: Call, _ body: [UInt8], tag: String?) {
        if let known = call.earlyAnswers.first(where: { $0.tag == tag }) {
            guard call.mediaTag != tag else { return }
            call.audio = known.audio
        } else {
            var negotiation = call.negotiation
            // A description that cannot be used is not the end of the call: the final answer decides.
            guard let description = try? SessionDescription(parsing: body), let audio = try? negotiation.receiveAnswer(description)
            else { return }
            call.earlyAnswers.append(Call.EarlyAnswer(tag: tag, negotiation: negotiation, audio: audio))
            // The dialog whose sound arrives stays in use until another one's does.
            if call.mediaTag != nil, call.early.isHeard { return }
            call.audio = audio
        }
        call.mediaTag = tag
        configureStream(call)
    }

    /// The first 2xx to our INVITE; the agent has sent the ACK.
    func answered(_ session: SessionID, _ message: SIPMessage, now: MonotonicTime) {
        guard let id = callOfSession[session], let call = calls[id] else { return }
        call.phase = .established
        call.answeredAt = now
        call.peerAllows = message.allow
        reviewRingback(call)
        noteIdentity(call, message)
        call.lastStatus = message.statusCode
        call.lastReason = message.reasonPhrase
        let early = call.earlyAnswers.first { $0.tag == message.to.tag }
        call.earlyAnswers = []
        if call.options.isLateOffer, early == nil {
            if answerLateOffer(call, session, message, now: now) { becomeEstablished(call, message, now: now) }
            return
        }
        do throws(SDPError) {
            if !call.options.isLateOffer, let body = message.body(ofType: "application", "sdp"), !body.isEmpty {
                call.audio = try call.negotiation.receiveAnswer(SessionDescription(parsing: body))
            } else if let early {
                // The answer came in a provisional response; the 2xx need not repeat it (RFC 3261 §13.2.1).
                call.audio = early.audio
                call.negotiation = early.negotiation
            } else {
                throw SDPError(.mismatch, "the answer holds no session description")
            }
        } catch {
            agent.hangUp(session, cause: PhoneCauses.unusableAnswer(error), now: now)
            return
        }
        becomeEstablished(call, message, now: now)
    }

    private func becomeEstablished(_ call: Call, _ message: SIPMessage, now: MonotonicTime) {
        let id = call.id
        configureStream(call)
        emit(.callState(id, .connecting, status: message.statusCode, reason: message.reasonPhrase))
        emit(.callState(id, .confirmed, status: message.statusCode, reason: message.reasonPhrase))
        reportTransfer(by: id, message.statusCode, message.reasonPhrase, now: now)
        noteHolds(id)
        reviewSilence(id, now: now)
        reconcileHold(id, now: now)
    }

    /// The ACK to our 200: of the first INVITE, or of a re-INVITE that had no offer.
    func confirmed(_ session: SessionID, _ message: SIPMessage?, now: MonotonicTime) {
        guard let id = callOfSession[session], let call = calls[id] else { return }
        let isFirst: Bool
        if case .accepting = call.phase { isFirst = true } else { isFirst = false }
        var awaitsAnswer = isFirst && call.audio == nil
        if case .awaitingAnswerInACK = call.change {
            awaitsAnswer = true
            call.change = .none
        }
        call.phase = .established
        if isFirst { call.answeredAt = now }
        if awaitsAnswer {
            do throws(SDPError) {
                guard let body = message?.body(ofType: "application", "sdp"), !body.isEmpty else {
                    throw SDPError(.mismatch, "The ACK holds no session description although the INVITE had none either.")
                }
                call.audio = try call.negotiation.receiveAnswer(SessionDescription(parsing: body))
            } catch {
                agent.hangUp(session, cause: PhoneCauses.unusableAnswer(error), now: now)
                return
            }
            configureStream(call)
        }
        if isFirst { emit(.callState(id, .confirmed, status: 200, reason: "OK")) }
        noteHolds(id)
        reviewSilence(id, now: now)
        reconcileHold(id, now: now)
    }

    /// The session is over, or never came to be.
    func sessionEnded(_ session: SessionID, _ end: SessionEnd, now: MonotonicTime) {
        guard let id = callOfSession[session], let call = calls[id] else { return }
        if continueThroughGateway(call, end, now: now) { return }
        let duration = call.answeredAt.map { now - $0 } ?? .zero
        var cause = end.cause
        if cause.code == "call.incompatible" { cause.evidence.append(.init("offered", ourFormats)) }
        finish(
            id,
            CallEnd(
                cause: cause, isByRemote: end.byRemote, wasEstablished: end.wasEstablished || call.answeredAt != nil,
                duration: duration))
    }

    /// Refuses with what is wrong, 488 as a rule; the call never rings.
    func refuse(_ session: SessionID, _ error: SDPError, offer: SessionDescription? = nil, now: MonotonicTime) {
        // RFC 3261 §21.4.26: what was wrong with it.
        let warning = Warning(code: error.warning, agent: "handset", text: error.reason)
        agent.reject(session, status: error.status, reason: nil, headers: [(.warning, warning.description)], now: now)
        var cause = PhoneCauses.refusedMedia(error)
        if let offer { cause.evidence += [.init("offered", offer.audioFormats), .init("ours", ourFormats)] }
        emit(.warning(nil, cause))
    }

    /// Our codecs, for the evidence of causes.
    private var ourFormats: String { configuration.audio.codecs.map(\.name).joined(separator: ", ") }

    /// Ends a call whose peer has sent nothing for too long.
    func endVanished(_ id: CallID, now: MonotonicTime) {
        guard calls[id] != nil else { return }
        let cause = agent.isNetworkLost ? PhoneCauses.networkLost : PhoneCauses.vanished(seconds: Int(configuration.silenceLimit.seconds))
        try? hangUp(id, cause: cause, now: now)
    }
}
