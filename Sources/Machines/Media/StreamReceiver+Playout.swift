// SPDX-License-Identifier: Apache-2.0

extension StreamReceiver {
    /// Gives the next 10 ms at the bridge's rate; false: they are silence. `now` in microseconds.
    mutating func pull(into frame: inout [Int16], at now: Int64) -> Bool {
        guard isRunning || queued > 0 || !isResting else {
            Samples.clear(&frame)
            return false
        }
        let needed = rate / 100
        if isRunning, isWaiting, let base = estimator.base {
            let delay = max(settings.initialDelay.nanoseconds / 1000, estimator.target)
            if now - microseconds(position) - base >= delay { isWaiting = false }
        }
        if isRunning, !isWaiting {
            adjust(at: now, needed)
            fill(needed)
            omitQuietFrame(needed)
        } else if queued < needed {
            rest(needed - queued)
        }
        figures.framesPlayed += 1
        take(needed, into: &frame)
        return true
    }

    // MARK: The delay

    private mutating func adjust(at now: Int64, _ needed: Int) {
        guard let base = estimator.base else { return }
        let delay = now - microseconds(position) - base
        delayWindow.add(delay)
        let maximum = settings.maximumDelay.nanoseconds / 1000
        if delay + 5_000 < estimator.target, !buffer.isEmpty {
            figures.framesInserted += 1
            stretch(needed, counts: true)
        } else if delay > maximum {
            let surplus = min(units(microseconds: delay - estimator.target), newestEnd - playhead - clock / 50)
            if surplus > 0 {
                playhead += surplus
                figures.skips += 1
                delayWindow = DelayWindow()
            }
        }
    }

    /// Leaves out a frame when the delay has long been larger than need be: a quiet one, or one a second if it is by far.
    private mutating func omitQuietFrame(_ needed: Int) {
        let peak = Samples.peak(queue, at: head, count: min(needed, queued))
        speechLevel = peak > speechLevel ? peak : speechLevel - speechLevel / 512
        framesSinceOmission += 1
        guard let least = delayWindow.least, framesSinceOmission >= 4, queued >= needed, !buffer.isEmpty else { return }
        let surplus = least - estimator.target - settings.tolerance.nanoseconds / 1000
        let isQuiet = peak <= max(64, speechLevel / 16)
        guard surplus > 0, isQuiet || surplus > 200_000 && framesSinceOmission >= 100 else { return }
        if isQuiet {
            head += needed
            queued -= needed
            fill(needed)
        } else {
            fill(2 * needed)
            guard queued >= 2 * needed else { return }
            crossfade(needed)
        }
        framesSinceOmission = 0
        figures.framesOmitted += 1
        delayWindow = DelayWindow()
    }

    /// Makes one frame of the next two.
    private mutating func crossfade(_ length: Int) {
        for index in 0..<length {
            let old = Int(queue[head + index]) * (length - index)
            let new = Int(queue[head + length + index]) * index
            queue[head + length + index] = Int16(truncatingIfNeeded: (old + new) / length)
        }
        head += length
        queued -= length
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
                play(index, receivables[codec])
                lastSpeech = codec
            }
        }
    }

    /// Moves the playhead towards the packet at `index`, which begins `distance` units after it: by what that packet tells of
    /// the one before, else by concealment of `wanted` samples at most.
    private mutating func bridge(_ distance: Int64, _ index: Int, _ wanted: Int64) {
        let isLoss = buffer[index].sequence != buffer.next
        if isLoss, recover(distance, index) {
            playhead += distance
            return
        }
        var part = min(distance, max((wanted * clock + Int64(rate) - 1) / Int64(rate), 1))
        // What the packet tells concerns a time as long as its own.
        let before = distance - buffer[index].duration
        if isLoss, before > 0 { part = min(part, before) }
        let samples = Int(part * Int64(rate) / clock)
        if isLoss, concealByCodec(samples) {
            concealedSamples(samples)
        } else {
            stretch(samples, counts: isLoss)
        }
        playhead += part
    }

    private mutating func recover(_ distance: Int64, _ index: Int) -> Bool {
        guard !isResting, case .speech(let codec) = buffer[index].content, codec == lastSpeech,
            distance <= buffer[index].duration
        else { return false }
        let samples = Int(buffer[index].duration * Int64(rate) / clock)
        let wanted = Int(distance * Int64(rate) / clock)
        while scratch.count < samples { scratch.append(0) }
        guard wanted > 0,
            Self.recover(receivables[codec].decoder, samples, buffer[index].bytes, buffer[index].count, into: &scratch)
        else { return false }
        // A part of it has been concealed already.
        if wanted < samples { concealer.expectJoint() }
        concealer.end(into: &scratch, at: samples - wanted, count: wanted)
        append(samples - wanted, wanted)
        figures.packetsRecovered += 1
        return true
    }

    /// Queues samples that the codec itself makes up; false: it makes none.
    private mutating func concealByCodec(_ samples: Int) -> Bool {
        guard samples > 0, !isResting, let lastSpeech, lastSpeech < receivables.count else { return false }
        while scratch.count < samples { scratch.append(0) }
        guard Self.conceal(receivables[lastSpeech].decoder, samples, into: &scratch) else { return false }
        concealer.end(into: &scratch, at: 0, count: samples)
        append(0, samples)
        return true
    }

    private static func recover(
        _ decoder: any AudioDecoder, _ samples: Int, _ bytes: [UInt8], _ count: Int, into target: inout [Int16]
    ) -> Bool {
        let payload = bytes.span.extracting(0..<min(count, bytes.count))
        var target = target.mutableSpan
        return decoder.recover(samples, from: payload, into: &target)
    }

    private static func conceal(_ decoder: any AudioDecoder, _ samples: Int, into target: inout [Int16]) -> Bool {
        var target = target.mutableSpan
        return decoder.conceal(samples, into: &target)
    }

    private mutating func play(_ index: Int, _ receivable: Receivable) {
        let end = buffer[index].timestamp + buffer[index].duration
        let skipped = playhead - buffer[index].timestamp
        guard end > playhead else {
            figures.packetsLate += 1
            buffer.remove(at: index)
            return
        }
        setRate(of: receivable)
        let samples = Int(buffer[index].duration * Int64(rate) / clock)
        while scratch.count < samples { scratch.append(0) }
        let made = Self.decode(receivable.decoder, buffer[index].bytes, buffer[index].count, into: &scratch)
        buffer.remove(at: index)
        guard made > 0 else {
            figures.packetsUndecodable += 1
            return
        }
        let start = min(made, Int(skipped * Int64(rate) / clock))
        concealer.end(into: &scratch, at: start, count: made - start)
        append(start, made - start)
        isResting = false
        playhead = end
    }

    private static func decode(
        _ decoder: any AudioDecoder, _ bytes: [UInt8], _ count: Int, into samples: inout [Int16]
    ) -> Int {
        let payload = bytes.span.extracting(0..<min(count, bytes.count))
        var samples = samples.mutableSpan
        return min(decoder.decode(payload, into: &samples), samples.count)
    }

    /// Nothing waits: the playhead stands until something comes.
    private mutating func runDry(_ samples: Int) {
        let longest = clock / 5
        if dryUnits < longest, concealByCodec(samples) {
            concealedSamples(samples)
        } else {
            stretch(samples, counts: dryUnits < longest)
        }
        dryUnits += Int64(samples) * clock / Int64(rate)
    }

    /// Queues `samples` that stand for nothing that was received: noise if the peer rests, else concealment.
    private mutating func stretch(_ samples: Int, counts: Bool) {
        guard samples > 0 else { return }
        guard !isResting else {
            rest(samples)
            return
        }
        while scratch.count < samples { scratch.append(0) }
        concealer.conceal(into: &scratch, at: 0, count: samples)
        append(0, samples)
        if counts { concealedSamples(samples) }
    }

    private mutating func concealedSamples(_ samples: Int) {
        concealedRest += samples
        let frame = rate / 100
        figures.framesConcealed += UInt64(concealedRest / frame)
        concealedRest %= frame
    }

    /// Queues comfort noise, or what is left of speech that has just stopped.
    private mutating func rest(_ samples: Int) {
        while scratch.count < samples { scratch.append(0) }
        if isResting {
            noise.fill(&scratch, at: 0, count: samples)
            concealer.end(into: &scratch, at: 0, count: samples)
        } else {
            concealer.conceal(into: &scratch, at: 0, count: samples)
        }
        append(0, samples)
    }

    private mutating func append(_ offset: Int, _ count: Int) {
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
