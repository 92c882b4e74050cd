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
        case .digitReceived(let port, let digit, let milliseconds, let inBand):
            guard let id = callOfPort[port] else { return }
            emit(.digitReceived(id, digit, inBand ? .inband : .rfc4733, milliseconds: milliseconds))
        case .digitSent(let port, let digit, let milliseconds, let inBand):
            guard let id = callOfPort[port] else { return }
            emit(.digitSent(id, digit, inBand ? .inband : .rfc4733, milliseconds: milliseconds))
        case .streamSilent(let port, let since): streamSilent(port, since, now: now)
        case .streamResumed(let port):
            if let id = callOfPort[port] { silences.disarm(id) }
        case .statistics(let port, let statistics):
            if let id = callOfPort[port] {
                emit(.statistics(id, statistics, isFinal: false))
            } else if let id = closingPorts.removeValue(forKey: port) {
                emit(.statistics(id, statistics, isFinal: true))
            }
        case .remoteLeft: break
        case .playbackStarted, .playbackFinished, .fileFailed: emit(.port(event))
        }
        drainAgent(now: now)
    }

    private func streamOpened(_ port: PortID, _ rtp: SocketAddress, now: MonotonicTime) {
        guard let id = callOfPort[port], let call = calls[id] else { return }
        call.local = rtp
        switch call.phase {
        case .openingOutgoing(let target, let options):
            call.phase = .inviting
            let offer = call.negotiation.makeOffer(local: rtp, direction: call.wantedDirection).serialized()
            if let early = call.negotiation.offeredAudio { order(.configureStream(port, StreamConfiguration(early, isMuted: false))) }
            invite(id, call.account, target, offer, options, now: now)
        case .openingIncoming(let invite, let offer):
            ring(call, invite, offer, local: rtp, now: now)
        case .inviting, .ringing, .accepting, .established, .ended: break
        }
    }

    private func invite(
        _ id: CallID, _ account: AccountID?, _ target: URI, _ offer: [UInt8], _ options: CallOptions, now: MonotonicTime
    ) {
        do throws(AgentError) {
            let headers = options.headers.compactMap { header in HeaderName(header.name).map { ($0, header.value) } }
            let session = try agent.invite(from: account, to: target, offer: offer, headers: headers, now: now)
            calls[id]?.session = session
            callOfSession[session] = id
        } catch {
            let cause = Cause("call.not-sent", "The call could not be placed: \(error.reason)")
            finish(id, CallEnd(cause: cause, isByRemote: false, wasEstablished: false, duration: .zero))
        }
    }

    private func ring(_ call: Call, _ invite: IncomingInvite, _ offer: ExaminedOffer?, local: SocketAddress, now: MonotonicTime) {
        guard let session = call.session else { return }
        var answer: [UInt8]?
        if let offer {
            do throws(SDPError) {
                let result = try call.negotiation.answer(offer, local: local, direction: call.wantedDirection)
                guard let audio = result.audio else { throw SDPError(.noAudio, "The offer has no audio that can be used.") }
                call.audio = audio
                answer = result.answer.serialized()
            } catch {
                refuse(session, error, now: now)
                return
            }
        }
        call.phase = .ringing(answer: answer)
        call.lastStatus = 180
        // The user's automatic answer may come before 180; the order of the protocol is kept (requirement A15).
        agent.ring(session, now: now)
        let from = call.remote ?? invite.remote
        let shown = IncomingCall(
            account: invite.account, displayName: from.displayName, remote: from.uri, invite: invite.message)
        emit(.incomingCall(call.id, shown))
        emit(.callState(call.id, .incoming, status: 180, reason: "Ringing"))
        drainAgent(now: now)
    }

    private func streamFailed(_ port: PortID, _ reason: String, now: MonotonicTime) {
        guard let id = callOfPort[port], let call = calls[id] else { return }
        let cause = Cause(
            "media.no-socket", "The call has no media because no RTP port could be opened: \(reason)", status: 500,
            evidence: [.init("reason", reason)])
        if let session = call.session {
            agent.reject(session, status: 500, reason: nil, now: now)
            if calls[id] != nil { agent.hangUp(session, cause: cause, now: now) }
            emit(.warning(id, cause))
        } else {
            finish(id, CallEnd(cause: cause, isByRemote: false, wasEstablished: false, duration: .zero))
        }
    }

    private func streamSilent(_ port: PortID, _ since: Interval, now: MonotonicTime) {
        guard let id = callOfPort[port], let call = calls[id], configuration.silenceLimit > .zero else { return }
        guard call.answeredAt != nil, let audio = call.audio, audio.direction.receives, !call.isHeldLocally else { return }
        silences.arm(id, at: max(now, now + (configuration.silenceLimit - since)))
    }

    /// Gives the stream what the last negotiation, the holds and the mute say, and tells the application.
    func configureStream(_ call: Call) {
        guard let audio = call.audio, let local = call.local else { return }
        call.hasMedia = true
        let isHeld = call.wantsHold || call.isHeldLocally
        let sends = audio.direction.sends && !isHeld
        let receives = audio.direction.receives && !isHeld
        var configuration = StreamConfiguration(audio, isMuted: call.isMuted)
        configuration.sends = sends
        configuration.receives = receives
        order(.configureStream(call.port, configuration))
        emit(
            .media(
                call.id,
                CallMedia(
                    port: call.port, codec: NegotiatedCodec(audio.codec), local: local, remote: audio.remote, sends: sends,
                    receives: receives, isSecured: false, hasTelephoneEvent: audio.sendEventPayloadType != nil)))
    }

    // MARK: Digits

    /// Sends DTMF digits one after another (requirement A10, B2).
    ///
    /// - Parameter digits: 0–9, `*`, `#`, A–D; `,` waits half a second. At most 128.
    public func sendDigits(
        _ digits: String, on id: CallID, method: DigitMethod = .auto, now: MonotonicTime
    ) throws(PhoneError) {
        let call = try require(id)
        guard call.hasMedia, let audio = call.audio else { throw PhoneError(.wrongState, "Digits can be sent once the call has media.") }
        guard !digits.isEmpty, digits.utf8.count <= 128, digits.uppercased().allSatisfy({ "0123456789*#ABCD,".contains($0) }) else {
            throw PhoneError(.badDigits, "Digits are 0–9, *, #, A–D and a comma for a pause, 128 at most.")
        }
        let milliseconds = configuration.digitMilliseconds
        switch method {
        case .auto where audio.sendEventPayloadType != nil, .rfc4733:
            guard audio.sendEventPayloadType != nil else {
                throw PhoneError(.noTelephoneEvent, "The other side did not agree to RFC 4733 digits.")
            }
            order(.sendDigits(call.port, digits.uppercased(), milliseconds: milliseconds, inBand: false))
        case .inband: order(.sendDigits(call.port, digits.uppercased(), milliseconds: milliseconds, inBand: true))
        case .auto, .info: try sendInfoDigits(digits.uppercased(), call, now: now)
        }
    }

    private func sendInfoDigits(_ digits: String, _ call: Call, now: MonotonicTime) throws(PhoneError) {
        guard let session = call.session, case .established = call.phase else {
            throw PhoneError(.wrongState, "Digits by INFO need an answered call.")
        }
        for digit in digits where digit != "," {
            let body = "Signal=\(digit)\r\nDuration=\(configuration.digitMilliseconds)\r\n"
            calls[call.id]?.infoDigits.append(digit)
            agent.sendInfo(session, contentType: "application/dtmf-relay", body: Array(body.utf8), now: now)
        }
        drainAgent(now: now)
    }

    /// The answer to an INFO of ours: the digit is told only now.
    func infoAnswered(_ session: SessionID, _ status: Int) {
        guard let id = callOfSession[session], let digit = calls[id]?.infoDigits.first else { return }
        calls[id]?.infoDigits.removeFirst()
        if (200..<300).contains(status) {
            emit(.digitSent(id, digit, .info, milliseconds: configuration.digitMilliseconds))
        } else {
            let sentence = "The other side did not take the digit \(digit): it answered \(status)."
            emit(.digitFailed(id, Cause("dtmf.refused", sentence, status: status, evidence: [.init("digit", String(digit))])))
        }
    }

    /// A DTMF body of an INFO: `application/dtmf-relay` (Signal and Duration lines) or `application/dtmf` (the digit alone).
    func info(_ session: SessionID, _ contentType: String, _ body: [UInt8]) {
        guard let id = callOfSession[session], calls[id] != nil else { return }
        guard let (digit, milliseconds) = InfoDigit.read(contentType: contentType, body: body) else { return }
        emit(.digitReceived(id, digit, .info, milliseconds: milliseconds))
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
    }
}

extension NegotiatedCodec {
    /// The same codec in the words of the media engine, whose names are upper case.
    init(_ format: AudioFormat) {
        self.init(
            name: format.name.uppercased(), payloadType: format.payloadType, clockRate: format.clockRate,
            channels: format.channels, parameters: format.parameters)
    }
}

/// The two customary DTMF bodies of INFO; no RFC defines them, devices agree on these.
enum InfoDigit {
    static func read(contentType: String, body: [UInt8]) -> (digit: Character, milliseconds: Int)? {
        guard body.count <= 256 else { return nil }
        let text = String(decoding: body, as: UTF8.self)
        var digit: Character?
        var milliseconds = 250
        if contentType.lowercased().hasPrefix("application/dtmf-relay") {
            for line in text.split(whereSeparator: \.isNewline) {
                let parts = line.split(separator: "=", maxSplits: 1)
                guard parts.count == 2 else { continue }
                let name = parts[0].filter { !$0.isWhitespace }.lowercased()
                let value = parts[1].filter { !$0.isWhitespace }
                if name == "signal" { digit = symbol(value) }
                if name == "duration", let number = Int(value), (1...10_000).contains(number) { milliseconds = number }
            }
        } else {
            digit = symbol(text.filter { !$0.isWhitespace })
        }
        return digit.map { ($0, milliseconds) }
    }

    /// The digit of a `Signal` value: the key itself, or the event code 10 for `*`, 11 for `#`, 12–15 for A–D.
    private static func symbol(_ value: String) -> Character? {
        switch value.uppercased() {
        case "10", "*": return "*"
        case "11", "#": return "#"
        case "12": return "A"
        case "13": return "B"
        case "14": return "C"
        case "15": return "D"
        case let other where other.count == 1 && "0123456789ABCD".contains(other): return other.first
        default: return nil
        }
    }
}
