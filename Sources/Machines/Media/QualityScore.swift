// SPDX-License-Identifier: Apache-2.0

/// The E-model of ITU-T G.107, reduced to what a packet network changes: delay and loss.
package enum QualityScore {
    /// The rating R, 0...93.2.
    ///
    /// - Parameters:
    ///   - delay: mouth to ear, one way, in milliseconds.
    ///   - loss: share of frames lost or late, 0...1.
    ///   - equipment: Ie of the codec (ITU-T G.113).
    ///   - robustness: Bpl of the codec with its concealment (ITU-T G.113).
    ///   - burstRatio: BurstR, how much longer runs of losses are than those of independent ones; 1: no longer.
    package static func rating(
        delay: Double, loss: Double, equipment: Double, robustness: Double, burstRatio: Double = 1
    ) -> Double {
        let delayImpairment = 0.024 * delay + (delay > 177.3 ? 0.11 * (delay - 177.3) : 0)
        let percent = min(max(loss, 0), 1) * 100
        let lossImpairment = equipment + (95 - equipment) * percent / (percent / max(burstRatio, 1) + max(robustness, 0.1))
        return min(max(93.2 - delayImpairment - lossImpairment, 0), 93.2)
    }

    /// The mean opinion score, 1...4.5, of a rating (ITU-T G.107 annex B).
    package static func opinion(rating: Double) -> Double {
        if rating <= 0 { return 1 }
        if rating >= 100 { return 4.5 }
        return max(1, 1 + 0.035 * rating + rating * (rating - 60) * (100 - rating) * 7e-6)
    }
}
