// SPDX-License-Identifier: Apache-2.0
//
// DTMF both ways: RFC 4733 and in-band tones are the media engine's, INFO is ours.

import Essentials
import Media
import SIP
import SIPAgent

extension PhoneCore {
    /// The most digits of a call that wait for their turn.
    static let maximumDigits = 128

    /// Sends DTMF digits one after another.
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
        case .info: try queueInfoDigits(digits, call, now: now)
        case .auto where !hasEvents: try queueInfoDigits(digits, call, now: now)
        case .rfc4733 where !hasEvents:
            throw PhoneError(.noTelephoneEvent, "The other side did not agree to RFC 4733 digits.")
        case .auto, .rfc4733, .inband:
            guard media.sends else { throw PhoneError(.wrongState, "Digits cannot be sent in the audio of a call on hold.") }
            order(
                .sendDigits(call.port, digits, milliseconds: configuration.digitMilliseconds, inBand: method == .inband))
        }
    }

    private func queueInfoDigits(_ digits: String, _ call: Call, now: MonotonicTime) throws(PhoneError) {
        guard case .established = call.phase else {
            throw PhoneError(.wrongState, "Digits by INFO need an answered call.")
        }
        guard call.infoQueue.count + digits.count <= Self.maximumDigits else {
            throw PhoneError(.limit, "\(call.infoQueue.count) digits wait already, \(Self.maximumDigits) at most.")
        }
        calls[call.id]?.infoQueue += Array(digits)
        sendNextInfoDigit(call.id, now: now)
        drainAgent(now: now)
    }

    /// Sends the next digit when the one before is answered: requests of their own may overtake each other.
    func sendNextInfoDigit(_ id: CallID, now: MonotonicTime) {
        guard let call = calls[id], let session = call.session, call.infoDigit == nil, !pauses.isArmed(id),
            !call.infoQueue.isEmpty
        else { return }
        let digit = call.infoQueue.removeFirst()
        if digit == "," {
            pauses.arm(id, at: now + .milliseconds(500))
        } else {
            call.infoDigit = digit
        }
        guard digit != "," else { return }
        let body = "Signal=\(digit)\r\nDuration=\(configuration.digitMilliseconds)\r\n"
        agent.sendInfo(session, contentType: "application/dtmf-relay", body: Array(body.utf8), now: now)
    }

    /// The answer to an INFO of ours: the digit is told only now.
    func infoAnswered(_ session: SessionID, _ status: Int, now: MonotonicTime) {
        guard let id = callOfSession[session], let digit = calls[id]?.infoDigit else { return }
        calls[id]?.infoDigit = nil
        if (200..<300).contains(status) {
            emit(.digitSent(id, digit, .info, milliseconds: configuration.digitMilliseconds))
        } else {
            emit(.digitFailed(id, PhoneCauses.digitRefused(digit, status)))
        }
        sendNextInfoDigit(id, now: now)
    }

    /// A DTMF body of an INFO: `application/dtmf-relay` (Signal and Duration lines) or `application/dtmf` (the digit alone).
    func info(_ session: SessionID, _ contentType: String, _ body: [UInt8]) {
        guard let id = callOfSession[session], calls[id] != nil else { return }
        guard let (digit, milliseconds) = InfoDigit.read(contentType: contentType, body: body) else { return }
        emit(.digitReceived(id, digit, .info, milliseconds: milliseconds))
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
