// SPDX-License-Identifier: Apache-2.0

import Essentials
import SIP
import SIPAgent

/// The options of `call`.
package struct CallSettings: Sendable {
    package struct Header: Sendable, Equatable {
        package var name: String
        package var value: String
    }

    /// As typed: a URI, or a name or number at the account's domain.
    package var target: String
    package var duration: Interval?
    package var hangsUpAfterPlay: Bool
    package var digits: String?
    package var headers: [Header]

    package init(_ invocation: Invocation) throws(CommandFailure) {
        target = invocation.operands.first ?? ""
        duration = invocation.value("--duration").flatMap(Seconds.parse)
        hangsUpAfterPlay = invocation.has("--hangup-after-play")
        digits = invocation.value("--dtmf")?.uppercased()
        headers = []
        for text in invocation.all("--header") { headers.append(try Self.header(text)) }
        if hangsUpAfterPlay, !invocation.has("--play") { throw .usage("--hangup-after-play needs --play.") }
        if hangsUpAfterPlay, invocation.has("--loop") { throw .usage("--hangup-after-play cannot go with --loop.") }
        if let digits, digits.isEmpty || !digits.allSatisfy({ "0123456789*#ABCD,".contains($0) }) {
            throw .usage("--dtmf takes 0-9 * # A-D and a comma for a pause, not \"\(digits)\".")
        }
        if target.isEmpty { throw .usage("call needs a URI.") }
    }

    static func header(_ text: String, option: String = "--header") throws(CommandFailure) -> Header {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let name = parts[0].trimmed
        guard parts.count == 2, !name.isEmpty, name.utf8.allSatisfy(isToken) else {
            throw .usage("\(option) takes 'Name: value', not \"\(text.printable)\".")
        }
        guard !text.unicodeScalars.contains(where: { $0.value < 0x20 && $0 != "\t" || $0.value == 0x7f }) else {
            throw .usage("\(option) takes one line without control characters.")
        }
        // What the agent writes itself: a second one would break the dialog or the message.
        guard let known = HeaderName(name), !UserAgent.isReserved(known) else {
            throw .usage("\(option) cannot set \(name): the phone writes it itself.")
        }
        return Header(name: name, value: parts[1].trimmed)
    }

    /// RFC 3261 §25.1 `token`.
    private static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
        default: "-.!%*_+`'~".utf8.contains(byte)
        }
    }
}

extension Substring {
    /// Without spaces and tabs around it.
    package var trimmed: String {
        var text = drop { $0 == " " || $0 == "\t" }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return String(text)
    }
}
