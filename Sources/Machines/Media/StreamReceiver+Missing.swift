// SPDX-License-Identifier: Apache-2.0
//
// What is played where a packet is missing, the best first:
//
//     1. a copy in a later packet (RFC 2198)     is in the buffer like any other
//     2. the codec's copy in the next packet     `AudioDecoder.recover`
//     3. the codec's own concealment             `AudioDecoder.conceal`
//     4. the waveform, from both sides if the next packet is there, else from before, fading out

extension StreamReceiver {
    /// Moves the playhead towards the packet at `index`, which begins `distance` units after it: by what that packet tells of
    /// the one before, else by concealment of `wanted` samples at most.
    mutating func bridge(_ distance: Int64, _ index: Int, _ wanted: Int64) {
        let isLoss = buffer[index].sequence != buffer.next
        if isLoss, recover(distance, index) {
            playhead += distance
            return
        }
        if isResting, correction < -2_000 {
            // Silence is shortened at no cost.
            let less = min(distance, max(1, units(microseconds: -correction)))
            playhead += less
            delayWindow.shift(-microseconds(less))
            correction = 0
            return
        }
        if isLoss, bridgeFromBothSides(distance, index) { return }
        // What the packet tells concerns a time as long as its own; a codec conceals whole packets best.
        let duration = max(buffer[index].duration, 1)
        let before = distance > duration ? distance - duration : distance
        // Where packets are late rather than lost, the second half of it may still come in time.
        let step = estimator.mayBeLate ? min(before, duration, clock / 100) : min(before, duration)
        let whole = Int(step * Int64(rate) / clock)
        if isLoss, concealByCodec(whole) {
            concealedSamples(whole)
            playhead += step
            return
        }
        let part = min(before, max((wanted * clock + Int64(rate) - 1) / Int64(rate), 1))
        stretch(Int(part * Int64(rate) / clock), counts: isLoss)
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

    /// Bridges a gap of which both sides are there, and plays the packet behind it; false: the codec has a way of its own, or
    /// the gap is too long.
    private mutating func bridgeFromBothSides(_ distance: Int64, _ index: Int) -> Bool {
        guard !isResting, case .speech(let codec) = buffer[index].content, codec == lastSpeech,
            !receivables[codec].decoder.concealsItself
        else { return false }
        let gap = Int(distance * Int64(rate) / clock)
        let after = Int(buffer[index].duration * Int64(rate) / clock)
        guard gap > 0, gap <= concealer.longestBridge else { return false }
        while scratch.count < gap + after { scratch.append(0) }
        concealer.extend(gap)
        Self.follow(receivables[codec].decoder, concealer.forward, gap)
        let end = buffer[index].timestamp + buffer[index].duration
        let made = Self.decode(receivables[codec].decoder, buffer[index].bytes, buffer[index].count, into: &scratch)
        buffer.remove(at: index)
        while scratch.count < gap + made { scratch.append(0) }
        Stretcher.open(&scratch, at: 0, count: made, by: gap)
        concealer.bridge(into: &scratch, at: 0, count: gap, after: min(made, after))
        append(0, gap + made)
        concealedSamples(gap)
        playhead = end
        return true
    }

    /// `isExact`: there is nothing of use behind the first `count`.
    private static func follow(_ decoder: any AudioDecoder, _ samples: [Int16], _ count: Int, isExact: Bool = false) {
        if isExact { return decoder.follow(samples.span.extracting(0..<min(count, samples.count)), count: count) }
        decoder.follow(samples.span, count: min(count, samples.count))
    }

    /// Queues samples that the codec itself makes up; false: it makes none.
    private mutating func concealByCodec(_ samples: Int) -> Bool {
        guard samples > 0, !isResting, let lastSpeech, lastSpeech < receivables.count else { return false }
        if kept == nil {
            // Should what is missing come after all, decoding goes on from here.
            receivables[lastSpeech].decoder.keepState()
            kept = playhead
        }
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

    /// Nothing waits: the playhead stands until something comes.
    mutating func runDry(_ samples: Int) {
        let longest = clock / 5
        // In steps of 2.5 ms, which codecs like.
        let step = max(rate / 400, 1)
        var made = (samples + step - 1) / step * step
        if dryUnits < longest, concealByCodec(made) {
            concealedSamples(made)
        } else {
            made = samples
            stretch(samples, counts: dryUnits < longest)
        }
        dryUnits += Int64(made) * clock / Int64(rate)
    }

    /// Queues `samples` that stand for nothing that was received: noise if the peer rests, else concealment.
    mutating func stretch(_ samples: Int, counts: Bool) {
        guard samples > 0 else { return }
        guard !isResting else {
            rest(samples)
            return
        }
        while scratch.count < samples { scratch.append(0) }
        concealer.conceal(into: &scratch, at: 0, count: samples)
        if let lastSpeech, lastSpeech < receivables.count { Self.follow(receivables[lastSpeech].decoder, scratch, samples, isExact: true) }
        append(0, samples)
        if counts { concealedSamples(samples) }
    }

    private mutating func concealedSamples(_ samples: Int) {
        concealedRest += samples
        let frame = rate / 100
        figures.framesConcealed += UInt64(concealedRest / frame)
        concealedRest %= frame
    }
}
