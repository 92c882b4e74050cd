// SPDX-License-Identifier: Apache-2.0

import Essentials
import RTP

extension StreamPort {
    /// Packets of a quieter stream than that are silence: two steps of A-law.
    static let silentPeak: Int32 = 16
    /// Who speaks is louder than this, −40 dB.
    static let speakingPeak: Int32 = 330
    private static let look = 20

    // MARK: Levels

    /// Notes what the peer's packets gave in this tick.
    func noteHeard(silent: Bool) {
        let power = silent ? 0 : Double(Samples.power(output)) / Double(max(output.count, 1))
        receivedPower += (power - receivedPower) / 16
        guard lastPacketAt != nil else { return }
        if silent || Samples.peak(output, at: 0, count: output.count) <= Self.silentPeak {
            quietTicks += 1
        } else {
            quietTicks = 0
            hasHeardSound = true
        }
    }

    /// Notes what is sent in this tick, or would be were we not muted.
    func noteSpoken(_ frame: [Int16], silent: Bool, isMuted: Bool) {
        let power = silent || isMuted ? 0 : Double(Samples.power(frame)) / Double(max(frame.count, 1))
        sentPower += (power - sentPower) / 16
        guard isMuted else { return spokenMuted = 0 }
        let speaks = !silent && Samples.peak(frame, at: 0, count: frame.count) > Self.speakingPeak
        // 300 ms of speech within some seconds.
        spokenMuted = speaks ? min(spokenMuted + 8, 600) : max(spokenMuted - 1, 0)
    }

    // MARK: Figures

    /// What came and what did not, since the beginning.
    var sums: RecentSeconds.Sums {
        let figures = receiver.figures
        let lost = Int64(clamping: lostBefore) + (source?.lost ?? 0) + overdue
        let missing = lost + Int64(clamping: figures.packetsLate)
        return RecentSeconds.Sums(
            expected: Int64(clamping: statistics.packetsReceived) + lost, missing: missing,
            repaired: min(missing, Int64(clamping: packetsRestored + figures.packetsRecovered)))
    }

    /// The rating of ITU-T G.107 for `sums` with the delays of now.
    func rating(_ sums: RecentSeconds.Sums) -> Double {
        let impairment = receiver.receivables.first?.codec.impairment ?? (equipment: 0, robustness: 25.1)
        // In-band FEC and copies leave little of a loss to hear.
        let rest = Double(sums.missing) - Double(sums.repaired) * 0.8
        return QualityScore.rating(
            delay: mouthToEar, loss: sums.expected <= 0 ? 0 : min(max(rest / Double(sums.expected), 0), 1),
            equipment: impairment.equipment, robustness: impairment.robustness, burstRatio: pattern.burstRatio)
    }

    /// One way, in ms: half of the round trip, the buffer, a packet on each side.
    var mouthToEar: Double {
        (reports.roundTrip?.milliseconds ?? 0) / 2 + receiver.bufferedMilliseconds + Double(stream?.packetTime ?? 20)
    }

    /// Adds to the statistics what is measured here.
    func describeQuality(_ result: inout StreamStatistics) {
        let sums = sums
        let change = recent.change(to: sums)
        result.score = sums.expected > 0 ? QualityScore.opinion(rating: rating(sums)) : nil
        result.liveScore = change.expected > 0 ? QualityScore.opinion(rating: rating(change)) : nil
        result.mouthToEarMilliseconds = sums.expected > 0 ? mouthToEar : nil
        result.receivedLevel = Samples.level(power: receivedPower)
        result.sentLevel = Samples.level(power: sentPower)
        result.remoteScore = reports.remoteMetrics.flatMap { $0.conversationalScore <= 50 ? Double($0.conversationalScore) / 10 : nil }
        let bursts = pattern.figures(milliseconds: stream?.packetTime ?? 20)
        result.burstMilliseconds = Int(bursts.burstDuration)
        result.burstDensity = Double(bursts.burstDensity) / 256
    }

    // MARK: Extended reports

    /// What the peer wished to be told (RFC 3611), at the end of a compound.
    func extendedReport(_ kinds: ExtendedReportKinds, at now: MonotonicTime) -> ExtendedReportContent? {
        guard !kinds.isEmpty else { return nil }
        var content = ExtendedReportContent(kinds: kinds)
        guard let source else { return content }
        if kinds.contains(.voiceMetrics) { content.metrics = voiceMetrics(source) }
        if kinds.contains(.summary) { content.summary = summary(source) }
        return content
    }

    private func summary(_ source: SourceState) -> StatisticsSummary {
        func units(_ value: Double) -> UInt32 { UInt32(min(max(value.isFinite ? value : 0, 0), 4e9)) }
        return StatisticsSummary(
            ssrc: source.ssrc, begin: UInt16(truncatingIfNeeded: source.highest - source.expected + 1),
            end: source.nextSequenceNumber, lost: UInt32(clamping: source.lost),
            duplicated: UInt32(clamping: statistics.packetsDuplicated),
            jitter: .init(
                least: units(spread.least), greatest: units(spread.greatest), mean: units(spread.mean), deviation: units(spread.deviation)))
    }

    private func voiceMetrics(_ source: SourceState) -> VoiceMetrics {
        var metrics = VoiceMetrics(ssrc: source.ssrc)
        let expected = max(source.expected, 1)
        metrics.lossRate = UInt8(clamping: source.lost * 256 / expected)
        metrics.discardRate = UInt8(clamping: Int64(clamping: receiver.figures.packetsLate) * 256 / expected)
        let time = stream?.packetTime ?? 20
        (metrics.burstDensity, metrics.gapDensity, metrics.burstDuration, metrics.gapDuration) = pattern.figures(milliseconds: time)
        func milliseconds(_ value: Double) -> UInt16 { UInt16(min(max(value, 0), 65_535)) }
        metrics.roundTripDelay = milliseconds(reports.roundTrip?.milliseconds ?? 0)
        let buffer = receiver.bufferedMilliseconds
        metrics.endSystemDelay = milliseconds(buffer + 2 * Double(time))
        if statistics.packetsReceived > 0 { metrics.signalLevel = Int8(min(max(Samples.level(power: receivedPower), -96), 0)) }
        let rating = rating(sums)
        metrics.rating = UInt8(min(max(rating.rounded(), 0), 100))
        let listening = QualityScore.opinion(rating: min(rating + mouthToEar * 0.024, 93.2))
        metrics.listeningScore = UInt8(min(max((listening * 10).rounded(), 10), 50))
        metrics.conversationalScore = UInt8(min(max((QualityScore.opinion(rating: rating) * 10).rounded(), 10), 50))
        // Standard concealment, an adaptive buffer.
        metrics.configuration = 0b10_11_0000
        metrics.bufferNominal = milliseconds(buffer)
        metrics.bufferMaximum = milliseconds(max(buffer, Double(receiver.estimator.spread) / 1000))
        metrics.bufferLimit = milliseconds(receiver.settings.maximumDelay.milliseconds)
        return metrics
    }

    // MARK: Warnings

    /// Looks at the stream every 200 ms.
    func watchQuality(_ now: MonotonicTime, _ outbox: MediaOutbox) {
        watch.countdown -= 1
        guard watch.countdown <= 0, let stream else { return }
        watch.countdown = Self.look
        let settings = configuration.watch
        let receiving = stream.receives && expectsSince != nil && !hasLeft
        let silentFor = now - max(expectsSince ?? now, lastPacketAt ?? expectsSince ?? now)
        let isRefusing = refusedSince.map { now - $0 < settings.silence } ?? false
        let nothing = receiving && !lastWasNoise && silentFor >= settings.silence
        // When packets come again, the gap in their numbers says what was lost.
        overdue = nothing && source != nil ? silentFor.nanoseconds / (Int64(max(stream.packetTime, 10)) * 1_000_000) : 0
        if now - lastSecondAt >= .milliseconds(1000) {
            lastSecondAt = now
            recent.add(sums)
        }
        tell(.wrongAddress, nothing && isRefusing, for: .zero, value: 0, source: refusedFrom, now, outbox)
        tell(.nothingReceived, nothing && !isRefusing, for: .zero, value: silentFor.seconds, now, outbox)
        let isQuiet = Double(quietTicks) * 10 >= (hasHeardSound ? settings.pause : settings.silence).milliseconds
        tell(.silenceReceived, receiving && !nothing && !lastWasNoise && isQuiet, for: .zero, value: Double(quietTicks) / 100, now, outbox)

        let sent = sender.packetsSent
        let isSending = !stream.sends || sent != sentBefore || sender.isResting
        sentBefore = sent
        tell(.nothingSent, !isSending, for: settings.silence, value: 0, now, outbox)
        tell(.muted, stream.sends && stream.isMuted && spokenMuted >= 240, for: .zero, value: 0, now, outbox)
        watchNumbers(stream, settings, isSilent: nothing, now, outbox)
    }

    private func watchNumbers(
        _ stream: StreamConfiguration, _ settings: QualityWatchSettings, isSilent: Bool, _ now: MonotonicTime, _ outbox: MediaOutbox
    ) {
        let last = recent.change(to: sums)
        let loss = last.expected < 40 ? 0 : Double(last.missing) / Double(last.expected)
        let lossLimit = watch.isOn(.loss) ? settings.loss / 2 : settings.loss
        // That nothing comes at all is told by another warning.
        if !isSilent { tell(.loss, stream.receives && loss >= lossLimit, for: .zero, value: loss * 100, now, outbox) }
        let remote = reports.remoteFractionLost ?? 0
        let remoteLimit = watch.isOn(.lossSent) ? settings.loss / 2 : settings.loss
        tell(.lossSent, stream.sends && remote >= remoteLimit, for: .zero, value: remote * 100, now, outbox)
        let delay = mouthToEar
        let delayLimit = watch.isOn(.delay) ? settings.delay * 0.75 : settings.delay
        tell(.delay, stream.receives && delay >= delayLimit, for: .milliseconds(1000), value: delay, now, outbox)
    }

    private func tell(
        _ warning: MediaWarning, _ holds: Bool, for delay: Interval, value: Double, source: SocketAddress? = nil, _ now: MonotonicTime,
        _ outbox: MediaOutbox
    ) {
        switch watch.update(warning, holds: holds, for: delay, every: configuration.watch.silence, at: now) {
        case .none: break
        case .on: outbox.tell(.warning(id, warning, value: value, source: source))
        case .over: outbox.tell(.warningOver(id, warning))
        }
    }
}
