// SPDX-License-Identifier: Apache-2.0
//
// The media side of calls: sockets opened, streams configured, digits, silence.

import Essentials
import Media
import SDP
import SIP
import SIPAgent

extension PhoneCore {
    /// What the media engine and the world around it tell.
    public func handle(_ event: MediaEvent, now: MonotonicTime) {
        switch event {
        case .streamOpened(let port, let rtp): streamOpened(port, rtp, now: now)
        case .streamFailed(let port, let reason): streamFailed(port, reason, now: now)
        case .sourceLocked(let port, let address):
            guard let id = callOfPort[port] else { return }
            emit(.mediaSource(id, address))
            if let call = calls[id] {
                call.hasHeard = true
                earlySource(call, address)
            }
        case .digitReceived(let port, let digit, let milliseconds, let inBand):
            guard let id = callOfPort[port] else { return }
            digitReceived(id, digit, milliseconds, inBand: inBand, now: now)
        case .digitSent(let port, let digit, let milliseconds, let inBand):
            guard let id = callOfPort[port] else { return }
            emit(.digitSent(id, digit, inBand ? .inband : .rfc4733, milliseconds: milliseconds))
        case .streamSilent(let port, let since): streamSilent(port, since, now: now)
        case .streamResumed(let port): streamResumed(port, now: now)
        case .statistics(let port, let statistics):
            if let id = callOfPort[port] {
                emit(.statistics(id, statistics, isFinal: false))
            } else {
                portClosed(port, statistics)
            }
        case .warning(let port, let warning, let value, let source): warn(port, warning, value, source)
        case .warningOver(let port, let warning): mended(port, warning)
        case .trouble: agent.noticeTrouble(now: now)
        case .remoteLeft(let port): streamSilent(port, .zero, now: now)
        case .playbackStarted, .playbackFinished, .fileFailed, .deviceChanged, .voiceProcessing, .program, .levels: emit(.port(event))
        }
        drainAgent(now: now)
    }

    private func streamOpened(_ port: PortID, _ rtp: SocketAddress, now: MonotonicTime) {
        guard let id = callOfPort[port], let call = calls[id] else { return }
        let rtp = published(rtp, of: call)
        call.local = rtp
        switch call.phase {
        case .openingOutgoing(let target, let options):
            call.phase = .inviting
            if options.isLateOffer { return invite(id, call.account, target, nil, options, now: now) }
            let offer = call.negotiation.makeOffer(local: rtp, direction: call.wantedDirection).serialized()
            prepareToReceive(call)
            invite(id, call.account, target, offer, options, now: now)
        case .openingIncoming(let invite, let offer):
            ring(call, invite, offer, local: rtp, now: now)
        case .inviting, .ringing, .accepting, .established: calls[id] = call
        }
    }

    func invite(
        _ id: CallID, _ account: AccountID?, _ target: URI, _ offer: [UInt8]?, _ options: CallOptions, now: MonotonicTime
    ) {
        do throws(AgentError) {
            let own = options.headers.compactMap { header in HeaderName(header.name).map { ($0, header.value) } }
            let session = try agent.invite(
                from: account, to: target, offer: offer, headers: own + options.transferHeaders, isAnonymous: options.isAnonymous, now: now)
            calls[id]?.session = session
            callOfSession[session] = id
        } catch {
            finish(id, PhoneCauses.notSent(error))
        }
    }

    private func ring(_ call: Call, _ invite: IncomingInvite, _ offer: ExaminedOffer?, local: SocketAddress, now: MonotonicTime) {
        guard let session = call.session else { return }
        var answer: [UInt8]?
        if let offer {
            do throws(SDPError) {
                let result = try call.negotiation.answer(offer, local: local, direction: call.wantedDirection)
                guard let audio = result.audio else { throw SDPError(.noAudio, "the offer has no audio that can be used") }
                call.audio = audio
                answer = result.answer.serialized()
            } catch {
                // Ends the call, whose end is told with this cause; it never rang.
                agent.hangUp(session, cause: PhoneCauses.refusedMedia(error), now: now)
                return
            }
        }
        call.phase = .ringing(answer: answer)
        call.isAnnounced = true
        let from = call.remote ?? invite.remote
        var shown = IncomingCall(
            account: invite.account, displayName: from.displayName, remote: from.uri, invite: invite.message)
        if let old = call.replaces {
            shown.replaces = old
            return takePlace(call, of: old, shown, now: now)
        }
        call.lastStatus = 180
        call.lastReason = "Ringing"
        // The user's automatic answer may come before 180; the order of the protocol is kept.
        let isWaiting = calls.count > 1
        var headers: [(HeaderName, String)] = []
        // RFC 7462 §8.2.1.2: the caller may hear that the call waits.
        if isWaiting { headers.append((.alertInfo, "<urn:alert:service:call-waiting>")) }
        var earlyOffer: [UInt8]?
        if offer == nil, agent.ringsReliably(session) {
            earlyOffer = call.negotiation.makeOffer(local: local, direction: call.wantedDirection).serialized()
            call.hasEarlyOffer = true
            prepareToReceive(call)
        }
        agent.ring(session, body: earlyOffer, headers: headers, now: now)
        shown.isWaiting = isWaiting
        let account = invite.account.flatMap { accounts[$0]?.calls.trustsServer } ?? false
        let identity = CallerIdentity(invite.message, believesServer: account && invite.isFromServer)
        if identity.isRemarkable {
            call.identity = identity
            shown.identity = identity
        }
        emit(.incomingCall(call.id, shown))
        if isWaiting { emit(.notice(call.id, .waiting)) }
        if let identity = shown.identity { emit(.notice(call.id, .identity(identity))) }
        emit(.callState(call.id, .incoming, status: 180, reason: "Ringing"))
        if let wish = autoAnswer(invite, others: calls.count - 1) {
            emit(.notice(call.id, .autoAnswer(wish.request, isAllowed: wish.isAllowed)))
            if wish.isAllowed { answerByItself(call, wish.request, now: now) }
        }
        drainAgent(now: now)
    }

    /// No RTP socket: the call ends, a caller gets 500.
    private func streamFailed(_ port: PortID, _ reason: String, now: MonotonicTime) {
        guard let id = callOfPort[port] else { return portClosed(port, StreamStatistics()) }
        calls[id]?.hasStream = false
        let cause = PhoneCauses.noSocket(reason)
        if let session = calls[id]?.session { agent.hangUp(session, cause: cause, now: now) } else { finish(id, cause) }
    }

    /// A closed port has told its last.
    private func portClosed(_ port: PortID, _ statistics: StreamStatistics) {
        guard let closing = closingPorts.removeValue(forKey: port) else { return }
        if closing.isAnnounced { emit(.statistics(closing.call, statistics, isFinal: true)) }
        stopIfDone()
    }

    // MARK: Silence

    private func streamSilent(_ port: PortID, _ since: Interval, now: MonotonicTime) {
        guard let id = callOfPort[port] else { return }
        guard let call = calls[id] else { return }
        call.silentSince = call.silentSince ?? (now - since)
        earlySoundChanged(call, isHeard: false)
        reviewSilence(id, now: now)
        if since > .zero { warnOfNothingHeard(call) }
    }

    private func streamResumed(_ port: PortID, now: MonotonicTime) {
        guard let id = callOfPort[port] else { return }
        guard let call = calls[id] else { return }
        call.silentSince = nil
        earlySoundChanged(call, isHeard: true)
        reviewSilence(id, now: now)
    }

    /// What the media engine sees wrong, told once until it is over. Before the answer nobody need send anything.
    private func warn(_ port: PortID, _ warning: MediaWarning, _ value: Double, _ source: SocketAddress?) {
        guard let id = callOfPort[port], let call = calls[id], call.answeredAt != nil, !call.isHeld, !call.isHeldRemotely,
            !call.warnings.contains(warning)
        else { return }
        if warning == .nothingReceived, !call.hasHeard {
            // Told with the addresses that may have misled.
            call.warnings.append(warning)
            return warnOfNothingHeard(call)
        }
        call.warnings.append(warning)
        emit(.warning(id, PhoneCauses.quality(warning, value: value, source: source, remote: call.audio?.remote)))
    }

    private func mended(_ port: PortID, _ warning: MediaWarning) {
        guard let id = callOfPort[port], let call = calls[id], let index = call.warnings.firstIndex(of: warning) else { return }
        call.warnings.remove(at: index)
        let code = warning == .nothingReceived && call.isToldOfNothing ? "media.nothing-received" : PhoneCauses.code(of: warning)
        emit(.notice(id, .mended(code: code)))
    }

    /// An answered call in which we send, and nothing has ever come: told once, with the addresses that may have misled.
    private func warnOfNothingHeard(_ call: Call) {
        guard call.expectsSince != nil, !call.hasHeard, !call.isToldOfNothing, let local = call.local else { return }
        call.isToldOfNothing = true
        let signalling = call.session.flatMap { agent.source(of: $0)?.remote }
        emit(.warning(call.id, PhoneCauses.nothingHeard(local: local, remote: call.audio?.remote, signalling: signalling)))
    }

    /// Sets when the call is ended as vanished: `silenceLimit` after the last packet, but counted only
    /// while the peer should be sending: once the call is answered, and while nobody holds it. The engine tells of a gap
    /// once, perhaps long before that begins.
    func reviewSilence(_ id: CallID, now: MonotonicTime) {
        guard let call = calls[id] else { return }
        let isExpected =
            call.answeredAt != nil && !call.isHeld && !call.isHeldRemotely && call.audio?.direction.receives ?? false
        call.expectsSince = isExpected ? call.expectsSince ?? now : nil
        guard configuration.silenceLimit > .zero, let expects = call.expectsSince, let silent = call.silentSince else {
            silences.disarm(id)
            return
        }
        silences.arm(id, at: max(now, max(expects, silent) + configuration.silenceLimit))
    }

    // MARK: Streams

    /// Whoever makes an offer must be ready to receive from then on (RFC 3264 §5.1).
    func prepareToReceive(_ call: Call) {
        guard let early = call.negotiation.offeredAudio else { return }
        order(.configureStream(call.port, StreamConfiguration(early, isMuted: call.isMuted)))
    }

    /// Gives the stream what the last negotiation, the holds and the mute say, and tells the application.
    func configureStream(_ call: Call) {
        guard let audio = call.audio, let local = call.local else { return }
        let sends = audio.direction.sends && !call.isHeld
        let receives = audio.direction.receives && !call.isHeld
        // A stream that does not receive forgets its silence, and tells of it anew once it receives again.
        if !receives { call.silentSince = nil }
        var configuration = StreamConfiguration(audio, isMuted: call.isMuted)
        configuration.sends = sends
        configuration.receives = receives
        order(.configureStream(call.port, configuration))
        let media = CallMedia(
            port: call.port, codec: NegotiatedCodec(audio.codec), local: local, remote: audio.remote, sends: sends,
            receives: receives, isSecured: false, hasTelephoneEvent: audio.sendEventPayloadType != nil,
            hasRedundancy: audio.sendRedundancyPayloadType != nil)
        guard media != call.media else { return }
        call.media = media
        emit(.media(call.id, media))
    }
}

extension StreamConfiguration {
    /// What was negotiated, in the words of the media engine.
    init(_ audio: NegotiatedAudio, isMuted: Bool) {
        self.init(
            remote: audio.remote, remoteRTCP: audio.remoteRTCP, codec: NegotiatedCodec(audio.codec),
            receivable: audio.receivable.map(NegotiatedCodec.init), sendEventPayloadType: audio.sendEventPayloadType,
            sendEventClockRate: audio.sendEventClockRate, receiveEventPayloadTypes: audio.receiveEventPayloadTypes,
            comfortNoisePayloadTypes: audio.comfortNoisePayloadTypes, sends: audio.direction.sends,
            receives: audio.direction.receives, packetTime: audio.packetTime, multiplexesRTCP: audio.multiplexesRTCP,
            isMuted: isMuted)
        sendComfortNoisePayloadType = audio.sendComfortNoisePayloadType
        redundancy = audio.sendRedundancyPayloadType.map { StreamRedundancy(payloadType: $0, packets: audio.redundantPackets) }
        receiveRedundancyPayloadTypes = audio.receiveRedundancyPayloadTypes
        if let reports = audio.extendedReports {
            if reports.voiceMetrics { extendedReports.insert(.voiceMetrics) }
            if reports.summary { extendedReports.insert(.summary) }
            if reports.receiverRoundTrip { extendedReports.insert(.receiverRoundTrip) }
        }
    }
}

extension NegotiatedCodec {
    /// The same codec in the words of the media engine, whose names are upper case.
    init(_ format: AudioFormat) {
        self.init(
            name: format.name.uppercased(), payloadType: format.payloadType, clockRate: format.clockRate,
            channels: format.channels, parameters: format.parameters, encoding: format.encoding)
    }
}
