// SPDX-License-Identifier: Apache-2.0

import Essentials

/// One call as one HTML page that needs nothing else: how it went, its course as plots, what was negotiated, the ladder, every
/// message.
public struct CallPage: Sendable {
    private let record: CallRecord
    private let analysis: CallAnalysis
    private let masked: @Sendable (String) -> String

    /// - Parameters:
    ///   - traffic: the messages of the call.
    ///   - callID: of the call; nil: all of them belong to it.
    ///   - masked: takes the secrets out of a message before it is shown.
    public init(_ record: CallRecord, _ traffic: Traffic, callID: String? = nil, masked: @escaping @Sendable (String) -> String) {
        self.record = record
        analysis = CallAnalysis(traffic, only: callID)
        self.masked = masked
    }

    /// The page's text.
    public var text: String {
        let title = "Call \(record.direction) \(Words.shown(record.remote))"
        return Page(analysis, title: title, lead: lead, masked: masked).text
    }

    private var lead: String {
        var html = "<p class=\"summary\">\(Page.escaped(record.end))</p>" + tiles
        let curves = Curves(record).svg
        if !curves.isEmpty { html += "<section><h2>How it sounded</h2><div class=\"ladder\">\(curves)</div>\(happenings)</section>" }
        for conversation in analysis.conversations where conversation.kind == .call {
            let lines = NegotiationStory(conversation, of: analysis.traffic).lines
            guard !lines.isEmpty else { continue }
            html += "<section><h2>What was agreed</h2><ul class=\"story\">"
            for line in lines {
                let link = line.message.map { " <a href=\"#m\($0)\">message</a>" } ?? ""
                html += "<li>\(Page.escaped(line.text))\(link)</li>\n"
            }
            html += "</ul></section>"
        }
        return html
    }

    private var tiles: String {
        func tile(_ name: String, _ value: String, _ note: String, _ style: String = "") -> String {
            "<div class=\"tile \(style)\"><span>\(name)</span><b>\(Page.escaped(value))</b><span>\(Page.escaped(note))</span></div>"
        }
        var html = "<div class=\"tiles\">"
        let duration = record.duration.map { Curves.clock($0, $0 < 10 ? 0.1 : 1) }
        html += tile("Duration", duration ?? "–", duration == nil ? "never answered" : "")
        if let score = record.score {
            let (word, style) = score >= 4 ? ("good", "good") : score >= 3.4 ? ("fair", "warn") : ("poor", "bad")
            html += tile("Score", Curves.number(score), word + ", of 4.5", style)
        } else if duration != nil {
            html += tile("Score", "–", "no sound came", "bad")
        }
        if let codec = record.codec { html += tile("Codec", codec, "") }
        let expected = record.received + record.lost
        if expected > 0 {
            let share = Double(record.lost) / Double(expected) * 100
            let repaired = record.restored + record.recovered
            let note = repaired == 0 ? "\(record.lost) of \(expected)" : "\(repaired) of \(record.lost) made good"
            html += tile(
                "Lost", "\(Curves.number(share)) %", note, share >= 5 ? "bad" : share >= 1 ? "warn" : "good")
        }
        let delays = record.samples.map(\.delay).filter { $0 > 0 && $0 < 1e6 }.sorted()
        if !delays.isEmpty {
            let middle = delays[delays.count / 2]
            html += tile("Delay", "\(Int(middle.rounded())) ms", "mouth to ear", middle >= 400 ? "bad" : middle >= 200 ? "warn" : "good")
        }
        return html + "</div>"
    }

    private var happenings: String {
        guard !record.marks.isEmpty else { return "" }
        var html = "<ul class=\"marks\">"
        for mark in record.marks {
            html +=
                "<li class=\"\(mark.kind.rawValue)\"><time>\(Curves.clock(mark.seconds, 0.1))</time> \(Page.escaped(Words.shown(mark.text)))</li>\n"
        }
        if record.omitted > 0 { html += "<li class=\"note\">… \(record.omitted) more were not kept</li>" }
        return html + "</ul>"
    }
}
