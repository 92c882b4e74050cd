// SPDX-License-Identifier: Apache-2.0

/// What may stand after an option.
package enum OptionKind: Sendable, Equatable {
    /// Nothing.
    case flag
    /// Any text.
    case text
    /// A whole number within bounds.
    case integer(ClosedRange<Int>)
    /// Seconds, decimals allowed, not negative.
    case seconds
    /// One of these words.
    case choice([String])
    /// Some of these words, separated by commas, each once.
    case list([String])
    /// `HOST:PORT` with a numeric host or `localhost`; port 0 is any free one.
    case address
    /// `TRANSPORT:HOST:PORT`.
    case listener
    /// `HOST:PORT` or `TRANSPORT:HOST:PORT`.
    case place
    /// A path that begins with a slash.
    case path
    /// `LOW-HIGH`.
    case ports

    /// Says what is wrong with `value`; nil if nothing is.
    package func complaint(about value: String) -> String? {
        switch self {
        case .flag, .text: nil
        case .integer(let range): integerComplaint(value, range)
        case .seconds: Seconds.parse(value) == nil ? "takes seconds, such as 2.5, not \"\(value)\"" : nil
        case .choice(let words): words.contains(value) ? nil : "takes \(words.joined(separator: ", ")), not \"\(value)\""
        case .list(let words): listComplaint(value, words)
        case .address: Address.parse(value) == nil ? "takes HOST:PORT with a numeric host, not \"\(value)\"" : nil
        case .listener:
            Address.parseListener(value) == nil ? "takes TRANSPORT:HOST:PORT, such as udp:127.0.0.1:5060, not \"\(value)\"" : nil
        case .place:
            Address.parse(value) == nil && Address.parseListener(value) == nil
                ? "takes HOST:PORT or TRANSPORT:HOST:PORT with a numeric host, not \"\(value)\"" : nil
        case .path:
            value.hasPrefix("/") && value.utf8.allSatisfy { $0 > 32 && $0 < 127 } ? nil : "takes a path, such as /ws, not \"\(value)\""
        case .ports: Address.parsePorts(value) == nil ? "takes LOW-HIGH with 1024 <= LOW < HIGH <= 65535, not \"\(value)\"" : nil
        }
    }

    private func integerComplaint(_ value: String, _ range: ClosedRange<Int>) -> String? {
        if let number = Int(value), range.contains(number) { return nil }
        return "takes a whole number from \(range.lowerBound) to \(range.upperBound), not \"\(value)\""
    }

    private func listComplaint(_ value: String, _ words: [String]) -> String? {
        let given = value.split(separator: ",", omittingEmptySubsequences: false).map { $0.lowercased() }
        if let strange = given.first(where: { !words.contains($0) }) {
            return "takes a list of \(words.joined(separator: ", ")), not \"\(strange)\""
        }
        return Set(given).count == given.count ? nil : "names something twice: \"\(value)\""
    }
}
