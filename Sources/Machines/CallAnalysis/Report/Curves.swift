// SPDX-License-Identifier: Apache-2.0
//
// The course of a call as one picture: panels above each other on one time axis, marks through all of them.
//
//     score  ▔▔▔▔▔▔╲__╱▔▔▔▔▔▔▔
//     lost   ........▂▅▂.......
//     …      |    |    |    |        seconds

/// Draws the samples of a `CallRecord` as SVG.
struct Curves {
    /// One line, or one area from the bottom, in a panel.
    struct Curve {
        var name: String
        var style: String
        var isArea = false
        var value: (CallSample) -> Double?
    }

    struct Panel {
        var title: String
        var unit: String
        var range: ClosedRange<Double>
        var steps: [Double]
        var curves: [Curve]
    }

    private static let left = 64.0
    private static let width = 900.0
    private static let right = 24.0
    private static let panelHeight = 92.0
    private static let gap = 34.0
    private static let top = 48.0

    let record: CallRecord
    private let end: Double

    init(_ record: CallRecord) {
        self.record = record
        let last = max(record.samples.last?.seconds ?? 0, record.marks.map(\.seconds).max() ?? 0)
        end = last.isFinite ? max(last, 1) : 1
    }

    /// The picture; empty without samples.
    var svg: String {
        guard record.samples.count > 1 else { return "" }
        let panels = panels
        let height = Self.top + Double(panels.count) * (Self.panelHeight + Self.gap)
        let whole = Self.left + Self.width + Self.right
        var text =
            "<svg class=\"curves\" viewBox=\"0 0 \(Self.number(whole)) \(Self.number(height))\" role=\"img\" aria-label=\"Loss, jitter, delay, level and score over time\">"
        for (index, panel) in panels.enumerated() { text += draw(panel, y: Self.top + Double(index) * (Self.panelHeight + Self.gap)) }
        let bottom = Self.top + Double(panels.count) * (Self.panelHeight + Self.gap) - Self.gap
        text += axis(bottom) + marks(bottom)
        return text + "</svg>\n"
    }

    // MARK: Panels

    private var panels: [Panel] {
        let loss = Self.nice(max(4, 100 * (record.samples.map { max($0.lost, $0.lostThere ?? 0) }.max() ?? 0)))
        let times = Self.nice(max(60, record.samples.map { max($0.delay, $0.buffer, $0.jitter) }.max() ?? 0))
        let rate = Self.nice(max(16, record.samples.map(\.rate).max() ?? 0))
        return [
            Panel(
                title: "Score", unit: "", range: 1...4.5, steps: [1, 2, 3, 4],
                curves: [Curve(name: "estimated opinion, last 5 s", style: "good") { $0.score > 0 ? $0.score : nil }]),
            Panel(
                title: "Lost", unit: "%", range: 0...loss, steps: Self.steps(loss),
                curves: [
                    Curve(name: "lost on the way here", style: "bad", isArea: true) { $0.lost * 100 },
                    Curve(name: "of it made good", style: "good", isArea: true) { $0.repaired * 100 },
                    Curve(name: "lost on the way there", style: "warn") { $0.lostThere.map { $0 * 100 } },
                ]),
            Panel(
                title: "Time", unit: "ms", range: 0...times, steps: Self.steps(times),
                curves: [
                    Curve(name: "delay, mouth to ear", style: "blue") { $0.delay > 0 ? $0.delay : nil },
                    Curve(name: "buffer", style: "media") { $0.buffer },
                    Curve(name: "jitter", style: "warn") { $0.jitter },
                ]),
            Panel(
                title: "Level", unit: "dB", range: -80...0, steps: [-80, -60, -40, -20, 0],
                curves: [
                    Curve(name: "heard", style: "blue") { max($0.received, -80) },
                    Curve(name: "said", style: "media") { max($0.sent, -80) },
                ]),
            Panel(
                title: "Sent", unit: "kbit/s", range: 0...rate, steps: Self.steps(rate),
                curves: [
                    Curve(name: "payload", style: "blue") { $0.rate },
                    Curve(name: "of it copies", style: "media", isArea: true) { $0.redundantRate },
                ]),
        ]
    }

    private func draw(_ panel: Panel, y: Double) -> String {
        func place(_ value: Double) -> Double {
            let part = (min(max(value, panel.range.lowerBound), panel.range.upperBound) - panel.range.lowerBound)
            return y + Self.panelHeight * (1 - part / (panel.range.upperBound - panel.range.lowerBound))
        }
        var text = "<text class=\"title\" x=\"\(Self.number(Self.left))\" y=\"\(Self.number(y - 8))\">\(panel.title)"
        text += panel.unit.isEmpty ? "</text>" : " <tspan class=\"t\">\(panel.unit)</tspan></text>"
        for step in panel.steps {
            let at = Self.number(place(step))
            text += "<path class=\"grid\" d=\"M\(Self.number(Self.left)) \(at)h\(Self.number(Self.width))\"/>"
            let (x, y) = (Self.number(Self.left - 8), Self.number(place(step) + 4))
            text += "<text class=\"t\" x=\"\(x)\" y=\"\(y)\" text-anchor=\"end\">\(Self.number(step))</text>"
        }
        var legend = Self.left + Self.width
        for curve in panel.curves.reversed() {
            let runs = runs(of: curve)
            guard !runs.isEmpty else { continue }
            for run in runs { text += line(run, curve, place, bottom: y + Self.panelHeight) }
            let start = legend - Double(curve.name.count) * 6.2
            text += "<text class=\"t\" x=\"\(Self.number(start))\" y=\"\(Self.number(y - 8))\">\(curve.name)</text>"
            text += "<path class=\"key \(curve.style)\" d=\"M\(Self.number(start - 20)) \(Self.number(y - 12))h14\"/>"
            legend = start - 36
        }
        return text
    }

    /// The points of a curve, parted where there was nothing to measure.
    private func runs(of curve: Curve) -> [[(seconds: Double, value: Double)]] {
        var runs: [[(seconds: Double, value: Double)]] = []
        var isOpen = false
        for sample in record.samples {
            guard let value = curve.value(sample) else {
                isOpen = false
                continue
            }
            if !isOpen { runs.append([]) }
            isOpen = true
            runs[runs.count - 1].append((sample.seconds, value))
        }
        return runs
    }

    private func line(
        _ values: [(seconds: Double, value: Double)], _ curve: Curve, _ place: (Double) -> Double, bottom: Double
    ) -> String {
        var path = ""
        for (index, point) in values.enumerated() {
            path += (index == 0 ? "M" : "L") + Self.number(x(point.seconds)) + " " + Self.number(place(point.value))
        }
        guard curve.isArea else { return "<path class=\"line \(curve.style)\" d=\"\(path)\"/>" }
        let (first, last) = (Self.number(x(values[0].seconds)), Self.number(x(values[values.count - 1].seconds)))
        let close = "L\(last) \(Self.number(bottom))L\(first) \(Self.number(bottom))Z"
        return "<path class=\"area \(curve.style)\" d=\"\(path)\(close)\"/>"
    }

    // MARK: Time

    private func x(_ seconds: Double) -> Double { Self.left + Self.width * min(max(seconds / end, 0), 1) }

    private func axis(_ bottom: Double) -> String {
        var text = ""
        let step = Self.timeStep(end)
        var at = 0.0
        while at <= end + step / 1000 {
            text += "<path class=\"grid\" d=\"M\(Self.number(x(at))) \(Self.number(Self.top))V\(Self.number(bottom + 5))\"/>"
            let (x, y) = (Self.number(x(at)), Self.number(bottom + 19))
            text += "<text class=\"t\" x=\"\(x)\" y=\"\(y)\" text-anchor=\"middle\">\(Self.clock(at, step))</text>"
            at += step
        }
        return text
    }

    private func marks(_ bottom: Double) -> String {
        var text = ""
        for mark in record.marks {
            let at = Self.number(x(mark.seconds))
            let title = Page.escaped(Self.clock(mark.seconds, 0.1) + "  " + mark.text)
            text += "<g class=\"mark \(mark.kind.rawValue)\"><title>\(title)</title>"
            text += "<path d=\"M\(at) \(Self.number(Self.top - 32))V\(Self.number(bottom))\"/>"
            text += "<circle cx=\"\(at)\" cy=\"\(Self.number(Self.top - 36))\" r=\"4\"/></g>"
        }
        return text
    }

    // MARK: Numbers

    /// Rounded to a tenth, without a point where it is whole.
    static func number(_ value: Double) -> String {
        guard value.isFinite, value.magnitude < 1e9 else { return "0" }
        let tenths = Int((value * 10).rounded())
        let sign = tenths < 0 ? "-" : ""
        return tenths % 10 == 0 ? "\(sign)\(abs(tenths) / 10)" : "\(sign)\(abs(tenths) / 10).\(abs(tenths) % 10)"
    }

    /// The next of 1, 2, 4, 5, 6, 8 and 10 times a power of ten.
    static func nice(_ value: Double) -> Double {
        guard value.isFinite, value > 0 else { return 1 }
        var power = 1.0
        while power * 10 < value { power *= 10 }
        while power > value { power /= 10 }
        for factor in [1.0, 2, 4, 5, 6, 8] where factor * power >= value { return factor * power }
        return 10 * power
    }

    private static func steps(_ most: Double) -> [Double] { [0, most / 2, most] }

    private static func timeStep(_ end: Double) -> Double {
        for step in [1.0, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600] where end / step <= 10 { return step }
        return (end / 10 / 3600).rounded(.up) * 3600
    }

    /// `5`, `1:05`, `1:00:05`; with tenths where the step is less than a second.
    static func clock(_ seconds: Double, _ step: Double) -> String {
        guard seconds.isFinite else { return "–" }
        let whole = Int(min(max(seconds, 0), 1e9))
        func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
        if whole >= 3600 { return "\(whole / 3600):\(two(whole / 60 % 60)):\(two(whole % 60))" }
        if whole >= 60 { return "\(whole / 60):\(two(whole % 60))" }
        return step < 1 ? "\(number(seconds)) s" : "\(whole) s"
    }
}
