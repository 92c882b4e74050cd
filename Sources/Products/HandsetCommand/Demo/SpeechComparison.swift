// SPDX-License-Identifier: Apache-2.0
//
// Whether a recording holds what was said: each second of the reference is looked for in the recording.
//
//   reference  |--- 1 s ---|--- 1 s ---|--- 1 s ---|
//   recording    ^ offset     ^ the same offset: nothing is missing or put in between the two

/// How well one window of the reference is found in the recording.
package struct SpeechWindow: Sendable, Equatable {
    /// Where the window begins in the reference, in samples.
    package var start: Int
    /// Recording position minus reference position, in samples.
    package var offset: Int
    /// Normalised correlation at that offset, −1...1.
    package var correlation: Double
}

package enum SpeechComparison {
    /// Below this mean square a window is silence, and says nothing: about −50 dBov.
    private static let silence = 100.0 * 100.0

    /// Looks for each whole window of `reference` in `recording`.
    ///
    /// - Parameters:
    ///   - window: samples a window, one second as a rule.
    ///   - maximumOffset: how far the recording may lag behind the reference, in samples.
    ///   - slack: how far the offset may move from one window to the next, in samples.
    /// - Returns: one result for each window that is not silent, in order.
    package static func windows(
        of reference: [Int16], in recording: [Int16], window: Int, maximumOffset: Int, slack: Int
    ) -> [SpeechWindow] {
        let said = reference.map(Double.init)
        let heard = recording.map(Double.init)
        var results: [SpeechWindow] = []
        var expected: Int?
        var start = 0
        while start + window <= said.count {
            defer { start += window }
            var energy = 0.0
            for index in start..<start + window { energy += said[index] * said[index] }
            guard energy / Double(window) > silence else { continue }
            let range = expected.map { max(0, $0 - slack)...($0 + slack) } ?? 0...maximumOffset
            guard let best = best(said, heard, start: start, window: window, offsets: range) else { continue }
            // A window that is not there must not lead the search for the next one astray.
            if best.correlation > 0.9 { expected = best.offset }
            results.append(best.correlation > 0.98 ? best : moved(said, heard, best, window, slack))
        }
        return results
    }

    /// The same window where the jitter buffer changed its delay within it, which is not a loss: the quarters are looked for one by
    /// one, and the joint may lie in two of them: the correlation is that of the worse of the other two.
    private static func moved(_ said: [Double], _ heard: [Double], _ whole: SpeechWindow, _ window: Int, _ slack: Int) -> SpeechWindow {
        let quarter = window / 4
        let offsets = max(0, whole.offset - slack)...(whole.offset + slack)
        let parts = (0..<4).compactMap { best(said, heard, start: whole.start + $0 * quarter, window: quarter, offsets: offsets) }
        guard parts.count == 4 else { return whole }
        var result = whole
        result.correlation = max(whole.correlation, parts.map(\.correlation).sorted()[2])
        return result
    }

    private static func best(
        _ said: [Double], _ heard: [Double], start: Int, window: Int, offsets: ClosedRange<Int>
    ) -> SpeechWindow? {
        var best: SpeechWindow?
        for offset in offsets {
            guard start + offset + window <= heard.count else { break }
            let correlation = correlation(said, heard, start, start + offset, window)
            if correlation > best?.correlation ?? -2 { best = SpeechWindow(start: start, offset: offset, correlation: correlation) }
        }
        return best
    }

    private static func correlation(_ said: [Double], _ heard: [Double], _ first: Int, _ second: Int, _ count: Int) -> Double {
        var product = 0.0
        var left = 0.0
        var right = 0.0
        let said = said.span
        let heard = heard.span
        for index in 0..<count {
            let one = said[first + index]
            let other = heard[second + index]
            product += one * other
            left += one * one
            right += other * other
        }
        guard left > 0, right > 0 else { return 0 }
        return product / (left.squareRoot() * right.squareRoot())
    }
}
