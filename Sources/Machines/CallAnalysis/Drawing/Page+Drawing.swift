// SPDX-License-Identifier: Apache-2.0

extension Page {
    /// The most rows that are drawn.
    private static let rowLimit = 2000

    /// The ladder as SVG; each arrow leads to its message below.
    static func drawing(_ ladder: Ladder) -> String {
        guard !ladder.columns.isEmpty else { return "" }
        let rows = ladder.rows.prefix(rowLimit)
        let (left, spacing, top, step) = (150, 250, 44, 30)
        let width = left + max(1, ladder.columns.count - 1) * spacing + 130
        let height = top + rows.count * step + 20
        var svg =
            "<div class=\"ladder\"><svg width=\"\(width)\" height=\"\(height)\" viewBox=\"0 0 \(width) \(height)\" role=\"img\" aria-label=\"Ladder of messages\">"
        for (index, column) in ladder.columns.enumerated() {
            let x = left + index * spacing
            svg += "<line class=\"life\" x1=\"\(x)\" y1=\"\(top - 14)\" x2=\"\(x)\" y2=\"\(height - 8)\"/>"
            svg += "<text x=\"\(x)\" y=\"20\" text-anchor=\"middle\" font-weight=\"700\">\(escaped(column))</text>"
        }
        for (number, row) in rows.enumerated() {
            svg += arrow(row, y: top + number * step + 14, x1: left + row.from * spacing, x2: left + row.to * spacing)
        }
        let more = ladder.rows.count > rowLimit ? "<p class=\"quiet\">… and \(ladder.rows.count - rowLimit) rows more</p>" : ""
        return svg + "</svg>\(more)</div>\n"
    }

    private static func arrow(_ row: Ladder.Row, y: Int, x1: Int, x2: Int) -> String {
        var svg = "<text class=\"t\" x=\"8\" y=\"\(y + 4)\">\(Ladder.seconds(row.seconds))</text>"
        let link = row.message.map { "<a href=\"#m\($0)\">" } ?? "<g>"
        svg += link
        let dash = row.isAgain ? " stroke-dasharray=\"5 4\"" : ""
        let weight = row.kind == .media ? 4 : 1.5
        if x1 == x2 {
            svg += "<path class=\"\(row.kind.rawValue)\" d=\"M\(x1) \(y - 6)h24v10h-18\" style=\"fill:none\" stroke-width=\"\(weight)\"/>"
            svg += "<text x=\"\(x1 + 30)\" y=\"\(y)\">\(escaped(row.label))</text>"
        } else {
            let direction = x2 > x1 ? 1 : -1
            let tip = x2 - direction * 2
            svg +=
                "<line class=\"\(row.kind.rawValue)\" x1=\"\(x1)\" y1=\"\(y)\" x2=\"\(tip - direction * 7)\" y2=\"\(y)\" stroke-width=\"\(weight)\"\(dash)/>"
            svg += "<path class=\"\(row.kind.rawValue)\" d=\"M\(tip) \(y)l\(-9 * direction) -5v10z\"/>"
            // About 34 characters fit between neighbours.
            let room = 33 * abs(x2 - x1) / 250
            let label = row.label.count > room ? row.label.prefix(max(1, room - 1)) + "…" : row.label[...]
            svg += "<text x=\"\((x1 + x2) / 2)\" y=\"\(y - 5)\" text-anchor=\"middle\">\(escaped(String(label)))</text>"
        }
        svg += row.message == nil ? "</g>" : "</a>"
        if !row.findings.isEmpty {
            svg += "<text class=\"mark\" x=\"72\" y=\"\(y + 4)\">\(row.findings.map(String.init).joined(separator: ","))</text>"
        }
        return svg
    }
}
