// SPDX-License-Identifier: Apache-2.0

/// One option: the row of the table that drives parsing, `--help` and the errors.
package struct OptionSpec: Sendable {
    /// With its dashes: `--listen`.
    package var name: String
    /// What stands after it in `--help`; empty for a flag.
    package var placeholder: String
    package var kind: OptionKind
    package var help: String
    /// May be given several times.
    package var repeats = false
    /// Belongs to the account after whose `--account` it stands.
    package var isOfAccount = false
    /// Why it does not work yet: one sentence. nil: it works.
    package var later: String?
    /// Values that do not work yet, each with its sentence. The key `*` stands for every value not in `worksWith`.
    package var laterValues: [String: String] = [:]
    package var worksWith: [String] = []

    package init(
        _ name: String, _ placeholder: String, _ kind: OptionKind, _ help: String, repeats: Bool = false,
        later: String? = nil, laterValues: [String: String] = [:], worksWith: [String] = []
    ) {
        self.name = name
        self.placeholder = placeholder
        self.kind = kind
        self.help = help
        self.repeats = repeats
        self.later = later
        self.laterValues = laterValues
        self.worksWith = worksWith
    }

    /// An option without a value.
    package init(flag name: String, _ help: String, later: String? = nil) {
        self.init(name, "", .flag, help, later: later)
    }

    /// The same option, of an account.
    package var ofAccount: OptionSpec {
        var option = self
        option.isOfAccount = true
        return option
    }

    /// Why `value` cannot be used: wrong, or not there yet.
    package func complaint(about value: String) -> String? {
        if let later { return "\(name) is not there yet: \(later)" }
        if let wrong = kind.complaint(about: value) { return "\(name) \(wrong)" }
        guard !laterValues.isEmpty else { return nil }
        let given = if case .list = kind { value.split(separator: ",").map { $0.lowercased() } } else { [value] }
        for word in given where !worksWith.contains(word) {
            let transport =
                switch kind {
                case .listener, .place: word.split(separator: ":").first.map(String.init) ?? word
                default: word
                }
            if let sentence = laterValues[transport] ?? laterValues["*"] { return "\(name) \(transport) is not there yet: \(sentence)" }
        }
        return nil
    }
}
