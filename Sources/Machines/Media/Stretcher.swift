// SPDX-License-Identifier: Apache-2.0
//
// Changes how long speech lasts and not how it sounds: a pitch period is left out or played once more, and what does not fit
// is crossfaded where both sides are alike (waveform similarity overlap-add):
//
//     played before │ new samples                        shorter  …AAAA│b╲╱CCCC     b fades into c, one period later
//     …aaaa bbbb    │ cccc dddd                          longer   …bbbb│c╲╱bbb│cccc dddd
//
// In quiet any length will do.

/// Stretches and shortens the samples of one packet against what was played before it.
struct Stretcher {
    let rate: Int
    private var joint: [Int16]

    init(rate: Int) {
        self.rate = rate
        joint = [Int16](repeating: 0, count: rate * 60 / 1000)
    }

    private var overlap: Int { rate * 5 / 1000 }
    private var step: Int { max(1, rate / 16_000) }

    /// How alike both sides of a cut in speech have to be.
    static let voiced = 0.75
    static let urgent = 0.4

    /// Leaves out samples of `samples[start..<start + count]`, at most `most`; returns how many, 0 if there is no good place.
    mutating func shorten(
        _ samples: inout [Int16], at start: Int, count: Int, most: Int, isQuiet: Bool, isUrgent: Bool
    ) -> Int {
        let length = overlap
        let longest = min(most, count - length)
        var lag = longest
        if isQuiet {
            guard longest > 0 else { return 0 }
        } else {
            let shortest = rate * 5 / 2000
            guard longest >= shortest else { return 0 }
            let found = WaveformMatch.bestLag(
                samples.span.extracting(start..<start + count), at: 0, length: length, lags: shortest...longest, step: step,
                backwards: false)
            guard found.correlation >= (isUrgent ? Self.urgent : Self.voiced) else { return 0 }
            lag = found.lag
        }
        Samples.copy(samples, start + lag..<start + lag + length, to: &joint)
        WaveformMatch.fade(&samples, at: start, into: joint, from: 0, length: length)
        Self.close(&samples, from: start + lag + length, to: start + length, count: count - lag - length)
        return lag
    }

    /// Puts samples before those of `samples[start..<start + count]`, at most `most`; `history` ends with what was played
    /// before. Returns how many, 0 if there is no good place.
    mutating func lengthen(
        _ samples: inout [Int16], at start: Int, count: Int, history: [Int16], most: Int, isQuiet: Bool, isUrgent: Bool
    ) -> Int {
        let length = overlap
        guard count >= length else { return 0 }
        let longest = min(most, history.count, joint.count - length)
        var lag = longest
        if isQuiet {
            guard longest >= length else { return 0 }
        } else {
            guard longest >= length else { return 0 }
            // History and the new samples side by side.
            let before = min(history.count, rate * 20 / 1000)
            Samples.copy(history, history.count - before..<history.count, to: &joint)
            Samples.copy(samples, start..<start + length, to: &joint, at: before)
            let found = WaveformMatch.bestLag(
                joint.span.extracting(0..<before + length), at: before, length: length, lags: length...min(longest, before), step: step,
                backwards: true)
            guard found.correlation >= (isUrgent ? Self.urgent : Self.voiced) else { return 0 }
            lag = found.lag
        }
        while samples.count < start + count + lag { samples.append(0) }
        Samples.copy(samples, start..<start + length, to: &joint)
        WaveformMatch.fade(&joint, at: 0, into: history, from: history.count - lag, length: length)
        Self.open(&samples, at: start, count: count, by: lag)
        Samples.copy(joint, 0..<length, to: &samples, at: start)
        Samples.copy(history, history.count - lag + length..<history.count, to: &samples, at: start + length)
        return lag
    }

    private static func close(_ samples: inout [Int16], from source: Int, to target: Int, count: Int) {
        var samples = samples.mutableSpan
        for index in 0..<max(0, count) { samples[target + index] = samples[source + index] }
    }

    /// Moves `count` samples from `start` on towards the end.
    static func open(_ samples: inout [Int16], at start: Int, count: Int, by distance: Int) {
        var samples = samples.mutableSpan
        var index = count - 1
        while index >= 0 {
            samples[start + distance + index] = samples[start + index]
            index -= 1
        }
    }
}
