// SPDX-License-Identifier: Apache-2.0

import Essentials

/// Everything that happened in a world, in order. Kept as data, written as text only when asked for.
///
/// For the same seed the text is the same octet for octet in every process.
public struct WorldTrace {
    /// How much of it is kept.
    public enum Detail: Sendable {
        /// Nothing: the fastest.
        case none
        /// What the nodes tell and every SIP message; no media packets.
        case signalling
        /// Every packet.
        case everything
    }

    public var detail: Detail

    struct Entry {
        var time: MonotonicTime
        var node: String
        var what: String
        var bytes: [UInt8]?
    }

    private var entries: [Entry] = []

    init(_ detail: Detail) { self.detail = detail }

    /// How many lines there are, message text not counted.
    public var count: Int { entries.count }

    /// Notes something that is no packet.
    mutating func note(_ time: MonotonicTime, _ node: String, _ what: @autoclosure () -> String) {
        guard detail != .none else { return }
        entries.append(Entry(time: time, node: node, what: what(), bytes: nil))
    }

    /// Notes what became of octets on the network.
    mutating func packet(
        _ time: MonotonicTime, _ node: String, _ verb: StaticString, _ transport: StaticString, _ from: SocketAddress,
        _ to: SocketAddress, _ bytes: [UInt8]
    ) {
        guard detail != .none, detail == .everything || isText(bytes) else { return }
        entries.append(Entry(time: time, node: node, what: "\(verb) \(transport) \(from) > \(to)", bytes: bytes))
    }

    /// The lines. `messages`: SIP messages whole, indented, below their line; else only their first line.
    public func text(messages: Bool = true) -> String {
        var result = ""
        for entry in entries {
            let nanoseconds = entry.time.nanoseconds
            let fraction = String(nanoseconds % 1_000_000_000 + 1_000_000_000).dropFirst()
            result += "\(nanoseconds / 1_000_000_000).\(fraction) \(entry.node) \(entry.what)"
            if let bytes = entry.bytes {
                result += " \(bytes.count) \(String(fingerprint(bytes), radix: 16))"
                if isText(bytes) { result += text(of: bytes, whole: messages) }
            }
            result += "\n"
        }
        return result
    }

    private func text(of bytes: [UInt8], whole: Bool) -> String {
        // By octets: "\r\n" is one Character to Swift.
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: true).map { line in
            String(decoding: line.last == UInt8(ascii: "\r") ? line.dropLast() : line, as: UTF8.self)
        }
        if whole { return lines.map { "\n    " + $0 }.joined() }
        return " " + (lines.first ?? "")
    }

    /// RTP and RTCP begin with the bits 10, STUN with 00: what begins with a letter is SIP.
    private func isText(_ bytes: [UInt8]) -> Bool {
        guard let first = bytes.first else { return false }
        return (65...90).contains(first) || (97...122).contains(first)
    }
}
