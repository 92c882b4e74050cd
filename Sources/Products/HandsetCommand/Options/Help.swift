// SPDX-License-Identifier: Apache-2.0

/// The text of `--help`, made from the option table.
package enum Help {
    /// The columns of a line: what stands in it is broken at spaces; one long word may go beyond.
    package static let columns = 100

    package static func text(for subcommand: Subcommand?) -> String {
        guard let subcommand else { return overview }
        let operand = subcommand.operandPlaceholder
        var lines = ["usage: handset \(subcommand.rawValue)\(operand.isEmpty ? "" : " " + operand) [options]", ""]
        lines += wrapped(subcommand.summary, after: 0)
        for (heading, options) in subcommand.options {
            lines += ["", heading + ":"]
            for option in options { lines += entry(option) }
        }
        lines += [""] + statuses
        return lines.joined(separator: "\n") + "\n"
    }

    private static let statuses = wrapped(
        "Exit status: 0 done, or established and then ended; 1 failed, with the reason on standard error; 2 wrong usage.", after: 0)

    private static var overview: String {
        var lines = ["usage: handset SUBCOMMAND [options]", ""]
        for subcommand in Subcommand.allCases {
            lines += beside("  " + padded(subcommand.rawValue, 12), wrapped(subcommand.summary, after: 14))
        }
        lines += ["", "handset SUBCOMMAND --help shows its options; handset --version the version."] + statuses
        return lines.joined(separator: "\n") + "\n"
    }

    private static func entry(_ option: OptionSpec) -> [String] {
        var help = option.help
        if option.repeats { help += " May stand several times." }
        if option.later != nil { help += " (In a later version.)" }
        let notYet = option.laterValues.keys.filter { $0 != "*" }.sorted()
        if !notYet.isEmpty { help += " (In a later version: \(notYet.joined(separator: ", ")).)" }
        if option.laterValues["*"] != nil { help += " (Now only: \(option.worksWith.joined(separator: ", ")).)" }
        let left = "  " + option.name + (option.placeholder.isEmpty ? "" : " " + option.placeholder)
        let text = wrapped(help, after: 30)
        return left.count < 30 ? beside(padded(left, 30), text) : [left] + beside(padded("", 30), text)
    }

    /// The lines of a text that begins at a column.
    private static func wrapped(_ text: String, after column: Int) -> [String] {
        var lines: [String] = []
        for word in text.split(separator: " ") {
            if let last = lines.last, column + last.count + 1 + word.count <= columns {
                lines[lines.count - 1] = last + " " + word
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }

    /// The lines with `left` before the first, and as many spaces before the others.
    private static func beside(_ left: String, _ lines: [String]) -> [String] {
        lines.enumerated().map { ($0.offset == 0 ? left : padded("", left.count)) + $0.element }
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
