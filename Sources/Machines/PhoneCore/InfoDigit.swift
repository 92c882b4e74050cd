// SPDX-License-Identifier: Apache-2.0

/// The two customary DTMF bodies of INFO; no RFC defines them, devices agree on these.
enum InfoDigit {
    /// How a digit of ours is written.
    enum Form: Hashable {
        /// `application/dtmf-relay`: Signal and Duration.
        case relay
        /// `application/dtmf`: the digit alone.
        case plain

        var contentType: String {
            switch self {
            case .relay: "application/dtmf-relay"
            case .plain: "application/dtmf"
            }
        }
    }

    static func body(_ digit: Character, _ form: Form, milliseconds: Int) -> [UInt8] {
        switch form {
        case .relay: Array("Signal=\(digit)\r\nDuration=\(milliseconds)\r\n".utf8)
        case .plain: Array("\(digit)".utf8)
        }
    }

    static func read(contentType: String, body: [UInt8]) -> (digit: Character, milliseconds: Int)? {
        guard body.count <= 256 else { return nil }
        let text = String(decoding: body, as: UTF8.self)
        var digit: Character?
        var milliseconds = 250
        if contentType.lowercased().hasPrefix("application/dtmf-relay") {
            for line in text.split(whereSeparator: \.isNewline) {
                let parts = line.split(separator: "=", maxSplits: 1)
                guard parts.count == 2 else { continue }
                let name = parts[0].filter { !$0.isWhitespace }.lowercased()
                let value = parts[1].filter { !$0.isWhitespace }
                if name == "signal" { digit = symbol(value) }
                if name == "duration", let number = Int(value), (1...10_000).contains(number) { milliseconds = number }
            }
        } else {
            digit = symbol(text.filter { !$0.isWhitespace })
        }
        return digit.map { ($0, milliseconds) }
    }

    /// The digit of a `Signal` value: the key itself, or the event code 10 for `*`, 11 for `#`, 12–15 for A–D.
    private static func symbol(_ value: String) -> Character? {
        switch value.uppercased() {
        case "10", "*": return "*"
        case "11", "#": return "#"
        case "12": return "A"
        case "13": return "B"
        case "14": return "C"
        case "15": return "D"
        case let other where other.count == 1 && "0123456789ABCD".contains(other): return other.first
        default: return nil
        }
    }
}
