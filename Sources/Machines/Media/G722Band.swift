// SPDX-License-Identifier: Apache-2.0
//
// One band of G.722 (ITU-T G.722 clauses 5.3–5.6 and 6.2): an adaptive quantizer around a predictor of two poles and six
// zeros. Encoder and decoder run the same predictor on what the decoder knows, so they stay equal.
//
//     x ─(−)─ e ─ quantize ─ code ─ inverse ─ d ─(+)─ r
//         └── s ◁── predictor (a1 a2 on r, b1…b6 on d) ──┘

/// The state of one band. All values are 16-bit numbers of the Recommendation, held in 32 bits.
struct G722Band {
    enum Kind { case low, high }

    private let kind: Kind
    /// The logarithmic scale factor, and what it stands for: the size of a quantizer step.
    private var logScale: Int32 = 0
    private var scale: Int32
    /// The predicted sample, and the part of it that the zeros make.
    private var predicted: Int32 = 0
    private var predictedByZeros: Int32 = 0
    private var poles: (first: Int32, second: Int32) = (0, 0)
    private var zeros = Six()
    /// The last two samples as the decoder has them, the last six differences, the last two partial ones.
    private var reconstructed: (first: Int32, second: Int32) = (0, 0)
    private var differences = Six()
    private var partial: (first: Int32, second: Int32) = (0, 0)

    init(_ kind: Kind) {
        self.kind = kind
        scale = kind == .low ? 32 : 8
    }

    // MARK: Encoding

    /// QUANTL, INVQAL: six bits for a sample of the low band.
    mutating func encodeLow(_ sample: Int32) -> Int {
        let error = Self.saturated(sample &- predicted)
        let magnitude = error >= 0 ? error : -(error &+ 1)
        let levels = Self.lowLevels.span
        var (lowest, highest) = (1, levels.count)
        while lowest < highest {
            let middle = (lowest + highest) / 2
            if magnitude < (levels[middle] &* scale) >> 12 { highest = middle } else { lowest = middle + 1 }
        }
        // Codes run from the outermost level inwards; the two innermost negative ones lie at the end of the range.
        let code = error >= 0 ? 62 - lowest : lowest <= 2 ? 64 - lowest : 34 - lowest
        takeLow(code)
        return code
    }

    /// QUANTH, INVQAH: two bits for a sample of the high band.
    mutating func encodeHigh(_ sample: Int32) -> Int {
        let error = Self.saturated(sample &- predicted)
        let magnitude = error >= 0 ? error : -(error &+ 1)
        let isLarge = magnitude >= (564 &* scale) >> 12
        let code = (error >= 0 ? 2 : 0) + (isLarge ? 0 : 1)
        takeHigh(code)
        return code
    }

    // MARK: Decoding

    /// INVQBL, LIMIT: the sample of six bits.
    mutating func decodeLow(_ code: Int) -> Int32 {
        let difference = (scale &* Self.lowValues[code & 63]) >> 15
        let sample = predicted &+ difference
        takeLow(code)
        return min(max(sample, -16384), 16383)
    }

    /// INVQAH, LIMIT: the sample of two bits.
    mutating func decodeHigh(_ code: Int) -> Int32 {
        let sample = predicted &+ (scale &* Self.highValues[code & 3]) >> 15
        takeHigh(code)
        return min(max(sample, -16384), 16383)
    }

    // MARK: Adaptation

    /// INVQAL, LOGSCL, SCALEL: the predictor sees only the four upper bits of the code.
    private mutating func takeLow(_ code: Int) {
        let short = code >> 2 & 15
        let difference = (scale &* Self.shortValues[short]) >> 15
        logScale = min(max((logScale &* 127) >> 7 &+ Self.lowSteps[short], 0), 18432)
        scale = Self.linear(logScale, shift: 8)
        adapt(difference)
    }

    /// LOGSCH, SCALEH.
    private mutating func takeHigh(_ code: Int) {
        let difference = (scale &* Self.highValues[code & 3]) >> 15
        logScale = min(max((logScale &* 127) >> 7 &+ (code & 1 == 0 ? 798 : -214), 0), 22528)
        scale = Self.linear(logScale, shift: 10)
        adapt(difference)
    }

    private static func linear(_ logScale: Int32, shift: Int32) -> Int32 {
        let mantissa = powers[Int(logScale >> 6 & 31)]
        let exponent = shift &- logScale >> 11
        return (exponent < 0 ? mantissa &<< -exponent : mantissa &>> exponent) &<< 2
    }

    /// Block 4: RECONS, PARREC, UPPOL2, UPPOL1, UPZERO, DELAYA, FILTEP, FILTEZ, PREDIC.
    private mutating func adapt(_ difference: Int32) {
        let sample = Self.saturated(predicted &+ difference)
        let part = Self.saturated(predictedByZeros &+ difference)

        let agreesWithFirst = (part ^ partial.first) >= 0
        let agreesWithSecond = (part ^ partial.second) >= 0
        let fourfold = Self.saturated(poles.first &<< 2)
        let turned = agreesWithFirst ? min(0 &- fourfold, 32767) : fourfold
        var second = turned >> 7 &+ (agreesWithSecond ? 128 : -128)
        second = min(max(second &+ (poles.second &* 32512) >> 15, -12288), 12288)
        let limit = 15360 &- second
        let first = (poles.first &* 32640) >> 15 &+ (agreesWithFirst ? 192 : -192)
        poles = (min(max(first, 0 &- limit), limit), second)

        let step: Int32 = difference == 0 ? 0 : 128
        let old = differences
        zeros = Six(
            Self.zero(zeros.a, old.a, difference, step), Self.zero(zeros.b, old.b, difference, step),
            Self.zero(zeros.c, old.c, difference, step), Self.zero(zeros.d, old.d, difference, step),
            Self.zero(zeros.e, old.e, difference, step), Self.zero(zeros.f, old.f, difference, step))
        differences = Six(difference, old.a, old.b, old.c, old.d, old.e)
        partial = (part, partial.first)
        reconstructed = (sample, reconstructed.first)

        // From the oldest on, as the Recommendation adds them. A difference is below 2¹⁴: twice of it needs no limit.
        var sum = (zeros.f &* (differences.f &<< 1)) >> 15
        sum = Self.saturated(sum &+ (zeros.e &* (differences.e &<< 1)) >> 15)
        sum = Self.saturated(sum &+ (zeros.d &* (differences.d &<< 1)) >> 15)
        sum = Self.saturated(sum &+ (zeros.c &* (differences.c &<< 1)) >> 15)
        sum = Self.saturated(sum &+ (zeros.b &* (differences.b &<< 1)) >> 15)
        predictedByZeros = Self.saturated(sum &+ (zeros.a &* (differences.a &<< 1)) >> 15)
        let byFirst = (poles.first &* Self.saturated(reconstructed.first &* 2)) >> 15
        let bySecond = (poles.second &* Self.saturated(reconstructed.second &* 2)) >> 15
        predicted = Self.saturated(Self.saturated(byFirst &+ bySecond) &+ predictedByZeros)
    }

    @inline(__always) private static func saturated(_ value: Int32) -> Int32 { min(max(value, -32768), 32767) }

    /// UPZERO for one zero: it decays, and moves by `step` towards the sign that would have predicted better. It stays within
    /// 16 bits by itself.
    @inline(__always) private static func zero(_ zero: Int32, _ old: Int32, _ new: Int32, _ step: Int32) -> Int32 {
        (zero &* 32640) >> 15 &+ ((old ^ new) < 0 ? 0 &- step : step)
    }

    /// Six values in fields: an array would cost checks in the innermost loop.
    private struct Six {
        var (a, b, c, d, e, f): (Int32, Int32, Int32, Int32, Int32, Int32)

        init() { self.init(0, 0, 0, 0, 0, 0) }
        @inline(__always) init(_ a: Int32, _ b: Int32, _ c: Int32, _ d: Int32, _ e: Int32, _ f: Int32) {
            (self.a, self.b, self.c, self.d, self.e, self.f) = (a, b, c, d, e, f)
        }
    }

    // MARK: Tables of the Recommendation

    /// Q6: the decision levels of the low band.
    private static let lowLevels: [Int32] = [
        0, 35, 72, 110, 150, 190, 233, 276, 323, 370, 422, 473, 530, 587, 650, 714, 786, 858, 940, 1023, 1121, 1219, 1339,
        1458, 1612, 1765, 1980, 2195, 2557, 2919,
    ]
    /// QQ6 by code of six bits; the first four are not sent by an encoder and stand for the smallest negative step.
    private static let lowValues: [Int32] = [
        -136, -136, -136, -136, -24808, -21904, -19008, -16704, -14984, -13512, -12280, -11192, -10232, -9360, -8576,
        -7856, -7192, -6576, -6000, -5456, -4944, -4464, -4008, -3576, -3168, -2776, -2400, -2032, -1688, -1360, -1040,
        -728, 24808, 21904, 19008, 16704, 14984, 13512, 12280, 11192, 10232, 9360, 8576, 7856, 7192, 6576, 6000, 5456,
        4944, 4464, 4008, 3576, 3168, 2776, 2400, 2032, 1688, 1360, 1040, 728, 432, 136, -432, -136,
    ]
    /// By the upper four bits of the code (QQ4).
    private static let shortValues: [Int32] = [
        0, -20456, -12896, -8968, -6288, -4240, -2584, -1200, 20456, 12896, 8968, 6288, 4240, 2584, 1200, 0,
    ]
    /// WL by the upper four bits of the code.
    private static let lowSteps: [Int32] = [
        -60, 3042, 1198, 538, 334, 172, 58, -30, 3042, 1198, 538, 334, 172, 58, -30, -60,
    ]
    /// QQ2: by code of the high band.
    private static let highValues: [Int32] = [-7408, -1616, 7408, 1616]
    /// ILB: 2048 · 2^(i/32).
    private static let powers: [Int32] = [
        2048, 2093, 2139, 2186, 2233, 2282, 2332, 2383, 2435, 2489, 2543, 2599, 2656, 2714, 2774, 2834, 2896, 2960, 3025,
        3091, 3158, 3228, 3298, 3371, 3444, 3520, 3597, 3676, 3756, 3838, 3922, 4008,
    ]
}
