// SPDX-License-Identifier: Apache-2.0

/// What is wrong with the command line: one sentence, status 2.
package struct UsageError: Error, Sendable, Equatable {
    package var sentence: String
    package init(_ sentence: String) { self.sentence = sentence }
}

/// A command line, read and checked against the table.
package struct Invocation: Sendable {
    package var subcommand: Subcommand
    package var operands: [String] = []
    /// The values of each option, in the order given; a flag has one empty value. With several accounts: those of the first.
    package var values: [String: [String]] = [:]
    /// Where `--account` stands several times: the options of each account, those that hold for all included.
    package private(set) var accounts: [[String: [String]]] = []

    package func has(_ name: String) -> Bool { values[name] != nil }
    package func value(_ name: String) -> String? { values[name]?.last }
    package func all(_ name: String) -> [String] { values[name] ?? [] }
    package func integer(_ name: String) -> Int? { value(name).flatMap { Int($0) } }

    /// The command line as each of its accounts sees it, in their order; one without an account.
    package var perAccount: [Invocation] {
        guard accounts.count > 1 else { return [self] }
        return accounts.map { own in
            var invocation = self
            invocation.values = own
            invocation.accounts = []
            return invocation
        }
    }

    /// Puts accounts into a command line that has none: each with its own options.
    package mutating func setAccounts(_ own: [[String: [String]]]) {
        accounts = own.map { values.merging($0) { _, new in new } }
        if let first = accounts.first { values = first }
    }

    /// What the arguments (without the program's name) ask for.
    package enum Request: Sendable {
        case help(Subcommand?)
        case version
        case run(Invocation)
    }

    package static func parse(_ arguments: [String]) throws(UsageError) -> Request {
        guard let first = arguments.first else { throw UsageError("handset needs a subcommand; handset --help lists them.") }
        if first == "--help" || first == "-h" || first == "help" { return .help(arguments.dropFirst().first.flatMap(Subcommand.init)) }
        if first == "--version" { return .version }
        guard let subcommand = Subcommand(rawValue: first) else {
            if let sentence = Subcommand.later[first] { throw UsageError("\(first) is not there yet: \(sentence)") }
            throw UsageError("There is no subcommand \"\(first)\"; handset --help lists them.")
        }
        var invocation = Invocation(subcommand: subcommand)
        let rest = arguments.dropFirst()
        if rest.prefix(while: { $0 != "--" }).contains(where: { $0 == "--help" || $0 == "-h" }) { return .help(subcommand) }
        try invocation.read(rest)
        return .run(invocation)
    }

    private mutating func read(_ arguments: ArraySlice<String>) throws(UsageError) {
        let table = subcommand.options.flatMap(\.options)
        var rest = arguments
        var onlyOperands = false
        // Of each account: what stands after its `--account` and belongs to an account.
        var own: [[String: [String]]] = []
        while let argument = rest.popFirst() {
            if onlyOperands || argument == "-" || !argument.hasPrefix("-") {
                operands.append(argument)
                continue
            }
            if argument == "--" {
                onlyOperands = true
                continue
            }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let name = parts.first, let option = table.first(where: { $0.name == name }) else {
                throw UsageError(
                    "\(subcommand.rawValue) has no option \(parts.first ?? argument); handset \(subcommand.rawValue) --help lists them.")
            }
            var value = ""
            if option.kind == .flag {
                guard parts.count == 1 else { throw UsageError("\(name) takes no value.") }
            } else if parts.count == 2 {
                value = parts[1]
            } else {
                guard let next = rest.popFirst() else { throw UsageError("\(name) needs a value: \(option.placeholder).") }
                value = next
            }
            if let complaint = option.complaint(about: value) { throw UsageError(complaint.hasSuffix(".") ? complaint : complaint + ".") }
            if name == "--account" { own.append([:]) }
            if option.isOfAccount, let last = own.indices.last {
                guard option.repeats || own[last][name] == nil else { throw UsageError("\(name) may stand only once an account.") }
                own[last][name, default: []].append(value)
            } else {
                guard option.repeats || values[name] == nil else { throw UsageError("\(name) may stand only once.") }
                values[name, default: []].append(value)
            }
        }
        let shared = values
        accounts = own.map { own in
            // What stands before the first account holds for all; an account's own word counts more, header fields add up.
            var all = shared
            for (name, values) in own {
                let repeats = table.first { $0.name == name }?.repeats ?? false
                all[name] = repeats ? (shared[name] ?? []) + values : values
            }
            return all
        }
        if let first = accounts.first { values = first }
        guard subcommand.operandCount.contains(operands.count) else {
            let wanted = subcommand.operandPlaceholder
            let stranger = operands.dropFirst(subcommand.operandCount.upperBound).first
            throw UsageError(
                stranger.map { "\(subcommand.rawValue) does not take \"\($0)\"." } ?? "\(subcommand.rawValue) needs \(wanted).")
        }
    }
}
