// SPDX-License-Identifier: Apache-2.0
//
// The analysis as one HTML page that needs nothing else: no script, no font, no picture, no network. The ladder is SVG.

import Essentials
import SIP

/// Makes the page of a `CallAnalysis`.
public struct Page: Sendable {
    private let analysis: CallAnalysis
    private let title: String
    /// HTML that stands before everything else in place of the summary.
    private let lead: String?
    private let masked: @Sendable (String) -> String
    private var html = ""

    /// - Parameters:
    ///   - name: of the file that was explained, for the title.
    ///   - masked: takes the secrets out of a message before it is shown.
    public init(_ analysis: CallAnalysis, name: String, masked: @escaping @Sendable (String) -> String) {
        self.init(analysis, title: "What happened in \(name)", lead: nil, masked: masked)
    }

    /// - Parameter lead: HTML, in place of the summary.
    init(_ analysis: CallAnalysis, title: String, lead: String?, masked: @escaping @Sendable (String) -> String) {
        self.analysis = analysis
        self.title = title
        self.lead = lead
        self.masked = masked
    }

    /// The page's text.
    public var text: String {
        var page = self
        page.write()
        return page.html
    }

    private mutating func write() {
        let title = Self.escaped(title)
        let summary = lead ?? "<p class=\"summary\">\(Self.escaped(analysis.summary))</p>"
        html += """
            <!doctype html>
            <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
            <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
            <title>\(title)</title><style>\(Self.style)</style></head><body><main>
            <header><h1>\(title)</h1></header>
            \(summary)

            """
        if analysis.conversations.count > 1 { writeContents() }
        if !analysis.general.isEmpty {
            html += "<section>"
            for finding in analysis.general { write(finding, nil) }
            html += "</section>"
        }
        for (index, conversation) in analysis.conversations.enumerated() { write(conversation, index) }
        if let rest = analysis.remainder { html += "<p class=\"quiet\">\(Self.escaped(rest))</p>" }
        html += "</main></body></html>\n"
    }

    private mutating func writeContents() {
        html += "<nav><ol>"
        for (index, conversation) in analysis.conversations.enumerated() {
            let severity = conversation.findings.first?.severity ?? .note
            html +=
                "<li><a href=\"#c\(index)\">\(Self.escaped(conversation.title))</a> <span class=\"\(severity.rawValue)\">"
                + "\(Self.escaped(conversation.verdict))</span></li>\n"
        }
        html += "</ol></nav>\n"
    }

    private mutating func write(_ conversation: Conversation, _ number: Int) {
        html += "<section id=\"c\(number)\"><h2>\(Self.escaped(conversation.title))</h2>"
        html +=
            "<p class=\"quiet\">Call-ID \(Self.escaped(Words.shown(conversation.callID))) · \(conversation.messages.count) messages</p>\n"
        for (index, finding) in conversation.findings.enumerated() { write(finding, index + 1) }
        if conversation.findings.isEmpty { html += "<p>\(Self.escaped(conversation.verdict))</p>" }
        if !conversation.media.isEmpty { writeMedia(conversation) }
        html += Self.drawing(Ladder(conversation, of: analysis.traffic))
        html += "<h3>Messages</h3>\n"
        for index in conversation.messages { writeMessage(index, conversation) }
        html += "</section>\n"
    }

    private mutating func write(_ finding: Finding, _ number: Int?) {
        let word =
            switch finding.severity {
            case .failure: "Failed"
            case .warning: "Warning"
            case .note: "Note"
            }
        html += "<div class=\"finding \(finding.severity.rawValue)\"><div class=\"number\">\(number.map(String.init) ?? "")</div><div>"
        html +=
            "<p><strong>\(word).</strong> \(Self.escaped(finding.cause.sentence))</p><p class=\"evidence\"><code>\(Self.escaped(finding.cause.code))</code>"
        for evidence in finding.cause.evidence {
            html += " <span>\(Self.escaped(evidence.name)): <b>\(Self.escaped(evidence.value))</b></span>"
        }
        html += "</p></div></div>\n"
    }

    private mutating func writeMedia(_ conversation: Conversation) {
        html +=
            "<h3>Voice</h3><table><thead><tr><th>from</th><th>to</th><th>codec</th><th>packets</th><th>lost</th><th>jitter</th><th>seconds</th></tr></thead><tbody>"
        for place in conversation.media {
            let flow = analysis.traffic.media[place]
            let share = Double(flow.lost) / Double(max(1, flow.packets + flow.lost))
            let codec = Self.escaped(flow.codec ?? "type \(flow.payloadType)")
            let jitter = flow.jitterMilliseconds.map(Words.milliseconds) ?? "–"
            let cells = [
                "\(flow.source)", "\(flow.destination)", codec, "\(flow.packets)", "\(flow.lost) (\(Words.percent(share)))", jitter,
                Ladder.seconds((flow.last - flow.first).seconds),
            ]
            html += "<tr>" + cells.map { "<td>\($0)</td>" }.joined() + "</tr>\n"
        }
        html += "</tbody></table>\n"
    }

    private mutating func writeMessage(_ index: Int, _ conversation: Conversation) {
        let seen = analysis.traffic.messages[index]
        let start = analysis.traffic.messages[conversation.messages[0]].time
        let name = Self.escaped(Rules.name(seen.message))
        let size = "\(seen.message.bytes.count) octets" + (seen.fragments > 1 ? " in \(seen.fragments) fragments" : "")
        let way = "\(seen.source) → \(seen.destination), \(seen.transport.rawValue), \(size)"
        let text = Self.escaped(masked(String(decoding: seen.message.bytes, as: UTF8.self)))
        let time = Ladder.seconds((seen.time - start).seconds)
        html += "<details id=\"m\(index)\"><summary><time>\(time)</time> <b>\(name)</b> <span class=\"quiet\">\(way)</span></summary>"
        html += "<pre>\(text)</pre></details>\n"
    }

    // MARK: Text

    /// Text that is safe in HTML, attributes included; control characters but line ends become visible.
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            case "\n": result += "\n"
            case "\r": continue
            case "\t": result += "\t"
            default:
                let isControl = [.control, .format, .lineSeparator, .paragraphSeparator, .surrogate].contains(
                    scalar.properties.generalCategory)
                result.unicodeScalars.append(isControl ? "\u{fffd}" : scalar)
            }
        }
        return result
    }

    private static let style = """
        :root{--ink:#1c2330;--paper:#fbfaf7;--card:#fff;--line:#d9d5cb;--quiet:#6b7280;--bad:#b3261e;--warn:#9a6700;--good:#1a7f4b;--blue:#2458a8;--media:#7a4fb5}
        @media(prefers-color-scheme:dark){:root{--ink:#e6e8ec;--paper:#14171d;--card:#1c2129;--line:#333b47;--quiet:#98a2b3;--bad:#ff8f84;--warn:#e3b341;--good:#5fd39a;--blue:#8ab4f8;--media:#c9a5ff}}
        *{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
        main{max-width:70rem;margin:0 auto;padding:1.5rem}h1{font-size:1.5rem;margin:0}h2{font-size:1.2rem;margin:0;overflow-wrap:anywhere}h3{font-size:1rem;margin:1.2rem 0 .4rem}
        .summary{font-size:1.05rem;color:var(--quiet);margin:.2rem 0 1rem}.quiet{color:var(--quiet);font-size:.85rem;overflow-wrap:anywhere}
        section{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:1.2rem;margin:1rem 0}nav li{margin:.2rem 0}a{color:var(--blue)}
        nav .failure{color:var(--bad)}nav .warning{color:var(--warn)}nav .note{color:var(--quiet)}
        .finding{display:flex;gap:.8rem;border-left:4px solid var(--line);padding:.3rem .8rem;margin:.6rem 0}.finding p{margin:.1rem 0;overflow-wrap:anywhere}
        .finding.failure{border-color:var(--bad)}.finding.warning{border-color:var(--warn)}.finding.note{border-color:var(--good)}
        .number{font-weight:700;min-width:1.2rem;color:var(--quiet)}.evidence{font-size:.85rem;color:var(--quiet)}.evidence span{margin-left:.6rem}
        code{font:.85em ui-monospace,monospace}table{border-collapse:collapse;font-size:.9rem}th,td{text-align:left;padding:.2rem .8rem .2rem 0;border-bottom:1px solid var(--line)}
        .ladder{overflow-x:auto;margin-top:1rem}svg{display:block;font:12px ui-monospace,monospace}svg text{fill:var(--ink)}svg .t{fill:var(--quiet)}svg .life{stroke:var(--line)}
        svg .request{stroke:var(--blue);fill:var(--blue)}svg .provisional{stroke:var(--quiet);fill:var(--quiet)}svg .success{stroke:var(--good);fill:var(--good)}
        svg .failure{stroke:var(--bad);fill:var(--bad)}svg .media{stroke:var(--media);fill:var(--media)}svg a:hover text{text-decoration:underline}svg .mark{fill:var(--bad);font-weight:700}
        details{border-top:1px solid var(--line);padding:.3rem 0}summary{cursor:pointer}time{font:12px ui-monospace,monospace;color:var(--quiet)}
        .tiles{display:flex;flex-wrap:wrap;gap:.8rem;margin:1rem 0}.tile{flex:1 1 8rem;background:var(--card);border:1px solid var(--line);border-top:4px solid var(--line);border-radius:10px;padding:.6rem .9rem}
        .tile span{display:block;color:var(--quiet);font-size:.8rem;min-height:1.2em}.tile b{display:block;font-size:1.5rem;line-height:1.25;overflow-wrap:anywhere}
        .tile.good{border-top-color:var(--good)}.tile.warn{border-top-color:var(--warn)}.tile.bad{border-top-color:var(--bad)}
        svg.curves{width:100%;min-width:44rem;height:auto;font:11px system-ui,sans-serif}svg.curves .title{font-weight:600;font-size:12px}svg.curves .grid{stroke:var(--line);stroke-width:.7;fill:none}
        svg .line{fill:none;stroke-width:1.8;stroke-linejoin:round}svg .area{stroke:none;fill-opacity:.75}svg .key{fill:none;stroke-width:3}
        svg .line.good,svg .key.good{stroke:var(--good)}svg .line.bad,svg .key.bad{stroke:var(--bad)}svg .line.warn,svg .key.warn{stroke:var(--warn)}svg .line.blue,svg .key.blue{stroke:var(--blue)}svg .line.media,svg .key.media{stroke:var(--media);fill:none}
        svg .area.good{fill:var(--good)}svg .area.bad{fill:var(--bad)}svg .area.media{fill:var(--media)}
        svg.curves g.mark path{stroke-dasharray:2 3;stroke-width:1;fill:none}svg.curves g.note *{stroke:var(--quiet)}svg.curves g.warning *{stroke:var(--warn)}svg.curves g.failure *{stroke:var(--bad)}svg.curves g.mark circle{fill:var(--card);stroke-width:2}
        .story li{margin:.25rem 0}.marks{list-style:none;padding:0;margin:.8rem 0 0;font-size:.9rem}.marks li{border-left:3px solid var(--line);padding:.1rem .7rem;margin:.25rem 0}.marks .warning{border-color:var(--warn)}.marks .failure{border-color:var(--bad)}
        pre{white-space:pre-wrap;overflow-wrap:anywhere;font:12px/1.45 ui-monospace,monospace;margin:.5rem 0}details:target{outline:2px solid var(--blue)}
        """
}
