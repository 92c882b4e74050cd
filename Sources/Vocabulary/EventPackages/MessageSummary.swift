// SPDX-License-Identifier: Apache-2.0
//
// `application/simple-message-summary` (RFC 3842 §5):
//
//   Messages-Waiting: yes
//   Message-Account: sip:alice@vmail.example.com
//   Voice-Message: 2/8 (0/2)          new/old (urgent new/urgent old)

/// How many messages wait in a mailbox.
public struct MessageSummary: Sendable, Hashable {
    /// Messages of one kind; each 0...2^31 - 1, a greater number is the greatest.
    public struct Count: Sendable, Hashable {
        /// In lower case: `voice-message`, `fax-message`, `text-message` and others.
        public var kind: String
        public var new: Int
        public var old: Int
        public var urgentNew: Int
        public var urgentOld: Int

        public init(kind: String, new: Int, old: Int, urgentNew: Int = 0, urgentOld: Int = 0) {
            self.kind = kind
            self.new = new
            self.old = old
            self.urgentNew = urgentNew
            self.urgentOld = urgentOld
        }
    }

    /// Whether there are new messages of any kind.
    public var areWaiting: Bool
    /// Where they can be heard, as it came but without control characters; nil: not said.
    public var account: String?
    /// In the order in which they came.
    public var counts: [Count]

    public init(areWaiting: Bool, account: String? = nil, counts: [Count] = []) {
        self.areWaiting = areWaiting
        self.account = account
        self.counts = counts
    }

    public static let mediaType = "application/simple-message-summary"

    /// The voice messages; nil: not told.
    public var voice: Count? { counts.first { $0.kind == "voice-message" } }

    /// Reads a body. What follows the empty line (headers of single messages) is left aside, and so is a line of a kind
    /// that is not known.
    public init(parsing bytes: [UInt8], limits: EventBodyLimits = .default) throws(EventBodyError) {
        guard bytes.count <= limits.octets else { throw EventBodyError(.limit, at: limits.octets) }
        var waiting: Bool?
        self.init(areWaiting: false)
        var number = 0
        // Line ends are CRLF; LF alone and CR alone are met.
        for line in bytes.split(omittingEmptySubsequences: false, whereSeparator: { $0 == 0x0a }) {
            number += 1
            guard number <= limits.lines else { throw EventBodyError(.limit, at: line.startIndex) }
            guard let text = String(validating: line, as: UTF8.self) else { throw EventBodyError(.encoding, at: line.startIndex) }
            let trimmed = XMLElement.trimmed(text)
            if trimmed.isEmpty {
                if waiting != nil { break }
                continue
            }
            guard let colon = trimmed.firstIndex(of: ":") else { throw EventBodyError(.malformed, at: line.startIndex) }
            let name = XMLElement.trimmed(String(trimmed[..<colon])).lowercased()
            let value = XMLElement.trimmed(String(trimmed[trimmed.index(after: colon)...]))
            switch name {
            case "messages-waiting":
                guard waiting == nil, let answer = Self.answer(value) else { throw EventBodyError(.malformed, at: line.startIndex) }
                waiting = answer
            case "message-account": account = Self.safe(value)
            default: if let count = Self.count(name, value) { counts.append(count) }
            }
        }
        guard let waiting else { throw EventBodyError(.unexpected) }
        areWaiting = waiting
    }

    /// The body.
    public func serialized() -> [UInt8] {
        var out = "Messages-Waiting: \(areWaiting ? "yes" : "no")\r\n"
        if let account { out += "Message-Account: \(Self.safe(account))\r\n" }
        for count in counts {
            let name = count.kind.split(separator: "-", omittingEmptySubsequences: false).map { $0.prefix(1).uppercased() + $0.dropFirst() }
                .joined(separator: "-")
            out += "\(name): \(count.new)/\(count.old) (\(count.urgentNew)/\(count.urgentOld))\r\n"
        }
        return Array(out.utf8)
    }

    private static func answer(_ text: String) -> Bool? {
        switch text.lowercased() {
        case "yes": true
        case "no": false
        default: nil
        }
    }

    /// `2/8 (0/2)`, or `2/8`.
    private static func count(_ kind: String, _ text: String) -> Count? {
        guard kind.utf8.count <= 64, kind.utf8.allSatisfy({ (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2d })
        else { return nil }
        let parts = text.filter { $0 != " " && $0 != "\t" && $0 != ")" }.split(separator: "(", omittingEmptySubsequences: false)
        guard let first = parts.first, let plain = pair(first) else { return nil }
        var count = Count(kind: kind, new: plain.new, old: plain.old)
        if parts.count == 2, let urgent = pair(parts[1]) {
            count.urgentNew = urgent.new
            count.urgentOld = urgent.old
        }
        return count
    }

    private static func pair(_ text: Substring) -> (new: Int, old: Int)? {
        let numbers = text.split(separator: "/", omittingEmptySubsequences: false)
        guard numbers.count == 2, let new = number(numbers[0]), let old = number(numbers[1]) else { return nil }
        return (new, old)
    }

    private static func number(_ text: Substring) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return min(Int(text) ?? Int(Int32.max), Int(Int32.max))
    }

    private static func safe(_ text: String) -> String {
        let short = text.unicodeScalars.prefix(512).map { $0.value < 0x20 || $0.value == 0x7f ? "\u{fffd}" : $0 }
        return XMLElement.trimmed(String(String.UnicodeScalarView(short)))
    }
}
