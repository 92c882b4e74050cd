// SPDX-License-Identifier: Apache-2.0
//
// The control sequences of the interactive screen (ECMA-48, DEC VT100): lines scroll in a region above the last row, which holds
// the status.
//
//      rows 1 … n−1   what happened, then the line being typed
//      row n          status, reversed

package enum ScreenText {
    /// Takes the last row for the status; the cursor stays where it is.
    package static func begin(rows: Int) -> String { "\n\u{1b}7\u{1b}[1;\(max(1, rows - 1))r\u{1b}8\u{1b}[1A" }

    /// Gives the last row back.
    package static func end(rows: Int) -> String { "\u{1b}7\u{1b}[r\u{1b}[\(rows);1H\u{1b}[2K\u{1b}8" }

    /// Writes the status; the cursor stays where it is.
    package static func status(_ text: String, rows: Int, columns: Int) -> String {
        let line = text.count < columns ? text + String(repeating: " ", count: columns - text.count) : String(text.prefix(columns))
        return "\u{1b}7\u{1b}[\(rows);1H\u{1b}[7m\(line)\u{1b}[0m\u{1b}8"
    }

    /// Removes the line being typed, of which `before` characters (prompt and text) stand before the cursor, and writes `lines` in its
    /// place. The prompt is to be drawn again after it.
    package static func insert(_ lines: [String], before: Int, columns: Int) -> String {
        let rowsAbove = columns > 0 ? before / columns : 0
        let up = rowsAbove > 0 ? "\u{1b}[\(rowsAbove)A" : ""
        return "\(up)\r\u{1b}[J" + lines.map { $0 + "\r\n" }.joined()
    }
}
