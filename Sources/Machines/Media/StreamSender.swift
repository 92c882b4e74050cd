// SPDX-License-Identifier: Apache-2.0
//
// From frames of the bridge to RTP packets. Timestamps run with the ticks whatever is sent, so that audio, events and
// pauses lie on one line (RFC 3550 §5.1, RFC 4733 §2.5.1):
//
//     ticks     |··|··|··|··|··|··|··|··|··|··|··|··|··|··|
//     audio     [ptime][ptime]                    [ptime]…
//     key                    ├─M──┬────┬────E────E────E  (one timestamp, growing duration; then a pause)

import Essentials
import RTP

/// The sending half of a stream.
struct StreamSender {
    /// Of sending telephone-event.
    struct EventFormat {
        var payloadType: UInt8
        var clockRate: Int
    }

    private enum Key {
        case none
        case event(code: UInt8, elapsed: Int, total: Int, timestamp: UInt32)
        case ending(code: UInt8, total: Int, timestamp: UInt32, left: Int)
        case tone(code: UInt8, total: Int, left: Int)
        case pause(left: Int)
    }

    private struct WaitingDigit {
        /// nil: a pause.
        var code: UInt8?
        var milliseconds: Int
        var inBand: Bool
    }

    /// Silence between two keys, from the end of one to the beginning of the next.
    static let pauseBetweenKeys = 80
    static let pauseOfComma = 500
    private static let endPackets = 3

    private let port: PortID
    let ssrc: UInt32
    private var sequenceNumber: UInt16
    /// Of the next sample.
    private(set) var timestamp: UInt32
    private var ticksPerFrame: UInt32 = 80

    private var encoder: (any AudioEncoder)?
    private var codecInUse: NegotiatedCodec?
    private var payloadType: UInt8 = 0
    private var packetTime = 20
    private var sampleRate = 8000
    private var eventFormat: EventFormat?
    private var resampler: Resampler?
    private var filterInUse: ResamplerFilter?
    private var samples: [Int16] = []
    private var sampleCount = 0
    private var payload: [UInt8]
    private var marksNext = true
    private(set) var redundancy = RedundancySender()
    private var redundant: [UInt8] = []
    private var noiseType: UInt8?
    private var suppressor = SilenceSuppressor()
    /// The last packet was left out because it was silence.
    private(set) var isResting = false

    private var digits: [WaitingDigit] = []
    private var key = Key.none
    private var untilReport = 0
    private var isFirstReport = false
    private var tone: ToneGenerator?

    private(set) var packetsSent: UInt64 = 0
    private(set) var octetsSent: UInt64 = 0

    init(port: PortID, identity: StreamIdentity, maximumPayload: Int) {
        self.port = port
        ssrc = identity.ssrc
        sequenceNumber = identity.firstSequenceNumber
        timestamp = identity.firstTimestamp
        payload = [UInt8](repeating: 0, count: min(max(maximumPayload, 1500), 65000))
        redundant = [UInt8](repeating: 0, count: RedundancySender.maximumPayload)
    }

    /// Sets what is sent from the next packet on; the encoder goes on if the codec is the same.
    mutating func configure(
        _ negotiated: NegotiatedCodec, _ codec: any AudioCodec, packetTime: Int, event: EventFormat?,
        filter: ResamplerFilter?, redundancy wanted: StreamRedundancy? = nil, noiseType: UInt8? = nil
    ) {
        eventFormat = event
        // Comfort noise has the clock of the audio that it stands for, and is known at 8 kHz only (RFC 3389 §4).
        self.noiseType = codec.clockRate == 8000 ? noiseType : nil
        let before = redundancy.depth
        _ = redundancy.configure(wanted)
        defer { if before != redundancy.depth || before > 0 { encoder?.noteRedundancy(redundancy.depth) } }
        let newTime = codec.packetTime(atMost: min(max(packetTime, 10), 200) / 10 * 10)
        guard negotiated != codecInUse || newTime != self.packetTime || encoder == nil else { return }
        if negotiated != codecInUse { encoder = codec.makeEncoder(negotiated) }
        codecInUse = negotiated
        redundancy.forget()
        if redundancy.depth > 0 { encoder?.noteRedundancy(redundancy.depth) }
        self.packetTime = newTime
        payloadType = negotiated.payloadType
        sampleRate = codec.sampleRate
        ticksPerFrame = UInt32(max(codec.clockRate, 100) / 100)
        samples = [Int16](repeating: 0, count: sampleRate * newTime / 1000)
        sampleCount = 0
        if filterInUse !== filter || resampler == nil {
            filterInUse = filter
            resampler = filter.map { Resampler($0) }
        }
    }

    /// The peer reports the share of our packets that was lost.
    mutating func noteLoss(_ fraction: Double) {
        encoder?.noteLoss(fraction)
        if redundancy.noteLoss(fraction) { encoder?.noteRedundancy(redundancy.depth) }
    }

    /// Queues digits; false: there is no room, or one of them is no key.
    mutating func queue(_ text: String, milliseconds: Int, inBand: Bool, limit: Int) -> Bool {
        let duration = min(max(milliseconds, 40), 6000)
        var added: [WaitingDigit] = []
        for character in text {
            if character == "," {
                added.append(WaitingDigit(code: nil, milliseconds: Self.pauseOfComma, inBand: inBand))
            } else if let code = TelephoneEvent.code(ofDigit: character) {
                added.append(WaitingDigit(code: code, milliseconds: duration, inBand: inBand))
            } else {
                return false
            }
            guard digits.count + added.count <= limit else { return false }
        }
        digits += added
        return true
    }

    /// Takes 10 ms of what the stream hears, and sends what is complete. nil as destination: nothing is sent.
    mutating func consume(_ frame: [Int16], to destination: SocketAddress?, _ outbox: MediaOutbox) {
        guard let destination, encoder != nil else {
            // A key that is being sent cannot go on; those that wait are sent when we send again.
            if case .none = key {
            } else {
                key = .none
                tone = nil
            }
            sampleCount = 0
            marksNext = true
            timestamp &+= ticksPerFrame
            return
        }
        if case .none = key, sampleCount == 0, !digits.isEmpty { beginDigit() }
        if sendEvent(to: destination, outbox) {
            timestamp &+= ticksPerFrame
            return
        }
        add(frame)
        timestamp &+= ticksPerFrame
        sendTone(outbox)
        if sampleCount >= samples.count { sendAudio(to: destination, outbox) }
    }

    // MARK: Audio

    private mutating func add(_ frame: [Int16]) {
        let count = sampleRate / 100
        if tone != nil {
            tone?.fill(&samples, at: sampleCount, count: min(count, samples.count - sampleCount))
        } else if resampler != nil {
            let end = min(samples.count, sampleCount + count)
            let made = resampler?.process(frame, 0..<frame.count, into: &samples, at: sampleCount) ?? 0
            for index in min(sampleCount + made, end)..<end { samples[index] = 0 }
        } else {
            Samples.copy(frame, to: &samples, at: sampleCount)
        }
        sampleCount += count
    }

    private mutating func sendAudio(to destination: SocketAddress, _ outbox: MediaOutbox) {
        sampleCount = 0
        guard let encoder else { return }
        let step = ticksPerFrame &* UInt32(packetTime / 10)
        let first = timestamp &- step
        if let noiseType, restsInstead(noiseType, first, to: destination, outbox) { return }
        let count = Self.encode(encoder, samples, into: &payload)
        isResting = count == 0
        guard count > 0 else {
            marksNext = true
            return
        }
        let wrapped = redundancy.wrap(
            payload, count: count, payloadType: payloadType, timestamp: first, step: step, into: &redundant)
        if wrapped > 0, let type = redundancy.setting?.payloadType {
            send(type, redundant, marker: marksNext, timestamp: first, count: wrapped, to: destination, outbox)
        } else {
            send(payloadType, payload, marker: marksNext, timestamp: first, count: count, to: destination, outbox)
        }
        redundancy.remember(payload, count: count, payloadType: payloadType, timestamp: first)
        marksNext = false
    }

    /// Sends comfort noise, or nothing, in place of silence; false: this is speech.
    private mutating func restsInstead(
        _ type: UInt8, _ timestamp: UInt32, to destination: SocketAddress, _ outbox: MediaOutbox
    ) -> Bool {
        switch suppressor.judge(samples, milliseconds: packetTime) {
        case .speech: return false
        case .nothing: break
        case .noise(let level):
            payload[0] = level
            redundancy.forget()
            send(type, payload, marker: false, timestamp: timestamp, count: 1, to: destination, outbox)
        }
        marksNext = true
        isResting = true
        return true
    }

    private static func encode(_ encoder: any AudioEncoder, _ samples: [Int16], into payload: inout [UInt8]) -> Int {
        var payload = payload.mutableSpan
        return min(encoder.encode(samples.span, into: &payload), payload.count)
    }

    private mutating func send(
        _ type: UInt8, _ payload: [UInt8], marker: Bool, timestamp: UInt32, count: Int, to destination: SocketAddress,
        _ outbox: MediaOutbox
    ) {
        let header = RTPPacket(
            payloadType: type, marker: marker, sequenceNumber: sequenceNumber, timestamp: timestamp, ssrc: ssrc,
            payloadCount: count)
        outbox.send(header, payload, count: count, port: port, to: destination)
        sequenceNumber &+= 1
        packetsSent += 1
        octetsSent += UInt64(count)
    }

    // MARK: Keys

    private mutating func beginDigit() {
        let digit = digits.removeFirst()
        guard let code = digit.code else {
            key = .pause(left: digit.milliseconds)
            return
        }
        if digit.inBand || eventFormat == nil {
            tone = ToneGenerator.key(code).map { ToneGenerator($0, rate: sampleRate) }
            key = .tone(code: code, total: digit.milliseconds, left: digit.milliseconds)
        } else {
            // The duration has 16 bits; a longer key would need segments, which some receivers take for two keys.
            let longest = 65535 * 1000 / max(eventFormat?.clockRate ?? 8000, 1000)
            key = .event(code: code, elapsed: 0, total: min(digit.milliseconds, longest), timestamp: timestamp)
            untilReport = reportInterval
            isFirstReport = true
        }
    }

    private var reportInterval: Int { min(packetTime, 50) }

    /// Moves an event on by 10 ms; true: the event has this time, no audio is sent.
    private mutating func sendEvent(to destination: SocketAddress, _ outbox: MediaOutbox) -> Bool {
        untilReport -= 10
        switch key {
        case .event(let code, let elapsed, let total, let start):
            let now = elapsed + 10
            if now >= total {
                report(code, total, isEnd: true, start, to: destination, outbox)
                key = .ending(code: code, total: total, timestamp: start, left: Self.endPackets - 1)
            } else {
                if untilReport <= 0 { report(code, now, isEnd: false, start, to: destination, outbox) }
                key = .event(code: code, elapsed: now, total: total, timestamp: start)
            }
            return true
        case .ending(let code, let total, let start, let left):
            guard untilReport <= 0 else { return true }
            report(code, total, isEnd: true, start, to: destination, outbox)
            key = .ending(code: code, total: total, timestamp: start, left: left - 1)
            if left == 1 {
                key = .pause(left: max(10, Self.pauseBetweenKeys - (Self.endPackets - 1) * reportInterval))
                finished(code, total, inBand: false, outbox)
            }
            return true
        case .pause(let left):
            key = left <= 10 ? .none : .pause(left: left - 10)
            return false
        case .none, .tone:
            return false
        }
    }

    private mutating func report(
        _ code: UInt8, _ milliseconds: Int, isEnd: Bool, _ start: UInt32, to destination: SocketAddress, _ outbox: MediaOutbox
    ) {
        guard let format = eventFormat else { return }
        let duration = UInt16(clamping: milliseconds * format.clockRate / 1000)
        let event = TelephoneEvent(code: code, isEnd: isEnd, duration: duration)
        payload[0] = event.code
        payload[1] = (isEnd ? 0x80 : 0) | event.volume
        payload[2] = UInt8(truncatingIfNeeded: duration >> 8)
        payload[3] = UInt8(truncatingIfNeeded: duration)
        redundancy.forget()
        send(
            format.payloadType, payload, marker: isFirstReport, timestamp: start, count: TelephoneEvent.size, to: destination,
            outbox)
        isFirstReport = false
        untilReport = reportInterval
    }

    private mutating func sendTone(_ outbox: MediaOutbox) {
        guard case .tone(let code, let total, let left) = key else { return }
        key = .tone(code: code, total: total, left: left - 10)
        if left <= 10 {
            tone = nil
            key = .pause(left: Self.pauseBetweenKeys)
            finished(code, total, inBand: true, outbox)
        }
    }

    private func finished(_ code: UInt8, _ milliseconds: Int, inBand: Bool, _ outbox: MediaOutbox) {
        guard let digit = TelephoneEvent.digit(ofCode: code) else { return }
        outbox.tell(.digitSent(port, digit, milliseconds: milliseconds, inBand: inBand))
    }
}
