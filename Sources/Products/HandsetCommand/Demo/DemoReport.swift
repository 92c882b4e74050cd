// SPDX-License-Identifier: Apache-2.0

import Essentials
import Media
import PhoneCore

/// What the demonstration found.
package struct DemoReport: Sendable {
    /// What happened and when.
    package struct Facts: Sendable {
        package var codec = ""
        package var digits = ""
        package var aliceStarted = MonotonicTime.zero
        package var bobStarted = MonotonicTime.zero
        package var holdFrom = MonotonicTime.zero
        package var holdTo = MonotonicTime.zero
        package var aliceEnd: CallEnd?
        package var bobEnd: CallEnd?
        package var aliceStatistics = StreamStatistics()
        package var bobStatistics = StreamStatistics()

        /// The hold in seconds since speech began.
        package func hold(since start: MonotonicTime) -> ClosedRange<Double> {
            let from = (holdFrom - start).seconds
            return from...max(from, (holdTo - start).seconds)
        }
    }

    /// What one side heard of what the other said.
    package struct Comparison: Sendable {
        package var listener: String
        package var speaker: String
        package var windows: [SpeechWindow] = []
        /// Windows in which the call was on hold, silent ones not counted.
        package var held = 0

        package init(listener: String, speaker: String, said: [Int16], heard: [Int16], hold: ClosedRange<Double>) {
            self.listener = listener
            self.speaker = speaker
            let rate = Demonstration.rate
            let all = SpeechComparison.windows(of: said, in: heard, window: rate, maximumOffset: 3 * rate, slack: rate / 20)
            for window in all {
                let second = Double(window.start) / Double(rate)
                // Packets on the way and the jitter buffer blur the edges of the hold.
                if second + 1 > hold.lowerBound - 0.1, second < hold.upperBound + 0.3 { held += 1 } else { windows.append(window) }
            }
        }

        package var worst: Double { windows.map(\.correlation).min() ?? 0 }
        package var mean: Double { windows.isEmpty ? 0 : windows.map(\.correlation).reduce(0, +) / Double(windows.count) }
        /// The largest difference of two windows' offsets, in samples: 0 when nothing is missing and nothing put in.
        package var drift: Int { (windows.map(\.offset).max() ?? 0) - (windows.map(\.offset).min() ?? 0) }
        /// Seconds in which the other side's speech is there as it was said.
        package var heard: Int { windows.count { $0.correlation >= Self.wanted } }
        package var isGood: Bool { windows.count >= 10 && heard == windows.count }

        private static let wanted = 0.98
    }

    package var facts: Facts
    package var aliceHeard: Comparison?
    package var bobHeard: Comparison?

    package init(facts: Facts) { self.facts = facts }

    package var isGood: Bool { aliceHeard?.isGood == true && bobHeard?.isGood == true && facts.digits == Demonstration.digits }

    package var summary: String {
        func line(_ comparison: Comparison?) -> String {
            guard let comparison else { return "no recording" }
            return
                "\(comparison.listener) heard \(comparison.speaker) in \(comparison.heard) of \(comparison.windows.count) seconds, "
                + "correlation \(decimals(comparison.worst)) at worst"
        }
        return (isGood ? "all is well: " : "NOT as it should be: ") + line(aliceHeard) + "; " + line(bobHeard)
    }

    /// The page that is written into the folder.
    package var text: String {
        var lines = ["Handset demonstration", "", summary, "", "codec         \(facts.codec)", "digits        \(facts.digits)"]
        let hold = facts.hold(since: facts.aliceStarted)
        lines.append("hold          from \(decimals(hold.lowerBound)) s to \(decimals(hold.upperBound)) s of the speech")
        if let end = facts.aliceEnd {
            lines.append("call          \(decimals(end.duration.seconds)) s, \(end.cause.code): \(end.cause.sentence)")
        }
        lines.append(statistics("alice", facts.aliceStatistics))
        lines.append(statistics("bob", facts.bobStatistics))
        for comparison in [aliceHeard, bobHeard] {
            guard let comparison else { continue }
            lines += [
                "",
                "\(comparison.listener)-heard.wav against \(comparison.speaker)-said.wav, second by second (hold left out: \(comparison.held)):",
            ]
            lines.append("  second  correlation  offset in samples")
            for window in comparison.windows {
                let second = "\(window.start / Demonstration.rate)"
                lines.append("  " + pad(second, 6) + "  " + pad(decimals(window.correlation), 11) + "  " + pad("\(window.offset)", 17))
            }
            lines.append(
                "  mean \(decimals(comparison.mean)), worst \(decimals(comparison.worst)), offsets differ by \(comparison.drift) samples")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private func statistics(_ name: String, _ it: StreamStatistics) -> String {
        pad(name, -14)
            + "sent \(it.packetsSent) packets, received \(it.packetsReceived), lost \(it.packetsLost), late \(it.packetsLate), "
            + "jitter \(decimals(it.jitterMilliseconds)) ms, " + (it.score.map { "score \(decimals($0))" } ?? "no score: nothing came")
    }

    private func decimals(_ value: Double) -> String {
        let scaled = Int((abs(value) * 10_000).rounded())
        let fraction = "\(scaled % 10_000)"
        return (value < 0 ? "-" : "") + "\(scaled / 10_000)." + String(repeating: "0", count: 4 - fraction.count) + fraction
    }

    /// Pads on the left; a negative width pads on the right.
    private func pad(_ text: String, _ width: Int) -> String {
        let blanks = String(repeating: " ", count: max(0, abs(width) - text.count))
        return width < 0 ? text + blanks : blanks + text
    }
}
