// SPDX-License-Identifier: Apache-2.0

extension StreamReceiver {
    /// Gives the next 10 ms at the bridge's rate; false: they are silence. `now` in microseconds.
    mutating func pull(into frame: inout [Int16], at now: Int64) -> Bool {
        guard isRunning || queued > 0 || !isResting else {
            Samples.clear(&frame)
            return false
        }
        let needed = rate / 100
        if isRunning, isWaiting, estimator.base != nil {
            let since = now - begunAt >= settings.initialDelay.nanoseconds / 1000
            if since, now - microseconds(position) >= estimator.target { isWaiting = false }
        }
        if isRunning, !isWaiting {
            adjust(at: now, needed)
            fill(needed)
        } else if queued < needed {
            rest(needed - queued)
        }
        figures.framesPlayed += 1
        take(needed, into: &frame)
        return true
    }

    // MARK: The delay

    /// Compares the delay with the target, and says what the next packet that is decoded is to do about it.
    ///
    /// A packet is needed at the tick in which its first sample is played: what is left in the queue from the packet before,
    /// less than a frame, gains no time for it. So the delay that counts goes in steps of a frame, and the rest is waste.
    private mutating func adjust(at now: Int64, _ needed: Int) {
        guard let base = estimator.base else { return }
        let frame: Int64 = 10_000
        // What follows from jitter is not known to the millisecond; a step of a frame for the last of it is not worth it.
        let target = estimator.target - max(0, estimator.spread - Self.exactSpread) / 100
        let rest = Int64(queued % needed) * 1_000_000 / Int64(rate)
        let delay = now - microseconds(position)
        delayWindow.add(delay)
        correction = 0
        shortfall = target - (delay - rest)
        if shortfall > 0 {
            correction = (shortfall + frame - 1) / frame * frame - rest
            // A packet is missing that may still be on its way: others wait behind it.
            if shortfall > 3_000, queued < needed, let index = buffer.firstIndex(), buffer[index].timestamp > playhead, !isResting {
                stretch(needed - queued, counts: true)
            }
        } else if let least = delayWindow.least {
            shortfall = min(0, target - (least - rest))
            let steps = max(0, -shortfall - 1_000 - estimator.spread / 32) / frame
            correction = -(steps * frame + rest)
            if least - base > settings.maximumDelay.nanoseconds / 1000 + 2 * frame { skip(least - estimator.target) }
        }
    }

    /// Passes over what would be played later than is allowed.
    private mutating func skip(_ surplus: Int64) {
        let units = min(units(microseconds: surplus), newestEnd - playhead - clock / 50)
        guard units > 0 else { return }
        playhead += units
        figures.skips += 1
        delayWindow = DelayWindow()
        correction = 0
    }

    /// A spread that does not come from jitter but from loss, where it is known exactly.
    private static let exactSpread: Int64 = 30_000

    /// Makes the samples of a packet longer or shorter, as `correction` wants and as they allow; returns how many there are.
    mutating func fit(_ start: Int, _ count: Int) -> Int {
        let peak = Samples.peak(scratch, at: start, count: count)
        let isQuiet = peak <= max(64, speechLevel / 16)
        speechLevel = peak > speechLevel ? peak : speechLevel - speechLevel / 128
        packetsSinceStretch += 1
        guard correction != 0 else { return count }
        let (wanted, spread) = (correction, estimator.spread)
        // In quiet nearly anything may be done, in speech only what is needed. Even in quiet a delay that goes up and down with
        // each late packet sounds worse than one that stays a little off.
        let jitter = max(0, spread - Self.exactSpread)
        let isUrgent: Bool
        if wanted > 0 {
            guard shortfall > (isQuiet ? jitter / 10 : 300 + estimator.slack) else { return count }
            isUrgent = shortfall > 20_000 + spread / 4
        } else {
            let tolerance = settings.tolerance.nanoseconds / 1000 + spread / 3
            guard isQuiet ? wanted < -500 - jitter / 4 : -shortfall > tolerance else { return count }
            isUrgent = -shortfall > 100_000
        }
        guard isQuiet || isUrgent || packetsSinceStretch >= 2 else { return count }
        let most = max(1, Int(wanted.magnitude) * rate / 1_000_000)
        var result = count
        if wanted > 0 {
            result += stretcher.lengthen(
                &scratch, at: start, count: count, history: concealer.history, most: isQuiet ? most : rate * 15 / 1000,
                isQuiet: isQuiet, isUrgent: isUrgent)
            figures.lengthened += UInt64((result - count) * 1_000_000 / rate)
        } else {
            result -= stretcher.shorten(&scratch, at: start, count: count, most: most, isQuiet: isQuiet, isUrgent: isUrgent)
            figures.shortened += UInt64((count - result) * 1_000_000 / rate)
        }
        guard result != count else { return count }
        packetsSinceStretch = 0
        let change = Int64(result - count) * 1_000_000 / Int64(rate)
        delayWindow.shift(change)
        correction -= change
        shortfall -= change
        if (correction > 0) != (wanted > 0) { correction = 0 }
        return result
    }

    // MARK: The queue

    /// Sees to it that `needed` samples are queued.
    private mutating func fill(_ needed: Int) {
        var steps = 0
        while queued < needed {
            steps += 1
            guard steps < 1024, let index = buffer.firstIndex() else {
                runDry(needed - queued)
                return
            }
            let timestamp = buffer[index].timestamp
            if timestamp > playhead {
                bridge(timestamp - playhead, index, Int64(needed - queued))
                continue
            }
            switch buffer[index].content {
            case .event:
                isResting = true
                noise.silence()
                buffer.remove(at: index)
            case .noise(let level):
                isResting = true
                noise.setLevel(level)
                buffer.remove(at: index)
            case .speech(let codec):
                if codec != lastSpeech { kept = nil }
                play(index, receivables[codec])
                lastSpeech = codec
            }
        }
    }

    private mutating func play(_ index: Int, _ receivable: Receivable) {
        let end = buffer[index].timestamp + buffer[index].duration
        let skipped = playhead - buffer[index].timestamp
        setRate(of: receivable)
        let samples = Int(buffer[index].duration * Int64(rate) / clock)
        while scratch.count < samples { scratch.append(0) }
        if skipped > 0, kept == buffer[index].timestamp, receivable.decoder.restoreState() { hasJoint = true }
        kept = nil
        let made = Self.decode(receivable.decoder, buffer[index].bytes, buffer[index].count, into: &scratch)
        buffer.remove(at: index)
        guard made > 0 else {
            figures.packetsUndecodable += 1
            return
        }
        // What comes too late is decoded all the same, for the sake of the decoder's state.
        guard end > playhead else {
            figures.packetsLate += 1
            return
        }
        if hasJoint {
            concealer.expectJoint()
            hasJoint = false
        }
        let start = min(made, Int(skipped * Int64(rate) / clock))
        concealer.end(into: &scratch, at: start, count: made - start)
        append(start, fit(start, made - start))
        isResting = false
        playhead = end
    }

    static func decode(
        _ decoder: any AudioDecoder, _ bytes: [UInt8], _ count: Int, into samples: inout [Int16]
    ) -> Int {
        let payload = bytes.span.extracting(0..<min(count, bytes.count))
        var samples = samples.mutableSpan
        return min(decoder.decode(payload, into: &samples), samples.count)
    }

    /// Queues comfort noise, or what is left of speech that has just stopped.
    mutating func rest(_ samples: Int) {
        while scratch.count < samples { scratch.append(0) }
        if isResting {
            noise.fill(&scratch, at: 0, count: samples)
            concealer.end(into: &scratch, at: 0, count: samples)
        } else {
            concealer.conceal(into: &scratch, at: 0, count: samples)
        }
        append(0, samples)
    }

    mutating func append(_ offset: Int, _ count: Int) {
        if head > 0 {
            Samples.moveToFront(&queue, from: head, count: queued)
            head = 0
        }
        while queue.count < queued + count { queue.append(0) }
        Samples.copy(scratch, offset..<offset + count, to: &queue, at: queued)
        concealer.remember(scratch, at: offset, count: count)
        queued += count
    }

    private mutating func take(_ count: Int, into frame: inout [Int16]) {
        let part = head..<head + min(count, queued)
        if resampler != nil {
            let made = resampler?.process(queue, part, into: &frame) ?? 0
            for index in made..<max(made, frame.count) { frame[index] = 0 }
        } else {
            Samples.copy(queue, part, to: &frame)
        }
        head += part.count
        queued -= part.count
    }
}
