// SPDX-License-Identifier: Apache-2.0
//
// DTMF both ways. RFC 4733 and tones are the media engine's, INFO is ours. Which way is taken where nobody chose:
//
//   telephone-event agreed ─► RFC 4733
//   else, INFO not excluded by the peer's Allow ─► INFO application/dtmf-relay ─ 415 ─► INFO application/dtmf
//   refused, or no answer ─► the tones themselves, for this digit and all after it
//
// Received is each key once: a tone counts only where neither RFC 4733 nor INFO brings the same digit.

import Essentials
import Media
import SIP
import SIPAgent

extension PhoneCore {
    /// The most digits of a call that wait for their turn.
    static let maximumDigits = 128
    /// Between two digits by INFO, milliseconds, behind the length of the first.
    static let infoDigitGap = 50

    /// Sends DTMF digits one after another; `PhoneEvent.digitSent` tells of each with the way that it took.
    ///
    /// - Parameter digits: 0–9, `*`, `#`, A–D; `,` waits half a second. At most 128.
    /// - Throws: `.wrongState` where the call has no media, or holds: what is not sent cannot carry a digit.
    public func sendDigits(
        _ digits: String, on id: CallID, method: DigitMethod = .auto, now: MonotonicTime
    ) throws(PhoneError) {
        let call = try require(id)
        guard let audio = call.audio, let media = call.media else {
            throw PhoneError(.wrongState, "Digits can be sent once the call has media.")
        }
        let digits = digits.uppercased()
        guard !digits.isEmpty, digits.utf8.count <= Self.maximumDigits, digits.allSatisfy({ "0123456789*#ABCD,".contains($0) }) else {
            throw PhoneError(.badDigits, "Digits are 0–9, *, #, A–D and a comma for a pause, \(Self.maximumDigits) at most.")
        }
        let hasEvents = audio.sendEventPayloadType != nil
        switch method {
        case .info: try queueInfoDigits(digits, call, isAuto: false, now: now)
        case .auto where !hasEvents && mayUseInfo(call): try queueInfoDigits(digits, call, isAuto: true, now: now)
        case .rfc4733 where !hasEvents:
            throw PhoneError(.noTelephoneEvent, "The other side did not agree to RFC 4733 digits.")
        case .auto, .rfc4733, .inband:
            guard media.sends else { throw PhoneError(.wrongState, "Digits cannot be sent in the audio of a call on hold.") }
            let isInBand = method == .inband || !hasEvents
            order(.sendDigits(call.port, digits, milliseconds: configuration.digitMilliseconds, inBand: isInBand))
        }
    }

    /// Whether INFO is worth a try: the call is answered, and the peer has neither refused one nor left it out of its Allow.
    private func mayUseInfo(_ call: Call) -> Bool {
        guard case .established = call.phase else { return false }
        if call.digits.isInfoUseless { return false }
        return call.peerAllows.isEmpty || call.peerAllows.contains("INFO")
    }

    private func queueInfoDigits(_ digits: String, _ call: Call, isAuto: Bool, now: MonotonicTime) throws(PhoneError) {
        guard case .established = call.phase else {
            throw PhoneError(.wrongState, "Digits by INFO need an answered call.")
        }
        guard call.digits.queue.count + digits.count <= Self.maximumDigits else {
            throw PhoneError(.limit, "\(call.digits.queue.count) digits wait already, \(Self.maximumDigits) at most.")
        }
        call.digits.queue += digits.map { CallDigits.Waiting(digit: $0, isAuto: isAuto) }
        sendNextInfoDigit(call.id, now: now)
        drainAgent(now: now)
    }

    /// Sends the next digit when the one before is answered: requests of their own may overtake each other.
    func sendNextInfoDigit(_ id: CallID, now: MonotonicTime) {
        guard let call = calls[id], call.digits.current == nil, !pauses.isArmed(id), !call.digits.queue.isEmpty else { return }
        let next = call.digits.queue.removeFirst()
        if next.digit == "," {
            pauses.arm(id, at: now + .milliseconds(500))
        } else {
            call.digits.current = next
            sendInfoDigit(call, next, now: now)
        }
    }

    private func sendInfoDigit(_ call: Call, _ waiting: CallDigits.Waiting, now: MonotonicTime) {
        guard let session = call.session else { return }
        let form = call.digits.form
        call.digits.triedForms.insert(form)
        let body = InfoDigit.body(waiting.digit, form, milliseconds: configuration.digitMilliseconds)
        agent.sendInfo(session, contentType: form.contentType, body: body, now: now)
    }

    /// The answer to an INFO of ours: the digit is told only now.
    ///
    /// - Parameter accepted: the media types that a 415 named.
    func infoAnswered(_ session: SessionID, _ status: Int, _ accepted: [MediaType], now: MonotonicTime) {
        guard let id = callOfSession[session], let call = calls[id], let waiting = call.digits.current else { return }
        if (200..<300).contains(status) {
            call.digits.current = nil
            emit(.digitSent(id, waiting.digit, .info, milliseconds: configuration.digitMilliseconds))
            // The peer holds the key down as long as we said: the next one comes after that, and after a gap, as by RFC 4733.
            pauses.arm(id, at: now + .milliseconds(Int64(configuration.digitMilliseconds + Self.infoDigitGap)))
            return
        }
        if status == 415, let form = otherForm(call, accepted) {
            call.digits.form = form
            return sendInfoDigit(call, waiting, now: now)
        }
        call.digits.current = nil
        guard waiting.isAuto, call.media?.sends == true else {
            emit(.digitFailed(id, PhoneCauses.digitRefused(waiting.digit, status)))
            return sendNextInfoDigit(id, now: now)
        }
        fallBackToTones(call, waiting)
        sendNextInfoDigit(id, now: now)
    }

    /// The other form of INFO, if the peer may take it: named by it, or not yet tried where it names none.
    private func otherForm(_ call: Call, _ accepted: [MediaType]) -> InfoDigit.Form? {
        let other = call.digits.form == .relay ? InfoDigit.Form.plain : .relay
        guard !call.digits.triedForms.contains(other) else { return nil }
        let names = accepted.map { "\($0.type)/\($0.subtype)" }
        return names.isEmpty || names.contains(other.contentType) ? other : nil
    }

    /// The peer takes no INFO: this digit and those behind it go as tones, and all later ones of the call.
    private func fallBackToTones(_ call: Call, _ first: CallDigits.Waiting) {
        call.digits.isInfoUseless = true
        var digits = String(first.digit)
        while let next = call.digits.queue.first, next.isAuto {
            digits.append(next.digit)
            call.digits.queue.removeFirst()
        }
        order(.sendDigits(call.port, digits, milliseconds: configuration.digitMilliseconds, inBand: true))
    }

    // MARK: Received

    /// A DTMF body of an INFO: `application/dtmf-relay` (Signal and Duration lines) or `application/dtmf` (the digit alone).
    func info(_ session: SessionID, _ contentType: String, _ body: [UInt8], now: MonotonicTime) {
        guard let id = callOfSession[session], let call = calls[id] else { return }
        guard let (digit, milliseconds) = InfoDigit.read(contentType: contentType, body: body) else { return }
        call.digits.note(digit, milliseconds: milliseconds, now: now)
        emit(.digitReceived(id, digit, .info, milliseconds: milliseconds))
    }

    /// A digit of the stream: an event of RFC 4733, or a tone.
    func digitReceived(_ id: CallID, _ digit: Character, _ milliseconds: Int, inBand: Bool, now: MonotonicTime) {
        guard let call = calls[id] else { return }
        guard inBand else {
            call.digits.note(digit, milliseconds: milliseconds, now: now)
            return emit(.digitReceived(id, digit, .rfc4733, milliseconds: milliseconds))
        }
        if call.digits.hear(digit, milliseconds: milliseconds, now: now) { armTones(call) }
    }

    private func armTones(_ call: Call) {
        if let due = call.digits.tones.first?.due { tones.arm(call.id, at: due) } else { tones.disarm(call.id) }
    }

    /// Tones whose digit came by no other way are keys of their own.
    func tonesDue(_ id: CallID, now: MonotonicTime) {
        guard let call = calls[id] else { return }
        while let tone = call.digits.tones.first, tone.due <= now {
            call.digits.tones.removeFirst()
            emit(.digitReceived(id, tone.digit, .inband, milliseconds: tone.milliseconds))
        }
        armTones(call)
    }

    /// The call ends: what still waits was a key.
    func tellWaitingTones(_ call: Call) {
        tones.disarm(call.id)
        for tone in call.digits.tones { emit(.digitReceived(call.id, tone.digit, .inband, milliseconds: tone.milliseconds)) }
        call.digits.tones = []
    }
}
