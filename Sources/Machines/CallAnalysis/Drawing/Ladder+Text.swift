// SPDX-License-Identifier: Apache-2.0

extension Ladder {
    /// The ladder for a terminal or a file: one row a line, at most `width` characters wide where that is possible.
    ///
    ///           192.0.2.10            192.0.2.1
    ///      0.000      │──── INVITE (SDP) ───▶│
    ///      0.012      │◀──── 486 Busy ───────│   1
    public func text(width: Int = 110, rowLimit: Int = 400) -> String {
        guard !columns.isEmpty else { return "" }
        let gutter = 11
        let margin = 9
        let room = max(1, columns.count - 1)
        let spacing = min(44, max(20, (width - gutter - 2 * margin) / room))
        let positions = columns.indices.map { gutter + margin + $0 * spacing }
        let end = (positions.last ?? gutter) + margin
        var lines = [heading(positions, spacing, end)]
        for row in rows.prefix(rowLimit) { lines.append(line(row, positions, end)) }
        if rows.count > rowLimit { lines.append("           … and \(rows.count - rowLimit) rows more") }
        return lines.joined(separator: "\n") + "\n"
    }

    private func heading(_ positions: [Int], _ spacing: Int, _ end: Int) -> String {
        var cells = [Character](repeating: " ", count: end + spacing)
        var free = 0
        for (column, position) in zip(columns, positions) {
            let name = Array(column.prefix(spacing + 6))
            let start = max(free, position - name.count / 2)
            for (offset, character) in name.enumerated() where start + offset < cells.count { cells[start + offset] = character }
            free = start + name.count + 1
        }
        return Self.trimmed(cells)
    }

    private func line(_ row: Row, _ positions: [Int], _ end: Int) -> String {
        var cells = [Character](repeating: " ", count: end)
        let time = Self.seconds(row.seconds)
        for (offset, character) in time.enumerated() where 10 - time.count + offset >= 0 { cells[10 - time.count + offset] = character }
        for position in positions { cells[position] = "│" }
        let (from, to) = (positions[row.from], positions[row.to])
        if from == to {
            write("↺ " + row.label, into: &cells, from: from + 2, to: min(end, from + 42))
        } else {
            let (low, high) = (min(from, to) + 1, max(from, to) - 1)
            let stroke: Character = row.kind == .media ? "═" : row.isAgain ? "╌" : "─"
            for place in low...high { cells[place] = stroke }
            if to > from { cells[high] = "▶" } else { cells[low] = "◀" }
            let label = Array(row.label.prefix(max(0, high - low - 5)))
            let start = low + max(2, (high - low + 1 - label.count) / 2)
            write(" " + String(label) + " ", into: &cells, from: start - 1, to: high)
        }
        var text = Self.trimmed(cells)
        if !row.findings.isEmpty { text += "  ← " + row.findings.map(String.init).joined(separator: ",") }
        return text
    }

    private func write(_ text: String, into cells: inout [Character], from start: Int, to end: Int) {
        for (offset, character) in text.enumerated() where start + offset < min(end, cells.count) { cells[start + offset] = character }
    }

    private static func trimmed(_ cells: [Character]) -> String {
        var cells = cells
        while cells.last == " " { cells.removeLast() }
        return String(cells)
    }

    /// `0.012`, right to be put under each other.
    static func seconds(_ value: Double) -> String {
        let milliseconds = Int((min(max(value, 0), 1e9) * 1000).rounded())
        let part = String(milliseconds % 1000)
        return "\(milliseconds / 1000)." + String(repeating: "0", count: 3 - part.count) + part
    }
}
