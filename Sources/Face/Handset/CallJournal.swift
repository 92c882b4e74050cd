// SPDX-License-Identifier: Apache-2.0

import CallAnalysis
import Essentials
import Media
import PhoneCore
import SIP
import SIPAgent

/// Keeps what happens on one call, and makes a page of it: one self-contained HTML file with the ladder, what was negotiated in
/// sentences, and loss, jitter, buffer, delay, level and score on one time axis.
///
///     var journal = CallJournal(call.id, startedAt: loop.now)
///     // in PhoneSettings.trace, in the phone's handler, and with Phone.requestStatistics(_:) once a second:
///     journal.note(record)
///     journal.note(event, at: now)
///     // after the final statistics:
///     try journal.page.write(…)
public struct CallJournal: Sendable {
    public let call: CallID
    /// What the page shows; an application may add to it.
    public var record = CallRecord()
    private let start: MonotonicTime
    private var traffic = Traffic()
    private var callID: String?
    private var last = StreamStatistics()
    private var lastAt: MonotonicTime?
    /// Whether the call is over and its last figures are known.
    public private(set) var isComplete = false

    /// The most messages that are kept.
    public static let messageLimit = 2000

    /// - Parameter startedAt: the beginning of the page's time axis.
    public init(_ call: CallID, startedAt: MonotonicTime) {
        self.call = call
        start = startedAt
    }

    /// Takes a message of the phone's trace. Which ones belong to the call shows later.
    public mutating func note(_ record: TraceRecord) {
        guard traffic.messages.count < Self.messageLimit else { return }
        let message: SIPMessage
        switch SIPMessage.receive(Array(record.message.utf8)) {
        case .message(let found), .refuse(let found, _, _): message = found
        case .drop: return
        }
        let isSent = record.direction == .sent
        // Our call is the first that begins after its journal.
        if callID == nil, isSent, message.isRequest, message.method == .invite, message.to.tag == nil { callID = message.callID }
        if let callID, message.callID != callID { return }
        traffic.messages.append(
            SeenMessage(
                time: record.time, transport: record.transport, source: isSent ? record.local : record.remote,
                destination: isSent ? record.remote : record.local, message: message))
    }

    /// Takes an event of the phone; what belongs to other calls is passed over.
    public mutating func note(_ event: PhoneEvent, at now: MonotonicTime) {
        switch event {
        case .incomingCall(call, let shown):
            record.direction = "from"
            record.remote = "\(shown.remote)"
            callID = shown.invite.callID
        case .callState(call, let state, let status, let reason):
            guard state != .disconnected else { return }
            mark(.note, status > 0 ? "\(state.rawValue) (\(status) \(reason))" : state.rawValue, now)
        case .media(call, let media):
            record.codec = media.codec.name
            mark(.note, "sound: \(media.codec.name)\(media.hasRedundancy ? ", may be sent again" : "")", now)
        case .hold(call, let side, let isHeld):
            mark(.note, isHeld ? "held by \(side == .local ? "us" : "the other side")" : "resumed", now)
        case .digitSent(call, let digit, _, _): mark(.note, "digit \(digit) sent", now)
        case .digitReceived(call, let digit, _, _): mark(.note, "digit \(digit) received", now)
        case .warning(call, let cause): mark(.warning, cause.sentence, now)
        case .holdFailed(call, let cause), .digitFailed(call, let cause): mark(.failure, cause.sentence, now)
        case .notice(call, .mended(let code)): mark(.note, Self.mended(code), now)
        case .ended(call, let end):
            record.end = end.cause.sentence
            record.duration = end.wasEstablished ? end.duration.seconds : nil
            mark(.note, "over", now)
        case .statistics(call, let statistics, let isFinal):
            sample(statistics, now)
            if isFinal { isComplete = true }
        default: break
        }
    }

    /// A warning that is over, in words.
    private static func mended(_ code: String) -> String {
        switch code {
        case "media.loss": "little is lost on the way here now"
        case "media.loss-sent": "little is lost on the way there now"
        case "media.delay": "what is said is heard in time again"
        case "media.nothing-sent": "sound is sent again"
        case "media.nothing-received", "media.interrupted", "media.wrong-address": "sound comes from the other side again"
        case "media.silence-received": "the other side is heard again"
        case "media.muted": "who spoke while muted stopped, or is heard now"
        default: "\(code) is over"
        }
    }

    private mutating func mark(_ kind: CallMark.Kind, _ text: String, _ now: MonotonicTime) {
        record.add(CallMark(seconds: (now - start).seconds, kind: kind, text: text))
    }

    private mutating func sample(_ it: StreamStatistics, _ now: MonotonicTime) {
        record.received = it.packetsReceived
        record.lost = it.packetsLost
        record.restored = it.packetsRestored
        record.recovered = it.packetsRecovered
        record.score = it.score
        let seconds = max((now - (lastAt ?? start)).seconds, 0.001)
        defer { (last, lastAt) = (it, now) }
        // The last figures come with the end, perhaps at once after others.
        guard lastAt == nil || seconds >= 0.2 else { return }
        func change(_ now: UInt64, _ before: UInt64) -> Double { now >= before ? Double(now - before) : 0 }
        let lost = change(it.packetsLost, last.packetsLost)
        let expected = max(change(it.packetsReceived, last.packetsReceived) + lost, 1)
        let repaired = change(it.packetsRestored + it.packetsRecovered, last.packetsRestored + last.packetsRecovered)
        record.add(
            CallSample(
                seconds: (now - start).seconds, lost: min(lost / expected, 1), repaired: min(repaired / expected, 1),
                lostThere: it.remoteFractionLost, jitter: it.jitterMilliseconds, buffer: it.bufferMilliseconds,
                delay: it.mouthToEarMilliseconds ?? 0, received: it.receivedLevel, sent: it.sentLevel,
                score: it.liveScore ?? 0, rate: change(it.octetsSent, last.octetsSent) * 8 / 1000 / seconds,
                redundantRate: change(it.redundancyOctetsSent, last.redundancyOctetsSent) * 8 / 1000 / seconds))
    }

    /// The page: HTML that needs no network to be looked at. Secrets in messages are masked.
    public var page: String { CallPage(record, traffic, callID: callID) { SecretMask.masked($0) }.text }
}
