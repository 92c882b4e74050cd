// SPDX-License-Identifier: Apache-2.0
//
// The few functions that filters, tones and levels need. The lower floors import no C library, so they are computed here;
// errors are below 1e−14 relative in the ranges used, which a test compares with the system's.

package enum Mathematics {
    package static let ln2 = 0.693147180559945309417
    package static let ln10 = 2.30258509299404568402

    /// The sine of `angle` radians; 0 for what is no number or beyond ±10⁹.
    package static func sine(_ angle: Double) -> Double {
        guard angle.magnitude < 1e9 else { return 0 }
        let quarters = (angle / (Double.pi / 2)).rounded()
        // π/2 in two parts, so that little is lost when the difference is small.
        let rest = (angle - quarters * 1.57079632679489655800) - quarters * 6.12323399573676603587e-17
        let square = rest * rest
        let turn = Int(quarters) & 3
        var value: Double
        if turn & 1 == 0 {
            value = 1 - square / 210 * (1 - square / 272)
            value = 1 - square / 72 * (1 - square / 110 * (1 - square / 156 * value))
            value = rest * (1 - square / 6 * (1 - square / 20 * (1 - square / 42 * value)))
        } else {
            value = 1 - square / 182 * (1 - square / 240)
            value = 1 - square / 56 * (1 - square / 90 * (1 - square / 132 * value))
            value = 1 - square / 2 * (1 - square / 12 * (1 - square / 30 * value))
        }
        return turn & 2 == 0 ? value : -value
    }

    package static func cosine(_ angle: Double) -> Double { sine(angle + Double.pi / 2) }

    /// e to the `power`; saturates beyond ±700.
    package static func exponential(_ power: Double) -> Double {
        if power.isNaN { return power }
        if power < -700 { return 0 }
        let power = min(power, 700)
        let exponent = (power / ln2).rounded()
        let rest = power - exponent * ln2
        var term = 1.0
        var sum = 1.0
        for index in 1...16 {
            term *= rest / Double(index)
            sum += term
        }
        return Double(sign: .plus, exponent: Int(exponent), significand: sum)
    }

    /// The natural logarithm; −infinity for 0 and below.
    package static func logarithm(_ value: Double) -> Double {
        guard value > 0 else { return -.infinity }
        guard value.isFinite else { return value }
        var exponent = Double(value.exponent)
        var mantissa = value.significand
        if mantissa > 1.41421356237309515 {
            mantissa /= 2
            exponent += 1
        }
        let ratio = (mantissa - 1) / (mantissa + 1)
        let square = ratio * ratio
        var sum = 0.0
        var index = 23
        while index >= 1 {
            sum = sum * square + 1 / Double(index)
            index -= 2
        }
        return exponent * ln2 + 2 * ratio * sum
    }

    /// The factor of an amplitude for `decibels`.
    package static func amplitude(decibels: Double) -> Double { exponential(decibels * ln10 / 20) }

    /// The level of an amplitude in decibels.
    package static func decibels(amplitude: Double) -> Double { 20 * logarithm(amplitude) / ln10 }

    /// The modified Bessel function of order 0, for the Kaiser window.
    package static func bessel0(_ value: Double) -> Double {
        var sum = 1.0
        var term = 1.0
        var index = 1.0
        while term > sum * 1e-16, index < 200 {
            let factor = value / (2 * index)
            term *= factor * factor
            sum += term
            index += 1
        }
        return sum
    }
}
