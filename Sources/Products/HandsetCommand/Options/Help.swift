// SPDX-License-Identifier: Apache-2.0

/// The text of `--help`, made from the option table.
package enum Help {
    package static func text(for subcommand: Subcommand?) -> String {
        guard let subcommand else { return overview }
        let operand = subcommand.operandPlaceholder
        var lines = ["usage: handset \(subcommand.rawValue)\(operand.isEmpty ? "" : " " + operand) [options]", "", subcommand.summary]
        for (heading, options) in subcommand.options {
            lines += ["", heading + ":"]
            for option in options { lines += entry(option) }
        }
        lines += ["", statuses]
        return lines.joined(separator: "\n") + "\n"
    }

    private static let statuses = """
        Exit status: 0 done, or established and then ended; 1 failed, with the reason on standard error; 2 wrong usage.
        """

    private static var overview: String {
        var lines = ["usage: handset SUBCOMMAND [options]", ""]
        for subcommand in Subcommand.allCases { lines.append("  " + padded(subcommand.rawValue, 12) + subcommand.summary) }
        lines += ["", "handset SUBCOMMAND --help shows its options; handset --version the version.", statuses]
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
        return left.count < 30 ? [padded(left, 30) + help] : [left, padded("", 30) + help]
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }
}
